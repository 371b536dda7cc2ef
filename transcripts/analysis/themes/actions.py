"""Actions on themes. A change is a new version with a reason; no version is ever overwritten."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeVar

from django.db import IntegrityError, transaction
from django.db.models import Max
from django.utils import timezone

from transcripts.accounts.models import User
from transcripts.analysis.models import PhaseEntry, PositionalityStatement, Theme, ThemeQuote, ThemeVersion
from transcripts.analysis.themes import queries
from transcripts.analysis.themes.pure import Unfaithful, check_quotation
from transcripts.audit_trail import trail
from transcripts.coding.models import Coding
from transcripts.corpus.models import Sentence
from transcripts.refusals import Refused, WrongInput
from transcripts.studies.models import Study
from transcripts.ui.typed_text import MAX_NOTE, MAX_REASON, MAX_TEXT, check_reason, check_text

MAX_NAME = 200
State = ThemeVersion.State


class NotYours(Refused):
    """People change what they wrote themselves."""


class ThemeChanged(Refused):
    """Somebody else was faster; ``latest`` is the current version."""

    def __init__(self, latest: ThemeVersion) -> None:
        super().__init__(
            f"{latest.written_by.username} changed theme {latest.theme.number} after you opened it. Your changes were not "
            "stored, but nothing is lost: both versions are on this page."
        )
        self.latest = latest


class QuoteChanged(Refused):
    """Somebody else quoted the same sentence or withdrew the quote; ``active`` is the quote that counts now, if any."""

    def __init__(self, active: ThemeQuote | None) -> None:
        done = f"{active.added_by.username} quoted this sentence" if active else "This quote was withdrawn"
        super().__init__(f"{done} after you opened it. Your changes were not stored; both versions are on this page.")
        self.active = active


class EntryChanged(Refused):
    """The same text was changed in another window; ``active`` is the text that counts now, if any."""

    def __init__(self, active: PhaseEntry | PositionalityStatement | None) -> None:
        done = "You changed this text in another window" if active else "You withdrew this text in another window"
        super().__init__(f"{done}. Your changes in this window were not stored; both versions are on this page.")
        self.active = active


class ThemeText(NamedTuple):
    """The texts of a theme, without its codes."""

    name: str
    concept: str = ""
    description: str = ""


@transaction.atomic
def create_theme(*, study: Study, text: ThemeText, codes: Sequence[str], by: User, reason: str = "") -> ThemeVersion:
    """Create a candidate theme. Raises ``WrongInput``."""
    _lock(study)
    text, reason = _check(study, text), check_reason(reason)
    return _store_theme(study, text, _check_codes(study, codes), reason=reason, by=by)


@transaction.atomic
def revise_theme(
    *, theme: Theme, based_on: int, text: ThemeText, state: str, codes: Sequence[str], reason: str, by: User
) -> ThemeVersion:
    """Write the next version of a theme; if nothing differs, return the current one.

    ``based_on`` is the number of the version that ``by`` saw. Raises ``ThemeChanged`` if somebody has written another
    one since, and ``WrongInput``.
    """
    study = theme.study
    _lock(study)
    latest = _find_latest(theme, based_on)
    text = _check(study, text, but=latest)
    codes = _check_codes(study, codes)
    if state not in State.values:
        raise WrongInput(f"There is no state {state!r}: choose {', '.join(State.values)}.", field="state")
    if (latest.name, latest.concept, latest.description, latest.state, latest.codes) == (*text, state, codes):
        return latest
    return _store_version(latest, text=text, state=state, codes=codes, reason=_check_reason(reason), by=by)


@transaction.atomic
def regroup_codes(
    *,
    study: Study,
    codes: Sequence[str],
    into: Theme | None,
    new_name: str,
    out_of: Theme | None,
    reason: str,
    by: User,
) -> list[ThemeVersion]:
    """Add codes to a theme (or a new one), remove them from a theme, or both, which moves them. Returns what changed.

    It changes the codes of the current version but no text, so it does not need a version on which it is based. Raises
    ``WrongInput``.
    """
    _lock(study)
    codes = _check_codes(study, codes)
    new_name = new_name.strip()
    if not codes:
        raise WrongInput("Choose at least one code.", field="codes")
    if not (into or new_name or out_of):
        raise WrongInput("Choose a theme to add the codes to or remove them from, or name a new one.", field="into")
    if into and (new_name or into == out_of):
        raise WrongInput("Choose one theme for the codes: an existing one or a new one.", field="into")
    written = []
    if new_name:
        text = _check(study, ThemeText(new_name), field="new_name")
        written.append(_store_theme(study, text, codes, reason=_check_reason(reason), by=by))
    if into is not None:
        written += _regroup(into, put_in=codes, taken_out=[], reason=reason, by=by)
    if out_of is not None:
        written += _regroup(out_of, put_in=[], taken_out=codes, reason=reason, by=by)
    return written


@transaction.atomic
def merge_themes(
    *, study: Study, sources: Sequence[tuple[Theme, int]], text: ThemeText, reason: str, by: User
) -> tuple[ThemeVersion, int]:
    """Merge themes into a new one with all their codes and quotes, and drop them.

    Each of ``sources`` is a theme with the number of the version that ``by`` saw. A sentence quoted by several sources is
    quoted once; one quoted for one source and against another is left out, because somebody has to decide. Returns the
    new theme and how many sentences were left out. Raises ``ThemeChanged`` or ``WrongInput``.
    """
    _lock(study)
    if len({theme.pk for theme, _ in sources}) < 2:
        raise WrongInput("Choose at least two themes. A theme cannot be merged with itself.", field="themes")
    latest = [_find_latest(theme, based_on) for theme, based_on in sources]
    if dropped := [each for each in latest if each.state == State.DROPPED]:
        raise WrongInput(f"{dropped[0].name} was dropped. Make it a candidate again to merge it.", field="themes")
    reason = _check_reason(reason)
    text = _check(study, text, but=latest)
    codes = list(dict.fromkeys(code for each in latest for code in each.codes))
    made = _store_theme(study, text, codes, reason=reason, by=by, came_from=latest)
    for each in latest:
        _drop(each, reason=f"Merged into theme {made.theme.number}. {reason}", by=by)
    return made, _copy_merged_quotes(latest, made.theme)


@transaction.atomic
def split_theme(
    *, theme: Theme, based_on: int, parts: Sequence[tuple[str, Sequence[str]]], reason: str, by: User
) -> list[ThemeVersion]:
    """Split a theme into ``parts``, each a name and codes, and drop it. Raises ``ThemeChanged`` or ``WrongInput``.

    ``based_on`` is the number of the version that ``by`` saw. A code may go to several parts or to none. A quote goes to
    the parts that have the code of its coding; if that is not known, to all of them.
    """
    study = theme.study
    _lock(study)
    latest = _find_latest(theme, based_on)
    if latest.state == State.DROPPED:
        raise Refused(f"{latest.name} was dropped. Make it a candidate again to split it.")
    reason = _check_reason(reason)
    _check_parts(parts, latest)
    made = [
        _store_theme(
            study,
            _check(study, ThemeText(name), but=latest, field=f"name_{place}"),
            [code for code in latest.codes if code in codes],
            reason=reason,
            by=by,
            came_from=[latest],
        )
        for place, (name, codes) in enumerate(parts, 1)
    ]
    numbers = " and ".join(str(each.theme.number) for each in made)
    _drop(latest, reason=f"Split into themes {numbers}. {reason}", by=by)
    _copy_split_quotes(theme, made)
    return made


def _lock(study: Study) -> None:
    """Lock the study, so that its themes are numbered and changed one act at a time."""
    Study.objects.select_for_update().get(pk=study.pk)


def _find_latest(theme: Theme, based_on: int) -> ThemeVersion:
    """The current version of a theme. Raises ``ThemeChanged`` if it is not the one the change is based on."""
    versions = theme.versions.select_related("theme__study", "written_by")
    latest = versions.order_by("-number")[0]
    if latest.number != based_on:
        raise ThemeChanged(latest)
    return latest


def _check(
    study: Study,
    text: ThemeText,
    *,
    but: ThemeVersion | Sequence[ThemeVersion] = (),
    field: str = "name",
) -> ThemeText:
    """A theme's cleaned text. ``but`` are themes whose names it may have. Raises ``WrongInput``."""
    name = check_text(
        " ".join(text.name.split()),
        field=field,
        max_length=MAX_NAME,
        needed="Give the theme a name; a working title will do.",
    )
    others = {each.theme_id for each in ([but] if isinstance(but, ThemeVersion) else but)}
    for each in queries.current_themes(study):
        if each.theme_id not in others and each.state != State.DROPPED and each.name.casefold() == name.casefold():
            raise WrongInput(
                f"Theme {each.theme.number} is already called {each.name}. Choose another name.", field=field
            )
    concept = check_text(text.concept, field="concept", max_length=MAX_TEXT)
    return ThemeText(name, concept, check_text(text.description, field="description", max_length=MAX_TEXT))


