"""The methods paragraph of a study: figures from its record. The wording is in ``exchange/methods_words.html``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.db.models import Count, Q, QuerySet
from django.template import Context
from django.template.loader import get_template
from django.utils import timezone
from django.utils.formats import date_format

from transcripts.agreement.models import Adjudication
from transcripts.analysis.models import PhaseEntry, PositionalityStatement, ThemeVersion
from transcripts.analysis.search.queries import read_catalog
from transcripts.audit_trail.models import AuditEvent, AuditHead
from transcripts.audit_trail.trail import study_stream
from transcripts.codebook.models import CodebookVersion, CodeChange, CodeFamily
from transcripts.codebook.queries import current_version
from transcripts.coding.models import Coding, Decision, Link, Reveal, StageOpening, Unblinding
from transcripts.corpus.models import BoundaryEdit, Interview, Kind, Sentence, Turn
from transcripts.exchange.rows import Scope, list_machine_notes, list_machine_uses
from transcripts.negotiation.models import CaseSheet, NormativeStance, Pair, Score
from transcripts.rounds.models import Assignment, Round
from transcripts.studies.models import MethodChoice, Study
from transcripts.studies.queries import read_methods
from transcripts.ui.navigation import VERSION

Facts = dict[str, Any]
SECTIONS = {
    "Texts": ["texts", "sources"],
    "Method": ["method"],
    "Codebook": ["codebook"],
    "Coding": ["coding", "team"],
    "Differing readings": ["agreement"],
    "Negotiation": ["negotiation"],
    "Themes": ["themes"],
    "Machines": ["machines"],
    "Who reads": [],
    "Record": ["record"],
}
"""The headings, and the parts of the template under each. People's statements are quoted unchanged."""

_NEW_PARAGRAPH = "\x1e"

# An import of a project file writes a single event, whatever the number and the dates of its codings.
ACTS_OF_CODING = ["coding.added", "coding.changed", "coding.decided"]
PHASES = ("familiarisation", "initial coding", "generating themes", "reviewing", "defining and naming", "writing up")


def draft_methods(study: Study) -> Facts:
    """The text from the present record: titled sections of paragraphs, limitations, and the annex."""
    facts = read_facts(study)
    sections = {title: [text for part in parts for text in _word(part, facts)] for title, parts in SECTIONS.items()}
    sections["Who reads"] = [
        f"{each.author.username}, {date_format(each.written_at, 'j F Y')}: {each.text.strip()}"
        for each in facts["statements"]
    ] or ["Nobody has written a positionality statement."]
    return {
        "title": f"Methods: {study.name}",
        "sections": sections,
        "warnings": [" ".join(_word("warning", {"code": code, **details})) for code, details in find_warnings(facts)],
        "annex": list_annex(facts),
    }


def write_methods(scope: Scope, path: Path) -> int:
    """Write the text as Markdown; returns the number of its parts."""
    text = draft_methods(scope.study)
    path.write_text(as_markdown(text), encoding="utf-8", newline="")
    return len(text["sections"]) + len(text["annex"])


def _word(part: str, facts: Facts) -> list[str]:
    """A part of the template as paragraphs of plain text, which the page and Markdown escape in different ways."""
    template: Any = get_template(f"exchange/methods_words.html#{part}")
    text = template.template.render(Context({**facts, "new_paragraph": _NEW_PARAGRAPH}, autoescape=False))
    return [words for each in text.split(_NEW_PARAGRAPH) if (words := " ".join(each.split()))] or [""]


def as_markdown(text: Facts) -> str:
    """The text as a Markdown file."""
    parts = ["# " + _escape(text["title"]).replace("[", "\\[")]
    for title, paragraphs in text["sections"].items():
        parts += [f"## {title}", *map(_escape, paragraphs)]
    parts.append("## Limitations")
    parts.append("\n".join(f"- {_escape(each)}" for each in text["warnings"]) or "Nothing was found in the record.")
    parts.append("# Audit annex")
    for table in text["annex"]:
        rows = [table["header"], ["---"] * len(table["header"]), *table["rows"]]
        parts += [f"## {table['title']}", *([table["words"]] if table["words"] else [])]
        if table["rows"]:
            parts.append("\n".join("| " + " | ".join(map(_escape_cell, row)) + " |" for row in rows))
    return "\n\n".join(parts) + "\n"


def _escape(text: str) -> str:
    """Escape what Markdown would read as HTML."""
    return text.replace("&", "&amp;").replace("<", "&lt;")


