"""What leaves of machine work: suggestions, what coders were shown of them, and what people said of annotators."""

import pytest
from django.urls import reverse
from django.utils import timezone
from pyarrow import parquet

from auditapp.annotators.models import CodeChoice, Suggestion
from auditapp.evaluation.actions import draw_positive_audit, mark_positive
from auditapp.evaluation.models import Disagreement
from auditapp.llm.queries import find_part
from auditapp.suggestions.models import Response, Showing
from tests.auditapp.evaluation.cast import add_critic, judge, list_sentences, open_to, suggest
from tests.auditapp.suggestions.cast import add_annotator, decide, look, read_offline, show_all, withhold_all
from tests.support.databases import stored
from transcripts.codebook.models import Code
from transcripts.coding.models import Reveal, Unblinding
from transcripts.exchange.actions import write_file
from transcripts.exchange.methods import draft_methods
from transcripts.exchange.rows import Scope, find_export

KEYS = ("suggestions", "showings", "turn_arms", "positive_marks", "machine_disagreements", "code_choices")


def take_out(study, key, only=None):
    export = find_export(key)
    assert export is not None
    assert export.read_rows is not None
    return [dict(zip(export.header, row, strict=True)) for row in export.read_rows(Scope(study, only))]


def read_machine_sentences(study):
    """What the methods paragraph says of machines."""
    return " ".join(draft_methods(study)["sections"]["Machines"])


@stored
def annotator(study, interview):
    """Who put Balance on the first sentence and two codes on the second; nothing is withheld."""
    show_all(study)
    annotator = add_annotator(study, number=3, hash="abc")
    first, second, *_ = list_sentences(interview)
    suggest(annotator, {first: ["theme.balance"], second: ["theme.balance", "theme.compassion"]})
    return annotator


@pytest.mark.parametrize("key", KEYS)
def test_every_column_has_a_meaning_and_an_empty_study_has_no_rows(study, key):
    export = find_export(key)
    assert export is not None
    assert [column for column in export.columns if not column.meaning] == []
    assert take_out(study, key) == []


class TestSuggestions:
    def test_a_row_names_annotator_evidence_critic_and_arm(self, annotator, study, coder, interview):
        judge(annotator, dict.fromkeys(annotator.suggestions.order_by("pk")[:1], "reverse"))
        withhold_all(study, interview)
        row, *others = take_out(study, "suggestions")
        assert len(others) == 2
        wanted = {
            "text": "I would ask first.",
            "quote": "I wou",
            "level": "semantic",
            "annotator": "reader",
            "annotator_number": 3,
            "annotator_kind": "model",
            "annotator_hash": "abc",
            "mode": "family",
            "critic": "critic",
            "critic_verdict": "rejected",
            "arm": "withheld",
            "probability": 1.0,
        }
        assert {name: row[name] for name in wanted} == wanted
        assert others[0]["critic_verdict"] is None

    def test_an_annotator_without_a_model_has_a_run_and_neither_provider_nor_batch(self, study, interview):
        rules = add_annotator(study, "rules", kind="rules")
        [suggestion] = read_offline(rules, list_sentences(interview)[0], ["theme.balance"])
        [row] = take_out(study, "suggestions")
        assert (row["annotator_kind"], row["run"], row["suggestion_id"]) == ("rules", suggestion.run_id, suggestion.pk)
        assert [row[name] for name in ("provider", "model", "batch", "attempt", "quote", "arm")] == [None] * 6

    def test_they_come_back_from_parquet_with_their_types(self, annotator, study, tmp_path):
        export, path = find_export("suggestions"), tmp_path / "suggestions.parquet"
        assert export
        annotator.suggestions.update(score=0.25)
        write_file(export=export, scope=Scope(study, None), format="parquet", path=path)
        assert parquet.read_table(path).to_pylist() == take_out(study, "suggestions")

    def test_one_persons_are_those_she_has_seen(self, annotator, study, coder):
        assert take_out(study, "suggestions", coder) == []
        sentence = Suggestion.objects.order_by("pk")[0].sentence
        decide(sentence, coder)
        look(sentence, coder)
        assert len(take_out(study, "suggestions", coder)) == 1

    def test_what_came_after_her_look_and_what_a_colleague_opened_to_her_is_not_among_hers(
        self, annotator, study, coder
    ):
        first, second = (Suggestion.objects.order_by("pk")[place].sentence for place in (0, 1))
        decide(first, coder)
        [offer] = look(first, coder).offers
        suggest(add_annotator(study, "later"), {first: ["theme.compassion"]})
        Reveal.objects.create(sentence=second, coder=coder, source="colleagues", revealed_at=timezone.now())
        assert [row["suggestion_id"] for row in take_out(study, "suggestions", coder)] == [offer["suggestion"].pk]

    @pytest.mark.parametrize("key", ["suggestions", "showings", "positive_marks", "machine_disagreements"])
    def test_a_lead_who_codes_is_asked_first_where_only_machines_have_worked(
        self, annotator, study, interview, lead, client_of, key
    ):
        client, address = client_of(lead), reverse("exchange:download", args=[study.slug, key, "csv"])
        refused = client.post(address)
        assert refused.status_code == 409
        assert "machines’ suggestions and your colleagues’ work in 1 interview" in " ".join(
            refused.content.decode().split()
        )
        assert not Unblinding.objects.exists()
        assert list(client.post(address, {"rows": "own"}))
        assert not Unblinding.objects.exists()
        for sent in ({"rows": "all"}, {}):
            answer = client.post(address, sent)
            assert answer.status_code == 200
            assert list(answer)
        assert Unblinding.objects.get().interview == interview


