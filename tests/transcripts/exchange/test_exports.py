import csv
import hashlib
import io
import json
import uuid
from urllib.parse import unquote

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.urls import reverse
from django.utils import timezone

from transcripts.analysis.models import PhaseEntry, PositionalityStatement
from transcripts.audit_trail.models import AuditEvent
from transcripts.codebook.models import Code, CodeProposal
from transcripts.coding.actions import add_coding, decide_sentence, withdraw_coding, write_memo
from transcripts.coding.models import Coding, Reveal, Unblinding
from transcripts.coding.values import CodingValues
from transcripts.corpus.actions import import_file
from transcripts.corpus.models import Sentence
from transcripts.corpus.pure.boundaries import Extent
from transcripts.exchange import rows as export_rows
from transcripts.exchange.rows import USES, WANTED_MOST, Scope, find_export, group_exports, list_exports
from transcripts.formats.codebook_csv import read_codebook
from transcripts.formats.problems import FileRefused, Problem
from transcripts.revision.models import AnchorReading
from transcripts.studies.roles import ROLES


@pytest.fixture
def coding(study, sentence, code, coder):
    return add_coding(study=study, sentence=sentence, code=code, by=coder, idempotency_key=uuid.uuid4())


def download(client, study, what, format="csv", **posted):
    answer = client.post(reverse("exchange:download", args=[study.slug, what, format]), posted)
    assert answer.status_code == 200
    kind = f"-{posted['kind']}" if "kind" in posted else ""
    names = [f"{study.slug}-{what}{kind}{own}.{format}" for own in ("", "-own-rows")]
    assert answer["Content-Disposition"] in [f'attachment; filename="{name}"' for name in names]
    return b"".join(answer.streaming_content).decode()


def rows(text):
    return list(csv.DictReader(io.StringIO(text, newline="")))


class TestCodings:
    def test_a_row_says_what_was_coded_by_whom_and_with_which_codebook(self, coding, study, reader, client_of):
        [row] = rows(download(client_of(reader), study, "codings"))
        assert row["text"] == "I would ask first."
        assert (row["code_id"], row["coder"], row["blinding"], row["level"]) == (
            "theme.balance",
            "coder",
            "blind",
            "semantic",
        )
        assert (row["codebook_version"], row["withdrawn"], row["interview"]) == ("1", "", "i1")
        assert coding.sentence.turn.text[int(row["start"]) : int(row["end"])] == row["text"]

    def test_a_withdrawn_coding_stays_in_the_file_and_is_marked(self, coding, study, coder, reader, client_of):
        withdraw_coding(study=study, coding=coding, by=coder)
        [row] = rows(download(client_of(reader), study, "codings"))
        assert row["withdrawn"]

    def test_a_coder_gets_her_own_rows_only(self, coding, study, second_coder, coder, client_of):
        assert rows(download(client_of(second_coder), study, "codings")) == []
        assert len(rows(download(client_of(coder), study, "codings"))) == 1

    def test_text_is_cut_in_code_points_by_the_database(self, study, owner, client_of):
        from transcripts.corpus.actions import import_file

        text = "👩‍👩‍👧 e\u0301 first. 日本 second. Third."
        line = json.dumps({"id": "emoji", "turns": [{"role": "model", "text": text}]})
        import_file(study=study, name="emoji.jsonl", data=line.encode(), by=owner)
        code = Code.objects.get(version__study=study, identifier="theme.balance")
        sentences = Sentence.objects.select_related("turn__interview").filter(turn__interview__external_id="emoji")
        for each in sentences:
            add_coding(study=study, sentence=each, code=code, by=owner, idempotency_key=uuid.uuid4())
        found = [row["text"] for row in rows(download(client_of(owner), study, "codings"))]
        assert found == [each.read_text() for each in sentences.order_by("position")]

    def test_json_lines_are_exact_and_csv_formulas_are_escaped(self, study, sentence, coder, client_of):
        write_memo(
            study=study,
            interview=sentence.turn.interview,
            sentence=sentence,
            text="=1+1",
            by=coder,
            idempotency_key=uuid.uuid4(),
        )
        client = client_of(coder)
        assert rows(download(client, study, "memos"))[0]["text"] == "'=1+1"
        assert rows(download(client, study, "memos", exact="on"))[0]["text"] == "=1+1"
        assert json.loads(download(client, study, "memos", "jsonl"))["text"] == "=1+1"

    def test_a_download_is_on_record_with_its_hash(self, coding, study, reader, client_of):
        text = download(client_of(reader), study, "codings")
        event = AuditEvent.objects.get(action="export.written")
        assert event.details["sha256"] == hashlib.sha256(text.encode()).hexdigest()
        assert (event.details["rows"], event.actor_name) == (1, "reader")

    def test_what_a_coding_says_beside_its_code_is_in_the_row(self, study, sentence, coder, reader, client_of):
        code = Code.objects.get(version__study=study, identifier="theme.balance")
        code.attributes = [{"key": "why", "label": "Why?", "kind": "text", "choices": []}]
        code.save()
        coding = add_coding(
            study=study,
            sentence=sentence,
            code=code,
            by=coder,
            idempotency_key=uuid.uuid4(),
            values=CodingValues(
                quote=Extent(sentence.start + 2, sentence.start + 7),
                grounding="grounded",
                attributes={"why": "Says “ask”."},
            ),
            range_id=uuid.uuid4(),
        )
        [row] = rows(download(client_of(reader), study, "codings"))
        assert (row["quote"], row["sentence_label"], row["grounding"]) == ("would", "2", "grounded")
        assert (row["prompting"], row["prompting_source"]) == ("unprompted", "derived")
        assert json.loads(row["attributes"]) == {"why": "Says “ask”."}
        assert row["range"] == str(coding.range_id)

    def test_prompting_is_what_the_coder_said_where_she_said_it(self, coding, study, reader, client_of):
        Coding.objects.update(prompting="unclear")
        [row] = rows(download(client_of(reader), study, "codings"))
        assert (row["prompting"], row["prompting_source"]) == ("unclear", "said")

    def test_every_column_of_every_table_has_a_meaning(self):
        assert [(each.key, column) for each in list_exports() for column in each.columns if not column.meaning] == []


