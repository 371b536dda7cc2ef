"""The providers there are. Each is opened inside a worker's event loop and loaded only there."""

from __future__ import annotations

from auditapp.llm.providers.base import Account, Provider, ProviderNotReady

__all__ = ["PROVIDERS", "Account", "Provider", "ProviderNotReady", "open_provider"]

PROVIDERS = {
    "fake": "Invents answers on this machine and says so; needs no key.",
    "openai_compatible": "Any chat-completions address: OpenAI, OpenRouter, vLLM, Ollama, LM Studio, llama.cpp.",
}


def open_provider(account: Account) -> Provider:
    """A provider for ``account``. Raises ``ProviderNotReady`` with a sentence that says what is missing."""
    if account.provider == "fake":
        from auditapp.llm.providers.fake import FakeProvider

        return FakeProvider(account)
    if account.provider == "openai_compatible":
        from auditapp.llm.providers.openai_compatible import OpenAICompatibleProvider

        return OpenAICompatibleProvider(account)
    raise ProviderNotReady(f"There is no provider {account.provider!r}; there are {', '.join(PROVIDERS)}.")
