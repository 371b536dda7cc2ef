import datetime
import hashlib
import json

import pytest
from django.utils import timezone

from tests.transcripts.coding.cast import decide
from transcripts.codebook.actions import add_code, pin_example, publish_version, start_draft
from transcripts.codebook.models import Code, CodebookVersion
from transcripts.codebook.queries import current_version
from transcripts.coding.actions import open_stage
from transcripts.corpus.actions import import_file
from transcripts.corpus.changes import edit_details
from transcripts.corpus.models import ImportedFile, Interview, Sentence, Turn
from transcripts.formats.codebook_rules import CodeContent
from transcripts.studies.actions import create_study

pytestmark = pytest.mark.django_db


@pytest.fixture
def program(study, coder, program_of):
    return program_of(coder)


def test_a_study_tells_its_name_and_what_one_may_do_in_it(program, study):
    found = program.get("studies/culture/").body
    assert found.pop("created_at").endswith("Z")
    assert found == {
        "slug": "culture",
        "name": study.name,
        "description": "",
        "role": "coder",
        "permissions": ["code", "export", "view"],
    }
    listed = program.get("studies/").body["results"]
    assert [{**row, "created_at": None} for row in listed] == [{**found, "created_at": None}]


def test_only_ones_own_studies_are_listed(program, owner):
    create_study(slug="hidden", name="Hidden", by=owner)
    found = program.get("studies/").body
    assert (found["count"], [row["slug"] for row in found["results"]]) == (1, ["culture"])


def test_an_interview_tells_what_is_known_of_it(program, interview):
    found = program.get(f"studies/culture/interviews/{interview.pk}/").body
    assert found["id"] == interview.pk
    assert (found["external_id"], found["title"], found["model"]) == ("i1", "First interview", "Model A")
    assert (found["turns"], found["sentences"]) == (4, interview.sentence_count)
    assert (found["questions"], found["author_words"]) == (interview.questions, interview.author_words)
    assert (found["file"], found["file_sha256"]) == ("interviews.jsonl", interview.imported_file.sha256)
    assert found["metadata"] == interview.metadata


def test_the_list_of_interviews_tells_the_same_in_brief(program, interview):
    whole = program.get(f"studies/culture/interviews/{interview.pk}/").body
    [row] = program.get("studies/culture/interviews/").body["results"]
    assert row == {name: whole[name] for name in row}
    assert {"id", "external_id", "title", "model", "sentences"} <= set(row)


def test_sentences_come_in_order_with_their_exact_text(program, interview):
    found = program.get(f"studies/culture/interviews/{interview.pk}/sentences/").body
    assert found["count"] == interview.sentence_count
    stored = Sentence.objects.filter(turn__interview=interview).select_related("turn").order_by("position")
    assert found["results"] == [
        {
            "id": sentence.pk,
            "turn": sentence.turn.position,
            "position": sentence.position,
            "role": sentence.turn.role,
            "channel": "utterance",
            "start": sentence.start,
            "end": sentence.end,
            "kind": sentence.kind,
            "text": sentence.read_text(),
            "closed": False,
        }
        for sentence in stored
    ]


def test_text_is_cut_by_code_points(program, study, owner):
    text = "Ja 👩‍👩‍👧 und 𝔘. Zweitens e\u0301; נכון?\r\nDrittens."
    line = json.dumps({"id": "astral", "turns": [{"role": "model", "text": text}]}).encode()
    import_file(study=study, name="astral.jsonl", data=line, by=owner)
    turn = Turn.objects.get(interview__external_id="astral")
    found = program.get(f"studies/culture/interviews/{turn.interview_id}/sentences/").body["results"]
    assert len(found) > 1
    for row in found:
        assert row["text"] == turn.text[row["start"] : row["end"]]


def test_the_codebook_is_the_latest_published_version(program, study):
    version = current_version(study)
    assert version is not None
    CodebookVersion.objects.create(study=study, number=2, title="Draft", created_at=version.created_at)
    found = program.get("studies/culture/codebook/").body
    assert (found["number"], found["title"], found["origin"]) == (1, version.title, version.origin)
    codes = [code for family in found["families"] for code in family["codes"]]
    assert [code["identifier"] for code in codes] == list(
        Code.objects.filter(version=version)
        .order_by("family__position", "position")
        .values_list("identifier", flat=True)
    )
    themes = found["families"][0]
    assert themes["codes"][0]["definition"]
    assert themes["codes"][0]["machine_definition"]
    assert {family["unit"] for family in found["families"]} == {"sentence", "turn"}


