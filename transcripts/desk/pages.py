"""Further pages of the desk: keys, the next sentence for the person, the history of her acts, and two threads side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from urllib.parse import urlencode

from django.contrib import messages
from django.http import HttpResponse, HttpResponseRedirect, JsonResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_safe

from transcripts.codebook.queries import current_version
from transcripts.coding.next_sentence import describe_reason, find_next
from transcripts.desk import keys
from transcripts.desk.desk import PanelFamily, read_families
from transcripts.desk.history import list_history
from transcripts.desk.keys import (
    ACTS,
    CAPS,
    CONSOLE,
    CONSOLE_TITLE,
    GROUPS,
    POSITION_OF,
    Choices,
    Clash,
    CodeKey,
    KeysRefused,
    build_card,
    cap_of,
    find_key,
    list_code_keys,
    read_console_keys,
    read_keymap,
)
from transcripts.desk.rendering import make_desk_url, render_beside
from transcripts.studies.access import StudyRequest, study_view
from transcripts.studies.roles import Permission
from transcripts.ui.typed_text import find_number

NOTHING_LEFT = "No sentence of this study needs you now."
MAX_PAGE = 100_000


@require_http_methods(["GET", "HEAD", "POST"])
@study_view(Permission.CODE)
def change_keys(request: StudyRequest) -> HttpResponse:
    """Change, switch off or reset one's own keys."""
    families = read_families(current_version(request.study))
    codes = list_code_keys(families)
    refusal: KeysRefused | None = None
    if request.method == "POST":
        try:
            _save(request, codes)
        except KeysRefused as error:
            refusal = error
        else:
            return redirect("desk:keys", request.study.slug)
    keymap, clashes = read_keymap(request.user.pk, codes)
    held = request.POST.dict() if refusal else {}
    wrong = refusal.fields if refusal else frozenset()
    groups = _list_groups(families, keymap, clashes, held, wrong, console=read_console_keys(request.user.pk))
    context = {"groups": groups, "refusal": refusal, "clashes": clashes}
    return render(request, "desk/keys.html", context, status=422 if refusal else 200)


def _save(request: StudyRequest, codes: list[CodeKey]) -> None:
    if "reset" in request.POST:
        keys.reset_keys(by=request.user)
        messages.success(request, "All keys are reset to their defaults, in every study.")
        return
    defaults = {f"act:{name}": act.key for name, act in ACTS.items()}
    defaults |= {f"console:{name}": act.key for name, act in CONSOLE.items()}
    given = {name: find_key(typed, default=defaults.get(name, "")) for name, typed in request.POST.dict().items()}
    keys.set_keys(given=given, codes=codes, by=request.user)
    messages.success(request, "Your shortcuts are saved. They are the same wherever you sign in.")


def _list_groups(
    families: list[PanelFamily],
    keymap: Choices,
    clashes: Sequence[Clash],
    held: dict[str, str],
    wrong: frozenset[str],
    *,
    console: Mapping[str, str],
) -> list[dict[str, object]]:
    """The fields of the form: acts and codes with their keys. Refused input is shown again."""
    taken = {code: f"{cap} is used for: {taken_by}" for code, cap, taken_by in clashes}

    def make(name: str, label: str, key: str, default: str, note: str = "") -> dict[str, object]:
        typed = held.get(name, key)
        return {
            "name": name,
            "label": label,
            "key": typed if typed in CAPS else "",
            "cap": cap_of(typed) or typed,
            "default": default,
            "note": note,
            "is_wrong": name in wrong,
        }

    of_acts: list[dict[str, object]] = [
        {
            "title": title,
            "fields": [make(f"act:{act.name}", act.words, keymap["acts"][act.name], cap_of(act.key)) for act in acts],
        }
        for title, acts in GROUPS
    ]
    of_codes: list[dict[str, object]] = [
        {
            "title": family.name,
            "fields": [
                make(
                    f"code:{code.identifier}",
                    code.name,
                    keymap["codes"][code.identifier],
                    cap_of(POSITION_OF.get(code.key, "")),
                    taken.get(code.name, ""),
                )
                for code in family.codes
            ],
        }
        for family in families
    ]
    of_console: dict[str, object] = {
        "title": CONSOLE_TITLE,
        "fields": [make(f"console:{name}", act.words, console[name], cap_of(act.key)) for name, act in CONSOLE.items()],
    }
    return [*of_acts, *of_codes, of_console]


@require_safe
@study_view(Permission.VIEW)
def show_keycard(request: StudyRequest) -> HttpResponse:
    """Every key on one sheet of paper; ``?definitions=1`` adds what the codes mean."""
    version = current_version(request.study)
    families = read_families(version)
    keymap, clashes = read_keymap(request.user.pk, list_code_keys(families))
    context = {
        "version": version,
        "card": build_card(keymap, clashes, families),
        "with_definitions": request.GET.get("definitions") == "1",
    }
    return render(request, "desk/keycard.html", context)


@require_safe
@study_view(Permission.VIEW)
def go_to_next(request: StudyRequest) -> HttpResponse:
    """Redirect to the next sentence after ``?at=`` that needs the person, and say why. The page's script gets the address."""
    at = find_number(request.GET.get("at", ""))
    found = find_next(request, at=at)
    is_script = "X-Desk" in request.headers
    if found is None:
        if is_script:
            return JsonResponse({"words": NOTHING_LEFT})
        messages.info(request, NOTHING_LEFT)
        return redirect("studies:home", request.study.slug)
    reason, sentence_id, next_interview_id = found
    desk = make_desk_url(request, next_interview_id, None)
    url = f"{desk}?{urlencode({'at': sentence_id, 'why': reason})}#s{sentence_id}"
    if is_script:
        words = describe_reason(request, reason, interview_id=next_interview_id)
        words = f"This is the only sentence that needs you now: {words}." if sentence_id == at else f"Next: {words}."
        return JsonResponse({"sentence": sentence_id, "url": url, "words": words})
    return HttpResponseRedirect(url)


@require_safe
@study_view(Permission.CODE)
def show_history(request: StudyRequest) -> HttpResponse:
    """What the person did in the study, newest first."""
    page = min(find_number(request.GET.get("page", "")) or 1, MAX_PAGE)
    entries, has_older = list_history(request.study, request.user, page=page)
    context = {"entries": entries, "page": page, "newer": page - 1, "older": page + 1 if has_older else None}
    return render(request, "desk/history.html", context)


@require_safe
@study_view(Permission.VIEW)
def show_beside(request: StudyRequest, interview_id: int, other_id: int) -> HttpResponse:
    """Two threads of the study side by side, for reading."""
    return render_beside(request, interview_id, other_id)
