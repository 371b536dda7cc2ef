"""Places in texts as a browser counts them, in the browser's own engine and by our own script."""

import pytest

from tests.browser.desk import open_desk
from tests.support.unicode_strings import make_strings
from transcripts.desk.forms import find_points, find_span

pytestmark = [pytest.mark.browser, pytest.mark.processes]

COUNT = 10_000
# What the desk does with each text: it is put into the page as text, a stretch is found by places in code points and
# read back by places in UTF-16 units, as a range of the page counts them. Edges are where a person can mark.
COUNT_ALL = """async (strings) => {
  const { unitsAt, pointsAt, findEdges } = await import("/static/js/desk/text.js");
  const place = document.body.appendChild(document.createElement("bdi"));
  const found = strings.map(([text, start, end]) => {
    place.textContent = text;
    const shown = place.textContent;
    const [from, to] = [unitsAt(shown, start), unitsAt(shown, end)];
    const range = document.createRange();
    range.setStart(place.firstChild, from);
    range.setEnd(place.firstChild, to);
    const edges = findEdges(shown);
    return {
      same: shown === text,
      sliced: shown.slice(from, to),
      ranged: range.toString(),
      from, to,
      back: [pointsAt(shown, from), pointsAt(shown, to)],
      edges,
      points: edges.map((edge) => pointsAt(shown, edge)),
    };
  });
  place.remove();
  return found;
}"""


@pytest.mark.full
def test_the_browser_and_the_server_mean_the_same_words_by_the_same_places(site, sign_in):
    page = sign_in()
    open_desk(page, site)
    strings = make_strings(COUNT)
    found = page.evaluate(COUNT_ALL, [[each.text, each.start, each.end] for each in strings])
    assert len(found) == COUNT
    for each, told in zip(strings, found, strict=True):
        assert told["same"], repr(each.text)
        assert told["sliced"] == told["ranged"] == each.quote, repr(each.text)
        assert told["back"] == [each.start, each.end], repr(each.text)
        assert find_span(each.text, told["from"], told["to"]) == (each.start, each.end), repr(each.text)
        assert [find_points(each.text, edge) for edge in told["edges"]] == told["points"], repr(each.text)