def _check_codes(study: Study, codes: Iterable[str]) -> list[str]:
    codes = list(dict.fromkeys(codes))
    if unknown := queries.find_unknown_codes(study, codes):
        raise WrongInput(f"There is no code {unknown[0]!r} in this study's codebook. Reload the page.", field="codes")
    return codes


def _check_reason(reason: str) -> str:
    return check_reason(reason, needed="Say why, in a few words. The reason is kept in the theme’s history.")


def _check_parts(parts: Sequence[tuple[str, Sequence[str]]], latest: ThemeVersion) -> None:
    if len(parts) < 2:
        raise WrongInput("A theme is split into at least two themes.", field="name_1")
    names = [" ".join(name.split()).casefold() for name, _ in parts]
    for place, (name, codes) in enumerate(parts, 1):
        if names.index(names[place - 1]) != place - 1:
            raise WrongInput("Give the new themes different names.", field=f"name_{place}")
        if foreign := [code for code in codes if code not in latest.codes]:
            raise WrongInput(f"{foreign[0]} is not a code of {latest.name}.", field="codes")
        if not codes:
            raise WrongInput(f"{name or 'This theme'} has no codes. Give it at least one.", field=f"name_{place}")


def _regroup(
    theme: Theme, *, put_in: Sequence[str], taken_out: Sequence[str], reason: str, by: User
) -> list[ThemeVersion]:
    """Write the next version of a theme with other codes; nothing if it already has these codes."""
    latest = theme.versions.select_related("theme__study").order_by("-number")[0]
    codes = [code for code in latest.codes if code not in taken_out]
    codes += [code for code in put_in if code not in codes]
    if codes == latest.codes:
        return []
    if put_in and latest.state == State.DROPPED:
        raise WrongInput(f"{latest.name} was dropped. Make it a candidate again to add codes to it.", field="into")
    text = ThemeText(latest.name, latest.concept, latest.description)
    return [_store_version(latest, text=text, state=latest.state, codes=codes, reason=_check_reason(reason), by=by)]