class TestColleaguesWork:
    """Who codes herself opens what she takes out."""

    def test_a_lead_is_asked_before_she_gets_colleagues_rows(self, coding, study, lead, client_of):
        client = client_of(lead)
        answer = client.post(reverse("exchange:download", args=[study.slug, "codings", "csv"]))
        assert answer.status_code == 409
        assert "counts as assisted" in answer.content.decode()
        assert not Unblinding.objects.exists()

    def test_she_may_take_her_own_rows_only(self, coding, study, lead, client_of):
        assert rows(download(client_of(lead), study, "codings", rows="own")) == []
        assert not Unblinding.objects.exists()

    def test_taking_all_opens_them_for_good_and_is_on_record(self, coding, study, lead, client_of):
        client = client_of(lead)
        assert len(rows(download(client, study, "codings", rows="all"))) == 1
        opening = Unblinding.objects.get()
        assert (opening.user, opening.where) == (lead, "export")
        assert AuditEvent.objects.filter(action="coding.opened").count() == 1
        assert len(rows(download(client, study, "codings"))) == 1

    def test_a_file_that_cannot_be_written_unblinds_nothing(self, coding, study, lead, client_of, monkeypatch):
        def refuse(*_):
            raise FileRefused("The study", [Problem(0, "one thing", "another")], outcome="nothing was written")

        export = find_export("qdpx")
        assert export is not None
        monkeypatch.setitem(export_rows._exports, "qdpx", export._replace(files={"qdpx": refuse}))
        path = reverse("exchange:download", args=[study.slug, "qdpx", "qdpx"])
        page = client_of(lead).post(path, {"rows": "all"}, follow=True).content.decode()
        assert "found one thing" in page
        assert not Unblinding.objects.exists()
        assert not AuditEvent.objects.filter(action__in=["coding.opened", "export.written"]).exists()

    def test_a_file_of_some_interviews_asks_about_those_alone(self, coding, study, owner, lead, coder, client_of):
        line = json.dumps(
            {"id": "run", "kind": "trajectory", "task": "files", "turns": [{"role": "model", "text": "Done."}]}
        )
        import_file(study=study, name="run.jsonl", data=line.encode(), by=owner)
        run = Sentence.objects.select_related("turn__interview").get(turn__interview__external_id="run")
        add_coding(study=study, sentence=run, code=coding.code, by=coder, idempotency_key=uuid.uuid4())
        client, path = client_of(lead), reverse("exchange:download", args=[study.slug, "codings", "csv"])
        asked = client.post(path, {"kind": "trajectory"})
        assert asked.status_code == 409
        assert "narrowed to trajectory" in asked.content.decode()
        assert "in 1 interview that" in asked.content.decode()
        answer = client.post(path, {"kind": "trajectory", "rows": "all"})
        found = rows(b"".join(answer.streaming_content).decode())
        assert [row["interview"] for row in found] == ["run"]
        assert [each.interview_id for each in Unblinding.objects.all()] == [run.turn.interview_id]
        assert download(client, study, "codings", kind="trajectory")
        assert client.post(path, {"kind": "interview"}).status_code == 409
        # What no filter narrows holds the whole study, and asks about all of it.
        audit = reverse("exchange:download", args=[study.slug, "audit", "csv"])
        assert client.post(audit, {"kind": "trajectory"}).status_code == 409

    def test_a_reader_has_nothing_to_lose_and_is_not_asked(self, coding, study, reader, client_of):
        assert len(rows(download(client_of(reader), study, "codings"))) == 1

    def test_what_shows_nobodys_codings_is_not_asked_about(self, coding, study, lead, client_of):
        assert rows(download(client_of(lead), study, "interviews"))


