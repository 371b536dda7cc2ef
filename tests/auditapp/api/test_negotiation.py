"""Case sheets, pairs, links and figures of trajectories through the API."""

from uuid import uuid4

import pytest

from tests.transcripts.coding.cast import find_code, put
from tests.transcripts.exchange.test_negotiation_exports import link
from tests.transcripts.negotiation.cast import DIFFERS, IRRELEVANT, RELEVANT, decide_all, finish, pair_up, write_sheet
from tests.transcripts.rounds.cast import answers, bring_in
from transcripts.accounts.models import Scope
from transcripts.audit_trail import trail
from transcripts.codebook.actions import start_study
from transcripts.coding.models import Link
from transcripts.negotiation.models import CaseSheet, NormativeStance, Pair, Score
from transcripts.studies.actions import set_method

pytestmark = pytest.mark.django_db
SHEETS, PAIRS = "studies/culture/case-sheets/", "studies/culture/pairs/"


@pytest.fixture
def threads(study, owner):
    return bring_in(study, owner, ["A", "B"])


class TestCaseSheets:
    def test_a_lead_writes_one_and_then_its_next_number(self, threads, lead, program_of):
        program = program_of(lead)
        given = {"interview": threads[0].pk, "relevant": RELEVANT, "intents": {"1": "probe"}}
        first = program.post(SHEETS, given)
        assert (first.status, first.body["number"], first.body["relevant"]) == (201, 1, RELEVANT)
        unread = program.post(SHEETS, {**given, "irrelevant": IRRELEVANT, "reason": "No rule applies."})
        assert (unread.status, unread.error["fields"].keys()) == (422, {"based_on"})
        given["based_on"] = 1
        assert program.post(SHEETS, {**given, "irrelevant": IRRELEVANT}).error["fields"].keys() == {"reason"}
        second = program.post(SHEETS, {**given, "irrelevant": IRRELEVANT, "reason": "No rule applies."})
        assert (second.status, second.body["number"], second.body["written_by"]) == (201, 2, "lead")
        assert [each["number"] for each in program.get(SHEETS).body["results"]] == [1, 2]
        assert program.post(SHEETS, {**given, "reason": "Back again."}).status == 409

    @pytest.mark.parametrize(
        ("given", "field"),
        [
            ({"relevant": [{"feature": "feature.courage", "reason": "x"}]}, "relevant"),
            ({"relevant": RELEVANT, "irrelevant": RELEVANT}, "irrelevant"),
            ({"relevant": [{"feature": "feature.power"}]}, "relevant"),
            ({"relevant": RELEVANT, "intents": {"2": "probe"}}, "intents"),
            ({"relevant": RELEVANT, "interview": 10**6}, "interview"),
            ({}, "relevant"),
        ],
    )
    def test_what_does_not_fit_is_422_with_the_sentence_and_stores_nothing(
        self, given, field, threads, lead, program_of
    ):
        answer = program_of(lead).post(SHEETS, {"interview": threads[0].pk, **given})
        assert (answer.status, list(answer.error["fields"])) == (422, [field])
        assert not CaseSheet.objects.exists()

    def test_it_is_closed_until_signed_off_and_is_not_overwritten_unread(self, threads, owner, lead, coder, program_of):
        write_sheet(threads[0], owner)
        assert program_of(coder).get(SHEETS).body["results"] == []
        answer = program_of(lead).post(SHEETS, {"interview": threads[0].pk, "relevant": RELEVANT, "reason": "x"})
        assert (answer.status, CaseSheet.objects.count()) == (409, 1)
        finish(threads[0], coder)
        assert len(program_of(coder).get(SHEETS).body["results"]) == 1
        assert program_of(coder).get(SHEETS, interview=str(threads[1].pk)).body["results"] == []


