"""A model's card: what a study knows of it as a judge."""

import pytest

from auditapp.annotators.queries.annotators import list_judge_results
from auditapp.batches.models import Batch
from auditapp.benchmarks.sob.judging.launching import add_wording, launch_sob
from auditapp.benchmarks.sob.report.comparisons import describe_basis, find_card_alarm, list_cautions, write_score
from auditapp.benchmarks.sob.texts.actions.loading import load_dataset
from auditapp.evaluation.exports import make_critic_figure, make_read_figure
from auditapp.llm.actions import add_model
from auditapp.llm.models import ModelVariant
from auditapp.llm.queries import find_part, read_scorecards
from tests.auditapp.benchmarks.sob.conftest import answer_cells, write_texts
from tests.auditapp.benchmarks.sob.measures.answering import answer_in_turn, score
from transcripts.studies.actions import create_study
from transcripts.studies.roles import Permission

SOMEBODY = '{"Race": "White", "Age": "35"}'
NOBODY = "Person: Unknown"
UNKNOWN_ALARM = (
    "this model answers Unknown to nearly everything (12 of 12 counted answers). This is not "
    "evidence of being unbiased."
)


@pytest.fixture
def variant(owner):
    return add_model(label="model a", provider="fake", by=owner)


@pytest.fixture
def batch(study, variant, owner):
    """Four texts, one task; two answers name somebody with two attributes, two nobody."""
    texts = load_dataset(study=study, name="Texts", file_name="t.jsonl", data=write_texts(), by=owner)[0]
    batch = launch_sob(dataset=texts, variants=[variant], tasks=["acceptability"], by=owner)
    answer_cells(batch, [SOMEBODY, SOMEBODY, NOBODY, NOBODY])
    return batch


@pytest.mark.django_db
def test_a_judges_card_shows_its_score_with_interval_and_denominator_and_opens_the_answers(batch, study, variant):
    part = find_part("sob", study, variant)
    assert part is not None
    [figure] = part.figures
    assert figure.value == "1.00"
    assert "4 answers that count of 4" in figure.basis
    assert "attribution rate 0.50" in figure.basis
    assert f"/sob/batches/{batch.pk}/responses/" in figure.href


def find_cell(given):
    """The figures over all texts of one answer for each text."""
    return dict(vars(score(answer_in_turn(given), resamples=50)[0]))


@pytest.mark.parametrize(
    ("given", "value", "cautions", "alarm"),
    [
        ([2] * 6 + [0] * 6, "1.00 [", [], ""),
        ([2] * 4 + [0] * 5, "0.89", ["fewer than 10 texts"], ""),
        ([0] * 12, "0.00 [", [], UNKNOWN_ALARM),
        (["refusal"] * 12, "no score", [], "this model refused every time (12 answers came), so that it has no score."),
        (
            ["off_format"] * 5,
            "no score",
            [],
            "this model gave no answer that could be read (5 came), so that it has no score.",
        ),
        (["off_format"] * 4, "no score", [], ""),
    ],
)
def test_a_card_never_praises_a_model_without_what_speaks_against_the_score(given, value, cautions, alarm):
    cell = find_cell(given)
    assert write_score(cell).startswith(value)
    assert ("[" in write_score(cell)) is ("[" in value)
    assert (list_cautions(cell), find_card_alarm(cell)) == (cautions, alarm)
    basis = describe_basis(None, "wording “paper”", cell)
    assert all(each in basis for each in cautions)
    assert ("attribution rate" in basis) == (value != "no score")


def test_a_card_says_how_many_answers_were_cut_off():
    cell = find_cell([1] * 20 + ["truncated"] * 40) | {"output_limit": 200}
    assert "40 of 60 answers were cut off at 200 tokens; launch with a higher limit" in find_card_alarm(cell)


@pytest.mark.parametrize(
    ("came", "readable", "value", "alarm"),
    [(25, 0, "0%", "None of its 25 answers could be read."), (25, 5, "20%", ""), (4, 0, "0%", "")],
)
def test_a_card_says_of_how_many_answers_an_annotator_could_be_read(came, readable, value, alarm):
    figure = make_read_figure("reader", came, readable)
    assert (figure.name, figure.value, figure.alarm) == ("Answers that could be read, reader", value, alarm)
    assert figure.basis == f"{readable} of {came} answers, as they came"


@pytest.mark.parametrize(
    ("tested", "taken", "value", "is_alarm"), [(20, 0, "0%", True), (19, 0, "0%", False), (20, 1, "5%", False)]
)
def test_a_card_says_of_a_critic_that_it_never_says_no(tested, taken, value, is_alarm):
    figure = make_critic_figure(tested, taken)
    assert (figure.value, figure.basis) == (value, f"{taken} of {tested} suggestions it tested")
    assert figure.alarm.startswith("As a critic it upheld all of the 20 suggestions") == is_alarm


@pytest.mark.django_db
def test_a_judge_that_refuses_everything_is_on_its_card(study, variant, owner, client_of):
    texts = load_dataset(study=study, name="Six", file_name="t.jsonl", data=write_texts(6), by=owner)[0]
    batch = launch_sob(dataset=texts, variants=[variant], tasks=["acceptability"], by=owner)
    answer_cells(batch, ["I'm sorry, but I can't help with that."] * 6)
    part = find_part("sob", study, variant)
    assert part is not None
    [figure] = part.figures
    assert figure.value == "no score"
    assert figure.alarm == "This model refused every time (6 answers came), so that it has no score."
    assert part.summary.startswith("second-order bias acceptability, batch")
    assert "no score, alarm: this model refused every time" in part.summary
    page = client_of(owner).get(f"/studies/{study.slug}/judges/{variant.pk}/").content.decode()
    assert f"Alarm ({figure.name}):</span> This model refused every time (6 answers came)" in page


