"""Files of commands, by name and by standard input and output: containers have no folder to write to."""

import argparse
import io
import os
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest
from django.core.management import get_commands, load_command_class

from transcripts.ui.commands import input_file, output_file, say_file

# They name folders and keys, or files that must not pass through a pipe.
OTHERS = {"backup", "audit"}


def give(monkeypatch, data):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))


class TestReading:
    def test_a_name_stays_what_it_is(self, tmp_path):
        there = tmp_path / "a.csv"
        there.write_bytes(b"x")
        assert input_file(str(there)) == there
        assert input_file(str(tmp_path / "gone.csv")) == tmp_path / "gone.csv"
        assert input_file(str(tmp_path)) == tmp_path

    def test_a_dash_is_standard_input_that_can_be_read_more_than_once(self, monkeypatch):
        give(monkeypatch, b"one\r\ntwo\xff")
        path = input_file("-")
        assert path.stat().st_size == 9
        assert path.read_bytes() == path.read_bytes() == b"one\r\ntwo\xff"

    def test_standard_input_is_one_file(self, monkeypatch):
        give(monkeypatch, b"one")
        input_file("-")
        with pytest.raises(argparse.ArgumentTypeError, match="Only one file"):
            input_file("-")

    def test_a_pipe_with_a_name_is_read_to_its_end(self, tmp_path):
        pipe = tmp_path / "pipe.jsonl"
        os.mkfifo(pipe)
        writer = threading.Thread(target=pipe.write_bytes, args=(b"words",))
        writer.start()
        path = input_file(str(pipe))
        writer.join()
        assert (path.name, path.read_bytes()) == ("pipe.jsonl", b"words")
        assert say_file(path) == str(pipe)

    def test_messages_do_not_name_the_temporary_copy(self, monkeypatch, tmp_path):
        give(monkeypatch, b"one")
        path = input_file("-")
        assert say_file(path) == "standard input"
        assert say_file(path / "in an archive.txt") == "standard input/in an archive.txt"
        assert say_file(tmp_path / "a.csv") == str(tmp_path / "a.csv")


class TestWriting:
    @pytest.mark.parametrize("name", ["-", "/dev/stdout"])
    def test_the_file_has_standard_output_to_itself(self, name):
        data = io.BytesIO()
        command = SimpleNamespace(stdout=io.TextIOWrapper(data), stderr=io.StringIO())
        before = command.stdout
        with output_file(command, name) as path:
            path.write_bytes(b"a,b\r\n\xff")
            command.stdout.write("1 row")
        assert data.getvalue() == b"a,b\r\n\xff"
        assert command.stderr.getvalue() == "1 row"
        assert command.stdout is before
        assert not path.exists()

    def test_nothing_is_written_when_the_command_fails(self):
        data = io.BytesIO()
        command = SimpleNamespace(stdout=io.TextIOWrapper(data), stderr=io.StringIO())

        def fail():
            with output_file(command, "-") as path:
                path.write_bytes(b"half")
                raise ValueError("no")

        with pytest.raises(ValueError, match="no"):
            fail()
        assert data.getvalue() == b""

    def test_a_name_is_written_as_it_is(self, tmp_path):
        command = SimpleNamespace(stdout=sys.stdout, stderr=sys.stderr)
        with output_file(command, str(tmp_path / "x")) as path:
            assert path == tmp_path / "x"
            assert command.stdout is sys.stdout


def list_file_arguments():
    """Arguments of our commands, and of their verbs, that are files by their type or by their name."""

    def walk(name, parser):
        found = []
        for action in parser._actions:
            if isinstance(action, argparse._SubParsersAction):
                found += [inner for verb, each in action.choices.items() for inner in walk(f"{name} {verb}", each)]
            elif action.type is Path or action.dest in {"file", "files"} or action.metavar == "FILE":
                found.append((name, action))
        return found

    commands = [
        (name, load_command_class(app, name))
        for name, app in get_commands().items()
        if app.startswith(("auditapp.", "transcripts.")) and name not in OTHERS
    ]
    return [each for name, command in commands for each in walk(name, command.create_parser("manage.py", name))]


def test_every_command_reads_its_files_from_standard_input_too():
    found = list_file_arguments()
    assert len(found) > 20
    # study create takes a word in place of a file, and asks for the file itself.
    assert {f"{name} {action.dest}" for name, action in found if action.type is not input_file} == {
        "study create codebook"
    }
