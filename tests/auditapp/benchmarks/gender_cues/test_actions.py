import json
import uuid

import pytest
from django.core.management import CommandError, call_command

from auditapp.batches.kinds import get_kind
from auditapp.batches.models import Batch, Cell
from auditapp.benchmarks.gender_cues.actions import allow_probe, launch_probe, plan_probe, store_rationales
from auditapp.benchmarks.gender_cues.models import Purpose, RationaleTurn, Review, ReviewSet, Trial
from auditapp.benchmarks.gender_cues.pure.parsing import PARSER_VERSION
from auditapp.benchmarks.gender_cues.queries import read_report, read_trials
from auditapp.benchmarks.gender_cues.runner import ProbeKind
from tests.auditapp.benchmarks.gender_cues.conftest import answer_cells, load
from tests.auditapp.benchmarks.gender_cues.making import RULES, write_answer, write_csv
from transcripts.audit_trail import trail
from transcripts.audit_trail.models import AuditEvent
from transcripts.blinding.viewers import Viewer
from transcripts.codebook.models import Code
from transcripts.coding.actions import add_coding
from transcripts.coding.values import CodingValues
from transcripts.corpus.models import Interview
from transcripts.refusals import Refused
from transcripts.studies.actions import set_member_role
from transcripts.studies.roles import ROLES

pytestmark = pytest.mark.django_db


def answer(condition, review):
    """Female of every women's text and of every odd men's one; primed answers name cues."""
    is_woman = review.category != "man" or review.pk % 2 == 1
    if condition == "control":
        return write_answer("Female")
    return write_answer("Female" if is_woman else "Male", "Emotion", Emotion="The writer is hurt.")


def test_only_an_owner_allows_the_probe(study, owner, lead, outsider):
    for person in (lead, outsider):
        with pytest.raises(Refused, match="Only an owner"):
            allow_probe(study=study, text="Because.", by=person)
    with pytest.raises(Refused, match="the purpose of the probe"):
        allow_probe(study=study, text=" \n", by=owner)
    allow_probe(study=study, text="To learn.", by=owner)
    with pytest.raises(Refused, match="says the same as purpose 1 of the probe"):
        allow_probe(study=study, text="To learn. ", by=owner)
    assert allow_probe(study=study, text="To learn more.", by=owner).number == 2
    assert Purpose.objects.count() == 2


@pytest.mark.parametrize(
    ("conditions", "warned"),
    [
        (["control", "primed"], ["may abstain is not included", "Appendix A"]),
        (["may_abstain"], ["Control and primed are not both included"]),
        (["control", "may_abstain"], ["Control and primed are not both included", "Appendix A"]),
        (["control", "primed", "may_abstain"], ["Appendix A"]),
    ],
)
def test_a_launch_warns_of_what_its_conditions_cannot_show(reviews, variant, conditions, warned):
    plan = plan_probe(reviews=reviews, variants=[variant], texts=dict.fromkeys(conditions, 30), same_texts=True)
    assert len(plan.warnings) == len(warned)
    assert all(words in sentence for words, sentence in zip(warned, plan.warnings, strict=True))


def test_nothing_is_loaded_launched_or_reported_while_the_probe_is_off(study, owner, tmp_path):
    with pytest.raises(Refused, match="is off"):
        load(study, owner)
    reviews, rules = tmp_path / "r.csv", tmp_path / "rules.json"
    reviews.write_bytes(write_csv([("one two three", "woman")]))
    rules.write_text(json.dumps(RULES), encoding="utf-8")
    with pytest.raises(CommandError, match="is off"):
        call_command(
            "probe",
            "winnow",
            str(reviews),
            "--rules",
            str(rules),
            "--into",
            study.slug,
            "--method",
            "m",
            "--source",
            "s",
        )
    assert not ReviewSet.objects.exists()


def test_an_answer_with_characters_that_no_database_holds_is_counted(probe):
    answer_cells(
        probe,
        lambda condition, review: (
            r'{"gender": "Male", "codes_applied": ["Emotion", "Calm\u0000"], "rationales": {"Emotion": "a\u0000\ud800"}}'
        ),
    )
    trials = Trial.objects.filter(cell__batch=probe)
    assert trials.count() == probe.cells.count()
    assert set(trials.values_list("status", flat=True)) == {"ok"}
    assert trials.first().rationales == {"Emotion": r"a\x00\ud800"}


def test_a_report_names_the_rules_that_read_its_answers(probe):
    assert read_report(probe, user=None)[0]["parser"] == PARSER_VERSION
    answer_cells(probe, answer)
    Trial.objects.filter(cell__batch=probe, cell__arm__task="control").update(parser="probe-1")
    assert read_report(probe, user=None)[0]["parser"] == f"probe-1, {PARSER_VERSION}"


def test_only_what_the_rules_keep_is_stored_and_the_funnel_counts_the_rest(reviews):
    assert [row["total"] for row in reviews.funnel] == [86, 85]
    assert reviews.funnel[0]["unknown"] == 1
    assert reviews.reviews.count() == 85
    assert sorted(reviews.reviews.values_list("position", flat=True)) == list(range(1, 86))
    event = AuditEvent.objects.get(action="gender_cues.reviews.loaded")
    assert event.details["kept"] == 85
    assert "constructed" not in json.dumps(event.details)


