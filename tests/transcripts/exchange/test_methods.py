import datetime
import io
import uuid

import pytest
from django.core.management import call_command
from django.urls import reverse
from django.utils import timezone

from transcripts.agreement.actions import record_computation
from transcripts.analysis.models import PositionalityStatement
from transcripts.audit_trail.models import AuditEvent, AuditHead
from transcripts.codebook.models import Code, CodeFamily
from transcripts.coding.actions import add_coding, decide_sentence
from transcripts.coding.actions.boundary_edits import merge_sentences, split_sentence
from transcripts.coding.models import Coding
from transcripts.corpus.models import Sentence
from transcripts.exchange import methods
from transcripts.exchange.methods import as_markdown, draft_methods
from transcripts.statistics.figures import write_out_of
from transcripts.studies.actions import set_method


@pytest.fixture
def coded(study, sentence, code, coder):
    add_coding(study=study, sentence=sentence, code=code, by=coder, idempotency_key=uuid.uuid4())
    decide_sentence(study=study, sentence=sentence, by=coder, idempotency_key=uuid.uuid4())
    return study


def write(study):
    return as_markdown(draft_methods(study))


class TestParagraph:
    def test_every_number_says_what_it_is_out_of(self, coded):
        text = write(coded)
        assert "1 interview with 1 model (Model A: 1): 4 turns and 10 sentences" in text
        assert "of which 7 of 10 (70.0 %) are by models" in text
        assert "There is 1 active coding on 1 of 10 (10.0 %) sentences in 1 of 1 (100.0 %) interviews" in text
        assert "blind 1 of 1 (100.0 %)" in text

    def test_a_boundary_that_was_moved_back_was_not_corrected(self, coded, sentence, lead):
        def edit(act, **given):
            made = act(study=coded, by=lead, idempotency_key=uuid.uuid4(), **given).made
            return made.select_related("turn__interview__study").order_by("start")[0]

        first = edit(split_sentence, sentence=sentence, at=sentence.start + 8)
        assert "1 sentence boundary was corrected manually" in write(coded)
        edit(merge_sentences, first=first)
        assert "corrected manually" not in write(coded)

    def test_the_method_is_the_one_that_was_set_with_its_reason(self, coded, lead):
        assert "nobody set a method" in write(coded)
        set_method(study=coded, method="codebook", by=lead, reason="Two readers share one codebook.")
        text = write(coded)
        assert "uses codebook thematic analysis (Braun and Clarke)" in text
        assert "Two readers share one codebook." in text
        assert "Agreement is measured for" in text
        assert "in the file from the page Agreement" in text

    def test_a_reflexive_study_says_that_it_has_no_coefficient_on_purpose(self, coded):
        assert "The method deliberately has no coefficient of agreement" in write(coded)

    def test_statements_that_stand_are_quoted_and_those_taken_back_are_not(self, coded, coder):
        now = timezone.now()
        PositionalityStatement.objects.create(
            study=coded, author=coder, text="Former words.", written_at=now, withdrawn_at=now
        )
        PositionalityStatement.objects.create(study=coded, author=coder, text="I grew up abroad.", written_at=now)
        text = write(coded)
        assert "I grew up abroad." in text
        assert "Former words." not in text

    def test_it_names_the_head_of_the_chain_and_the_program(self, coded):
        head = AuditHead.objects.get(stream=f"study:{coded.pk}")
        text = write(coded)
        assert head.hash in text
        assert "Written by auditapp" in text

    def test_no_words_of_an_interview_are_in_it(self, coded):
        assert "I would ask first" not in write(coded)

    def test_markup_in_what_people_wrote_stays_text(self, coded, lead):
        set_method(study=coded, method="codebook", by=lead, reason="<script>alert(1)</script> | x")
        text = write(coded)
        assert "<script" not in text
        assert "&lt;script>" in text

    def test_an_empty_study_has_a_paragraph_too(self, study):
        assert "Nothing is coded yet." in write(study)

    @pytest.mark.parametrize(("part", "whole", "words"), [(1, 4, "1 of 4 (25.0 %)"), (0, 0, "0 of 0")])
    def test_a_share_of_nothing_has_no_percentage(self, part, whole, words):
        assert write_out_of(part, whole) == words


