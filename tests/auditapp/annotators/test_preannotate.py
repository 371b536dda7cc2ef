"""The command that has a study read."""

import json
from dataclasses import replace
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from auditapp.annotators.models import Annotator, OfflineRun
from auditapp.batches.models import Batch
from tests.auditapp.annotators.cast import OFF_SITE, add_interviews, add_reader, allow, set_rules
from transcripts.codebook.actions import edit_code, publish_version, start_draft
from transcripts.codebook.models import Code
from transcripts.codebook.queries import read_content


def preannotate(study, *more, err=None):
    out = StringIO()
    call_command("annotator", "run", "--study", study.slug, *more, "--json", stdout=out, stderr=err or StringIO())
    return dict(json.loads(out.getvalue()))


@pytest.fixture
def rules(study, owner):
    """A published codebook in which one code has keyword rules."""
    set_rules(study)
    draft = start_draft(study=study, by=owner)
    code = Code.objects.select_related("version__study", "family").get(version=draft, identifier="theme.balance")
    content = next(each for each in read_content(draft).codes if each.identifier == code.identifier)
    edit_code(
        code=code,
        revision=code.revision,
        given=replace(content, keyword_rules=("listen*",)),
        effect="wording",
        reason="x",
        by=owner,
    )
    publish_version(version=draft, by=owner)


def test_a_model_reads_and_everything_is_counted(instance):
    instance.manage("study", "create", "culture", "--name", "Culture")
    turns = [
        {"role": "model", "text": f"I would ask about topic {number} first. Then I listen."} for number in range(25)
    ]
    file = instance.folder / "one.jsonl"
    file.write_text(json.dumps({"id": "one", "turns": turns}), encoding="utf-8")
    instance.manage("interview", "import", str(file), "--study", "culture")
    instance.manage("model", "add", "reader", "--provider", "fake")
    asked = ("--study", "culture", "--annotator", "reader", "--family", "themes", "--pilot", "0")
    found = instance.ask("annotator", "run", *asked, "--wait")
    assert (found["state"], found["cells"], found["turn_answers"], found["turns"]) == ("done", 26, 25, 25)
    assert (found["turns_asked_again"], found["asked_again"]) == (1, 1)
    counted = instance.query("SELECT count(*) FROM annotators_suggestion")
    assert [(found["suggestions"],)] == counted
    assert {"rejected_items", "missing_sentences", "rejected_by_reason", "flagged"} <= found.keys()
    assert (found["annotator"], found["annotator_number"]) == ("reader", 1)


def test_mode_and_latent_make_another_annotator(study):
    add_interviews(study, "one")
    add_reader()
    first = preannotate(study, "--annotator", "reader", "--family", "themes")
    by_code = preannotate(study, "--annotator", "reader", "--family", "themes", "--mode", "code")
    latent = preannotate(study, "--annotator", "reader", "--family", "themes", "--latent", "To compare.")
    assert [each["annotator_number"] for each in (first, by_code, latent)] == [1, 2, 3]
    assert by_code["cells"] > first["cells"]
    newest = Annotator.objects.get(number=3)
    assert (newest.reads_latent, newest.mode) == (True, "family")


def test_a_label_reads_by_family_again_and_what_is_sent_is_told_first(study):
    add_interviews(study, "one")
    add_reader()
    chosen = ("--family", "themes")
    first = preannotate(study, "--annotator", "reader", *chosen)
    by_code = preannotate(study, "--annotator", "reader", *chosen, "--mode", "code")
    err = StringIO()
    again = preannotate(study, "--annotator", "reader", *chosen, err=err)
    assert (again["cells"], again["annotator_number"]) == (first["cells"], 1)
    assert (
        "reader number 1, asked by family, annotates semantic meaning only: 3 cells. 2 of them are sent first, as "
        "a pilot; then the batch waits for approval. To check the annotator, 1 turn is asked a second time; 40 control"
        in err.getvalue()
    )
    assert "reader has never been checked. Check it with manage.py annotator check." in err.getvalue()
    assert preannotate(study, "--annotator", "reader 2", *chosen, err=err)["cells"] == by_code["cells"]
    assert (
        f"reader number 2, asked by code, annotates semantic meaning only: {by_code['cells']} cells." in err.getvalue()
    )


def test_a_check_is_of_the_annotator_that_is_named_and_told_first(study):
    add_interviews(study, "one", answers=30)
    add_reader()
    preannotate(study, "--annotator", "reader", "--family", "themes", "--mode", "code")
    err = StringIO()
    for name, words in (("reader", "reader number 2, asked by family"), ("reader 1", "reader number 1, asked by code")):
        call_command("annotator", "check", "--study", study.slug, "--annotator", name, stdout=StringIO(), stderr=err)
        assert words in err.getvalue()


