"""Pages of themes: the list, one theme, and the forms that make, change, group, merge and split them."""

from __future__ import annotations

from collections.abc import Sequence

from django.contrib import messages
from django.forms import BaseForm
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.template.defaultfilters import pluralize
from django.views.decorators.http import require_http_methods, require_safe

from transcripts.analysis.models import ThemeQuote, ThemeVersion
from transcripts.analysis.themes import actions, queries
from transcripts.analysis.themes.actions import ThemeChanged, ThemeText
from transcripts.analysis.themes.forms import GroupForm, MergeForm, NewThemeForm, SplitForm, ThemeForm
from transcripts.analysis.themes.queries import CodeEntry, Viewpoint, choose_viewpoint
from transcripts.blinding.viewers import get_viewer
from transcripts.blinding.views import offer_unblinding
from transcripts.corpus.models import Consent
from transcripts.corpus.queries import list_consenting
from transcripts.refusals import Refused, WrongInput
from transcripts.statistics.figures import Mark, explain_mark
from transcripts.studies.access import StudyRequest, study_view
from transcripts.studies.roles import Permission
from transcripts.ui.forms import at_form, post_again

DROPPED = ThemeVersion.State.DROPPED


@require_safe
@study_view(Permission.VIEW)
def show_themes(request: StudyRequest) -> HttpResponse:
    """Every theme by its state, and the codes that are in none."""
    viewpoint = ask_viewpoint(request)
    themes = queries.current_themes(request.study)
    catalogue = queries.read_catalogue(request.study, also={code for each in themes for code in each.codes})
    presence = queries.count_themes(viewpoint, themes)
    sides = _count_quotes(request)
    lines = [
        {
            "version": each,
            "codes": catalogue.name_codes(each.codes),
            "found": total,
            "quotes_for": sides.get((each.theme_id, ThemeQuote.Side.FOR), 0),
            "quotes_against": sides.get((each.theme_id, ThemeQuote.Side.AGAINST), 0),
        }
        for each, (_, _, total) in zip(themes, presence.rows, strict=True)
    ]
    grouped = {code for each in themes if each.state != DROPPED for code in each.codes}
    return render(
        request,
        "analysis/themes/list.html",
        {
            "lines": [line for line, each in zip(lines, themes, strict=True) if each.state != DROPPED],
            "dropped": [line for line, each in zip(lines, themes, strict=True) if each.state == DROPPED],
            "out_of": presence.denominators[-1],
            "loose": [code for _, codes in catalogue.families for code in codes if code.identifier not in grouped],
            **describe_viewpoint(request, viewpoint),
        },
    )


@require_safe
@study_view(Permission.VIEW)
def show_theme(request: StudyRequest, number: int) -> HttpResponse:
    """One theme: its texts, its codes, where it occurs, and the quotes for and against it."""
    version = get_theme(request, number)
    viewpoint = ask_viewpoint(request)
    catalogue = queries.read_catalogue(request.study, also=version.codes)
    counts = queries.count_sentences(viewpoint)
    quotes = queries.read_quotes(queries.visible_quotes(get_viewer(request)).filter(theme=version.theme))
    return render(
        request,
        "analysis/themes/theme.html",
        {
            "version": version,
            "codes": [(code, counts.get(code.identifier, 0)) for code in catalogue.name_codes(version.codes)],
            "by_model": queries.list_models(viewpoint, version),
            "few": explain_mark(Mark.FEW, "decided turns"),
            "came_from": version.theme.came_from.all(),
            "led_to": version.theme.led_to.all(),
            "quotable": list_consenting(
                {quote.sentence.turn.interview_id for quote in quotes}, Consent.Scope.QUOTATION
            ),
            "quotes_for": [quote for quote in quotes if quote.side == ThemeQuote.Side.FOR],
            "quotes_against": [quote for quote in quotes if quote.side == ThemeQuote.Side.AGAINST],
            **describe_viewpoint(request, viewpoint),
        },
    )


