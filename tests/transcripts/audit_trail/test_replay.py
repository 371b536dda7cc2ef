"""Rows of evidence are rebuilt from the trail: what the program does agrees with it, what is done behind its back does not."""

import json
import random
import uuid
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import DatabaseError, connection, transaction
from django.utils import timezone

from tests.transcripts.audit_trail.test_trail import as_a_forger
from tests.transcripts.coding.cast import decide, find_code, put, restore, take_off
from tests.transcripts.revision.codebooks import code_of, current, merge, narrow
from transcripts.analysis.notebook import actions as memos
from transcripts.analysis.notebook.queries import Place
from transcripts.audit_trail import replay, trail
from transcripts.audit_trail.management.commands import audit
from transcripts.audit_trail.models import AuditEvent, AuditText
from transcripts.audit_trail.trail import ERASED, row_changed, row_made
from transcripts.codebook.models import Code
from transcripts.coding import actions as desk
from transcripts.coding.actions import boundary_edits, checks, codings
from transcripts.coding.models import Coding, Decision, Memo
from transcripts.corpus.changes import SentenceRetired
from transcripts.corpus.models import Sentence
from transcripts.corpus.pure.boundaries import BoundaryEditRefused
from transcripts.refusals import Refused
from transcripts.revision import actions as revision
from transcripts.rounds.actions import complete_interview, reopen_interview, show_completed

NOTE = "She weighs both sides without saying so."
MEMO = "A thought about this sentence."


def compare():
    """What ``audit verify --rows --json`` prints, whatever it ends with."""
    out = StringIO()
    try:
        call_command("audit", "verify", "--rows", "--json", stdout=out)
    except CommandError:
        assert json.loads(out.getvalue())["differences"]
    return json.loads(out.getvalue())


def find_differences():
    return [(each["row"], each["column"]) for each in compare()["differences"]]


class Work:
    """A coding that was changed, one that was removed, a decision and a memo, all of one coder."""

    def __init__(self, sentence, code, coder):
        self.study, self.sentence = sentence.turn.interview.study, sentence
        self.first = put(sentence, code, coder)
        self.coding = put(sentence, code, coder, level="latent", note=NOTE)
        self.removed = put(sentence, code_of(code.version, "theme.compassion"), coder)
        take_off(self.removed, coder)
        self.decision = decide(sentence, coder)
        self.memo = desk.write_memo(
            study=self.study,
            interview=sentence.turn.interview,
            sentence=sentence,
            text=MEMO,
            by=coder,
            idempotency_key=uuid.uuid4(),
        )


@pytest.fixture
def work(sentence, code, coder):
    return Work(sentence, code, coder)


def test_what_the_program_did_agrees_with_the_trail(work):
    answer = compare()
    assert answer["differences"] == answer["breaks"] == []
    assert (answer["rows"]["coding.coding"], answer["rows"]["coding.decision"], answer["rows"]["coding.memo"]) == (
        3,
        1,
        1,
    )
    out = StringIO()
    call_command("audit", "verify", "--rows", "--study", work.study.slug, stdout=out)
    assert "3 coding.coding, 1 coding.decision, 0 coding.link, 1 coding.memo" in out.getvalue()


def test_a_coding_can_be_rebuilt_from_its_event_and_the_text_beside_it(work):
    event = AuditEvent.objects.get(action="coding.changed")
    made, ended = event.details["rows"]
    assert made["made"] | {"created_at": ""} == {
        "sentence": work.sentence.pk,
        "code": work.coding.code_id,
        "identifier": "theme.balance",
        "version": 1,
        "coder": work.coding.coder_id,
        "blinding": "blind",
        "level": "latent",
        "created_at": "",
    }
    assert AuditText.objects.get(hash=made["texts"]["note"]).content == NOTE
    assert ended["row"] == f"coding.coding:{work.first.pk}"
    assert ended["set"]["superseded_by"] == work.coding.pk


def test_no_text_is_in_the_chain(work):
    assert NOTE not in str(list(AuditEvent.objects.values_list("details", flat=True)))
    assert MEMO not in str(list(AuditEvent.objects.values_list("details", flat=True)))


@pytest.mark.django_db
def test_saving_a_code_without_a_text_stores_no_text(sentence, code, coder):
    put(sentence, code, coder)
    assert not AuditText.objects.exists()


