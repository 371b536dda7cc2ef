"""Pages about the evidence of themes: the presence table, the sentences that a cell counts, and quotes from them."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import Http404, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from transcripts.analysis.models import ThemeQuote, ThemeVersion
from transcripts.analysis.search.pure.words import UNNAMED
from transcripts.analysis.search.queries import Visibility
from transcripts.analysis.search.results import build_results
from transcripts.analysis.themes import actions, queries
from transcripts.analysis.themes.actions import QuoteChanged
from transcripts.analysis.themes.forms import QuoteForm
from transcripts.analysis.themes.pure import (
    APART,
    COMPARISONS,
    Link,
    Presence,
    PresenceRow,
    draw_models,
    draw_presence,
)
from transcripts.analysis.themes.queries import BlindingChoice, Viewpoint, choose_viewpoint, compare, list_families
from transcripts.analysis.themes.views.themes import ask_viewpoint, describe_viewpoint, get_theme
from transcripts.blinding.viewers import get_viewer
from transcripts.charts.figures import Missing
from transcripts.coding.models import Coding, Level, Prompting
from transcripts.corpus.models import Sentence
from transcripts.formats.comparisons import RULE
from transcripts.refusals import WrongInput
from transcripts.statistics.figures import MIN_CLUSTERS, Mark, explain_mark, explain_marks
from transcripts.studies.access import StudyRequest, study_view
from transcripts.studies.downloads import name_narrowed, offer_table, send_report_table
from transcripts.studies.roles import Permission
from transcripts.ui.forms import at_form, post_again
from transcripts.ui.typed_text import find_number

SENTENCES_PER_PAGE = 50
ROW_KINDS = {"themes": "Themes", "codes": "Codes"}
COLUMN_KINDS = {"models": "Models", "interviews": "Interviews"}


@require_safe
@study_view(Permission.VIEW)
def show_presence(request: StudyRequest) -> HttpResponse:
    """The models, or interviews, with a theme or a code: counts with denominators, and a chart."""
    viewpoint = ask_viewpoint(request)
    rows = _choose(request, "rows", ROW_KINDS)
    columns = _choose(request, "columns", COLUMN_KINDS)
    by_interview = columns == "interviews"
    if rows == "codes":
        catalogue = queries.read_catalogue(request.study)
        codes = [code for _, family_codes in catalogue.families for code in family_codes]
        presence = queries.count_codes(viewpoint, codes, by_interview=by_interview)
    else:
        themes = queries.current_themes(request.study)
        active = [each for each in themes if each.state != ThemeVersion.State.DROPPED]
        presence = queries.count_themes(viewpoint, active, by_interview=by_interview)
    link = queries.link_to_sentences(viewpoint, of_codes=rows == "codes", by_interview=by_interview)
    title = f"{ROW_KINDS[rows]} by {'interview' if by_interview else 'model'}"
    context = {
        "title": title,
        "presence": presence,
        "few": explain_mark(Mark.FEW, "decided turns"),
        "linked": [_link_row(row, presence, link) for row in presence.rows],
        "chart": draw_presence(
            presence,
            title=title,
            things=columns,
            link=link,
            missing=_say_missing(request, presence),
            has_moves=any(viewpoint.moves & row.members for row, _, _ in presence.rows),
        ),
        "rows": rows,
        "columns": columns,
        "row_kinds": ROW_KINDS,
        "column_kinds": COLUMN_KINDS,
        "other_languages": queries.list_other_languages(viewpoint),
        **describe_viewpoint(request, viewpoint),
    }
    return render(request, "analysis/themes/presence.html", context)


def _say_missing(request: StudyRequest, presence: Presence) -> Missing:
    """The reason why no cell has a sentence, and where to change that."""
    slug = request.study.slug
    if not any(out_of["sentences"] for out_of in presence.denominators):
        words = "Nothing is decided here yet, so there is nothing to count. Presence counts sentences that coders have decided."
        return Missing(words, reverse("corpus:interviews", args=[slug]), "Code an interview.")
    if any(cell.is_present for _, cells, _ in presence.rows for cell in cells):
        return Missing(f"Shares are drawn from {MIN_CLUSTERS} decided turns on. The numbers are in the table.")
    words = "None of the decided sentences has one of these codes. A theme is found through the codes that it is built from."
    return Missing(words, reverse("themes:themes", args=[slug]), "See the themes and their codes.")


@require_safe
@study_view(Permission.VIEW)
def show_evidence(request: StudyRequest) -> HttpResponse:
    """The sentences that a cell of the table counts, with their question, their codings, and links for quoting them."""
    viewpoint = ask_viewpoint(request)
    theme = _find_asked_theme(request)
    code = request.GET.get("code", "") if theme is None else ""
    identifiers = theme.codes if theme else [code] if code else []
    catalogue = queries.read_catalogue(request.study, also=identifiers)
    if code and code not in catalogue.by_identifier:
        raise Http404("This code is not in the codebook of this study.")
    found = queries.find_coded_sentences(viewpoint, identifiers, **_get_filters(request))
    page = Paginator(found, SENTENCES_PER_PAGE).get_page(request.GET.get("page"))
    context = {
        "theme": theme,
        "code": catalogue.by_identifier.get(code),
        "page": page,
        "shown": _show(request, viewpoint, list(page), theme),
        "themes": queries.current_themes(request.study),
        "catalogue": catalogue,
        "models": queries.list_model_columns(viewpoint),
        "interviews": queries.list_interview_columns(viewpoint),
        "promptings": Prompting.choices,
        "levels": Level.choices,
        "apart": APART.items(),
        **describe_viewpoint(request, viewpoint),
    }
    return render(request, "analysis/themes/evidence.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@study_view(Permission.WRITE_THEMES)
def quote(request: StudyRequest, number: int, sentence_id: int) -> HttpResponse:
    """Quote a sentence for or against a theme. ``?coding=`` is the coding by which it was found."""
    theme = get_theme(request, number)
    sentence = queries.find_sentence(request.study, sentence_id)
    if sentence is None:
        raise Http404("This study has no such sentence.")
    if request.method != "POST":
        quotes = queries.visible_quotes(get_viewer(request))
        active = quotes.filter(theme=theme.theme, sentence=sentence).first()
        return _render_quote(request, theme, sentence, _start_quote(request, sentence, active))
    form = QuoteForm(request.POST)
    if form.is_valid():
        coding = Coding.objects.filter(pk=form.cleaned_data["coding"], sentence=sentence).first()
        text = {name: form.cleaned_data[name] for name in ("side", "edited_text", "note", "replaces")}
        try:
            with at_form(form, ways=WrongInput):
                actions.add_quote(theme=theme.theme, sentence=sentence, by=request.user, coding=coding, **text)
                messages.success(request, f"Quoted {text['side']} the theme.")
                return redirect("themes:theme", request.study.slug, number)
        except QuoteChanged as error:
            form = QuoteForm(post_again(request.POST, replaces=error.active.pk if error.active else None))
            return _render_quote(request, theme, sentence, form, race=error, status=409)
    return _render_quote(request, theme, sentence, form, status=422)


@require_POST
@study_view(Permission.WRITE_THEMES)
def withdraw_quote(request: StudyRequest, number: int, quote_id: int) -> HttpResponse:
    """Withdraw a quote."""
    theme = get_theme(request, number)
    withdrawn = get_object_or_404(
        ThemeQuote.objects.select_related("theme"), pk=quote_id, theme__study=request.study, theme=theme.theme
    )
    actions.withdraw_quote(quote=withdrawn, by=request.user)
    messages.success(request, "The quote is withdrawn. It is kept in the history.")
    return redirect("themes:theme", request.study.slug, number)


def _choose(request: StudyRequest, name: str, kinds: dict[str, str]) -> str:
    asked = request.GET.get(name, "")
    return asked if asked in kinds else next(iter(kinds))


def _link_row(row: PresenceRow, presence: Presence, link: Link) -> dict[str, object]:
    """A row of the table with the addresses of its sentences; its last cell is the total."""
    heading, found, total = row
    cells = zip([*found, total], [*(column.key for column in presence.columns), ""], strict=True)
    return {"name": heading.name, "cells": [(cell, link(heading.key, key)) for cell, key in cells]}


def _find_asked_theme(request: StudyRequest) -> ThemeVersion | None:
    """The theme the address names, if it names one."""
    asked = request.GET.get("theme", "")
    if not asked:
        return None
    number = find_number(asked)
    if number is None:
        raise Http404("This study has no such theme.")
    return get_theme(request, number)


def _get_filters(request: StudyRequest) -> dict[str, Any]:
    """The filters of the list of a theme's sentences."""
    model = request.GET.get("model", "")
    prompting, level, apart = (request.GET.get(name, "") for name in ("prompting", "level", "enactment"))
    return {
        "model": ("" if model == UNNAMED else model) if model else None,
        "interview_id": find_number(request.GET.get("interview", "")),
        "prompting": prompting if prompting in Prompting.values else "",
        "level": level if level in Level.values else "",
        "apart": apart if apart in APART else "",
    }


