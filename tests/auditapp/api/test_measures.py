"""Agreement and calibration as programs read them: the figures of the pages, hidden where the pages hide them."""

import csv
import io
import json

import pytest
from django.urls import reverse

from auditapp.annotators.models import Annotator
from tests.auditapp.evaluation.cast import BALANCE, list_sentences, make_annotator, suggest
from tests.auditapp.suggestions.cast import show_all
from tests.transcripts.agreement.cast import stage_dispute
from tests.transcripts.coding.cast import decide, find_code, put
from transcripts.blinding.actions import unblind_interviews
from transcripts.studies.actions import set_method

pytestmark = pytest.mark.django_db

AGREEMENT = "studies/culture/agreement/"


@pytest.fixture
def program(study, reader, program_of):
    return program_of(reader)


class TestAgreement:
    @pytest.fixture(autouse=True)
    def dispute(self, study, owner, coder, second_coder):
        set_method(study=study, method="codebook", by=owner)
        return stage_dispute(study, owner, coder, second_coder)

    def test_the_figures_are_those_of_the_page_s_file(self, program, study, reader, client_of):
        found = program.get(AGREEMENT, family="themes").body
        file = client_of(reader).post(reverse("agreement:download", args=[study.slug]), {"family": "themes"})
        rows = {
            row["code_id"]: row for row in csv.DictReader(io.StringIO(file.content.decode())) if row["scope"] == "all"
        }
        assert [row["code"] for row in found["codes"]] == list(rows)
        for code in found["codes"]:
            row = rows[code["code"]]
            assert (code["n_units"], code["both"], code["neither"]) == tuple(
                int(row[name]) for name in ("units", "both", "neither")
            )
            for name in ("prevalence", "raw", "kappa", "alpha", "ac1"):
                assert code[name] == (float(row[name]) if row[name] else None)
                if code[name] is None:
                    assert code["reasons"][name] == row[f"{name}_reason"]
                ends = [float(row[f"{name}_{end}"]) for end in ("low", "high") if row[f"{name}_{end}"]]
                assert code["intervals"].get(name, []) == ends

    def test_it_says_what_was_compared_and_how(self, program, coder, second_coder):
        found = program.get(AGREEMENT, model="*").body
        assert found["models"] == {"Model A": 3, "Model B": 3}
        assert (found["family"], found["unit"], found["method"]) == ("themes", "sentence", "codebook")
        assert (found["blinding"], found["codebook_version"]) == ("blind", 1)
        assert sorted(found["coders"]) == sorted([coder.username, second_coder.username])
        assert (found["units_shared"], found["interviews"], found["hidden_interviews"]) == (6, 2, 0)
        assert (found["seed"], found["resamples"], found["not_shown"]) == (1, 1000, None)
        assert (found["clusters"], found["mark"], found["intervals"]) == (2, "few", {})
        assert {code["mark"] for code in found["codes"]} == {"few"}
        assert max(code["turns"] for code in found["codes"]) == 2
        [pair] = found["codes"][0]["pairs"]
        assert {pair["a"], pair["b"]} == {coder.username, second_coder.username}

    def test_it_narrows_to_coders_models_and_versions(self, program, coder):
        alone = program.get(AGREEMENT, coders=coder.username).body
        assert (alone["coders"], alone["units_shared"]) == ([coder.username], 0)
        assert program.get(AGREEMENT, model="Model A").body["interviews"] == 1
        assert program.get(AGREEMENT).body["models"] == {"Model A": 3}, "not pooled unless asked"
        assert program.get(AGREEMENT, first_version="1", last_version="1", seed="7").body["seed"] == 7

    @pytest.mark.parametrize(
        "query",
        [
            {"family": "nothing"},
            {"round": "99"},
            {"model": "nothing"},
            {"coders": "nobody"},
            {"last_version": "99"},
            {"seed": "-1"},
            {"what": "1"},
        ],
    )
    def test_a_wrong_parameter_is_named(self, program, query):
        refused = program.get(AGREEMENT, **query)
        assert (refused.status, list(refused.error["fields"])) == (400, list(query))

    def test_a_family_read_reflexively_has_no_figures(self, program, study, owner):
        set_method(study=study, method="reflexive", reason="To test.", by=owner)
        found = program.get(AGREEMENT, family="themes").body
        assert (found["method"], found["codes"], found["units_shared"]) == ("reflexive", None, None)
        assert "reflexive thematic analysis" in found["not_shown"]

    def test_whoever_codes_sees_figures_of_unblinded_interviews_only(
        self, study, lead, dispute, program_of, second_coder
    ):
        program = program_of(lead)
        hidden = program.get(AGREEMENT)
        assert (hidden.body["codes"], hidden.body["hidden_interviews"]) == (None, 2)
        assert "Unblind" in hidden.body["not_shown"]
        put(dispute.alike[0], find_code(study, BALANCE), second_coder)
        assert program.get(AGREEMENT).body == hidden.body
        unblind_interviews(study=study, interviews=dispute.talks[:1], by=lead, where="agreement")
        shown = program.get(AGREEMENT, model="*").body
        assert (shown["interviews"], shown["hidden_interviews"], shown["units_shared"]) == (2, 1, 3)

    def test_a_coder_may_not_read_it(self, coder, program_of):
        assert program_of(coder).get(AGREEMENT).status == 403


