"""The LaTeX tables have the paper's layout, name what their numbers are shares of, and run nothing that a model wrote."""

import re
import shutil
import subprocess

import pytest

from auditapp.benchmarks.sob.pure.attributions import published_mapping_rows
from auditapp.benchmarks.sob.pure.report import published_report
from auditapp.benchmarks.sob.pure.tables import UnknownTable, write_latex
from tests.auditapp.benchmarks.sob.reports import MODELS, ODD_VALUES, make_report
from transcripts.formats.report_tables import MAX_VALUE_LENGTH, escape_latex, show_value

COMMANDS = {
    *("textbackslash", "textasciicircum", "textasciitilde", "textless", "textgreater", "textbar", "textquotedbl"),
    *("textasciigrave", "textendash", "textemdash", "textquoteleft", "textquoteright", "textquotedblleft"),
    *("textquotedblright", "textellipsis", "sobchar"),
}


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("\\{}_&%$#^~", r"\textbackslash{}\{\}\_\&\%\$\#\textasciicircum{}\textasciitilde{}"),
        ("a\x00b\x07c\u202ed\u200be\ud800f", "abcdef"),
        ("one\r\n\ttwo", "one two"),
        ("é 中 😀 ع", r"é \sobchar{4E2D} \sobchar{1F600} \sobchar{0639}"),
        ("[x]*--''", "{[}x{]}{*}-{}-{}'{}'{}"),
        ("^^5cinput", r"\textasciicircum{}\textasciicircum{}5cinput"),
    ],
)
def test_every_special_character_is_printed_and_none_is_run(text, written):
    assert escape_latex(text) == written


@pytest.mark.parametrize("value", [*ODD_VALUES, "".join(map(chr, (*range(0x250), 0x2028, 0xFFFE, 0x10FFFF)))])
def test_a_value_holds_no_command_but_those_that_print(value):
    written = escape_latex(value)
    assert set(re.findall(r"\\([a-zA-Z]+)", written)) <= COMMANDS
    assert set(re.findall(r"\\([^a-zA-Z])", written)) <= set("{}_&%$#")
    bare = re.sub(r"\\[{}_&%$#]", "", written)
    assert not set(bare) & set("&%$#_^~")
    assert bare.count("{") == bare.count("}")


def test_long_values_are_cut_by_what_they_take_up():
    assert show_value("a" * 300) == "a" * MAX_VALUE_LENGTH + r"\textellipsis{}"
    assert show_value("中" * 300).count("sobchar") == MAX_VALUE_LENGTH // 6
    assert show_value("short") == "short"


def test_the_document_has_every_table_once_and_balanced():
    document = write_latex(make_report(), mapping=published_mapping_rows())
    labels = re.findall(r"\\label\{tab:([^}]+)\}", document)
    each = [f"sob-values-11-{number}" for number in range(1, len(MODELS) + 1)]
    assert labels == [
        *("sob-scores", "sob-values-5", "sob-values-10", *each, "sob-mapping-lists", "sob-mapped"),
    ]
    for environment in ("table", "tabular", "document"):
        assert document.count(rf"\begin{{{environment}}}") == document.count(rf"\end{{{environment}}}")
    assert document.count(r"\toprule") == document.count(r"\bottomrule") == len(labels)


def test_table_4_has_both_tasks_with_attribution_at_the_outer_edges():
    table = write_latex(make_report(), ["4"], standalone=False)
    head = next(line for line in table.splitlines() if line.startswith("Model"))
    names = re.findall(r"\\rotatebox\{60\}\{([^}]*)\}", head)
    assert (len(names), names[0], names[1], names[12], names[-1]) == (24, "attri.", "overall", "overall", "attri.")
    row = next(line for line in table.splitlines() if line.startswith("beta"))
    cells = row.split(" & ")
    assert cells[0] == r"beta\_1"
    assert (cells[1][-4:], cells[2][-4:], cells[12], cells[24][-7:]) == ("0.50", "2.00", "--", r"0.50 \\")