def _show(
    request: StudyRequest, viewpoint: Viewpoint, found: list[tuple[int, list[int], str]], theme: ThemeVersion | None
) -> list[dict[str, object]]:
    """The sentences of a page with their context, their codings and the quote made of each."""
    ids = [sentence_id for sentence_id, _, _ in found]
    results = build_results(ids, [], viewpoint.visibility, request.user.pk)
    codings = Coding.objects.filter(pk__in=[pk for _, coding_ids, _ in found for pk in coding_ids])
    by_id = codings.select_related("code", "coder").in_bulk()
    quotes = queries.visible_quotes(get_viewer(request)).filter(sentence__in=ids)
    quoted = {each.sentence_id: each for each in quotes.filter(theme=theme.theme)} if theme else {}
    return [
        {
            "result": result,
            "codings": [by_id[pk] for pk in coding_ids],
            "prompting": prompting,
            "quote": quoted.get(sentence_id),
        }
        for result, (sentence_id, coding_ids, prompting) in zip(results, found, strict=True)
    ]


def _start_quote(request: StudyRequest, sentence: Sentence, active: ThemeQuote | None) -> QuoteForm:
    """The form as it is first shown: the active quote, or the whole sentence."""
    side = request.GET.get("side", "")
    initial = {
        "coding": find_number(request.GET.get("coding", "")),
        "side": side if side in ThemeQuote.Side.values else ThemeQuote.Side.FOR.value,
        "edited_text": sentence.read_text(),
    }
    if active is not None:
        kept = {"coding": active.coding_id, "replaces": active.pk, "note": active.note}
        initial |= {**kept, "side": active.side, "edited_text": active.edited_text or sentence.read_text()}
    return QuoteForm(initial=initial)


