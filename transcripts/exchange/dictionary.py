"""The data dictionary: what every column of every table means. It leaves with the data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from transcripts.exchange.registry import Export, Scope, list_exports
from transcripts.formats import codebook_csv

HEADER = ["export", "column", "meaning"]

# Columns that mean the same wherever they stand.
SHARED = {
    "project": "Address of the study.",
    "interview": "Identifier of the interview, as it was imported.",
    "model": "Label of the interviewed model, as it was imported; empty when not known.",
    "turn": "Place of the turn in the interview, counted from 1 over all who speak.",
    "role": "Who speaks: interviewer, model, system or tool.",
    "sentence_id": "Number of the sentence; it never changes and is never used again.",
    "sentence": "Place of the sentence in the interview as it was cut at import, counted from 1.",
    "sentence_label": "The number people see: the place, with a letter for a piece of a split sentence (14a).",
    "start": "First character of the sentence in the turn's text, in code points counted from 0.",
    "end": "Character after its last one.",
    "text": "The exact words.",
    "quote_start": "First character of the marked words inside the sentence, counted in the turn's text as start is.",
    "quote_end": "Character after the marked words; both are empty where none were marked.",
    "quote": "The marked words.",
    "code_id": "Identifier of the code, the same in every version of the codebook.",
    "code": "Name of the code in the version the row was made with.",
    "family": "Identifier of the family of codes; empty where the whole study is meant.",
    "codebook_version": "Number of the version of the codebook.",
    "level": "semantic (said outright) or latent (read from what is said).",
    "enactment": "Of moves: enacted, demonstrated in an example, or described; empty for codes that do not ask.",
    "grounding": "abstract (a principle) or grounded (guidance tied to a case); empty where not said.",
    "prompting": "prompted, unprompted or unclear: whether the interviewer had raised it before; empty where no model speaks.",
    "prompting_source": "said (by the coder) or derived (from the words and codes of earlier turns).",
    "attributes": "Answers to the code's own questions, as JSON text; empty where there are none.",
    "note": "One line of the coder's: of a latent coding, the interpretation.",
    "reason": "Why, in the words of whoever did it.",
    "range": "The same for codings put on several sentences by one act; empty otherwise.",
    "coder": "User name of the coder.",
    "layer": "blind, or assisted: put after others' labels were seen.",
    "created": "When, in UTC.",
    "withdrawn": "When it was taken back; empty while it stands.",
    "withdrawal_reason": "Why it was taken back, where that was asked for.",
    "superseded_by": "Number of the row of the same table that took its place.",
    "carried_from": "coding_id this one was mapped from when sentence breaks were corrected or codes merged.",
    "coding_id": "Number of the coding.",
    "decision_id": "Number of the decision.",
    "none_applies": "true: read, and no code applies; false: read, and nothing beyond the codes that stand.",
    "author": "User name of whoever wrote it.",
    "written": "When it was written, in UTC.",
    "name": "Name, as people read it.",
    "round": "Number of the round.",
    "codes": "List of code identifiers; an empty list says that none applies.",
}
OWN = {
    "codebook_changes": {
        "kind": "added, redefined, renamed, merged, split, retired, moved or adjusted.",
        "effect": "What it does to the meaning: wording (leaves codings as they are), narrowing or widening.",
        "from_code": "Identifier before.",
        "to_code": "Identifier after.",
        "made": "When, in UTC.",
        "made_by": "Who did it.",
    },
    "interviews": {
        "title": "Title, as it was imported.",
        "vendor": "Maker of the model.",
        "surface": "Where the talk took place: a public page, an API.",
        "period": "When the talk took place, as it was imported.",
        "interviewer": "Who asked.",
        "tier": "Kind of interview, such as brief or comprehensive.",
        "inclusion": "Whether it is analysed, as it was imported.",
        "inclusion_reason": "Why, or why not.",
        "opening_prompt": "The words it began with, where they are kept apart.",
        "language": "Language of the talk, as a tag.",
        "questions": "Turns of the interviewer.",
        "author_words": "Words the interviewer says; a word is a run of characters between white space.",
        "model_words": "Words the model says.",
        "sentences": "Sentences as cut at import.",
        "file": "Name of the file it came in.",
        "file_sha256": "SHA-256 of that file.",
        "segmenter": "What cut it into sentences, with its version.",
    },
    "consents": {
        "scope": "coding (by people), external (models outside the site), quotation (in publications) or reuse (and training).",
        "given": "true: it may be done; false: it may not, refused or taken back.",
        "holds": "true for the latest record of the interview in this scope.",
        "basis": "On what it rests, as it was written down.",
        "recorded": "When, in UTC.",
        "recorded_by": "Who put it on record.",
    },
    "recuts": {
        "recut_id": "Number of the correction; its sentences share it.",
        "kind": "split or join.",
        "cut": "When, in UTC.",
        "cut_by": "Who did it.",
        "side": "retired: the sentence stood before; made: it stands since, or until a later correction.",
    },
    "reveals": {
        "source": "What was seen: machine (suggestions) or colleagues (their codings).",
        "revealed": "When it was first seen, in UTC.",
    },
    "openings": {
        "person": "User name of whoever opened colleagues' codings.",
        "where": "On which page.",
        "opened": "When, in UTC. What she coded there afterwards is of layer assisted.",
    },
    "memos": {
        "subject": "What it is about: sentence, interview, code, theme or project.",
        "subject_key": "Identifier of the code or number of the theme it is about.",
        "kind": "reading, interpretive, positional, methodological or decision.",
        "thread": "The same for all versions of one memo on a code, a theme or the study.",
        "revision": "Which version of the memo, from 1.",
        "memo_id": "Number of this version.",
        "text": "The memo.",
    },
    "stances": {
        "stance": "reflexive, codebook or reliability (Braun and Clarke's three kinds of thematic analysis).",
        "set": "Since when, in UTC.",
        "set_by": "Who set it.",
    },
    "rounds": {
        "instructions": "What coders were told.",
        "overlap_percent": "Share of the interviews that more than one coder was to read.",
        "overlap_readers": "How many coders were to read each of those.",
        "seed": "Number by which the dealing of interviews can be repeated.",
        "opened": "When the round began, in UTC.",
        "opened_by": "Who began it.",
        "locked": "When coding in it ended; empty while it is open.",
        "locked_by": "Who ended it.",
    },
    "assignments": {
        "assigned": "When, in UTC.",
        "assigned_by": "Who assigned it.",
        "signed": "When the coder confirmed that these are her codings.",
    },
    "adjudications": {
        "readings": "The blind readings as they stood: a list of objects with coder and codes.",
        "outcome": "one (reading holds), both (stand), neither, or redefined (the definition is at fault).",
        "chosen_coder": "Whose reading holds.",
        "adjudicator": "Who decided.",
        "revision": "Which decision on this sentence and family, from 1.",
        "adjudication_id": "Number of the decision.",
        "codes": "The codes that hold after the decision.",
    },
    "anchors": {
        "added": "When it became an anchor, in UTC.",
        "added_by": "Who chose it.",
        "removed": "When it ceased to be one.",
    },
    "anchor_readings": {"read": "When, in UTC."},
    "proposals": {
        "definition": "What it would mean.",
        "in_vivo": "true where the name is in the words of the sentence.",
        "proposed_by": "Who found it missing.",
        "proposed": "When, in UTC.",
        "state": "open, accepted or declined.",
        "code_id": "The code it became.",
        "answer": "What was answered.",
        "answered": "When.",
        "answered_by": "By whom.",
    },
    "themes": {
        "theme": "Number of the theme in the study.",
        "version": "Which version of the theme, from 1; the highest holds.",
        "concept": "The one idea that holds the theme together.",
        "description": "What it is about.",
        "state": "candidate, reviewed, defined or dropped.",
        "written_by": "Who wrote this version.",
        "came_from": "Numbers of the themes it was merged or split from.",
        "codes": "Identifiers of the codes it is made of.",
    },
    "theme_quotes": {
        "theme": "Number of the theme in the study.",
        "side": "for, or against: a sentence that speaks against the theme.",
        "quote_id": "Number of the quote.",
        "edited_text": "The quotation with its edits marked; empty where it is the exact words.",
        "added": "When, in UTC.",
        "added_by": "Who chose it.",
    },
    "phase_entries": {
        "phase": "1 familiarisation, 2 initial coding, 3 generating, 4 reviewing, 5 defining themes, 6 writing up.",
        "text": "What was written down.",
        "entry_id": "Number of the entry.",
    },
    "positionality": {"text": "The statement, in its author's words."},
    "audit": {
        "sequence": "Place in the study's chain, from 1, without gaps.",
        "at": "When, in UTC to the microsecond.",
        "actor_id": "Number of the person; system for the program itself.",
        "actor": "Name at the time.",
        "action": "What was done.",
        "target": "To what: kind and number.",
        "details": "Numbers and short states; never text of an interview.",
        "previous_hash": "Hash of the event before.",
        "hash": "SHA-256 over the event and the hash before it (audit_trail/chain.py verifies an exported trail).",
    },
    "dictionary": {
        "export": "Key of the export.",
        "column": "Heading of the column.",
        "meaning": "What it holds.",
    },
}


def find_meaning(export: Export, column: str) -> str | None:
    """What a column of an export means; ``None`` where nobody has written it down."""
    if export.key == "codebook":
        return codebook_csv.COLUMNS.get(column)
    own = {**OWN.get(export.key, {}), **export.meanings}
    return own.get(column) or SHARED.get(column)


def read_dictionary(scope: Scope) -> Iterator[Sequence[object]]:
    """Every column of every table."""
    for export in list_exports():
        for column in export.header:
            yield export.key, column, find_meaning(export, column) or ""
