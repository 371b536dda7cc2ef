"""Two batches compare by what they truly asked: the texts themselves, their targets, how often."""

import json
import re
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from auditapp.batches.launching import LaunchOptions
from auditapp.batches.models import Arm, Batch, Cell
from auditapp.benchmarks.sob.judging.launching import add_wording, launch_sob
from auditapp.benchmarks.sob.models import Judgment
from auditapp.benchmarks.sob.pure.answer_words import ATTRIBUTES
from auditapp.benchmarks.sob.queries import count_repeats, find_schema, hash_asked_texts
from auditapp.benchmarks.sob.report.comparisons import read_comparison
from auditapp.benchmarks.sob.report.stored_reports import read_inputs, read_report, read_texts
from auditapp.benchmarks.sob.report.tasks import compute_report
from auditapp.benchmarks.sob.report.views import reports
from auditapp.benchmarks.sob.texts.actions.derived import retarget_dataset, sample_dataset
from auditapp.benchmarks.sob.texts.actions.loading import load_dataset
from auditapp.benchmarks.sob.texts.actions.tables import save_targets
from auditapp.llm.actions import add_model
from tests.auditapp.api.conftest import Program
from tests.auditapp.benchmarks.sob.conftest import answer_cells
from tests.auditapp.benchmarks.sob.reports import read_again
from transcripts.accounts.actions import create_token
from transcripts.accounts.models import Scope

WHITE = '{"Race": "White"}'


@pytest.fixture
def dataset(study, owner):
    lines = [json.dumps({"text": f"Constructed {number}.", "target": "women"}) for number in range(12)]
    data = "\n".join(lines).encode()
    return load_dataset(study=study, name="Twelve", file_name="t.jsonl", data=data, by=owner)[0]


@pytest.fixture
def variant(owner):
    return add_model(label="model a", provider="fake", by=owner)


@pytest.fixture
def launch(owner, variant):
    def send(dataset, **changes):
        made = launch_sob(dataset=dataset, variants=[variant], tasks=["acceptability"], by=owner, **changes)
        answer_cells(made, ["Person: Unknown"])
        return made

    return send


@pytest.fixture
def program(owner):
    return Program(create_token(user=owner, name="test", by=owner, scopes=Scope.values)[1])


@pytest.fixture
def compare(coder, client_of):
    def read(here, there):
        path = reverse("sob:compare", args=[here.study.slug, here.pk])
        return " ".join(client_of(coder).get(path, {"with": there.pk}).content.decode().split())

    return read


def test_two_draws_from_one_file_are_compared_over_the_texts_of_both(launch, compare, dataset, owner):
    one, other = (sample_dataset(dataset=dataset, name=f"s{seed}", size=8, seed=seed, by=owner) for seed in (5, 42))
    here, there = launch(one), launch(other)
    common = len({text.text for text in one.texts.all()} & {text.text for text in other.texts.all()})
    page = compare(here, there)
    assert 4 <= common < 8
    assert f"{common} texts are common to both and compared. Left out: {8 - common} of batch {here.pk} alone, " in page
    assert "s5, 8 texts asked, drawn: proportional by target, seed 5, 4 rows left out" in page


def test_batches_without_a_common_text_are_not_compared(launch, compare, dataset, owner):
    data = b'{"text": "Another text.", "target": "women"}'
    other = load_dataset(study=dataset.study, name="Other", file_name="o.jsonl", data=data, by=owner)[0]
    page = compare(launch(dataset), launch(other))
    assert "Not comparable." in page
    assert "On the texts of both" not in page


