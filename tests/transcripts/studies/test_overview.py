"""The overview of a study, and where people come after signing in."""

import re
import uuid

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from tests.transcripts.coding.cast import decide, find_code, put
from tests.transcripts.corpus.test_actions import make_file, make_line
from tests.transcripts.rounds.cast import open_round
from transcripts.audit_trail import trail
from transcripts.codebook.actions import propose_code
from transcripts.corpus.actions import import_files
from transcripts.corpus.changes import archive_interviews
from transcripts.corpus.models import Interview, Sentence
from transcripts.studies.actions import create_study, invite_user, set_member_role, set_method

HOME = "/studies/culture/"
ALL_WORK = "/studies/culture/progress/"


def read(client, path=HOME):
    answer = client.get(path)
    assert answer.status_code == 200
    return re.sub(r"\s+", " ", answer.content.decode())


def cards_of(client):
    return dict(client.get(HOME).context["cards"])


def test_a_coder_sees_what_is_left_and_goes_on_where_she_began(interview, sentence, coder, study, client_of):
    import_files(study=study, files=[make_file(make_line("later"))], by=coder)
    client = client_of(coder)
    assert "Begin to code" in read(client)
    later = Interview.objects.get(external_id="later")
    decide(Sentence.objects.filter(turn__interview=later, turn__role="model")[0], coder)
    work = cards_of(client)["rounds/_own_work_card.html"]
    assert (work["next"], work["decided"], work["interviews_left"]) == (later.pk, 1, 2)
    assert work["left"] == work["total"] - 1
    page = read(client)
    assert "Continue coding" in page
    assert reverse("desk:desk", args=["culture", later.pk]) in page
    assert "rounds/_all_work_card.html" not in cards_of(client), "how far others are is not for coders"


def test_what_is_assigned_is_what_is_left(interview, study, owner, coder, second_coder, client_of):
    open_round(study, owner, coder)
    assert cards_of(client_of(coder))["rounds/_own_work_card.html"]["interviews"] == 1
    assert cards_of(client_of(second_coder))["rounds/_own_work_card.html"]["interviews"] == 0
    drawn = client_of(owner).get(ALL_WORK).context
    assert [row.name for row in drawn["coders"].rows] == ["coder"]


def test_assigned_work_comes_first_with_its_round_and_instructions(interview, sentence, study, owner, coder, client_of):
    import_files(study=study, files=[make_file(make_line("later"))], by=owner)
    later = Interview.objects.get(external_id="later")
    decide(sentence, coder)
    open_round(
        study,
        owner,
        coder,
        name="Second pass",
        instructions="Mind the irony.",
        interview_ids=[later.pk],
        closes_others=False,
    )
    client = client_of(coder)
    work, page = cards_of(client)["rounds/_own_work_card.html"], read(client)
    assert (work["next"], work["interviews_left"], work["other_interviews_left"]) == (later.pk, 1, 1)
    assert [(each["name"], each["interviews_left"]) for each in work["rounds"]] == [("Second pass", 1)]
    assert "Second pass" in page
    assert "Mind the irony." in page
    assert "Begin to code" in page, "nothing of what is assigned is begun"
    for each in Sentence.objects.filter(turn__interview=later, turn__role="model"):
        decide(each, coder)
    work, page = cards_of(client)["rounds/_own_work_card.html"], read(client)
    assert work["next"] == interview.pk
    assert "Complete your work" in page
    assert reverse("desk:desk", args=["culture", interview.pk]) in page


def test_a_lead_sees_how_far_everybody_is(sentence, study, lead, coder, client_of):
    decide(sentence, coder)
    client = client_of(lead)
    assert f'hx-get="{ALL_WORK}"' in read(client)
    drawn = client.get(ALL_WORK).context
    rows = {row.name: [part.amount for part in row.parts] for row in drawn["coders"].rows}
    assert rows["coder"][0] == 1
    assert rows["lead"][0] == 0
    assert drawn["total"].decided == 1


def test_an_archived_interview_is_nobodys_work(interview, study, owner, coder, client_of):
    open_round(study, owner, coder)
    archive_interviews(study=study, interviews=[interview], reason="Wrong file.", by=owner)
    assert cards_of(client_of(coder))["rounds/_own_work_card.html"]["interviews"] == 0
    assert client_of(owner).get(ALL_WORK).context["total"].total == 0
    assert "assigned to you" not in read(client_of(coder), "/")


def test_what_waits_for_whom(study, sentence, owner, coder, client_of):
    propose_code(
        study=study,
        name="Hedging",
        family_identifier="themes",
        idempotency_key=uuid.uuid4(),
        by=coder,
        sentence=sentence,
    )
    assert "1 proposed code waits for an answer" in read(client_of(owner))
    assert "proposed code" not in read(client_of(coder))


def test_agreement_comes_after_the_page_where_the_method_measures_it(
    sentence, study, lead, coder, second_coder, client_of
):
    client = client_of(lead)
    so_far = reverse("agreement:so_far", args=["culture"])
    assert so_far not in read(client)
    assert "does not measure agreement" in read(client)
    put(sentence, find_code(study, "theme.balance"), coder)
    decide(sentence, second_coder)
    set_method(study=study, method="codebook", by=lead)
    assert f'hx-get="{so_far}"' in read(client)
    part = read(client, so_far)
    assert "hidden from you until you unblind the interviews" in part


def test_an_empty_study_names_its_steps(study, owner, client_of):
    page = read(client_of(owner))
    assert "Begin the study" in page
    assert reverse("corpus:import", args=["culture"]) in page


def test_queries_do_not_grow_with_the_study(study, owner, coder, client_of):
    def count(person):
        client = client_of(person)
        read(client)
        with CaptureQueriesContext(connection) as queries:
            read(client)
        return len(queries)

    import_files(study=study, files=[make_file(*(make_line(f"a{n}") for n in range(3)))], by=owner)
    few = {person: count(person) for person in (owner, coder)}
    import_files(study=study, files=[make_file(*(make_line(f"b{n}") for n in range(27)))], by=owner)
    assert {person: count(person) for person in (owner, coder)} == few
    # The goal is 12; each room that shows something asks for itself. The first steps ask
    # three times more until a sentence is decided, as here.
    assert few[owner] <= 24
    assert few[coder] <= 17


class TestLanding:
    def test_with_one_study_one_lands_on_its_overview(self, study, coder, client_of):
        assert client_of(coder).get("/land/")["Location"] == HOME

    @pytest.mark.parametrize("more", ["study", "invitation"])
    def test_otherwise_on_the_list_which_says_what_is_left(self, study, owner, coder, client_of, more):
        other = create_study(slug="other", name="Other", by=owner)
        if more == "study":
            set_member_role(study=other, user=coder, role="coder", by=trail.SYSTEM)
        else:
            invite_user(study=other, username="coder", role="coder", by=owner)
        assert client_of(coder).get("/land/")["Location"] == "/"

    def test_the_list_says_what_is_assigned(self, interview, study, owner, coder, client_of):
        open_round(study, owner, coder)
        assert "1 interview assigned to you" in read(client_of(coder), "/")
        assert "assigned to you" not in read(client_of(owner), "/")
