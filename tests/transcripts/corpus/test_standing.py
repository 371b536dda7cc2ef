"""Archived and excluded interviews are in no list, figure, export or launch, and come back whole."""

import io
import json
import tempfile
import zipfile
from pathlib import Path

import pytest
from django.core.management import call_command
from django.db import IntegrityError, transaction
from django.urls import reverse

from auditapp.annotators.runner import render_turn_prompts
from auditapp.batches.models import Arm
from tests.support.whole_study import ADDRESSES, set_stage
from tests.test_access_matrix import OF_A_STUDY, Visitor, undone
from tests.transcripts.coding.cast import find_code, put
from transcripts.analysis.search.queries import measure
from transcripts.audit_trail import trail
from transcripts.audit_trail.models import AuditEvent
from transcripts.blinding.viewers import Viewer
from transcripts.coding.models import Coding
from transcripts.corpus.actions import import_file
from transcripts.corpus.changes import archive_interviews, restore_interviews
from transcripts.corpus.models import Interview, InterviewChange, Standing, Turn
from transcripts.exchange.actions import write_export
from transcripts.exchange.rows import Scope, list_exports
from transcripts.refusals import Refused
from transcripts.studies.roles import ROLES

# Stands in the title and the text of the archived interview, and nowhere else; as long as what it replaces.
MARK = "Zanzibarba"
# The list of archives, and the page that says what undoing an import would take back.
TELLS_OF_ARCHIVES = {"corpus:archive", "corpus:undo"}


@pytest.fixture
def stage(study, owner, second_coder):
    """One of everything on an interview that bears the mark, and a second interview beside it."""
    stage = set_stage(study, owner, second_coder)
    turn = stage.sentence.turn
    Turn.objects.filter(pk=turn.pk).update(text=turn.text.replace("It depends", MARK))
    Interview.objects.filter(pk=turn.interview_id).update(title=f"Title {MARK}", external_id=MARK)
    line = '{"id": "i2", "title": "Another", "turns": [{"role": "model", "text": "No. Never."}]}'
    import_file(study=study, name="second.jsonl", data=line.encode(), by=owner)
    return stage


def archive(study, keys, by):
    archive_interviews(
        study=study, interviews=Interview.objects.filter(pk__in=list(keys)), reason="A wrong file.", by=by
    )


def crawl(stage, user, names=OF_A_STUDY):
    """What stands at the addresses of the study that a person can look at."""
    visitor = Visitor(user)
    found = {}
    for name in names:
        if "GET" in OF_A_STUDY[name]:
            answer = visitor.knock(stage.path(name), "GET")
            found[name] = (answer.status_code, "" if answer.streaming else answer.content.decode(errors="replace"))
    return found


def export_all(scope):
    """Every export of a study in every format, archives unpacked."""
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for export in list_exports():
            if export.key == "audit":
                continue
            for format in export.formats:
                path = Path(folder) / f"{export.key}.{format}"
                write_export(export=export, scope=scope, format=format, path=path, by=trail.SYSTEM)
                content = path.read_bytes()
                if zipfile.is_zipfile(path):
                    with zipfile.ZipFile(io.BytesIO(content)) as packed:
                        content = b"".join(packed.read(name) for name in packed.namelist())
                found[f"{export.key}.{format}"] = content
    return found


@pytest.mark.full
def test_no_page_and_no_export_shows_an_archived_interview(stage, study, owner):
    exports = export_all(Scope(study, None))
    assert sum(MARK.encode() in content for content in exports.values()) > 15

    with undone():
        archive(study, [stage.sentence.turn.interview_id], owner)
        after = crawl(stage, owner)
        exports = export_all(Scope(study, None))

    in_it = {
        name for name in after if "interview_id" in ADDRESSES[name].holes or "sentence_id" in ADDRESSES[name].holes
    }
    shown = {name for name, (_, page) in after.items() if MARK in page}
    assert shown - in_it - TELLS_OF_ARCHIVES == set()
    broken = {name: status for name, (status, _) in after.items() if status not in {200, 302, 404}}
    assert broken == {}
    assert {name for name, content in exports.items() if MARK.encode() in content} == set()

    absent = {name for name, (status, _) in after.items() if status == 404}
    before = crawl(stage, owner, absent | SHOW_IT)
    assert {name for name in SHOW_IT if MARK not in before[name][1]} == set()
    gone = {name for name in absent if before[name][0] != 404}
    assert gone - in_it <= OF_THE_INTERVIEW


