"""The forms of a page as a browser would send them, untouched."""

from __future__ import annotations

from html.parser import HTMLParser

Values = dict[str, list[str]]


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.forms: list[tuple[str, Values]] = []
        self._open: Values | None = None
        self._list = self._text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        name = given.get("name", "")
        if tag == "form":
            self._open = {}
            self.forms.append((given.get("action", ""), self._open))
        elif self._open is None or "disabled" in given:
            return
        elif tag == "input" and name and given.get("type") not in {"file", "submit"}:
            is_box = given.get("type") in {"checkbox", "radio"}
            if not is_box or "checked" in given:
                self._open.setdefault(name, []).append(given.get("value", "on" if is_box else ""))
        elif tag == "select":
            self._list = name
        elif tag == "option" and self._list and ("selected" in given or self._list not in self._open):
            self._open[self._list] = [given.get("value", "")]
        elif tag == "textarea":
            self._text = name
            self._open[name] = [""]

    def handle_data(self, data: str) -> None:
        if self._text and self._open is not None:
            self._open[self._text] = [self._open[self._text][0] + data]

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self._open = None
        elif tag == "select":
            self._list = ""
        elif tag == "textarea" and self._open is not None:
            # The first line break in a text area is none of its text.
            self._open[self._text] = [self._open[self._text][0].removeprefix("\n").removeprefix("\r\n")]
            self._text = ""


def read_form(page: str, field: str) -> tuple[str, Values]:
    """Where the form with a field goes ("" for the page itself), and its values."""
    reader = _Reader()
    reader.feed(page)
    return next((action, values) for action, values in reader.forms if field in values)
