"""Pages and commands of experiments: what is locked, loaded, drawn and shown, and what a file of figures holds."""

import csv
import json
from io import StringIO

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.urls import reverse

from auditapp.benchmarks.experiments.models import Experiment
from auditapp.benchmarks.experiments.queries import read_report
from tests.auditapp.benchmarks.experiments.test_experiments import PLAN, SCALES, UNITS
from tests.support.instance import ROOT
from transcripts.audit_trail.models import AuditEvent

pytestmark = pytest.mark.django_db


def lock(client, study, plan=PLAN, name="asking"):
    file = SimpleUploadedFile("plan.json", json.dumps(plan).encode())
    return client.post(reverse("experiments:list", args=[study.slug]), {"name": name, "plan": file})


def load(client, experiment, text=UNITS):
    address = reverse("experiments:load", args=[experiment.study.slug, experiment.pk])
    return client.post(address, {"file": SimpleUploadedFile("units.csv", text.encode())})


def test_a_lead_locks_a_plan_loads_units_and_reads_the_differences(study, lead, client_of):
    client = client_of(lead)
    assert lock(client, study).status_code == 302
    experiment = Experiment.objects.get()
    assert load(client, experiment).status_code == 302

    page = client.get(reverse("experiments:show", args=[study.slug, experiment.pk])).content.decode()

    assert "1 of 1" in page
    assert "2 of 2, 0 of 1" in page
    assert "Draw the sample" in page


def test_what_is_wrong_with_a_file_is_said_beside_the_form(study, lead, client_of):
    client = client_of(lead)
    refused = lock(client, study, {**PLAN, "variant": "old"})
    assert refused.status_code == 422
    assert "two different arms" in refused.content.decode()
    lock(client, study)

    answer = load(client, Experiment.objects.get(), "unit,arm\nu1,old\nu1,new")

    assert answer.status_code == 422
    assert "line 3: found the unit of line 2 again" in answer.content.decode()
    broken = load(client, Experiment.objects.get(), "unit,arm\nu1,\x00")
    assert broken.status_code == 422
    binary = client.post(
        reverse("experiments:load", args=[study.slug, Experiment.objects.get().pk]),
        {"file": SimpleUploadedFile("units.csv", b"unit,arm\n\xff\xfe,old\n")},
    )
    assert binary.status_code == 422


def test_the_list_of_the_sample_tells_no_arm(study, lead, client_of):
    client = client_of(lead)
    lock(client, study)
    experiment = Experiment.objects.get()
    load(client, experiment)
    drawn = client.post(
        reverse("experiments:draw", args=[study.slug, experiment.pk]), {"per_arm": "1", "seed": "3"}, follow=True
    )

    listed = client.post(reverse("experiments:sample", args=[study.slug, experiment.pk])).content.decode()

    assert "2 units were drawn by seed 3" in drawn.content.decode()
    assert next(csv.reader(StringIO(listed))) == ["place", "unit"]
    assert "old" not in listed
    assert "new" not in listed


def test_a_unit_that_looks_like_a_formula_is_no_formula_in_the_list(study, lead, client_of):
    client = client_of(lead)
    lock(client, study)
    experiment = Experiment.objects.get()
    load(client, experiment, 'unit,arm\n"=1+1",old\nu2,new')
    client.post(reverse("experiments:draw", args=[study.slug, experiment.pk]), {"per_arm": "1", "seed": "3"})

    listed = client.post(reverse("experiments:sample", args=[study.slug, experiment.pk])).content.decode()

    assert "'=1+1" in listed


def test_a_coder_sees_nothing_of_an_experiment(study, lead, coder, client_of):
    lock(client_of(lead), study)
    client = client_of(coder)

    assert client.get(reverse("experiments:list", args=[study.slug])).status_code == 403
    assert "Experiments" not in client.get(reverse("studies:home", args=[study.slug])).content.decode()


@pytest.mark.parametrize("form", ["csv", "json", "tex"])
def test_the_figures_come_as_files(study, lead, client_of, form):
    client = client_of(lead)
    lock(client, study)
    experiment = Experiment.objects.get()
    load(client, experiment)

    text = client.post(reverse("experiments:download", args=[study.slug, experiment.pk, form])).content.decode()

    if form == "csv":
        (first, *_) = csv.DictReader(StringIO(text))
        assert (first["variant_yes"], first["baseline_n"], first["difference"]) == ("2", "1", "1.0")
        assert first["plan_sha256"] == experiment.sha256
    elif form == "json":
        assert json.loads(text)["effect"]["variant"] == [2, 2]
    else:
        assert "2 of 2" in text
        assert r"\begin{tabular}" in text
    assert AuditEvent.objects.filter(action="experiments.downloaded").count() == 1
    assert client.post(reverse("experiments:download", args=[study.slug, experiment.pk, "exe"])).status_code == 404