def _store_theme(
    study: Study,
    text: ThemeText,
    codes: list[str],
    *,
    reason: str,
    by: User,
    came_from: Sequence[ThemeVersion] = (),
) -> ThemeVersion:
    now = timezone.now()
    number = (study.themes.aggregate(last=Max("number"))["last"] or 0) + 1
    theme = Theme.objects.create(study=study, number=number, created_at=now, created_by_name=by.username)
    theme.came_from.set([each.theme for each in came_from])
    version = ThemeVersion.objects.create(
        theme=theme, number=1, **text._asdict(), codes=codes, reason=reason, written_at=now, written_by=by
    )
    trail.record(
        "theme.created",
        target=theme,
        by=by,
        details={"number": number, "codes": len(codes), "came_from": [each.theme.number for each in came_from]},
    )
    return version


def _store_version(
    latest: ThemeVersion, *, text: ThemeText, state: str, codes: list[str], reason: str, by: User
) -> ThemeVersion:
    version = ThemeVersion.objects.create(
        theme=latest.theme,
        number=latest.number + 1,
        **text._asdict(),
        state=state,
        codes=codes,
        reason=reason,
        written_at=timezone.now(),
        written_by=by,
    )
    trail.record(
        "theme.changed",
        target=latest.theme,
        by=by,
        details={
            "number": latest.theme.number,
            "version": version.number,
            "before": latest.state,
            "after": state,
            "codes": len(codes),
        },
    )
    return version


def _drop(latest: ThemeVersion, *, reason: str, by: User) -> None:
    """Drop a theme; its text, codes and quotes stay with it."""
    text = ThemeText(latest.name, latest.concept, latest.description)
    _store_version(latest, text=text, state=State.DROPPED, codes=latest.codes, reason=reason[:MAX_REASON], by=by)


def _copy_merged_quotes(sources: Sequence[ThemeVersion], theme: Theme) -> int:
    """Copy the quotes of merged themes to ``theme``; return how many sentences were left out because sides differ."""
    quotes: dict[int, list[ThemeQuote]] = {}
    active = ThemeQuote.objects.filter(theme__in=[each.theme_id for each in sources], withdrawn_at__isnull=True)
    for quote in active.order_by("theme__number", "pk"):
        quotes.setdefault(quote.sentence_id, []).append(quote)
    agreed = [group[0] for group in quotes.values() if len({quote.side for quote in group}) == 1]
    ThemeQuote.objects.bulk_create(_copy(quote, theme) for quote in agreed)
    return len(quotes) - len(agreed)