class TestLongCells:
    """A spreadsheet keeps 32,767 characters of a cell, and says nothing of the rest."""

    @pytest.fixture
    def long(self, study, owner):
        # The second is as long as a cell may be, though its quotation mark is written twice.
        turns = ["A short one.", "word " * 6_553 + '"a', "word " * 6_553 + '"ab', "One sentence of words " * 2_000]
        line = {"id": "long", "turns": [{"role": "model", "text": text} for text in turns]}
        import_file(study=study, name="long.jsonl", data=json.dumps(line).encode(), by=owner)
        return study

    def test_their_number_is_told_beside_the_download_in_the_answer_and_in_the_record(self, long, reader, client_of):
        client, page = client_of(reader), reverse("exchange:exports", args=[long.slug])
        told = "2 cells are longer than the 32,767 characters that a spreadsheet keeps in a cell."
        # Counting looks at every sentence of the study, so it waits until it is asked for.
        shown = client.get(f"{page}?kind=interview").content.decode()
        assert told not in shown
        assert "?kind=interview&amp;long=on" in shown
        counted = client.get(f"{page}?long=on").content.decode()
        assert counted.count(f"CSV: {told}") == 1 + (count_long_sentences(long) == 2)
        answer = client.post(reverse("exchange:download", args=[long.slug, "turns", "csv"]))
        cells = [row["text"] for row in rows(b"".join(answer.streaming_content).decode())]
        assert answer["X-Long-Cells"] == "2" == str(sum(len(cell) > 32_767 for cell in cells))
        assert AuditEvent.objects.get(action="export.written").details["long_cells"] == 2
        assert f"Turns as CSV: {told}" in client.get(page).content.decode()
        whole = client.post(reverse("exchange:download", args=[long.slug, "turns", "jsonl"]))
        whole.close()
        assert "X-Long-Cells" not in whole

    def test_the_command_says_so(self, long, tmp_path, capsys):
        call_command(
            "study", "export", "turns", "--study", long.slug, "--output", str(tmp_path / "turns.csv"), "--json"
        )
        told = capsys.readouterr()
        assert json.loads(told.out)["long_cells"] == 2
        assert "2 cells are longer than the 32,767 characters" in told.err


def count_long_sentences(study):
    export = find_export("sentences")
    assert export is not None
    assert export.count_long is not None
    return export.count_long(Scope(study, None))


