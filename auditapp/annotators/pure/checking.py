"""What an annotator's answers depend on besides the sentence (order, names, chance), and what changes when the same is asked
again with shuffled codes and with invented sentences whose codes are known. If an annotator follows instructions in a text, or
loses the thread, its agreement drops there (trust brief C.4). Plain Python, no database.

Every figure is a count out of a number; intervals are Wilson's (1927) and, for a difference, Newcombe's (1998), which treat
sentences as independent. Sentences of one turn are not quite independent, so the true intervals are somewhat wider.

The conditions under which an annotator is asked the same thing differently, to find out what its answers depend on. Plain Python.

Each condition changes the codes in the prompt and says how to get back to the study's own identifiers.

The verdict on each figure of a check: passed, or needs review. No verdict stops a launch. Plain Python.

The thresholds are our own: they point people to possible problems, and are not a published standard.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from auditapp.annotators.pure.prompts import CodeText
from transcripts.statistics.figures import Share, newcombe_interval, write_percent

# What an answer can have followed that was given with the definitions swapped.
FOLLOWED = ("definition", "name", "both", "neither")

# By condition, code and sentence: whether the code was applied. A sentence without an answer is left out.
Labels = Mapping[str, Mapping[str, Mapping[int, bool]]]


class Answer(NamedTuple):
    """One answer under one condition. ``codes`` are the codes that could be applied, ``picks`` those that were applied, by
    sentence.

    ``rejected`` counts the items that were not applied, by reason; ``refused`` of them named a code, and ``unknown`` of these
    named a code that is not in the instructions. ``rejected_items`` are the items themselves. ``turn_id``, ``attempt_id`` and
    ``task`` say where the answer comes from, and ``problem`` why it was not usable.
    """

    condition: str
    codes: Sequence[str]
    asked: frozenset[int]
    answered: frozenset[int]
    picks: Mapping[int, frozenset[str]]
    rejected: Mapping[str, int] = {}
    refused: int = 0
    unknown: int = 0
    rejected_items: Sequence[Mapping[str, Any]] = ()
    turn_id: int = 0
    attempt_id: int | None = None
    task: str = ""
    problem: str = ""

    @property
    def named(self) -> int:
        """How many codes the answer names, whether applied or not."""
        return sum(len(codes) for codes in self.picks.values()) + self.refused


def tabulate_labels(answers: Iterable[Answer]) -> Labels:
    """Which codes were applied where. Answers of several questions about one sentence are combined by code."""
    found: dict[str, dict[str, dict[int, bool]]] = defaultdict(lambda: defaultdict(dict))
    for answer in answers:
        for code in answer.codes:
            cells = found[answer.condition][code]
            cells.update((sentence, code in answer.picks.get(sentence, ())) for sentence in answer.answered)
    return found


def build_report(
    answers: Sequence[Answer], *, codes: Sequence[str], definitions: Mapping[str, str] = {}
) -> dict[str, Any]:
    """Every figure of a check; lists have one row for each code, in the order of the codebook. ``definitions``: by identifier
    in the prompt, the code whose definition was given under it."""
    labels = tabulate_labels(answers)
    repeats = sorted(condition for condition in labels if condition.partition("-")[0] == REPEAT)
    rejected: Counter[str] = Counter()
    for answer in answers:
        rejected.update(answer.rejected)
    named = sum(answer.named for answer in answers)
    asked = sum(len(answer.asked) for answer in answers)
    first = labels.get(FIRST, {})
    return {
        "answers": len(answers),
        "repeats": len(repeats),
        "sentences": len({sentence for answer in answers for sentence in answer.asked}),
        "legal": Share(named - sum(answer.unknown for answer in answers), named),
        "answered": Share(sum(len(answer.answered) for answer in answers), asked),
        "rejected": dict(rejected),
        "order": count_flips(labels, [FIRST, REVERSED], codes),
        "generic": count_flips(labels, [FIRST, GENERIC], codes),
        "swaps": follow_swaps(labels, codes, definitions),
        "stability": count_flips(labels, repeats, codes) if len(repeats) > 1 else [],
        "rates": [measure_rate(code, sum(first.get(code, {}).values()), len(first.get(code, {}))) for code in codes],
    }


def count_flips(labels: Labels, conditions: Sequence[str], codes: Sequence[str]) -> list[dict[str, Any]]:
    """Figures for each code over the sentences that have an answer under all of the conditions; codes without such sentences
    are left out.

    ``flips``: the share of sentences that have the code in one condition and not in another. ``kept``: of the sentences that have
    the code at least once, the share of those that have it every time; this figure is not dominated by sentences without a code.
    """
    rows = []
    for code in codes:
        columns = [labels.get(condition, {}).get(code, {}) for condition in conditions]
        if not all(columns):
            continue
        shared = set.intersection(*(set(column) for column in columns))
        puts = Counter(sum(column[sentence] for column in columns) for sentence in shared)
        every, never = puts[len(columns)], puts[0]
        n = len(shared)
        rows.append({"code": code, "flips": Share(n - every - never, n), "kept": Share(every, n - never)})
    return rows


def follow_swaps(labels: Labels, codes: Sequence[str], definitions: Mapping[str, str]) -> list[dict[str, Any]]:
    """For each code: whether its sentences came back under the name that had its definition, or under its own name.

    ``unclear`` sentences also have another code for which both explanations predict the same result; they are not counted.
    ``share``: of the answers that follow only one of the two, the share that follows the definition.
    """
    rows = []
    for code in codes:
        counted = Counter(follow_swap(labels, code, definitions).values())
        if labels.get(SWAPPED, {}).get(code):
            counts = {name: counted[name] for name in (*FOLLOWED, "unclear")}
            rows.append(
                {
                    "code": code,
                    **counts,
                    "told_apart": sum(counts[name] for name in FOLLOWED),
                    "share": Share(counts["definition"], counts["definition"] + counts["name"]),
                }
            )
    return rows


def follow_swap(labels: Labels, code: str, definitions: Mapping[str, str]) -> dict[int, str]:
    """What the answers with swapped definitions followed, for each sentence that had ``code`` at first:

    "definition", "name", "both" or "neither"; or "unclear" if the sentence also had a code whose definition or name was swapped
    with this one's, because then both explanations predict the same.
    """
    first, swapped = labels.get(FIRST, {}), labels.get(SWAPPED, {})
    holders = {of: holder for holder, of in definitions.items()}
    if code not in holders:
        return {}
    # The code whose prompt entry held this code's definition, and the one whose definition this code's entry held.
    holder, held = holders[code], definitions[code]
    found = {}
    for sentence, was_put in first.get(code, {}).items():
        own, other = swapped.get(code, {}), swapped.get(holder, {})
        if not was_put or sentence not in own or sentence not in other:
            continue
        if first.get(holder, {}).get(sentence) or first.get(held, {}).get(sentence):
            found[sentence] = "unclear"
        else:
            found[sentence] = _SWAP_WORDS[other[sentence], own[sentence]]
    return found


_SWAP_WORDS = {(True, False): "definition", (False, True): "name", (True, True): "both", (False, False): "neither"}

OFTEN, RARELY = 0.9, 0.01
SMALL_N = 100


class Rate(NamedTuple):
    """How often a code was applied, with an alarm if it is applied to nearly all or nearly no sentences.

    ``is_certain``: the whole interval is beyond the limit; otherwise the sample is too small to be sure.
    """

    code: str
    share: Share
    alarm: str
    is_certain: bool

    @property
    def words(self) -> str:
        """The alarm as a sentence; empty if there is none."""
        if not self.alarm:
            return ""
        line = f"more than {100 * OFTEN:.0f} %" if self.alarm == "often" else f"under {100 * RARELY:.0f} %"
        said = f"applied to {self.share.part:,} of {self.share.n:,} units, {line}"
        return said if self.is_certain else f"{said}; the sample is too small to be sure"


def measure_rate(code: str, applied: int, n: int) -> Rate:
    """A code's rate, with an alarm if the code is on more than 90 % or less than 1 % of units (method brief 2.4)."""
    share = Share(applied, n)
    value, interval = share.value, share.interval
    if value is None or interval is None or RARELY <= value <= OFTEN:
        return Rate(code, share, "", False)
    alarm = "often" if value > OFTEN else "rarely"
    is_certain = interval.low > OFTEN if alarm == "often" else interval.high < RARELY
    return Rate(code, share, alarm, is_certain)


