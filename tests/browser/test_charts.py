"""Charts in a browser: reached and opened by key, with their table below, and downloaded as files."""

from xml.etree import ElementTree as ET

import pytest

pytestmark = [pytest.mark.browser, pytest.mark.processes]

AGREEMENT = "/studies/trust/agreement/?family=themes"
CHARTED = [
    AGREEMENT,
    "/studies/trust/evaluation/calibration/?annotator=4",
    "/studies/trust/evaluation/influence/?annotator=4",
    "/studies/demo/sob/batches/2/values/",
    "/studies/demo/sob/batches/2/sensitivity/",
    "/studies/trust/themes/presence/?rows=codes&coder=all",
]


@pytest.mark.parametrize("path", [AGREEMENT, *(pytest.param(path, marks=pytest.mark.full) for path in CHARTED[1:])])
def test_every_chart_has_a_name_a_description_and_a_table(visit, path):
    page = visit.open(path)
    charts = page.locator("figure.chart")
    assert charts.count() > 0
    for chart in charts.all():
        named = chart.locator("svg:visible").get_attribute("aria-labelledby") or ""
        assert all((page.locator(f"[id='{each}']").text_content() or "").strip() for each in named.split())
        table = page.locator(f"[id='{chart.get_attribute('data-table')}'] table").first
        assert not table.is_visible()
        table.locator("xpath=ancestor::details[1]").locator("summary").first.click()
        assert table.is_visible()
    assert visit.complaints == []


@pytest.mark.parametrize(
    "path",
    [
        CHARTED[-1],
        *(
            pytest.param(path, marks=pytest.mark.full)
            for path in [
                *CHARTED[:-1],
                "/studies/demo/sob/batches/2/",
                "/studies/demo/sob/batches/2/compare/",
                "/studies/demo/sob/batches/2/map/",
                "/studies/demo/sob/batches/2/statistics/",
                "/studies/trust/codings/co-occurrence/?family=themes&coder=all",
            ]
        ),
    ],
)
def test_on_a_narrow_screen_no_number_of_a_chart_is_outside_its_frame(visit, path):
    page = visit.open(path, width=390)
    frames = page.locator(":is(.chart-frame, .table-scroll:has(.stacks)):visible")
    assert frames.count() > 0
    for frame in frames.all():
        assert frame.evaluate("frame => frame.scrollWidth <= frame.clientWidth")
    for drawing in page.locator(".chart-svg.narrow:visible").all():
        assert drawing.evaluate("svg => svg.clientWidth >= svg.viewBox.baseVal.width"), "its words have their own size"
    visit.open(path, "dark", 320)
    assert page.evaluate("document.documentElement.scrollWidth") == 320
    for frame in page.locator(".chart-frame:has(.narrow.shrinking:visible)").all():
        assert frame.evaluate("frame => frame.scrollWidth <= frame.clientWidth")
    assert visit.complaints == []


@pytest.mark.parametrize(
    "path",
    [
        "/studies/demo/sob/batches/2/",
        pytest.param("/studies/demo/sob/batches/2/map/", marks=pytest.mark.full),
        pytest.param("/studies/trust/codings/co-occurrence/?family=themes&coder=all", marks=pytest.mark.full),
    ],
)
def test_on_a_narrow_screen_a_shaded_table_has_rows_and_named_cells_to_a_screen_reader(visit, path):
    page = visit.open(path, width=390)
    session = page.context.new_cdp_session(page)
    root = session.send("DOM.getDocument")["root"]["nodeId"]

    def read(node, role):
        found = session.send("Accessibility.queryAXTree", {"nodeId": node, "role": role})["nodes"]
        return [each["name"]["value"] for each in found if not each["ignored"]]

    shown = ".stacks tbody tr:not(.group):has(td:not(.none))"
    columns = page.locator(shown).evaluate_all(
        "rows => rows.map(row => [...row.querySelectorAll('td:not(.none)')].map(cell => cell.dataset.column))"
    )
    rows = session.send("DOM.querySelectorAll", {"nodeId": root, "selector": shown})["nodeIds"]
    assert rows
    for row, named in zip(rows, columns, strict=True):
        assert (len(read(row, "row")), len(read(row, "rowheader"))) == (1, 1)
        assert [column for column, name in zip(named, read(row, "cell"), strict=True) if column not in name] == []
    [table] = session.send("DOM.querySelectorAll", {"nodeId": root, "selector": ".stacks"})["nodeIds"]
    assert len(read(table, "table")) == 1
    # Other browsers than this one forget what a cell is once it is laid out as something else.
    assert page.locator(":is(.stacks, .stacks :is(thead, tbody, tr, th, td)):not([role])").count() == 0
    assert visit.complaints == []


def test_a_chart_is_read_opened_and_downloaded_by_keys_alone(visit, tmp_path):
    page = visit.open(AGREEMENT)
    frame = page.locator(".chart-frame").first
    frame.focus()
    page.keyboard.press("Tab")
    link = page.evaluate_handle("document.activeElement")
    name = link.evaluate("element => element.getAttribute('aria-label')")
    assert frame.evaluate("(frame, link) => frame.contains(link)", link)
    assert ": " in name
    rows = frame.locator("a:visible").count()
    for _ in range(rows):
        page.keyboard.press("Tab")
    for format in ("SVG", "PNG"):
        pressed = page.evaluate("document.activeElement.innerText")
        assert pressed.startswith(format)
        with page.expect_download() as waiting:
            page.keyboard.press("Enter")
        path = tmp_path / waiting.value.suggested_filename
        waiting.value.save_as(path)
        assert path.name == f"trust-agreement.{format.lower()}"
        if format == "SVG":
            assert name in (ET.parse(path).getroot().findtext("{http://www.w3.org/2000/svg}desc") or "")
        else:
            assert path.read_bytes().startswith(b"\x89PNG")
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert page.locator("#codes-table table").is_visible()
    link.evaluate("element => element.focus()")
    page.keyboard.press("Enter")
    page.wait_for_url("**/agreement/units/**")
