"""The results of an audit as pages and commands show them."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from auditapp.sob.audit_queries import count_frame, list_items, list_marks
from auditapp.sob.models import Audit
from auditapp.sob.pure.measures.auditing import AuditReport, build_audit_report
from transcripts.accounts.models import User


@dataclass(frozen=True, slots=True)
class AuditResult:
    """What an audit shows, of all reviewers or of one; ``frame_found`` readings could be found again of its frame, and
    ``after_opening`` marks are left out."""

    report: AuditReport
    second_thoughts: int
    frame_found: int
    after_opening: int


def read_audit_report(audit: Audit, reviewer: User | None = None) -> AuditResult:
    """The results of an audit, or what one reviewer's marks alone would give."""
    marks = list_marks(audit, reviewer)
    frame = count_frame(audit)
    report = build_audit_report(list_items(audit), marks.standing, marks.first, frame)
    found = sum(frame.values())
    if found != audit.frame:
        report.warnings.append(
            f"{audit.frame:,} readings were drawn from, and {found:,} are found of that moment now: readings were being "
            "stored while the sample was drawn. Corrected scores lean on those found."
        )
    if marks.after_opening:
        were = "1 mark was" if marks.after_opening == 1 else f"{marks.after_opening:,} marks were"
        report.warnings.append(
            f"{were} made after the reviewer had opened these results. Such marks are not blind: they are kept, and left out of "
            "every figure here."
        )
    return AuditResult(report, marks.second_thoughts, found, marks.after_opening)


def write_audit(audit: Audit) -> dict[str, object]:
    """The results as JSON. Scores are unrounded, what is not defined is null."""
    result = read_audit_report(audit)
    return {
        "audit": audit.number,
        "batch": audit.batch_id,
        "scope": audit.scope,
        "size": audit.size,
        "seed": audit.seed,
        "frame": audit.frame,
        "second_thoughts": result.second_thoughts,
        "after_opening": result.after_opening,
        **asdict(result.report),
    }