def test_the_codebook_tells_places_questions_and_pinned_sentences(program, study, owner, coder, sentence):
    draft = start_draft(study=study, by=owner)
    theme = draft.codes.get(identifier="theme.balance")
    given = CodeContent(identifier="", family="themes", parent="theme.balance", name="Child", terms=("t",))
    add_code(version=draft, given=given, by=owner)
    pin_example(version=draft, code=theme, sentence=sentence, kind="anchor", note="so", by=owner)
    bracket = draft.codes.get(identifier="move.bracket")
    bracket.attributes = [bracket.attributes[0] | {"required": True}, *bracket.attributes[1:]]
    bracket.save(update_fields=["attributes"])
    publish_version(version=draft, by=owner)
    found = program.get("studies/culture/codebook/").body
    codes = {code["identifier"]: code for family in found["families"] for code in family["codes"]}
    assert (codes["theme.child"]["parent"], codes["theme.child"]["terms"]) == ("theme.balance", ["t"])
    assert (codes["theme.child"]["meaning_version"], codes["theme.balance"]["meaning_version"]) == (2, 1)
    assert codes["theme.balance"]["parent"] is None
    questions = [(each["key"], each["required"]) for each in codes["move.bracket"]["attributes"]]
    assert questions == [("duration", True), ("justification", False)]
    assert found["families"][0]["rules"]
    assert {(each["code"], each["kind"]) for each in found["examples"] if each["sentence"] is None} >= {
        ("theme.balance", "include"),
        ("theme.balance", "exclude"),
    }
    assert [each for each in found["examples"] if each["sentence"]] == []
    decide(sentence, coder)
    found = program.get("studies/culture/codebook/").body
    assert [each for each in found["examples"] if each["sentence"]] == [
        {"code": "theme.balance", "kind": "anchor", "sentence": sentence.pk, "text": "I would ask first.", "note": "so"}
    ]


def test_a_study_without_a_published_codebook_says_so(owner, program_of):
    create_study(slug="empty", name="Empty", by=owner)
    answer = program_of(owner).get("studies/empty/codebook/")
    assert answer.status == 404
    assert "no published codebook" in answer.error["message"]
    refused = program_of(owner).post(
        "studies/empty/codings/", {"sentence": 1, "code": "theme.balance", "idempotency_key": "0" * 32}
    )
    assert refused.status == 422


def test_turns_come_with_the_traffic_of_tools(program, interview):
    interview.turns.filter(position=2).update(channel="tool_call", call_id="c1", details={"step": 3})
    turns = program.get(f"studies/culture/interviews/{interview.pk}/turns/").body["results"]
    assert [turn["position"] for turn in turns] == [1, 2, 3, 4]
    assert (turns[1]["channel"], turns[1]["call_id"], turns[1]["details"]) == ("tool_call", "c1", {"step": 3})
    assert [turn["text"] for turn in turns] == list(interview.turns.order_by("position").values_list("text", flat=True))


def test_a_whole_study_is_read_by_following_next(program, interview):
    found, path = [], "studies/culture/sentences/?limit=2"
    while path:
        page = program.get(path).body
        assert len(page["results"]) <= 2
        found += [(row["interview"], row["id"], row["text"]) for row in page["results"]]
        path = (page["next"] or "").partition("/api/v1/")[2]
    assert len(found) == interview.sentence_count
    assert len({pk for _, pk, _ in found}) == len(found)


def test_interviews_are_narrowed_to_trajectories(program, interview):
    path = "studies/culture/interviews/"
    assert program.get(f"{path}?kind=trajectory").body["count"] == 0
    Interview.objects.update(kind="trajectory")
    assert program.get(f"{path}?kind=trajectory").body["count"] == 1
    assert program.get(f"{path}?kind=other").status == 400


def test_interviews_are_narrowed_by_their_run_their_file_and_since_when(study, owner, reader, program_of):
    lines = [
        {
            "id": name,
            "kind": "trajectory",
            "run": {"task": task, "epoch": 1},
            "turns": [{"role": "model", "text": "So."}],
        }
        for name, task in (("x", "files"), ("y", "mail"))
    ]
    data = "\n".join(json.dumps(line) for line in lines).encode()
    import_file(study=study, name="runs.jsonl", data=data, by=owner)
    program, path = program_of(reader), f"studies/{study.slug}/interviews/"

    def find(**query):
        return [row["external_id"] for row in program.get(path, **query).body["results"]]

    assert find(task="files") == ["x"]
    assert find(task="files", epoch="2") == []
    assert find(file_sha256=hashlib.sha256(data).hexdigest()) == ["x", "y"]
    now = timezone.now()
    assert find(since=now.strftime("%Y-%m-%dT%H:%M:%S.%fZ")) == []
    ImportedFile.objects.update(imported_at=now - datetime.timedelta(days=1))
    changed = Interview.objects.get(external_id="y")
    edit_details(study=study, interview=changed, values={"title": "Mail"}, kinds={}, reason="A title.", by=owner)
    assert find(since=now.strftime("%Y-%m-%dT%H:%M:%S.%fZ")) == ["y"]


def test_reasoning_is_closed_to_whoever_codes_until_she_opens_it_at_the_desk(study, owner, coder, reader, program_of):
    line = {
        "id": "run",
        "turns": [
            {"role": "model", "channel": "reasoning", "text": "Hm.", "details": {"other": {"thoughts": "Hm, hm."}}},
            {"role": "model", "text": "Yes."},
        ],
    }
    import_file(study=study, name="run.jsonl", data=json.dumps(line).encode(), by=owner)
    interview = Interview.objects.get(external_id="run")
    path = f"studies/{study.slug}/interviews/{interview.pk}/"

    def read(person, address):
        return [(row["text"], row["closed"]) for row in program_of(person).get(address).body["results"]]

    for address in (f"{path}turns/", f"{path}sentences/", f"studies/{study.slug}/sentences/"):
        assert read(coder, address)[-2:] == [("", True), ("Yes.", False)]
        assert read(reader, address)[-2:] == [("Hm.", False), ("Yes.", False)]
    assert program_of(coder).get(f"{path}turns/").body["results"][0]["details"] == {}
    open_stage(study=study, turn=interview.turns.get(position=1), by=coder)
    assert read(coder, f"{path}turns/") == [("Hm.", False), ("Yes.", False)]