class TestShowings:
    def test_each_suggestion_shown_is_a_row_in_its_order_with_what_became_of_it(self, annotator, study, coder):
        sentence = Suggestion.objects.get(code__identifier="theme.compassion").sentence
        decide(sentence, coder)
        look(sentence, coder)
        showing = Showing.objects.get()
        Response.objects.create(
            suggestion_id=showing.suggestions[1],
            coder=coder,
            verdict="rejected",
            reason="No.",
            created_at=timezone.now(),
        )
        first, second = take_out(study, "showings", coder)
        assert [first["suggestion_id"], second["suggestion_id"]] == showing.suggestions
        assert [first["place"], second["place"]] == [1, 2]
        assert (first["response"], second["response"], second["reason"]) == (None, "rejected", "No.")
        assert (first["arm"], first["draft"], first["own_codes"], first["coder"]) == ("shown", False, [], "coder")

    def test_rows_of_everybody_do_not_say_how_far_one_coder_was_moved(self, annotator, study, coder, second_coder):
        sentence = Suggestion.objects.get(code__identifier="theme.compassion").sentence
        for who in (coder, second_coder):
            if who == second_coder:
                # One coder alone has looked here so far, and everybody knows who codes what.
                assert {row["response"] for row in take_out(study, "showings")} == {None}
            decide(sentence, who)
            panel = look(sentence, who)
            key = panel.offers[0]["suggestion"].pk
            Response.objects.create(
                suggestion_id=key, coder=who, verdict="rejected", reason="No.", created_at=timezone.now()
            )
        rows = take_out(study, "showings")
        assert [row["response"] for row in rows].count("rejected") == 2
        for row in rows:
            kept_back = ("coder", "own_codes", "coding_id", "closed", "responded")
            assert {row[name] for name in kept_back} == {None}
            assert len(str(row["shown"])) == len("2026-01-01")

    def test_a_look_on_a_withheld_turn_is_a_row_without_a_suggestion(
        self, annotator, study, interview, coder, second_coder
    ):
        withhold_all(study, interview)
        sentence = list_sentences(interview)[0]
        decide(sentence, coder)
        look(sentence, coder)
        [row] = take_out(study, "showings")
        assert (row["arm"], row["place"], row["suggestion_id"]) == ("withheld", None, None)
        assert take_out(study, "showings", second_coder) == []

    def test_turn_arms_have_the_probability_they_were_drawn_with(self, annotator, study, interview):
        withhold_all(study, interview)
        rows = take_out(study, "turn_arms")
        assert [(row["turn"], row["arm"], row["probability"], row["share_percent"]) for row in rows] == [
            (2, "withheld", 1.0, 100),
            (4, "withheld", 1.0, 100),
        ]