# What a forger does to the tables, the trail untouched, and where it shows.
FORGERIES = {
    "level of a coding": ("UPDATE coding_coding SET level = 'semantic' WHERE id = {coding}", "coding", "level"),
    "coder of a coding": ("UPDATE coding_coding SET coder_id = {other} WHERE id = {coding}", "coding", "coder"),
    "note of a coding": ("UPDATE coding_coding SET note = 'She does not.' WHERE id = {coding}", "coding", "note"),
    "note taken away": ("UPDATE coding_coding SET note = '' WHERE id = {coding}", "coding", "note"),
    "note added": ("UPDATE coding_coding SET note = 'More.' WHERE id = {removed}", "removed", "note"),
    "answers of a coding": (
        'UPDATE coding_coding SET attributes = \'{{"why": "So."}}\' WHERE id = {coding}',
        "coding",
        "attributes",
    ),
    "quote of a coding": (
        "UPDATE coding_coding SET quote_start = 0, quote_end = 4 WHERE id = {coding}",
        "coding",
        "quote_start",
    ),
    "time of a coding": (
        "UPDATE coding_coding SET created_at = withdrawn_at WHERE id = {removed}",
        "removed",
        "created_at",
    ),
    "removed coding brought back": (
        "UPDATE coding_coding SET withdrawn_at = NULL WHERE id = {removed}",
        "removed",
        "withdrawn_at",
    ),
    "coding deleted": ("DELETE FROM coding_coding WHERE id = {removed}", "removed", ""),
    "code that means another": (
        "UPDATE codebook_code SET identifier = 'theme.other' WHERE identifier = 'theme.compassion'",
        "removed",
        "identifier",
    ),
    "decision changed": ("UPDATE coding_decision SET none_applies = NOT none_applies", "decision", "none_applies"),
    "decision deleted": ("DELETE FROM coding_decision", "decision", ""),
    "memo rewritten": ("UPDATE coding_memo SET text = 'Another thought.'", "memo", "text"),
    "memo deleted": ("DELETE FROM coding_memo", "memo", ""),
}


@pytest.mark.parametrize("kind", FORGERIES)
def test_a_row_that_was_forged_is_found(work, second_coder, kind):
    statement, row, column = FORGERIES[kind]
    rows = {name: getattr(work, name) for name in ("coding", "removed", "decision", "memo")}
    keys = {name: each.pk for name, each in rows.items()}
    with connection.cursor() as cursor:
        cursor.execute(statement.format(**keys, other=second_coder.pk))
    assert (trail.describe_target(rows[row]), column) in find_differences()
    assert compare()["breaks"] == []


def test_a_row_that_was_added_behind_the_programs_back_is_found(work):
    for row in (work.coding, work.decision, work.memo):
        former = trail.describe_target(row)
        row.pk, row.idempotency_key, row.withdrawn_at = None, uuid.uuid4(), timezone.now()
        row.save(force_insert=True)
        assert trail.describe_target(row) != former
        assert (trail.describe_target(row), "") in find_differences()


def test_a_text_beside_the_trail_that_was_changed_is_found(work):
    forge_text("UPDATE audit_trail_audittext SET content = 'Another.' WHERE content = %s", [NOTE])
    assert find_differences() == [(trail.describe_target(work.coding), "note")]


def test_a_text_that_was_changed_on_both_sides_is_found(work):
    forge_text("UPDATE audit_trail_audittext SET content = 'Another.' WHERE content = %s", [NOTE])
    Coding.objects.filter(pk=work.coding.pk).update(note="Another.")
    assert find_differences() == [(trail.describe_target(work.coding), "note")]


def forge_text(statement, parameters):
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            for name in ("no_update", "no_delete", "no_replace"):
                cursor.execute(f"DROP TRIGGER audit_trail_text_{name}")
        else:
            cursor.execute("DROP TRIGGER audit_trail_text_stays ON audit_trail_audittext")
        cursor.execute(statement, parameters)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE audit_trail_audittext SET content = 'Another.'",
        "UPDATE audit_trail_audittext SET content = ''",
        "UPDATE audit_trail_audittext SET hash = 'x', salt = '', content = ''",
        "DELETE FROM audit_trail_audittext",
    ],
)
def test_the_database_refuses_to_change_a_text_beside_the_trail(work, statement):
    with pytest.raises(DatabaseError), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(statement)
    assert find_differences() == []


