"""Help: the documents of ``docs/`` as pages. A forge, the site that ``make docs`` builds and the program show the same files.

A document is rendered when it is first requested, and then cached, so that no command waits for pages that it does not show.
"""

from __future__ import annotations

import posixpath
import re
from functools import cache, lru_cache
from pathlib import Path

from django.templatetags.static import static
from django.urls import get_script_prefix, reverse
from django.utils.safestring import mark_safe

DOCUMENTS = Path(__file__).resolve().parents[2] / "docs"
# The document that a forge shows together with its folder.
INDEX = "README.md"


@cache
def list_guides() -> dict[str, str]:
    """The file of each document by its path below ``help/``, such as "guide/desk"; "" is the list of all documents."""
    files = sorted(path.relative_to(DOCUMENTS).as_posix() for path in DOCUMENTS.rglob("*.md"))
    return {file.removesuffix(INDEX).removesuffix(".md").rstrip("/"): file for file in files}


def render_guide(place: str) -> dict[str, object]:
    """The document at this path for a template: title, text, and the address and words of each part. KeyError if there is none."""
    return _render(list_guides()[place], get_script_prefix())


def make_anchor(heading: str, separator: str = "-") -> str:
    """The anchor of a heading, as forges make it: lower case, no punctuation, a hyphen for each space."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", separator)


def find_address(file: str, link: str) -> str:
    """The address in the program to which a link in that document leads: a page of help, or a static file."""
    path, sign, anchor = link.partition("#")
    if not path or ":" in path:
        return link
    target = posixpath.normpath(posixpath.join(posixpath.dirname(file), path))
    place = next((place for place, known in list_guides().items() if known == target), None)
    address = (
        static(f"docs/{target}") if place is None else reverse("help_page", args=[place]) if place else reverse("help")
    )
    return address + sign + anchor


@lru_cache(maxsize=256)
def _render(file: str, _prefix: str) -> dict[str, object]:
    """Render a document. ``_prefix`` is the path of the site, which is part of every address in the text."""
    # Imported here, because only help needs these libraries, and loading them takes a third of a second.
    import lxml.html
    from lxml.html.builder import DIV
    from markdown_it import MarkdownIt

    html = (
        MarkdownIt("commonmark", {"html": False}).enable("table").render((DOCUMENTS / file).read_text(encoding="utf-8"))
    )
    tree = lxml.html.fragment_fromstring(html, create_parent="div")
    title, words, parts = "", "", list[tuple[str, str]]()
    for each in list(tree.iterdescendants("h1", "h2", "h3", "h4", "a", "img", "table", "th", "td")):
        # Markdown aligns columns with styles in the page, which the site's content security policy forbids.
        each.attrib.pop("style", None)
        if each.tag == "a":
            each.set("href", find_address(file, each.get("href", "")))
        elif each.tag == "img":
            width, height = read_size((DOCUMENTS / posixpath.dirname(file) / each.get("src", "")).read_bytes())
            each.attrib.update(
                {"src": find_address(file, each.get("src", "")), "class": "screenshot", "loading": "lazy"}
            )
            each.attrib.update({"width": str(width), "height": str(height)})
        elif each.tag == "table":
            each.set("class", "table")
            frame = DIV({"class": "table-scroll", "tabindex": "0", "role": "region", "aria-label": words})
            each.addprevious(frame)
            frame.append(each)
        elif each.tag in {"th", "td"}:
            each.attrib.update({"scope": "col"} if each.tag == "th" else {"class": "wrap"})
        else:
            words = " ".join(each.text_content().split())
            each.set("id", make_anchor(words))
            title = title or words
            parts += [(make_anchor(words), words)] if each.tag == "h2" else []
    text = "".join(lxml.html.tostring(each, encoding="unicode") for each in tree)
    return {"title": title, "parts": parts, "text": mark_safe(text)}  # noqa: S308 - our own documents, without HTML in them


def read_size(webp: bytes) -> tuple[int, int]:
    """Width and height from the extended header of a WebP file."""
    return int.from_bytes(webp[24:27], "little") + 1, int.from_bytes(webp[27:30], "little") + 1
