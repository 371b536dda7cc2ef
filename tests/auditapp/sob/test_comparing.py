"""Two batches compare by what they truly asked: the texts themselves, their targets, how often."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from django.test import Client
from django.urls import reverse

from auditapp.batches.launching import LaunchOptions
from auditapp.batches.models import Arm, Batch, Cell
from auditapp.llm.actions import add_model
from auditapp.llm.models import ModelVariant
from auditapp.sob.judging.actions.launching import launch_sob
from auditapp.sob.judging.actions.wordings import add_wording
from auditapp.sob.models import Dataset
from auditapp.sob.pure.parsing import ATTRIBUTES
from auditapp.sob.queries.arms import find_schema
from auditapp.sob.report.requests import read_report
from auditapp.sob.report.views import opening
from auditapp.sob.tables.actions import save_targets
from auditapp.sob.texts.actions.datasets import load_dataset
from auditapp.sob.texts.actions.derived import retarget_dataset, sample_dataset
from auditapp.sob.texts.queries import count_repeats, hash_asked_texts
from tests.auditapp.sob.conftest import answer_cells
from transcripts.accounts.models import User
from transcripts.projects.models import Project

ClientOf = Callable[[User], Client]
Launch = Callable[..., Batch]


@pytest.fixture
def dataset(project: Project, owner: User) -> Dataset:
    lines = [json.dumps({"text": f"Constructed {number}.", "target": "women"}) for number in range(12)]
    data = "\n".join(lines).encode()
    return load_dataset(project=project, name="Twelve", file_name="t.jsonl", data=data, by=owner)[0]


@pytest.fixture
def variant(owner: User) -> ModelVariant:
    return add_model(label="model a", provider="fake", by=owner)


@pytest.fixture
def launch(owner: User, variant: ModelVariant) -> Launch:
    def send(dataset: Dataset, **changes: object) -> Batch:
        made = launch_sob(dataset=dataset, variants=[variant], tasks=["acceptability"], by=owner, **changes)  # type: ignore[arg-type]
        answer_cells(made, ["Person: Unknown"])
        return made

    return send


@pytest.fixture
def compare(coder: User, client_of: ClientOf) -> Callable[[Batch, Batch], str]:
    def read(here: Batch, there: Batch) -> str:
        path = reverse("sob:compare", args=[here.project.slug, here.pk])
        return " ".join(client_of(coder).get(path, {"with": there.pk}).content.decode().split())

    return read


def test_two_draws_from_one_file_are_not_the_same_texts(
    launch: Launch, compare: Callable[[Batch, Batch], str], dataset: Dataset, owner: User
) -> None:
    one, other = (sample_dataset(dataset=dataset, name=f"s{seed}", size=4, seed=seed, by=owner) for seed in (5, 42))
    page = compare(launch(one), launch(other))
    assert "Not comparable." in page
    assert "s5, 4 texts asked, drawn: proportional by target, seed 5, 8 rows left out" in page


def test_the_same_texts_compare_whatever_set_they_lie_in(
    launch: Launch, compare: Callable[[Batch, Batch], str], dataset: Dataset, owner: User
) -> None:
    one, other = (sample_dataset(dataset=dataset, name=name, size=4, seed=5, by=owner) for name in ("a", "b"))
    assert "Comparable." in compare(launch(one), launch(other))


def test_texts_that_a_limit_or_a_stop_left_out_were_not_asked(launch: Launch, dataset: Dataset) -> None:
    whole, part, stopped = launch(dataset), launch(dataset, limit=6), launch(dataset)
    Cell.objects.filter(pk__in=list(stopped.cells.values_list("pk", flat=True)[6:])).update(state="cancelled")
    found = [hash_asked_texts(list(batch.arms.values_list("pk", flat=True))) for batch in (whole, part, stopped)]
    assert [texts for texts, _, _ in found] == [12, 6, 6]
    assert len({sha256 for _, sha256, _ in found}) == 3


def test_two_tables_of_targets_are_named_and_break_a_comparison(
    launch: Launch,
    compare: Callable[[Batch, Batch], str],
    dataset: Dataset,
    owner: User,
    coder: User,
    client_of: ClientOf,
) -> None:
    table = save_targets(
        project=dataset.project, rows=[{"raw": "women", "target": "men"}], reason="To see it.", by=owner
    )
    own = launch(retarget_dataset(dataset=dataset, name="by table", target_table=table, by=owner))
    published = launch(retarget_dataset(dataset=dataset, name="by the paper", by=owner))
    page = compare(own, published)
    assert "Not comparable." in page
    assert "<td>the study&#x27;s own table, table 1</td> <td>the published table</td>".replace("> <", "><") in page
    report = client_of(coder).get(reverse("sob:report", args=[own.project.slug, own.pk])).content.decode()
    assert "as loaded: the study&#x27;s own table, table 1" in report


def test_repeats_are_on_record_and_told_also_where_they_were_not(
    launch: Launch, compare: Callable[[Batch, Batch], str], dataset: Dataset
) -> None:
    once, thrice = launch(dataset), launch(dataset, options=LaunchOptions(repeats=3))
    assert (once.parameters["repeats"], thrice.parameters["repeats"]) == (1, 3)
    assert "<td>1</td><td>3</td><td>still comparable</td>" in compare(once, thrice)
    del thrice.parameters["repeats"]
    thrice.save()
    assert count_repeats(thrice) == 3
    assert "<td>1</td><td>3</td><td>still comparable</td>" in compare(once, thrice)


def test_the_base_task_adds_no_characteristics_to_a_schema(
    launch: Launch, compare: Callable[[Batch, Batch], str], dataset: Dataset, owner: User
) -> None:
    add_wording(project=dataset.project, name="caste", based_on="paper", characteristics=["Caste", "Age"], by=owner)
    own = launch(dataset, instrument_variant="caste", include_base=True)
    assert {arm.task: list(find_schema(arm)) for arm in own.arms.all()} == {
        "acceptability": ["caste", "age"],
        "base": [],
    }
    assert find_schema(Arm(settings={})) == ATTRIBUTES
    assert "<td>caste, age</td>" in compare(own, launch(dataset)).replace("<td>age, caste</td>", "<td>caste, age</td>")


def test_while_the_other_batch_is_counted_its_answers_are_told(
    launch: Launch, compare: Callable[[Batch, Batch], str], dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there = launch(dataset), launch(dataset)
    monkeypatch.setattr(
        opening, "read_report", lambda batch, options: None if batch == there else read_report(batch, options=options)
    )
    assert "1 answer is being counted" in compare(here, there)