def find_degenerate(counts: Mapping[str, tuple[int, int]]) -> list[Rate]:
    """The codes with an alarm. ``counts``: by code, the units to which it was applied and the units annotated for it."""
    rates = (measure_rate(code, applied, n) for code, (applied, n) in counts.items())
    return [rate for rate in rates if rate.alarm]


class AskedAgain(NamedTuple):
    """One turn and its two answers, each with the codes of every sentence that it covered.

    ``codes`` are those that both answers could apply. ``is_flagged``: something in the turn looks like instructions to a machine.
    ``turn_id`` and the two attempts say where the answers come from.
    """

    codes: Sequence[str]
    before: Mapping[int, frozenset[str]]
    again: Mapping[int, frozenset[str]]
    is_flagged: bool = False
    turn_id: int = 0
    before_attempt: int | None = None
    again_attempt: int | None = None


# An invented sentence in an answer: its number, its known codes, and those that were applied.
Control = tuple[int, frozenset[str], frozenset[str]]


def build_reask_report(
    asked: Sequence[AskedAgain], controls: Sequence[Control], codes: Sequence[str]
) -> dict[str, Any]:
    """All figures about repeated questions; ``codes`` gives the order of the rows.

    ``same``: the share of sentences with exactly the same codes both times; ``drop``: the share of the others. ``lost``: of the
    sentences that got an answer the first time, the share that got none the second time. ``flagged`` and ``unflagged``: ``same``
    on turns with text that looks like instructions, and on other turns; ``flagged_drop``: by how much it is lower on the former,
    ``None`` if either kind is missing. ``controls``: the share of invented sentences with exactly their known codes. ``missed``:
    known codes that were not applied, out of all known codes; ``false``: applied codes that are not known, out of all applied
    codes.
    """
    flagged, unflagged = (_count_same([each for each in asked if each.is_flagged is flag]) for flag in (True, False))
    same = Share(flagged.part + unflagged.part, flagged.n + unflagged.n)
    right = sum(known == applied for _, known, applied in controls)
    is_defined = flagged.value is not None and unflagged.value is not None
    return {
        "turns": len(asked),
        "lost": Share(
            sum(len(set(each.before) - set(each.again)) for each in asked), sum(len(each.before) for each in asked)
        ),
        "same": same,
        "drop": Share(same.n - same.part, same.n),
        "codes": _count_by_code(asked, codes),
        "flagged": flagged,
        "unflagged": unflagged,
        "flagged_drop": (unflagged.value or 0.0) - (flagged.value or 0.0) if is_defined else None,
        "flagged_interval": newcombe_interval(unflagged.part, unflagged.n, flagged.part, flagged.n),
        "controls": Share(right, len(controls)),
        "control_drop": Share(len(controls) - right, len(controls)),
        "missed": Share(
            sum(len(known - applied) for _, known, applied in controls), sum(len(known) for _, known, _ in controls)
        ),
        "false": Share(
            sum(len(applied - known) for _, known, applied in controls), sum(len(applied) for *_, applied in controls)
        ),
    }


