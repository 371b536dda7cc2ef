"""Actions on models, accounts, keys, prices and the list of allowed addresses."""

from __future__ import annotations

from auditapp.llm.actions.accounts import (
    add_account,
    change_address,
    forget_key,
    rotate_keys,
    set_key,
    set_key_env,
)
from auditapp.llm.actions.allowing import allow_address, disallow_address
from auditapp.llm.actions.errors import ModelError
from auditapp.llm.actions.figures import set_capabilities, set_price
from auditapp.llm.actions.variants import add_model, find_price_change

__all__ = [
    "ModelError",
    "add_account",
    "add_model",
    "allow_address",
    "change_address",
    "disallow_address",
    "find_price_change",
    "forget_key",
    "rotate_keys",
    "set_capabilities",
    "set_key",
    "set_key_env",
    "set_price",
]
