"""For the owner of the site: models, prices, and accounts with their keys. For a study: models as judges."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, wraps
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.forms import BaseForm
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.debug import sensitive_post_parameters, sensitive_variables
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from auditapp.llm import actions, queries
from auditapp.llm.forms import AddressForm, CapabilitiesForm, KeyForm, KeyVariableForm, ModelForm, PriceForm
from auditapp.llm.models import AllowedAddress, ModelVariant, ProviderAccount
from auditapp.llm.queries import hides_parts, read_scorecards
from transcripts.accounts.models import User
from transcripts.accounts.queries import person_of
from transcripts.studies.access import StudyRequest, study_view
from transcripts.studies.roles import Permission
from transcripts.ui.forms import ChangedMeanwhile, at_form, at_top
from transcripts.ui.typed_text import MAX_ID

# A page does not wait longer for one call; the command does.
PROBE_SECONDS = 60
# Both forms are on one page and share field names.
CAPABILITIES_IDS = "capabilities_%s"
price_form = partial(PriceForm, auto_id="price_%s")
capabilities_form = partial(CapabilitiesForm, auto_id=CAPABILITIES_IDS)


def owner_view(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """Only for the owner of the site, because calls to models may cost money."""

    @wraps(view)
    def wrapped(request: HttpRequest, **kwargs: Any) -> HttpResponse:
        if not isinstance(request.user, User) or not request.user.is_superuser:
            raise PermissionDenied(
                "Only the owner of the site can manage models, because calls to them may cost money."
            )
        if any(value > MAX_ID for value in kwargs.values()):
            raise Http404("No such thing.")
        return view(request, **kwargs)

    return wrapped


def post(
    act: Callable[..., Any],
    find: Callable[..., dict[str, Any]],
    page: Callable[..., HttpResponse],
    to: str,
    done: Callable[[Any], str],
    *,
    form: Callable[[QueryDict], BaseForm] | None = None,
    field: str | None = None,
) -> Callable[..., HttpResponse]:
    """A view that carries out ``act`` on the row that ``find`` finds by the address, with the values typed into ``form``, and
    then shows the message ``done`` on the page named ``to``.

    ``page`` shows a refusal with the form, at the field that it names or else at ``field``: 422. Without a form, the refusal is
    shown at the top of the page: 409. A typed value may be a key, so it must not get into an error report or a cache.
    """

    @owner_view
    @sensitive_post_parameters("key")
    @sensitive_variables("typed")
    @require_POST
    def view(request: HttpRequest, **address: int) -> HttpResponse:
        found = find(**address)
        typed = form(request.POST) if form else None
        if typed is None or typed.is_valid():
            with at_form(typed, field) if typed else at_top(request):
                result = act(**found, **(typed.cleaned_data if typed else {}), by=person_of(request))
                messages.success(request, done(result))
                return redirect(to, *address.values())
        return page(request, **found, typed=typed, status=422 if typed else 409)

    return view


@owner_view
@require_http_methods(["GET", "HEAD", "POST"])
def list_models(request: HttpRequest) -> HttpResponse:
    """The models, and a form to add one."""
    form = ModelForm(request.POST if request.method == "POST" else None)
    if form.is_valid():
        with at_form(form):
            variant = actions.add_model(by=person_of(request), **form.cleaned_data)
            messages.success(request, f"{variant.label} can now be used in batches.")
            return redirect("llm:models")
    page = {"form": form, "lines": queries.list_variants(), "accounts": queries.list_accounts()}
    return render(request, "llm/models.html", page, status=422 if form.errors else 200)


def _find_variant(variant_id: int) -> dict[str, Any]:
    return {"variant": get_object_or_404(ModelVariant.objects.select_related("account"), pk=variant_id)}


def _find_account(account_id: int) -> dict[str, Any]:
    return {"account": get_object_or_404(ProviderAccount, pk=account_id)}


def _render_model(
    request: HttpRequest, variant: ModelVariant, typed: BaseForm | None = None, *, status: int = 200
) -> HttpResponse:
    """The page of a variant; ``typed`` is the form that was refused, if any."""
    prices = variant.account.prices.filter(model=variant.model).order_by("-number")
    capabilities = list(variant.account.capabilities.filter(model=variant.model).order_by("-number"))
    stored = actions.read_capabilities(next(iter(capabilities), None))
    page = {
        "variant": variant,
        "key_state": queries.find_key_state(variant.account),
        "prices": prices,
        "capabilities": capabilities,
        "price_form": typed if isinstance(typed, PriceForm) else price_form(),
        "capabilities_form": typed if isinstance(typed, CapabilitiesForm) else capabilities_form(stored=stored),
        "wrong_form": typed,
    }
    return render(request, "llm/model.html", page, status=status)


def _render_account(
    request: HttpRequest, account: ProviderAccount, typed: BaseForm | None = None, *, status: int = 200
) -> HttpResponse:
    """The page of an account; ``typed`` is the form that was refused, if any."""
    page = {
        "account": account,
        "key_state": queries.find_key_state(account),
        "variants": account.variants.order_by("label"),
        "address_form": typed
        if isinstance(typed, AddressForm)
        else AddressForm(initial={"base_url": account.base_url}),
        "key_form": typed if isinstance(typed, KeyForm) else KeyForm(),
        "variable_form": typed
        if isinstance(typed, KeyVariableForm)
        else KeyVariableForm(initial={"key_env": account.key_env}),
        "wrong_form": typed,
    }
    return render(request, "llm/account.html", page, status=status)


@owner_view
@require_safe
def show_model(request: HttpRequest, variant_id: int) -> HttpResponse:
    """One variant: its settings, and all prices and capabilities of its model."""
    return _render_model(request, **_find_variant(variant_id))


set_price = post(
    actions.set_price,
    _find_variant,
    _render_model,
    "llm:model",
    lambda row: f"Price {row.number} applies to batches launched from now on.",
    form=price_form,
)
probe = post(
    partial(actions.check_model, timeout_seconds=PROBE_SECONDS),
    _find_variant,
    _render_model,
    "llm:model",
    lambda row: (
        f"Structured answers: {row.get_answer_schema_display()}. Capabilities {row.number} apply to batches launched from now on."
    ),
)


@owner_view
@require_POST
def set_capabilities(request: HttpRequest, variant_id: int) -> HttpResponse:
    """New capabilities, for batches launched from now on."""
    variant, status = _find_variant(variant_id)["variant"], 422
    stored = actions.read_capabilities(queries.find_capabilities([variant]).get(variant.pk))
    form = capabilities_form(request.POST, stored=stored)
    if form.is_valid():
        try:
            with at_form(form):
                row = actions.set_capabilities(variant=variant, by=person_of(request), **form.cleaned_data)
                messages.success(request, f"Capabilities {row.number} apply to batches launched from now on.")
                return redirect("llm:model", variant.pk)
        except ChangedMeanwhile as error:
            form, status = form.rebase(error.stored, auto_id=CAPABILITIES_IDS), 409
    return _render_model(request, variant, form, status=status)


@owner_view
@require_safe
def show_account(request: HttpRequest, account_id: int) -> HttpResponse:
    """One account: its address, the state of its key, and its models."""
    return _render_account(request, **_find_account(account_id))


@owner_view
@require_POST
def change_address(request: HttpRequest, account_id: int) -> HttpResponse:
    """Change where the account's calls go; its key is removed."""
    account = _find_account(account_id)["account"]
    form = AddressForm(request.POST)
    if form.is_valid():
        with at_form(form, "base_url"):
            took_key = actions.change_address(account=account, by=person_of(request), **form.cleaned_data)
            account.refresh_from_db()
            messages.success(request, f"Calls of {account.name} now go to {account.base_url}.")
            if took_key:
                messages.warning(
                    request, "The key was for the old address, so it was removed. Enter the key for the new one."
                )
            return redirect("llm:account", account.pk)
    return _render_account(request, account, form, status=422)