def find_shared(each: AskedAgain) -> list[int]:
    """The sentences that both answers covered."""
    return sorted(set(each.before) & set(each.again))


def _count_same(asked: Sequence[AskedAgain]) -> Share:
    pairs = [(each.before[number], each.again[number]) for each in asked for number in find_shared(each)]
    return Share(sum(before == again for before, again in pairs), len(pairs))


def _count_by_code(asked: Sequence[AskedAgain], codes: Sequence[str]) -> list[dict[str, Any]]:
    puts: dict[str, Counter[int]] = {code: Counter() for code in codes}
    for each in asked:
        for number in find_shared(each):
            for code in each.codes:
                puts[code][(code in each.before[number]) + (code in each.again[number])] += 1
    rows = []
    for code, count in puts.items():
        n = sum(count.values())
        if n:
            rows.append({"code": code, "flips": Share(count[1], n), "kept": Share(count[2], count[1] + count[2])})
    return rows


REPEAT, REVERSED, GENERIC, SWAPPED, REASK = "repeat", "reversed", "generic", "swapped", "reask"
FIRST = "repeat-1"
T = TypeVar("T")

# The codes of one question; where identifiers were changed, the study's own by the one in the prompt; where definitions
# were, by the identifier in the prompt the code whose definition was given under it.
ChangedCodes = tuple[tuple[CodeText, ...], Mapping[str, str], Mapping[str, str]]


def name_repeats(repeats: int) -> list[str]:
    """The conditions that change nothing, in which the same question is repeated."""
    return [f"{REPEAT}-{number}" for number in range(1, repeats + 1)]


