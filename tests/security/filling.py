"""Fills in the forms of the site with odd values: what a view asks for is noted, and sent to it the next time.

The names of fields come from two places: forms on pages (with values that fit), and the names that a view looks for in what
was sent. So a view that no form leads to is filled in too, and a new field is tried without anybody saying so here.
"""

from __future__ import annotations

import random
from collections import defaultdict
from contextlib import contextmanager
from dataclasses import dataclass, field
from html.parser import HTMLParser
from unittest.mock import patch
from urllib.parse import quote_plus, urlsplit

from django.http import QueryDict
from django.urls import Resolver404, resolve
from django.utils.datastructures import MultiValueDict

Fields = dict[str, list[str | bytes]]
ODD = (
    "",
    " ",
    "\x00",
    "a\x00b",
    b"\xff\xfe",
    b"\xed\xa0\x80",
    "\U0001f4a9" * 50,
    "\u202e\u2066x",
    "\u2028",
    "e\u0301" * 40,
    "a\r\nX-Made-Up: 1",
    "x" * 300,
    "x" * 30_000,
    "0",
    "-1",
    "-0",
    "1",
    "2",
    str(2**31),
    str(2**63 - 1),
    str(2**63),
    "-" + str(2**63 + 1),
    "9" * 30,
    "9" * 5_000,
    "1.5",
    "1e400",
    "1e9",
    "-1e-400",
    "NaN",
    "Infinity",
    "1_0",
    "0x10",
    "1,5",
    "\u0661",
    "\u00b2",
    "\u00bd",
    "true",
    "on",
    "null",
    "[]",
    "{}",
    '{"a": 1e999}',
    '{"a": "\\ud800"}',
    '"\\u0000"',
    '[{"start": -1}]',
    "[" * 3_000,
    "2026-02-30",
    "0001-01-01",
    "10000-01-01",
    "9999-12-31T23:59:59+23:59",
    "00000000-0000-0000-0000-000000000000",
    "../../../../etc/passwd",
    "http://169.254.169.254/",
    "https://[::ffff:127.0.0.1",
    "https://a:99999/",
    "=1+1",
    "<img src=x onerror=alert(1)>",
    "%s %(a)s {0.__class__}",
    "' OR 1=1 --",
    "a__b__startswith",
    "_connector",
    "\\",
    "(?P<",
)
FILES = (
    b"",
    b"\x00",
    b"\xff\xfe\x00",
    b"[" * 3_000,
    b'{"id": "\\u0000", "turns": [{"role": "model", "text": "\\ud800"}]}',
    b'{"id": 1e999, "turns": {}}\n{"id": null}',
    b'{"custom_id": "x", "response": []}',
    b"PK\x03\x04",
    b"PAR1\x00\x00PAR1",
    b"\x1f\x8b\x08\x00",
    b'text,target\n\x00,\n"',
    b"<?xml version='1.0'?><!DOCTYPE a><a/>",
)


class FormReader(HTMLParser):
    """The forms of a page that change something: where each goes, and its fields with the values they offer."""

    def __init__(self, path):
        super().__init__()
        self.path = path
        self.forms = []
        self._open = None
        self._list = ""

    def handle_starttag(self, tag, attrs):
        given = {name: value or "" for name, value in attrs}
        if tag == "form" and given.get("method", "").lower() == "post":
            self._open = {}
            self.forms.append((given.get("action") or self.path, self._open))
        elif posted := given.get("hx-post"):
            self.forms.append((posted, {}))
        if self._open is None:
            return
        if tag == "option" and self._list:
            self._open[self._list].append(given.get("value", ""))
        elif tag in {"input", "select", "textarea", "button"} and given.get("name"):
            values = self._open.setdefault(given["name"], [])
            self._list = given["name"] if tag == "select" else ""
            if tag in {"input", "button"}:
                values.append(given.get("value", "on"))

    def handle_endtag(self, tag):
        if tag == "form":
            self._open = None
        elif tag == "select":
            self._list = ""


@dataclass
class Filler:
    """Makes up what is sent to each view."""

    seed: int
    offered: dict[str, Fields] = field(default_factory=lambda: defaultdict(dict))
    asked_for: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))

    def __post_init__(self):
        self.random = random.Random(self.seed)

    def read_page(self, path, page):
        """Keep the fields of the forms of a page, for the views they go to."""
        reader = FormReader(path)
        reader.feed(page)
        for action, fields in reader.forms:
            try:
                name = resolve(urlsplit(action).path).view_name
            except Resolver404:
                continue
            for each, values in fields.items():
                self.offered[name].setdefault(each, []).extend(values)

    @contextmanager
    def listening(self, name):
        """Note which fields the view ``name`` looks for inside."""
        noted = self.asked_for[name]
        get, get_list, contains = MultiValueDict.__getitem__, MultiValueDict.getlist, dict.__contains__

        def look(fields, key):
            noted.add(key)
            return get(fields, key)

        def look_for_list(fields, key, default=None):
            noted.add(key)
            return get_list(fields, key, default)

        def look_whether(fields, key):
            noted.add(key)
            return contains(fields, key)

        with (
            patch.object(QueryDict, "__getitem__", look),
            patch.object(QueryDict, "getlist", look_for_list),
            patch.object(QueryDict, "__contains__", look_whether, create=True),
            patch.object(MultiValueDict, "__getitem__", look),
        ):
            yield

    def fill(self, name):
        """One value, or a few, for each field: mostly what the form offers, in one or several of them something odd."""
        offered = self.offered[name]
        names = sorted({*offered, *self.asked_for[name]} - {"csrfmiddlewaretoken"})
        odd = (
            set(self.random.sample(names, min(len(names), self.random.choice((1, 1, 2, 3, len(names))))))
            if names
            else set()
        )
        fields = {}
        for each in names:
            usual = offered.get(each) or ["1", "x", ""]
            if each in odd:
                fields[each] = self.random.choices(ODD, k=self.random.choice((1, 1, 1, 2)))
            elif self.random.random() < 0.9:
                fields[each] = [self.random.choice(usual)]
        return fields

    def write(self, fields):
        """The fields as a body with its type; now and then one of them as a file."""
        as_file = self.random.choice([*fields]) if fields and self.random.random() < 0.15 else None
        if as_file is None:
            return write_urlencoded(fields), "application/x-www-form-urlencoded"
        parts = [
            b'--odd\r\nContent-Disposition: form-data; name="%s"\r\n\r\n%s\r\n' % (quote(each), as_bytes(value))
            for each, values in fields.items()
            if each != as_file
            for value in values
        ]
        parts.append(
            b'--odd\r\nContent-Disposition: form-data; name="%s"; filename="%s"\r\n\r\n%s\r\n'
            % (
                quote(as_file),
                self.random.choice((b"a.jsonl", b"../a.csv", b"", b"\xff.qdpx")),
                self.random.choice(FILES),
            )
        )
        return b"".join(parts) + b"--odd--\r\n", "multipart/form-data; boundary=odd"


def read_to_end(answer):
    """Take all of a download, which closes its file."""
    if answer.streaming:
        b"".join(answer)


def write_urlencoded(fields):
    pairs = ((each, value) for each, values in fields.items() for value in values)
    return "&".join(f"{quote_plus(each)}={quote_plus(as_bytes(value))}" for each, value in pairs).encode()


def as_bytes(value):
    return value if isinstance(value, bytes) else value.encode()


def quote(name):
    return name.replace('"', "%22").encode()
