from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.test import Client
from django.urls import reverse

from auditapp.llm.actions import ModelError, add_model
from auditapp.llm.models import ModelVariant
from transcripts.accounts.models import User
from transcripts.audit_trail import trail
from transcripts.audit_trail.models import AuditEvent


@pytest.mark.django_db
class TestAddModel:
    def test_a_model_is_stored_with_its_event(self) -> None:
        variant = add_model(
            label="llama",
            provider="openai_compatible",
            base_url="http://127.0.0.1:11434/v1/",
            model="llama3.1",
            price_in=Decimal("0.1"),
            price_out=Decimal("0.2"),
            by=trail.SYSTEM,
        )
        assert variant.base_url == "http://127.0.0.1:11434/v1"
        assert AuditEvent.objects.filter(action="llm.model.added").count() == 1

    def test_the_fake_provider_costs_nothing(self) -> None:
        assert add_model(label="f", provider="fake", by=trail.SYSTEM).price_in == 0

    @pytest.mark.parametrize(
        ("values", "sentence"),
        [
            ({"label": "", "provider": "fake"}, "cannot be a label"),
            ({"label": "x", "provider": "tarot"}, "no provider"),
            ({"label": "x", "provider": "openai_compatible", "model": "m"}, "no base URL"),
            ({"label": "x", "provider": "openai_compatible", "base_url": "file:///etc", "model": "m"}, "no base URL"),
            (
                {"label": "x", "provider": "openai_compatible", "base_url": "http://u:p@h/v1", "model": "m"},
                "no base URL",
            ),
            ({"label": "x", "provider": "openai_compatible", "base_url": "http://h/v1"}, "Name the model"),
            ({"label": "x", "provider": "fake", "key_env": "sk-123"}, "never the key itself"),
            ({"label": "x", "provider": "fake", "price_in": Decimal(1)}, "both prices"),
        ],
    )
    def test_nonsense_is_refused_with_a_sentence(self, values: dict[str, str], sentence: str) -> None:
        with pytest.raises(ModelError, match=sentence):
            add_model(by=trail.SYSTEM, **values)  # type: ignore[arg-type]
        assert ModelVariant.objects.count() == 0

    def test_a_label_is_used_once(self) -> None:
        add_model(label="f", provider="fake", by=trail.SYSTEM)
        with pytest.raises(CommandError, match="already a model f"):
            call_command("add_model", "f", provider="fake")


class TestPage:
    def test_only_the_owner_of_the_site_may_add_models(self, owner: User, client_of: Callable[[User], Client]) -> None:
        assert client_of(owner).get(reverse("llm:models")).status_code == 403
        owner.is_superuser = True
        owner.save(update_fields=["is_superuser"])
        assert client_of(owner).get(reverse("llm:models")).status_code == 200

    def test_a_wrong_model_is_told_on_the_form(self, owner: User, client_of: Callable[[User], Client]) -> None:
        owner.is_superuser = True
        owner.save(update_fields=["is_superuser"])
        answer = client_of(owner).post(
            reverse("llm:models"), {"label": "x", "provider": "openai_compatible", "max_tokens": 10}
        )
        assert answer.status_code == 422
        assert "no base URL" in answer.content.decode()
