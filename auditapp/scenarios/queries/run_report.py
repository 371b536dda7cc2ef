"""How the plays of a batch came out, from what is stored of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from auditapp.batches.models import Batch
from auditapp.batches.pure.conversations import read_words
from auditapp.scenarios.errors import ScenarioError
from auditapp.scenarios.models import Play
from auditapp.scenarios.pure.measures import PlayOutcome, report_plays
from auditapp.scenarios.pure.outcomes import Expected, read_expected, read_outcome
from auditapp.scenarios.queries.run_talks import read_turns
from auditapp.scenarios.queries.runs import count_states, run_plays
from transcripts.accounts.models import User
from transcripts.coding.models import Coding
from transcripts.rounds.progress import read_progress

PLAYS_AT_A_TIME = 200


def read_run_report(batch: Batch, *, coder: str = "") -> dict[str, Any]:
    """The report on a batch, in the form of ``measures.report_plays``, and beside it: ``batch``; ``states``, how many plays
    are open, stored and failed; ``failed``, which failed; ``without_answer``, how many stored plays are of cases that expect no
    answer and so have no outcome here; and ``coder``, whose codings give the outcome of cases that name a code.

    A play that failed is among those without an outcome. Without ``coder`` it is whoever has coded most of the threads of such
    cases. Raises ``ScenarioError`` for a coder who has read none of them.
    """
    plays = _list_ended(batch)
    coded = [play for play in plays if (own := _read_expected(play)) and own.code and play.interview_id]
    readings, chosen = _read_codes(coded, coder)
    return {
        **report_plays(_read_outcomes(plays, readings)),
        "batch": batch.pk,
        "states": count_states(batch),
        "failed": [_name_play(play) for play in plays if play.state == Play.State.FAILED],
        "without_answer": sum(play.state == Play.State.STORED and "answer" not in play.script.case for play in plays),
        "coder": chosen,
    }


def read_outcomes(batch: Batch) -> list[PlayOutcome]:
    """What the plays of a batch came to that have ended and are not masked any more, as a file of plays has them. Nobody's
    codings are read: of cases that name a code the outcome is None."""
    plays = [play for play in _list_ended(batch) if play.interview is None or not play.interview.is_masked]
    return _read_outcomes(plays, {})


def _list_ended(batch: Batch) -> list[Play]:
    ended = run_plays(batch).filter(state__in=(Play.State.STORED, Play.State.FAILED))
    return list(ended.select_related("script", "arm__variant", "interview").order_by("pk"))


def _read_outcomes(plays: Sequence[Play], readings: Mapping[int, bool]) -> list[PlayOutcome]:
    measured = [play for play in plays if "answer" in play.script.case]
    answers = _read_answers([play for play in measured if play.state == Play.State.STORED])
    outcomes = []
    for play in measured:
        own = read_expected(play.script.case["answer"])
        assert play.arm is not None  # noqa: S101  (said by a constraint)
        read = read_outcome(answers[play.pk], own) if play.pk in answers else None
        outcomes.append(
            PlayOutcome(
                case=play.script.name,
                model=play.arm.variant.label,
                condition=play.arm.task,
                repeat=play.repeat,
                outcome=readings.get(play.pk) if own.code else read.is_right if read else None,
                group=play.script.case.get("group", ""),
                probability=read.probability if read else None,
                reasoning=find_reasoning(play.arm.variant.reasoning),
            )
        )
    return outcomes


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
    """The words of the last answer of each play."""
    found = {}
    for first in range(0, len(plays), PLAYS_AT_A_TIME):
        for pk, turns in read_turns(plays[first : first + PLAYS_AT_A_TIME]).items():
            if turns and turns[-1].result is not None:
                found[pk] = read_words(turns[-1].result.answer)
    return found


def _read_codes(plays: Sequence[Play], coder: str) -> tuple[dict[int, bool], str]:
    """Whether the code of its case was applied to the thread of each play by the chosen coder, blind; a thread that she has not
    decided whole and in which she has not applied it is missing. And who she is."""
    threads = {play.interview_id: play for play in plays if play.interview_id is not None}
    rows = (
        Coding.objects.blind()
        .filter(sentence__turn__interview__in=list(threads), sentence__retired_by__isnull=True)
        .values_list("coder__username", "sentence__turn__interview", "code__identifier")
    )
    applied: dict[str, set[tuple[int, str]]] = {}
    for who, thread, code in rows:
        applied.setdefault(who, set()).add((thread, code))
    counts = Counter({who: len({thread for thread, _ in own}) for who, own in applied.items()})
    chosen = coder or next(iter(sorted(counts, key=lambda who: (-counts[who], who))), "")
    person = User.objects.filter(username=chosen).first()
    if coder and (person is None or not plays):
        raise ScenarioError(
            f"{coder} has coded none of the threads of cases that name a code. Who has: {', '.join(sorted(counts)) or 'nobody'}."
        )
    if person is None:
        return {}, ""
    progress = read_progress(list(threads), coder_id=person.pk)
    found = {}
    for thread, play in threads.items():
        own = _read_expected(play)
        if own and (thread, own.code) in applied.get(chosen, set()):
            found[play.pk] = True
        elif not progress.find(thread, person.pk).undecided:
            found[play.pk] = False
    return found, chosen
