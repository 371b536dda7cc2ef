"""How the plays of a batch came out, from what is stored of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.db.models import Q

from auditapp.batches.models import Batch
from auditapp.batches.pure.chaining import read_words
from auditapp.benchmarks.scenarios.models import Play, Script
from auditapp.benchmarks.scenarios.pure.measures import PlayOutcome, report_plays
from auditapp.benchmarks.scenarios.pure.outcomes import Expected, read_expected, read_outcome
from auditapp.benchmarks.scenarios.queries.code_readings import read_codes
from auditapp.benchmarks.scenarios.queries.runs import count_states, run_plays
from auditapp.benchmarks.scenarios.queries.talks import read_turns
from auditapp.llm.models import ModelVariant
from auditapp.llm.pure.own_words import explain_end

PLAYS_AT_A_TIME = 200


def read_run_report(batch: Batch, *, coder: str = "") -> dict[str, Any]:
    """The first of what ``read_run`` returns."""
    return read_run(batch, coder=coder)[0]


def read_run(batch: Batch, *, coder: str = "") -> tuple[dict[str, Any], dict[int, PlayOutcome]]:
    """The report on a batch, and what each of its plays that expect an answer came to, by the play's key.

    The report is in the form of ``measures.report_plays``, with ``batch``; ``states``, how many plays
    are open, stored and failed; ``failed``, which failed; ``without_answer``, how many stored plays are of cases that expect no
    answer and so have no outcome here.

    Of cases that name a code: ``readings``, how many of their threads have an outcome on which basis (``pure.readings.BASES``),
    None where no case names one; ``coder``, whose readings alone these are, "" for everybody's and what was adjudicated;
    ``coders``, who has read how many; ``unknown_codes``, which the codebook does not have.

    A play that failed is among those without an outcome. Raises ``Refused`` for a coder who has read none of them.
    """
    plays = _list_ended(batch)
    wanted = {
        play.interview_id: own.code
        for play in plays
        if (own := _read_expected(play)) and own.code and play.interview_id is not None
    }
    found = read_codes(batch.project, wanted, coder=coder)
    outcomes = _read_outcomes(plays, found.outcomes)
    report = {
        **report_plays(list(outcomes.values())),
        "batch": batch.pk,
        "states": count_states(batch),
        "failed": [_name_play(play) for play in plays if play.state == Play.State.FAILED],
        "without_answer": sum(play.state == Play.State.STORED and "answer" not in play.script.case for play in plays),
        "coder": coder,
        "coders": found.coders,
        "readings": found.counts if wanted else None,
        "unknown_codes": found.unknown,
    }
    return report, outcomes


def read_outcomes(batch: Batch, *, among: Q | None = None) -> list[PlayOutcome]:
    """What the plays of a batch came to (``among`` them) that have ended and are not masked any more, as a file of plays has
    them. Nobody's codings are read: of cases that name a code the outcome is None."""
    plays = [play for play in _list_ended(batch, among) if play.interview is None or not play.interview.is_masked]
    return list(_read_outcomes(plays, {}).values())


def _list_ended(batch: Batch, among: Q | None = None) -> list[Play]:
    ended = run_plays(batch).filter(among or Q(), state__in=(Play.State.STORED, Play.State.FAILED))
    return list(ended.select_related("script", "arm__variant", "interview").order_by("pk"))


def _read_outcomes(plays: Sequence[Play], readings: Mapping[int, bool]) -> dict[int, PlayOutcome]:
    measured = [play for play in plays if "answer" in play.script.case]
    answers = _read_answers([play for play in measured if play.state == Play.State.STORED])
    outcomes = {}
    for play in measured:
        own = read_expected(play.script.case["answer"])
        assert play.arm is not None  # noqa: S101  (said by a constraint)
        read = read_outcome(answers[play.pk], own) if play.pk in answers else None
        outcomes[play.pk] = PlayOutcome(
            case=play.script.name,
            model=play.arm.variant.label,
            condition=play.arm.task,
            repeat=play.repeat,
            outcome=readings.get(play.interview_id or 0) if own.code else read.is_right if read else None,
            group=play.script.case.get("group", ""),
            probability=read.probability if read else None,
            reasoning=find_reasoning(play.arm.variant.reasoning),
            pair=_name_shared_case(play.script),
            base=_name_base(play.arm.variant),
        )
    return outcomes


def _name_shared_case(script: Script) -> str:
    """The name of the pair whose sides tell one case of two groups; "" for any other. That the sides expect the same answer is what
    says that they differ in the group alone."""
    pair = script.case.get("pair") or {}
    return str(pair.get("id", "")) if pair.get("expect") == "no_change" else ""


def _name_base(variant: ModelVariant) -> str:
    """What variants have in common that differ in reasoning alone: another temperature would be another difference."""
    return f"{variant.account_id} {variant.model} {variant.sampling}"


def find_reasoning(setting: str) -> bool | None:
    """Whether a model was set to reason; None where nothing was set."""
    word = setting.strip().casefold()
    return None if not word else word not in {"off", "none", "0", "disabled"}


def _read_expected(play: Play) -> Expected | None:
    return read_expected(play.script.case["answer"]) if "answer" in play.script.case else None


def _name_play(play: Play) -> dict[str, object]:
    assert play.arm is not None  # noqa: S101  (said by a constraint)
    return {
        "case": play.script.name,
        "model": play.arm.variant.label,
        "condition": play.arm.task,
        "repeat": play.repeat,
    }


def _read_answers(plays: Sequence[Play]) -> dict[int, str]:
    """The words of the last answer of each play, but for those that were cut off or withheld: they have no outcome."""
    found = {}
    for first in range(0, len(plays), PLAYS_AT_A_TIME):
        for pk, turns in read_turns(plays[first : first + PLAYS_AT_A_TIME]).items():
            last = turns[-1].result if turns else None
            if last is not None and not explain_end(last.attempt.finish_reason):
                found[pk] = read_words(last.answer)
    return found
