"""The exports of the human half."""

from __future__ import annotations

from transcripts.corpus.models import Consent
from transcripts.exchange import coding_rows, negotiation_rows, queries, settled, trajectory_rows
from transcripts.exchange.methods import write_methods
from transcripts.exchange.refi.content import write_study
from transcripts.exchange.rows import Export
from transcripts.negotiation.queries.cases import find_paired, find_with_sheets
from transcripts.negotiation.queries.scores import find_scored
from transcripts.studies.roles import Permission

STUDY = [
    Export(
        key="codebook",
        name="Codebook",
        sentence=(
            "The current version: every code with both definitions. Each of these files can be imported again. JSON and QDC also "
            "contain the examples; those from interviews only with consent to quotation."
        ),
        row="a code of the current version",
        columns=queries.CODEBOOK,
        permission=Permission.VIEW,
        is_narrowed=False,
        read_rows=queries.read_codebook,
        files={"json": queries.write_json, "qdc": queries.write_refi},
        consent=Consent.Scope.QUOTATION.value,
        find_quoted=queries.find_quoted,
    ),
    Export(
        key="codebook_changes",
        name="Changes of the codebook",
        sentence="Every change of a code, with the version, the effect on the meaning and the reason.",
        row="a step of a draft",
        columns=queries.CODEBOOK_CHANGES,
        is_narrowed=False,
        read_rows=queries.read_codebook_changes,
    ),
    Export(
        key="interviews",
        name="Interviews",
        sentence="Metadata of each interview with its counts, without text.",
        row="an interview, without text",
        columns=queries.INTERVIEWS,
        read_rows=queries.read_interviews,
    ),
    Export(
        key="turns",
        name="Turns",
        sentence="Every turn with its exact text, including tool calls, their results and reasoning.",
        row="a turn",
        columns=coding_rows.TURNS,
        read_rows=coding_rows.read_turns,
        count_rows=coding_rows.count_turns,
        count_long=coding_rows.count_long_turns,
    ),
    Export(
        key="sentences",
        name="Sentences",
        sentence="Every sentence as currently segmented, coded or not; the denominator of shares and rates.",
        row="a sentence, coded or not",
        columns=coding_rows.SENTENCES,
        read_rows=coding_rows.read_sentences,
        count_rows=coding_rows.count_sentences,
        count_long=coding_rows.count_long_sentences,
    ),
    Export(
        key="texts",
        name="Interviews with their text",
        sentence="Whole interviews and trajectories, one per line, in a form that can be imported again. Consents are a separate "
        "file.",
        row="an interview with its turns",
        files={"jsonl": coding_rows.write_interviews},
    ),
    Export(
        key="trajectories",
        name="Trajectories with codings",
        sentence=(
            "Every interview and trajectory with its turns, its place in another thread if it continues one, codings, links, "
            "decisions, case sheets, pairs and scores, as JSON lines from which figures can be computed again. Memos, the work of "
            "machines and the codebook are separate files."
        ),
        row="a thread, a turn, or a record about them",
        files={"jsonl": trajectory_rows.write_trajectories},
        unblinds=True,
        find_unblinded=negotiation_rows.find_judged,
        also_reveals="case sheets, pairs, scores",
    ),
    Export(
        key="inspect_log",
        name="Log for Inspect",
        sentence=(
            "Interviews and trajectories as a log of Inspect (JSON), which its viewer and inspect_ai read, and which can be "
            "imported here again. It has no codings, kinds of questions or sentence boundaries. A thread that continues from "
            "another is separate, and its metadata names the turn."
        ),
        row="a thread as a sample",
        files={"json": trajectory_rows.write_inspect_log},
        begin_name=trajectory_rows.begin_name,
    ),
    Export(
        key="consents",
        name="Consents",
        sentence="Every record of consent: its scope, its basis, and whether it still applies.",
        row="a record of consent",
        columns=queries.CONSENTS,
        read_rows=queries.read_consents,
    ),
    Export(
        key="boundary_edits",
        name="Boundary edits",
        sentence="Every split and merge of sentences, with the sentences that it retired and those that it made.",
        row="a sentence that a split or merge retired or made",
        columns=coding_rows.BOUNDARY_EDITS,
        read_rows=coding_rows.read_boundary_edits,
    ),
]
CODINGS = [
    Export(
        key="codings",
        name="Codings",
        sentence="One row per coding with its sentence, coder, blinding and codebook version; withdrawn ones are marked.",
        row="a coding, including withdrawn ones",
        columns=coding_rows.CODINGS,
        read_rows=coding_rows.read_codings,
        count_rows=coding_rows.count_codings,
        unblinds=True,
    ),
    Export(
        key="decisions",
        name="Decisions",
        sentence="One row per sentence that a person has finished reading, with whether no code applied.",
        row='a "read; nothing more here"',
        columns=coding_rows.DECISIONS,
        read_rows=coding_rows.read_decisions,
        count_rows=coding_rows.count_decisions,
        unblinds=True,
    ),
    Export(
        key="reveals",
        name="Reveals",
        sentence="Who first saw others' labels for a sentence (a machine's or colleagues'), and when.",
        row="a sentence for which a person saw others' labels",
        columns=coding_rows.REVEALS,
        read_rows=coding_rows.read_reveals,
    ),
    Export(
        key="unblindings",
        name="Unblindings",
        sentence="Who unblinded an interview, when, and on which page.",
        row="an interview that a person unblinded",
        columns=coding_rows.UNBLINDINGS,
        read_rows=coding_rows.read_unblindings,
    ),
    Export(
        key="memos",
        name="Memos",
        sentence="Notes on sentences, interviews, codes, themes and the study, including former versions.",
        row="a version of a memo",
        columns=coding_rows.MEMOS,
        read_rows=coding_rows.read_memos,
        unblinds=True,
    ),
]
TEAM = [
    Export(
        key="method_choices",
        name="Method",
        sentence="Every change of the method of the study or of a code family, with its reason.",
        row="a change of the method",
        columns=coding_rows.METHODS,
        is_narrowed=False,
        read_rows=coding_rows.read_methods,
    ),
    Export(
        key="rounds",
        name="Rounds",
        sentence="The rounds of coding: their instructions, how interviews were allocated, and who locked them.",
        row="a round",
        columns=coding_rows.ROUNDS,
        is_narrowed=False,
        read_rows=coding_rows.read_rounds,
    ),
    Export(
        key="assignments",
        name="Assignments",
        sentence="Who was assigned which interview in which round, and when it was completed.",
        row="an interview for a coder in a round",
        columns=coding_rows.ASSIGNMENTS,
        read_rows=coding_rows.read_assignments,
    ),
    Export(
        key="adjudications",
        name="Adjudications",
        sentence="Decisions on disagreements between coders, with the readings and the reason.",
        row="a decision on a disagreement",
        columns=coding_rows.ADJUDICATIONS,
        permission=Permission.SEE_ALL_CODINGS,
        read_rows=coding_rows.read_adjudications,
        unblinds=True,
    ),
    Export(
        key="anchors",
        name="Anchor sentences",
        sentence="The fixed sentences that are coded again after each change of meaning.",
        row="an anchor sentence",
        columns=coding_rows.ANCHORS,
        read_rows=coding_rows.read_anchors,
    ),
    Export(
        key="anchor_readings",
        name="Anchor readings",
        sentence="How each coder coded the anchor sentences under each codebook version.",
        row="an anchor sentence coded by one coder under one version",
        columns=coding_rows.ANCHOR_READINGS,
        read_rows=coding_rows.read_anchor_readings,
        unblinds=True,
    ),
    Export(
        key="proposals",
        name="Proposed codes",
        sentence="Proposed codes, each with the sentence that prompted it and the lead's answer.",
        row="a code somebody proposed",
        columns=coding_rows.PROPOSALS,
        read_rows=coding_rows.read_proposals,
    ),
]
NEGOTIATION = [
    Export(
        key="links",
        name="Links",
        sentence="Which features a move acts on, what an entry of a feature rests on, and what a Revise revises.",
        row="a link of a coding, including withdrawn ones",
        columns=negotiation_rows.LINKS,
        read_rows=negotiation_rows.read_links,
        unblinds=True,
    ),
    Export(
        key="ledger",
        name="Feature ledger",
        sentence="Every active entry of a feature: its status, its hypothesis and what it rests on.",
        row="an entry of a feature",
        columns=negotiation_rows.LEDGER,
        read_rows=negotiation_rows.read_ledger,
        unblinds=True,
    ),
    Export(
        key="ledger_states",
        name="States of the feature ledger",
        sentence="The status of each feature after each turn of the model, by coder, derived from the entries.",
        row="a feature after a turn, from its first entry on",
        columns=negotiation_rows.LEDGER_STATES,
        read_rows=negotiation_rows.read_ledger_states,
        unblinds=True,
    ),
    Export(
        key="episodes",
        name="Challenges and answers",
        sentence="Each challenged turn with the model's answers, derived from the blind codings of each coder.",
        row="a challenge as read by one coder",
        columns=negotiation_rows.EPISODES,
        read_rows=negotiation_rows.read_episodes,
        unblinds=True,
    ),
    Export(
        key="pairs",
        name="Pairs of threads",
        sentence="Threads that differ in one thing, and whether the difference should change what the model does.",
        row="a wording of a pair, including earlier ones",
        columns=negotiation_rows.PAIRS,
        read_rows=negotiation_rows.read_pairs,
        unblinds=True,
        find_unblinded=find_paired,
        also_reveals="what pairs are expected to show",
    ),
    Export(
        key="case_sheets",
        name="Case sheets",
        sentence="Which features matter to the case of each thread and which do not, with the reasons.",
        row="a number of a case sheet",
        columns=negotiation_rows.CASE_SHEETS,
        read_rows=negotiation_rows.read_case_sheets,
        unblinds=True,
        find_unblinded=find_with_sheets,
        also_reveals="case sheets",
    ),
    Export(
        key="normative_stances",
        name="Normative stances",
        sentence="Every wording of the texts under which scores are given, with author and context.",
        row="a wording of a normative stance",
        columns=negotiation_rows.NORMATIVE_STANCES,
        is_narrowed=False,
        read_rows=negotiation_rows.read_normative_stances,
    ),
    Export(
        key="scores",
        name="Scores",
        sentence="How people judged threads, each under one normative stance, with the sentences they rest on.",
        row="a score, including withdrawn ones",
        columns=negotiation_rows.SCORES,
        read_rows=negotiation_rows.read_scores,
        unblinds=True,
        find_unblinded=find_scored,
        also_reveals="scores",
    ),
    Export(
        key="demonstrations",
        name="Demonstrations",
        sentence=(
            "Threads as examples for training (JSON lines): their turns with the moves, features, links and challenges that "
            "coders agree on or that were adjudicated, the normative stance and the scores, and which of two threads scored "
            "higher. Only threads with consent to reuse; no machine labels."
        ),
        row="a normative stance, a thread with all of its turns, or a preference between two threads",
        permission=Permission.ADJUDICATE,
        files={"jsonl": settled.write_demonstrations},
        unblinds=True,
        find_unblinded=negotiation_rows.find_judged,
        also_reveals="pairs, scores",
        consent=Consent.Scope.REUSE.value,
        find_quoted=settled.find_threads,
    ),
    Export(
        key="stage_openings",
        name="Openings of reasoning",
        sentence="Who first opened a model's reasoning, in which turn and when.",
        row="a turn of reasoning that a person opened",
        columns=negotiation_rows.STAGE_OPENINGS,
        read_rows=negotiation_rows.read_stage_openings,
    ),
]
THEMES = [
    Export(
        key="themes",
        name="Themes",
        sentence="Every version of every theme: its name, central concept and codes, and why it was changed.",
        row="a version of a theme",
        columns=coding_rows.THEMES,
        is_narrowed=False,
        read_rows=coding_rows.read_themes,
    ),
    Export(
        key="theme_quotes",
        name="Quotes of themes",
        sentence=(
            "Sentences for and against each theme: the exact text, and the quotation with its edits marked. The words of an "
            "interview are included only with consent to quotation."
        ),
        row="a sentence for or against a theme",
        columns=coding_rows.THEME_QUOTES,
        permission=Permission.SEE_ALL_CODINGS,
        read_rows=coding_rows.read_theme_quotes,
        unblinds=True,
        consent=Consent.Scope.QUOTATION.value,
        find_quoted=coding_rows.find_quoted,
    ),
    Export(
        key="phase_entries",
        name="Phases",
        sentence="Notes from the six phases of thematic analysis, including earlier texts.",
        row="an entry of a phase",
        columns=coding_rows.PHASE_ENTRIES,
        is_narrowed=False,
        read_rows=coding_rows.read_phase_entries,
    ),
    Export(
        key="positionality",
        name="Positionality",
        sentence="Coders' own statements about themselves as readers.",
        row="a current statement",
        columns=coding_rows.POSITIONALITY,
        is_narrowed=False,
        read_rows=coding_rows.read_positionality,
    ),
]
RECORD = [
    Export(
        key="qdpx",
        name="Study for other programs",
        sentence=(
            "Interviews, codes, codings, memos and themes as a REFI-QDA project, which ATLAS.ti, MAXQDA, NVivo, QualCoder "
            "and others read, and which can be imported here again. It contains no decisions, rounds, completed assignments or "
            "adjudications, because REFI-QDA has no place for them; download those as tables."
        ),
        row="the whole study as REFI-QDA",
        files={"qdpx": write_study},
        unblinds=True,
    ),
    Export(
        key="dictionary",
        name="Data dictionary",
        sentence="The meaning of every column of every table; no data.",
        row="a column",
        columns=queries.DICTIONARY,
        permission=Permission.VIEW,
        is_narrowed=False,
        read_rows=queries.read_dictionary,
    ),
    Export(
        key="methods",
        name="Methods paragraph",
        sentence="How the study was conducted, in words and figures from the record, with its limitations and an audit annex.",
        row="the methods paragraph and its annex",
        permission=Permission.SEE_ALL_CODINGS,
        is_narrowed=False,
        files={"md": write_methods},
    ),
    Export(
        key="audit",
        name="Audit trail",
        sentence="Who did what and when, each event chained to the one before by its hash.",
        row="an event of the study",
        columns=queries.AUDIT,
        permission=Permission.SEE_ALL_CODINGS,
        is_narrowed=False,
        read_rows=queries.read_audit,
        count_rows=queries.count_audit,
        unblinds=True,
    ),
]
