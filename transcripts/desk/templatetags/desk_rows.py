"""The sentences of the desk with people's codings: ``{% load desk_rows %}``.

They are written without a template, because a page may have thousands of them and the template engine takes twenty times as
long (``python -m perf open``). Typed text is escaped by ``escape``, and the text of sentences by ``write_units``, which formats
their Markdown.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import TYPE_CHECKING, Any

from django import template
from django.utils.safestring import SafeString

from transcripts.coding.models import Link
from transcripts.coding.values import CHOICE_FIELDS
from transcripts.corpus.pure.markdown_html import has_markdown, read_marker, write_units
from transcripts.corpus.pure.markdown_lines import Kind
from transcripts.desk.annotations import CodingView, DecisionView, LinkView, MemoView, SentenceAnnotations
from transcripts.formats.text_input import HIDDEN, mark_unseen

if TYPE_CHECKING:
    from transcripts.desk.exchanges import TurnBlock

register = template.Library()
SAW_REASONING_WORDS = "Made after the coder had opened reasoning of this thread"
PROMPTING_WORDS = {"prompted": "prompted", "unprompted": "unprompted", "unclear": "prompting unclear"}


@register.simple_tag(takes_context=True)
def write_sentences(context: dict[str, Any], turn: TurnBlock) -> SafeString:
    """The sentences of one turn as a list; if some are hidden, ``shown`` in the context names the visible ones."""
    shown, current_id, urls, writable = context["shown"], context["current_id"], context["urls"], context["writable"]
    suggestions = context["suggestions"] if turn.is_answer else None
    # If a page shows turns of two interviews, each sentence leads to its own desk.
    desk_url = context.get("desk_url", "")
    why = f'<p class="why-here" id="why">Next: {escape(context["why"])}.</p>' if context.get("why") else ""
    hide = " data-context" if turn.is_question else " hidden"
    rows = []
    texts, before = _write_texts(turn), 0
    for (number_in_database, number, kind, raw, is_decided, marks, start), text in zip(turn.rows, texts, strict=True):
        item = _write_marker(read_marker(turn.text, before, start)) if kind == Kind.LIST_ITEM else ""
        before = start + len(raw)
        state = hide if shown and number_in_database not in shown else ""
        state += ' aria-current="true" tabindex="0"' if number_in_database == current_id else ' tabindex="-1"'
        below = (
            write_marks(marks, "m", number_in_database, urls, writable=writable, suggestions=suggestions)
            if marks
            else ""
        )
        rows.append(
            f'<li class="sentence{" decided" if is_decided else ""}" id="s{number_in_database}" data-kind="{kind}"{state}>'
            f'<a class="n" href="{desk_url}?at={number_in_database}#s{number_in_database}">{number}</a>\n'
            f'<bdi class="text"{item}>{text}</bdi>{why if number_in_database == current_id else ""}{below}</li>\n'
        )
    return SafeString(f'<ol class="sentences{" many" if turn.has_many else ""}">\n{"".join(rows)}</ol>')


def _write_texts(turn: TurnBlock) -> list[str]:
    if turn.is_markdown and has_markdown(turn.text):
        texts = write_units(turn.text, [(row.start, row.start + len(row.text), row.kind) for row in turn.rows])
    else:
        texts = [escape(row.text) for row in turn.rows]
    return [mark_unseen(text) for text in texts] if HIDDEN.search(turn.text) else texts


def _write_marker(marker: str | None) -> str:
    """An item's number, which the style sheet prints; an empty one if an item continues; a bullet needs none."""
    return "" if marker == "" else f' data-marker="{escape(marker or "")}"'