def test_differences_name_row_and_column_and_keep_texts_to_themselves(work):
    Memo.objects.update(text="A secret.")
    Coding.objects.filter(pk=work.coding.pk).update(level="semantic")
    out = StringIO()
    with pytest.raises(CommandError, match=r"differ from the audit trail \(2 differences\)") as refused:
        call_command("audit", "verify", "--rows", stdout=out)
    assert refused.value.returncode == 1
    assert (
        f'coding.coding:{work.coding.pk}, level: the trail says "latent", the table says "semantic".' in out.getvalue()
    )
    assert f"coding.memo:{work.memo.pk}, text: the trail says another text, of 30 characters" in out.getvalue()
    assert "secret" not in out.getvalue()
    assert MEMO not in out.getvalue()


def test_very_many_differences_are_counted_and_the_first_are_named(work, monkeypatch):
    monkeypatch.setattr(replay, "MOST_NAMED", 1)
    Coding.objects.update(note="Forged.")
    answer = compare()
    assert (len(answer["differences"]), answer["further_differences"]) == (1, 2)


def test_what_is_done_while_rows_are_read_is_no_difference(work, coder, monkeypatch):
    real = replay._read_table

    def act_and_read(recorded, study_id):
        if recorded.model is Coding:
            take_off(work.coding, coder)
            put(work.sentence, find_code(work.study, "theme.compassion"), coder)
        return real(recorded, study_id)

    monkeypatch.setattr(replay, "_read_table", act_and_read)
    assert find_differences() == []


class TestErasure:
    def test_texts_go_and_the_trail_still_fits(self, work):
        rows = [trail.describe_target(work.memo), trail.describe_target(work.coding)]
        call_command("audit", "erase", *rows, "--reason", "asked for by an interviewee", stdout=StringIO())
        work.memo.refresh_from_db()
        work.coding.refresh_from_db()
        assert (work.memo.text, work.coding.note) == (ERASED, ERASED)
        assert not AuditText.objects.exclude(content="", salt="").exists()
        answer = compare()
        assert (answer["differences"], answer["breaks"], answer["texts_erased"]) == ([], [], 2)

    def test_a_copy_of_an_erased_row_holds_no_text(self, work):
        call_command("audit", "erase", trail.describe_target(work.coding), "--reason", "r", stdout=StringIO())
        work.coding.refresh_from_db()
        assert "note" not in row_made(work.coding).texts
        assert "note" not in row_changed(Coding, work.coding.pk, note=ERASED).texts

    def test_a_text_that_comes_back_is_found(self, work):
        call_command("audit", "erase", f"coding.memo:{work.memo.pk}", "--reason", "r", stdout=StringIO())
        Memo.objects.update(text=MEMO)
        assert find_differences() == [(trail.describe_target(work.memo), "text")]

    def test_an_erasure_without_its_event_is_found(self, work):
        AuditText.objects.filter(content=MEMO).update(salt="", content="")
        Memo.objects.update(text=ERASED)
        assert find_differences() == [(trail.describe_target(work.memo), "text")]

    def test_what_holds_no_text_is_refused_in_a_sentence_and_nothing_is_erased(self, work):
        memo = f"coding.memo:{work.memo.pk}"
        for wrong in ("coding.memo:999", "coding.memo:x", "corpus.turn:1", f"coding.coding:{work.removed.pk}"):
            with pytest.raises(CommandError, match="Nothing was erased"):
                call_command("audit", "erase", memo, wrong, "--reason", "r", stdout=StringIO())
        work.memo.refresh_from_db()
        assert work.memo.text == MEMO


class TestRowsFromBefore:
    """Rows that are older than events that tell of rows."""

    @pytest.fixture
    def old(self, work):
        """The work as versions before recorded it."""
        before = [
            (event.action, event.target, {name: value for name, value in event.details.items() if name != "rows"})
            for event in AuditEvent.objects.filter(stream=trail.study_stream(work.study.pk)).order_by("sequence")
        ]
        stream = trail.study_stream(work.study.pk)
        as_a_forger("DELETE FROM audit_trail_auditevent WHERE stream = %s", [stream])
        as_a_forger("DELETE FROM audit_trail_audithead WHERE stream = %s", [stream])
        forge_text("DELETE FROM audit_trail_audittext", [])
        for action, target, details in before:
            trail.record(action, target=target, by=trail.SYSTEM, stream=stream, details=details)
        return work

    def test_they_are_compared_as_far_as_their_events_go(self, old):
        answer = compare()
        assert (answer["differences"], answer["rows_before"]) == ([], 5)
        Coding.objects.filter(pk=old.coding.pk).update(blinding="assisted", note="Not in the event.")
        assert find_differences() == [(trail.describe_target(old.coding), "blinding")]