def test_the_commands_lock_load_and_report(study, tmp_path):
    (tmp_path / "plan.json").write_text(json.dumps(PLAN, indent=1))
    (tmp_path / "units.csv").write_text(UNITS)

    def run(*words):
        out = StringIO()
        call_command(*words, "--json", stdout=out)
        return json.loads(out.getvalue())

    of_study = ("--study", study.slug, "--experiment", "asking first")
    run("experiment", "lock", str(tmp_path / "plan.json"), "--study", study.slug)
    assert run("experiment", "load", str(tmp_path / "units.csv"), *of_study)["new"] == 4
    from_files = run("experiment", "report", str(tmp_path / "units.csv"), "--plan", str(tmp_path / "plan.json"))
    assert run("experiment", "report", *of_study) == from_files | {"loads": 1}
    (tmp_path / "plan.json").write_text(json.dumps({**PLAN, "others": []}))
    with pytest.raises(CommandError, match="not the plan"):
        run("experiment", "load", str(tmp_path / "units.csv"), "--plan", str(tmp_path / "plan.json"), *of_study)
    with pytest.raises(CommandError, match="Give UNITS"):
        run("experiment", "report", str(tmp_path / "units.csv"))


def test_the_command_prints_numbers_as_pages_do(tmp_path):
    (tmp_path / "plan.json").write_text(json.dumps(PLAN))
    (tmp_path / "units.csv").write_text(UNITS)
    out = StringIO()

    call_command("experiment", "report", str(tmp_path / "units.csv"), "--plan", str(tmp_path / "plan.json"), stdout=out)

    assert "new minus old: 2 of 2 against 0 of 1, difference +1.000 (–), few" in out.getvalue()
    assert "north: 1 of 1 against 0 of 1, difference +1.000 (" in out.getvalue()


def test_a_page_of_numbers_has_means_bounds_and_the_test_between_groups(study, lead, client_of):
    client = client_of(lead)
    lock(client, study, SCALES)
    experiment = Experiment.objects.get()
    lines = [
        f"{arm}{group}{n},{arm},{group},{1 + n % 7},{60 + n},{n % 2}"
        for arm in ("old", "new")
        for group in ("north", "south")
        for n in range(12)
    ]
    heads = "unit,arm,group,outcome,minutes,escalated"
    assert load(client, experiment, "\n".join([heads, *lines, "lost,old,north,,,"])).status_code == 302
    address = reverse("experiments:show", args=[study.slug, experiment.pk])

    page = client.get(address).content.decode()

    assert "alliance</bdi> (1 to 7), <bdi>minutes</bdi>" in page
    assert "mean 3.583 (SD 1.886, n 24)" in page
    assert "Each group is tested against 0. Whether the effects in the 2 groups differ from one another" in page
    assert "1 of 25 (4.0 %)" in page
    # The one that is missing is of the baseline: 1 at the lowest and 7 at the highest.
    assert "−0.137 to +0.103" in page
    assert "Where a few numbers are much larger than the others, as with durations" in page
    assert page.count("<figure") >= 3, "each number and the shares have a chart of their own"
    assert "loads, and the differences could be read" not in page
    load(client, experiment, f"{heads}\nlost,old,north,4,1,1")
    assert (
        "The units came in 2 loads, and the differences could be read after each."
        in client.get(address).content.decode()
    )
    download = reverse("experiments:download", args=[study.slug, experiment.pk, "csv"])
    first, *_, minutes, escalated = csv.DictReader(StringIO(client.post(download).content.decode()))
    assert (first["variant_yes"], first["variant_n"], first["variant_mean"][:6]) == ("", "24", "3.5833")
    assert (first["bounds_ci_low"], first["p_groups_differ"], minutes["bounds_low"]) != ("", "", "")
    assert (escalated["variant_mean"], escalated["variant_yes"]) == ("", "12")


EXAMPLES = ROOT / "docs" / "examples"


def test_the_examples_of_the_help_work_as_they_are(study, lead, client_of):
    client = client_of(lead)
    plan = (EXAMPLES / "experiment-plan.json").read_bytes()
    address = reverse("experiments:list", args=[study.slug])
    locked = client.post(address, {"name": "Tried out", "plan": SimpleUploadedFile("experiment-plan.json", plan)})
    assert locked.status_code == 302
    experiment = Experiment.objects.get()

    loaded = load(client, experiment, (EXAMPLES / "experiment-units.csv").read_text(encoding="utf-8"))
    drawn = client.post(
        reverse("experiments:draw", args=[study.slug, experiment.pk]), {"per_arm": "3", "seed": "1"}, follow=True
    ).content.decode()

    assert loaded.status_code == 302
    assert "6 units were drawn by seed 1" in drawn
    report = read_report(experiment)
    assert {arm: own["assigned"] for arm, own in report["arms"].items()} == {"answers at once": 12, "asks first": 12}
    assert list(report["groups"]) == ["north", "south"]
    assert report["others"]["sent on to a person"]["p_holm"] is not None
