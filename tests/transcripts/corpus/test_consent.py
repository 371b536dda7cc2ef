"""Consent: what stands on record, who may put it there, and what a file may say of it."""

import json

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from transcripts.audit_trail.models import AuditEvent
from transcripts.corpus.actions import import_file, plan_imports
from transcripts.corpus.consent import record_consent
from transcripts.corpus.models import Consent, Interview
from transcripts.corpus.queries import list_consenting
from transcripts.exchange.queries import CONSENTS, read_consents
from transcripts.exchange.rows import Scope
from transcripts.refusals import Refused
from transcripts.studies.actions import create_study


def make_line(external_id, model="Model A", **more):
    return json.dumps(
        {"id": external_id, "model": model, "turns": [{"role": "model", "text": f"Text {external_id}."}], **more}
    )


def bring(study, by, *lines, name="file.jsonl"):
    report = import_file(study=study, name=name, data="\n".join(lines).encode(), by=by)
    return list(Interview.objects.filter(pk__in=report.interview_ids).order_by("pk"))


def record(study, by, *interviews, scope="external", given=True):
    record_consent(study=study, interviews=interviews, scope=scope, is_given=given, basis="a form", by=by)


class TestRecord:
    def test_nothing_on_record_forbids_everything_but_coding(self, study, interview):
        allowed = {scope for scope in Consent.Scope.values if list_consenting([interview.pk], scope)}
        assert allowed == {"coding"}

    def test_latest_record_of_a_scope_holds(self, study, interview, lead):
        for given in (True, False, True):
            record(study, lead, interview, given=given)
            assert list_consenting([interview.pk], "external") == ({interview.pk} if given else set())
        assert [row.is_given for row in interview.consents.order_by("pk")] == [True, False, True]

    def test_scopes_are_apart(self, study, interview, lead):
        record(study, lead, interview, scope="quotation")
        record(study, lead, interview, scope="coding", given=False)
        assert list_consenting([interview.pk], "quotation") == {interview.pk}
        assert list_consenting([interview.pk], "external") == set()
        assert list_consenting([interview.pk], "coding") == set()

    def test_only_interviews_asked_for_are_named(self, study, lead):
        first, second, third = bring(study, lead, *map(make_line, "abc"))
        record(study, lead, first, second)
        assert list_consenting([second.pk, third.pk, 10**9], "external") == {second.pk}
        assert list_consenting([], "external") == set()

    def test_many_interviews_are_asked_about_in_few_queries(self, study, lead, django_assert_max_num_queries):
        interviews = bring(study, lead, *(make_line(str(number)) for number in range(120)))
        record(study, lead, *interviews)
        with django_assert_max_num_queries(1):
            assert len(list_consenting([interview.pk for interview in interviews], "external")) == 120

    def test_one_event_tells_of_all_without_the_basis(self, study, lead):
        interviews = bring(study, lead, make_line("a"), make_line("b"))
        record_consent(
            study=study, interviews=interviews, scope="reuse", is_given=False, basis="a private letter", by=lead
        )
        [event] = AuditEvent.objects.filter(action="corpus.consent.recorded")
        pks = [interview.pk for interview in interviews]
        assert event.details == {"scope": "reuse", "state": "not given", "interviews": pks}
        assert "letter" not in json.dumps(event.details)

    @pytest.mark.parametrize(
        ("changes", "said"),
        [
            ({"basis": "  "}, "Give the basis"),
            ({"basis": "x" * 2001}, "the limit is 2,000"),
            ({"scope": "anything"}, "no scope 'anything'"),
            ({"interviews": []}, "at least one interview"),
        ],
    )
    def test_what_says_too_little_is_refused(self, study, interview, lead, changes, said):
        wanted = {"interviews": [interview], "scope": "external", "basis": "a form"} | changes
        with pytest.raises(Refused, match=said):
            record_consent(study=study, is_given=True, by=lead, **wanted)
        assert not Consent.objects.exists()

    def test_interviews_of_another_study_are_refused(self, study, owner, interview):
        other = create_study(slug="other", name="Other", by=owner)
        with pytest.raises(Refused, match="not part of this study"):
            record(other, owner, interview)
        assert not Consent.objects.exists()


