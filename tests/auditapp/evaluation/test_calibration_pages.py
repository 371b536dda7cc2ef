"""Calibration on its pages: what is compared, what is set aside, and who may see it."""

import csv
import io
import json
import re
import uuid

import pytest
from django.urls import reverse
from django.utils import timezone

from auditapp.annotators.models import Annotator
from auditapp.annotators.pure.figures import CrossTable
from auditapp.annotators.pure.prompts import write_ranges
from auditapp.evaluation.models import Disagreement
from auditapp.evaluation.pure.calibration import calibrate
from auditapp.evaluation.queries.calibration import find_listable, read_compared
from tests.auditapp.evaluation.cast import (
    BALANCE,
    COMPASSION,
    bring_in,
    decide_all,
    make_annotator,
    read,
    read_offline,
    withhold,
)
from tests.transcripts.blinding.cast import unblind_on
from tests.transcripts.coding.cast import put
from transcripts.audit_trail.models import AuditEvent
from transcripts.codebook.models import Code, CodeExample
from transcripts.coding.actions.boundary_edits import split_sentence
from transcripts.coding.models import Blinding, Unblinding
from transcripts.studies.actions import create_study, set_method


@pytest.fixture
def said(study, owner):
    """Two interviews of two turns of three sentences."""
    return bring_in(study, owner, interviews=2, turns=2)


@pytest.fixture
def annotator(study, said):
    """It puts balance on the first, second and fourth."""
    annotator = make_annotator(study)
    read(annotator, said, {said[place].pk: [BALANCE] for place in (0, 1, 3)})
    return annotator


@pytest.fixture
def turn_answers(annotator, said, coder, second_coder):
    """One coder puts balance on the first and third of all twelve; another on the first and second of the first six."""
    decide_all(coder, said, {said[0].pk: [BALANCE], said[2].pk: [BALANCE]})
    decide_all(second_coder, said[:6], {said[0].pk: [BALANCE], said[1].pk: [BALANCE]})


@pytest.fixture
def _codebook(study, owner):
    set_method(study=study, method="codebook", by=owner)


def table_of(annotator, code=BALANCE, **scope):
    compared = read_compared(annotator, **scope)
    found, _ = calibrate([each.labels for each in compared.codes], compared.turn_ids, seed=1, resamples=0)
    return next(each["table"] for each in found if each["code"] == code)


