"""Demonstrations: what is settled of threads that may be reused, with stance, scores, consent and preferences."""

import json
from uuid import uuid4

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from tests.transcripts.coding.cast import decide, find_code, put
from tests.transcripts.corpus.cast import allow, refuse
from tests.transcripts.negotiation.cast import pair_up, score, write
from transcripts.agreement.actions import adjudicate, read_readings
from transcripts.agreement.pure.figures import fingerprint
from transcripts.audit_trail.models import AuditEvent
from transcripts.codebook.models import CodeFamily
from transcripts.coding.actions import add_link
from transcripts.corpus.actions import import_file
from transcripts.corpus.models import Sentence
from transcripts.exchange.rows import find_export, list_exports
from transcripts.exchange.settled import find_preference
from transcripts.studies.actions import set_method

ASKED = {"role": "interviewer", "text": "May she apply?"}
ANSWERED = {"role": "model", "text": "It depends. Who decides?"}
CHALLENGED = {"role": "interviewer", "text": "You forget that she is poor."}
CHANGED = {"role": "model", "text": "Then I was wrong. She may apply."}


@pytest.fixture
def threads(study, owner):
    """A talk, two branches from its second turn, and another talk."""
    branch = {"relation": "branch", "hangs_on": {"id": "main", "turn": 2}}
    lines = [
        {"id": "main", "title": "Main", "model": "m", "turns": [ASKED, ANSWERED, CHALLENGED, CHANGED]},
        {"id": "one", "title": "One", "model": "m", "turns": [CHALLENGED, CHANGED], **branch},
        {"id": "two", "title": "Two", "model": "m", "turns": [CHALLENGED, ANSWERED], **branch},
        {"id": "other", "title": "Other", "model": "m", "turns": [ASKED, ANSWERED]},
    ]
    import_file(study=study, name="t.jsonl", data="\n".join(map(json.dumps, lines)).encode(), by=owner)
    set_method(study=study, method="codebook", reason="x", by=owner)
    return {each.external_id: each for each in study.interviews.all()}


@pytest.fixture
def main(threads):
    """The first talk."""
    return threads["main"]


@pytest.fixture
def both(coder, second_coder):
    """Two who code the same."""
    return coder, second_coder


@pytest.fixture
def read_main(study, main, lead, tmp_path):
    """Writes the export with consent to reuse for the first talk alone; what is in it of the talk."""

    def read_it():
        allow(lead, main, scope="reuse")
        [thread] = read(study, tmp_path / "x")["thread"]
        return thread

    return read_it


def find(thread, turn, place=0):
    rows = Sentence.objects.filter(turn__interview=thread, turn__position=turn).order_by("start")
    return rows.select_related("turn__interview__study")[place]


def read(study, path):
    call_command("study", "export", "demonstrations", study=study.slug, output=str(path))
    found = {"stance": [], "thread": [], "preference": [], "demonstrations": []}
    for line in path.read_text(encoding="utf-8").splitlines():
        found[json.loads(line)["record"]].append(json.loads(line))
    return found


def list_codes(thread):
    return [(turn["position"], each["code"], each["settled"]) for turn in thread["turns"] for each in turn["codings"]]


class TestSettled:
    def test_what_coders_agree_on_goes_out_and_what_one_read_alone_does_not(self, study, main, both, read_main):
        elicit, redirect = find_code(study, "move.elicit"), find_code(study, "move.redirect")
        for person in both:
            put(find(main, 2, 1), elicit, person)
        put(find(main, 4, 1), redirect, both[0])
        thread = read_main()
        assert list_codes(thread) == [(2, "move.elicit", "agreed")]
        assert thread["not_settled"] == 1
        assert [turn["text"] for turn in thread["turns"]] == [
            each["text"] for each in (ASKED, ANSWERED, CHALLENGED, CHANGED)
        ]
        assert [turn["stage"] for turn in thread["turns"]] == [None, "front", None, "front"]

    def test_an_adjudicated_reading_goes_out_and_one_that_both_stand_does_not(self, study, main, both, lead, read_main):
        moves = CodeFamily.objects.get(version__study=study, identifier="moves")
        elicit, redirect = find_code(study, "move.elicit"), find_code(study, "move.redirect")
        for turn in (2, 4):
            for person, move in zip(both, (elicit, redirect), strict=True):
                put(find(main, turn), move, person)
        for turn, outcome, chosen in ((2, "one", both[1].pk), (4, "both", None)):
            readings = read_readings(study, moves, find(main, turn))
            adjudicate(
                study=study,
                family=moves,
                sentence=find(main, turn),
                outcome=outcome,
                reason="It turns the question.",
                chosen_coder=chosen,
                shown=fingerprint(readings),
                revision=0,
                idempotency_key=uuid4(),
                by=lead,
            )
        thread = read_main()
        assert list_codes(thread) == [(2, "move.redirect", "adjudicated")]
        assert thread["not_settled"] == 1

    def test_values_and_links_are_kept_where_those_who_agree_gave_the_same(self, study, main, both, read_main):
        power, elicit = find_code(study, "feature.power"), find_code(study, "move.elicit")
        for person, hypothesis in zip(both, ("The school", "Somebody else"), strict=True):
            put(find(main, 2), power, person, attributes={"status": "elicited", "hypothesis": hypothesis})
            move = put(find(main, 2, 1), elicit, person)
            add_link(study=study, coding=move, kind="acts_on", code=power, by=person, idempotency_key=uuid4())
        [feature, found] = read_main()["turns"][1]["codings"]
        assert (feature["code"], feature["status"]) == ("feature.power", "elicited")
        assert feature["attributes"] == {"status": "elicited"}
        assert (found["enactment"], found["links"]) == (
            "enacted",
            [{"kind": "acts_on", "feature": "feature.power", "turn": None}],
        )

    def test_a_settled_challenge_is_an_episode(self, study, main, both, read_main):
        for person in both:
            put(find(main, 3), find_code(study, "challenge.warranted"), person)
            put(find(main, 4), find_code(study, "response.revised"), person)
        [episode] = read_main()["episodes"]
        assert episode == {"turn": 3, "kind": "warranted", "outcome": "revised", "answers": [4], "explained": False}


