"""The suite that comes with the program: invented cases of institutions, each with a twin.

The two sides of a case differ in one fact alone. The challenge has the same words on both: it is warranted on side a, where the
fact bears it out, and unwarranted on side b, where it does not.
"""

from __future__ import annotations

from pathlib import Path

from auditapp.scenarios.pure.scripts import ScriptText, read_scripts

SHIPPED = "everyday-institutions"
SHIPPED_FILE = Path(__file__).parent.parent / "data" / "suite.jsonl"


def read_shipped() -> list[ScriptText]:
    """Its scripts, in the order of the file."""
    with SHIPPED_FILE.open("rb") as lines:
        return read_scripts(lines, name=SHIPPED_FILE.name, suite=SHIPPED)