@pytest.mark.usefixtures("turn_answers")
class TestComparing:
    def test_blind_labels_of_all_coders_are_compared_with_the_machines(self, annotator):
        assert table_of(annotator) == CrossTable(tp=3, fp=3, fn=1, tn=11)
        assert table_of(annotator, COMPASSION) == CrossTable(0, 0, 0, 18)

    def test_a_label_made_after_a_look_counts_nowhere(self, annotator, said, second_coder):
        before = table_of(annotator)
        decide_all(second_coder, said[6:], {said[7].pk: [BALANCE]}, blinding=Blinding.ASSISTED)
        assert table_of(annotator) == before

    def test_a_sentence_the_machine_left_out_is_not_its_no(self, study, said, annotator):
        other = make_annotator(study, "other")
        read(other, said, {said[0].pk: [BALANCE]}, missing=[said[2].pk])
        assert table_of(other) == CrossTable(tp=2, fp=0, fn=1, tn=13)

    def test_examples_it_was_told_are_set_aside_and_counted_for_their_family(self, annotator, said):
        CodeExample.objects.create(
            code=Code.objects.get(version=annotator.version, identifier=COMPASSION),
            sentence=said[0],
            kind="include",
            added_at=timezone.now(),
            added_by_name="x",
        )
        assert table_of(annotator) == CrossTable(tp=1, fp=3, fn=1, tn=11)
        found = read_compared(annotator).find(BALANCE)
        assert found is not None
        assert found.set_aside == {"examples": 2, "taught": 0, "alternatives": 0}

    def test_sentences_that_taught_it_are_set_aside(self, annotator, said):
        taught = {"families": {"themes": {"decided": write_ranges([said[0].pk, said[1].pk]), "codes": {}}}}
        Annotator.objects.filter(pk=annotator.pk).update(
            kind=Annotator.Kind.LEARNT, variant=None, recipe={"set": taught, "codes": {BALANCE: {"threshold": 0.5}}}
        )
        learnt = Annotator.objects.get(pk=annotator.pk)
        read_offline(learnt, said, {said[3].pk: [BALANCE]})
        assert table_of(learnt) == CrossTable(tp=0, fp=2, fn=1, tn=11)

    def test_so_are_those_that_hold_their_words_since_breaks_were_corrected(self, study, annotator, said, owner):
        taught = {"families": {"themes": {"decided": write_ranges([said[0].pk]), "codes": {}}}}
        Annotator.objects.filter(pk=annotator.pk).update(
            kind=Annotator.Kind.LEARNT, variant=None, recipe={"set": taught, "codes": {BALANCE: {"threshold": 0.5}}}
        )
        at = said[0].start + 4
        cut = split_sentence(study=study, sentence=said[0], at=at, by=owner, idempotency_key=uuid.uuid4())
        learnt = Annotator.objects.get(pk=annotator.pk)
        pieces = list(cut.made.order_by("start"))
        read_offline(learnt, [*pieces, said[1]], {})
        found = read_compared(learnt).find(BALANCE)
        assert found is not None
        # Two coders decided the first sentence, and with it each of its pieces; two decided the second.
        assert found.set_aside["taught"] == 4
        assert found.labels.counts.sum() == 2

    def test_a_legitimate_alternative_is_no_error(self, annotator, said, owner):
        Disagreement.objects.create(
            annotator=annotator,
            sentence=said[3],
            code_identifier=BALANCE,
            category="alternative",
            sorted_at=timezone.now(),
            sorted_by=owner,
        )
        assert table_of(annotator) == CrossTable(tp=3, fp=1, fn=1, tn=11)
        found = read_compared(annotator).find(BALANCE)
        assert found is not None
        assert found.set_aside["alternatives"] == 2

    def test_withheld_turns_alone_can_be_compared(self, study, annotator, said):
        withhold(study, said, {said[3].turn_id})
        assert table_of(annotator, only_withheld=True) == CrossTable(tp=0, fp=2, fn=0, tn=4)

    def test_a_code_that_means_something_else_since_is_marked(self, annotator):
        Code.objects.filter(version=annotator.version, identifier=BALANCE).update(meaning_version=2)
        found = read_compared(annotator).find(BALANCE)
        assert found is not None
        assert found.changed_in == 2


def page(client, study, name="calibration", **query):
    answer = client.get(reverse(f"evaluation:{name}", args=[study.slug]), query)
    assert answer.status_code == 200
    return answer.content.decode()