class TestFiles:
    def test_a_file_may_say_what_is_consented_to(self, study, lead):
        consent = {"external": True, "quotation": False, "reuse": None, "basis": "form of May"}
        [interview] = bring(study, lead, make_line("a", consent=consent))
        rows = [(row.scope, row.is_given, row.basis, row.recorded_by_name) for row in interview.consents.all()]
        assert rows == [("external", True, "form of May", "lead"), ("quotation", False, "form of May", "lead")]
        assert "consent" not in interview.metadata
        assert AuditEvent.objects.get(action="corpus.file.imported").details["consents"] == 2

    def test_without_a_basis_the_record_names_the_file(self, study, lead):
        [interview] = bring(study, lead, make_line("a", consent={"external": True}), name="wave2.jsonl")
        assert interview.consents.get().basis == "Stated in the file wave2.jsonl."

    def test_chat_messages_may_say_it_too(self, study, lead):
        messages = [{"role": "user", "content": "Why?"}, {"role": "assistant", "content": "Because."}]
        [interview] = bring(study, lead, json.dumps({"messages": messages, "consent": {"external": True}}))
        assert list_consenting([interview.pk], "external") == {interview.pk}

    @pytest.mark.parametrize("consent", [None, {}])
    def test_a_file_that_says_nothing_leaves_nothing_on_record(self, study, lead, consent):
        bring(study, lead, make_line("a", consent=consent))
        assert not Consent.objects.exists()

    @pytest.mark.parametrize(
        ("consent", "said"),
        [
            (True, 'true or false as "consent"; expected an object'),
            ("yes", 'text as "consent"'),
            (["external"], 'a list as "consent"'),
            ({"external": "yes"}, 'text as "external" in "consent"; expected true or false'),
            ({"external": 1}, 'a number as "external"'),
            ({"extern": True}, '"extern" in "consent"; expected one of coding, external, quotation, reuse, or basis'),
            ({"external": True, "basis": 7}, "a number as the basis"),
            ({"external": True, "basis": "x" * 2001}, "a basis of 2,001 characters"),
            ({"external": True, "basis": "x\u0000"}, "the character U.0000"),
        ],
    )
    def test_what_is_not_exactly_a_consent_is_refused_with_its_line(self, study, lead, consent, said):
        data = "\n".join([make_line("a"), make_line("b", consent=consent)]).encode()
        with pytest.raises(Refused, match=said) as refused:
            import_file(study=study, name="file.jsonl", data=data, by=lead)
        assert "file.jsonl, line 2: found " in str(refused.value)
        assert not Interview.objects.exists()

    def test_what_a_file_says_of_interviews_already_there_is_left_out_and_told(self, study, lead):
        bring(study, lead, make_line("a"))
        report = import_file(
            study=study, name="again.jsonl", data=make_line("a", consent={"external": True}).encode(), by=lead
        )
        assert any("was not imported" in warning for warning in report.warnings)
        assert not Consent.objects.exists()

    def test_a_dry_run_records_nothing(self, study, lead):
        plan_imports(study=study, files=[("a.jsonl", make_line("a", consent={"external": True}).encode())])
        assert not Consent.objects.exists()