class TestNarrowed:
    @pytest.mark.parametrize("export", list_exports(), ids=lambda export: str(export.key))
    def test_each_export_says_rightly_whether_a_filter_narrows_it(self, export, study, sentence, code, coder, tmp_path):
        work(study, sentence, code, coder)
        asked = []

        class Watched(Scope):
            def within(self, interview=""):
                asked.append(interview)
                return super().within(interview)

        scope = Watched(study, None, kind="interview")
        if export.read_rows is not None:
            list(export.read_rows(scope))
        else:
            for write in export.files.values():
                write(scope, tmp_path / "file")
        assert bool(asked) == export.is_narrowed

    def test_the_page_and_the_names_of_files_say_so(self, coding, study, reader, client_of):
        client = client_of(reader)
        page = reverse("exchange:exports", args=[study.slug])
        note = "The filter above does not narrow this file"
        shown = [export for export in list_exports() if export.permission in ROLES["reader"].permissions]
        assert client.get(page).content.decode().count(note) == 0
        narrowed = client.get(page, {"kind": "trajectory"}).content.decode()
        assert narrowed.count(note) == sum(not export.is_narrowed for export in shown)
        for what, asked, name in (
            ("codings", {"kind": "trajectory"}, "codings-trajectory"),
            ("turns", {"run": "task=Büro 1"}, "turns-task-büro-1"),
            ("interviews", {"left_out": "on"}, "interviews-with-left-out"),
            ("themes", {"kind": "trajectory"}, "themes"),
        ):
            answer = client.post(reverse("exchange:download", args=[study.slug, what, "csv"]), asked)
            answer.close()
            assert unquote(answer["Content-Disposition"]).endswith(
                (f'"{study.slug}-{name}.csv"', f"''{study.slug}-{name}.csv")
            )


class TestOwnRows:
    """A coder's files hold what is hers, whatever colleagues do."""

    @pytest.mark.parametrize(
        "export", [each for each in list_exports() if each.read_rows], ids=lambda export: str(export.key)
    )
    def test_a_file_is_the_same_before_and_after_a_colleague_worked(
        self, export, study, sentence, code, coder, second_coder, client_of
    ):
        if export.permission not in ROLES["coder"].permissions:
            return
        client = client_of(second_coder)
        before = download(client, study, export.key)
        work(study, sentence, code, coder)
        assert download(client, study, export.key) == before


def work(study, sentence, code, by):
    """A bit of everything a coder does."""
    add_coding(study=study, sentence=sentence, code=code, by=by, idempotency_key=uuid.uuid4())
    decide_sentence(study=study, sentence=sentence, by=by, idempotency_key=uuid.uuid4())
    write_memo(
        study=study,
        interview=sentence.turn.interview,
        sentence=sentence,
        text="x",
        by=by,
        idempotency_key=uuid.uuid4(),
    )
    now = timezone.now()
    Reveal.objects.create(sentence=sentence, coder=by, revealed_at=now)
    Unblinding.objects.create(interview=sentence.turn.interview, user=by, where="x", unblinded_at=now)
    CodeProposal.objects.create(
        study=study,
        name="New",
        family_identifier="themes",
        proposed_by=by,
        proposed_at=now,
        idempotency_key=uuid.uuid4(),
    )
    PhaseEntry.objects.create(study=study, phase=1, text="x", author=by, written_at=now)
    PositionalityStatement.objects.create(study=study, author=by, text="x", written_at=now)
    AnchorReading.objects.create(
        version=code.version, sentence=sentence, coder=by, codes=[], idempotency_key=uuid.uuid4(), read_at=now
    )


class TestRights:
    def test_an_outsider_gets_404(self, study, outsider, client_of):
        client = client_of(outsider)
        assert client.get(reverse("exchange:exports", args=[study.slug])).status_code == 404
        assert client.post(reverse("exchange:download", args=[study.slug, "codings", "csv"])).status_code == 404

    @pytest.mark.parametrize("what", ["audit", "suggestions"])
    def test_a_coder_may_not_take_what_would_unblind_her(self, what, study, coder, client_of):
        assert client_of(coder).post(reverse("exchange:download", args=[study.slug, what, "csv"])).status_code == 403

    def test_a_download_is_no_get(self, study, owner, client_of):
        assert (
            client_of(owner).get(reverse("exchange:download", args=[study.slug, "codings", "csv"])).status_code == 405
        )

    def test_an_unknown_table_is_404(self, study, owner, client_of):
        assert (
            client_of(owner).post(reverse("exchange:download", args=[study.slug, "secrets", "csv"])).status_code == 404
        )

    def test_the_page_lists_what_the_role_may_take(self, study, coder, client_of):
        page = client_of(coder).get(reverse("exchange:exports", args=[study.slug])).content.decode()
        assert "Codings" in page
        assert "Audit trail" not in page

    def test_exports_are_grouped_by_use_and_those_wanted_most_come_first(self):
        groups = group_exports(list_exports())
        assert [export.key for export in groups[0][1]] == ["codings", "codebook", "qdpx"]
        assert "sob_answers" in [export.key for export in dict(groups)["Models and benchmark"]]
        assert sorted(each.key for _, group in groups for each in group) == sorted(each.key for each in list_exports())
        named = {key for _, keys in USES for key in keys} | set(WANTED_MOST)
        assert named <= {each.key for each in list_exports()}


