"""``python -m tools.count_code``: how much code there is, by room, and how much of it is ceremony.

``python -m tools.count_code ../before .`` compares two checkouts, measure by measure. What is counted, and how, is said in
``tools/measures.py`` and at each figure.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from pathlib import Path

from tools.measures import DECLARATIONS, MEASURES, PACKAGES, ROOT, Figures, add_up, count_tree, list_places

LISTED = ("records_built_once", "functions_named_once", "functions_never_named")


def main() -> None:
    """Print lines, modules and declarations of each room of product code, then every figure of the whole with its meaning."""
    parser = argparse.ArgumentParser(prog="tools.count_code", description=__doc__)
    parser.add_argument(
        "--json", action="store_true", help="print every figure of every room as JSON, of the first checkout"
    )
    parser.add_argument("--places", choices=LISTED, help="list where they are, in the first checkout")
    parser.add_argument(
        "roots", nargs="*", type=Path, default=[ROOT], help="checkouts to compare; this one, unless given"
    )
    options = parser.parse_args()
    if options.places:
        print("\n".join(list_places(options.roots[0], options.places)))
        return
    counted = [count_tree(root) for root in options.roots]
    if options.json:
        print(json.dumps(counted[0] | {"total": add_up(counted[0])}, indent=1, sort_keys=True))
        return
    if len(counted) == 1:
        print_rooms(counted[0])
        print()
    print_measures([add_up(figures) for figures in counted])


def print_rooms(figures: Figures) -> None:
    rooms = {room: counts for room, counts in figures.items() if room.split(".")[0] in PACKAGES}
    print(f"{'room':28}{'lines':>14}{'modules':>14}{'declarations':>14}")
    for room, counts in [*rooms.items(), ("total", add_up(rooms))]:
        declared = sum(counts[name] for name in DECLARATIONS)
        print(f"{room:28}{counts['lines']:>14,}{counts['modules']:>14,}{declared:>14,}")


def print_measures(totals: list[Counter[str]]) -> None:
    """One line per measure, one column per checkout."""
    declared = [sum(total[name] for name in DECLARATIONS) for total in totals]
    print("".join(f"{number:>9,}" for number in declared) + f"  declarations: {', '.join(DECLARATIONS)} together")
    for name, meaning in MEASURES.items():
        print("".join(f"{total[name]:>9,}" for total in totals) + f"  {name}: {meaning}")


if __name__ == "__main__":
    main()