class TestPages:
    def test_list_shows_how_every_interview_stands(self, study, lead, coder, client_of):
        first, _ = bring(study, lead, make_line("a"), make_line("b"))
        record(study, lead, first)
        page = client_of(coder).get(reverse("corpus:consent", args=[study.slug]))
        [count] = [each for each in page.context["counts"] if each["scope"] == "external"]
        assert (count["given"], count["refused"], count["unknown"]) == (1, 0, 1)
        assert "Record consent" not in page.content.decode()

    def test_list_can_be_narrowed(self, study, lead, client_of):
        first, second, third = bring(study, lead, make_line("a"), make_line("b"), make_line("c", "Model B"))
        record(study, lead, first)
        record(study, lead, second, given=False)
        client, url = client_of(lead), reverse("corpus:consent", args=[study.slug])
        for asked, found in [
            ({"in_scope": "external", "state": "given"}, [first]),
            ({"in_scope": "external", "state": "refused"}, [second]),
            ({"in_scope": "external", "state": "unknown"}, [third]),
            ({"in_scope": "external", "state": "unknown", "model": "Model A"}, []),
            ({"model": "Model A"}, [first, second]),
        ]:
            page = client.get(url, asked).context["page"]
            assert [line["pk"] for line in page] == [interview.pk for interview in found]

    def test_list_takes_as_many_queries_for_many_interviews_as_for_few(
        self, study, lead, client_of, django_assert_num_queries
    ):
        record(study, lead, *bring(study, lead, *(make_line(str(number)) for number in range(120))))
        client = client_of(lead)
        # Session, person, study with role, records, interviews.
        with django_assert_num_queries(6):
            page = client.get(reverse("corpus:consent", args=[study.slug]))
        assert len(page.context["page"]) == 100

    def test_lead_records_for_those_ticked(self, study, lead, client_of):
        first, second, third = bring(study, lead, *map(make_line, "abc"))
        form = {"interview": [first.pk, third.pk], "scope": "external", "given": "given", "basis": "a form"}
        answer = client_of(lead).post(reverse("corpus:record_consent", args=[study.slug]), form, follow=True)
        assert "recorded for 2 interviews" in answer.content.decode()
        assert list_consenting([first.pk, second.pk, third.pk], "external") == {first.pk, third.pk}
        assert {row.recorded_by_name for row in Consent.objects.all()} == {"lead"}

    def test_lead_records_for_all_that_the_filter_shows(self, study, lead, client_of):
        interviews = bring(study, lead, *(make_line(str(n), "Model A") for n in range(101)), make_line("z", "Model B"))
        form = {"every": "1", "model": "Model A", "scope": "reuse", "given": "refused", "basis": "a letter"}
        client_of(lead).post(reverse("corpus:record_consent", args=[study.slug]), form)
        assert {row.interview_id for row in Consent.objects.all()} == {each.pk for each in interviews[:-1]}
        assert not any(row.is_given for row in Consent.objects.all())

    @pytest.mark.parametrize("missing", ["basis", "scope", "given", "interview"])
    def test_incomplete_form_comes_again_with_what_was_ticked(self, study, lead, client_of, missing):
        first, _ = bring(study, lead, make_line("a"), make_line("b"))
        form = {"interview": [first.pk], "scope": "external", "given": "given", "basis": "a form"}
        form.pop(missing)
        answer = client_of(lead).post(reverse("corpus:record_consent", args=[study.slug]), form)
        assert answer.status_code == 422
        assert answer.context["ticked"] == (set() if missing == "interview" else {first.pk})
        assert not Consent.objects.exists()

    def test_interview_of_another_study_cannot_be_ticked(self, study, owner, lead, interview, client_of):
        other = create_study(slug="other", name="Other", by=owner)
        [theirs] = bring(other, owner, make_line("x"))
        form = {"interview": [theirs.pk, "x", "9" * 30], "scope": "external", "given": "given", "basis": "a form"}
        answer = client_of(lead).post(reverse("corpus:record_consent", args=[study.slug]), form)
        assert answer.status_code == 422
        assert not Consent.objects.exists()
        assert client_of(lead).get(reverse("corpus:interview_consent", args=[study.slug, theirs.pk])).status_code == 404

    def test_coder_may_look_but_not_record(self, study, coder, interview, client_of):
        form = {"interview": [interview.pk], "scope": "external", "given": "given", "basis": "a form"}
        assert client_of(coder).post(reverse("corpus:record_consent", args=[study.slug]), form).status_code == 403
        assert not Consent.objects.exists()

    def test_history_shows_every_record_newest_first(self, study, interview, lead, coder, client_of):
        record_consent(
            study=study, interviews=[interview], scope="external", is_given=True, basis="<b>form</b>", by=lead
        )
        record(study, lead, interview, given=False)
        page = client_of(coder).get(reverse("corpus:interview_consent", args=[study.slug, interview.pk]))
        assert [row.is_given for row in page.context["records"]] == [False, True]
        assert "&lt;b&gt;form&lt;/b&gt;" in page.content.decode()

    def test_the_desk_says_whether_external_models_may_read(self, study, interview, lead, coder, client_of):
        url = reverse("desk:desk", args=[study.slug, interview.pk])
        assert "Processing by external models: nothing on record" in client_of(coder).get(url).content.decode()
        record(study, lead, interview)
        html = client_of(coder).get(url).content.decode()
        assert "Processing by external models: given" in html
        assert reverse("corpus:interview_consent", args=[study.slug, interview.pk]) in html