set_key = post(
    actions.set_key,
    _find_account,
    _render_account,
    "llm:account",
    lambda account: f"The key of {account.name} is stored: {queries.find_key_state(account)}.",
    form=KeyForm,
    field="key",
)
forget_key = post(
    actions.forget_key,
    _find_account,
    _render_account,
    "llm:account",
    lambda account: f"The key of {account.name} was deleted. Its batches wait for a new one.",
)
set_key_env = post(
    actions.set_key_env,
    _find_account,
    _render_account,
    "llm:account",
    lambda account: f"The key of {account.name}: {queries.find_key_state(account)}.",
    form=KeyVariableForm,
    field="key_env",
)


@owner_view
@require_safe
def list_addresses(request: HttpRequest) -> HttpResponse:
    """The private addresses that calls may go to."""
    return _render_addresses(request)


@owner_view
@require_POST
def disallow_address(request: HttpRequest, address_id: int) -> HttpResponse:
    """Remove a private address from the list."""
    row = get_object_or_404(AllowedAddress, pk=address_id)
    actions.disallow_address(address=row.address, by=person_of(request))
    messages.success(request, f"Calls may no longer go to {row.address}.")
    return redirect("llm:addresses")


def _render_addresses(request: HttpRequest) -> HttpResponse:
    page = {
        "addresses": AllowedAddress.objects.order_by("address"),
        "from_setting": sorted(settings.ALLOW_PRIVATE_PROVIDERS),
    }
    return render(request, "llm/addresses.html", page)


@require_safe
@study_view(Permission.VIEW)
def list_judges(request: StudyRequest) -> HttpResponse:
    """Every model for which this study has figures, with its scorecard."""
    variants = list(ModelVariant.objects.select_related("account"))
    parts = read_scorecards(request.study, variants, request.role.permissions)
    cards = [(variant, own) for variant, own in zip(variants, parts, strict=True) if own]
    notes = dict.fromkeys(note for _, own in cards for part in own for note in part.notes)
    context = {"cards": cards, "notes": list(notes), "is_hidden": hides_parts(request.role.permissions)}
    return render(request, "llm/judges.html", context)


@require_safe
@study_view(Permission.VIEW)
def show_judge(request: StudyRequest, variant_id: int) -> HttpResponse:
    """The scorecard of one model, if this study has figures for it."""
    variant = get_object_or_404(ModelVariant.objects.select_related("account"), pk=variant_id)
    [parts] = read_scorecards(request.study, [variant], request.role.permissions)
    if not parts:
        raise Http404("This study has no figures for that model.")
    return render(request, "llm/judge.html", {"variant": variant, "parts": parts})
