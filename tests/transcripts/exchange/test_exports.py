from __future__ import annotations

import csv
import hashlib
import io
import json
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.test import Client
from django.urls import reverse

from transcripts.accounts.models import User
from transcripts.audit_trail.models import AuditEvent
from transcripts.codebook.models import Code
from transcripts.coding.actions import add_coding, withdraw_coding, write_memo
from transcripts.coding.models import Coding
from transcripts.corpus.models import Sentence
from transcripts.exchange.registry import list_exports
from transcripts.formats.codebook_csv import read_codebook
from transcripts.projects.models import Project

ClientOf = Callable[[User], Client]


@pytest.fixture
def coding(project: Project, sentence: Sentence, code: Code, coder: User) -> Coding:
    return add_coding(project=project, sentence=sentence, code=code, by=coder, client_id=uuid.uuid4())


def download(client: Client, project: Project, what: str, format: str = "csv", **posted: str) -> str:
    answer = client.post(reverse("exchange:download", args=[project.slug, what, format]), posted)
    assert answer.status_code == 200
    assert answer["Content-Disposition"] == f'attachment; filename="{project.slug}-{what}.{format}"'
    return b"".join(answer.streaming_content).decode()  # type: ignore[attr-defined]


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text, newline="")))


class TestCodings:
    def test_a_row_says_what_was_coded_by_whom_and_with_which_codebook(
        self, coding: Coding, project: Project, reader: User, client_of: ClientOf
    ) -> None:
        [row] = rows(download(client_of(reader), project, "codings"))
        assert row["text"] == "I would ask first."
        assert (row["code_id"], row["coder"], row["layer"], row["level"]) == (
            "theme.balance",
            "coder",
            "blind",
            "semantic",
        )
        assert (row["codebook_version"], row["withdrawn"], row["interview"]) == ("1", "", "i1")
        assert coding.sentence.turn.text[int(row["start"]) : int(row["end"])] == row["text"]

    def test_a_withdrawn_coding_stays_in_the_file_and_is_marked(
        self, coding: Coding, project: Project, coder: User, reader: User, client_of: ClientOf
    ) -> None:
        withdraw_coding(project=project, coding=coding, by=coder)
        [row] = rows(download(client_of(reader), project, "codings"))
        assert row["withdrawn"]

    def test_a_coder_gets_her_own_rows_only(
        self, coding: Coding, project: Project, second_coder: User, coder: User, client_of: ClientOf
    ) -> None:
        assert rows(download(client_of(second_coder), project, "codings")) == []
        assert len(rows(download(client_of(coder), project, "codings"))) == 1

    def test_text_is_cut_in_code_points_by_the_database(
        self, project: Project, owner: User, client_of: ClientOf
    ) -> None:
        from transcripts.corpus.actions import import_file

        text = "👩‍👩‍👧 e\u0301 first. 日本 second. Third."
        line = json.dumps({"id": "emoji", "turns": [{"role": "model", "text": text}]})
        import_file(project=project, name="emoji.jsonl", data=line.encode(), by=owner)
        code = Code.objects.get(version__project=project, identifier="theme.balance")
        sentences = Sentence.objects.select_related("turn__interview").filter(turn__interview__external_id="emoji")
        for each in sentences:
            add_coding(project=project, sentence=each, code=code, by=owner, client_id=uuid.uuid4())
        found = [row["text"] for row in rows(download(client_of(owner), project, "codings"))]
        assert found == [each.read_text() for each in sentences.order_by("position")]

    def test_json_lines_are_exact_and_csv_is_defused(
        self, project: Project, sentence: Sentence, coder: User, client_of: ClientOf
    ) -> None:
        write_memo(
            project=project,
            interview=sentence.turn.interview,
            sentence=sentence,
            text="=1+1",
            by=coder,
            client_id=uuid.uuid4(),
        )
        client = client_of(coder)
        assert rows(download(client, project, "memos"))[0]["text"] == "'=1+1"
        assert rows(download(client, project, "memos", exact="on"))[0]["text"] == "=1+1"
        assert json.loads(download(client, project, "memos", "jsonl"))["text"] == "=1+1"

    def test_a_download_is_on_record_with_its_hash(
        self, coding: Coding, project: Project, reader: User, client_of: ClientOf
    ) -> None:
        text = download(client_of(reader), project, "codings")
        event = AuditEvent.objects.get(action="export.written")
        assert event.details["sha256"] == hashlib.sha256(text.encode()).hexdigest()
        assert (event.details["rows"], event.actor_name) == (1, "reader")


