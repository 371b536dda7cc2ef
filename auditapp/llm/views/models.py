"""Models, accounts and their keys, prices. Only the owner of the site sees and changes them."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.forms import Form
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters, sensitive_variables
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from auditapp.llm import actions, queries
from auditapp.llm.forms import AddressForm, CapabilitiesForm, KeyForm, KeyVariableForm, ModelForm, PriceForm
from auditapp.llm.models import AllowedAddress, ModelVariant, ProviderAccount
from transcripts.accounts.models import User
from transcripts.accounts.queries import person_of
from transcripts.refusals import Refused
from transcripts.ui.acts import at_form, at_top
from transcripts.ui.replacing import ChangedMeanwhile
from transcripts.ui.typed_text import MAX_ID

# A page does not wait longer for one call; the command does.
PROBE_SECONDS = 60
# Both forms are on one page and share field names.
PRICE_IDS, CAPABILITIES_IDS = "price_%s", "capabilities_%s"


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


@owner_view
@require_http_methods(["GET", "HEAD", "POST"])
def list_models(request: HttpRequest) -> HttpResponse:
    """The models, and a form to add one."""
    form = ModelForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        with at_form(form):
            variant = actions.add_model(by=person_of(request), **form.cleaned_data)
            messages.success(request, f"{variant.label} can now be used in batches.")
            return redirect("llm:models")
    status = 422 if request.method == "POST" else 200
    page = {"form": form, "lines": queries.list_variants(), "accounts": queries.list_accounts()}
    return render(request, "llm/models.html", page, status=status)


@owner_view
@require_safe
def show_model(request: HttpRequest, variant_id: int) -> HttpResponse:
    """One variant: its settings, and all prices and capabilities of its model."""
    return _render_model(request, _find_variant(variant_id))


@owner_view
@require_POST
def set_price(request: HttpRequest, variant_id: int) -> HttpResponse:
    """A new price, for batches launched from now on."""
    variant = _find_variant(variant_id)
    form = PriceForm(request.POST, auto_id=PRICE_IDS)
    if form.is_valid():
        with at_form(form):
            row = actions.set_price(variant=variant, by=person_of(request), **form.cleaned_data)
            messages.success(request, f"Price {row.number} applies to batches launched from now on.")
            return redirect("llm:model", variant.pk)
    return _render_model(request, variant, price_form=form)


@owner_view
@require_POST
def set_capabilities(request: HttpRequest, variant_id: int) -> HttpResponse:
    """New capabilities, for batches launched from now on."""
    variant = _find_variant(variant_id)
    stored = actions.read_capabilities(queries.find_capabilities([variant]).get(variant.pk))
    form = CapabilitiesForm(request.POST, stored=stored, auto_id=CAPABILITIES_IDS)
    if form.is_valid():
        try:
            row = actions.set_capabilities(variant=variant, by=person_of(request), **form.cleaned_data)
        except Refused as error:
            form.add_error(None, str(error))
        except ChangedMeanwhile as error:
            again = form.rebase(error.stored, auto_id=CAPABILITIES_IDS)
            return _render_model(request, variant, capabilities_form=again, status=409)
        else:
            messages.success(request, f"Capabilities {row.number} apply to batches launched from now on.")
            return redirect("llm:model", variant.pk)
    return _render_model(request, variant, capabilities_form=form)


@owner_view
@require_POST
def probe(request: HttpRequest, variant_id: int) -> HttpResponse:
    """A few tiny calls, made while the page waits."""
    variant = _find_variant(variant_id)
    with at_top(request):
        row = actions.probe_model(variant=variant, by=person_of(request), timeout_seconds=PROBE_SECONDS)
        messages.success(
            request,
            f"Structured answers: {row.get_answer_schema_display()}. Capabilities {row.number} apply to batches launched from "
            "now on.",
        )
        return redirect("llm:model", variant.pk)
    return _render_model(request, variant, status=422)


@owner_view
@never_cache
@require_safe
def show_account(request: HttpRequest, account_id: int) -> HttpResponse:
    """One account: its address, the state of its key, and its models."""
    return _render_account(request, _find_account(account_id))


@owner_view
@never_cache
@require_POST
def change_address(request: HttpRequest, account_id: int) -> HttpResponse:
    """Change where the account's calls go; its key is removed."""
    account = _find_account(account_id)
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
    return _render_account(request, account, address_form=form)