def test_marks_sorted_differences_and_choices_come_along(annotator, study, interview, lead):
    import uuid

    audit = draw_positive_audit(annotator=annotator, seed=2, by=lead)
    open_to(study, interview, lead)
    item = audit.items.all()[0]
    mark_positive(item=item, verdict="does_not", number=1, by=lead, idempotency_key=uuid.uuid4())
    now = timezone.now()
    Disagreement.objects.create(
        annotator=annotator,
        sentence=item.suggestion.sentence,
        code_identifier="theme.balance",
        category="alternative",
        sorted_at=now,
        sorted_by=lead,
    )
    CodeChoice.objects.create(study=study, code_identifier="theme.balance", chosen_at=now, chosen_by_name="lead")
    [mark] = take_out(study, "positive_marks")
    assert (mark["verdict"], mark["reader"], mark["population"], mark["seed"]) == (
        "does_not",
        "lead",
        item.population,
        2,
    )
    assert take_out(study, "machine_disagreements")[0]["category"] == "alternative"
    assert take_out(study, "code_choices")[0]["annotator"] is None
    assert Code.objects.filter(identifier=mark["code_id"]).exists()


class TestWords:
    def test_the_methods_paragraph_says_who_read_who_saw_what_and_who_tested(self, annotator, study, interview):
        rules = add_annotator(study, "rules", kind="rules")
        read_offline(rules, list_sentences(interview)[0], ["theme.balance"])
        judge(annotator, dict.fromkeys(annotator.suggestions.order_by("pk")[:1], "reverse"))
        withhold_all(study, interview)
        text = read_machine_sentences(study)
        assert "rules (keyword rules of the codebook) proposed 1 code" in text
        assert "reader 3 (answers invented by the program itself) proposed 3 codes" in text
        assert "only after her own decision" in text
        assert "2 of 2 turns, with a share of 100 % (plan" in text
        assert "1 of 1 verdicts were rejections" in text

    def test_a_study_without_machines_says_nothing_of_withholding(self, study):
        text = read_machine_sentences(study)
        assert "No machine proposed codes." in text
        assert "withheld" not in text

    def test_the_card_has_reversals_and_how_far_audits_are_but_no_result_of_an_audit(
        self, annotator, study, interview, lead
    ):
        critic = add_critic()
        first = annotator.suggestions.order_by("pk")[0]
        judge(annotator, {first: "reverse"}, critic=critic)
        draw_positive_audit(annotator=annotator, seed=2, by=lead)
        assert annotator.variant is not None
        part, of_critic = (find_part("suggestions", study, each) for each in (annotator.variant, critic))
        assert part is not None
        assert of_critic is not None
        figures = {figure.name: figure.value for figure in part.figures}
        assert figures["Rejected by a critic, reader 3"] == "100%"
        assert "0 of 3" in figures.values()
        assert of_critic.summary == "As a critic, it tested other annotators' suggestions in this study."

    def test_the_judges_pages_show_the_cards(self, annotator, study, lead, client_of):
        page = client_of(lead).get(reverse("llm:judges", args=[study.slug]))
        assert annotator.variant is not None
        assert f'id="judge-{annotator.variant.pk}"' in page.content.decode()
        assert "There are no figures" not in page.content.decode()
