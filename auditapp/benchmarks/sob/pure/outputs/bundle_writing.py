"""Write a bundle: one zip archive from which every number of a report can be derived again without a database.

Pure. Members are written as their lines come, so that a million answers take no more memory than one; the same content
gives the same bytes, for the archive holds no time of writing.
"""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Iterable, Mapping
from typing import Any, BinaryIO

FORMAT = "auditapp-sob-bundle"
FORMAT_VERSION = 1
MANIFEST = "manifest.json"
SETTINGS = "settings.json"
MAPPING = "mapping.json"
TARGET_TABLE = "target_table.json"
DATASETS = "datasets.jsonl"
INPUTS = "inputs.jsonl"
INSTRUMENTS = "instruments.jsonl"
ARMS = "arms.jsonl"
ANSWERS = "answers.jsonl"
READINGS = "readings.jsonl"
ATTEMPTS = "attempts.jsonl"
MEMBERS = (SETTINGS, MAPPING, TARGET_TABLE, DATASETS, INPUTS, INSTRUMENTS, ARMS, ANSWERS, READINGS, ATTEMPTS)
"""Every member beside the manifest, in the order of the archive."""

# The first day that a zip archive can name: that of writing would make other bytes of the same content.
_NO_TIME = (1980, 1, 1, 0, 0, 0)
_LEVEL = 6

Record = Mapping[str, Any]


def write_bundle(stream: BinaryIO, *, about: Record, members: Mapping[str, Iterable[Record]]) -> dict[str, int]:
    """Write the archive and count the lines of each member: one object for a ``.json``, the lines of a ``.jsonl``.

    ``about`` goes into the manifest, which is written last and holds the hash of every member.
    """
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED, compresslevel=_LEVEL) as archive:
        listed = [_write_member(archive, name, records) for name, records in members.items()]
        manifest = {"format": FORMAT, "format_version": FORMAT_VERSION, **about, "members": listed}
        with archive.open(_name_entry(MANIFEST), "w") as entry:
            entry.write(json.dumps(manifest, ensure_ascii=False, indent=1, sort_keys=True).encode() + b"\n")
    return {str(each["name"]): int(str(each["lines"])) for each in listed}


def _name_entry(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, _NO_TIME)
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.create_system = 3
    entry.external_attr = 0o644 << 16
    return entry


def _write_member(archive: zipfile.ZipFile, name: str, records: Iterable[Record]) -> dict[str, object]:
    digest = hashlib.sha256()
    size = lines = 0
    # Without this an entry beyond 2 GB fails at its end.
    with archive.open(_name_entry(name), "w", force_zip64=True) as entry:
        for record in records:
            line = write_record(record)
            digest.update(line)
            size += len(line)
            lines += 1
            entry.write(line)
    return {"name": name, "sha256": digest.hexdigest(), "bytes": size, "lines": lines}


def write_record(record: Record) -> bytes:
    """One line of canonical JSON."""
    return json.dumps(record, ensure_ascii=False, separators=(",", ":"), sort_keys=True).encode() + b"\n"


def hash_text(text: str) -> str:
    """SHA-256 of the text's UTF-8 bytes."""
    return hashlib.sha256(text.encode()).hexdigest()