class TestPairs:
    def test_a_lead_pairs_and_withdraws(self, threads, lead, program_of):
        program = program_of(lead)
        given = {"name": "p 1", "a": threads[0].pk, "b": threads[1].pk, "differs": "x", "expect": "change"}
        made = program.post(PAIRS, given)
        assert (made.status, made.body["open"], made.body["expect"]) == (201, True, "change")
        withdrawn = program.post(f"{PAIRS}p 1/withdraw/")
        assert (withdrawn.status, withdrawn.body["withdrawn_at"] is not None) == (200, True)
        assert program.get(PAIRS).body["results"] == []
        assert program.post(f"{PAIRS}p 1/withdraw/").status == 404

    def test_a_pair_is_replaced_only_by_somebody_who_read_it(self, threads, lead, program_of):
        program = program_of(lead)
        given = {"name": "p 1", "a": threads[0].pk, "b": threads[1].pk, "differs": "x", "expect": "change"}
        assert program.post(PAIRS, given).status == 201
        other = {**given, "differs": "y", "reason": "Put better."}
        unread = program.post(PAIRS, other)
        assert (unread.status, unread.error["fields"].keys()) == (422, {"based_on"})
        assert program.post(PAIRS, {**other, "based_on": 0}).status == 409
        assert program.post(PAIRS, {**other, "based_on": 1}).body["number"] == 2

    def test_the_same_thread_twice_is_422(self, threads, lead, program_of):
        given = {"name": "p", "a": threads[0].pk, "b": threads[0].pk, "differs": "x", "expect": "change"}
        answer = program_of(lead).post(PAIRS, given)
        assert (answer.status, list(answer.error["fields"]), Pair.objects.count()) == (422, ["b"], 0)

    def test_what_differs_is_closed_until_both_are_decided(self, threads, owner, coder, program_of):
        pair_up(threads, owner)
        decide_all(threads[0], coder)
        [row] = program_of(coder).get(PAIRS).body["results"]
        assert (row["open"], row["left_a"], row["left_b"], row["differs"], row["expect"]) == (False, 0, 3, "", "")
        decide_all(threads[1], coder)
        [row] = program_of(coder).get(PAIRS).body["results"]
        assert (row["open"], row["differs"], row["expect"]) == (True, DIFFERS, "no_change")


def test_links_are_seen_by_the_rules_of_codings(study, threads, coder, second_coder, reader, program_of):
    for person in (coder, second_coder):
        move = put(answers(threads[0])[0], find_code(study, "move.elicit"), person)
        link(move, "acts_on", find_code(study, "feature.power"))
    path = "studies/culture/links/"
    [own] = program_of(coder).get(path).body["results"]
    assert (own["coder"], own["kind"], own["code"], own["sentence"]) == ("coder", "acts_on", "feature.power", None)
    assert program_of(coder).get(path, coder="second_coder").body["results"] == []
    assert len(program_of(reader).get(path, interview=str(threads[0].pk), kind="acts_on").body["results"]) == 2
    assert program_of(reader).get(path, interview=str(threads[1].pk)).body["results"] == []


def test_the_trajectory_report_is_of_what_one_may_see(study, threads, coder, second_coder, reader, program_of):
    for person in (coder, second_coder):
        put(answers(threads[0])[0], find_code(study, "move.elicit"), person)
    path = "studies/culture/trajectory-report/"
    assert program_of(reader).get(path).body["coders"] == ["coder", "second_coder"]
    own = program_of(coder).get(path).body
    assert (own["threads"], own["left_out"], own["model"], own["coders"]) == (1, 1, "A", ["coder"])
    together = program_of(coder).get(path, model="*").body
    assert (together["threads"], together["left_out"], together["model"]) == (2, 0, None)
    wrong = program_of(coder).get(path, model="Z")
    assert (wrong.status, list(wrong.error["fields"])) == (400, ["model"])
    wrong = program_of(coder).get(path, coder="second_coder")
    assert (wrong.status, list(wrong.error["fields"])) == (400, ["coder"])
    wrong = program_of(coder).get(path, outcome="move.courage")
    assert (wrong.status, list(wrong.error["fields"])) == (400, ["outcome"])


def test_the_trajectory_report_of_a_reflexive_study_has_no_agreement(
    study, threads, coder, second_coder, reader, program_of
):
    for person in (coder, second_coder):
        put(answers(threads[0])[0], find_code(study, "move.elicit"), person)
    path = "studies/culture/trajectory-report/"
    set_method(study=study, method="codebook", reason="Agreed before.", by=trail.SYSTEM)
    assert program_of(reader).get(path).body["agreement"]["status"] is not None
    set_method(study=study, method="reflexive", reason="Readings may differ.", by=trail.SYSTEM)
    body = program_of(reader).get(path).body
    assert body["agreement"]["status"] is None
    assert "reflexive" in " ".join(body["warnings"])


def test_turns_say_their_stage(interview, coder, program_of):
    found = program_of(coder).get(f"studies/culture/interviews/{interview.pk}/turns/").body["results"]
    assert [row["stage"] for row in found] == [None, "front", None, "front"]


def test_writing_cases_needs_the_scope_manage(threads, lead, program_of):
    program = program_of(lead, scopes=[Scope.READ, Scope.CODE])
    for path in (SHEETS, PAIRS):
        assert program.post(path, {}).error["code"] == "scope_missing"