@register.simple_tag
def write_marks(
    marks: SentenceAnnotations,
    place: str,
    place_id: int,
    urls: dict[str, str],
    *,
    writable: object,
    suggestions: Any = None,
) -> SafeString:
    """The codings, decisions and memos at one place.

    ``place`` is "m" for a sentence, "tm" for a turn, "im" for the interview; with ``place_id`` it makes the element's
    id. ``writable``: the viewer may code here. ``suggestions``: the two ends of the address of the suggestions panel.
    """
    own = marks.own_decision
    data = f' data-decision="{own.idempotency_key}"' if own else ""
    return SafeString(
        f'<div class="marks" id="{place}{place_id}"{data}{" data-seen" if marks.is_revealed else ""}>\n'
        f"{_write_codes(marks, urls, is_open=bool(writable))}"
        f"{_write_panel_button(place_id, suggestions) if suggestions and (own or marks.is_revealed) else ''}"
        f"{''.join(map(_write_memo, marks.memos))}</div>\n"
    )


def _write_codes(marks: SentenceAnnotations, urls: dict[str, str], *, is_open: bool) -> str:
    if not (marks.chips or marks.decisions):
        return ""
    chips = write_chips(marks, urls["codings"], is_open)
    nothing = "".join(_write_none_applies(each, urls, is_open=is_open) for each in marks.decisions if each.none_applies)
    return f'<ul class="chips" aria-label="Codes">\n{chips}{nothing}</ul>\n'


def _write_none_applies(decision: DecisionView, urls: dict[str, str], *, is_open: bool) -> str:
    end, kind = "", "chip none"
    if decision.coder:
        end = f' <span class="by"><bdi>{escape(decision.coder)}</bdi></span>'
    elif is_open:
        kind = "chip none open"
        end = (
            f'<button class="remove" formaction="{urls["reopen"]}" name="decision" value="{decision.idempotency_key}"'
            ' aria-label="Take back: none applies">×</button>'
        )
    return f'<li class="{kind}"><b>–</b>none applies{end}</li>\n'


def _write_panel_button(sentence_id: int, suggestions: Any) -> str:
    before, after = suggestions
    address = f"{before}{sentence_id}{after}"
    return (
        f'<button class="open-suggestions" formaction="{address}" hx-post="{address}" hx-target="#suggestions-body"'
        f' hx-swap="innerHTML" data-sentence="{sentence_id}"><kbd data-act="suggestions">o</kbd> suggestions</button>\n'
    )


def _write_memo(memo: MemoView) -> str:
    own = "" if memo.author else f' data-own data-kind="{memo.kind}"'
    by = f'<span class="by"><bdi>{escape(memo.author)}</bdi> · </span>' if memo.author else ""
    kind = f'<span class="kind">{memo.kind_name} · </span>' if memo.kind_name else ""
    words = f'<bdi class="words">{escape(memo.text)}</bdi>'
    return f'<p class="memo"{own}><span class="visually-hidden">Memo: </span>{by}{kind}{words}</p>\n'


def write_chips(marks: SentenceAnnotations, codings_url: str, writable: object) -> SafeString:
    """The codings at one place; the viewer's own have buttons and links if she may code."""
    after = "after suggestions" if marks.is_revealed else "after others’ labels"
    return SafeString("".join(_write_chip(chip, codings_url, after, is_open=bool(writable)) for chip in marks.chips))


def _write_chip(chip: CodingView, codings_url: str, after: str, *, is_open: bool) -> str:
    name = f'<b data-cap="{escape(chip.key)}">{escape(chip.sign)}</b><bdi>{escape(chip.name)}</bdi>'
    words = "".join(_write_words(chip, after))
    lines = _write_links(chip.links) + "".join(_write_lines(chip))
    quote = f'<q class="quote"><bdi>{escape(chip.quote)}</bdi></q>' if chip.quote else ""
    kinds = (
        f"chip family-{escape(chip.family)}{' latent' if chip.is_latent else ''}{' changed' if chip.is_changed else ''}"
        f"{' tinted' if chip.color else ''}"
    )
    tint = _write_tint(chip.color) if chip.color else ""
    if chip.coder:
        by = f' <span class="by"><bdi>{escape(chip.coder)}</bdi></span>'
        saw = f' title="{SAW_REASONING_WORDS}"' if chip.saw_reasoning else ""
        return f'<li class="{kinds}"{saw}>{tint}{name}{words}{quote}{by}{lines}</li>'
    data = "".join(_write_data(chip))
    if chip.saw_reasoning:
        data += f' title="{SAW_REASONING_WORDS}" data-saw'
    if not is_open:
        return f'<li class="{kinds} own"{data}>{tint}{name}{words}{quote}{lines}</li>'
    name += '<span class="visually-hidden"> details</span>'
    link = f'<a class="open-details" href="{codings_url}{chip.idempotency_key}/">{name}</a>'
    remove = (
        f'<button class="remove" name="coding" value="{chip.idempotency_key}"'
        f' aria-label="Remove {escape(chip.name)}">×</button>'
    )
    return f'<li class="{kinds} own open"{data}>{tint}{link}{words}{quote}{remove}{lines}</li>'