def test_the_order_is_the_seeds(reviews, study, owner):
    again = load(study, owner, name="again")
    texts = [list(each.reviews.values_list("text", flat=True)) for each in (reviews, again)]
    assert texts[0] == texts[1] != sorted(texts[0])


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"name": "Invented reviews"}, "already"),
        ({"name": " "}, "name is missing"),
        ({"data": b"text,category\nx y z,Maria\n"}, "looks like a name"),
        ({"data": b""}, "empty"),
    ],
)
def test_reviews_that_cannot_be_loaded_leave_nothing_behind(reviews, study, owner, change, says):
    with pytest.raises(Refused, match=says):
        load(study, owner, **{"name": "other", **change})
    assert ReviewSet.objects.count() == 1


def test_conditions_get_the_same_texts_or_different_ones(reviews, variant, owner):
    def drawn(batch, condition):
        keys = Cell.objects.filter(batch=batch, arm__task=condition).values_list("input_id", flat=True)
        rows = Review.objects.filter(pk__in=list(keys)).order_by("pk")
        return list(rows.values_list("category", "pk"))

    def launch(texts, **how):
        return launch_probe(reviews=reviews, variants=[variant], texts=texts, by=owner, **how)

    same = launch({"control": 30, "primed": 40})
    assert set(drawn(same, "control")) < set(drawn(same, "primed"))
    assert [category for category, _ in drawn(same, "control")].count("man") == 30
    with pytest.raises(Refused, match="60 texts of the category woman"):
        launch({"control": 30, "primed": 30}, same_texts=False)


@pytest.mark.parametrize(
    ("texts", "androgynous", "says"),
    [
        ({}, 0, "at least one condition"),
        ({"control": 29}, 0, "at least 30"),
        ({"control": 41}, 0, "the rules kept 40"),
        ({"control": 30}, 6, "5 androgynous"),
        ({"neutral": 30}, 0, "conditions are"),
    ],
)
def test_a_launch_with_too_few_texts_asks_nothing(reviews, variant, owner, texts, androgynous, says):
    with pytest.raises(Refused, match=says):
        launch_probe(reviews=reviews, variants=[variant], texts=texts, androgynous=androgynous, by=owner)
    assert not Batch.objects.exists()


def test_reviews_leave_the_site_only_once_the_source_is_confirmed(reviews, variant, owner):
    variant.account.provider = "openai"
    assert not variant.is_fake
    with pytest.raises(Refused, match="Confirm that the source"):
        launch_probe(reviews=reviews, variants=[variant], texts={"control": 30}, by=owner)


def test_answers_become_trials_and_the_report(probe, owner):
    answer_cells(probe, answer)
    report, coded = read_report(probe, user=owner)
    assert coded is None
    table = report["table1"]
    assert table["control"]["all"]["degenerate"] is True
    assert table["control"]["none"]["n_woman"] == 30
    assert table["primed"]["emotion"]["n_man"] == 30
    assert table["primed"]["not_scored"] == 5
    assert table["paired"]["reviews"] == 60
    assert len(read_trials(probe)) == 130


def test_a_call_without_an_answer_is_counted_and_can_be_asked_again(probe):
    answer_cells(probe, lambda condition, review: None)
    assert set(Trial.objects.values_list("status", flat=True)) == {"no_answer"}
    cells = list(Cell.objects.filter(batch=probe).values_list("pk", flat=True))
    ProbeKind().reopen(cells[:3])
    assert Trial.objects.count() == len(cells) - 3


def test_nobody_sees_a_single_call_and_coders_no_sums(probe, owner, lead, coder, reader):
    cell = probe.cells.first()
    assert cell is not None
    for user, role in ((owner, "owner"), (lead, "lead"), (reader, "reader"), (coder, "coder")):
        visibility = get_kind(probe.kind).find_visibility(probe, Viewer(probe.study, user, ROLES[role]))
        assert not visibility.shows(cell)
        assert visibility.is_closed
        assert not visibility.allows_requests
        assert visibility.is_whole == (role != "coder")


def store(probe, study, owner):
    return store_rationales(batch=probe, into=study, by=owner, seed=3)


def test_rationales_come_into_a_study_of_their_own_masked_and_shuffled(probe, rationale_study, owner):
    answer_cells(probe, answer)
    assert store(probe, rationale_study, owner) == {"threads": 3, "rationales": 60, "without_rationale": 0}
    threads = list(Interview.objects.filter(study=rationale_study))
    assert sorted(thread.turns.count() for thread in threads) == [10, 25, 25]
    assert all(thread.mask_label and thread.title == thread.mask_label for thread in threads)
    turn = threads[0].turns.first()
    assert turn is not None
    assert turn.text == "Emotion: The writer is hurt."
    joined = list(RationaleTurn.objects.order_by("turn__interview", "turn__position").values_list("trial", flat=True))
    assert len(joined) == 60
    assert joined != sorted(joined)
    for row in RationaleTurn.objects.select_related("trial__review"):
        assert row.trial.review.category in {"woman", "man"}