class TestAnnotators:
    def test_they_are_listed_newest_first(self, program, study):
        first, second = make_annotator(study, "one"), make_annotator(study, "two")
        found = program.get("studies/culture/annotators/").body
        assert found["count"] == 2
        assert [(row["id"], row["name"], row["model"], row["kind"]) for row in found["results"]] == [
            (second.pk, "two", "two", "model"),
            (first.pk, "one", "one", "model"),
        ]

    def test_one_without_a_model_has_none(self, program, study):
        make_annotator(study, "rules", kind=Annotator.Kind.RULES)
        [row] = program.get("studies/culture/annotators/").body["results"]
        assert (row["kind"], row["model"]) == ("rules", None)


class TestCalibration:
    @pytest.fixture
    def annotator(self, study, owner, interview, coder):
        """A machine and a person who differ on one of the sentences they share."""
        set_method(study=study, method="codebook", by=owner)
        show_all(study)
        sentences = list_sentences(interview)
        annotator = make_annotator(study, "machine")
        suggest(annotator, {sentences[0]: [BALANCE], sentences[1]: [BALANCE]})
        put(sentences[0], find_code(study, BALANCE), coder)
        for sentence in sentences:
            decide(sentence, coder)
        return annotator

    def read(self, program, annotator, **query):
        found = program.get(f"studies/culture/annotators/{annotator.pk}/calibration/", **query)
        assert found.status == 200, found.body
        return dict(found.body)

    def test_the_figures_are_those_of_the_page_s_file(self, program, study, annotator, reader, client_of):
        found = self.read(program, annotator)
        address = reverse("evaluation:calibration_file", args=[study.slug])
        file = client_of(reader).post(address, {"annotator": annotator.pk, "format": "json"})
        rows = {row["code_id"]: row for row in json.loads(file.content)}
        codes = {code["code"]: code for family in found["families"] for code in family["codes"]}
        assert list(codes) == list(rows)
        assert BALANCE in codes
        for identifier, code in codes.items():
            row = rows[identifier]
            for name in ("tp", "fp", "fn", "tn", "labels", "units", "turns", "coders"):
                assert code[name] == row[name]
            for name, figure in code["figures"].items():
                assert (figure["value"], figure["n"]) == (row[name], row[f"{name}_n"])
                assert (figure["interval"] or [None, None]) == [row[f"{name}_low"], row[f"{name}_high"]]
                assert (figure["interval_turns"] or [None, None]) == [
                    row[f"{name}_turns_low"],
                    row[f"{name}_turns_high"],
                ]
                assert bool(figure["reason"]) is (figure["value"] is None)
            assert "; ".join(code["warnings"]) == row["warnings"]
        assert (found["seed"], found["resamples"], found["blinding"]) == (1, 1000, "blind")

    def test_a_family_read_reflexively_has_no_figures(self, program, study, owner, annotator):
        set_method(study=study, method="reflexive", reason="To test.", by=owner)
        [family, *_] = self.read(program, annotator)["families"]
        assert (family["method"], family["codes"]) == ("reflexive", None)
        assert "reflexive thematic analysis" in family["not_shown"]

    def test_whoever_codes_sees_figures_of_unblinded_interviews_only(
        self, study, interview, lead, annotator, program_of
    ):
        program = program_of(lead)
        hidden = self.read(program, annotator)
        assert (hidden["families"], hidden["labels"], hidden["hidden_interviews"]) == (None, None, 1)
        suggest(annotator, {list_sentences(interview)[2]: [BALANCE]})
        assert self.read(program, annotator) == hidden
        unblind_interviews(study=study, interviews=[interview], by=lead, where="calibration")
        assert self.read(program, annotator)["families"]

    def test_it_compares_withheld_turns_alone(self, program, annotator):
        found = self.read(program, annotator, turns="withheld", critic="with", seed="3")
        assert (found["turns"], found["critic"], found["labels"], found["seed"]) == ("withheld", "with", 0, 3)

    def test_one_that_has_read_nothing_has_no_families(self, program, study):
        assert self.read(program, make_annotator(study, "idle"))["families"] == []