class TestCommand:
    def export(self, *arguments):
        stream = io.StringIO()
        call_command("study", "export", *arguments, "--json", stdout=stream)
        return json.loads(stream.getvalue())

    def test_it_writes_the_file_and_tells_rows_and_hash(self, coding, study, tmp_path):
        path = tmp_path / "codings.csv"
        told = self.export("codings", "--study", study.slug, "--format", "csv", "--output", str(path))
        sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
        assert told == {"path": str(path), "rows": 1, "sha256": sha256, "long_cells": 0}
        assert [entry.name for entry in tmp_path.iterdir()] == ["codings.csv"]

    def test_the_exported_codebook_can_be_read_again(self, study, tmp_path):
        path = tmp_path / "codebook.csv"
        told = self.export("codebook", "--study", study.slug, "--output", str(path))
        codes = read_codebook(path.read_bytes(), name="codebook.csv").codes
        assert told["rows"] == len(codes) >= 25
        assert {code.code_id for code in codes} >= {"theme.balance", "move.elicit"}

    @pytest.mark.parametrize(
        ("export", "format"),
        [(export, format) for export in list_exports() for format in export.formats],
        ids=lambda each: each if isinstance(each, str) else each.key,
    )
    def test_everything_can_be_written_in_all_its_formats(self, export, format, coding, study, tmp_path):
        path = tmp_path / f"table.{format}"
        told = self.export(export.key, "--study", study.slug, "--format", format, "--output", str(path))
        assert told["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()
        counts = {
            "csv": lambda text: len(rows(text)),
            "json": lambda text: len(json.loads(text)),
            "jsonl": lambda text: len(text.splitlines()),
        }
        if format in counts and format not in export.files:
            assert told["rows"] == counts[format](path.read_text(encoding="utf-8"))

    @pytest.mark.parametrize("format", ["csv", "json", "qdc"])
    def test_the_exported_codebook_repeats_the_version_it_was_made_of(self, study, owner, format, tmp_path):
        from transcripts.codebook.actions import import_codebook

        path = tmp_path / f"codebook.{format}"
        self.export("codebook", "--study", study.slug, "--format", format, "--output", str(path))
        _, is_new, _ = import_codebook(study=study, data=path.read_bytes(), name=path.name, by=owner)
        assert not is_new

    def test_taguette_finds_a_name_and_a_description_of_every_code(self, study, tmp_path):
        """It looks for exactly one of the columns tag, name and path, in any case of letters, and for description."""
        path = tmp_path / "codebook.csv"
        told = self.export("codebook", "--study", study.slug, "--output", str(path))
        heading, *codes = csv.reader(io.StringIO(path.read_text(encoding="utf-8"), newline=""))
        lowered = [cell.lower() for cell in heading]
        assert [cell for cell in lowered if cell in {"tag", "name", "path"}] == ["name"]
        found = [(code[lowered.index("name")].strip(), code[lowered.index("description")].strip()) for code in codes]
        assert len(found) == told["rows"]
        assert [name for name, description in found if not name or not description] == []

    def test_a_study_without_a_codebook_is_told_so(self, owner, tmp_path):
        from transcripts.studies.actions import create_study

        create_study(slug="bare", name="Bare", by=owner)
        with pytest.raises(CommandError, match="no published codebook"):
            self.export("codebook", "--study", "bare", "--format", "qdc", "--output", str(tmp_path / "x.qdc"))
        assert list(tmp_path.iterdir()) == []

    def test_a_folder_that_is_not_there_is_told_and_nothing_is_recorded(self, study, tmp_path):
        with pytest.raises(CommandError, match="cannot be written"):
            self.export("codings", "--study", study.slug, "--output", str(tmp_path / "no" / "x.csv"))
        assert not AuditEvent.objects.filter(action="export.written").exists()

    def test_an_unknown_table_names_those_there_are(self, study, tmp_path):
        with pytest.raises(CommandError, match="codings, decisions"):
            self.export("secrets", "--study", study.slug, "--output", str(tmp_path / "x.csv"))