# Pages on which it stands until it is archived, and on which it would be missed.
SHOW_IT = {
    *("api:interviews", "codebook:code", "desk:desk", "corpus:consent", "corpus:interviews", "suggestions:drafts"),
    *("studies:home", "search:by_interview", "search:score_sheets", "search:search", "revision:anchors"),
    *("rounds:detail", "rounds:work", "themes:evidence", "themes:theme"),
}
# Addresses whose thing lies in the archived interview, though the address does not name it.
OF_THE_INTERVIEW = {"negotiation:pair", "revision:re_review"}


def test_an_archived_interview_says_so_at_its_addresses_and_can_be_restored(stage, study, owner, reader):
    archive(study, [stage.sentence.turn.interview_id], owner)
    desk = stage.path("desk:desk")

    page = Visitor(reader).knock(desk, "GET")
    assert page.status_code == 404
    assert "archived this interview" in page.content.decode()
    assert "A wrong file." in page.content.decode()
    assert '<button class="button primary">Restore' not in page.content.decode()

    visitor = Visitor(owner)
    assert "Restore" in visitor.knock(desk, "GET").content.decode()
    visitor.knock(stage.path("corpus:restore"), "POST", f"interview={stage.sentence.turn.interview_id}")
    assert visitor.knock(desk, "GET").status_code == 200


def test_pages_say_how_many_interviews_they_leave_out(stage, study, owner):
    line = '{"id": "i3", "inclusion": "Excluded", "turns": [{"role": "model", "text": "No. Never."}]}'
    import_file(study=study, name="third.jsonl", data=line.encode(), by=owner)
    archive(study, [stage.sentence.turn.interview_id], owner)
    visitor = Visitor(owner)
    for name in ("studies:home", "corpus:interviews", "search:search", "agreement:table", "themes:presence"):
        page = visitor.knock(stage.path(name), "GET").content.decode()
        assert "1 archived and 1 excluded interviews are left out of this page." in page, name


@pytest.mark.parametrize(
    "name",
    [
        *(
            "scenarios:sessions",
            "scenarios:scripts",
            "scenarios:open_session",
            "scenarios:suites",
            "gender_cues:home",
            "desk:keys",
        ),
        *("negotiation:stances", "webhooks:list", "themes:positionality", "corpus:import", "notebook:new"),
    ],
)
def test_pages_without_interviews_do_not_say_that_any_is_left_out(stage, study, owner, name):
    archive(study, [stage.sentence.turn.interview_id], owner)
    page = Visitor(owner).knock(stage.path(name), "GET")
    assert page.status_code == 200
    assert "left out of this page" not in page.content.decode()


def test_counts_fall_and_come_back(stage, study, owner):
    whole = measure(study)
    archive(study, [stage.sentence.turn.interview_id], owner)
    assert measure(study) == (whole[0] - 2, whole[1] - 1)
    assert not Coding.objects.visible_to(Viewer(study, owner, ROLES["reader"])).exists()
    restore_interviews(study=study, interviews=Interview.objects.filter(standing=Standing.ARCHIVED), by=owner)
    assert measure(study) == whole
    assert Coding.objects.visible_to(Viewer(study, owner, ROLES["reader"])).exists()


def test_an_export_can_hold_archived_interviews_and_says_so(stage, study, owner):
    whole = export_all(Scope(study, None))
    archive(study, [stage.sentence.turn.interview_id], owner)
    after = export_all(Scope(study, None, with_left_out=True))
    for name in ("codings.csv", "theme_quotes.csv", "suggestions.csv", "study.qdpx"):
        if name in whole:
            assert after[name] == whole[name] or name.endswith("qdpx"), name
            assert MARK.encode() in after[name], name
    rows = [json.loads(line) for line in after["interviews.jsonl"].decode().splitlines()]
    assert [row["standing"] for row in rows] == ["archived", "counted", "counted"]


