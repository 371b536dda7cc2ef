"""Write the table of exports in ``docs/reference/formats.md`` from their declarations: ``python -m tools.export_table``."""

from __future__ import annotations

import os
from pathlib import Path

PAGE = Path(__file__).resolve().parents[1] / "docs" / "reference" / "formats.md"
HEADING = "| export | one row is | columns |\n|---|---|---|\n"


def build_table() -> str:
    """The lines of every export. The columns of a codebook are described under their own heading."""
    from transcripts.exchange.rows import list_exports

    rows = (
        f"| {each.key} | {each.row} | {'as above' if each.key == 'codebook' else ', '.join(each.header)} |\n"
        for each in list_exports()
    )
    return HEADING + "".join(rows)


def replace_table(page: str) -> str:
    """The page with the table as it is declared now."""
    before, _, rest = page.partition(HEADING)
    lines = rest.splitlines(keepends=True)
    after = next(number for number, line in enumerate(lines) if not line.startswith("|"))
    return before + build_table() + "".join(lines[after:])


def main() -> None:
    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "auditapp.settings")
    django.setup()
    PAGE.write_text(replace_table(PAGE.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