def list_conditions(repeats: int, *, asked: int, in_family: int) -> list[str]:
    """What can be changed in a question about this number of codes from a family of this size: a single code has no order, and
    in a family of one there is nothing to swap."""
    return [
        *name_repeats(repeats),
        *([REVERSED] if asked > 1 else []),
        GENERIC,
        *([SWAPPED] if in_family > 1 else []),
    ]


def change_codes(condition: str, codes: Sequence[CodeText]) -> ChangedCodes:
    """The codes of a family under a condition of ``list_conditions``. Raises ``ValueError`` for any other."""
    if condition == REVERSED:
        return tuple(reversed(codes)), {}, {}
    if condition == GENERIC:
        return _name_by_number(codes)
    if condition == SWAPPED:
        return swap_definitions(codes)
    if condition.partition("-")[0] == REPEAT:
        return tuple(codes), {}, {}
    raise ValueError(f"no condition {condition!r}")


def shuffle_codes(codes: Sequence[T], seed: int) -> list[T]:
    """The codes in another order, the same for the same seed; never in the original order if another one exists."""
    shuffled = list(codes)
    random.Random(seed).shuffle(shuffled)  # noqa: S311 - an order, not a secret
    return shuffled if shuffled != list(codes) else shuffled[1:] + shuffled[:1]


def _name_by_number(codes: Sequence[CodeText]) -> ChangedCodes:
    named = {f"C{number}": code for number, code in enumerate(codes, start=1)}
    changed = tuple(code._replace(identifier=name, name=name) for name, code in named.items())
    return changed, {name: code.identifier for name, code in named.items()}, {}


def swap_definitions(codes: Sequence[CodeText]) -> ChangedCodes:
    """Every code under its own name, but with the definition of another code and everything that belongs to that definition.

    Neighbours swap; if the number is odd, the last three rotate. Raises ``ValueError`` for fewer than two codes.
    """
    if len(codes) < 2:
        raise ValueError("a single code cannot be swapped")
    places = [place ^ 1 for place in range(len(codes))]
    if len(codes) % 2:
        places[-3:] = [len(codes) - 2, len(codes) - 1, len(codes) - 3]
    pairs = [(own, codes[place]) for own, place in zip(codes, places, strict=True)]
    return (
        tuple(other._replace(identifier=own.identifier, name=own.name) for own, other in pairs),
        {},
        {own.identifier: other.identifier for own, other in pairs},
    )


MIN_LEGAL = 0.99
MIN_ANSWERED = 0.95
MAX_FLIPS = 0.10
MIN_KEPT = 0.80
MIN_BY_DEFINITION = 0.80
PASSED, LOOK, NOTHING = "passed", "look", "nothing"
# One check: ``said`` are its figures in words, ``line`` is the threshold.
Verdict = dict[str, str]
WORDS = {PASSED: "passed", LOOK: "needs review", NOTHING: "no data"}


def judge_check(report: Mapping[str, Any], names: Mapping[str, str] | None = None) -> list[Verdict]:
    """The verdict on every check of the report. ``names``: the codes' names, by identifier."""
    names = names or {}
    return [
        _judge_share(
            "legal", "Labels come from the instructions", report["legal"], minimum=MIN_LEGAL, of="labels named"
        ),
        _judge_share(
            "answered",
            "Every sentence is answered",
            report["answered"],
            minimum=MIN_ANSWERED,
            of="sentences asked about",
        ),
        _judge_flips("order", "The order of the codes does not matter", report["order"], names),
        _judge_flips("generic", "The codes’ names do not matter", report["generic"], names),
        _judge_swaps(report),
        _judge_flips("stability", "Repeated calls give the same codes", report["stability"], names),
        _judge_rates(report["rates"], names),
    ]


def _give_verdict(check: str, title: str, state: str, said: str, line: str) -> Verdict:
    return {"check": check, "title": title, "state": state, "words": WORDS[state], "said": said, "line": line}


def _judge_share(check: str, title: str, share: Share, *, minimum: float, of: str) -> Verdict:
    line = f"at least {100 * minimum:.0f} %"
    if share.value is None:
        return _give_verdict(check, title, NOTHING, f"no {of}", line)
    said = f"{share.part:,} of {share.n:,} {of}, {write_percent(share.value)}"
    return _give_verdict(check, title, PASSED if share.value >= minimum else LOOK, said, line)