class TestCommand:
    def run(self, capsys, study, *args):
        call_command("interview", "consent", "--study", study.slug, *args, "--json")
        answer = json.loads(capsys.readouterr().out)
        assert isinstance(answer, dict)
        return answer

    def test_records_for_the_interviews_named(self, study, lead, capsys):
        first, second = bring(study, lead, make_line("a"), make_line("b"))
        answer = self.run(capsys, study, "--scope", "external", "--given", "--basis", "a form", "--interview", "b")
        assert answer == {
            "study": study.slug,
            "scope": "external",
            "given": True,
            "recorded": 1,
            "interviews": ["b"],
        }
        assert list_consenting([first.pk, second.pk], "external") == {second.pk}

    def test_without_names_every_interview_is_meant(self, study, lead, capsys):
        interviews = bring(study, lead, make_line("a"), make_line("b"))
        record(study, lead, *interviews)
        self.run(capsys, study, "--scope", "external", "--withdrawn", "--basis", "a letter")
        assert list_consenting([each.pk for each in interviews], "external") == set()

    def test_without_a_scope_it_counts(self, study, lead, capsys):
        first, _ = bring(study, lead, make_line("a"), make_line("b"))
        record(study, lead, first)
        answer = self.run(capsys, study)
        assert answer["scopes"]["external"] == {"given": 1, "refused": 0, "unknown": 1}
        call_command("interview", "consent", study=study.slug)
        assert "Processing by external models: 1 given" in capsys.readouterr().out

    @pytest.mark.parametrize(
        ("args", "said"),
        [
            (["--scope", "external", "--basis", "a form"], "--given or --withdrawn"),
            (["--scope", "external", "--given"], "Give the basis"),
            (["--given", "--basis", "a form"], "--scope"),
            (["--scope", "external", "--given", "--basis", "a form", "--interview", "a", "q"], "no interview q"),
        ],
    )
    def test_wrong_words_record_nothing(self, study, lead, args, said):
        bring(study, lead, make_line("a"))
        with pytest.raises(CommandError, match=said):
            call_command("interview", "consent", "--study", study.slug, *args)
        assert not Consent.objects.exists()


def test_export_holds_every_record_and_marks_those_that_hold(study, interview, lead):
    record(study, lead, interview)
    record(study, lead, interview, given=False)
    record(study, lead, interview, scope="reuse")
    rows = [dict(zip([each.name for each in CONSENTS], row, strict=True)) for row in read_consents(Scope(study, None))]
    assert [(row["scope"], row["given"], row["holds"]) for row in rows] == [
        ("external", True, False),
        ("external", False, True),
        ("reuse", True, True),
    ]
    assert {row["interview"] for row in rows} == {"i1"}
