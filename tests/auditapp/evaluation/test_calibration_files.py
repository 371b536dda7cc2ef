"""The command that tells from a file how far a machine is to be believed."""

import io
import json

import pytest
from django.core.management import CommandError, call_command

HEADINGS = "unit,code,human,machine,blind,sampled"


def run(path, content, *options):
    file = path / "labels.csv"
    file.write_bytes(content.encode() if isinstance(content, str) else content)
    stream = io.StringIO()
    call_command("annotator", "calibrate", str(file), "--json", *options, stdout=stream)
    return json.loads(stream.getvalue())["codes"]


def write_table(cells, unlabelled=(0, 0)):
    """Rows for a table of human and machine, and ``unlabelled`` ones with and without the machine's yes."""
    pairs = [pair for pair, times in cells.items() for _ in range(times)]
    lines = [f"u{place},a,{human},{machine},1,1" for place, (human, machine) in enumerate(pairs)]
    lines += [f"x{place},a,,{int(place < unlabelled[0])},,0" for place in range(sum(unlabelled))]
    return "\n".join([HEADINGS, *lines]) + "\n"


def test_the_worked_tables_give_their_published_figures(tmp_path):
    code = run(tmp_path, write_table({(1, 1): 18, (0, 1): 6, (1, 0): 4, (0, 0): 72}))["a"]
    assert [code[name] for name in ("tp", "fp", "fn", "tn", "n")] == [18, 6, 4, 72, 100]
    assert code["precision_ci"] == pytest.approx([0.551006, 0.880006], abs=5e-7)
    assert code["recall_ci"] == pytest.approx([0.614834, 0.926931], abs=5e-7)
    assert code["kappa_ci"] == pytest.approx([0.554254, 0.881412], abs=5e-7)
    assert code["ppi"] is None
    assert any("every row has a person's label" in warning for warning in code["warnings"])


def test_the_worked_sample_gives_its_rectified_rate(tmp_path):
    code = run(tmp_path, write_table({(1, 1): 24, (0, 1): 8, (1, 0): 6, (0, 0): 62}, (300, 700)))["a"]
    assert (code["naive"], code["ppi"], code["rectifier"]) == pytest.approx((0.3, 0.28, -0.02))
    assert code["ppi_se"] == pytest.approx(0.04025, abs=5e-6)
    assert code["ppi_ci"] == pytest.approx([0.201111, 0.358889], abs=5e-6)
    assert code["rogan_gladen"] == pytest.approx(0.270833, abs=5e-6)
    assert code["warnings"] == []


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ("y,a,,1,,1", "of 101 sampled rows, 1 are not labelled and 0 are labelled, but not blind"),
        ("y,a,1,1,0,1", "of 101 sampled rows, 0 are not labelled and 1 are labelled, but not blind"),
    ],
)
def test_a_sample_that_is_not_labelled_blind_throughout_gives_no_rate_and_a_reason(tmp_path, row, words):
    whole = write_table({(1, 1): 24, (0, 1): 8, (1, 0): 6, (0, 0): 62}, (300, 700))
    assert run(tmp_path, whole)["a"]["ppi_reason"] is None
    code = run(tmp_path, whole + row + "\n")["a"]
    for name in ("ppi", "ppi_ci", "ppi_se", "rectifier", "rogan_gladen"):
        assert code[name] is None
    assert code["ppi_reason"].startswith(words)
    assert any(code["ppi_reason"] in warning for warning in code["warnings"])
    assert (code["tp"], code["n"]) == (24, 100)


def test_labels_given_after_a_look_count_nowhere_and_are_counted(tmp_path):
    content = f"{HEADINGS}\n1,a,1,1,0,1\n2,a,1,1,1,0\n3,a,0,0,1,1\n4,a,,1,,\n"
    code = run(tmp_path, content)["a"]
    assert (code["tp"], code["n"], code["not_blind"]) == (1, 2, 1)
    assert (code["ppi_labelled"], code["ppi_unlabelled"], code["naive"]) == (1, 1, 1.0)