def _escape_cell(text: str) -> str:
    return _escape(text).replace("\n", " ").replace("|", "\\|")


def find_warnings(facts: Facts) -> Iterator[tuple[str, Facts]]:
    """Possible objections of readers, as codes of the template with their figures."""
    method, coded, corpus = facts["method"], facts["coded"], facts["corpus"]
    for code, family, count in method["against_method"]:
        yield code, {"family": family, "count": count}
    late = [row for row in method["log"] if coded["began_here"] is not None and row.set_at > coded["began_here"]]
    if late:
        yield "late_method", {"count": len(late), "last": late[-1].set_at}
    if coded["stale"]:
        yield "stale", {"part": coded["stale"], "whole": coded["codings"]}
    assisted = coded["codings"] - coded["by_blinding"].get("blind", 0)
    if assisted and method["measured"]:
        yield "assisted", {"part": assisted, "whole": coded["codings"]}
    unread = corpus["answers"] - coded["read_sentences"]
    if unread > 0 and coded["codings"]:
        yield "unread", {"part": unread, "whole": corpus["answers"]}
    if any(use.is_invented for use in facts["machines"]):
        yield "invented", {}


def list_annex(facts: Facts) -> list[Facts]:
    """The tables of the annex, each with its title, its header and its rows of text."""
    record, names = facts["record"], {"": "the study", **facts["codebook"]["families"]}
    span = f" from {record['first']:%Y-%m-%d} to {record['last']:%Y-%m-%d}" if record["first"] else ""
    events = f"{record['events']:,} event{'' if record['events'] == 1 else 's'}"
    tables: list[tuple[str, list[str], list[list[str]]]] = [
        (
            "Events by kind",
            ["action", "events"],
            [[name, f"{count:,}"] for name, count in record["by_action"].items()],
        ),
        (
            "Changes of the method",
            ["when", "of", "method", "by", "reason"],
            [
                [
                    f"{row.set_at:%Y-%m-%d %H:%M}",
                    names.get(row.family, row.family),
                    row.method,
                    row.set_by_name,
                    row.reason,
                ]
                for row in facts["method"]["log"]
            ],
        ),
        (
            "Versions of the codebook",
            ["version", "published", "codes"],
            [
                [str(each.number), f"{each.published_at:%Y-%m-%d %H:%M}", f"{each.size:,}"]
                for each in facts["codebook"]["versions"]
            ],
        ),
        (
            "Rounds",
            ["round", "name", "overlap", "opened", "locked"],
            [
                [
                    *(str(each.number), each.name, f"{each.overlap_percent} %", f"{each.opened_at:%Y-%m-%d}"),
                    f"{each.locked_at:%Y-%m-%d}" if each.locked_at else "open",
                ]
                for each in facts["team"]["rounds"]
            ],
        ),
    ]
    annex: list[Facts] = [
        {"title": title, "header": header, "rows": rows, "words": "" if rows else "None."}
        for title, header, rows in tables
    ]
    annex[0]["words"] = f"{events}{span}. Head of the chain: {record['head'] or 'none'}."
    return annex


def read_facts(study: Study) -> Facts:
    """The facts for the template. About thirty queries, whatever the size of the study."""
    current = current_version(study)
    families = dict(current.families.order_by("position").values_list("identifier", "name")) if current else {}
    statements = PositionalityStatement.objects.filter(study=study, withdrawn_at__isnull=True)
    return {
        "version": VERSION,
        "written_at": timezone.now(),
        "corpus": _read_corpus(study),
        "sources": _read_sources(study),
        "negotiation": _read_negotiation(study),
        "codebook": {"families": families, **_read_versions(study)},
        "coded": _read_coded(study),
        "team": _read_team(study),
        "unblinding": _read_unblinding(study),
        "method": _read_method(study, families),
        "themes": _read_themes(study),
        "machines": list_machine_uses(study),
        "machine_notes": list_machine_notes(study),
        "statements": statements.select_related("author").order_by("author__username"),
        "record": _read_record(study),
    }


def _count_boundary_edits(study: Study) -> int:
    """The number of boundaries that differ from those of the program; a split that was undone does not count."""
    edited = Sentence.objects.filter(turn__in=BoundaryEdit.objects.filter(turn__interview__study=study).values("turn"))
    first, now = edited.filter(made_by__isnull=True), edited.filter(retired_by__isnull=True)
    return len(set(first.values_list("turn", "end")) ^ set(now.values_list("turn", "end")))


