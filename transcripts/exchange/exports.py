"""The exports of the human half."""

from __future__ import annotations

from transcripts.exchange import codebook_files, coding_rows, dictionary, queries, team_rows, theme_rows
from transcripts.exchange.methods.writing import write_methods
from transcripts.exchange.refi.writing import write_study
from transcripts.exchange.registry import Export, register_export
from transcripts.projects.roles import Permission

STUDY = [
    Export(
        key="codebook",
        name="Codebook",
        sentence="The current version: every code with both definitions. Each of these files can be imported again.",
        row="a code of the current version",
        columns=queries.CODEBOOK,
        permission=Permission.VIEW,
        read_rows=queries.read_codebook,
        files={"json": codebook_files.write_json, "qdc": codebook_files.write_refi},
    ),
    Export(
        key="codebook_changes",
        name="Changes of the codebook",
        sentence="What was done to which code in which version, with its effect on the meaning and the reason.",
        row="a step of a draft",
        columns=queries.CODEBOOK_CHANGES,
        permission=Permission.EXPORT,
        read_rows=queries.read_codebook_changes,
    ),
    Export(
        key="interviews",
        name="Interviews",
        sentence="What is known of each interview, with its counts; no text.",
        row="an interview, without text",
        columns=queries.INTERVIEWS,
        permission=Permission.EXPORT,
        read_rows=queries.read_interviews,
    ),
    Export(
        key="consents",
        name="Consents",
        sentence="Every record of what may be done with an interview, on what it rests, and whether it still holds.",
        row="a record of consent",
        columns=queries.CONSENTS,
        permission=Permission.EXPORT,
        read_rows=queries.read_consents,
    ),
    Export(
        key="recuts",
        name="Corrected sentence breaks",
        sentence="Every split and join: the sentences that were retired by it, and those that were made.",
        row="a sentence that a correction retired or made",
        columns=coding_rows.RECUTS,
        permission=Permission.EXPORT,
        read_rows=coding_rows.read_recuts,
    ),
]
CODINGS = [
    Export(
        key="codings",
        name="Codings",
        sentence="One row per coding with its sentence, coder, layer and codebook version; withdrawn ones are marked.",
        row="a coding, withdrawn ones too",
        columns=coding_rows.CODINGS,
        permission=Permission.EXPORT,
        read_rows=coding_rows.read_codings,
        opens_codings=True,
    ),
    Export(
        key="decisions",
        name="Decisions",
        sentence="One row per sentence somebody has finished reading, with whether no code applied.",
        row='a "read; nothing more here"',
        columns=coding_rows.DECISIONS,
        permission=Permission.EXPORT,
        read_rows=coding_rows.read_decisions,
        opens_codings=True,
    ),
    Export(
        key="reveals",
        name="Reveals",
        sentence="When who first saw others' labels for a sentence, a machine's or colleagues'.",
        row="a sentence somebody saw others' labels of",
        columns=coding_rows.REVEALS,
        permission=Permission.EXPORT,
        read_rows=coding_rows.read_reveals,
    ),
    Export(
        key="openings",
        name="Openings",
        sentence="When who opened colleagues' codings of an interview, and on which page.",
        row="an interview somebody opened colleagues' codings of",
        columns=coding_rows.OPENINGS,
        permission=Permission.EXPORT,
        read_rows=coding_rows.read_openings,
    ),
    Export(
        key="memos",
        name="Memos",
        sentence="Notes on sentences, interviews, codes, themes and the study, former versions included.",
        row="a version of a memo",
        columns=coding_rows.MEMOS,
        permission=Permission.EXPORT,
        read_rows=coding_rows.read_memos,
        opens_codings=True,
    ),
]
TEAM = [
    Export(
        key="stances",
        name="Method",
        sentence="Every switch of the method by which the study, or one family of codes, is read, with its reason.",
        row="a switch of the method",
        columns=team_rows.STANCES,
        permission=Permission.EXPORT,
        read_rows=team_rows.read_stances,
    ),
    Export(
        key="rounds",
        name="Rounds",
        sentence="The rounds of coding: their instructions, how interviews were dealt out, who locked them.",
        row="a round",
        columns=team_rows.ROUNDS,
        permission=Permission.EXPORT,
        read_rows=team_rows.read_rounds,
    ),
    Export(
        key="assignments",
        name="Assignments",
        sentence="Who was to code which interview in which round, and when she signed it off.",
        row="an interview for a coder in a round",
        columns=team_rows.ASSIGNMENTS,
        permission=Permission.EXPORT,
        read_rows=team_rows.read_assignments,
    ),
    Export(
        key="adjudications",
        name="Adjudications",
        sentence="What was decided about sentences that coders read differently, with their readings and the reason.",
        row="a decision on differing readings",
        columns=team_rows.ADJUDICATIONS,
        permission=Permission.SEE_ALL_CODINGS,
        read_rows=team_rows.read_adjudications,
        opens_codings=True,
    ),
    Export(
        key="anchors",
        name="Anchor sentences",
        sentence="The fixed sentences that are coded anew after each change of meaning.",
        row="an anchor sentence",
        columns=team_rows.ANCHORS,
        permission=Permission.EXPORT,
        read_rows=team_rows.read_anchors,
    ),
    Export(
        key="anchor_readings",
        name="Anchor readings",
        sentence="What was read in an anchor sentence by whom under which codebook version.",
        row="an anchor sentence as one coder read it under one version",
        columns=team_rows.ANCHOR_READINGS,
        permission=Permission.EXPORT,
        read_rows=team_rows.read_anchor_readings,
        opens_codings=True,
    ),
    Export(
        key="proposals",
        name="Proposed codes",
        sentence="Codes somebody found missing, with the sentence that showed it and what the lead answered.",
        row="a code somebody proposed",
        columns=team_rows.PROPOSALS,
        permission=Permission.EXPORT,
        read_rows=team_rows.read_proposals,
    ),
]
THEMES = [
    Export(
        key="themes",
        name="Themes",
        sentence="Every version of every theme: its name, central concept and codes, and why it was changed.",
        row="a version of a theme",
        columns=theme_rows.THEMES,
        permission=Permission.EXPORT,
        read_rows=theme_rows.read_themes,
    ),
    Export(
        key="theme_quotes",
        name="Quotes of themes",
        sentence="Sentences for and against each theme: the exact text, and the quotation with its edits marked.",
        row="a sentence for or against a theme",
        columns=theme_rows.THEME_QUOTES,
        permission=Permission.SEE_ALL_CODINGS,
        read_rows=theme_rows.read_theme_quotes,
        opens_codings=True,
    ),
    Export(
        key="phase_entries",
        name="Phases",
        sentence="What was written down in the six phases of thematic analysis, former texts included.",
        row="an entry of a phase",
        columns=theme_rows.PHASE_ENTRIES,
        permission=Permission.EXPORT,
        read_rows=theme_rows.read_phase_entries,
    ),
    Export(
        key="positionality",
        name="Positionality",
        sentence="What coders say of themselves as readers, for those who wrote a statement.",
        row="a statement that stands",
        columns=theme_rows.POSITIONALITY,
        permission=Permission.EXPORT,
        read_rows=theme_rows.read_positionality,
    ),
]
RECORD = [
    Export(
        key="qdpx",
        name="Study for other programs",
        sentence=(
            "Interviews, codes, codings, memos and themes as a REFI-QDA project, which ATLAS.ti, MAXQDA, NVivo, QualCoder "
            "and others read, and which can be imported here again. Decisions, rounds, sign-offs and adjudications do not "
            "travel: REFI-QDA has no place for them; take the tables as well."
        ),
        row="the whole study as REFI-QDA",
        permission=Permission.EXPORT,
        files={"qdpx": write_study},
        opens_codings=True,
    ),
    Export(
        key="dictionary",
        name="Data dictionary",
        sentence="What every column of every table means; no data.",
        row="a column",
        columns=dictionary.COLUMNS,
        permission=Permission.VIEW,
        read_rows=dictionary.read_dictionary,
    ),
    Export(
        key="methods",
        name="Methods paragraph",
        sentence="How the study was done, in words and figures from the record, what speaks against it, and an audit annex.",
        row="the methods paragraph and its annex",
        permission=Permission.SEE_ALL_CODINGS,
        files={"md": write_methods},
    ),
    Export(
        key="audit",
        name="Audit trail",
        sentence="Who did what and when, each event chained to the one before by its hash.",
        row="an event of the study",
        columns=queries.AUDIT,
        permission=Permission.SEE_ALL_CODINGS,
        read_rows=queries.read_audit,
        opens_codings=True,
    ),
]


def register_all() -> None:
    """Make them known."""
    for export in (*STUDY, *CODINGS, *TEAM, *THEMES, *RECORD):
        register_export(export)
