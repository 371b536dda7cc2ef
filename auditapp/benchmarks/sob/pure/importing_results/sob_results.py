"""The table of parsed results that the authors' released pipeline writes (uofthcdslab/second-order-bias, sob_results.csv).

One row an answer: model_name, prompt_name, data_name, id, text, the targets, response, reasoning, gen_error. ``response``
is what a second model made of the answer, as Python writes it: a dictionary, Unknown, refusal, or an empty cell. What
the model itself said is not in the table, and no reading of ours claims to be it. Such values are read without
running anything.
"""

from __future__ import annotations

import ast
import io
import json
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping

from auditapp.benchmarks.sob.pure.importing_results.rows import MAX_FILE_BYTES, ResultError, ResultFile, ResultRow
from auditapp.llm.providers.base import make_storable
from transcripts.formats.problems import ReadError
from transcripts.formats.tabular import StrictTable

FORMAT = "sob_results"
NOTE = "The file contains what a second model read from the answer, not the answer itself."
_NEEDED = ("model_name", "prompt_name", "data_name", "id", "response")
_TASKS = {"acceptable_ours": "acceptability", "non_acceptable_ours": "non_acceptability"}
_KEPT = ("reasoning", "gen_error", "target_dem_val", "target_dem_val_sec", "target_type")
# What the pipeline's table reader takes for a missing value.
_MISSING = frozenset(
    {"", "#N/A", "#N/A N/A", "#NA", "-NaN", "-nan", "<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null"}
)
# Stands for a bare carriage return while the file is split into lines: the pipeline writes those of the texts without quotes.
_RETURN = "\ue00d"

_MODELS: Mapping[str, tuple[str, str, str]] = {
    "gpt51_instruct": ("gpt5.1-I", "openai/gpt-5.1", "none"),
    "gpt51_think": ("gpt5.1-T", "openai/gpt-5.1", "high"),
    "sonnet46_instruct": ("sonnet4.6-I", "anthropic/claude-sonnet-4.6", "off"),
    "sonnet46_think": ("sonnet4.6-T", "anthropic/claude-sonnet-4.6", "on"),
    "qwen35b_instruct": ("qwen35b-I", "qwen/qwen3.5-35b-a3b", "off"),
    "qwen35b_think": ("qwen35b-T", "qwen/qwen3.5-35b-a3b", "on"),
    "olmo32b_instruct": ("olmo32b-I", "allenai/olmo-3.1-32b-instruct", ""),
    "olmo32b_think": ("olmo32b-T", "allenai/olmo-3.1-32b-think", ""),
    "llama70b_instruct": ("llama70b", "meta-llama/llama-3.3-70b-instruct", ""),
    "gemma27b_instruct": ("gemma27b", "google/gemma-3-27b-it", ""),
    "phi4_14b_think": ("phi4-14b-T", "microsoft/phi-4-reasoning", ""),
    "llama8b_instruct": ("llama8b", "meta-llama/llama-3.1-8b-instruct", ""),
}
"""The release's names for the twelve models: label of the published table, id at the provider, reasoning setting."""


def read_sob_results(data: bytes, *, name: str, task: str = "") -> ResultFile:
    """Every row of the table. ``task`` holds for prompts of other names. Raises ``ResultError``."""
    rows: list[ResultRow] = []
    passed_over: Counter[str] = Counter()
    for number, values in enumerate(_read_table(data, name), start=1):
        found = _TASKS.get(values["prompt_name"].strip(), task)
        if not found:
            passed_over["a prompt that is none of the two scored tasks"] += 1
            continue
        rows.append(_read_row(number, values, found))
    if not rows:
        raise ResultError(f"{name} contains no answer to a known task; expected the prompts {', '.join(_TASKS)}.")
    return ResultFile(FORMAT, tuple(rows), passed_over)


def _read_table(data: bytes, name: str) -> Iterator[Mapping[str, str]]:
    if len(data) > MAX_FILE_BYTES:
        raise ResultError(f"{name} has {len(data):,} bytes; at most {MAX_FILE_BYTES:,} are read.")
    lines = io.BytesIO(re.sub(rb"\r(?!\n)", _RETURN.encode(), data))
    try:
        table = StrictTable(lines, name=name, escaped=False, quotes_strictly=False)
        for column in _NEEDED:
            table.find(column, f"the columns {', '.join(_NEEDED)} (an Inspect log is .json or .eval)")
        for _, values in table.read_objects():
            yield {column: value.replace(_RETURN, "\r") for column, value in values.items()}
    except ReadError as error:
        raise ResultError(str(error)) from error


def _read_row(number: int, values: Mapping[str, str], task: str) -> ResultRow:
    written = values["model_name"].strip()
    label, model_id, reasoning = _MODELS.get(written, (written, written, ""))
    answer, finish_reason = read_response(values["response"])
    return ResultRow(
        place=f"row {number:,}",
        model=label,
        task=task,
        answer=answer,
        source=values["data_name"].strip(),
        external_id=_name_id(values["id"]),
        text=values.get("text", ""),
        reasoning=reasoning,
        model_id=model_id,
        finish_reason=finish_reason,
        instrument="release" if values["prompt_name"].strip() in _TASKS else "",
        note=NOTE,
        kept={column: values[column] for column in _KEPT if values.get(column)},
    )


def read_response(cell: str) -> tuple[str, str]:
    """A cell of ``response`` as an answer and a reason for its end. A word for a refusal has that as its reason, for the
    table says so; a dictionary becomes JSON; what is neither stays as it is."""
    stripped = cell.strip()
    if stripped in _MISSING:
        return "", ""
    if stripped.strip("'\"").lower() == "refusal":
        return stripped, "refusal"
    if stripped[0] in "{[(":
        try:
            return make_storable(json.dumps(read_literal(stripped), ensure_ascii=False)), ""
        except NoLiteral:
            return stripped, ""
    return stripped, ""


def _name_id(value: str) -> str:
    """A whole number that a table writer made a fraction of is one again."""
    return re.sub(r"\A(\d+)\.0+\Z", r"\1", value.strip())


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
        raise NoLiteral("the value is not a Python literal") from error


def _convert(node: ast.expr, depth: int) -> object:
    if depth > MAX_DEPTH:
        raise NoLiteral("the value is nested too deep")
    if isinstance(node, ast.Constant):
        return _convert_constant(node.value)
    if isinstance(node, ast.Dict):
        if None in node.keys:
            raise NoLiteral("the value is not a plain value")
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
    raise NoLiteral("the value is not a plain value")


def _convert_constant(value: object) -> object:
    if isinstance(value, int) and value.bit_length() > MAX_BITS:
        raise NoLiteral("the value is too large")
    if value is None or isinstance(value, (str, bool, int)):
        return value
    if isinstance(value, float):
        return None if math.isnan(value) else value if math.isfinite(value) else str(value)
    raise NoLiteral("the value is not a plain value")


def _name_key(key: object) -> str:
    return key if isinstance(key, str) else str(key)
