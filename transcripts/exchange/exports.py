"""The exports of the human half."""

from __future__ import annotations

from transcripts.exchange import queries
from transcripts.exchange.registry import Export, register_export
from transcripts.projects.roles import Permission

EXPORTS = [
    Export(
        key="codebook",
        name="Codebook",
        sentence="The current version: every code with both definitions. The same file can be imported again.",
        header=list(queries.CODEBOOK),
        permission=Permission.VIEW,
        read_rows=queries.read_codebook,
    ),
    Export(
        key="codings",
        name="Codings",
        sentence="One row per coding with its sentence, coder, layer and codebook version; withdrawn ones are marked.",
        header=list(queries.CODINGS),
        permission=Permission.EXPORT,
        read_rows=queries.read_codings,
    ),
    Export(
        key="decisions",
        name="Decisions",
        sentence="One row per sentence somebody has finished reading, with whether no code applied.",
        header=list(queries.DECISIONS),
        permission=Permission.EXPORT,
        read_rows=queries.read_decisions,
    ),
    Export(
        key="interviews",
        name="Interviews",
        sentence="What is known of each interview, with its counts; no text.",
        header=list(queries.INTERVIEWS),
        permission=Permission.EXPORT,
        read_rows=queries.read_interviews,
    ),
    Export(
        key="memos",
        name="Memos",
        sentence="Notes on sentences and interviews, former versions included.",
        header=list(queries.MEMOS),
        permission=Permission.EXPORT,
        read_rows=queries.read_memos,
    ),
    Export(
        key="audit",
        name="Audit trail",
        sentence="Who did what and when, each event chained to the one before by its hash.",
        header=list(queries.AUDIT),
        permission=Permission.SEE_ALL_CODINGS,
        read_rows=queries.read_audit,
    ),
]


def register_all() -> None:
    """Make them known."""
    for export in EXPORTS:
        register_export(export)
