"""The figures of checks as plain objects, for programs: every share with its count, its n and its interval."""

from __future__ import annotations

from collections.abc import Sequence

from auditapp.preannotation.evaluation.pure.check_verdicts import judge_check
from auditapp.preannotation.evaluation.pure.checking import CheckReport, Flips, Rate
from auditapp.preannotation.evaluation.pure.reasking import ReaskReport
from transcripts.agreement.pure.shares import Share


def describe_check(report: CheckReport) -> dict[str, object]:
    """A check. Undefined is ``None``; codes are identifiers."""
    return {
        "answers": report.answers,
        "repeats": report.repeats,
        "sentences": report.sentences,
        "legal": describe_share(report.legal),
        "answered": describe_share(report.answered),
        "rejected": dict(report.rejected),
        "order": _describe_flips(report.order),
        "generic": _describe_flips(report.generic),
        "swapped": {
            row.code: {
                "definition": row.definition,
                "name": row.name,
                "both": row.both,
                "neither": row.neither,
                "unclear": row.unclear,
                "follows_definition": describe_share(row.share),
            }
            for row in report.swaps
        },
        "stability": _describe_flips(report.stability),
        "rates": {rate.code: _describe_rate(rate) for rate in report.rates},
        "verdicts": {
            verdict.check: {"state": verdict.state, "said": verdict.said, "line": verdict.line}
            for verdict in judge_check(report)
        },
    }


def describe_reask(report: ReaskReport) -> dict[str, object]:
    """What was lost when a part was asked again."""
    interval = report.flagged_interval
    return {
        "turns": report.turns,
        "same": describe_share(report.same),
        "drop": describe_share(report.drop),
        "lost": describe_share(report.lost),
        "codes": _describe_flips(report.codes),
        "flagged": describe_share(report.flagged),
        "unflagged": describe_share(report.unflagged),
        "flagged_drop": report.flagged_drop,
        "flagged_drop_ci": list(interval) if interval else None,
        "planted": describe_share(report.planted),
        "planted_drop": describe_share(report.planted_drop),
        "planted_missed": describe_share(report.missed),
        "planted_false": describe_share(report.false),
    }


def describe_share(share: Share) -> dict[str, object]:
    """Count, n, share and its 95 % interval."""
    interval = share.interval
    return {"count": share.part, "n": share.n, "share": share.value, "ci": list(interval) if interval else None}


def _describe_flips(rows: Sequence[Flips]) -> dict[str, object]:
    return {row.code: {"flips": describe_share(row.flips), "kept": describe_share(row.kept)} for row in rows}


def _describe_rate(rate: Rate) -> dict[str, object]:
    return {**describe_share(rate.share), "alarm": rate.alarm, "is_certain": rate.is_certain}
