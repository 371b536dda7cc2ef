"""Values that a table holds as Python wrote them ("{'age': 'adult', 'race': None}"), read without running anything."""

from __future__ import annotations

import ast
import math

MAX_LENGTH = 200_000
MAX_DEPTH = 50
# As many bits as Python writes in decimal digits without being asked twice; a text of base 16 may hold more.
MAX_BITS = 4_096

_NAMES = {"nan": None, "NaN": None, "null": None, "true": True, "false": False, "inf": "inf"}


class NoLiteral(ValueError):
    """The text is no plain value, or a larger one than is read."""


def read_literal(text: str) -> object:
    """The value as JSON can hold it: tuples and sets become lists, keys become text, not-a-number becomes null.

    Raises ``NoLiteral``.
    """
    if len(text) > MAX_LENGTH or sum(map(text.count, "([{")) > MAX_LENGTH // 40:
        raise NoLiteral("the value is too large")
    try:
        tree = ast.parse(text.strip(), mode="eval")
        return _convert(tree.body, 0)
    except NoLiteral:
        raise
    except (SyntaxError, ValueError, MemoryError, RecursionError, OverflowError) as error:
        raise NoLiteral("the value is no Python literal") from error


def _convert(node: ast.expr, depth: int) -> object:
    if depth > MAX_DEPTH:
        raise NoLiteral("the value is nested too deep")
    if isinstance(node, ast.Constant):
        return _convert_constant(node.value)
    if isinstance(node, ast.Dict):
        if None in node.keys:
            raise NoLiteral("the value is no plain value")
        keys = [_name_key(_convert(key, depth + 1)) for key in node.keys if key is not None]
        return dict(zip(keys, [_convert(value, depth + 1) for value in node.values], strict=True))
    if isinstance(node, (ast.List, ast.Tuple, ast.Set)):
        return [_convert(item, depth + 1) for item in node.elts]
    if isinstance(node, ast.Name) and node.id in _NAMES:
        return _NAMES[node.id]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        value = _convert(node.operand, depth + 1)
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return -value
    raise NoLiteral("the value is no plain value")


def _convert_constant(value: object) -> object:
    if isinstance(value, int) and value.bit_length() > MAX_BITS:
        raise NoLiteral("the value is too large")
    if value is None or isinstance(value, (str, bool, int)):
        return value
    if isinstance(value, float):
        return None if math.isnan(value) else value if math.isfinite(value) else str(value)
    raise NoLiteral("the value is no plain value")


def _name_key(key: object) -> str:
    return key if isinstance(key, str) else str(key)
