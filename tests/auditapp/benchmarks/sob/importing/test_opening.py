import gzip
import subprocess
import sys
from pathlib import Path

import pytest

from auditapp.benchmarks.sob.pure import dataset_files
from auditapp.benchmarks.sob.pure.dataset_files import open_file, unpack_gzip
from transcripts.formats.problems import ReadError

RAW = Path(__file__).resolve().parents[4] / "data" / "sob" / "raw"
PARQUET = (RAW / "ishate.parquet").read_bytes()


def refuse(data):
    with pytest.raises(ReadError) as error:
        open_file(data, file="texts")
    return str(error.value)


def test_gzip_is_known_by_its_start_whatever_its_name():
    table, source = open_file(gzip.compress(b"text,target\na,b\n"), file="texts.csv")
    assert table.rows[0].values == {"text": "a", "target": "b"}
    assert source is None


def test_gzip_of_several_members_is_read_whole():
    data = gzip.compress(b"text,target\n") + gzip.compress(b"a,b\n") + b"\x00" * 8
    assert unpack_gzip(data, file="f") == b"text,target\na,b\n"


def test_gzip_of_ever_so_many_members_is_read_in_linear_time():
    # Were the rest copied for every member, this would take minutes and be missed by nobody.
    data = gzip.compress(b"") * 50_000 + gzip.compress(b"text,target\na,b\n")
    assert unpack_gzip(data, file="f") == b"text,target\na,b\n"


def test_decompression_bomb_is_refused_before_it_fills_the_memory():
    bomb = gzip.compress(b"\x00" * 2**24)
    with pytest.raises(ReadError, match="unpacks to more than 1 MB"):
        unpack_gzip(bomb, file="f", largest=2**20)
    with pytest.raises(ReadError, match="unpacks to more than 1 MB"):
        unpack_gzip(gzip.compress(b"a" * 2**19) * 3, file="f", largest=2**20)


def test_largest_allowed_file_is_unpacked_to_its_last_byte():
    assert len(unpack_gzip(gzip.compress(b"a" * 2**20), file="f", largest=2**20)) == 2**20


@pytest.mark.parametrize(
    ("data", "finding"),
    [
        (gzip.compress(b"text,target\na,b\n", mtime=0)[:-9], "a gzip file that breaks off"),
        (b"\x1f\x8b" + b"nonsense" * 4, "a damaged gzip file"),
        (gzip.compress(gzip.compress(b"text,target\na,b\n", mtime=0), mtime=0), "a gzip file"),
        (gzip.compress(b"", mtime=0), "an empty file"),
        (b"PAR1" + b"nonsense" * 4, "a parquet file that breaks off"),
        (b"PAR1" + b"nonsense" * 4 + b"PAR1", "a parquet file that cannot be read"),
        (PARQUET[:400] + bytes(200) + PARQUET[600:], "a parquet file that cannot be read"),
    ],
)
def test_hostile_or_damaged_file_is_refused_with_a_sentence(data, finding):
    assert refuse(data).startswith(f"texts: found {finding}; expected ")


def test_file_that_is_too_large_is_refused_unread(monkeypatch):
    monkeypatch.setattr(dataset_files, "MAX_FILE_BYTES", 10)
    assert "expected a smaller file" in refuse(b"text,target\na,b\n")


@pytest.mark.parametrize("data", [b"text,target\na,b\nc,d\n", b'{"text": "a"}\n{"text": "b"}\n'])
def test_file_of_too_many_rows_or_columns_is_refused(monkeypatch, data):
    monkeypatch.setattr(dataset_files, "MAX_ROWS", 1)
    assert "found more than 1 rows" in refuse(data)
    monkeypatch.setattr(dataset_files, "MAX_COLUMNS", 0)
    monkeypatch.setattr(dataset_files, "MAX_ROWS", 9)
    assert "found more than 0 columns" in refuse(data)


def test_parquet_is_read_with_missing_values_left_out():
    table, source = open_file(PARQUET, file="texts.csv")
    assert source is not None
    assert (table.format, source.key) == ("parquet", "ishate")
    assert table.rows[2].values["implicit_layer"] is None
    assert table.rows[0].values["message_id"] == "1.0"


def test_parquet_never_enters_this_process():
    code = (
        "import sys; from pathlib import Path; from auditapp.benchmarks.sob.pure.dataset_files import open_file; "
        f"open_file(Path({str(RAW / 'ishate.parquet')!r}).read_bytes(), file='f'); "
        "sys.exit('fastparquet' in sys.modules or 'pandas' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_parquet_reader_is_not_told_our_secrets(monkeypatch, tmp_path):
    reader = tmp_path / "reader.py"
    reader.write_text(
        "import json, os; print(json.dumps({'refusal': str('FIELD_KEY' in os.environ), 'expected': ''}))",
        encoding="utf-8",
    )
    monkeypatch.setenv("FIELD_KEY", "secret")
    monkeypatch.setattr(dataset_files, "READER", reader)
    assert "found False" in refuse(PARQUET)


def test_parquet_reader_that_takes_too_long_is_stopped(monkeypatch):
    monkeypatch.setattr(dataset_files, "SECONDS", 0.01)
    assert "not read in 0.01 s" in refuse(PARQUET)


@pytest.mark.parametrize(
    ("limit", "finding"),
    [("MAX_ROWS", "of more than"), ("MAX_UNPACKED_BYTES", "unpacks to more"), ("MAX_ANSWER_BYTES", "unpacks to more")],
)
def test_parquet_of_too_much_is_refused(monkeypatch, tmp_path, limit, finding):
    lines = dataset_files.READER.read_text(encoding="utf-8").splitlines()
    (place,) = (place for place, line in enumerate(lines) if line.startswith(f"{limit} = "))
    lines[place] = f"{limit} = 1"
    reader = tmp_path / "reader.py"
    reader.write_text("\n".join(lines), encoding="utf-8")
    monkeypatch.setattr(dataset_files, "READER", reader)
    assert finding in refuse(PARQUET)