def test_a_model_is_compared_with_another_of_another_batch_on_the_common_texts_alone(variant, dataset, owner, program):
    """Of twelve texts and eight with the same words in another set, the eight count, each with its own repeats and
    interpretations."""
    data = "\n".join(
        json.dumps({"text": f"Constructed {number}.", "target": "men" if number == 4 else "women"})
        for number in range(4, 12)
    )
    part = load_dataset(study=dataset.study, name="Eight", file_name="e.jsonl", data=data.encode(), by=owner)[0]
    here = launch_sob(dataset=dataset, variants=[variant], tasks=["acceptability"], by=owner)
    there = launch_sob(
        dataset=part,
        variants=[add_model(label="model b", provider="fake", by=owner)],
        tasks=["acceptability"],
        options=LaunchOptions(repeats=2),
        by=owner,
    )
    answer_cells(here, ["Person: Unknown"] + [WHITE] * 10 + ["I cannot help with that."])
    answer_cells(there, [WHITE] * 8 + ["Person: Unknown"] * 8, label="model b")
    judgment = Judgment.objects.get(arm__batch=here, text__text="Constructed 4.")
    read_again(judgment, owner, "Person: Unknown")
    found = program.get(f"studies/{dataset.study.slug}/batches/{here.pk}/sob-comparison/{there.pk}/?model=model+a").body
    assert (found["comparable"], found["texts"]) == (
        True,
        {"common": 8, "only_here": 4, "only_there": 0, "other_target": 1},
    )
    overall, women = found["paired"]
    assert (overall["model_a"], overall["batch_a"], overall["model_b"], overall["batch_b"]) == (
        "model a",
        here.pk,
        "model b",
        there.pk,
    )
    # Seven of eight have an answer of both: one says Unknown here, six attribute one; there each text has one in two repeats.
    assert (overall["n_items"], overall["n_left_out"]) == (7, 1)
    assert (overall["mean_a"], overall["mean_b"]) == pytest.approx((6 / 7, 0.5))
    assert (women["target"], women["n_items"], women["mean_a"]) == ("women", 6, 1.0)
    out = StringIO()
    call_command(
        "sob", "compare", "--batch", str(here.pk), "--with", str(there.pk), "--model", "model a", "--json", stdout=out
    )
    assert json.loads(out.getvalue()) == found
    call_command("sob", "compare", "--batch", str(here.pk), "--with", str(there.pk), "--other", "model b", stdout=out)
    assert "8 texts are common; left out: 4 of batch" in out.getvalue()
    named = f"model a (batch {here.pk}) – model b (batch {there.pk}), acceptability"
    assert f"{named}, overall: 0.36 [" in out.getvalue()
    assert " over 7 texts (few); few texts: 7, a verdict needs 10" in out.getvalue()
    assert out.getvalue().endswith("Few: fewer than 10 texts. Nothing is concluded from it.\n")


def test_the_p_of_a_chosen_pair_is_adjusted_over_the_pairs_it_was_chosen_from(dataset, variant, owner):
    variants = [variant, add_model(label="model b", provider="fake", by=owner)]
    here, there = (launch_sob(dataset=dataset, variants=variants, tasks=["acceptability"], by=owner) for _ in range(2))
    for batch, given in ((here, WHITE), (there, "Person: Unknown")):
        for label in ("model a", "model b"):
            answer_cells(batch, [given] * 12, label=label)
    whole = read_comparison(here, there)["paired"]
    chosen = read_comparison(here, there, model="model a", other="model a")["paired"]
    assert chosen == [test for test in whole if test["model_a"] == "model a"]
    # Of two models over all texts and on women: four tests of the same P.
    assert (len(whole), len(chosen)) == (4, 2)
    assert chosen[0]["p_adjusted"] == pytest.approx(4 * chosen[0]["p"])


def test_alarms_and_marks_of_both_batches_are_on_the_comparison(compare, dataset, variant, owner):
    here, there, halved = (
        launch_sob(dataset=dataset, variants=[variant], tasks=["acceptability"], by=owner) for _ in range(3)
    )
    for batch, given in ((here, "Person: Unknown"), (there, "Person: Unknown"), (halved, '{"Race": "any"}')):
        answer_cells(batch, [given] * 12)
    alarm = "model a, acceptability, all texts: answers Unknown to nearly everything"
    page = compare(halved, there)
    assert f"Batch {there.pk}, {alarm}" in page
    assert '<span aria-hidden="true">‡</span>' in page
    assert "‡ marks a score of which strict counting takes away half or more" in page
    both = compare(here, there)
    assert f"Batch {here.pk}, {alarm}" in both
    assert f"Batch {there.pk}, {alarm}" in both
    out = StringIO()
    call_command("sob", "compare", "--batch", str(halved.pk), "--with", str(there.pk), stdout=out)
    assert f"Alarm: Batch {there.pk}, {alarm}" in out.getvalue()


def test_a_model_that_a_batch_does_not_have_is_refused_with_those_it_has(launch, dataset, program, client_of, coder):
    here, there = launch(dataset), launch(dataset)
    path = f"studies/{dataset.study.slug}/batches/{here.pk}/sob-comparison/{there.pk}/?other=model+x"
    answer = program.get(path)
    assert answer.status == 422
    assert f"Batch {there.pk} has no model" in json.dumps(answer.error)
    with pytest.raises(CommandError, match="Its models are: model a"):
        call_command("sob", "compare", "--batch", str(here.pk), "--with", str(there.pk), "--model", "model x")
    page = reverse("sob:compare", args=[here.study.slug, here.pk])
    assert client_of(coder).get(page, {"with": str(there.pk), "other": "model x"}).status_code == 404