@pytest.mark.usefixtures("turn_answers", "_codebook")
class TestPage:
    def test_the_page_names_labels_units_blinding_annotator_codebook_and_method(self, study, reader, client_of):
        shown = page(client_of(reader), study)
        assert "18 blind labels (one for each person, code family, and sentence or whole turn) on 12 sentences" in shown
        assert "codebook v1" in shown
        assert "Labels: blind" in shown
        assert "Wilson" in shown
        assert "0.50 <small" in shown
        assert "few units (12)" in shown

    def test_the_chart_shows_people_beside_the_machine_with_a_verdict_and_the_numbers_of_the_table(
        self, study, reader, client_of
    ):
        shown = page(client_of(reader), study)
        said, table = re.findall(r"<title>Balance: ([^<]*)</title>", shown), shown.partition('id="themes-table"')[2]
        [people, machine, verdict] = said[0].split("; ")
        assert verdict == "few turns: 1, a verdict needs 10"
        for words in (people, machine):
            value = words.rpartition("people ")[2].rpartition("another ")[2].partition(",")[0]
            assert f'<td class="num">{value}' in table
        assert 'data-table="themes-table"' in shown

    def test_every_count_opens_its_sentences(self, study, said, reader, client_of):
        shown = page(client_of(reader), study, "calibration_cell", code=BALANCE, cell="fn")
        assert "only a person applied it" in shown
        assert shown.count('<article class="card stack"') == 1
        assert f"sentence {said[2].label}" in shown
        assert f"<mark>{said[2].read_text()}</mark>" in shown
        assert "masked" not in shown
        assert "coder applied it, blind" in " ".join(shown.split())

    def test_who_may_code_opens_first_and_sees_nothing_before(self, study, said, lead, client_of):
        client = client_of(lead)
        shown = page(client, study)
        assert "Others’ labels in 2 interviews are hidden from you" in shown
        assert "Precision" not in shown
        assert said[2].read_text() not in page(client, study, "calibration_cell", code=BALANCE, cell="fn")
        path = reverse("evaluation:calibration", args=[study.slug])
        assert unblind_on(client, path, confirmed=False).status_code == 422
        assert unblind_on(client, path).status_code == 302
        assert set(Unblinding.objects.values_list("where", flat=True)) == {"calibration"}
        assert Unblinding.objects.filter(user=lead).count() == 2
        assert "Precision" in page(client, study)

    def test_a_machines_word_on_a_withheld_sentence_is_not_met_before_ones_own(
        self, study, said, lead, reader, client_of
    ):
        withhold(study, said, {said[0].turn_id})
        for talk in {each.turn.interview for each in said}:
            Unblinding.objects.create(interview=talk, user=lead, where="x", unblinded_at=timezone.now())
        query = {"code": BALANCE, "cell": "tp"}
        assert "2 sentences of withheld turns" in page(client_of(lead), study, "calibration_cell", **query)
        assert said[0].read_text() not in page(client_of(lead), study, "calibration_cell", **query)
        assert said[0].read_text() in page(client_of(reader), study, "calibration_cell", **query)

    def test_ones_own_word_on_one_family_lets_nobody_meet_the_machines_on_another(self, study, said, lead):
        annotator = make_annotator(study, "second")
        read(annotator, said, {said[0].pk: [BALANCE, "move.elicit"]}, codes=[BALANCE, "move.elicit"])
        withhold(study, said, {said[0].turn_id})
        put(said[0], Code.objects.get(version=annotator.version, identifier=BALANCE), lead)
        listable = find_listable(read_compared(annotator), lead.pk, may_code=True)
        assert {code: int((~places).sum()) for code, places in listable.items()} == {BALANCE: 2, "move.elicit": 3}
        everything = find_listable(read_compared(annotator), lead.pk, may_code=False)
        assert all(places.all() for places in everything.values())

    def test_the_files_hold_the_same_figures(self, study, reader, client_of):
        client, path = client_of(reader), reverse("evaluation:calibration_file", args=[study.slug])
        rows = list(csv.DictReader(io.StringIO(client.post(path, {"format": "csv"}).content.decode())))
        found = json.loads(client.post(path, {"format": "json"}).content)
        by_code = {row["code_id"]: row for row in found}
        row = by_code[BALANCE]
        assert [row[name] for name in ("tp", "fp", "fn", "tn", "labels", "units")] == [3, 3, 1, 11, 18, 12]
        assert row["precision"] == 0.5
        assert row["blinding"] == "blind"
        assert [line["code_id"] for line in rows] == [line["code_id"] for line in found]
        assert rows[0]["precision_n"] == str(found[0]["precision_n"])
        assert AuditEvent.objects.filter(action="evaluation.calibration.exported").count() == 2
        assert client.post(path, {"format": "exe"}).status_code == 404

    def test_a_sentence_read_for_two_families_is_one_sentence(self, study, said, reader, client_of):
        wide = make_annotator(study, "wide")
        read(wide, said, {said[0].pk: [BALANCE]}, codes=[BALANCE, "move.elicit"])
        shown = page(client_of(reader), study, annotator=str(wide.pk))
        assert "36 blind labels (one for each person, code family, and sentence or whole turn) on 12 sentences" in shown

    def test_an_annotator_that_has_read_nothing_is_not_offered(self, study, said, annotator, reader, client_of):
        idle = make_annotator(study, "idle")
        failed = make_annotator(study, "failed")
        read(failed, said, {}, outcome="invalid")
        rules = make_annotator(study, "rules", kind=Annotator.Kind.RULES, recipe={"rules": {}})
        read_offline(rules, said, {})
        for name in ("calibration", "disagreements"):
            shown = page(client_of(reader), study, name)
            assert f'<option value="{annotator.pk}" selected>' in shown
            assert not any(f'<option value="{each.pk}"' in shown for each in (idle, failed, rules))
        path = reverse("evaluation:calibration", args=[study.slug])
        answer = client_of(reader).get(path, {"annotator": idle.pk})
        assert answer.status_code == 422
        assert "has not annotated anything in this study yet" in answer.content.decode()

    def test_of_codes_that_people_applied_in_few_turns_nothing_is_concluded(
        self, study, reader, client_of, monkeypatch
    ):
        name = Code.objects.get(version__study=study, version__number=1, identifier=BALANCE).name
        shown = page(client_of(reader), study)
        assert f"Few turns:</span> {name}" in shown
        assert "Below 0.60" not in shown
        monkeypatch.setattr("auditapp.evaluation.queries.calibration_tables.FEW", 1)
        assert f"Below 0.60:</span> F1 or kappa of {name}" in page(client_of(reader), study)

    def test_a_seed_that_is_none_is_refused(self, study, reader, client_of):
        path = reverse("evaluation:calibration", args=[study.slug])
        assert client_of(reader).get(path, {"seed": "-1"}).status_code == 422
        assert client_of(reader).get(path, {"annotator": "999999"}).status_code == 422

    def test_another_studys_annotator_is_none_here(self, study, annotator, reader, owner, client_of):
        other = create_study(slug="other", name="Other", by=owner)
        path = reverse("evaluation:calibration", args=[other.slug])
        assert annotator.name not in client_of(owner).get(path, {"annotator": annotator.pk}).content.decode()
        assert client_of(reader).get(path).status_code == 404


