"""Figures that were worked out apart from the code, with scipy, statsmodels, pandas and krippendorff, and what they are of."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[1] / "data" / "worked_examples"


def read_example(number: str) -> dict[str, Any]:
    """What goes in (``inputs``, or ``files`` by name), and what is ``expected``: each number within ``tolerance`` (0: exact).

    null is undefined. ``+INF`` and ``-INF`` are texts. ``source`` names the place in paper 001 or 002 that the example follows.
    """
    example: dict[str, Any] = json.loads((FOLDER / f"{number}.json").read_text(encoding="utf-8"))
    folders = [FOLDER / each for each in (number, *example.get("files_of", ()))]
    files = {path.name: path.read_text(encoding="utf-8") for folder in folders for path in folder.glob("*")}
    return {**example, "files": files}


def list_examples(area: str) -> set[str]:
    """The numbers of the examples of one subject."""
    numbers = {path.stem for path in FOLDER.glob("*.json")}
    return {number for number in numbers if read_example(number)["area"] == area}