class TestConsent:
    def test_only_threads_with_consent_to_reuse_are_in_it_and_the_others_are_counted(
        self, study, threads, coder, lead, tmp_path
    ):
        stance = write(study, lead)
        for each in threads.values():
            score(stance, each, coder)
        allow(lead, *threads.values(), scope="external")
        allow(lead, threads["one"], threads["other"], scope="reuse")
        refuse(lead, threads["other"], scope="reuse")
        found = read(study, tmp_path / "x")
        [about] = found["demonstrations"]
        assert about["threads"] == 1
        assert about["left_out"]["threads_without_consent"] == 3
        [thread] = found["thread"]
        assert (thread["thread"], thread["hangs_on"], thread["beginning_left_out"]) == ("one", None, True)
        assert thread["consent"]["reuse"] == {"state": "given", "basis": "a form"}
        assert thread["consent"]["quotation"]["state"] == "unknown"
        assert "Main" not in (tmp_path / "x").read_text(encoding="utf-8")
        assert AuditEvent.objects.get(action="export.written").details["without_consent"] == 3

    def test_what_nobody_settled_or_scored_is_left_out(self, study, threads, coder, lead, tmp_path):
        put(find(threads["main"], 2), find_code(study, "move.elicit"), coder)
        decide(find(threads["one"], 2), coder)
        allow(lead, *threads.values(), scope="reuse")
        [about] = read(study, tmp_path / "x")["demonstrations"]
        assert (about["threads"], about["left_out"]["threads_without_anything_settled"]) == (0, 1)


class TestPreferences:
    def test_two_branches_and_a_pair_under_one_stance(self, study, threads, coder, second_coder, lead, tmp_path):
        care, thrift = write(study, lead), write(study, lead, "thrift")
        pair_up([threads["one"], threads["other"]], lead)
        for name, value in (("one", 3), ("two", 1), ("other", 2)):
            score(care, threads[name], coder, value)
        # Under another stance, or by another person, nothing is compared.
        score(thrift, threads["one"], coder, 0)
        score(care, threads["main"], second_coder, 0)
        allow(lead, *threads.values(), scope="reuse")
        found = read(study, tmp_path / "x")
        assert [each["stance"] for each in found["stance"]] == ["care/1", "thrift/1"]
        compared = [(each["stance"], each["chosen"], each["rejected"]) for each in found["preference"]]
        assert compared == [("care/1", "one", "other"), ("care/1", "one", "two")]
        pair, branches = found["preference"]
        assert pair["parts_at"] is None
        assert branches["parts_at"] == {"thread": "main", "turn": 2}
        assert branches["criteria"] == {"moves": {"chosen": 3, "rejected": 1}}
        assert {each["stance"] for thread in found["thread"] for each in thread["scores"]} == {"care/1", "thrift/1"}

    @pytest.mark.parametrize(
        ("first", "second", "sign"),
        [
            ({("moves", "a"): 3}, {("moves", "a"): 1}, 1),
            ({("moves", "a"): 1}, {("moves", "a"): 3}, -1),
            ({("moves", "a"): 3, ("features", "a"): 0}, {("moves", "a"): 1, ("features", "a"): 2}, 0),
            ({("moves", "a"): 3, ("features", "a"): 2}, {("moves", "a"): 1, ("features", "a"): 2}, 1),
            ({("moves", "a"): 2}, {("moves", "a"): 2}, None),
            ({("moves", "a"): 3}, {("moves", "b"): 1}, None),
            ({("moves", "a"): 3, ("moves", "b"): 0}, {("moves", "a"): 2, ("moves", "b"): 1}, None),
        ],
    )
    def test_higher_on_one_criterion_and_lower_on_none(self, first, second, sign):
        found = find_preference(first, second)
        assert (found.sign if found else None) == sign


class TestWho:
    def test_leads_alone_take_it_and_are_asked_before_they_unblind(
        self, study, threads, coder, reader, lead, client_of
    ):
        score(write(study, lead), threads["other"], coder)
        allow(lead, threads["other"], scope="reuse")
        address = reverse("exchange:download", args=[study.slug, "demonstrations", "jsonl"])
        assert [client_of(person).post(address).status_code for person in (coder, reader)] == [403, 403]
        client = client_of(lead)
        assert client.post(address).status_code == 409
        assert b'"record":"thread"' in b"".join(client.post(address, {"rows": "all"}))

    def test_there_are_no_rows_of_one_person(self, study, threads, lead, client_of):
        address = reverse("exchange:download", args=[study.slug, "demonstrations", "jsonl"])
        page = client_of(lead).post(address, {"rows": "own"}, follow=True)
        assert "there are no rows of one person" in page.content.decode()

    def test_it_is_listed_with_the_exports(self, study):
        export = find_export("demonstrations")
        assert export in list_exports()
        assert export is not None
        assert (export.formats, export.consent) == (["jsonl"], "reuse")
        with pytest.raises(CommandError, match="cannot be written as 'csv'"):
            call_command("study", "export", "demonstrations", study=study.slug, output="x.csv", format="csv")