class TestRights:
    def test_an_outsider_gets_404(self, project: Project, outsider: User, client_of: ClientOf) -> None:
        client = client_of(outsider)
        assert client.get(reverse("exchange:exports", args=[project.slug])).status_code == 404
        assert client.post(reverse("exchange:download", args=[project.slug, "codings", "csv"])).status_code == 404

    @pytest.mark.parametrize("what", ["audit", "suggestions"])
    def test_a_coder_may_not_take_what_would_unblind_her(
        self, what: str, project: Project, coder: User, client_of: ClientOf
    ) -> None:
        assert client_of(coder).post(reverse("exchange:download", args=[project.slug, what, "csv"])).status_code == 403

    def test_a_download_is_no_get(self, project: Project, owner: User, client_of: ClientOf) -> None:
        assert (
            client_of(owner).get(reverse("exchange:download", args=[project.slug, "codings", "csv"])).status_code == 405
        )

    def test_an_unknown_table_is_404(self, project: Project, owner: User, client_of: ClientOf) -> None:
        assert (
            client_of(owner).post(reverse("exchange:download", args=[project.slug, "secrets", "csv"])).status_code
            == 404
        )

    def test_the_page_lists_what_the_role_may_take(self, project: Project, coder: User, client_of: ClientOf) -> None:
        page = client_of(coder).get(reverse("exchange:exports", args=[project.slug])).content.decode()
        assert "Codings" in page
        assert "Audit trail" not in page


class TestCommand:
    def export(self, *arguments: str) -> Any:
        stream = io.StringIO()
        call_command("export", *arguments, "--json", stdout=stream)
        return json.loads(stream.getvalue())

    def test_it_writes_the_file_and_tells_rows_and_hash(self, coding: Coding, project: Project, tmp_path: Path) -> None:
        path = tmp_path / "codings.csv"
        told = self.export("codings", "--project", project.slug, "--format", "csv", "--output", str(path))
        assert told == {"path": str(path), "rows": 1, "sha256": hashlib.sha256(path.read_bytes()).hexdigest()}
        assert [entry.name for entry in tmp_path.iterdir()] == ["codings.csv"]

    def test_the_exported_codebook_can_be_read_again(self, project: Project, tmp_path: Path) -> None:
        path = tmp_path / "codebook.csv"
        told = self.export("codebook", "--project", project.slug, "--output", str(path))
        codes = read_codebook(path.read_bytes(), name="codebook.csv")
        assert told["rows"] == len(codes) >= 25
        assert {code.code_id for code in codes} >= {"theme.balance", "move.elicit"}

    @pytest.mark.parametrize("export", list_exports(), ids=lambda export: export.key)
    @pytest.mark.parametrize("format", ["csv", "json", "jsonl"])
    def test_every_table_can_be_written_in_every_format(
        self, export: Any, format: str, coding: Coding, project: Project, tmp_path: Path
    ) -> None:
        path = tmp_path / f"table.{format}"
        told = self.export(export.key, "--project", project.slug, "--format", format, "--output", str(path))
        text = path.read_text(encoding="utf-8")
        found = {
            "csv": lambda: len(rows(text)),
            "json": lambda: len(json.loads(text)),
            "jsonl": lambda: len(text.splitlines()),
        }
        assert told["rows"] == found[format]()

    def test_a_folder_that_is_not_there_is_told_and_nothing_is_recorded(self, project: Project, tmp_path: Path) -> None:
        with pytest.raises(CommandError, match="cannot be written"):
            self.export("codings", "--project", project.slug, "--output", str(tmp_path / "no" / "x.csv"))
        assert not AuditEvent.objects.filter(action="export.written").exists()

    def test_an_unknown_table_names_those_there_are(self, project: Project, tmp_path: Path) -> None:
        with pytest.raises(CommandError, match="codebook, codings"):
            self.export("secrets", "--project", project.slug, "--output", str(tmp_path / "x.csv"))