def _render_quote(
    request: StudyRequest,
    theme: ThemeVersion,
    sentence: Sentence,
    form: QuoteForm,
    *,
    race: QuoteChanged | None = None,
    status: int = 200,
) -> HttpResponse:
    visibility = Visibility(request.user.pk, closed=get_viewer(request).closed_turns)
    [result] = build_results([sentence.pk], [], visibility, request.user.pk)
    context = {"version": theme, "form": form, "result": result, "race": race}
    return render(request, "analysis/themes/quote.html", context, status=status)


NO_CODES = "None of these codes is in a decided answer to a question that two models were asked."
NO_ANSWERS_OF_THE_CHOSEN = "The models chosen have no answers with these codes that could be compared."


@require_safe
@study_view(Permission.VIEW)
def show_compared(request: StudyRequest) -> HttpResponse:
    """Every two models, by the codes of a family or by themes; only the pairs of one model, or one pair, if they are chosen."""
    report, context = _read(request, request.GET)
    rows = report["comparisons"]
    context |= {
        "report": report,
        "rows": COMPARISONS.print_rows(report),
        "heads": COMPARISONS.list_heads(),
        "chart": draw_models(
            rows,
            report["why"] or (NO_ANSWERS_OF_THE_CHOSEN if context["chosen"] else NO_CODES),
        ),
        "marks": explain_marks((row["mark"] for row in rows), "cases"),
        "query": [
            (name, request.GET[name])
            for name in ("family", "coder", "blinding", "model", "other")
            if request.GET.get(name)
        ],
    }
    if rows and Permission.SEE_ALL_CODINGS in request.role.permissions:
        context["offered_tables"] = [offer_table(COMPARISONS, "These comparisons")]
        context["table_files"] = reverse("themes:compared_file", args=[request.study.slug])
    return render(request, "analysis/themes/compared.html", context)


@require_POST
@study_view(Permission.SEE_ALL_CODINGS)
def download(request: StudyRequest) -> HttpResponse:
    """The comparisons that the page shows, as a file."""
    report, context = _read(request, request.POST)
    marks = explain_marks((row["mark"] for row in report["comparisons"]), "cases")
    whose = f"Codings of {report['coder']}, {report['blinding']}."
    basis = {name: report[name] for name in ("family", "coder", "blinding", "models", "interviews")} | context["chosen"]
    return send_report_table(
        COMPARISONS,
        report,
        request.POST.get("format", "csv"),
        "models.compared",
        stem=name_narrowed(f"{request.study.slug}-models-compared", basis, is_narrowed=True),
        study=request.study,
        target=f"family:{report['family']}",
        by=request.user,
        details={"rows": len(report["comparisons"]), **basis},
        caption=" ".join([COMPARISONS.caption, whose, RULE, *marks, *report["notes"]]),
    )


def _read(request: StudyRequest, asked: QueryDict) -> tuple[dict[str, Any], dict[str, Any]]:
    """The requested comparison, and the choices on the page. Unknown values are ignored."""
    blinding = asked.get("blinding", BlindingChoice.BLIND)
    viewpoint = choose_viewpoint(get_viewer(request), coder=asked.get("coder", ""), blinding=blinding)
    families = dict(list_families(viewpoint))
    family = asked.get("family", "")
    report = compare(viewpoint, family if family in families else next(iter(families), ""))
    chosen = {name: found for name in ("model", "other") if (found := asked.get(name, "")) in report["models"]}
    report["comparisons"] = [
        row for row in report["comparisons"] if {*chosen.values()} <= {row["first"], row["second"]}
    ]
    return report, {"families": families, "chosen": chosen, **describe_viewpoint(request, viewpoint)}
