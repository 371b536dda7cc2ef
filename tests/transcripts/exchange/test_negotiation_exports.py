"""Exports of negotiation: whose rows they hold, and what each says."""

import json
import uuid

import pytest
from django.urls import reverse
from django.utils import timezone

from tests.transcripts.coding.cast import find_code, put
from tests.transcripts.exchange.test_trajectories import read_records as read_lines
from tests.transcripts.negotiation.cast import WHY, decide_all, finish, pair_up, write_sheet
from tests.transcripts.negotiation.loading import load, read_check
from transcripts.codebook.models import Code
from transcripts.coding.models import Coding, Link, StageOpening, Unblinding
from transcripts.corpus.actions import import_file
from transcripts.corpus.models import Interview, Sentence
from transcripts.exchange.rows import Scope, find_export
from transcripts.negotiation.actions import withdraw_pair
from transcripts.negotiation.models import NormativeStance, Score, ScoreEvidence
from transcripts.negotiation.pure.reading import read_records as read_file
from transcripts.negotiation.pure.report import make_report
from transcripts.negotiation.queries.records import read_records

pytestmark = pytest.mark.django_db

TURNS = [
    {"role": "interviewer", "text": "May she apply?"},
    {"role": "model", "channel": "reasoning", "text": "She may be poor."},
    {"role": "model", "text": "It depends. Who decides?"},
    {"role": "interviewer", "text": "The school decides."},
    {"role": "model", "channel": "reasoning", "text": "So power matters."},
    {"role": "model", "text": "Then the school holds the power."},
]


@pytest.fixture
def threads(study, owner):
    lines = [{"id": f"t{number}", "kind": "trajectory", "turns": TURNS} for number in (1, 2)]
    import_file(study=study, name="t.jsonl", data="\n".join(map(json.dumps, lines)).encode(), by=owner)
    return list(study.interviews.order_by("pk"))


def rows(what, study, only=None, **narrowed):
    export = find_export(what)
    assert export
    assert export.read_rows
    return [dict(zip(export.header, row, strict=True)) for row in export.read_rows(Scope(study, only, **narrowed))]


def first_of(interview, position):
    sentences = Sentence.objects.current().select_related("turn__interview__study")
    return sentences.filter(turn__interview=interview, turn__position=position).order_by("position")[0]


def enter(interview, position, feature, status, by):
    """An entry of the ledger, stored as it is: which statuses there are is not what these tests are about."""
    return Coding.objects.create(
        sentence=first_of(interview, position),
        code=Code.objects.get(version__study=interview.study, version__number=1, identifier=feature),
        coder=by,
        attributes={"status": status} if status else {},
        idempotency_key=uuid.uuid4(),
        created_at=timezone.now(),
    )


def link(coding, kind, to):
    end = {"code": to} if isinstance(to, Code) else {"sentence": to}
    return Link.objects.create(
        coding=coding, coder=coding.coder, kind=kind, idempotency_key=uuid.uuid4(), created_at=timezone.now(), **end
    )


def score(interview, by, value=2):
    stance, _ = NormativeStance.objects.get_or_create(
        study=interview.study,
        name="care",
        number=1,
        defaults={"statement": "Care first.", "author": "The team", "written_at": timezone.now(), "written_by": by},
    )
    row = Score.objects.create(
        stance=stance,
        interview=interview,
        criterion="moves",
        value=value,
        coder=by,
        idempotency_key=uuid.uuid4(),
        created_at=timezone.now(),
    )
    ScoreEvidence.objects.create(score=row, sentence=first_of(interview, 3))
    return row


class TestCodings:
    def test_a_coding_says_its_stage_and_whether_reasoning_was_opened_before(self, threads, study, coder, second_coder):
        code = find_code(study, "theme.balance")
        put(first_of(threads[0], 3), code, coder)
        StageOpening.objects.create(turn=first_of(threads[0], 2).turn, coder=coder, opened_at=timezone.now())
        put(first_of(threads[0], 5), code, coder)
        put(first_of(threads[0], 3), code, second_coder)
        put(first_of(threads[1], 3), code, coder)
        found = [(row["interview"], row["coder"], row["stage"], row["saw_reasoning"]) for row in rows("codings", study)]
        assert found == [
            ("t1", "coder", "front", False),
            ("t1", "coder", "back", True),
            ("t1", "second_coder", "front", False),
            ("t2", "coder", "front", False),
        ]