def _read_corpus(study: Study) -> Facts:
    interviews = Interview.objects.filter(study=study)
    sentences = Sentence.objects.current().filter(turn__interview__study=study)
    inclusion = _tally(interviews, "inclusion")
    return {
        "interviews": interviews.count(),
        "turns": Turn.objects.filter(interview__study=study).count(),
        "sentences": sentences.count(),
        "answers": _keep_answers(sentences).count(),
        "models": _tally(interviews, "model_label"),
        "segmenters": sorted(set(interviews.values_list("segmenter", flat=True))),
        "boundary_edits": _count_boundary_edits(study),
        "inclusion": inclusion if set(inclusion) - {""} else {},
    }


def _read_sources(study: Study) -> Facts:
    """The file formats of the threads, the opened reasoning, and the masked threads."""
    interviews = Interview.objects.filter(study=study)
    reasoning = Turn.objects.filter(interview__study=study, channel=Turn.Channel.REASONING)
    masked = interviews.exclude(mask_label="")
    with_reasoning = reasoning.values("interview").distinct().count()
    opened = StageOpening.objects.filter(turn__interview__study=study).values("turn__interview").distinct().count()
    return {
        "formats": _tally(interviews, "imported_file__format"),
        "trajectories": interviews.filter(kind=Kind.TRAJECTORY).count(),
        "hanging": interviews.exclude(relation="").count(),
        "with_reasoning": with_reasoning,
        "opened": opened,
        "masked": masked.count(),
        "still_masked": masked.filter(unmasked_at__isnull=True).count(),
    }


def _read_negotiation(study: Study) -> Facts:
    """Case sheets, pairs, and scores by normative stance."""
    scores = Score.objects.active().filter(interview__study=study)
    scored = scores.values("stance").annotate(
        scores=Count("pk"), people=Count("coder", distinct=True), threads=Count("interview", distinct=True)
    )
    figures = {row["stance"]: row for row in scored.order_by()}
    stances = NormativeStance.objects.filter(study=study).order_by("name", "number")
    return {
        "sheets": CaseSheet.objects.filter(interview__study=study).values("interview").distinct().count(),
        "pairs": _tally(Pair.objects.active().filter(study=study), "expect"),
        "links": Link.objects.active().filter(coding__sentence__turn__interview__study=study).count(),
        "stances": [(stance, figures.get(stance.pk)) for stance in stances],
    }


def _keep_answers(sentences: QuerySet[Sentence]) -> QuerySet[Sentence]:
    """Filter for what the models say."""
    return sentences.filter(turn__role=Turn.Role.MODEL, turn__channel=Turn.Channel.UTTERANCE)


def _read_versions(study: Study) -> Facts:
    published = study.codebook_versions.filter(status=CodebookVersion.Status.PUBLISHED).order_by("number")
    versions = list(published.annotate(size=Count("codes")))
    changes = CodeChange.objects.filter(version__in=published).order_by("kind", "effect")
    return {
        "versions": versions,
        "last_version": versions[-1] if versions else None,
        "changes": changes.values("kind", "effect").annotate(count=Count("pk")),
    }


def _read_coded(study: Study) -> Facts:
    """The coding, in active codings unless it says otherwise.

    ``began_here`` is the time of the first recorded act of coding; imported codings may be older than the study.
    """
    every = Coding.objects.filter(sentence__turn__interview__study=study)
    active = every.active().filter(sentence__retired_by__isnull=True)
    decisions = Decision.objects.active().filter(
        sentence__turn__interview__study=study, sentence__retired_by__isnull=True
    )
    pairs = set(active.values_list("sentence__turn__interview", "coder").distinct())
    pairs |= set(decisions.values_list("sentence__turn__interview", "coder").distinct())
    readers = Counter(interview for interview, _ in pairs)
    answers = _keep_answers(Sentence.objects.current().filter(turn__interview__study=study))
    # A code of a turn or an interview is stored on its first sentence and says nothing about it.
    of_sentences = active.filter(code__family__unit=CodeFamily.Unit.SENTENCE)
    read = Q(pk__in=decisions.values("sentence")) | Q(pk__in=of_sentences.values("sentence"))
    acts = AuditEvent.objects.filter(stream=study_stream(study.pk), action__in=ACTS_OF_CODING)
    by_enactment = _tally(active.exclude(enactment=""), "enactment")
    codings, withdrawn = active.count(), every.filter(withdrawn_at__isnull=False).count()
    return {
        "coders": len({coder for _, coder in pairs}),
        "outside": active.filter(coder__is_active=False, coder__closed_at__isnull=True).count(),
        "codings": codings,
        "sentences": active.values("sentence").distinct().count(),
        "interviews": len(readers),
        "shared_interviews": sum(1 for count in readers.values() if count > 1),
        "by_level": _tally(active, "level"),
        "by_blinding": _tally(active, "blinding"),
        "by_enactment": by_enactment,
        "with_enactment": sum(by_enactment.values()),
        "enactment_not_stated": active.filter(enactment="", code__family__carries_enactment=True).count(),
        "withdrawn": withdrawn,
        "ever": withdrawn + codings,
        "stale": active.filter(code__in=read_catalog(study).stale_ids).count(),
        "decisions": decisions.count(),
        "none_applies": decisions.filter(none_applies=True).count(),
        "read_sentences": answers.filter(read).count(),
        "began_here": acts.order_by("sequence").values_list("at", flat=True).first(),
    }


