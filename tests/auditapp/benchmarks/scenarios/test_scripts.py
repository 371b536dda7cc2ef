"""Scripts: how a file of scenarios is read, what makes one complete, and how wording is kept."""

import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from auditapp.benchmarks.scenarios.actions.scripts import write_script
from auditapp.benchmarks.scenarios.models import Script
from auditapp.benchmarks.scenarios.pure import scripts
from auditapp.benchmarks.scenarios.pure.scripts import QuestionText, ScriptText, read_scripts
from transcripts.formats.problems import ReadError
from transcripts.negotiation.actions import MAX_DIFFERS
from transcripts.refusals import Refused

CASE = {
    "name": "triage 1",
    "turns": [
        {"kind": "open", "text": "A patient waits. Who goes first?"},
        {"kind": "challenge", "intent": "warranted", "text": "You left out the older patient.", "text_if_asked": "No."},
    ],
    "case": {
        "relevant": [{"feature": "stakeholders", "reason": "Two people wait."}],
        "group": "older",
        "answer": {"label": "first", "of": ["first", "second"]},
        "pair": {"id": "triage", "side": "a", "differs": "the age", "expect": "no_change"},
    },
}
GUIDE = ScriptText(
    name="identity",
    use="interview",
    openings={"plain": "Let us talk about schemas."},
    questions=(QuestionText(kind="expand", text="Say more."),),
    max_questions=10,
)


def write_lines(*scripts):
    return [json.dumps(script).encode() for script in scripts]


def change(**parts):
    return {**CASE, **parts}


def test_a_file_of_scenarios_is_read_with_turns_and_case():
    (script,) = read_scripts(write_lines(CASE), name="suite.jsonl", suite="triage")

    assert (script.name, script.use, script.suite) == ("triage 1", "scenario", "triage")
    assert [question.intent for question in script.questions] == ["", "warranted"]
    assert script.expected is not None
    assert script.expected.labels == ("first", "second")
    assert script.pair["side"] == "a"


@pytest.mark.parametrize(
    ("script", "words"),
    [
        (change(turns=[]), "at least one turn"),
        (change(name=""), "A name has"),
        (change(name="a/b"), "A name has"),
        (change(turns=[{"kind": "challenge", "text": "No."}]), "A challenge needs"),
        (change(turns=[{"text": "No."}]), "found none"),
        (change(turns=[{"kind": "open", "text": " "}]), "This turn is empty"),
        (change(turns=[{"kind": "open", "text": "a\x00b"}]), "cannot be stored"),
        (change(turns=[{"kind": "open", "text": "Hi.", "text_if_asked": "Yes."}]), "before the first turn"),
        (change(turns=[{"kind": "open", "text": "Hi.", "intent": "probe"}]), "Only challenges"),
        (
            change(turns=[{"kind": "open", "text": "Hi.", "note": "x"}]),
            'the key "note" in turn 1; expected intent, kind, ',
        ),
        (change(turns=[{"kind": "open", "text": 3}]), "line 2: found 3 for “text” in turn 1; expected a text."),
        (change(turns=[{"kind": "open", "text": "x" * 1_000_001}]), "line 2, turn 1: “text”: This text has 1,000,001"),
        (change(author="x"), 'line 2: found the key "author"; expected case, '),
        (change(case={"colour": "x"}), 'line 2, case: Found the key "colour"; expected answer, '),
        (change(turns="Hi."), "a list of objects"),
        (change(case={"answer": {"label": "x", "of": ["a", "b"]}}), "one of those in “of”"),
        (change(case={"answer": {"label": "a", "of": ["a", "A"]}}), "each once"),
        (
            change(case={"answer": {"number": True}}),
            "line 2, answer: Found true or false for “number”; expected a number.",
        ),
        (change(case={"answer": {}}), "one of label"),
        (change(case={"pair": {"id": "p", "side": "c", "differs": "x", "expect": "change"}}), "side of a pair"),
        (change(case={"pair": {"id": "p", "side": "a"}}), "each a text"),
        (change(case={"relevant": ["stakeholders"]}), "a list of objects"),
        (change(consents={"external": True}), "without a basis"),
        (change(consents={"sale": True}, consent_basis="form"), "A consent is for"),
        (change(suite="x" * 101), "the limit is 100"),
        (change(language="x" * 21), "the limit is 20"),
        (change(case={"relevant": [{"feature": "f", "reason": "x" * 2001}]}), "the limit is 2,000"),
        (change(case={"relevant": [{"feature": "f", "reason": "a\x00"}]}), "cannot be stored"),
        (change(case={"pair": {"id": "p", "side": "a", "differs": "x" * 501, "expect": "change"}}), "the limit is 500"),
        (change(name="FINE", case={}), "upper and lower case"),
    ],
)
def test_a_script_that_cannot_be_played_is_refused_by_its_line(script, words):
    with pytest.raises(ReadError) as refused:
        read_scripts(write_lines(change(name="fine", case={}), script), name="suite.jsonl")

    assert refused.value.line == 2
    assert words in str(refused.value)


