"""The steps by which a study begins, on its overview."""

import pytest
from django.urls import reverse

from tests.transcripts.coding.cast import decide
from tests.transcripts.corpus.test_actions import make_file, make_line
from transcripts.audit_trail import trail
from transcripts.audit_trail.models import AuditEvent
from transcripts.codebook.actions import start_study
from transcripts.codebook.models import Beginning
from transcripts.corpus.actions import import_files
from transcripts.corpus.models import Interview
from transcripts.refusals import Refused
from transcripts.studies.actions import invite_user, set_member_role, skip_step
from transcripts.studies.queries import STEPS, members_of, read_first_steps

HOME = "/studies/begun/"


@pytest.fixture
def begun(owner):
    return start_study(slug="begun", name="Begun", codebook=Beginning.EMPTY, by=owner)


def states(begun):
    found = read_first_steps(begun, members_of(begun))
    assert found is not None
    return {step.key: step.state for step in found.steps}


def test_after_starting_a_study_one_comes_to_its_steps(owner, client_of):
    client = client_of(owner)
    answer = client.post(reverse("codebook:start_study"), {"name": "Begun", "codebook": Beginning.EMPTY}, follow=True)
    assert [step.state for step in answer.context["first_steps"].steps] == ["next", "later", "later", "later"]
    assert 'aria-current="step"' in answer.content.decode()


def test_a_step_that_is_done_says_what_was_chosen(owner, coder):
    begun = start_study(slug="begun", name="Begun", method="codebook", by=owner)
    set_member_role(study=begun, user=coder, role="coder", by=trail.SYSTEM)
    import_files(study=begun, files=[make_file(make_line("a"), make_line("b"))], by=owner)
    found = read_first_steps(begun, members_of(begun))
    assert found is not None
    codebook, people, imported, code = found.steps
    assert "codebook thematic analysis" in codebook.chosen
    assert people.chosen == "owner, coder"
    assert imported.chosen == "2 interviews"
    assert code.state == "next"
    assert found.has_codes
    assert found.first_interview == Interview.objects.get(external_id="a").pk


def test_an_open_invitation_says_who_codes(begun, owner):
    invite_user(study=begun, username="somebody", role="coder", by=owner)
    assert states(begun)["people"] == "done"


def test_a_step_is_skipped_and_brought_back_by_one_press(begun, owner, client_of):
    client, path = client_of(owner), reverse("studies:skip_step", args=["begun"])
    client.post(path, {"step": "codebook"})
    assert client.post(path, {"step": "people"})["Location"] == HOME
    assert states(begun) == {"codebook": "skipped", "people": "skipped", "import": "next", "code": "later"}
    client.post(path, {"step": "people", "restore": "yes"})
    assert states(begun) == {"codebook": "skipped", "people": "next", "import": "later", "code": "later"}
    events = AuditEvent.objects.filter(action__startswith="study.step.").order_by("sequence")
    assert [(event.action, event.details["step"]) for event in events] == [
        ("study.step.skipped", "codebook"),
        ("study.step.skipped", "people"),
        ("study.step.restored", "people"),
    ]


def test_what_is_done_already_is_recorded_once(begun, owner):
    for _ in range(2):
        skip_step(study=begun, step="people", by=owner)
    skip_step(study=begun, step="code", by=owner, restores=True)
    assert AuditEvent.objects.filter(action__startswith="study.step.").count() == 1


def test_a_step_that_there_is_not_is_refused(begun, owner, client_of):
    with pytest.raises(Refused):
        skip_step(study=begun, step="dance", by=owner)
    answer = client_of(owner).post(reverse("studies:skip_step", args=["begun"]), {"step": "dance"}, follow=True)
    assert "There is no such step" in answer.content.decode()


def test_a_skipped_step_that_is_done_later_is_done(begun, owner, client_of):
    skip_step(study=begun, step="import", by=owner)
    import_files(study=begun, files=[make_file(make_line("a"))], by=owner)
    assert states(begun)["import"] == "done"
    assert "no codes at the desk until the codebook is published" in client_of(owner).get(HOME).content.decode()


def test_the_card_goes_once_all_is_skipped_and_can_come_back(begun, owner, client_of):
    for step in STEPS:
        skip_step(study=begun, step=step, by=owner)
    client = client_of(owner)
    page = client.get(HOME).content.decode()
    assert "Begin the study" not in page
    assert "Bring back" in page
    client.post(reverse("studies:skip_step", args=["begun"]), {"step": "import", "restore": "yes"})
    assert "Begin the study" in client.get(HOME).content.decode()


def test_the_card_goes_once_a_sentence_is_decided(sentence, begun, owner, coder, client_of):
    client = client_of(owner)
    assert "Begin the study" in client.get("/studies/culture/").content.decode()
    decide(sentence, coder)
    page = client.get("/studies/culture/").content.decode()
    assert "Begin the study" not in page
    assert "Bring back" not in page


def test_a_coder_is_not_asked_to_set_the_study_up(begun, coder, client_of):
    set_member_role(study=begun, user=coder, role="coder", by=trail.SYSTEM)
    page = client_of(coder).get(HOME).content.decode()
    assert "Wait until a lead has imported interviews" in page
    assert "Begin the study" not in page


def test_a_lead_sees_the_steps_and_a_reader_does_not_count_as_who_codes(begun, lead, client_of):
    set_member_role(study=begun, user=lead, role="reader", by=trail.SYSTEM)
    assert states(begun)["people"] != "done"
    set_member_role(study=begun, user=lead, role="lead", by=trail.SYSTEM)
    assert "Begin the study" in client_of(lead).get(HOME).content.decode()