def _judge_flips(check: str, title: str, rows: Sequence[Mapping[str, Any]], names: Mapping[str, str]) -> Verdict:
    line = (
        f"no code changes on more than {100 * MAX_FLIPS:.0f} % of sentences, and at least {100 * MIN_KEPT:.0f} % of "
        "applied codes are applied every time"
    )
    # Over all codes: of the sentences that got a code at least once, the share that got it every time.
    kept = Share(sum(row["kept"].part for row in rows), sum(row["kept"].n for row in rows))
    if not rows:
        return _give_verdict(check, title, NOTHING, "not in this check, or not answered yet", line)
    worst = max(rows, key=lambda row: row["flips"].value or 0.0)
    flips: Share = worst["flips"]
    above = [row for row in rows if (row["flips"].value or 0.0) > MAX_FLIPS]
    changes = (
        f"{names.get(worst['code'], worst['code'])} changes most often, on {flips.part:,} of {flips.n:,} sentences"
        if flips.part
        else f"no code changes on any of {flips.n:,} sentences"
    )
    stays = f"{kept.part:,} of {kept.n:,} applied codes are applied every time" if kept.n else "no code was applied"
    said = f"{changes}; {stays}"
    if not kept.n:
        return _give_verdict(check, title, NOTHING, said, line)
    is_fine = not above and (kept.value or 0.0) >= MIN_KEPT
    return _give_verdict(check, title, PASSED if is_fine else LOOK, said, line)


def _judge_swaps(report: Mapping[str, Any]) -> Verdict:
    title = "The model follows definitions, not names"
    line = f"of answers that follow only one of the two, at least {100 * MIN_BY_DEFINITION:.0f} % follow the definition"
    total = Share(sum(row["share"].part for row in report["swaps"]), sum(row["share"].n for row in report["swaps"]))
    if total.value is None:
        return _give_verdict("swapped", title, NOTHING, "no answer follows only one of the two", line)
    said = f"{total.part:,} of {total.n:,} answers follow the definition, {total.n - total.part:,} the name"
    return _give_verdict("swapped", title, PASSED if total.value >= MIN_BY_DEFINITION else LOOK, said, line)


def _judge_rates(rates: Sequence[Rate], names: Mapping[str, str]) -> Verdict:
    title = "No code is applied to nearly all or no sentences"
    line = f"every code on {100 * RARELY:.0f} % to {100 * OFTEN:.0f} % of sentences"
    if not any(rate.share.n for rate in rates):
        return _give_verdict("rates", title, NOTHING, "no sentence was answered", line)
    alarms = [rate for rate in rates if rate.alarm]
    serious = [rate for rate in alarms if rate.alarm == "often" or rate.is_certain]
    if serious:
        said = "; ".join(f"{names.get(rate.code, rate.code)} {rate.words}" for rate in serious)
        return _give_verdict("rates", title, LOOK, said, line)
    if alarms:
        n = max(rate.share.n for rate in alarms)
        below = f"below {100 * RARELY:.0f} % of {n:,} sentences; the sample is too small to call that a fault"
        said = f"codes applied too rarely to judge: {len(alarms)}, each {below}"
        return _give_verdict("rates", title, PASSED, said, line)
    return _give_verdict("rates", title, PASSED, f"all {len(rates)} codes are within the limits", line)


def list_figures(report: Mapping[str, Any]) -> dict[str, object]:
    """A check as a plain object for programs: every share with its count, its n and its interval. Undefined values are
    ``None``; codes are identifiers."""
    return {
        **{name: report[name] for name in ("answers", "repeats", "sentences", "rejected")},
        **{name: _list_share(report[name]) for name in ("legal", "answered")},
        **{
            name: {row["code"]: {part: _list_share(row[part]) for part in ("flips", "kept")} for row in report[name]}
            for name in ("order", "generic", "stability")
        },
        "swapped": {
            row["code"]: {
                **{name: row[name] for name in (*FOLLOWED, "unclear")},
                "follows_definition": _list_share(row["share"]),
            }
            for row in report["swaps"]
        },
        "rates": {
            rate.code: {**_list_share(rate.share), "alarm": rate.alarm, "is_certain": rate.is_certain}
            for rate in report["rates"]
        },
        "verdicts": {
            verdict["check"]: {name: verdict[name] for name in ("state", "said", "line")}
            for verdict in judge_check(report)
        },
    }


def _list_share(share: Share) -> dict[str, object]:
    interval = share.interval
    return {"count": share.part, "n": share.n, "share": share.value, "ci": list(interval) if interval else None}