REFUSALS = (Refused, BoundaryEditRefused, SentenceRetired)


class RandomWork:
    """People who do whatever the program lets them do, through its actions."""

    def __init__(self, study, owner, coders, *, seed):
        self.study, self.owner, self.coders = study, owner, coders
        self.chance = random.Random(seed)
        self.done = 0

    def act(self):
        act = self.chance.choice([
            *[self.put] * 6, *[self.take_off] * 2, self.restore, *[self.decide] * 3, self.reopen, *[self.write] * 2,
            self.write_elsewhere, self.revise, self.withdraw_memo, self.split, self.merge, self.finish, self.reveal,
        ])  # fmt: skip
        try:
            with transaction.atomic():
                act(self.chance.choice(self.coders))
                self.done += 1
        except (*REFUSALS, IndexError):
            pass

    def pick(self, rows):
        """One of some rows. Raises ``IndexError`` where there are none."""
        return rows.order_by("pk")[self.chance.choice(range(rows.count()))]

    def sentence(self):
        current = Sentence.objects.filter(retired_by__isnull=True, turn__role="model")
        return self.pick(current.select_related("turn__interview__study"))

    def reason(self):
        return self.chance.choice(["", "", "I see it now."])

    def put(self, by):
        sentence, how = self.sentence(), dict[str, Any]()
        code = self.pick(Code.objects.filter(version=current(self.study)).select_related("family", "version"))
        if code.family.carries_level and self.chance.random() < 0.4:
            how = {"level": "latent", "note": f"Reading {self.chance.randrange(99)}"}
        if code.family.unit == "sentence" and self.chance.random() < 0.3:
            how["quote"] = (sentence.start, self.chance.randint(sentence.start + 1, sentence.end))
        if self.chance.random() < 0.2:
            how["range_id"] = uuid.UUID(int=self.chance.getrandbits(128))
        put(sentence, code, by, reason=self.reason(), **how)

    def take_off(self, by):
        take_off(self.pick(Coding.objects.active().filter(coder=by)), by, reason=self.reason())

    def restore(self, by):
        coding = self.pick(Coding.objects.filter(coder=by, withdrawn_at__isnull=False))
        restore(coding, coding.sentence, by)

    def decide(self, by):
        decide(self.sentence(), by)

    def reopen(self, by):
        decision = self.pick(Decision.objects.active().filter(coder=by))
        desk.reopen_sentence(study=self.study, decision=decision, by=by, reason=self.reason())

    def write(self, by):
        sentence = self.sentence()
        on = self.chance.choice([sentence, None])
        text = self.chance.choice(["", "A memo.", f"Memo {self.chance.randrange(99)}"])
        interview = sentence.turn.interview
        key = uuid.uuid4()
        desk.write_memo(study=self.study, interview=interview, sentence=on, text=text, by=by, idempotency_key=key)

    def write_elsewhere(self, by):
        place = Place(subject="code", key="theme.balance")
        memos.write_memo(
            study=self.study, place=place, text="On the code.", kind="decision", by=by, idempotency_key=uuid.uuid4()
        )

    def revise(self, by):
        memo = self.pick(Memo.objects.active().filter(author=by))
        text = f"Revised {self.chance.randrange(99)}"
        memos.revise_memo(memo=memo, text=text, kind="reading", by=by, idempotency_key=uuid.uuid4())

    def withdraw_memo(self, by):
        memos.withdraw_memo(memo=self.pick(Memo.objects.active().filter(author=by)), by=by)

    def split(self, by):
        sentence = self.sentence()
        blanks = [at for at in range(sentence.start + 1, sentence.end) if sentence.turn.text[at] == " "]
        at = self.chance.choice(blanks)
        boundary_edits.split_sentence(
            study=self.study, sentence=sentence, at=at, by=self.owner, idempotency_key=uuid.uuid4()
        )

    def merge(self, by):
        boundary_edits.merge_sentences(
            study=self.study, first=self.sentence(), by=self.owner, idempotency_key=uuid.uuid4()
        )

    def finish(self, by):
        interview = self.sentence().turn.interview
        complete_interview(study=self.study, interview=interview, reason="Enough.", by=by)
        if self.chance.random() < 0.05:
            show_completed(study=self.study, by=by)
        reopen_interview(study=self.study, interview=interview, by=by)

    def reveal(self, by):
        desk.reveal_suggestions(study=self.study, sentence=self.sentence(), by=by)

    def change_codebook(self):
        """Codes are merged and one is narrowed; codings migrate, go back, and are re-reviewed."""
        version = merge(self.study, ["theme.compassion", "theme.balance"], "theme.balance", self.owner)
        for change in (revision.migrate_merged, revision.undo_migration, revision.migrate_merged):
            change(study=self.study, version=version, by=self.owner)
        version = narrow(self.study, "theme.balance", self.owner)
        codes = list(
            Code.objects.filter(version=version, family__identifier="themes").exclude(identifier="theme.balance")
        )
        for coding in (
            Coding.objects.active().filter(code__identifier="theme.balance").select_related("coder", "sentence")
        ):
            how = {"study": self.study, "coding": coding, "version": version, "by": coding.coder}
            act = self.chance.choice([self._keep, self._move, self._drop])
            try:
                with transaction.atomic():
                    act(codes, {**how, "idempotency_key": uuid.uuid4()})
            except REFUSALS:
                pass

    def _keep(self, codes, how):
        revision.keep_coding(**how)

    def _move(self, codes, how):
        revision.move_coding(**how, codes=self.chance.sample(codes, 2))

    def _drop(self, codes, how):
        revision.drop_coding(**how)