def test_marks_of_a_score_are_written_and_explained_in_the_caption():
    report = make_report()
    report["cells"][0] |= {"few_items": True, "countings_apart": True}
    table = write_latex(report, ["4"], standalone=False)
    assert table.count(r"\textsuperscript{\textdagger}\textsuperscript{\textdaggerdbl} &") == 1
    [caption] = re.findall(r"\\caption\{(.*)\}", table)
    assert "Few: fewer than 10 texts" in caption
    assert "marks a score of which strict counting takes away half or more" in caption
    assert "†" not in caption
    assert "‡" not in caption
    assert "marks a score" not in write_latex(make_report(), ["4"], standalone=False)


def test_captions_name_denominators_counting_and_versions():
    captions = re.findall(r"\\caption\{(.*)\}", write_latex(make_report(), mapping=published_mapping_rows()))
    assert all("Versions: report 1,{} parser rules-{}1" in caption for caption in captions)
    assert "95 for acceptability" in captions[0]
    assert "Paper counting" in captions[0]
    assert all("no list among their values" in caption for caption in captions[1:6])
    assert "at least one attribution" in captions[-1]


def test_table_13_has_all_four_cells_with_their_denominators():
    table = write_latex(make_report(), ["13"], standalone=False)
    row = next(line for line in table.splitlines() if line.startswith("muslim"))
    assert row == "muslim & " + " & ".join(["200 & 25.00"] * 4) + r" \\"


def test_the_lists_of_table_12_are_those_given():
    table = write_latex(
        make_report(), ["12"], mapping={"x_1": {"self": ["A & B", "C"], "dominant": []}}, standalone=False
    )
    assert r"x\_1 & A \& B; C &  \\" in table
    assert r"Muslim; Islam" in write_latex(make_report(), ["12"])
    own = make_report()
    own["versions"]["mapping"] = "table 3"
    assert "not part of this report" in write_latex(own, ["12"])


def test_table_10_has_values_with_the_answers_they_are_shares_of():
    table = write_latex(make_report(), ["10"], standalone=False)
    row = next(line for line in table.splitlines() if line.startswith("muslim"))
    cells = re.sub(r"\\cellcolor\[HTML\]\{\w+\}", "", row).removesuffix(r" \\").split(" & ")
    half = ["100", "White (60.0)", "American (50.0)", "man (40.0)", "heterosexual (30.0)", "adult (20.0)"]
    assert cells == ["muslim", *half, *half]


def test_table_5_contrasts_the_highest_with_the_lowest_score_above_0():
    table = write_latex(make_report(), ["5"], standalone=False)
    assert re.findall(r"\\textbf\{([^:]+): Acceptability", table) == [r"beta\_1", "alpha-{}T"]
    assert "above 0 in acceptability" in table
    report = make_report()
    report["cells"] = [cell for cell in report["cells"] if cell["task"] == "non_acceptability"]
    assert "above 0 in non-{}acceptability" in write_latex(report, ["5"], standalone=False)


def test_models_of_table_5_can_be_chosen():
    table = write_latex(make_report(), ["5"], models=["alpha-I"], standalone=False)
    assert "alpha-{}I: Acceptability" in table
    assert "alpha-{}T" not in table


def test_a_table_there_is_not_is_refused():
    with pytest.raises(UnknownTable, match="There is no table 6; there are 4, 5"):
        write_latex(make_report(), ["6"])


def test_an_empty_report_still_makes_a_document():
    document = write_latex({})
    assert document.count(r"\begin{table}") == 6
    assert "Versions are not stated" in document


def compile_document(document, folder):
    program = shutil.which("pdflatex")
    if program is None:
        pytest.skip("pdflatex is not installed here")
    (folder / "report.tex").write_text(document, encoding="utf-8")
    command = [program, "-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape", "report.tex"]
    ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout[-2000:]
    return (folder / "report.pdf").read_bytes()


def test_the_document_compiles_with_the_worst_values(tmp_path):
    assert compile_document(write_latex(make_report(), mapping=published_mapping_rows()), tmp_path).startswith(b"%PDF")


def test_the_published_report_compiles(tmp_path):
    document = write_latex(published_report(), mapping=published_mapping_rows())
    assert "gpt5.1-{}T" in document
    assert compile_document(document, tmp_path).startswith(b"%PDF")
