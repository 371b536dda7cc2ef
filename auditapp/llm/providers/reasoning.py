"""How much a model is to think before it answers: one word of the variant, written as each API takes it.

The words: "" (the provider's default), "off", "on", a whole number of tokens, or an effort such as "low", "medium", "high".

A budget of thinking tokens comes on top of ``max_tokens``, which stays the room for the answer itself. So what a call may
cost at most follows from ``max_output_tokens``. An effort has no such room of its own: thinking counts within ``max_tokens``.
"""

from __future__ import annotations

from auditapp.llm.providers.base import ChatRequest
from auditapp.llm.pure.model_settings import SAMPLING

BUDGETS = {"low": 2_048, "medium": 8_192, "high": 16_384}
BUDGETS["on"] = BUDGETS["medium"]
MIN_BUDGET = 1_024
"""Anthropic accepts no smaller budget."""
ASSUMED_MAX_OUTPUT = 131_072
"""The most tokens that an answer is assumed to have where no limit is set and the model's maximum is not recorded."""

CONSTRAINTS = frozenset(
    {
        *("response_format", "output_format", "output_config", "structured_outputs", "json_schema", "grammar"),
        *("guided_json", "guided_choice", "guided_regex", "guided_grammar", "regex", "ebnf"),
        *("tools", "tool_choice", "functions", "function_call", "logit_bias"),
    }
)
"""Parameters that constrain what an answer may be. They are never a variant's own: a constraint sets a benchmark's score by
itself. The program sends one only for tasks that have a schema."""


class SettingRefused(ValueError):
    """A setting of a variant that its model cannot be asked with; the sentence says which and what to write instead.

    Nothing is sent then: an answer under another setting than the column says would be worse than none.
    """


def max_output_tokens(request: ChatRequest) -> int:
    """The most tokens that a call may be billed for as output: the room for the answer and the budget for thinking.

    Without a limit it is the model's recorded maximum, which includes thinking, or ``ASSUMED_MAX_OUTPUT``.
    """
    if request.max_tokens is None:
        return request.traits.max_output_tokens or ASSUMED_MAX_OUTPUT
    return request.max_tokens + read_budget(request)


def read_budget(request: ChatRequest) -> int:
    """The budget of thinking tokens that a request asks for; 0 where it asks for none, or for an effort."""
    word = read_word(request)
    if word.isdecimal():
        return int(word)
    return BUDGETS.get(word, 0) if request.traits.reasoning == "budget" else 0


def read_word(request: ChatRequest) -> str:
    """The reasoning setting as it is compared."""
    return request.reasoning.strip().lower()


def check_settable(request: ChatRequest) -> None:
    """Refuse a setting for a model whose reasoning cannot be set."""
    word = read_word(request)
    if request.traits.reasoning == "none" and word not in {"", "off"}:
        raise SettingRefused(
            f"The reasoning of {request.model} cannot be set, but this model was added with reasoning {word!r}. "
            "Add it again without reasoning, or record other capabilities for it."
        )


def write_chat_reasoning(request: ChatRequest) -> dict[str, object]:
    """What a chat completion says about thinking, by the model's trait. Raises ``SettingRefused``."""
    check_settable(request)
    word, trait = read_word(request), request.traits.reasoning
    if not word or trait == "none":
        return {}
    if trait == "nested_effort":
        return {"reasoning": _write_nested(word)}
    if trait == "template":
        if word not in {"on", "off"}:
            raise SettingRefused(f"The reasoning of {request.model} can only be on or off, not {word!r}.")
        return {"chat_template_kwargs": {"enable_thinking": word == "on"}}
    if trait == "budget" or word.isdecimal():
        raise SettingRefused(
            f"{request.model} uses the chat completions API, which has no reasoning token budget ({word!r}). Enter an "
            "effort such as low or high. At OpenRouter a number works if the model's capabilities say reasoning.effort."
        )
    return {"reasoning_effort": {"off": "none", "on": "medium"}.get(word, word)}


def _write_nested(word: str) -> dict[str, object]:
    if word in {"on", "off"}:
        return {"enabled": word == "on"}
    return {"max_tokens": int(word)} if word.isdecimal() else {"effort": word}


def write_anthropic_reasoning(request: ChatRequest) -> dict[str, object]:
    """What an Anthropic message says about thinking: a budget where the model takes one or a number was written, else
    adaptive thinking under an effort. Raises ``SettingRefused``."""
    check_settable(request)
    word, trait = read_word(request), request.traits.reasoning
    if not word or trait == "none":
        return {}
    if trait == "template":
        raise SettingRefused(f"{request.model} uses the Anthropic Messages API, which has no chat_template_kwargs.")
    if word == "off":
        return {"thinking": {"type": "disabled"}}
    budget = read_budget(request)
    if trait == "budget" or word.isdecimal():
        if budget < MIN_BUDGET:
            raise SettingRefused(
                f"The reasoning of {request.model} must be off, on, low, medium, high, or a number of tokens of at least "
                f"{MIN_BUDGET:,}, not {word!r}."
            )
        return {"thinking": {"type": "enabled", "budget_tokens": budget}}
    adaptive: dict[str, object] = {"thinking": {"type": "adaptive"}}
    return adaptive if word == "on" else adaptive | {"output_config": {"effort": word}}


def check_parameters(request: ChatRequest, *, reserved: frozenset[str]) -> None:
    """Refuse parameters that the rest of the program relies on."""
    taken = sorted(reserved & request.parameters.keys())
    if taken:
        raise SettingRefused(
            f"The parameters of {request.model} cannot contain {', '.join(taken)}: the program sets that itself, or could "
            "not limit the cost of a call. Add the model again without it."
        )


def list_parameters(request: ChatRequest) -> dict[str, object]:
    """The variant's own parameters. Raises ``SettingRefused`` for a setting of sampling that the model does not accept."""
    refused = [name for name in SAMPLING if name in request.parameters and not getattr(request.traits, f"takes_{name}")]
    if refused:
        raise SettingRefused(
            f"{request.model} does not accept {' and '.join(refused)}, by its recorded capabilities, but this model was added "
            "with it. Add it again without, or record other capabilities."
        )
    return dict(request.parameters)