def test_every_archive_and_restore_is_in_the_history(stage, study, owner):
    key = stage.sentence.turn.interview_id
    archive(study, [key], owner)
    archive(study, [key], owner)
    restore_interviews(study=study, interviews=Interview.objects.filter(pk=key), by=owner)
    events = AuditEvent.objects.filter(action__startswith="corpus.interviews.").order_by("sequence")
    assert [(event.action, event.details["interviews"]) for event in events] == [
        ("corpus.interviews.archived", [key]),
        ("corpus.interviews.restored", [key]),
    ]
    changes = InterviewChange.objects.filter(interview=key).values_list("old", "new", "reason")
    assert list(changes) == [("counted", "archived", "A wrong file."), ("archived", "counted", "")]


def test_the_trail_still_rebuilds_the_work_on_an_archived_interview(sentence, study, owner, coder, capsys):
    put(sentence, find_code(study, "theme.balance"), coder)
    archive(study, [sentence.turn.interview_id], owner)
    call_command("audit", "verify", "--rows")
    assert "missing" not in capsys.readouterr().out.casefold()


def test_a_file_is_not_imported_again_beside_its_archived_interviews(interview, study, owner):
    archive(study, [interview.pk], owner)
    other = json.dumps({"id": "i1", "turns": [{"role": "model", "text": "Another text."}]})
    with pytest.raises(Refused, match="differs"):
        import_file(study=study, name="other.jsonl", data=other.encode(), by=owner)


def test_nothing_of_an_archived_interview_is_sent_to_a_model(stage, study, owner):
    turn = stage.sentence.turn
    arm = Arm.objects.select_related("variant__account", "batch").get(batch=stage.things["batch_id"])
    assert set(render_turn_prompts(arm, [turn.pk])) == {turn.pk}
    archive(study, [turn.interview_id], owner)
    assert render_turn_prompts(arm, [turn.pk]) == {}


def test_archiving_asks_for_a_reason_and_takes_only_interviews_of_the_study(interview, study, owner):
    with pytest.raises(Refused, match="Give a reason"):
        archive_interviews(study=study, interviews=[interview], reason=" ", by=owner)
    with pytest.raises(Refused, match="at least one"):
        archive_interviews(study=study, interviews=[], reason="x", by=owner)
    Interview.objects.filter(pk=interview.pk).update(study=None, standing=Standing.UNDONE)
    with pytest.raises(Refused, match="not part"):
        archive_interviews(study=study, interviews=[interview], reason="x", by=owner)


def test_what_a_file_calls_excluded_comes_in_excluded(study, owner):
    lines = [{"id": "i1", "inclusion": word, "turns": [{"role": "model", "text": "Yes."}]} for word in ["Excluded"]] + [
        {"id": "i2", "inclusion": "included", "turns": [{"role": "model", "text": "Yes."}]}
    ]
    import_file(study=study, name="x.jsonl", data="\n".join(map(json.dumps, lines)).encode(), by=owner)
    assert list(study.every_interview.order_by("pk").values_list("external_id", "standing", "study")) == [
        ("i1", "excluded", None),
        ("i2", "counted", study.pk),
    ]


def test_an_interview_counts_in_no_study_but_its_own(interview, study):
    for change in ({"standing": Standing.ARCHIVED}, {"owning_study": None}):
        with pytest.raises(IntegrityError), transaction.atomic():
            Interview.objects.filter(pk=interview.pk).update(**change)


def test_an_export_of_archived_interviews_unblinds_them(sentence, study, owner, lead, coder):
    put(sentence, find_code(study, "theme.balance"), coder)
    archive(study, [sentence.turn.interview_id], owner)
    visitor, path = Visitor(lead), reverse("exchange:download", args=[study.slug, "codings", "csv"])
    assert visitor.knock(path, "POST").status_code == 200
    assert visitor.knock(path, "POST", "left_out=on").status_code == 409
    assert not lead.unblindings.exists()
    assert visitor.knock(path, "POST", "left_out=on&rows=all").status_code == 200
    assert [each.interview_id for each in lead.unblindings.all()] == [sentence.turn.interview_id]
