import pytest

from transcripts.audit_trail import trail
from transcripts.audit_trail.models import AuditEvent
from transcripts.codebook.actions import seed_codebook
from transcripts.refusals import WrongInput
from transcripts.studies.actions import create_study, set_method
from transcripts.studies.models import MethodChoice
from transcripts.studies.queries import find_method, list_method_choices, read_methods
from transcripts.ui.typed_text import MAX_REASON

METHOD = "/studies/culture/method/"


def events(study):
    found = AuditEvent.objects.filter(stream=trail.study_stream(study.pk), action="study.method.set")
    return list(found.order_by("sequence"))


@pytest.fixture
def study(owner):
    """A study with a codebook, of whose method nothing was said."""
    study = create_study(slug="culture", name="Cultural schemas", by=owner)
    seed_codebook(study=study, by=owner)
    return study


class TestAction:
    def test_study_of_which_nothing_was_said_is_read_reflexively(self, study):
        assert find_method(study) == find_method(study, "themes") == "reflexive"
        assert not read_methods(study).is_mixed

    def test_first_stance_needs_no_reason_and_holds_for_every_family(self, study, lead):
        set_method(study=study, method="codebook", by=lead)
        assert find_method(study) == find_method(study, "themes") == "codebook"
        [event] = events(study)
        assert event.details == {"family": "", "before": "reflexive", "after": "codebook"}
        assert event.actor_name == "lead"

    def test_another_stance_needs_a_reason_and_the_first_stays_on_record(self, study, lead):
        set_method(study=study, method="codebook", by=lead)
        with pytest.raises(WrongInput, match="Give a reason") as refused:
            set_method(study=study, method="reflexive", reason="  ", by=lead)
        assert refused.value.field == "reason"
        set_method(study=study, method="reflexive", reason="We read alone now.", by=lead)
        assert [row.method for row in list_method_choices(study)] == ["reflexive", "codebook"]

    def test_family_has_its_own_and_the_others_follow_the_study(self, study, lead):
        set_method(study=study, family="moves", method="reliability", by=lead)
        assert [find_method(study, name) for name in ("moves", "themes", "")] == [
            *("reliability", "reflexive", "reflexive"),
        ]
        assert read_methods(study).is_mixed
        set_method(study=study, method="codebook", by=lead)
        assert find_method(study, "moves") == "reliability"

    def test_family_that_followed_the_study_needs_a_reason_to_leave_it(self, study, lead):
        set_method(study=study, method="codebook", by=lead)
        with pytest.raises(WrongInput):
            set_method(study=study, family="moves", method="reliability", by=lead)
        set_method(study=study, family="moves", method="reliability", reason="Frozen codes.", by=lead)
        assert events(study)[-1].details == {"family": "moves", "before": "codebook", "after": "reliability"}

    def test_same_stance_again_stores_nothing(self, study, lead):
        first = set_method(study=study, method="codebook", by=lead)
        assert set_method(study=study, method="codebook", by=lead) == first
        assert len(events(study)) == MethodChoice.objects.count() == 1

    @pytest.mark.parametrize(
        ("wrong", "field"),
        [
            ({"method": "positivist"}, "method"),
            ({"method": "codebook", "family": "nothing"}, "family"),
            ({"method": "codebook", "reason": "x" * (MAX_REASON + 1)}, "reason"),
            ({"method": "codebook", "reason": "a\x00b"}, "reason"),
        ],
    )
    def test_wrong_input_is_refused_and_nothing_stored(self, study, lead, wrong, field):
        with pytest.raises(WrongInput) as refused:
            set_method(study=study, by=lead, **wrong)
        assert refused.value.field == field
        assert not MethodChoice.objects.exists()
        assert not events(study)


class TestPage:
    def test_lead_switches_and_everybody_reads_who_did_it_when_and_why(self, study, lead, coder, reader, client_of):
        client = client_of(lead)
        client.post(f"{METHOD}set/", {"method": "codebook"})
        typed = {"family": "moves", "method": "reliability", "reason": "Two rounds with <b>frozen</b> codes."}
        assert client.post(f"{METHOD}set/", typed).status_code == 302
        for user in (lead, coder, reader):
            page = client_of(user).get(METHOD).content.decode()
            assert "Two rounds with &lt;b&gt;frozen&lt;/b&gt; codes." in page
            assert "follows the study" in page
            assert "No coefficient of agreement is reported" in page
            assert ("Set the method" in page) is (user == lead)

    def test_coder_cannot_switch(self, study, coder, client_of):
        assert client_of(coder).post(f"{METHOD}set/", {"method": "codebook"}).status_code == 403
        assert not MethodChoice.objects.exists()

    @pytest.mark.parametrize(
        ("typed", "words"),
        [
            ({"method": "reflexive"}, "A method was already set here"),
            ({"method": "positivist"}, "Select a valid choice"),
            ({"method": "codebook", "family": "nothing"}, "Select a valid choice"),
            ({}, "This field is required"),
        ],
    )
    def test_wrong_entry_is_422_with_its_reason(self, study, lead, client_of, typed, words):
        set_method(study=study, method="codebook", by=lead)
        answer = client_of(lead).post(f"{METHOD}set/", typed)
        assert answer.status_code == 422
        assert words in answer.content.decode()
        assert MethodChoice.objects.count() == 1

    def test_page_costs_as_many_queries_for_one_switch_as_for_many(
        self, study, lead, client_of, django_assert_num_queries
    ):
        client = client_of(lead)
        for number in range(6):
            method = "codebook" if number % 2 else "reflexive"
            set_method(study=study, method=method, reason=f"No. {number}", by=lead)
        with django_assert_num_queries(7):
            client.get(METHOD)