@pytest.mark.parametrize("name", ["rules", "learnt", "Keyword rules"])
def test_who_asks_nobody_needs_no_check(study, rules, name):
    add_interviews(study, "one")
    preannotate(study, "--annotator", "rules")
    with pytest.raises(CommandError, match=f"{name} needs no check"):
        call_command("annotator", "check", "--study", study.slug, "--annotator", name)


def test_interviews_without_consent_are_left_out_and_counted(study):
    first, _ = add_interviews(study, "one", "two")
    allow(study, first)
    add_reader(**OFF_SITE)
    found = preannotate(study, "--annotator", "reader", "--family", "themes")
    assert (found["interviews_left_out"], found["turns"]) == (1, 2)
    with pytest.raises(CommandError, match="“Talk two”"):
        preannotate(study, "--annotator", "reader", "--interview", "two")


def test_interviews_are_named_by_their_id(study):
    add_interviews(study, "one", "two")
    add_reader()
    assert preannotate(study, "--annotator", "reader", "--interview", "two", "--family", "themes")["turns"] == 2
    with pytest.raises(CommandError, match="no interview nine"):
        preannotate(study, "--annotator", "reader", "--interview", "nine")


def test_rules_need_no_model(study, rules):
    add_interviews(study, "one", "two")
    found = preannotate(study, "--annotator", "rules", "--wait")
    assert (found["state"], found["interviews"], found["turn_answers"], found["sentences"]) == ("done", 2, 2, 8)
    assert found["suggestions_by_code"] == {"theme.balance": 4}
    assert (found["suggestions"], found["rejected_items"], found["missing_sentences"]) == (4, 0, 0)
    assert OfflineRun.objects.get().annotator.kind == "rules"


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["rules"], "keyword rule"),
        (["learnt"], "blind"),
        (["rules", "--mode", "code", "--cap", "1"], "--mode, --cap can be used only with a model"),
        (["rules", "--minimum", "-3"], "--minimum is only for --annotator learnt; rules are not trained"),
        (["nobody", "--minimum", "30"], "--minimum is only for --annotator learnt; a model"),
        (["nobody", "--latent", " "], "--latent needs the reason"),
        (["rules", "--latent", ""], "--latent can be used only with a model"),
        (["nobody"], "no annotator and no model 'nobody'"),
    ],
)
def test_what_cannot_be_read_by_is_refused_in_a_sentence(study, more, words):
    set_rules(study)
    add_interviews(study, "one")
    with pytest.raises(CommandError, match=words):
        preannotate(study, "--annotator", *more)
    assert not Annotator.objects.exists()


def test_people_are_told_in_words(study):
    add_interviews(study, "one")
    add_reader()
    out = StringIO()
    asked = ("annotator", "run", "--study", study.slug, "--annotator", "reader", "--family", "themes")
    call_command(*asked, stdout=out, stderr=StringIO())
    batch = Batch.objects.get()
    address = f"http://127.0.0.1:8000/studies/{study.slug}/batches/{batch.pk}/"
    assert out.getvalue().strip() == (
        f"Batch {batch.pk} was launched with 3 cells, 2 of them in the pilot. After the pilot, it waits for approval. Watch it at "
        f"{address} or with `manage.py batch show {batch.pk}`. `manage.py batch wait {batch.pk}` waits for it, and makes the calls "
        "itself if no worker runs."
    )


@pytest.mark.parametrize(("answers", "named", "pilot"), [(5, (), 2), (99, (), 7), (5, ("--pilot", "0"), 0)])
def test_the_command_has_the_pilot_of_the_page_unless_told_otherwise(study, answers, named, pilot):
    """Two arms: the turns, and the two that are asked again."""
    add_interviews(study, "one", answers=answers)
    add_reader()
    found = preannotate(study, "--annotator", "reader", "--family", "themes", *named)
    assert (found["pilot_cells"], found["state"]) == (pilot, "pilot" if pilot else "running")


def test_a_run_without_a_model_says_where_to_watch_it(study, rules):
    add_interviews(study, "one")
    out = StringIO()
    call_command("annotator", "run", "--study", study.slug, "--annotator", "rules", stdout=out)
    run = OfflineRun.objects.get()
    assert f"/studies/{study.slug}/annotators/runs/{run.pk}/" in out.getvalue()
    assert "0 answers" not in out.getvalue()