def test_what_tells_category_or_prediction_stays_out_of_the_other_study(probe, rationale_study, owner):
    answer_cells(probe, answer)
    store(probe, rationale_study, owner)
    columns = list(Interview.objects.filter(study=rationale_study).values())
    events = list(AuditEvent.objects.filter(stream=f"study:{rationale_study.pk}").values("action", "details"))
    said = json.dumps([columns, events], default=str).lower()
    for word in ("woman", "female", "model a", "primed", f"batch {probe.pk}"):
        assert word not in said


def test_rationales_are_stored_once_and_in_one_study(probe, rationale_study, study, owner, lead):
    answer_cells(probe, answer)
    with pytest.raises(Refused, match="a separate study"):
        store(probe, study, owner)
    with pytest.raises(Refused, match="may not import"):
        store(probe, rationale_study, lead)
    store(probe, rationale_study, owner)
    with pytest.raises(Refused, match="no rationale"):
        store(probe, rationale_study, owner)
    assert Interview.objects.filter(study=rationale_study).count() == 3


def code_turns(study, coder, count):
    code = Code.objects.filter(family__version__study=study, family__version__status="published").first()
    assert code is not None
    rows = RationaleTurn.objects.order_by("trial")[:count]
    for row in rows:
        sentence = row.turn.sentences.first()
        assert sentence is not None
        add_coding(study=study, sentence=sentence, code=code, by=coder, idempotency_key=uuid.uuid4())
    return code


def test_table_2_is_made_from_the_codings_of_one_person(probe, rationale_study, owner, coder, lead):
    answer_cells(probe, answer)
    store(probe, rationale_study, owner)
    set_member_role(study=rationale_study, user=coder, role="coder", by=trail.SYSTEM)
    code = code_turns(rationale_study, owner, 12)
    report, coded = read_report(probe, user=owner)
    assert coded is not None
    assert (coded.coder, coded.turns) == ("owner", 60)
    row = report["table2"]["themes"][code.name]
    assert row["w"] + row["m"] == 12
    assert read_report(probe, user=None)[0]["table2"] == report["table2"]
    # A coder of that study sees her own codings alone, and who is no member of it none.
    blind, _ = read_report(probe, user=coder)
    assert blind["table2"]["themes"] == {}
    outside, nothing = read_report(probe, user=lead)
    assert (outside["table2"], nothing) == (None, None)
    with pytest.raises(Refused, match="has coded none"):
        read_report(probe, user=coder, coder="owner")


def test_a_move_that_a_rationale_only_describes_is_a_theme_apart(probe, rationale_study, owner):
    answer_cells(probe, answer)
    store(probe, rationale_study, owner)
    move = Code.objects.get(version__study=rationale_study, identifier="move.elicit")
    for row, enactment in zip(
        RationaleTurn.objects.order_by("trial"), ("enacted", "described", "described"), strict=False
    ):
        sentence = row.turn.sentences.first()
        assert sentence is not None
        values = CodingValues(enactment=enactment)
        add_coding(
            study=rationale_study, sentence=sentence, code=move, by=owner, idempotency_key=uuid.uuid4(), values=values
        )
    report, coded = read_report(probe, user=owner)
    assert coded is not None
    themes = report["table2"]["themes"]
    described = f"{move.name} (described)"
    assert {name: row["w"] + row["m"] for name, row in themes.items()} == {move.name: 1, described: 2}
    assert coded.codes[described] == {"code": "move.elicit", "enactment": "described"}


def test_commands_load_launch_store_and_report(purpose, study, rationale_study, variant, tmp_path, capsys):
    def run(*args):
        call_command(*args, "--json")
        return json.loads(capsys.readouterr().out)

    csv, rules = tmp_path / "invented.csv", tmp_path / "rules.json"
    csv.write_bytes(write_csv([("one two three four", each) for each in ("woman", "man") for _ in range(30)]))
    rules.write_text(json.dumps(RULES), encoding="utf-8")
    told = ("--method", "invented", "--source", "invented")
    loaded = run("probe", "winnow", str(csv), "--rules", str(rules), "--into", study.slug, *told)
    assert loaded["funnel"][-1]["total"] == 60
    launch = (
        "probe",
        "launch",
        "--study",
        study.slug,
        "--reviews",
        "invented",
        "--model",
        variant.label,
        "--condition",
    )
    batch = run(*launch, "primed=30")["batch"]
    answer_cells(Batch.objects.get(pk=batch), answer)
    stored = run("probe", "store-rationales", "--batch", str(batch), "--into", rationale_study.slug)
    assert stored["rationales"] == 60
    assert run("probe", "report", "--batch", str(batch))["table1"]["primed"]["all"]["n_woman"] == 30
    with pytest.raises(CommandError, match="no probe with the number"):
        call_command("probe", "report", "--batch", "99999")
    with pytest.raises(CommandError, match="not valid"):
        call_command(*launch, "primed")
