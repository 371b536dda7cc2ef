"""What the figures of a check say in plain words: passed, or look at it. Nothing here stops a launch. Plain Python.

The lines are ours, drawn so that a person looks where something may be wrong; they are no published standard.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from auditapp.preannotation.evaluation.pure.checking import FOLLOWED, OFTEN, RARELY, Rate
from transcripts.agreement.pure.shares import Share

MIN_LEGAL = 0.99
MIN_ANSWERED = 0.95
MAX_FLIPS = 0.10
MIN_KEPT = 0.80
MIN_BY_DEFINITION = 0.80
PASSED, LOOK, NOTHING = "passed", "look", "nothing"
# One check in a line: ``said`` are its figures, ``line`` is where the line is drawn.
Verdict = dict[str, str]
WORDS = {PASSED: "passed", LOOK: "look at it", NOTHING: "no data to judge by"}


def judge_check(report: Mapping[str, Any], names: Mapping[str, str] | None = None) -> list[Verdict]:
    """Every check of the report in a line. ``names``: what codes are called, by identifier."""
    names = names or {}
    return [
        _judge_share(
            "legal", "Labels come from its instructions", report["legal"], minimum=MIN_LEGAL, of="labels named"
        ),
        _judge_share(
            "answered",
            "Every sentence gets an answer",
            report["answered"],
            minimum=MIN_ANSWERED,
            of="sentences asked about",
        ),
        _judge_flips("order", "The order of the codes does not matter", report["order"], names),
        _judge_flips("generic", "The codes’ names do not matter", report["generic"], names),
        _judge_swaps(report),
        _judge_flips("stability", "Asked again, it says the same", report["stability"], names),
        _judge_rates(report["rates"], names),
    ]


def add_kept(rows: Sequence[Mapping[str, Any]]) -> Share:
    """Over all codes: of the sentences on which a code was put at least once, those on which it was put every time."""
    return Share(sum(row["kept"].part for row in rows), sum(row["kept"].n for row in rows))


def _give_verdict(check: str, title: str, state: str, said: str, line: str) -> Verdict:
    return {"check": check, "title": title, "state": state, "words": WORDS[state], "said": said, "line": line}


def _judge_share(check: str, title: str, share: Share, *, minimum: float, of: str) -> Verdict:
    line = f"at least {100 * minimum:.0f} %"
    if share.value is None:
        return _give_verdict(check, title, NOTHING, f"no {of}", line)
    said = f"{share.part:,} of {share.n:,} {of}, {100 * share.value:.1f} %"
    return _give_verdict(check, title, PASSED if share.value >= minimum else LOOK, said, line)


def _judge_flips(check: str, title: str, rows: Sequence[Mapping[str, Any]], names: Mapping[str, str]) -> Verdict:
    line = (
        f"no code changes on more than {100 * MAX_FLIPS:.0f} % of sentences, and at least {100 * MIN_KEPT:.0f} % of what "
        "was applied stays"
    )
    kept = add_kept(rows)
    if not rows:
        return _give_verdict(check, title, NOTHING, "was not asked, or is not answered yet", line)
    worst = max(rows, key=lambda row: row["flips"].value or 0.0)
    flips: Share = worst["flips"]
    above = [row for row in rows if (row["flips"].value or 0.0) > MAX_FLIPS]
    changes = (
        f"most often {names.get(worst['code'], worst['code'])}, on {flips.part:,} of {flips.n:,} sentences"
        if flips.part
        else f"none changes on any of {flips.n:,} sentences"
    )
    stays = f"{kept.part:,} of {kept.n:,} applied codes stay" if kept.n else "no code was applied at all"
    said = f"{changes}; {stays}"
    if not kept.n:
        return _give_verdict(check, title, NOTHING, said, line)
    is_fine = not above and (kept.value or 0.0) >= MIN_KEPT
    return _give_verdict(check, title, PASSED if is_fine else LOOK, said, line)


def _judge_swaps(report: Mapping[str, Any]) -> Verdict:
    title = "Definitions count, not names"
    line = f"where it follows one of the two, the definition in at least {100 * MIN_BY_DEFINITION:.0f} %"
    total = Share(sum(row["share"].part for row in report["swaps"]), sum(row["share"].n for row in report["swaps"]))
    if total.value is None:
        return _give_verdict("swapped", title, NOTHING, "no sentence tells the two apart", line)
    said = f"followed the definition {total.part:,} times, the name {total.n - total.part:,} times"
    return _give_verdict("swapped", title, PASSED if total.value >= MIN_BY_DEFINITION else LOOK, said, line)


def _judge_rates(rates: Sequence[Rate], names: Mapping[str, str]) -> Verdict:
    title = "No code is applied nearly always or never"
    line = f"every code on {100 * RARELY:.0f} % to {100 * OFTEN:.0f} % of sentences"
    if not any(rate.share.n for rate in rates):
        return _give_verdict("rates", title, NOTHING, "no sentence is answered", line)
    alarms = [rate for rate in rates if rate.alarm]
    serious = [rate for rate in alarms if rate.alarm == "often" or rate.is_certain]
    if serious:
        said = "; ".join(f"{names.get(rate.code, rate.code)} {rate.words}" for rate in serious)
        return _give_verdict("rates", title, LOOK, said, line)
    if alarms:
        n = max(rate.share.n for rate in alarms)
        noun = "code is" if len(alarms) == 1 else "codes are"
        under = f"under {100 * RARELY:.0f} % of {n:,} sentences"
        said = f"{len(alarms)} {noun} applied to {under}, too few to tell a fault from a rare code"
        return _give_verdict("rates", title, PASSED, said, line)
    return _give_verdict("rates", title, PASSED, f"{len(rates)} codes within the lines", line)


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
