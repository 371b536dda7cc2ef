"""The spool: what was sent and what came back, readable after any death of its runner."""

import os
import subprocess
import sys
from collections import namedtuple

import pytest

from auditapp.batches.pure import stopping
from auditapp.batches.pure.spool import Spool, find_disk_shortage, is_abandoned, read_spool, spool_path
from auditapp.batches.pure.stopping import SharedFlag
from auditapp.llm.providers.base import CallOutcome, ChatAnswer, ErrorClass, NextStep

ANSWER = ChatAnswer(
    CallOutcome.FAILED,
    NextStep.RETRY,
    content="é\n\u2028",
    raw='{"a": 1}',
    http_status=200,
    error_class=ErrorClass.BAD_ANSWER,
    tokens_in=0,
    first_byte_after=0.5,
)
Usage = namedtuple("Usage", "total used free")
NAME = "machine:1:aaaa"


@pytest.fixture
def spool(tmp_path):
    return Spool(tmp_path / "spool", NAME)


class TestContent:
    def test_what_was_noted_is_read_again_exactly(self, spool):
        spool.note_sent("a", "2026-01-01T00:00:00+00:00")
        spool.note_sent("b", "2026-01-01T00:00:01+00:00")
        spool.note_answer("a", ANSWER, "2026-01-01T00:00:02+00:00")
        spool.close(keep=True)
        content = read_spool(spool.path)
        assert content is not None
        assert dict(content[0]) == {"a": "2026-01-01T00:00:00+00:00", "b": "2026-01-01T00:00:01+00:00"}
        assert dict(content[1]) == {"a": (ANSWER, "2026-01-01T00:00:02+00:00")}

    def test_a_half_written_last_line_is_left_out(self, spool):
        spool.note_sent("a")
        spool.note_answer("a", ANSWER, "2026-01-01T00:00:00+00:00")
        spool.close(keep=True)
        spool.path.write_bytes(spool.path.read_bytes()[:-20])
        content = read_spool(spool.path)
        assert content is not None
        assert list(content[0]) == ["a"]
        assert content[1] == {}

    def test_an_answer_under_the_former_name_of_its_next_step_is_still_understood(self, spool):
        spool.note_answer("a", ANSWER, "2026-01-01T00:00:00+00:00")
        spool.close(keep=True)
        spool.path.write_bytes(spool.path.read_bytes().replace(b"next_step", b"remedy"))
        content = read_spool(spool.path)
        assert content is not None
        assert content[1]["a"][0] == ANSWER

    def test_what_could_not_be_written_is_written_with_the_next(self, spool, monkeypatch):
        write = os.write

        def write_a_part(descriptor, data):
            if len(data) > 5:
                return write(descriptor, data[:5])
            raise OSError(28, "No space left on device")

        spool.note_sent("a")
        with monkeypatch.context() as patch:
            patch.setattr(os, "write", write_a_part)
            with pytest.raises(OSError, match="No space"):
                spool.flush()
        spool.note_sent("b")
        spool.close(keep=True)
        content = read_spool(spool.path)
        assert content is not None
        assert list(content[0]) == ["a", "b"]

    def test_nothing_is_known_of_a_spool_that_is_not_here(self, tmp_path):
        assert read_spool(spool_path(tmp_path, NAME)) is None
        assert is_abandoned(spool_path(tmp_path, NAME)) is None

    def test_a_runner_that_stored_everything_leaves_none(self, spool):
        spool.note_sent("a")
        spool.close(keep=False)
        assert list(spool.path.parent.iterdir()) == []


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such locks")
class TestLock:
    def test_a_runner_that_lives_has_not_abandoned_its_spool(self, spool):
        assert is_abandoned(spool.path) is False
        spool.close(keep=True)
        assert is_abandoned(spool.path) is True

    def test_to_look_does_not_take_the_lock_away(self, spool):
        assert [is_abandoned(spool.path) for _ in range(3)] == [False, False, False]

    def test_the_lock_of_a_killed_process_can_be_taken(self, tmp_path):
        code = (
            "import sys, time; from pathlib import Path; from auditapp.batches.pure.spool import Spool\n"
            "spool = Spool(Path(sys.argv[1]), 'other:1:b'); spool.note_sent('a'); spool.flush(); print('ready', flush=True)\n"
            "time.sleep(60)"
        )
        environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "auditapp.settings"}
        with subprocess.Popen(
            [sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE, env=environment
        ) as process:
            assert process.stdout is not None
            process.stdout.readline()
            path = spool_path(tmp_path, "other:1:b")
            assert is_abandoned(path) is False
            process.kill()
            process.wait()
        assert is_abandoned(path) is True
        content = read_spool(path)
        assert content is not None
        assert list(content[0]) == ["a"]


class TestRoom:
    @pytest.mark.parametrize(
        ("total", "free", "is_short"),
        [
            (100_000_000_000, 199_000_000, True),
            (100_000_000_000, 201_000_000, False),
            (1_000_000_000, 49_000_000, True),
            (1_000_000_000, 51_000_000, False),
        ],
    )
    def test_five_per_cent_or_two_hundred_megabytes_must_be_free(self, monkeypatch, tmp_path, total, free, is_short):
        usage = Usage(total, total - free, free)
        monkeypatch.setattr("auditapp.batches.pure.spool.shutil.disk_usage", lambda folder: usage)
        assert bool(find_disk_shortage(tmp_path)) is is_short


class TestCrashing:
    @pytest.fixture(autouse=True)
    def deaths(self, monkeypatch):
        died = []
        monkeypatch.setattr("auditapp.batches.pure.stopping.os._exit", died.append)
        stopping._reached.clear()
        return died

    def test_nothing_happens_unless_it_is_asked_for(self, deaths):
        stopping.crash_point("after_claim")
        assert deaths == []

    def test_it_dies_where_it_is_told_to_and_at_the_time_it_is_told(self, deaths, monkeypatch):
        monkeypatch.setenv("CRASH_AT", "after_spool:2")
        for name in ("after_claim", "after_spool"):
            stopping.crash_point(name)
        assert deaths == []
        stopping.crash_point("after_spool")
        assert deaths == [137]
        assert stopping.is_armed("after_spool")

    def test_of_many_processes_one_dies_once(self, deaths, monkeypatch, tmp_path):
        monkeypatch.setenv("CRASH_AT", "in_call")
        monkeypatch.setenv("CRASH_ONCE", str(tmp_path / "once"))
        stopping.crash_point("in_call")
        stopping.crash_point("in_call")
        assert deaths == [137]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="nothing is forked here")
def test_a_forked_child_hears_that_its_parent_stops():
    flag = SharedFlag()
    code = (
        "import os, sys, time\n"
        "from auditapp.batches.pure.stopping import stopping\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    for _ in range(500):\n"
        "        if stopping.is_set(): os._exit(7)\n"
        "        time.sleep(0.01)\n"
        "    os._exit(1)\n"
        "stopping.set()\n"
        "sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))\n"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 7
    assert not flag.is_set()
    flag.set()
    assert flag.is_set()
    flag.clear()
    assert not flag.is_set()