@owner_view
@sensitive_post_parameters("key")
@sensitive_variables("form")
@never_cache
@require_POST
def set_key(request: HttpRequest, account_id: int) -> HttpResponse:
    """Store or replace the key."""
    account = _find_account(account_id)
    form = KeyForm(request.POST)
    if form.is_valid():
        with at_form(form, "key"):
            account = actions.set_key(account=account, key=form.cleaned_data["key"], by=person_of(request))
            messages.success(request, f"The key of {account.name} is stored: {queries.find_key_state(account)}.")
            return redirect("llm:account", account.pk)
    return _render_account(request, account, key_form=form)


@owner_view
@never_cache
@require_POST
def forget_key(request: HttpRequest, account_id: int) -> HttpResponse:
    """Delete the stored key."""
    account = _find_account(account_id)
    with at_top(request):
        actions.forget_key(account=account, by=person_of(request))
        messages.success(request, f"The key of {account.name} was deleted. Its batches wait for a new one.")
        return redirect("llm:account", account.pk)
    return _render_account(request, account, status=422)


@owner_view
@never_cache
@require_POST
def set_key_env(request: HttpRequest, account_id: int) -> HttpResponse:
    """Let workers read the key from an environment variable."""
    account = _find_account(account_id)
    form = KeyVariableForm(request.POST)
    if form.is_valid():
        with at_form(form, "key_env"):
            account = actions.set_key_env(account=account, by=person_of(request), **form.cleaned_data)
            messages.success(request, f"The key of {account.name}: {queries.find_key_state(account)}.")
            return redirect("llm:account", account.pk)
    return _render_account(request, account, variable_form=form)


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


def _find_variant(variant_id: int) -> ModelVariant:
    return get_object_or_404(ModelVariant.objects.select_related("account"), pk=variant_id)


def _find_account(account_id: int) -> ProviderAccount:
    return get_object_or_404(ProviderAccount, pk=account_id)


def _render_model(
    request: HttpRequest,
    variant: ModelVariant,
    *,
    price_form: PriceForm | None = None,
    capabilities_form: CapabilitiesForm | None = None,
    status: int = 200,
) -> HttpResponse:
    prices = variant.account.prices.filter(model=variant.model).order_by("-number")
    capabilities = list(variant.account.capabilities.filter(model=variant.model).order_by("-number"))
    page = {
        "variant": variant,
        "key_state": queries.find_key_state(variant.account),
        "prices": prices,
        "capabilities": capabilities,
        "price_form": price_form or PriceForm(auto_id=PRICE_IDS),
        "capabilities_form": capabilities_form
        or CapabilitiesForm(auto_id=CAPABILITIES_IDS, stored=actions.read_capabilities(next(iter(capabilities), None))),
        "wrong_form": price_form or capabilities_form,
    }
    if status == 200 and (price_form or capabilities_form):
        status = 422
    return render(request, "llm/model.html", page, status=status)


def _render_account(
    request: HttpRequest,
    account: ProviderAccount,
    *,
    address_form: AddressForm | None = None,
    key_form: KeyForm | None = None,
    variable_form: KeyVariableForm | None = None,
    status: int = 200,
) -> HttpResponse:
    wrong: Form | None = address_form or key_form or variable_form
    page = {
        "account": account,
        "key_state": queries.find_key_state(account),
        "variants": account.variants.order_by("label"),
        "address_form": address_form or AddressForm(initial={"base_url": account.base_url}),
        "key_form": key_form or KeyForm(),
        "variable_form": variable_form or KeyVariableForm(initial={"key_env": account.key_env}),
        "wrong_form": wrong,
    }
    return render(request, "llm/account.html", page, status=422 if wrong else status)


def _render_addresses(request: HttpRequest) -> HttpResponse:
    page = {
        "addresses": AllowedAddress.objects.order_by("address"),
        "from_setting": sorted(settings.ALLOW_PRIVATE_PROVIDERS),
    }
    return render(request, "llm/addresses.html", page)
