"""Who may see whose labels is decided in one room."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[3]
NAMES = re.compile(r"\bUnblinding\b|\bcoding_unblinding\b|\.unblindings\b")
ROOMS = ("transcripts/blinding/", "transcripts/coding/", "transcripts/desk/", "transcripts/exchange/")
# Still to be ported; nothing may be added.
LEFT = {
    "auditapp/annotators/withholding.py",
    "auditapp/evaluation/queries/influence.py",
}


def test_only_coding_blinding_and_exchange_name_the_table_of_unblinding():
    files = [path for half in ("transcripts", "auditapp") for path in (ROOT / half).rglob("*.py")]
    naming = {str(path.relative_to(ROOT)) for path in files if NAMES.search(path.read_text())}
    assert "transcripts/blinding/actions.py" in naming
    assert {name for name in naming if not name.startswith(ROOMS)} <= LEFT
