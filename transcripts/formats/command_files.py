"""Files that commands read and write, with ``-`` for standard input and output, as in a container without a folder to write to."""

from __future__ import annotations

import argparse
import atexit
import shutil
import sys
import tempfile
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Protocol

STANDARD = "-"
# Streams that were read to their end: a second argument would find nothing there.
_read: weakref.WeakSet[BinaryIO] = weakref.WeakSet()
# What a person gave for each temporary copy.
_copies: dict[Path, str] = {}
STANDARD_OUTPUT = {STANDARD, "/dev/stdout", "/dev/fd/1"}


def input_file(given: str) -> Path:
    """The type of a command's argument that names a file to read.

    ``-``, a pipe and a device such as /dev/stdin are copied to a temporary file first, because files are looked at more
    than once: for their format, their size and their hash. The copy is deleted when the process ends. Anything else comes
    back as it was given, also a file that is not there, so that the command can say so.
    """
    path = Path(given)
    if given != STANDARD and (path.is_file() or path.is_dir() or not path.exists()):
        return path
    name = "standard input" if given == STANDARD else given
    folder = Path(tempfile.mkdtemp(prefix="auditapp-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    copy = folder / ("standard-input" if given == STANDARD else path.name)
    try:
        with copy.open("wb") as target:
            if given == STANDARD:
                _copy_standard_input(target)
            else:
                with path.open("rb") as source:
                    shutil.copyfileobj(source, target)
    except OSError as error:
        raise argparse.ArgumentTypeError(f"{name} cannot be read: {error.strerror}.") from error
    _copies[copy] = name
    return copy


def say_file(path: Path) -> str:
    """A file, or one in an archive, as the person named it: also where it is a temporary copy, as of standard input."""
    for copy, name in _copies.items():
        if path.is_relative_to(copy):
            return str(Path(name) / path.relative_to(copy))
    return str(path)


def _copy_standard_input(target: BinaryIO) -> None:
    if sys.stdin.buffer in _read:
        raise argparse.ArgumentTypeError("Only one file can come by standard input. Name the others.")
    _read.add(sys.stdin.buffer)
    shutil.copyfileobj(sys.stdin.buffer, target)


class Writes(Protocol):
    """What is used of the command here: where it writes, and where it says things."""

    stdout: Any
    stderr: Any


@contextmanager
def output_file(command: Writes, given: str) -> Iterator[Path]:
    """The file that a command writes: ``given`` itself or, for ``-``, a temporary one that goes to standard output at the end.

    With ``-`` what the command says goes to standard error, so that standard output has the file alone, and nothing is
    written there when the block ends by an exception.
    """
    if given not in STANDARD_OUTPUT:
        yield Path(given)
        return
    stream = command.stdout
    command.stdout = command.stderr
    try:
        with tempfile.TemporaryDirectory(prefix="auditapp-") as folder:
            path = Path(folder) / "standard-output"
            yield path
            binary = stream.buffer
            with path.open("rb") as written:
                shutil.copyfileobj(written, binary)
            binary.flush()
    finally:
        command.stdout = stream
