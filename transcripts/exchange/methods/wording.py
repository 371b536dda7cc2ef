"""The methods paragraph in words: every number with what it is out of, and what speaks against the claims beside them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from transcripts.exchange.methods.facts import Coded, Facts
from transcripts.projects.models import MethodStance
from transcripts.rounds.models import Round

Stance = MethodStance.Stance
REFLEXIVE = Stance.REFLEXIVE.value
PHASES = ("familiarisation", "initial coding", "generating themes", "reviewing", "defining and naming", "writing up")
OUTCOMES = {
    "one": "one reading held",
    "both": "both readings stood",
    "neither": "neither reading held",
    "redefined": "the definition was at fault",
}
EFFECTS = {"": "", "wording": "wording only", "narrowing": "narrower", "widening": "wider"}


class Table(NamedTuple):
    """Rows under headings."""

    header: list[str]
    rows: list[list[str]]


class Section(NamedTuple):
    """A part of the text."""

    title: str
    paragraphs: list[str]
    tables: list[Table]


class MethodsText(NamedTuple):
    """The whole: the paragraph in parts, what speaks against its claims, and the annex."""

    title: str
    sections: list[Section]
    warnings: list[str]
    annex: list[Section]


def write_text(facts: Facts, *, version: str) -> MethodsText:
    """Put the facts into words. ``version`` is the program's."""
    return MethodsText(
        title=f"Methods: {facts.name}",
        sections=[
            Section("Texts", [" ".join(_tell_corpus(facts))], []),
            Section("Method", [" ".join(_tell_method(facts))], []),
            Section("Codebook", [" ".join(_tell_codebook(facts))], []),
            Section("Coding", [" ".join(_tell_coding(facts)), " ".join(_tell_team(facts))], []),
            Section("Differing readings", [" ".join(_tell_agreement(facts))], []),
            Section("Themes", [" ".join(_tell_themes(facts))], []),
            Section("Machines", [" ".join(_tell_machines(facts))], []),
            Section("Who reads", list(_tell_people(facts)), []),
            Section("Record", [" ".join(_tell_record(facts, version))], []),
        ],
        warnings=list(_find_mixtures(facts)),
        annex=list(_write_annex(facts)),
    )


def share(part: int, whole: int) -> str:
    """As in "12 of 160 (7.5 %)"; "0 of 0" without a share."""
    percent = f" ({100 * part / whole:.1f} %)" if whole else ""
    return f"{part:,} of {whole:,}{percent}"


def plural(count: int, thing: str, many: str = "") -> str:
    return f"{count:,} {thing if count == 1 else many or thing + 's'}"