def _copy_split_quotes(source: Theme, made: Sequence[ThemeVersion]) -> None:
    copies = []
    for quote in source.quotes.filter(withdrawn_at__isnull=True).select_related("coding__code").order_by("pk"):
        code = quote.coding.code.identifier if quote.coding else None
        fitting = [each for each in made if code in each.codes] or made
        copies += [_copy(quote, each.theme) for each in fitting]
    ThemeQuote.objects.bulk_create(copies)


def _copy(quote: ThemeQuote, theme: Theme) -> ThemeQuote:
    """Copy a quote to another theme, with its author and time."""
    return ThemeQuote(
        theme=theme,
        sentence_id=quote.sentence_id,
        coding_id=quote.coding_id,
        side=quote.side,
        edited_text=quote.edited_text,
        note=quote.note,
        added_at=quote.added_at,
        added_by_id=quote.added_by_id,
    )


@transaction.atomic
def add_quote(
    *,
    theme: Theme,
    sentence: Sentence,
    side: str,
    by: User,
    edited_text: str = "",
    note: str = "",
    coding: Coding | None = None,
    replaces: int | None = None,
) -> ThemeQuote:
    """Quote a sentence for or against a theme, whole or with marked edits; ``replaces`` is the quote to replace.

    Raises ``WrongInput`` for an edit that does not match the sentence, ``QuoteChanged`` if the sentence has another quote by
    now.
    """
    edited_text, note = _check_quote(theme, sentence, side=side, edited_text=edited_text, note=note)
    Theme.objects.select_for_update().get(pk=theme.pk)
    before = _find_active_quote(theme, sentence)
    if (before.pk if before else None) != replaces:
        raise QuoteChanged(before)
    quote = ThemeQuote(
        theme=theme,
        sentence=sentence,
        coding=coding if coding and coding.sentence_id == sentence.pk else None,
        side=side,
        edited_text=edited_text,
        note=note,
        added_at=timezone.now(),
        added_by=by,
    )
    return _store_quote(quote, before=before)


@transaction.atomic
def withdraw_quote(*, quote: ThemeQuote, by: User) -> None:
    """Withdraw a quote; its row stays. A quote that has already been withdrawn is left as it is."""
    active = ThemeQuote.objects.filter(pk=quote.pk, withdrawn_at__isnull=True)
    if not active.update(withdrawn_at=timezone.now()):
        return
    trail.record(
        "theme.quote.withdrawn",
        target=quote,
        by=by,
        stream=trail.study_stream(quote.theme.study_id),
        details={"theme": quote.theme.number, "sentence": quote.sentence_id, "side": quote.side},
    )


def _check_quote(theme: Theme, sentence: Sentence, *, side: str, edited_text: str, note: str) -> tuple[str, str]:
    """The cleaned edited text, empty if it is the sentence itself, and the cleaned note. Raises ``WrongInput``."""
    if sentence.turn.interview.study_id != theme.study_id:
        raise WrongInput("This sentence is not part of this study.", field="sentence")
    if sentence.retired_by_id is not None:
        raise WrongInput(
            "The boundaries of this sentence were edited. Quote the sentence that replaced it.", field="sentence"
        )
    if side not in ThemeQuote.Side.values:
        raise WrongInput("Choose whether the quote supports the theme or contradicts it.", field="side")
    edited_text = check_text(edited_text, field="edited_text", max_length=MAX_TEXT)
    note = check_text(note, field="note", max_length=MAX_NOTE)
    source = sentence.read_text()
    try:
        check_quotation(edited_text or source, source)
    except Unfaithful as error:
        raise WrongInput(str(error), field="edited_text") from error
    return ("" if edited_text == source else edited_text), note


def _find_active_quote(theme: Theme, sentence: Sentence) -> ThemeQuote | None:
    quotes = theme.quotes.filter(sentence=sentence, withdrawn_at__isnull=True)
    return quotes.select_related("added_by").first()


def _store_quote(quote: ThemeQuote, *, before: ThemeQuote | None) -> ThemeQuote:
    if before is not None:
        ThemeQuote.objects.filter(pk=before.pk).update(withdrawn_at=quote.added_at)
    try:
        with transaction.atomic():
            quote.save(force_insert=True)
    except IntegrityError:
        raise QuoteChanged(_find_active_quote(quote.theme, quote.sentence)) from None
    trail.record(
        "theme.quote.changed" if before else "theme.quote.added",
        target=quote,
        by=quote.added_by,
        stream=trail.study_stream(quote.theme.study_id),
        details={
            "theme": quote.theme.number,
            "sentence": quote.sentence_id,
            "side": quote.side,
            "edited": bool(quote.edited_text),
            **({"replaces": before.pk} if before else {}),
        },
    )
    return quote


EMPTY = "Write something first. An empty text is not stored."
Text = TypeVar("Text", PhaseEntry, PositionalityStatement)