class TestWarnings:
    def test_a_coefficient_in_a_reflexive_study(self, coded, lead):
        family = CodeFamily.objects.get(version__study=coded, identifier="themes")
        record_computation(study=coded, family=family, reason="A reviewer asked.", by=lead)
        [warning] = [each for each in draft_methods(coded)["warnings"] if "coefficient" in each]
        assert warning.startswith("Themes uses reflexive thematic analysis, yet")

    def test_a_method_set_after_coding_began(self, coded, lead):
        set_method(study=coded, method="reliability", by=lead, reason="Asked for.")
        assert any("after coding had begun" in each for each in draft_methods(coded)["warnings"])

    def test_older_codings_that_were_brought_in_do_not_make_a_method_late(self, study, sentence, code, coder, lead):
        Coding.objects.create(
            sentence=sentence,
            code=code,
            coder=coder,
            idempotency_key=uuid.uuid4(),
            created_at=timezone.now() - datetime.timedelta(days=400),
        )
        set_method(study=study, method="codebook", by=lead, reason="Set at the start.")
        assert not any("after coding had begun" in each for each in draft_methods(study)["warnings"])

    def test_codings_under_an_older_meaning(self, coded):
        Code.objects.filter(identifier="theme.balance").update(meaning_version=2)
        assert any(each.startswith("1 of 1 (100.0 %) codings") for each in draft_methods(coded)["warnings"])

    def test_sentences_nobody_read(self, coded):
        assert any(each.startswith("6 of 7 (85.7 %) sentences") for each in draft_methods(coded)["warnings"])

    def test_a_code_of_a_whole_turn_reads_no_sentence(self, coded, coder):
        [other] = Sentence.objects.filter(turn__interview__study=coded, turn__position=4, position=8)
        feature = Code.objects.get(version__study=coded, identifier="feature.power")
        add_coding(study=coded, sentence=other, code=feature, by=coder, idempotency_key=uuid.uuid4())
        assert any(each.startswith("6 of 7 (85.7 %) sentences") for each in draft_methods(coded)["warnings"])


class TestPage:
    def test_a_reader_sees_it_and_can_take_it_out(self, coded, reader, client_of):
        client = client_of(reader)
        assert (
            "deliberately has no coefficient"
            in client.get(reverse("exchange:methods", args=[coded.slug])).content.decode()
        )
        answer = client.post(reverse("exchange:download", args=[coded.slug, "methods", "md"]))
        assert answer["Content-Type"] == "text/markdown; charset=utf-8"
        assert b"# Audit annex" in b"".join(answer.streaming_content)
        assert AuditEvent.objects.get(action="export.written").target == "export:methods"

    def test_a_blind_coder_does_not(self, coded, coder, client_of):
        assert client_of(coder).get(reverse("exchange:methods", args=[coded.slug])).status_code == 403

    def test_the_command_writes_it(self, coded, tmp_path):
        path = tmp_path / "methods.md"
        call_command("study", "export", "methods", "--study", coded.slug, "--output", str(path), stdout=io.StringIO())
        assert path.read_text(encoding="utf-8").startswith("# Methods: Cultural schemas")


def test_the_name_of_a_study_is_words_and_no_markup(study):
    study.name = "<img src=x onerror=alert(1)> [a](javascript:alert(1))"
    study.save()
    title = as_markdown(draft_methods(study)).splitlines()[0]
    assert title == r"# Methods: &lt;img src=x onerror=alert(1)> \[a](javascript:alert(1))"


def test_each_annotator_has_a_paragraph_and_one_that_nobody_answered_says_so():
    use = {"name": "a", "model": "m", "suggestions": 40, "codebook_version": 2, "answered": 0, "accepted": 0}
    paragraphs = methods._word(
        "machines", {"machines": [use, {**use, "answered": 4, "accepted": 3}], "machine_notes": []}
    )
    assert len(paragraphs) == 2
    assert "people have answered none of them." in paragraphs[0]
    assert "people answered 4 of 40" in paragraphs[1]
    assert "0 of 0" not in "".join(paragraphs)