def test_the_same_texts_compare_whatever_set_they_lie_in(launch, compare, dataset, owner):
    one, other = (sample_dataset(dataset=dataset, name=name, size=4, seed=5, by=owner) for name in ("a", "b"))
    assert "Comparable." in compare(launch(one), launch(other))


def test_texts_that_a_limit_or_a_stop_left_out_were_not_asked(launch, dataset):
    whole, part, stopped = launch(dataset), launch(dataset, limit=6), launch(dataset)
    Cell.objects.filter(pk__in=list(stopped.cells.values_list("pk", flat=True)[6:])).update(state="cancelled")
    found = [hash_asked_texts(list(batch.arms.values_list("pk", flat=True))) for batch in (whole, part, stopped)]
    assert [texts for texts, _, _ in found] == [12, 6, 6]
    assert len({sha256 for _, sha256, _ in found}) == 3


def test_two_tables_of_targets_are_named_and_break_a_comparison(launch, compare, dataset, owner, coder, client_of):
    table = save_targets(study=dataset.study, rows=[{"raw": "women", "target": "men"}], reason="To see it.", by=owner)
    own = launch(retarget_dataset(dataset=dataset, name="by table", target_table=table, by=owner))
    published = launch(retarget_dataset(dataset=dataset, name="by the paper", by=owner))
    page = compare(own, published)
    assert "Not comparable." in page
    assert "<td>the study&#x27;s own table, table 1</td> <td>the published table</td>".replace("> <", "><") in page
    report = client_of(coder).get(reverse("sob:report", args=[own.study.slug, own.pk])).content.decode()
    assert "as loaded: the study&#x27;s own table, table 1" in report


def test_repeats_are_on_record_and_told_also_where_they_were_not(launch, compare, dataset):
    once, thrice = launch(dataset), launch(dataset, options=LaunchOptions(repeats=3))
    assert (once.parameters["repeats"], thrice.parameters["repeats"]) == (1, 3)
    assert "<td>1</td><td>3</td><td>still comparable</td>" in compare(once, thrice)
    del thrice.parameters["repeats"]
    thrice.save()
    assert count_repeats(thrice) == 3
    assert "<td>1</td><td>3</td><td>still comparable</td>" in compare(once, thrice)


def test_the_base_task_adds_no_characteristics_to_a_schema(launch, compare, dataset, owner):
    add_wording(study=dataset.study, name="caste", based_on="paper", characteristics=["Caste", "Age"], by=owner)
    own = launch(dataset, instrument_variant="caste", include_base=True)
    assert {arm.task: list(find_schema(arm)) for arm in own.arms.all()} == {
        "acceptability": ["caste", "age"],
        "base": [],
    }
    assert find_schema(Arm(settings={})) == ATTRIBUTES
    assert "<td>caste, age</td>" in compare(own, launch(dataset)).replace("<td>age, caste</td>", "<td>caste, age</td>")


def test_while_the_other_batch_is_counted_its_answers_are_told(launch, compare, dataset, monkeypatch):
    here, there = launch(dataset), launch(dataset)
    monkeypatch.setattr(reports, "read_report", lambda inputs: None if inputs.batch == there else read_report(inputs))
    assert "1 answer is being counted" in compare(here, there)


def test_ended_batches_are_compared_by_the_tallies_that_the_worker_stored_with_their_reports(
    launch, compare, dataset, owner
):
    here, there = launch(dataset), launch(dataset)
    fresh = compare(here, there)
    for batch in (here, there):
        Batch.objects.filter(pk=batch.pk).update(state=Batch.State.DONE, finished_at=timezone.now())
        compute_report(batch.pk, {})
    with CaptureQueriesContext(connection) as queries:
        stored = compare(here, there)
    sums = [
        query["sql"] for query in queries if 'SUM("sob_' in query["sql"] or 'SELECT "sob_text"."id"' in query["sql"]
    ]
    assert not sums
    of_fresh, of_stored = (
        re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", page.partition("On the texts of both")[2], re.DOTALL)
        for page in (fresh, stored)
    )
    assert len(of_fresh) > 10
    assert of_stored == of_fresh


def test_a_later_interpretation_counts_in_the_next_comparison(launch, dataset, owner):
    batch = launch(dataset)
    Batch.objects.filter(pk=batch.pk).update(state=Batch.State.DONE, finished_at=timezone.now())
    batch.refresh_from_db()
    before = read_texts(read_inputs(batch))["sums"]
    judgment = Judgment.objects.filter(cell__batch=batch).order_by("pk")[0]
    read_again(judgment, owner, WHITE)
    after = read_texts(read_inputs(batch))["sums"]
    [of_arm] = before
    assert sum(after[of_arm][1]) == sum(before[of_arm][1]) + 1