def _write_tint(color: str) -> str:
    """The colour of a code: a dot on its chip, and its stripe in the margin. In attributes, because the content policy forbids
    styles."""
    shape = f'viewBox="0 0 1 1" preserveAspectRatio="none" aria-hidden="true"><path d="M0 0h1v1H0z" fill="{escape(color)}"/>'
    return f'<svg class="dot" {shape}</svg><svg class="stripe" {shape}</svg>'


def _write_data(chip: CodingView) -> Iterator[str]:
    """The data for the page's script."""
    yield f' data-coding="{chip.idempotency_key}" data-code="{escape(chip.identifier)}" data-version="{chip.version}"'
    for name in CHOICE_FIELDS:
        if value := getattr(chip, name):
            yield f' data-{name}="{value}"'
    if chip.attributes:
        yield f' data-attributes="{escape(chip.attributes_json)}"'
    if chip.range_id:
        yield f' data-range="{chip.range_id}"'
    if chip.quote:
        yield f' data-quote-at="{chip.quote_at}"'


def _write_words(chip: CodingView, after: str) -> Iterator[str]:
    """The values of the coding, after the code's name."""
    if chip.status:
        yield f' <i class="status"><bdi>{escape(chip.status)}</bdi></i>'
    said = ("latent" if chip.is_latent else "", chip.enactment_word, chip.grounding)
    yield from (f" <i>{word}</i>" for word in said if word)
    if chip.prompting or chip.derived == "prompted":
        yield f' <i class="raised">{PROMPTING_WORDS[chip.raised]}</i>'
    if chip.range_id:
        yield ' <i class="range">range</i>'
    if chip.is_assisted:
        yield f" <i>{after}</i>"


def _write_links(links: list[LinkView]) -> str:
    """The links of a coding, by kind, with the address of each sentence; the page's script reads them too."""
    if not links:
        return ""
    by_kind = {kind: [_write_end(link) for link in links if link.kind == kind] for kind in Link.Kind}
    kinds = [
        f'<span class="ends">{kind.label.lower()} {", ".join(ends)}</span>' for kind, ends in by_kind.items() if ends
    ]
    return f'<span class="links">{" · ".join(kinds)}</span>'


def _write_end(link: LinkView) -> str:
    if not link.sentence:
        return f'<bdi data-kind="{link.kind}" data-feature="{escape(link.identifier)}">{escape(link.name)}</bdi>'
    place = f"?at={link.sentence}#s{link.sentence}"
    address = f"../{link.interview}/{place}" if link.interview else place
    quote = f' data-quote-at="{link.quote_at}" title="{escape(link.quote)}"' if link.quote else ""
    return f'<a href="{address}" data-kind="{link.kind}" data-target="{link.sentence}"{quote}>{link.number}</a>'


def _write_lines(chip: CodingView) -> Iterator[str]:
    """The values, answers and reason of a coding in whole lines."""
    if chip.note:
        yield f'<q class="reading"><bdi>{escape(chip.note)}</bdi></q>'
    if chip.answers:
        yield f'<span class="answers"><bdi>{escape(chip.answers)}</bdi></span>'
    if chip.reason and chip.reason != "suggestion":
        yield f'<span class="why"><span class="visually-hidden">Reason: </span><bdi>{escape(chip.reason)}</bdi></span>'