class TestLedger:
    def test_entries_are_carried_in_each_track_by_itself(self, threads, study, coder, second_coder):
        enter(threads[0], 2, "feature.power", "hypothesised", coder)
        enter(threads[0], 3, "feature.task", "", coder)
        entry = enter(threads[0], 6, "feature.power", "supported", coder)
        link(entry, "warrant", first_of(threads[0], 4))
        enter(threads[1], 3, "feature.power", "elicited", second_coder)
        entries = rows("ledger", study)
        assert [(row["turn"], row["track"], row["code_id"], row["status"]) for row in entries] == [
            (2, "back", "feature.power", "hypothesised"),
            (3, "conduct", "feature.task", ""),
            (6, "conduct", "feature.power", "supported"),
            (3, "conduct", "feature.power", "elicited"),
        ]
        assert entries[2]["warrants"] == [first_of(threads[0], 4).pk]
        states = [
            (row["turn"], row["stage"], row["track"], row["code_id"], row["status"], row["since"], row["is_entry"])
            for row in rows("ledger_states", study)
            if row["coder"] == "coder"
        ]
        assert states == [
            (2, "back", "back", "feature.power", "hypothesised", 2, True),
            (3, "front", "conduct", "feature.task", "", 3, True),
            (5, "back", "back", "feature.power", "hypothesised", 2, False),
            (6, "front", "conduct", "feature.power", "supported", 6, True),
            (6, "front", "conduct", "feature.task", "", 3, False),
        ]
        assert {row["interview"] for row in rows("ledger_states", study, second_coder)} == {"t2"}


class TestLinks:
    def test_a_link_names_the_feature_or_the_place_it_leads_to(self, threads, study, coder, second_coder):
        move = put(first_of(threads[0], 6), find_code(study, "move.revise"), coder)
        link(move, "acts_on", find_code(study, "feature.power"))
        link(move, "revises", first_of(threads[0], 3))
        first, second = rows("links", study, coder)
        assert (first["kind"], first["code_id"], first["feature"], first["to_turn"]) == (
            "acts_on",
            "move.revise",
            "feature.power",
            None,
        )
        assert (second["kind"], second["to_interview"], second["to_turn"]) == ("revises", "t1", 3)
        assert rows("links", study, second_coder) == []


class TestCases:
    def test_a_coder_gets_the_case_sheets_of_what_she_signed_off(self, threads, study, owner, coder):
        for thread in threads:
            write_sheet(thread, owner)
        assert len(rows("case_sheets", study)) == 2
        assert rows("case_sheets", study, coder) == []
        finish(threads[0], coder)
        [row] = rows("case_sheets", study, coder)
        assert (row["interview"], row["number"], row["holds"], row["relevant"][0]["reason"]) == ("t1", 1, True, WHY)

    def test_a_coder_gets_the_pairs_of_which_she_decided_both_threads(self, threads, study, owner, coder):
        pair_up(threads, owner)
        decide_all(threads[0], coder)
        assert rows("pairs", study, coder) == []
        decide_all(threads[1], coder)
        [row] = rows("pairs", study, coder)
        assert (row["a"], row["b"], row["expect"]) == ("t1", "t2", "no_change")

    def test_neither_is_told_of_a_masked_thread(self, threads, study, owner, tmp_path):
        pair_up(threads, owner)
        write_sheet(threads[0], owner)
        Interview.objects.filter(pk=threads[0].pk).update(mask_label="S-1", metadata={"condition": "prompted"})
        for only in (None, owner):
            assert rows("pairs", study, only) == []
            assert rows("case_sheets", study, only) == []
        export = find_export("trajectories")
        assert export
        export.files["jsonl"](Scope(study, None), tmp_path / "x.jsonl")
        text = (tmp_path / "x.jsonl").read_text()
        assert "prompted" not in text
        assert WHY not in text

    @pytest.mark.parametrize("what", ["case_sheets", "pairs", "scores"])
    def test_whoever_codes_and_takes_everybodys_unblinds_the_threads(
        self, what, threads, study, owner, lead, client_of
    ):
        write_sheet(threads[0], owner)
        pair_up(threads, owner)
        score(threads[0], owner)
        path = reverse("exchange:download", args=[study.slug, what, "jsonl"])
        page = client_of(lead)
        assert page.post(path).status_code == 409
        assert not Unblinding.objects.exists()
        assert b"".join(page.post(path, {"rows": "all"}))
        assert Unblinding.objects.filter(user=lead, interview=threads[0]).exists()

    def test_an_earlier_wording_of_a_pair_asks_for_unblinding_like_one_that_counts(
        self, threads, study, owner, lead, client_of
    ):
        withdraw_pair(pair=pair_up(threads, owner), by=owner)
        path = reverse("exchange:download", args=[study.slug, "pairs", "jsonl"])
        page = client_of(lead)
        assert page.post(path).status_code == 409
        assert b"tutor" in b"".join(page.post(path, {"rows": "all"}))
        assert set(Unblinding.objects.filter(user=lead).values_list("interview", flat=True)) == {
            thread.pk for thread in threads
        }