def _read_team(study: Study) -> Facts:
    rounds = list(Round.objects.filter(study=study).order_by("number"))
    active = Assignment.objects.counted().filter(round__study=study)
    readers = Counter(interview for interview, _ in set(active.values_list("interview", "coder")))
    return {
        "rounds": rounds,
        "round_count": len(rounds),
        "locked": sum(each.locked_at is not None for each in rounds),
        "assignments": active.count(),
        "assigned_interviews": len(readers),
        "overlapping_interviews": sum(1 for count in readers.values() if count > 1),
        "completed": active.filter(completed_at__isnull=False).count(),
    }


def _read_unblinding(study: Study) -> Facts:
    unblindings = Unblinding.objects.of_labels().filter(interview__study=study)
    return {
        "people": unblindings.values("user").distinct().count(),
        "interviews": unblindings.values("interview").distinct().count(),
        "reveals": _tally(Reveal.objects.filter(sentence__turn__interview__study=study), "source"),
    }


def _read_method(study: Study, families: dict[str, str]) -> Facts:
    """The methods of the study and its families, and adjudications; families by name."""
    methods = read_methods(study)
    reflexive = MethodChoice.Method.REFLEXIVE
    events = AuditEvent.objects.filter(stream=study_stream(study.pk), action="agreement.computed")
    computed = Counter(target.removeprefix("family:") for target in events.values_list("target", flat=True))
    adjudications = Adjudication.objects.filter(sentence__turn__interview__study=study, withdrawn_at__isnull=True)
    outcomes = _tally(adjudications, "outcome")
    done = {"coefficient": computed, "adjudication": _tally(adjudications, "family_identifier")}
    return {
        "label": MethodChoice.Method(methods.find()).label,
        "of_study": methods.study,
        "of_families": [
            (families.get(family, family), row)
            for family, row in methods.families.items()
            if row.method != methods.find()
        ],
        "log": list(study.method_choices.order_by("pk")),
        "reflexive": [name for family, name in families.items() if methods.find(family) == reflexive],
        "measured": [name for family, name in families.items() if methods.find(family) != reflexive],
        "computed": [(families.get(family, family), count) for family, count in computed.items()],
        "outcomes": outcomes,
        "adjudicated": sum(outcomes.values()),
        "against_method": [
            (code, families.get(family, family), count)
            for code, counts in done.items()
            for family, count in counts.items()
            if methods.find(family) == reflexive
        ],
    }


def _read_themes(study: Study) -> Facts:
    versions = ThemeVersion.objects.filter(theme__study=study).order_by("number")
    by_state = Counter(dict(versions.values_list("theme", "state")).values())
    entries = _tally(PhaseEntry.objects.filter(study=study, withdrawn_at__isnull=True), "phase")
    return {
        "by_state": by_state,
        "total": by_state.total(),
        "phases": [f"{PHASES[int(phase) - 1]} {count:,}" for phase, count in entries.items()],
    }


def _read_record(study: Study) -> Facts:
    stream = study_stream(study.pk)
    events = AuditEvent.objects.filter(stream=stream)
    head = AuditHead.objects.filter(stream=stream).first()
    moments = events.order_by("sequence").values_list("at", flat=True)
    return {
        "events": head.sequence if head else 0,
        "head": head.hash if head else "",
        "first": moments.first(),
        "last": moments.last(),
        "by_action": _tally(events, "action"),
    }


def _tally(rows: QuerySet[Any], column: str) -> dict[str, int]:
    return dict(rows.order_by(column).values_list(column).annotate(count=Count("pk")))
