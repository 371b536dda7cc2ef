"""The worked examples once more, stored as a batch with rationales that somebody codes: the page, the API and the command read the
same figures as from a file."""

import io
import json
import uuid

import pytest
from django.core.management import call_command
from django.urls import reverse

from auditapp.batches.kinds import Answered
from auditapp.batches.models import Arm, Cell
from auditapp.benchmarks.gender_cues.actions import store_rationales
from auditapp.benchmarks.gender_cues.models import RationaleTurn, Review
from auditapp.benchmarks.gender_cues.queries import read_report
from auditapp.benchmarks.gender_cues.runner import ProbeKind
from tests.auditapp.benchmarks.gender_cues.test_worked_examples import list_differences
from tests.support.worked_examples import read_example
from transcripts.codebook.actions import start_study
from transcripts.codebook.models import Code
from transcripts.coding.actions import add_coding
from transcripts.formats.codebook_csv import CodeRow, write_codebook
from transcripts.statistics.figures import write_number

pytestmark = pytest.mark.django_db


def store_trials(lines, reviews, variant, template):
    """The trials of a file as cells of ``template`` with their answers; the key of the cell by trial."""
    Cell.objects.filter(batch=template).delete()
    arms = {arm.task: arm for arm in Arm.objects.filter(batch=template)}
    keys = {}
    for place, line in enumerate(lines, 1_000):
        if line["review"] not in keys:
            row = Review.objects.create(review_set=reviews, position=place, text="Invented.", category=line["truth"])
            keys[line["review"]] = row.pk
    cells = {
        line["trial"]: Cell.objects.create(batch=template, arm=arms[line["condition"]], input_id=keys[line["review"]])
        for line in lines
    }
    answered = [
        Answered(cell.pk, cell.arm_id, cell.input_id, line["raw"], "stop", "")
        for line, cell in zip(lines, cells.values(), strict=True)
    ]
    ProbeKind().store_answers(template, answered)
    return {trial: cell.pk for trial, cell in cells.items()}


def start_theme_study(names, owner):
    stream = io.StringIO(newline="")
    rows = [
        CodeRow(code_id=name.lower(), family="themes", family_name="Themes", name=name, unit="turn") for name in names
    ]
    write_codebook(rows, stream)
    file = ("themes.csv", stream.getvalue().encode())
    return start_study(slug="themes", name="Themes", by=owner, codebook="file", file=file)


def test_stored_trials_give_the_tables_of_the_worked_examples_on_page_and_command(
    probe, reviews, variant, study, owner, client_of, capsys
):
    table1, table2 = (read_example(number) for number in ("NC14", "NC15"))
    lines = [json.loads(line) for line in table1["files"]["trials.jsonl"].splitlines()]
    cells = store_trials(lines, reviews, variant, probe)
    report, _ = read_report(probe, user=owner)
    assert list_differences(report, table1["expected"], table1["tolerance"]) == []
    themes = [json.loads(line) for line in table2["files"]["themes.jsonl"].splitlines()]
    coded = start_theme_study({line["theme"] for line in themes}, owner)
    store_rationales(batch=probe, into=coded, by=owner, seed=1)
    codes = {code.name: code for code in Code.objects.filter(version__study=coded).select_related("family", "version")}
    turns = {row.trial_id: row.turn for row in RationaleTurn.objects.select_related("turn")}
    for trial, theme in sorted({(line["trial"], line["theme"]) for line in themes}):
        turn = turns.get(cells[trial])
        if turn is None:
            continue
        sentence = turn.sentences.order_by("position").first()
        assert sentence is not None
        add_coding(study=coded, sentence=sentence, code=codes[theme], by=owner, idempotency_key=uuid.uuid4())
    for axis, expected in table2["expected"].items():
        report, _ = read_report(probe, user=owner, axis=axis)
        assert list_differences(report, expected, table2["tolerance"]) == []
        call_command("probe", "report", "--batch", str(probe.pk), "--axis", axis, "--json")
        assert json.loads(capsys.readouterr().out)["table2"] == report["table2"]
    page = client_of(owner).get(reverse("gender_cues:report", args=[study.slug, probe.pk])).text
    shown = report["table1"]["primed"]["all"]
    assert write_number(shown["difference"], 3) in page
    assert "−0.201" in page
    assert "+0.167" in page
