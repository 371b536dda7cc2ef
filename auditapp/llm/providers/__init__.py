"""The supported providers. Each is imported and opened only inside a worker's event loop."""

from __future__ import annotations

from auditapp.llm.providers.base import (
    ASSUMED_MAX_OUTPUT,
    Account,
    ChatRequest,
    JobService,
    Provider,
    ProviderNotReady,
    max_output_tokens,
)

__all__ = [
    "ASSUMED_MAX_OUTPUT",
    "DEFAULT_MAX_OUTPUT",
    "PROVIDERS",
    "Account",
    "JobService",
    "Provider",
    "ProviderNotReady",
    "max_output_tokens",
    "open_job_service",
    "open_provider",
    "write_body",
]

PROVIDERS = {
    "fake": "Invents answers on this machine and says so; needs no key.",
    "openai_compatible": "Any chat completions API: OpenAI, OpenRouter, vLLM, Ollama, LM Studio, llama.cpp.",
    "anthropic": "Anthropic's Messages API; without a base URL, at api.anthropic.com.",
    "file": "Answers are imported from a file; nothing is called.",
}
# The most tokens of an answer where the variant sets no limit and the model's maximum is not recorded: what is sent where the API
# demands a limit, and more than the fake provider ever invents.
DEFAULT_MAX_OUTPUT = {"anthropic": 32_000, "fake": ASSUMED_MAX_OUTPUT}


def open_provider(account: Account) -> Provider:
    """The provider of ``account``. Raises ``ProviderNotReady``, whose message says what is missing."""
    if account.provider == "fake":
        from auditapp.llm.providers.fake import FakeProvider

        return FakeProvider(account)
    if account.provider == "openai_compatible":
        from auditapp.llm.providers.openai_compatible import OpenAICompatibleProvider

        return OpenAICompatibleProvider(account)
    if account.provider == "anthropic":
        from auditapp.llm.providers.anthropic import AnthropicProvider

        return AnthropicProvider(account)
    if account.provider == "file":
        raise ProviderNotReady(
            "The answers of this model are imported from a file, so nothing is called. Launch the batch with the route "
            "'file': it exports the requests and imports the answers."
        )
    raise ProviderNotReady(f"There is no provider {account.provider!r}. Choose one of: {', '.join(PROVIDERS)}.")


def write_body(provider: str, request: ChatRequest) -> dict[str, object]:
    """The JSON body of a request as the provider's module writes it. Raises ``SettingRefused``."""
    if provider == "anthropic":
        from auditapp.llm.providers.anthropic import write_body as write_message

        return write_message(request)
    from auditapp.llm.providers.openai_compatible import write_body as write_completion

    return write_completion(request)


def open_job_service(account: Account) -> JobService:
    """The batch service of ``account``. Raises ``ProviderNotReady``."""
    if account.provider == "openai_compatible":
        from auditapp.llm.providers.openai_compatible import OpenAIJobs

        return OpenAIJobs(account)
    if account.provider == "anthropic":
        from auditapp.llm.providers.anthropic import AnthropicJobs

        return AnthropicJobs(account)
    raise ProviderNotReady(f"The provider {account.provider!r} has no batch service of its own.")