def test_turns_give_intervals_of_their_own(tmp_path):
    lines = [f"{n},a,{int(n % 3 == 0)},{int(n % 3 == 0 or n % 7 == 0)},1,1,{n // 4}" for n in range(80)]
    code = run(tmp_path, "\n".join([f"{HEADINGS},turn", *lines]))["a"]
    assert code["turns"] == 20
    low, high = code["precision_turns_ci"]
    assert low <= code["precision"] <= high
    assert code == run(tmp_path, "\n".join([f"{HEADINGS},turn", *reversed(lines)]))["a"]


def test_codes_are_apart_and_undefined_is_null(tmp_path):
    found = run(tmp_path, f"{HEADINGS}\n1,b,1,0,1,1\n1,a,0,0,1,1\n")
    assert list(found) == ["a", "b"]
    assert found["b"]["precision"] is None
    assert found["b"]["precision_ci"] is None
    assert found["b"]["recall"] == 0


def test_without_json_it_is_told_in_lines(tmp_path):
    file = tmp_path / "labels.csv"
    file.write_text(write_table({(1, 1): 24, (0, 1): 8, (1, 0): 6, (0, 0): 62}, (300, 700)))
    stream = io.StringIO()
    call_command("annotator", "calibrate", str(file), stdout=stream)
    assert "corrected 0.280 [0.201, 0.359]" in stream.getvalue()
    assert "not to be reported as a rate: 0.300" in stream.getvalue()


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("", "an empty file"),
        (HEADINGS, "headings and no row"),
        ("unit,code,person,machine,blind,sampled\n1,a,1,1,1,1\n", "line 1: found no column human"),
        (f"{HEADINGS},unit\n1,a,1,1,1,1,1\n", "line 1: found the column unit more than once"),
        (f"{HEADINGS}\n1,a,1,1,1,1\n2,a,yes,1,1,1\n", 'line 3: found "yes" for “human”'),
        (f"{HEADINGS}\n1,a,1,,1,1\n", "line 2: found an empty text for “machine”"),
        (f"{HEADINGS}\n1,a,1,0.5,1,1\n", 'line 2: found "0.5" for “machine”'),
        (f"{HEADINGS}\n1,a,1,1,,1\n", "line 2: found an empty text for “blind”"),
        (f"{HEADINGS}\n1,a,1,1,1,2\n", 'line 2: found "2" for “sampled”'),
        (
            f"{HEADINGS}\n1,a,1,1,1,1\n1,b,1,1,1,1\n1,a,0,1,1,1\n",
            "line 4: found the unit “1” and its code twice (line 2)",
        ),
        (f"{HEADINGS}\n,a,1,1,1,1\n", "line 2: found an empty text for “unit”"),
        (f"{HEADINGS}\n1,a,1,1,1\n", "line 2: found 5 cells"),
        (f"{HEADINGS},turn\n1,a,1,1,1,1,x\n1,b,1,1,1,1,y\n", "line 3: found another turn for the unit “1”"),
        (
            f"{HEADINGS}\n1,a,1,1,1,1\n".replace(",", ";"),
            "line 1: found columns separated by semicolons; expected by commas",
        ),
        (b"\xff\xfeu\0n\0", "labels.csv: found text in UTF-16"),
        (f'{HEADINGS}\n"1,a,1,1,1,1\n', "not CSV"),
    ],
)
def test_a_bad_file_is_refused_by_its_line(tmp_path, content, sentence):
    with pytest.raises(CommandError) as refusal:
        run(tmp_path, content)
    assert sentence in str(refusal.value)


def test_a_file_that_is_not_there_is_named():
    with pytest.raises(CommandError, match=r"nowhere\.csv cannot be read"):
        call_command("annotator", "calibrate", "nowhere.csv")


def test_a_bad_seed_is_refused_in_a_sentence(tmp_path):
    with pytest.raises(CommandError, match="resamples were asked for"):
        run(tmp_path, f"{HEADINGS},turn\n1,a,1,1,1,1,x\n2,a,1,1,1,1,y\n", "--resamples", "-1")