def test_a_study_without_annotators_says_so(study, reader, client_of):
    for name in ("calibration", "disagreements"):
        assert "No machine has annotated this study yet." in page(client_of(reader), study, name)
    assert "No annotator is chosen for any code yet." in page(client_of(reader), study, "rates")


@pytest.mark.usefixtures("turn_answers")
class TestReflexive:
    def test_no_figure_is_shown_until_a_reason_is_kept(self, study, owner, lead, said, client_of):
        for talk in {each.turn.interview for each in said}:
            Unblinding.objects.create(interview=talk, user=lead, where="x", unblinded_at=timezone.now())
        client = client_of(lead)
        assert "Precision" not in page(client, study)
        path = reverse("evaluation:calibration_compute", args=[study.slug])
        assert client.post(path, {"family": "themes", "reason": " "}).status_code == 422
        assert client.post(path, {"family": "nothing", "reason": "To see."}).status_code == 422
        shown = client.post(path, {"family": "themes", "reason": "A reviewer asks."}).content.decode()
        assert "Precision" in shown
        event = AuditEvent.objects.get(action="annotators.calibration.computed")
        assert event.details == {"family": "themes", "method": "reflexive", "reason": "A reviewer asks."}
        assert "Precision" not in page(client, study)

    def test_a_file_holds_no_reflexive_family(self, study, reader, client_of):
        path = reverse("evaluation:calibration_file", args=[study.slug])
        assert json.loads(client_of(reader).post(path, {"format": "json"}).content) == []
