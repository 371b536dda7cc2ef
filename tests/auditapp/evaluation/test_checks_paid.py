"""Checks of paid models whose answers hang on order, name or chance, through the whole engine."""

import json

import pytest

from tests.auditapp.batches.cast import add_model
from tests.auditapp.evaluation.cast import write_interview

pytestmark = pytest.mark.processes

TURNS = 4
CONDITIONS = 6


def run_check(instance, provider, part):
    """A check of a model of ``tests.support.biased_models``; what the command prints."""
    provider.order(reset=True, pretends=part)
    asked = ("--study", "culture", "--annotator", "m", "--family", "themes", "--sample", "20", "--wait")
    return dict(instance.ask("annotator", "check", *asked))


@pytest.mark.full
def test_each_model_fails_the_check_that_is_about_it_and_every_call_is_made(instance, fake_provider):
    instance.manage("study", "create", "culture", "--name", "Culture")
    file = instance.folder / "marked.jsonl"
    file.write_text(json.dumps(write_interview("marked", turns=TURNS + 1)), encoding="utf-8")
    instance.manage("interview", "import", str(file), "--study", "culture")
    add_model(instance, fake_provider, "m")
    failed = {}
    for part in ("name", "first", "fickle"):
        found = run_check(instance, fake_provider, part)
        assert (found["state"], found["kind"]) == ("done", "preannotation_check")
        assert found["cells"] == TURNS * CONDITIONS
        # Three of the questions are the same to the letter: an earlier answer would have saved their calls.
        assert fake_provider.stats()["answered"] == found["cells"]
        verdicts = found["check"]["verdicts"]
        failed[part] = {name for name, verdict in verdicts.items() if verdict["state"] == "look"}
    assert failed["name"] == {"generic", "swapped"}
    assert failed["first"] >= {"order", "rates"}
    assert failed["fickle"] == {"stability"}