@pytest.fixture
def work_at_random(study, interview, owner, coder, second_coder, lead):
    def do(number, seed):
        work = RandomWork(study, owner, [coder, second_coder, lead], seed=seed)
        for _ in range(number):
            work.act()
        work.change_codebook()
        for _ in range(number // 2):
            work.act()
        return work

    return do


def test_after_any_work_the_trail_rebuilds_every_row(work_at_random):
    work = work_at_random(70, 1)
    answer = compare()
    assert answer["differences"] == answer["breaks"] == []
    assert work.done > 50
    assert answer["rows"]["coding.coding"] == Coding.objects.count() > 20
    assert answer["rows"]["coding.memo"] == Memo.objects.count() > 5
    assert answer["rows_before"] == answer["rows_found"] == 0


@pytest.mark.full
def test_after_thousands_of_acts_the_trail_rebuilds_every_row(work_at_random):
    work_at_random(1_500, 2)
    answer = compare()
    assert answer["differences"] == answer["breaks"] == []


def test_an_event_says_nothing_of_a_row_that_another_request_withdrew_first(work, coder, monkeypatch):
    """On PostgreSQL two windows of one coder can act on one sentence at the same moment."""
    choose_blinding = checks.choose_blinding

    def withdraw_meanwhile(active):
        now = timezone.now()
        for row in (work.coding, work.decision):
            type(row).objects.filter(pk=row.pk).update(withdrawn_at=now)
            trail.record(
                "test.withdrawn",
                target=row,
                by=coder,
                stream=trail.study_stream(work.study.pk),
                rows=[row_changed(type(row), row.pk, withdrawn_at=now)],
            )
        return choose_blinding(active)

    Decision.objects.filter(pk=work.decision.pk).update(none_applies=True)
    monkeypatch.setattr(codings, "choose_blinding", withdraw_meanwhile)
    coding = put(work.sentence, work.coding.code, coder, level="latent", note="Another note.")
    work.coding.refresh_from_db()
    assert (work.coding.superseded_by, coding.withdrawn_at) == (None, None)
    event = AuditEvent.objects.latest("pk")
    assert (event.action, [change["row"] for change in event.details["rows"]]) == (
        "coding.added",
        [f"coding.coding:{coding.pk}"],
    )
    assert not {"replaces", "before", "reopened"} & event.details.keys()
    Decision.objects.filter(pk=work.decision.pk).update(none_applies=False)
    assert find_differences() == []


def test_a_study_that_is_made_during_the_comparison_is_no_difference(work, coder, monkeypatch):
    """What is known of its stream is known at the end only."""
    with monkeypatch.context() as early:
        early.setattr(audit, "list_streams", lambda: ["site"])
        assert compare()["differences"] == []
    text = AuditEvent.objects.filter(action="coding.added").latest("pk")
    assert text.stream != "site"


def test_an_event_that_counts_something_as_rows_tells_of_no_row(work):
    """Those of backups and of files that were downloaded do."""
    told = [row_made(work.coding)]
    with pytest.raises(ValueError, match="Choose another name"):
        trail.record("test.counted", target="x", by=trail.SYSTEM, details={"rows": 3}, rows=told)
    trail.record("test.counted", target=work.coding, by=trail.SYSTEM, details={"rows": 3})
    assert find_differences() == []
