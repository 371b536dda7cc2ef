"""What the documentation site takes from the documents themselves: ``properdocs.yml`` names this module."""

from __future__ import annotations

import re
from typing import Any

from auditapp.site.guides import DOCUMENTS, INDEX

LINK = re.compile(r"^- \[([^\]]+)\]\(([^)]+\.md)\)", re.MULTILINE)
CODE = re.compile(r"`[^`]+`")


def on_config(config: Any) -> Any:
    """The navigation is the list of all documents, part by part."""
    config.nav = list_navigation()
    return config


def on_page_markdown(markdown: str, **_: Any) -> str:
    """A forge wants `\\|` for a bar in a cell of a table, also within code; here code is taken as it is."""
    return re.sub(
        r"^\|.*$", lambda row: CODE.sub(lambda code: code[0].replace(r"\|", "|"), row[0]), markdown, flags=re.MULTILINE
    )


def list_navigation() -> list[dict[str, Any]]:
    """What ``docs/README.md`` lists, in its order; a list of its own, as that of decisions, is a part of the list."""
    title, *parts = re.split(r"^## ", (DOCUMENTS / INDEX).read_text(encoding="utf-8"), flags=re.MULTILINE)
    return [{re.sub(r"^# ", "", title).split("\n")[0]: INDEX}] + [
        {part.split("\n")[0]: [{words: _unfold(file)} for words, file in LINK.findall(part)]} for part in parts
    ]


def _unfold(file: str) -> str | list[Any]:
    folder, _, name = file.rpartition("/")
    if name != INDEX:
        return file
    inner = LINK.findall((DOCUMENTS / file).read_text(encoding="utf-8"))
    return [file, *({words: f"{folder}/{each}"} for words, each in inner)]