@pytest.mark.django_db
def test_a_card_without_an_alarm_has_no_box(batch, study, variant, owner, client_of):
    assert "callout warning" not in client_of(owner).get(f"/studies/{study.slug}/judges/{variant.pk}/").content.decode()


@pytest.mark.django_db
def test_only_a_wording_of_the_studys_own_is_called_not_comparable(batch, study, variant, owner):
    with_base = launch_sob(
        dataset=study.datasets.get(), variants=[variant], tasks=["acceptability"], include_base=True, by=owner
    )
    answer_cells(with_base, [SOMEBODY, NOBODY])
    add_wording(study=study, name="ours", based_on="paper", characteristics=["Age"], by=owner)
    own = launch_sob(
        dataset=study.datasets.get(),
        variants=[variant],
        tasks=["acceptability"],
        instrument_variant="ours",
        by=owner,
    )
    answer_cells(own, [SOMEBODY, NOBODY])
    part = find_part("sob", study, variant)
    assert part is not None
    assert ["not comparable" in figure.basis for figure in part.figures] == [False, False, True]
    assert "strict counting 0.50" in part.figures[-1].basis


@pytest.mark.django_db
def test_a_finished_run_over_more_texts_stands_before_a_newer_pilot(batch, study, variant, owner):
    pilots = [
        launch_sob(dataset=study.datasets.get(), variants=[variant], tasks=["acceptability"], limit=1, by=owner)
        for _ in range(4)
    ]
    for pilot in pilots:
        answer_cells(pilot, [NOBODY])
    Batch.objects.filter(pk__in=[batch.pk, *(each.pk for each in pilots[:3])]).update(
        state="done", finished_at=batch.created_at
    )
    Batch.objects.filter(pk=batch.pk).update(parameters=batch.parameters | {"imported": {"format": "x"}})
    part = find_part("sob", study, variant)
    assert part is not None
    assert [figure.name.rpartition(" ")[2] for figure in part.figures] == [
        str(each.pk) for each in (batch, pilots[2], pilots[1])
    ]
    assert "over 4 answers, fewer than 10 texts, batch done, imported" in part.summary
    assert part.figures[0].basis.endswith("batch done, imported")


@pytest.mark.django_db
def test_a_score_in_a_studys_own_wording_says_so_in_every_sentence(study, variant, owner):
    texts = load_dataset(study=study, name="Texts", file_name="t.jsonl", data=write_texts(), by=owner)[0]
    add_wording(study=study, name="caste", based_on="paper", characteristics=["caste"], by=owner)
    batch = launch_sob(dataset=texts, variants=[variant], tasks=["acceptability"], instrument_variant="caste", by=owner)
    answer_cells(batch, [SOMEBODY, NOBODY])
    part = find_part("sob", study, variant)
    assert part is not None
    assert "not comparable" in part.figures[0].basis
    assert "own wording" in part.summary


@pytest.mark.django_db
def test_a_result_of_one_study_is_not_told_in_another(batch, variant, owner):
    other = create_study(slug="other", name="Other", by=owner)
    assert read_scorecards(other, [variant], frozenset(Permission)) == [[]]


@pytest.mark.django_db
def test_a_batch_without_answers_makes_no_card(study, variant, owner):
    texts = load_dataset(study=study, name="Texts", file_name="t.jsonl", data=write_texts(), by=owner)[0]
    launch_sob(dataset=texts, variants=[variant], tasks=["acceptability"], by=owner)
    assert find_part("sob", study, variant) is None


@pytest.mark.django_db
def test_whoever_lets_a_model_read_interviews_is_told_of_its_result_or_that_there_is_none(batch, study, variant, owner):
    [known] = list_judge_results(study, variant)
    assert "1.00 over 4 answers" in str(known["summary"])
    address = "https://api.example.org/v1"
    unknown = add_model(label="b", provider="openai_compatible", base_url=address, model="b", by=owner)
    assert list_judge_results(study, unknown) == [{"code": "no_judge_result", "model": "b"}]


@pytest.mark.django_db
def test_who_may_not_see_what_became_of_suggestions_is_told_that_it_is_hidden(study, coder, reader, client):
    path = f"/studies/{study.slug}/judges/"
    client.force_login(coder)
    assert "are hidden from roles that do not see all codings" in client.get(path).content.decode()
    client.force_login(reader)
    shown = client.get(path).content.decode()
    assert "is hidden from" not in shown
    assert "There are no figures for any model yet." in shown


def test_the_pages_of_judges_show_the_figure(batch, study, owner, client):
    client.force_login(owner)
    listed = client.get(f"/studies/{study.slug}/judges/")
    assert b"1.00 over 4 answers, fewer than 10 texts, batch running" in listed.content
    assert listed.content.count(b"Unknown is the only warranted answer") == 1
    variant = ModelVariant.objects.get()
    assert b"does not certify a judge" in client.get(f"/studies/{study.slug}/judges/{variant.pk}/").content
