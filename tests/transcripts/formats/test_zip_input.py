"""Archives of unknown origin: looked through before anything is unpacked."""

import io
import stat
import struct
import zipfile

import pytest

from transcripts.formats.guarded_input import DEFAULT_LIMITS, ZipLimits, open_zip
from transcripts.formats.problems import InputRefused


def pack(entries, fill=None):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
        if fill:
            fill(archive)
    return stream.getvalue()


def read_all(data, limits):
    with open_zip(io.BytesIO(data), limits=limits) as archive:
        return [archive.read_entry(name) for name in archive.names]


def refuse(data, limits=DEFAULT_LIMITS):
    with pytest.raises(InputRefused) as caught:
        read_all(data, limits)
    return caught.value.problem.found


def name_entry(name):
    return lambda archive: archive.writestr(zipfile.ZipInfo(name), b"x")


def set_mode(mode):
    entry = zipfile.ZipInfo("odd")
    entry.external_attr = mode << 16
    return lambda archive: archive.writestr(entry, b"/etc/passwd")


def patch_directory(data, offset, value):
    """The same archive with other bytes at ``offset`` of its first directory entry."""
    at = data.index(b"PK\1\2") + offset
    return data[:at] + value + data[at + len(value) :]


def test_entries_are_read_whatever_the_case_of_their_names():
    with open_zip(io.BytesIO(pack({"Sources/A.txt": b"one", "Sources/": b""}))) as archive:
        assert archive.names == ["Sources/A.txt"]
        assert "sources/a.TXT" in archive
        assert "a.txt" not in archive
        assert archive.read_entry("sources/a.txt") == b"one"


@pytest.mark.parametrize(
    "name",
    ["../up", "a/../../up", "/rooted", "//server/share", "a\\b", "C:/windows", "c:x", "a//b", "./a", "a/.", ".."],
)
def test_names_that_lead_elsewhere_are_refused(name):
    assert refuse(pack({}, name_entry(name))) == f"the entry name “{name}”"


def test_a_name_that_is_cut_by_a_nul_is_refused():
    assert refuse(pack({}, name_entry("a?b")).replace(b"a?b", b"a\0b")).startswith("the entry name “a")


def test_names_given_twice_are_refused_whatever_their_case():
    assert "“A.TXT” twice" in refuse(pack({"a.txt": b"x"}, name_entry("A.TXT")))
    assert "twice" in refuse(pack({"\u00e9": b"x", "e\u0301": b"x"}))


@pytest.mark.parametrize(
    ("mode", "found"),
    [(stat.S_IFLNK | 0o777, "the symbolic link “odd”"), (stat.S_IFIFO, "the entry “odd”, which is no file")],
)
def test_links_and_devices_are_refused(mode, found):
    assert refuse(pack({}, set_mode(mode))) == found


def test_encrypted_entries_are_refused():
    assert refuse(patch_directory(pack({"a": b"x"}), 8, b"\1\0")) == "the encrypted entry “a”"


def test_other_methods_of_packing_are_refused():
    def fill(archive):
        archive.writestr("a", b"x", zipfile.ZIP_LZMA)

    assert refuse(pack({}, fill)) == "the entry “a”, packed by method 14"


def test_too_many_entries_are_refused():
    data = pack({str(number): b"" for number in range(2_001)})

    assert refuse(data) == "2,001 entries"
    assert refuse(pack({"a": b"", "b": b""}), limits=ZipLimits(entries=1)) == "2 entries"


def test_a_long_list_of_contents_is_refused_before_it_is_read():
    data = pack({f"{number:0200}": b"" for number in range(100)})

    assert refuse(data, limits=ZipLimits(directory_bytes=10_000)).startswith("a list of contents of 24,")
    large = struct.pack("<4sQ2H2L4Q", b"PK\6\6", 44, 45, 45, 0, 0, 1, 1, 2**40, 0)
    locator = struct.pack("<4sLQL", b"PK\6\7", 0, 0, 1)
    end = data.rindex(b"PK\5\6")
    assert refuse(data[:end] + large + locator + data[end:]).startswith("a list of contents of 1,099,511,627,776")


def test_archives_that_unpack_to_too_much_are_refused():
    assert refuse(pack({"a": b"\0" * 2_000_000})).startswith("the entry “a”, which grows from 1,9")
    packed = {str(number): bytes(range(256)) for number in range(10)}
    assert refuse(pack(packed), limits=ZipLimits(unpacked_bytes=2_000)) == "more bytes unpacked than are read"
    assert refuse(pack(packed), limits=ZipLimits(archive_bytes=1_000)).startswith("an archive of")


def test_small_entries_may_pack_well():
    with open_zip(io.BytesIO(pack({"a": b" " * 1_000_000}))) as archive:
        assert len(archive.read_entry("a")) == 1_000_000


def test_an_entry_never_gives_more_than_it_declares():
    data = pack({"a": bytes(range(256)) * 100})

    assert refuse(patch_directory(data, 24, struct.pack("<L", 100))) == "the entry “a”, which cannot be unpacked"


def test_entries_that_share_bytes_are_refused():
    data = pack({"a": b"one", "b": b"two"})
    second = data.rindex(b"PK\1\2")
    shared = data[: second + 42] + b"\0\0\0\0" + data[second + 46 :]

    assert "shares bytes with another" in refuse(shared)


@pytest.mark.parametrize(
    "data",
    [b"", b"PK", b"PK\3\4" + b"\0" * 100, b"words" * 100, pack({"a": b"x"})[:-5], b"PK\5\6" + b"\xff" * 18],
    ids=["empty", "short", "zeros", "words", "cut", "lies"],
)
def test_what_is_no_archive_is_refused(data):
    assert refuse(data)


def test_damaged_contents_are_refused():
    data = pack({"a": bytes(range(256)) * 4})
    damaged = data[:60] + bytes(byte ^ 0xFF for byte in data[60:80]) + data[80:]

    assert refuse(damaged) == "the entry “a”, which cannot be unpacked"