class TestLinks:
    PATH = "studies/culture/links/"

    def test_a_coder_links_her_move_and_withdraws_it(self, study, threads, coder, program_of):
        move, program = put(answers(threads[0])[0], find_code(study, "move.elicit"), coder), program_of(coder)
        given = {"coding": move.pk, "kind": "acts_on", "code": "feature.power", "idempotency_key": str(uuid4())}
        made = program.post(self.PATH, given)
        assert (made.status, made.body["coding"], made.body["code"]) == (201, move.pk, "feature.power")
        assert program.post(self.PATH, given).status == 200
        withdrawn = program.post(f"{self.PATH}{made.body['id']}/withdraw/")
        assert (withdrawn.status, withdrawn.body["withdrawn_at"] is not None) == (200, True)

    def test_a_later_sentence_another_study_and_a_code_that_is_no_feature_are_422_with_the_sentence(
        self, study, interview, coder, owner, program_of
    ):
        first, *_, later = answers(interview)
        revise = put(first, find_code(study, "move.revise"), coder)
        [theirs] = bring_in(start_study(slug="other", name="Other", by=owner), owner, ["A"])
        wrong = [
            ({"kind": "revises", "sentence": later.pk}, "sentence"),
            ({"kind": "revises", "sentence": answers(theirs)[0].pk}, "sentence"),
            ({"kind": "acts_on", "code": "move.elicit"}, "code"),
            ({"kind": "acts_on", "code": "feature.courage"}, "code"),
        ]
        for given, field in wrong:
            sent = {"coding": revise.pk, "idempotency_key": str(uuid4()), **given}
            answer = program_of(coder).post(self.PATH, sent)
            assert (answer.status, list(answer.error["fields"])) == (422, [field]), given
        assert not Link.objects.exists()


class TestScores:
    PATH = "studies/culture/scores/"
    STANCES = "studies/culture/normative-stances/"

    @pytest.fixture
    def stance(self, lead, study, program_of):
        made = program_of(lead).post(self.STANCES, {"name": "care", "statement": "Care first.", "author": "The team"})
        assert (made.status, made.body["number"]) == (201, 1)
        return int(made.body["id"])

    def test_a_stance_gets_a_next_number_with_a_reason(self, stance, lead, program_of):
        given = {"name": "care", "statement": "Care, then rules.", "author": "The team"}
        program = program_of(lead)
        assert program.post(self.STANCES, given).status == 422
        assert program.post(self.STANCES, {**given, "based_on": 1}).status == 422
        assert program.post(self.STANCES, {**given, "based_on": 1, "reason": "Rules matter."}).body["number"] == 2
        assert [row["number"] for row in program.get(self.STANCES).body["results"]] == [1, 2]

    def test_a_text_may_be_as_long_as_the_schema_says_however_it_is_escaped(self, lead, program_of):
        given = {"name": "care", "statement": "Care.", "author": "The team"}
        program = program_of(lead)
        for name, most in (("priorities", 20_000), ("author", 200), ("statement", 20_000)):
            answer = program.post(self.STANCES, {**given, name: "x" * (most + 1)})
            assert (answer.status, list(answer.error["fields"])) == (422, [name])
            assert answer.error["fields"][name] == [f"This text has {most + 1:,} characters; the limit is {most:,}."]
        # Twelve bytes of JSON each.
        longest = dict.fromkeys(NormativeStance.texts, "🌍" * 20000)
        answer = program.post(self.STANCES, {**given, **longest})
        assert answer.status == 201
        assert {name: answer.body[name] for name in longest} == longest

    def test_a_score_needs_evidence_and_a_value_in_its_range(self, stance, threads, coder, program_of):
        program = program_of(coder)
        given = {"interview": threads[0].pk, "stance": stance, "criterion": "moves", "idempotency_key": str(uuid4())}
        evidence = [{"sentence": answers(threads[0])[0].pk}]
        for wrong in ({"value": 2}, {"value": 4, "evidence": evidence}, {"value": -1, "evidence": evidence}, {}):
            answer = program.post(self.PATH, {**given, **wrong})
            assert answer.status == 422, wrong
            assert answer.error["message"]
        assert not Score.objects.exists()
        made = program.post(self.PATH, {**given, "value": 2, "evidence": evidence})
        assert (made.status, made.body["value"], made.body["evidence"][0]["sentence"]) == (
            201,
            2,
            evidence[0]["sentence"],
        )
        assert program.post(self.PATH, {**given, "value": 2, "evidence": evidence}).status == 200
        withdrawn = program.post(f"{self.PATH}{made.body['id']}/withdraw/")
        assert (withdrawn.status, withdrawn.body["withdrawn_at"] is not None) == (200, True)

    def test_a_coder_sees_her_own_scores_only(self, stance, threads, coder, second_coder, program_of):
        evidence = [{"sentence": answers(threads[0])[0].pk}]
        given = {"interview": threads[0].pk, "stance": stance, "criterion": "moves", "value": 1, "evidence": evidence}
        for person in (coder, second_coder):
            assert program_of(person).post(self.PATH, {**given, "idempotency_key": str(uuid4())}).status == 201
        found = program_of(coder).get(self.PATH, interview=str(threads[0].pk)).body["results"]
        assert [row["coder"] for row in found] == ["coder"]
        assert program_of(coder).get(self.PATH, coder="second_coder").body["results"] == []