@require_safe
@study_view(Permission.VIEW)
def show_history(request: StudyRequest, number: int) -> HttpResponse:
    """Every version of a theme and what it changed. Reasons reveal how people read, so blind coders do not get them."""
    version = get_theme(request, number)
    every = version.theme.versions.values_list("codes", flat=True)
    catalogue = queries.read_catalogue(request.study, also={code for codes in every for code in codes})
    context = {
        "version": version,
        "changes": queries.read_history(version.theme, catalogue),
        "shows_reasons": Permission.SEE_ALL_CODINGS in request.role.permissions,
    }
    return render(request, "analysis/themes/history.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@study_view(Permission.WRITE_THEMES)
def create(request: StudyRequest) -> HttpResponse:
    """A new candidate theme."""
    form = NewThemeForm(request.POST if request.method == "POST" else None)
    if form.is_valid():
        with at_form(form):
            made = actions.create_theme(
                study=request.study, text=_get_text(form), codes=form.cleaned_data["codes"], by=request.user
            )
            messages.success(request, f"{made.name} is a candidate theme now.")
            return redirect("themes:theme", request.study.slug, made.theme.number)
    return _render_form(request, "analysis/themes/new.html", form, request.POST.getlist("codes"))


@require_http_methods(["GET", "HEAD", "POST"])
@study_view(Permission.WRITE_THEMES)
def revise(request: StudyRequest, number: int) -> HttpResponse:
    """Write the next version of a theme. A person who is late sees the newer text next to her own."""
    version = get_theme(request, number)
    if request.method != "POST":
        initial = {name: getattr(version, name) for name in ("name", "concept", "description", "state")}
        form = ThemeForm(initial={**initial, "version": version.number})
        return _render_form(request, "analysis/themes/edit.html", form, version.codes, version=version)
    form = ThemeForm(request.POST)
    ticked = request.POST.getlist("codes")
    if form.is_valid():
        given = form.cleaned_data
        try:
            with at_form(form, ways=WrongInput):
                revised = actions.revise_theme(
                    theme=version.theme,
                    based_on=given["version"],
                    text=_get_text(form),
                    state=given["state"],
                    codes=_keep_order(version, given["codes"]),
                    reason=given["reason"],
                    by=request.user,
                )
                same = revised.number == given["version"]
                messages.info(request, "Nothing was changed.") if same else messages.success(
                    request, f"This is version {revised.number} of the theme now."
                )
                return redirect("themes:theme", request.study.slug, number)
        except ThemeChanged as error:
            form = ThemeForm(post_again(request.POST, version=error.latest.number))
            return _render_form(
                request, "analysis/themes/edit.html", form, ticked, version=version, race=error, status=409
            )
    return _render_form(request, "analysis/themes/edit.html", form, ticked, version=version)


@require_http_methods(["GET", "HEAD", "POST"])
@study_view(Permission.WRITE_THEMES)
def group(request: StudyRequest) -> HttpResponse:
    """Add ticked codes to a theme, remove them or move them: by keyboard, or by dragging, which fills in the form."""
    themes = queries.current_themes(request.study)
    form = GroupForm(request.POST if request.method == "POST" else None, themes=themes)
    if form.is_valid():
        by_number = {each.theme.number: each.theme for each in themes}
        given = form.cleaned_data
        with at_form(form):
            written = actions.regroup_codes(
                study=request.study,
                codes=given["codes"],
                into=by_number.get(given["into"]),
                new_name=given["new_name"],
                out_of=by_number.get(given["out_of"]),
                reason=given["reason"],
                by=request.user,
            )
            names = ", ".join(each.name for each in written)
            messages.success(request, f"Changed: {names}.") if written else messages.info(
                request, "Nothing was changed: the codes are already there."
            )
            return redirect("themes:group", request.study.slug)
    catalogue = queries.read_catalogue(request.study, also={code for each in themes for code in each.codes})
    targets = [(each, catalogue.name_codes(each.codes)) for each in themes if each.state != DROPPED]
    ticked = request.POST.getlist("codes")
    return _render_form(request, "analysis/themes/group.html", form, ticked, themes=themes, targets=targets)


@require_http_methods(["GET", "HEAD", "POST"])
@study_view(Permission.WRITE_THEMES)
def merge(request: StudyRequest) -> HttpResponse:
    """Merge several themes into one."""
    themes = queries.current_themes(request.study)
    form = MergeForm(request.POST if request.method == "POST" else None, themes=themes)
    race: ThemeChanged | None = None
    if form.is_valid():
        by_number = {str(each.theme.number): each.theme for each in themes}
        chosen = [choice.split(":") for choice in form.cleaned_data["themes"]]
        try:
            with at_form(form, ways=WrongInput):
                merged, quotes_left = actions.merge_themes(
                    study=request.study,
                    sources=[(by_number[theme], int(version)) for theme, version in chosen],
                    text=_get_text(form),
                    reason=form.cleaned_data["reason"],
                    by=request.user,
                )
                messages.success(
                    request, f"Merged into {merged.name}. The themes it was made from are dropped, but kept."
                )
                if quotes_left:
                    messages.warning(
                        request,
                        f"{quotes_left} quote{pluralize(quotes_left)} could not be merged: the same sentence was quoted for "
                        "one theme and against another. Quote it again on the right side.",
                    )
                return redirect("themes:theme", request.study.slug, merged.theme.number)
        except ThemeChanged as error:
            race = error
    status = 409 if race else 422 if form.errors else 200
    context = {"form": form, "themes": themes, "race": race}
    return render(request, "analysis/themes/merge.html", context, status=status)


@require_http_methods(["GET", "HEAD", "POST"])
@study_view(Permission.WRITE_THEMES)
def split(request: StudyRequest, number: int) -> HttpResponse:
    """Split a theme into two: each code goes to the first, the second, both or neither."""
    version = get_theme(request, number)
    race: Refused | None = None
    form = SplitForm(request.POST if request.method == "POST" else None, initial={"version": version.number})
    if form.is_valid():
        given = form.cleaned_data
        parts = [(given[f"name_{place}"], _get_part(request, version, place)) for place in (1, 2)]
        try:
            with at_form(form, ways=WrongInput):
                made = actions.split_theme(
                    theme=version.theme,
                    based_on=given["version"],
                    parts=parts,
                    reason=given["reason"],
                    by=request.user,
                )
                messages.success(request, f"{version.name} was split into {made[0].name} and {made[1].name}.")
                return redirect("themes:themes", request.study.slug)
        except Refused as error:
            race = error
            form = SplitForm(post_again(request.POST, version=version.number))
    catalogue = queries.read_catalogue(request.study, also=version.codes)
    codes = [(code, request.POST.get(f"part.{code.identifier}", "1")) for code in catalogue.name_codes(version.codes)]
    context = {"form": form, "version": version, "codes": codes, "race": race}
    return render(request, "analysis/themes/split.html", context, status=409 if race else 422 if form.errors else 200)


def get_theme(request: StudyRequest, number: int) -> ThemeVersion:
    """The current version of a theme of this study."""
    version = queries.find_current(request.study, number)
    if version is None:
        raise Http404("This study has no such theme.")
    return version


def ask_viewpoint(request: StudyRequest) -> Viewpoint:
    """The viewpoint that the address requests."""
    coder, blinding = request.GET.get("coder", ""), request.GET.get("blinding", "")
    return choose_viewpoint(get_viewer(request), coder=coder, blinding=blinding)


def describe_viewpoint(request: StudyRequest, viewpoint: Viewpoint) -> dict[str, object]:
    """The page's description of whose codings it counts, and the other choices."""
    return {
        "viewpoint": viewpoint,
        "coders": queries.list_coders(get_viewer(request)),
        "blindings": list(queries.BlindingChoice),
        "unblinding": offer_unblinding(request, viewpoint.visibility.hidden, where="themes"),
    }


def _get_text(form: BaseForm) -> ThemeText:
    return ThemeText(*(form.cleaned_data[name] for name in ThemeText._fields))


def _get_part(request: StudyRequest, version: ThemeVersion, place: int) -> list[str]:
    """The codes that go to one of the two new themes."""
    return [code for code in version.codes if request.POST.get(f"part.{code}", "1") in {str(place), "both"}]


def _keep_order(version: ThemeVersion, codes: list[str]) -> list[str]:
    """The ticked codes: first those that the theme already has, in its order."""
    return [code for code in version.codes if code in codes] + [code for code in codes if code not in version.codes]


def _count_quotes(request: StudyRequest) -> dict[tuple[int, str], int]:
    counts: dict[tuple[int, str], int] = {}
    quotes = queries.visible_quotes(get_viewer(request))
    for key in quotes.values_list("theme_id", "side"):
        counts[key] = counts.get(key, 0) + 1
    return counts


def _render_form(
    request: StudyRequest,
    template: str,
    form: BaseForm,
    ticked: list[str],
    *,
    version: ThemeVersion | None = None,
    themes: list[ThemeVersion] | None = None,
    race: ThemeChanged | None = None,
    targets: Sequence[tuple[ThemeVersion, Sequence[CodeEntry]]] = (),
    status: int = 0,
) -> HttpResponse:
    """A form with codes to tick; ``targets`` are themes with their codes, onto which codes can be dragged."""
    themes = queries.current_themes(request.study) if themes is None else themes
    viewpoint = ask_viewpoint(request)
    also = {*ticked, *(version.codes if version else [])}
    context = {
        "form": form,
        "families": _list_choices(viewpoint, themes, ticked, also),
        "version": version,
        "themes": themes,
        "targets": targets,
        "race": race,
        **describe_viewpoint(request, viewpoint),
    }
    if race is not None:
        catalogue = queries.read_catalogue(request.study, also=race.latest.codes)
        context["race_codes"] = catalogue.name_codes(race.latest.codes)
    return render(request, template, context, status=status or (422 if form.errors else 200))


def _list_choices(
    viewpoint: Viewpoint, themes: list[ThemeVersion], ticked: list[str], also: set[str]
) -> list[dict[str, object]]:
    """The codes to tick, by family; codes that are no longer in the codebook come last."""
    catalogue = queries.read_catalogue(viewpoint.study, also=also)
    counts = queries.count_sentences(viewpoint)
    active = [each for each in themes if each.state != DROPPED]

    def make_choice(code: CodeEntry) -> dict[str, object]:
        return {
            "code": code,
            "sentences": counts.get(code.identifier, 0),
            "themes": [each for each in active if code.identifier in each.codes],
            "is_ticked": code.identifier in ticked,
        }

    families: list[dict[str, object]] = [
        {"identifier": family.identifier, "name": family.name, "codes": list(map(make_choice, codes))}
        for family, codes in catalogue.families
    ]
    gone = [code for code in catalogue.by_identifier.values() if not code.in_use]
    if gone:
        families.append({"identifier": "", "name": "No longer in the codebook", "codes": list(map(make_choice, gone))})
    return families
