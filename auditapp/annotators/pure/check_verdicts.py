"""The verdict on each figure of a check: passed, or needs review. No verdict stops a launch. Plain Python.

The thresholds are ours: they point people to what may be wrong, and are no published standard.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from auditapp.annotators.pure.checking import FOLLOWED, OFTEN, RARELY, Rate
from transcripts.formats.numbers import write_percent
from transcripts.statistics.intervals import Share

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
            "legal", "Labels are from the instructions", report["legal"], minimum=MIN_LEGAL, of="labels named"
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
    """A check as a plain object for programs: every share with its count, its n and its interval. Undefined is ``None``;
    codes are identifiers."""
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