class TestScores:
    def test_a_score_names_its_stance_and_the_sentences_it_rests_on(self, threads, study, coder, second_coder):
        score(threads[0], coder)
        score(threads[1], second_coder, None)
        [row] = rows("scores", study, coder)
        assert (row["stance"], row["stance_number"], row["criterion"], row["value"]) == ("care", 1, "moves", 2)
        [evidence] = row["evidence"]
        assert (evidence["turn"], evidence["sentence_id"]) == (3, first_of(threads[0], 3).pk)
        assert [row["statement"] for row in rows("normative_stances", study, coder)] == ["Care first."]
        assert len(rows("scores", study)) == 2

    def test_openings_of_reasoning_are_the_coders_own(self, threads, study, coder, second_coder):
        turn = first_of(threads[0], 2).turn
        for person in (coder, second_coder):
            StageOpening.objects.create(turn=turn, coder=person, opened_at=timezone.now())
        assert [(row["turn"], row["coder"]) for row in rows("stage_openings", study, coder)] == [(2, "coder")]
        assert len(rows("stage_openings", study)) == 2


class TestTrajectories:
    def test_it_holds_links_pairs_scores_and_case_sheets(self, threads, study, owner, coder, tmp_path):
        Interview.objects.filter(pk=threads[0].pk).update(metadata={"condition": "prompted"})
        write_sheet(threads[0], owner)
        pair_up(threads, owner)
        score(threads[0], coder)
        move = put(first_of(threads[0], 6), find_code(study, "move.revise"), coder)
        link(move, "acts_on", find_code(study, "feature.power"))
        records = read_lines(study, tmp_path / "x.jsonl")
        thread = next(each for each in records["thread"] if each["id"] == "t1")
        assert (thread["condition"], thread["relevant"], thread["irrelevant"]) == (
            "prompted",
            ["feature.power"],
            ["feature.policy"],
        )
        [linked] = records["link"]
        assert (linked["coding_id"], linked["kind"], linked["code_id"]) == (move.pk, "acts_on", "feature.power")
        [pair] = records["pair"]
        assert (pair["name"], pair["a"], pair["b"], pair["expect"]) == ("tutor 1", "t1", "t2", "no_change")
        [stance], [given] = records["stance"], records["score"]
        assert (stance["stance"], given["stance"], given["value"]) == ("care/1", "care/1", 2)
        [sheet] = records["case_sheet"]
        assert (sheet["thread"], sheet["number"]) == ("t1", 1)

    def test_what_is_coded_but_not_finished_is_decided_for_that_family(self, threads, study, coder, tmp_path):
        put(first_of(threads[0], 3), find_code(study, "theme.balance"), coder)
        put(first_of(threads[0], 6), find_code(study, "theme.balance"), coder)
        decide_all(threads[0], coder)
        put(first_of(threads[1], 3), find_code(study, "theme.balance"), coder)
        decided = [each for each in read_lines(study, tmp_path / "x.jsonl")["decided"] if "families" in each]
        assert [(each["thread"], each["turn"], each["families"], each["sentences"]) for each in decided] == [
            ("t2", 3, ["themes"], 1)
        ]


@pytest.mark.parametrize("number", ["NC04", "NC05", "NC06", "NC07", "NC08", "NC09"])
def test_the_figures_of_the_export_are_those_of_the_study(number, study, owner, tmp_path):
    lines, _, _ = read_check(number)
    load(study, owner, lines)
    path = tmp_path / "x.jsonl"
    export = find_export("trajectories")
    assert export
    export.files["jsonl"](Scope(study, None), path)
    with path.open("rb") as stream:
        of_file = read_file(stream, name="x.jsonl")
    of_study = read_records(study)
    outcomes = [code for code in ("move.contextualize",) if any(each.code == code for each in of_study.codings)]
    expected, found = (make_report(each, outcomes=outcomes) for each in (of_study, of_file))
    for report in (expected, found):
        report.pop("warnings")
    assert found["by_coder"]
    assert found == expected
    assert sorted(of_file.pairs) == sorted(of_study.pairs)
    assert sorted(map(repr, of_file.scores)) == sorted(map(repr, of_study.scores))
    assert of_file.threads == of_study.threads


class TestEpisodes:
    def test_each_challenge_says_what_answered_it(self, study, owner):
        lines, _, _ = read_check("NC06")
        people = load(study, owner, lines)
        found = rows("episodes", study)
        assert sum(row["kind"] == "warranted" and row["outcome"] == "revised" for row in found) == 15
        assert sum(row["explained"] for row in found) >= 11
        assert {row["coder"] for row in found} == {"ana"}
        assert rows("episodes", study, people["ana"]) == found
        assert rows("episodes", study, owner) == []