@transaction.atomic
def write_entry(*, study: Study, phase: int, text: str, by: User) -> PhaseEntry:
    """Write an entry in any phase, because phases can be revisited.

    Repeating the same text, as with a double click, changes nothing. Raises ``WrongInput``.
    """
    if phase not in PhaseEntry.Phase.values:
        raise WrongInput("Choose one of the six phases.", field="phase")
    text = check_text(text, field="text", max_length=MAX_TEXT, needed=EMPTY)
    Study.objects.select_for_update().get(pk=study.pk)
    active = PhaseEntry.objects.filter(study=study, phase=phase, author=by, text=text, withdrawn_at__isnull=True)
    if (same := active.first()) is not None:
        return same
    entry = PhaseEntry(study=study, phase=phase, text=text, author=by, written_at=timezone.now())
    return _store(entry, action="phase.entry.written", before=None)


@transaction.atomic
def change_entry(*, entry: PhaseEntry, text: str, by: User) -> PhaseEntry:
    """Change one's own entry; the old one is kept, superseded. Raises ``NotYours``, ``WrongInput``, ``EntryChanged``."""
    _check_author(entry, by)
    text = check_text(text, field="text", max_length=MAX_TEXT, needed=EMPTY)
    active = PhaseEntry.objects.select_for_update().get(pk=entry.pk)
    if active.withdrawn_at is not None:
        raise EntryChanged(_find_successor(active))
    if active.text == text:
        return active
    changed = PhaseEntry(study_id=active.study_id, phase=active.phase, text=text, author=by, written_at=timezone.now())
    return _store(changed, action="phase.entry.changed", before=active)


@transaction.atomic
def withdraw_entry(*, entry: PhaseEntry, by: User) -> None:
    """Withdraw one's own entry from the board; its row stays. Raises ``NotYours``."""
    _check_author(entry, by)
    _withdraw(entry, action="phase.entry.withdrawn", by=by)


@transaction.atomic
def write_statement(*, study: Study, text: str, by: User, replaces: int | None = None) -> PositionalityStatement:
    """Write one's positionality statement, which replaces the statement ``replaces``; that is kept as superseded.

    Raises ``WrongInput``, or ``EntryChanged`` if another statement of the same person is active by now.
    """
    text = check_text(text, field="text", max_length=MAX_TEXT, needed=EMPTY)
    before = _find_statement(study, by)
    if (before.pk if before else None) != replaces:
        raise EntryChanged(before)
    if before is not None and before.text == text:
        return before
    statement = PositionalityStatement(study=study, author=by, text=text, written_at=timezone.now())
    try:
        with transaction.atomic():
            return _store(statement, action="positionality.written", before=before)
    except IntegrityError:
        raise EntryChanged(_find_statement(study, by)) from None


@transaction.atomic
def withdraw_statement(*, study: Study, by: User) -> None:
    """Withdraw one's own statement; its row stays."""
    statement = _find_statement(study, by)
    if statement is not None:
        _withdraw(statement, action="positionality.withdrawn", by=by)


def _find_statement(study: Study, author: User) -> PositionalityStatement | None:
    statements = PositionalityStatement.objects.select_for_update()
    return statements.filter(study=study, author=author, withdrawn_at__isnull=True).first()


def _check_author(entry: PhaseEntry, by: User) -> None:
    if entry.author_id != by.pk:
        raise NotYours("Another person wrote this. You can change or withdraw only your own entries.")


def _find_successor(entry: PhaseEntry) -> PhaseEntry | None:
    """The active text that superseded an earlier one; ``None`` if it was withdrawn."""
    latest: PhaseEntry | None = entry
    while latest is not None and latest.withdrawn_at is not None:
        latest = latest.superseded_by
    return latest


def _store(row: Text, *, action: str, before: Text | None) -> Text:
    if before is not None:
        type(row).objects.filter(pk=before.pk).update(withdrawn_at=row.written_at)
    row.save(force_insert=True)
    if before is not None:
        type(row).objects.filter(pk=before.pk).update(superseded_by=row)
    details: dict[str, object] = {"characters": len(row.text)}
    if isinstance(row, PhaseEntry):
        details["phase"] = row.phase
    if before is not None:
        details["replaces"] = before.pk
    trail.record(action, target=row, by=row.author, details=details)
    return row


def _withdraw(row: PhaseEntry | PositionalityStatement, *, action: str, by: User) -> None:
    active = type(row).objects.filter(pk=row.pk, withdrawn_at__isnull=True)
    if active.update(withdrawn_at=timezone.now()):
        trail.record(action, target=row, by=by)
