"""Pages about the consequences of a codebook version: effects, re-review, migration of codings, anchors and drift."""

from __future__ import annotations

import uuid
from typing import Any

from django import forms, template
from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from transcripts.accounts.models import User
from transcripts.codebook.models import Code, CodebookVersion, CodeFamily
from transcripts.codebook.queries import current_version
from transcripts.coding.models import Coding, Enactment
from transcripts.corpus.models import Sentence
from transcripts.revision import actions, queries
from transcripts.revision.actions import MAX_ANCHORS
from transcripts.revision.pure import draw_drift
from transcripts.studies.access import StudyRequest, post, study_view
from transcripts.studies.roles import Permission
from transcripts.ui.forms import OnceForm, at_form, at_top
from transcripts.ui.typed_text import MAX_ID, MAX_SEED


class ReReviewForm(OnceForm):
    """The re-review of one coding. ``targets`` are the codes that may replace its code."""

    KEEP, MOVE, DROP = "keep", "move", "drop"
    outcome = forms.ChoiceField(choices=[(KEEP, "Keep"), (MOVE, "Move"), (DROP, "Remove")], required=False)
    codes = forms.MultipleChoiceField(required=False)
    enactment = forms.ChoiceField(choices=[("", "not stated"), *Enactment.choices], required=False)

    def __init__(self, *args: object, targets: list[Code], **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        self.targets = {code.identifier: code for code in targets}
        self.fields["codes"].choices = [(code.identifier, code.name) for code in targets]  # type: ignore[attr-defined]

    def clean(self) -> dict[str, object]:
        cleaned: dict[str, object] = super().clean() or {}
        if not cleaned.get("outcome") and "outcome" not in self.errors:
            self.add_error("outcome", "Choose whether to keep, replace or remove the coding.")
        return cleaned

    @property
    def chosen(self) -> list[Code]:
        """The codes that were chosen."""
        return [self.targets[identifier] for identifier in self.cleaned_data["codes"]]


class DrawForm(forms.Form):
    """The number of anchors to draw. About thirty make drift visible without tiring coders (method brief, 2.2)."""

    count = forms.IntegerField(min_value=1, max_value=MAX_ANCHORS, initial=30, label="Sentences")
    seed = forms.IntegerField(
        min_value=0, max_value=MAX_SEED, initial=1, label="Seed", help_text="The same seed draws the same sentences."
    )


class AnchorForm(forms.Form):
    """One sentence as an anchor, by its database id, as in links from the desk."""

    sentence = forms.IntegerField(min_value=1, max_value=MAX_ID, label="Sentence")


class AnchorReadingForm(OnceForm):
    """The codes that a person applies to an anchor; no code means that none applies."""

    codes = forms.MultipleChoiceField(required=False, label="Codes")
    none_applies = forms.BooleanField(required=False)

    def __init__(self, *args: object, codes: list[Code], **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        self.fields["codes"].choices = [(code.identifier, code.name) for code in codes]  # type: ignore[attr-defined]

    def clean(self) -> dict[str, object]:
        cleaned: dict[str, object] = super().clean() or {}
        if cleaned.get("codes") and cleaned.get("none_applies"):
            self.add_error("codes", "Codes are chosen, and “none applies” is ticked. Clear one of the two.")
        elif not cleaned.get("codes") and not cleaned.get("none_applies") and "codes" not in self.errors:
            self.add_error("codes", "Choose the codes that apply here, or tick “none applies”.")
        return cleaned


@require_safe
@study_view(Permission.VIEW)
def show_effects(request: StudyRequest, older: int, number: int) -> HttpResponse:
    """The codings that the changes between two versions affect: one's own, or all for people who may see all."""
    version = get_object_or_404(request.study.codebook_versions, number=number)
    earlier = get_object_or_404(request.study.codebook_versions, number=older)
    if older > number:
        raise Http404("The earlier version comes first.")
    effects = queries.build_effects(request.study, older, version, coder=_whose(request))
    return render(
        request,
        "revision/effects.html",
        {"older": earlier, "version": version, "effects": effects, "counts_all": _whose(request) is None},
    )


@require_POST
@study_view(Permission.EDIT_CODEBOOK)
def migrate(request: StudyRequest, number: int) -> HttpResponse:
    """Migrate everybody's codings with merged codes to the codes these were merged into."""
    version = get_object_or_404(request.study.codebook_versions, number=number)
    with at_top(request):
        count = actions.migrate_merged(study=request.study, version=version, by=request.user)
        messages.success(request, f"{count} codings were migrated to the merged codes.")
    return _back_to_effects(request, version)


@require_POST
@study_view(Permission.EDIT_CODEBOOK)
def undo_migration(request: StudyRequest, number: int) -> HttpResponse:
    """Undo the migration."""
    version = get_object_or_404(request.study.codebook_versions, number=number)
    count = actions.undo_migration(study=request.study, version=version, by=request.user)
    messages.success(request, f"{count} codings have their former codes again.")
    return _back_to_effects(request, version)


def _back_to_effects(request: StudyRequest, version: CodebookVersion) -> HttpResponse:
    older = version.based_on.number if version.based_on else max(1, version.number - 1)
    return redirect("revision:effects", request.study.slug, older, version.number)


def _whose(request: StudyRequest) -> User | None:
    """Whose codings are counted: a blind coder's own, or everybody's for people who may see all."""
    return None if Permission.SEE_ALL_CODINGS in request.role.permissions else request.user


@require_safe
@study_view(Permission.CODE)
def show_queue(request: StudyRequest) -> HttpResponse:
    """One's own codings that need re-review, code by code; ``?code=`` begins with that code."""
    version = _get_version(request)
    due = queries.list_due(version, coder=request.user)
    offered = [each for each in due if each.is_open]
    if wanted := request.GET.get("code"):
        first = next((each for each in offered if each.identifier == wanted), None)
        if first is not None:
            return redirect("revision:re_review", request.study.slug, first.coding_id)
    closed = queries.list_closed(request.study, due)
    page = {
        "version": version,
        "codes": queries.count_by_code(offered),
        "closed": closed,
        "widened": queries.list_widened(version),
    }
    return render(request, "revision/queue.html", page)


@require_safe
@study_view(Permission.CODE)
def show_near(request: StudyRequest) -> HttpResponse:
    """Sentences that one read before a code became wider, and that may belong to it now."""
    version = _get_version(request)
    wanted = request.GET.get("code", "")
    widened = queries.list_widened(version)
    code = next((each for each in widened if each.identifier == wanted), None)
    near = queries.find_near_sentences(code, request.user) if code is not None else {}
    return render(request, "revision/near.html", {"code": code, **near})


@require_http_methods(["GET", "HEAD", "POST"])
@study_view(Permission.CODE)
def re_review(request: StudyRequest, coding_id: int) -> HttpResponse:
    """Re-review one coding: keep it, replace its code, or remove it; then show the next coding with the code."""
    version = _get_version(request)
    coding = queries.find_own_coding(request.study, request.user, coding_id)
    if coding is None:
        # Sent twice, or from two tabs: the request has already been carried out.
        get_object_or_404(Coding, pk=coding_id, coder=request.user, sentence__turn__interview__study=request.study)
        return redirect("revision:queue", request.study.slug)
    look = queries.build_look(coding, version)
    form = ReReviewForm(request.POST if request.method == "POST" else None, targets=look["targets"])
    if form.is_valid():
        with at_form(form):
            _do(request, coding, version, form)
            return _go_on(request, version, coding.code.identifier)
    due = [each for each in queries.list_due(version, coder=request.user) if each.is_open]
    of_code = [each for each in due if each.identifier == coding.code.identifier]
    return render(
        request,
        "revision/re_review.html",
        {
            "version": version,
            "look": look,
            "form": form,
            "idempotency_key": uuid.uuid4(),
            "left": len(of_code),
            "left_in_all": len(due),
        },
        status=422 if form.errors else 200,
    )


def _do(request: StudyRequest, coding: Coding, version: CodebookVersion, form: ReReviewForm) -> None:
    """Carry out the choice in the form. Raises ``Refused``."""
    study, by, idempotency_key = request.study, request.user, form.cleaned_data["idempotency_key"]
    if form.cleaned_data["outcome"] == ReReviewForm.KEEP:
        actions.keep_coding(
            study=study,
            coding=coding,
            version=version,
            by=by,
            idempotency_key=idempotency_key,
            enactment=form.cleaned_data["enactment"],
        )
    elif form.cleaned_data["outcome"] == ReReviewForm.MOVE:
        actions.move_coding(
            study=study,
            coding=coding,
            codes=form.chosen,
            version=version,
            by=by,
            idempotency_key=idempotency_key,
            enactment=form.cleaned_data["enactment"],
        )
    else:
        actions.drop_coding(study=study, coding=coding, version=version, by=by, idempotency_key=idempotency_key)


def _go_on(request: StudyRequest, version: CodebookVersion, identifier: str) -> HttpResponse:
    """To the next coding with the same code; to the overview after the last."""
    due = queries.list_due(version, coder=request.user)
    following = next((each for each in due if each.is_open and each.identifier == identifier), None)
    if following is None:
        messages.success(request, "You have re-reviewed all codings with this code that you can change now.")
        return redirect("revision:queue", request.study.slug)
    return redirect("revision:re_review", request.study.slug, following.coding_id)


@require_safe
@study_view(Permission.CODE)
def list_anchors(request: StudyRequest) -> HttpResponse:
    """The anchors, what is still to be read of them, and how the reading moved from version to version."""
    return _render_anchors(request, DrawForm())


@require_POST
@study_view(Permission.EDIT_CODEBOOK)
def draw(request: StudyRequest) -> HttpResponse:
    """Draw anchors by chance."""
    form = DrawForm(request.POST)
    if form.is_valid():
        with at_form(form, "count"):
            actions.draw_anchors(study=request.study, **form.cleaned_data, by=request.user)
            return redirect("revision:anchors", request.study.slug)
    return _render_anchors(request, form)


@require_POST
@study_view(Permission.EDIT_CODEBOOK)
def add(request: StudyRequest) -> HttpResponse:
    """One sentence as an anchor."""
    form = AnchorForm(request.POST)
    if not form.is_valid():
        messages.error(request, "No sentence was given. Open one at the desk and add it from there.")
        return redirect("revision:anchors", request.study.slug)
    sentences = Sentence.objects.filter(turn__interview__study=request.study).select_related("turn__interview")
    sentence = get_object_or_404(sentences, pk=form.cleaned_data["sentence"])
    with at_top(request):
        actions.add_anchor(study=request.study, sentence=sentence, by=request.user)
        messages.success(request, f"Sentence {sentence.label} of “{sentence.turn.interview.title}” is an anchor.")
    return redirect("revision:anchors", request.study.slug)


def _find_anchor(request: StudyRequest, anchor_id: int) -> dict[str, Any]:
    anchor = get_object_or_404(request.study.anchor_sentences, pk=anchor_id)
    return {"study": request.study, "anchor": anchor}


remove = post(actions.remove_anchor, Permission.EDIT_CODEBOOK, on=_find_anchor, to=("revision:anchors",))


@require_http_methods(["GET", "HEAD", "POST"])
@study_view(Permission.CODE)
def read(request: StudyRequest) -> HttpResponse:
    """The next anchor that one has not read under the current version, without showing earlier readings."""
    version = _get_version(request)
    unread = queries.list_unread(request.study, version, request.user)
    sent = request.POST.get("anchor", "")
    anchor = next((each for each in unread if str(each.pk) == sent), unread[0] if unread and not sent else None)
    if anchor is None:
        return redirect("revision:read" if unread else "revision:anchors", request.study.slug)
    codes = list(
        Code.objects.filter(version=version, family__unit=CodeFamily.Unit.SENTENCE)
        .select_related("family")
        .order_by("family__position", "position")
    )
    form = AnchorReadingForm(request.POST if request.method == "POST" else None, codes=codes)
    if form.is_valid():
        with at_form(form):
            actions.read_anchor(
                study=request.study,
                anchor=anchor,
                version=version,
                identifiers=form.cleaned_data["codes"],
                by=request.user,
                idempotency_key=form.cleaned_data["idempotency_key"],
            )
            return redirect("revision:read", request.study.slug)
    return render(
        request,
        "revision/read.html",
        {
            "version": version,
            "anchor": anchor,
            "shown": queries.find_context(anchor.sentence),
            "codes": codes,
            "chosen": form.data.getlist("codes") if form.is_bound else [],  # type: ignore[attr-defined]
            "form": form,
            "idempotency_key": uuid.uuid4(),
            "left": len(unread),
        },
        status=422 if form.errors else 200,
    )


def _get_version(request: StudyRequest) -> CodebookVersion:
    version = current_version(request.study)
    if version is None:
        raise Http404("This study has no published codebook yet.")
    version.study = request.study
    return version


def _render_anchors(request: StudyRequest, form: DrawForm) -> HttpResponse:
    version = _get_version(request)
    # People who may see all see others' readings once they have read every anchor themselves.
    unread = len(queries.list_unread(request.study, version, request.user))
    anchors = [(anchor, anchor.sentence.read_text()) for anchor in queries.list_anchors(request.study)]
    drift = queries.build_drift(request.study, version, coder=request.user if unread else _whose(request))
    return render(
        request,
        "revision/anchors.html",
        {
            "version": version,
            "anchors": anchors,
            "unread": unread,
            "drift": drift,
            "chart": draw_drift([(code.name, points) for code, points in drift]),
            "counts_all": not unread and _whose(request) is None,
            "form": form,
            "may_edit": Permission.EDIT_CODEBOOK in request.role.permissions,
        },
        status=422 if form.errors else 200,
    )


register = template.Library()
"""For templates of rooms below this one: ``{% load re_review %}``."""
register.simple_tag(queries.count_re_reviews)