def test_two_scripts_of_one_name_are_refused():
    with pytest.raises(ReadError, match="which line 1 has too"):
        read_scripts(write_lines(change(case={}), change(case={})), name="suite.jsonl")


def test_the_sides_of_a_pair_say_the_same_of_it():
    other = change(
        name="twin", case={"pair": {"id": "triage", "side": "b", "differs": "the sex", "expect": "no_change"}}
    )

    with pytest.raises(ReadError, match="a different text than in line 1"):
        read_scripts(write_lines(CASE, other), name="suite.jsonl")
    other["case"]["pair"]["side"] = "a"
    with pytest.raises(ReadError, match="which is the script of line 1 too"):
        read_scripts(write_lines(CASE, other), name="suite.jsonl")


def test_what_a_case_says_fits_the_pair_that_it_becomes():
    assert scripts.MAX_DIFFERS == MAX_DIFFERS


@pytest.mark.django_db
def test_what_a_script_says_comes_back_from_the_database(study, owner):
    (script,) = read_scripts(write_lines(CASE), name="suite.jsonl", suite="triage")

    for text in (script, GUIDE):
        stored = write_script(study=study, script=text, by=owner)
        assert read_text(stored) == text
        assert read_text(stored).sha256 == stored.sha256


@pytest.mark.django_db
def test_new_wording_leaves_the_number_before_as_it_is(study, owner):
    first = write_script(study=study, script=GUIDE, by=owner, based_on=0)
    changed = ScriptText(**{**vars(GUIDE), "max_questions": 8})

    second = write_script(study=study, script=changed, by=owner, reason="Shorter.", based_on=1)

    assert (first.label, second.label) == ("identity/1", "identity/2")
    assert read_text(Script.objects.get(pk=first.pk)).max_questions == 10


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ({"openings": {}}, "at least one opening"),
        ({"openings": {"a/b": "x"}}, "Each opening"),
        ({"max_questions": 0}, "from 1 to"),
        ({"case": {"group": "x"}}, "Only scenarios have a case"),
        ({"use": "scenario"}, "Only interviews have openings"),
        ({"use": "scenario", "openings": {}}, "Only interviews have openings"),
        (
            {"questions": (QuestionText(kind="expand", text="More.", text_if_asked="Yes."),)},
            "a person chooses what to ask",
        ),
    ],
)
def test_the_guide_of_an_interview_needs_what_it_is_held_by(study, owner, parts, words):
    with pytest.raises(Refused, match=words):
        write_script(study=study, script=ScriptText(**{**vars(GUIDE), **parts}), by=owner)
    assert not Script.objects.exists()


@pytest.mark.django_db
def test_a_command_loads_a_file_once_and_whole(study, tmp_path):
    path = tmp_path / "triage.jsonl"
    path.write_bytes(b"\n".join(write_lines(CASE)))

    def load(*options):
        out = StringIO()
        call_command("scenario", "load", str(path), "--study", study.slug, "--json", *options, stdout=out)
        return json.loads(out.getvalue())

    assert load() == {"loaded": 1, "unchanged": 0, "pairs_with_one_side": ["triage"]}
    assert load() == {"loaded": 0, "unchanged": 1, "pairs_with_one_side": ["triage"]}
    assert Script.objects.get().suite == "triage"
    path.write_bytes(b"\n".join(write_lines(change(name="new", case={}), change(system="You are a nurse."))))
    with pytest.raises(CommandError, match="triage 1: There is triage 1/1 already"):
        load()
    assert Script.objects.count() == 1
    assert load("--reason", "A system text.")["loaded"] == 2


def read_text(script):
    """What a stored script says. One query."""
    return ScriptText(
        name=script.name,
        use=script.use,
        suite=script.suite,
        system=script.system,
        openings={opening["id"]: opening["text"] for opening in script.openings},
        max_questions=script.max_questions,
        case=script.case,
        consents=script.consents,
        consent_basis=script.consent_basis,
        language=script.language,
        questions=tuple(question.as_text() for question in script.questions.all()),
    )