def _join(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def _list(counted: Mapping[str, int], empty: str = "not known") -> str:
    return "; ".join(f"{name or empty}: {count:,}" for name, count in counted.items())


def _tell_corpus(facts: Facts) -> Iterator[str]:
    corpus = facts.corpus
    yield (
        f"The corpus holds {plural(corpus.interviews, 'interview')} with {plural(len(corpus.models), 'model')} "
        f"({_list(corpus.models)}): {plural(corpus.turns, 'turn')} and {plural(corpus.sentences, 'sentence')}, "
        f"of which the models say {share(corpus.answers, corpus.sentences)}."
    )
    if corpus.segmenters:
        yield f"The sentence is the unit of coding; texts were cut at import by {_join(corpus.segmenters)}."
    if corpus.recuts:
        yield f"{plural(corpus.recuts, 'wrong sentence break was', 'wrong sentence breaks were')} corrected by hand."
    if set(corpus.inclusion) - {""}:
        yield f"Inclusion as it was noted at import: {_list(corpus.inclusion)}."


def _tell_method(facts: Facts) -> Iterator[str]:
    stances = facts.method.stances
    label = Stance(stances.find()).label
    if stances.study is None:
        yield f"The study is read as {label.lower()}, which holds where nothing is set; nobody set a method."
    else:
        reason = f" ({stances.study.reason.strip()})" if stances.study.reason.strip() else ""
        yield (
            f"The study is read as {label.lower()} (Braun and Clarke), set on {stances.study.set_at:%d %B %Y} by "
            f"{stances.study.set_by_name}{reason}."
        )
    for family, row in stances.families.items():
        if row.stance != stances.find():
            name = facts.codebook.families.get(family, family)
            reason = f" ({row.reason.strip()})" if row.reason.strip() else ""
            yield f"{name}: {Stance(row.stance).label.lower()}, set on {row.set_at:%d %B %Y} by {row.set_by_name}{reason}."
    if len(facts.method.log) > 1:
        yield f"The method was set {len(facts.method.log):,} times; each switch is in the annex."


def _tell_codebook(facts: Facts) -> Iterator[str]:
    versions = facts.codebook.versions
    if not versions:
        yield "No codebook was published."
        return
    yield (
        f"{plural(len(versions), 'version')} of the codebook {'was' if len(versions) == 1 else 'were'} published "
        f"({versions[0].at:%d %B %Y} to {versions[-1].at:%d %B %Y}); version {versions[-1].number} holds "
        f"{plural(versions[-1].codes, 'code')} in {plural(len(facts.codebook.families), 'family', 'families')} "
        f"({_join(list(facts.codebook.families.values()) or ['none'])})."
    )
    if facts.codebook.changes:
        told = [
            f"{count:,} {kind}{f' ({EFFECTS[effect]})' if EFFECTS.get(effect) else ''}"
            for (kind, effect), count in facts.codebook.changes.items()
        ]
        yield f"Codes changed between versions: {_join(told)}."
    coded = facts.coded
    stale = share(coded.stale, coded.codings)
    yield f"Made under a meaning that has changed since, or with a code that is no more: {stale} codings."


def _tell_coding(facts: Facts) -> Iterator[str]:
    coded, corpus = facts.coded, facts.corpus
    if not coded.codings and not coded.decisions:
        yield "Nothing is coded yet."
        return
    yield (
        f"{plural(coded.coders, 'person', 'people')} coded; {plural(coded.codings, 'coding')} stand"
        f"{'s' if coded.codings == 1 else ''} on {share(coded.sentences, corpus.sentences)} sentences in "
        f"{share(coded.interviews, corpus.interviews)} interviews."
    )
    yield f"By level: {_of(coded.by_level, coded.codings)}."
    if coded.by_enactment:
        total = sum(coded.by_enactment.values())
        yield f"Of {total:,} codings that say whether a move is made: {_of(coded.by_enactment, total)}."
    yield f"By what the coder could see when she decided: {_of(coded.by_layer, coded.codings)}."
    yield (
        f"Read, in that somebody coded or decided: {share(coded.read_sentences, corpus.answers)} sentences of the models. "
        f"That no code applies was said in {share(coded.none_applies, coded.decisions)} decisions."
    )
    if coded.withdrawn:
        every = coded.withdrawn + coded.codings
        yield f"Taken back or replaced: {share(coded.withdrawn, every)} codings; they are kept."
    if coded.outside:
        yield f"From another program or study came {share(coded.outside, coded.codings)} codings, kept apart by name."


def _of(counted: Mapping[str, int], whole: int) -> str:
    return "; ".join(f"{name} {share(count, whole)}" for name, count in counted.items()) or "none"


def _tell_team(facts: Facts) -> Iterator[str]:
    team, coded, seen = facts.team, facts.coded, facts.seen
    if team.rounds:
        locked = sum(1 for each in team.rounds if each.locked_at is not None)
        yield (
            f"The work was dealt out in {plural(len(team.rounds), 'round')} ({share(locked, len(team.rounds))} locked): "
            f"{plural(team.assignments, 'assignment')} over {share(team.assigned_interviews, facts.corpus.interviews)} "
            f"interviews, {share(team.overlapping_interviews, team.assigned_interviews)} of them to more than one coder; "
            f"{share(team.signed, team.assignments)} are signed off."
        )
    else:
        yield "The work was not dealt out in rounds."
    yield f"More than one person coded in {share(coded.shared_interviews, coded.interviews)} interviews."
    if not seen.openings:
        yield "Nobody opened colleagues' codings."
    else:
        yield (
            f"Colleagues' codings were opened in {share(seen.opened_interviews, facts.corpus.interviews)} interviews by "
            f"{plural(seen.openers, 'person', 'people')}; what they coded there afterwards counts as assisted."
        )
    for source, count in seen.reveals.items():
        what = "machines' suggestions" if source == "machine" else "colleagues' codings"
        yield f"After their own decision, coders looked at {what} on {plural(count, 'sentence')}."


def _tell_agreement(facts: Facts) -> Iterator[str]:
    method = facts.method
    reflexive = [name for family, name in facts.codebook.families.items() if method.stances.find(family) == REFLEXIVE]
    if reflexive or not facts.codebook.families:
        named = f" for {_join(reflexive)}" if reflexive and len(reflexive) < len(facts.codebook.families) else ""
        yield (
            f"Deliberately, no coefficient of agreement is part of the method{named}: a reading is not checked against one "
            "right coding, and where coders read differently both readings are looked at."
        )
    others = [name for family, name in facts.codebook.families.items() if method.stances.find(family) != REFLEXIVE]
    if others:
        yield (
            f"Agreement is measured for {_join(others)}, per code, on blind readings of what two or more coders decided; "
            "the figures with their numbers and intervals are in the CSV file of the page Agreement."
        )
    for family, count in method.computed.items():
        name = facts.codebook.families.get(family, family)
        yield f"For {name} a coefficient was computed on record {plural(count, 'time')}, with the reason given."
    total = sum(method.adjudications.values())
    if total:
        told = [
            f"{OUTCOMES.get(outcome, outcome)} in {share(count, total)}"
            for outcome, count in method.adjudications.items()
        ]
        decided = f"{plural(total, 'sentence')} that coders read differently {'was' if total == 1 else 'were'}"
        yield f"{decided} decided about: {_join(told)}."
    else:
        yield "No differing reading was decided about."


def _tell_themes(facts: Facts) -> Iterator[str]:
    total = sum(facts.themes.values())
    if not total:
        yield "No theme is written down."
    else:
        yield f"{plural(total, 'theme')}: {_of(facts.themes, total)}."
    if facts.phases:
        told = [f"{PHASES[phase - 1]} {count:,}" for phase, count in facts.phases.items()]
        yield f"Entries on the six phases: {_join(told)}."


def _tell_machines(facts: Facts) -> Iterator[str]:
    if not facts.machines:
        yield "No machine proposed codes."
    for use in facts.machines:
        asked = use.reads_by or f"model {use.model}"
        of = "answers invented by the program itself" if use.is_invented else asked
        yield (
            f"{use.name} ({of}) proposed {plural(use.suggestions, 'code')} under version "
            f"{use.codebook_version} of the codebook; people answered "
            f"{share(use.answered, use.suggestions)} and took over {share(use.kept, use.answered)}. Its proposals are kept apart "
            "from people's codings."
        )
    yield from facts.machine_notes


def _tell_people(facts: Facts) -> Iterator[str]:
    if not facts.statements:
        yield "Nobody wrote a statement on who is reading."
    for statement in facts.statements:
        yield f"{statement.author.username}, {statement.written_at:%d %B %Y}: {statement.text.strip()}"


def _tell_record(facts: Facts, version: str) -> Iterator[str]:
    record = facts.record
    yield (
        f"Written by auditapp {version} on {facts.written_at:%d %B %Y, %H:%M} UTC from a record of "
        f"{plural(record.events, 'event')}, each chained to the one before by SHA-256; the last has the hash "
        f"{record.head or 'none'}."
    )


def _find_mixtures(facts: Facts) -> Iterator[str]:
    """What readers of the report would stumble over."""
    method, names = facts.method, facts.codebook.families
    for family, count in method.computed.items():
        if method.stances.find(family) == REFLEXIVE:
            yield (
                f"{names.get(family, family)} is read reflexively, and a coefficient of agreement was computed for it "
                f"({plural(count, 'time')}). Reflexive thematic analysis does not use one: say why, or name another method."
            )
    for family, count in method.adjudicated.items():
        if method.stances.find(family) == REFLEXIVE:
            readings = plural(count, "differing reading was", "differing readings were")
            yield (
                f"{names.get(family, family)} is read reflexively, and {readings} decided about. "
                "Where both readings stand in reflexive thematic analysis, nothing is decided."
            )
    yield from _find_late_switches(facts)
    yield from _find_weak_figures(facts.coded, facts)


def _find_late_switches(facts: Facts) -> Iterator[str]:
    began = facts.coded.began_here
    late = [row for row in facts.method.log if began is not None and row.set_at > began]
    if late:
        yield (
            f"The method was set after coding had begun ({plural(len(late), 'time')}, last on {late[-1].set_at:%d %B %Y}). "
            "Say which codings were made under which method."
        )


def _find_weak_figures(coded: Coded, facts: Facts) -> Iterator[str]:
    if coded.stale:
        yield f"{share(coded.stale, coded.codings)} codings were made under an older meaning of their code."
    assisted = coded.codings - coded.by_layer.get("blind", 0)
    measured = [
        name for family, name in facts.codebook.families.items() if facts.method.stances.find(family) != REFLEXIVE
    ]
    if assisted and measured:
        yield f"{share(assisted, coded.codings)} codings are not blind. Agreement leaves them out; counts of codes do not."
    if coded.read_sentences < facts.corpus.answers and coded.codings:
        unread = facts.corpus.answers - coded.read_sentences
        yield f"{share(unread, facts.corpus.answers)} sentences of the models were neither coded nor decided about by anybody."
    if any(use.is_invented for use in facts.machines):
        yield "Some machine answers are invented by the program's own fake provider. They are no data."


def _write_annex(facts: Facts) -> Iterator[Section]:
    record = facts.record
    span = f" from {record.first:%Y-%m-%d} to {record.last:%Y-%m-%d}" if record.first and record.last else ""
    head = f"{plural(record.events, 'event')}{span}. Head of the chain: {record.head or 'none'}."
    done = [[name, f"{count:,}"] for name, count in record.by_action.items()]
    yield Section("What was done, by kind", [head], [Table(["action", "events"], done)])
    names = {"": "the study", **facts.codebook.families}
    yield _tabulate(
        "Switches of the method",
        ["when", "of", "method", "by", "reason"],
        [
            [f"{row.set_at:%Y-%m-%d %H:%M}", names.get(row.family, row.family), row.stance, row.set_by_name, row.reason]
            for row in facts.method.log
        ],
    )
    yield _tabulate(
        "Versions of the codebook",
        ["version", "published", "codes"],
        [[str(each.number), f"{each.at:%Y-%m-%d %H:%M}", f"{each.codes:,}"] for each in facts.codebook.versions],
    )
    yield _tabulate(
        "Rounds", ["round", "name", "overlap", "opened", "locked"], list(map(_show_round, facts.team.rounds))
    )


def _show_round(each: Round) -> list[str]:
    locked = f"{each.locked_at:%Y-%m-%d}" if each.locked_at else "open"
    return [str(each.number), each.name, f"{each.overlap_percent} %", f"{each.opened_at:%Y-%m-%d}", locked]


def _tabulate(title: str, header: list[str], rows: list[list[str]]) -> Section:
    return Section(title, [], [Table(header, rows)]) if rows else Section(title, ["None."], [])


def as_markdown(text: MethodsText) -> str:
    """The text as a Markdown file."""
    parts = [f"# {text.title}"]
    for section in text.sections:
        parts += [f"## {section.title}", *map(_escape, section.paragraphs)]
    parts.append("## What speaks against this")
    parts.append("\n".join(f"- {_escape(warning)}" for warning in text.warnings) or "Nothing was found in the record.")
    parts.append("# Audit annex")
    for section in text.annex:
        parts += [f"## {section.title}", *map(_escape, section.paragraphs), *map(_show_table, section.tables)]
    return "\n\n".join(parts) + "\n"


def _show_table(table: Table) -> str:
    rows = [table.header, ["---"] * len(table.header), *table.rows]
    return "\n".join(
        "| " + " | ".join(_escape(cell).replace("\n", " ").replace("|", "\\|") for cell in row) + " |" for row in rows
    )


def _escape(text: str) -> str:
    """Without what Markdown would read as HTML."""
    return text.replace("&", "&amp;").replace("<", "&lt;")
