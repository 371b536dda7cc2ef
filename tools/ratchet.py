"""``python -m tools.ratchet``: compare what is counted of each room with tools/ratchet.toml, and fail where a figure rose.

``--write`` writes the file. A figure that rises there needs a line in the body of the commit that says why.
"""

from __future__ import annotations

import argparse
import sys
import tomllib
from collections import Counter
from pathlib import Path

from tools.measures import LIMITED, ROOT, Figures, count_tree

FILE = Path(__file__).with_name("ratchet.toml")
HEADING = """\
# How much of each kind every room has, at most: `make check` fails where there is more. `make ratchet` writes this file.
# A figure that rises needs a line in the body of the commit that says why. tools/measures.py defines the measures.
"""


def main() -> int:
    parser = argparse.ArgumentParser(prog="tools.ratchet", description=__doc__)
    parser.add_argument("--write", action="store_true", help="write the figures as they are")
    parser.add_argument("root", nargs="?", type=Path, default=ROOT, help="another checkout")
    parser.add_argument("--file", type=Path, default=FILE, help="another file of figures")
    options = parser.parse_args()
    figures = count_tree(options.root)
    if options.write:
        risen = find_risen(figures, read_figures(options.file)) if options.file.exists() else []
        options.file.write_text(describe(figures), encoding="utf-8")
        if risen:
            print("\n".join(risen))
            print("Say in the body of the commit, in a line each, why these figures rise.")
        return 0
    if not options.file.exists():
        print(f"There is no {options.file}. Write it with `make ratchet`.", file=sys.stderr)
        return 1
    risen = find_risen(figures, read_figures(options.file))
    if risen:
        print("\n".join(risen), file=sys.stderr)
        print(
            "Look first for something that is written twice. If the rise is right, write the figures with `make ratchet`, and say "
            "why in a line in the body of the commit.",
            file=sys.stderr,
        )
    return 1 if risen else 0


def find_risen(figures: Figures, limits: Figures) -> list[str]:
    """One sentence per figure that is above its limit. A figure without a limit has the limit 0."""
    return [
        f"{room}: {measure} rose from {limit:,} to {counts[measure]:,}, by {counts[measure] - limit:,} ({meaning})."
        for room, counts in sorted(figures.items())
        for measure, meaning in LIMITED.items()
        if counts[measure] > (limit := limits.get(room, Counter())[measure])
    ]


def read_figures(file: Path) -> Figures:
    return {room: Counter(counts) for room, counts in tomllib.loads(file.read_text(encoding="utf-8")).items()}


def describe(figures: Figures) -> str:
    """The file: a table per room, a line per figure, both in the order of the alphabet. What is 0 is left out."""
    tables = []
    for room, counts in sorted(figures.items()):
        lines = [f"{measure} = {counts[measure]}\n" for measure in sorted(LIMITED) if counts[measure]]
        if lines:
            tables.append(f'\n["{room}"]\n' + "".join(lines))
    return HEADING + "".join(tables)


if __name__ == "__main__":
    sys.exit(main())
