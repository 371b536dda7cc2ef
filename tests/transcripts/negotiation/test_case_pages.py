"""Who sees case sheets and pairs, and when."""

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from tests.transcripts.coding.cast import find_code, put
from tests.transcripts.exchange.test_negotiation_exports import rows
from tests.transcripts.negotiation.cast import DIFFERS, WHY, decide_all, finish, pair_up, score, write, write_sheet
from tests.transcripts.rounds.cast import answers, bring_in, find_assignment, open_round
from transcripts.accounts.actions import create_token
from transcripts.audit_trail import trail
from transcripts.blinding.actions import unblind_interview
from transcripts.corpus.models import Interview
from transcripts.negotiation.actions import withdraw_pair, withdraw_score
from transcripts.negotiation.models import CaseSheet, Pair
from transcripts.rounds.actions import complete_assignment, reopen_assignment, reopen_interview
from transcripts.studies.actions import set_member_role

pytestmark = pytest.mark.django_db


@pytest.fixture
def threads(study, lead):
    return bring_in(study, lead, ["A", "B"])


def sheet_path(interview):
    return reverse("negotiation:case_sheet", args=[interview.study.slug, interview.pk])


def text(answer):
    return str(answer.content.decode())


def mask(interview):
    Interview.objects.filter(pk=interview.pk).update(mask_label="S-7F3K", unmasked_at=None)


class TestCaseSheetPage:
    def test_a_coder_reads_it_only_while_she_has_signed_off(self, client_of, threads, owner, coder):
        write_sheet(threads[0], owner)
        page, path = client_of(coder), sheet_path(threads[0])
        decide_all(threads[0], coder)
        before = text(page.get(path))
        assert WHY not in before
        assert "once you have completed the thread" in before
        finish(threads[0], coder)
        assert WHY in text(page.get(path))
        reopen_interview(study=threads[0].study, interview=threads[0], by=coder)
        assert WHY not in text(page.get(path))

    def test_what_was_returned_to_her_is_closed_again(self, client_of, study, threads, owner, coder):
        write_sheet(threads[0], owner)
        round_ = open_round(study, owner, coder)
        decide_all(threads[0], coder)
        assignment = find_assignment(round_, threads[0], coder)
        complete_assignment(assignment=assignment, by=coder)
        assert WHY in text(client_of(coder).get(sheet_path(threads[0])))
        reopen_assignment(assignment=assignment, reason="Look again.", by=owner)
        assert WHY not in text(client_of(coder).get(sheet_path(threads[0])))

    def test_a_lead_who_did_not_write_it_is_told_and_cannot_overwrite_it_unread(self, client_of, threads, owner, lead):
        write_sheet(threads[0], owner)
        page = client_of(lead)
        shut = text(page.get(sheet_path(threads[0])))
        assert WHY not in shut
        assert "unblind the thread" in shut
        answer = page.post(sheet_path(threads[0]), {"listed_1": "relevant", "why_1": "x", "reason": "y"})
        assert (answer.status_code, CaseSheet.objects.count()) == (409, 1)
        assert WHY not in text(answer)
        unblind_interview(study=threads[0].study, interview=threads[0], by=lead, where="case sheet")
        assert WHY in text(page.get(sheet_path(threads[0])))

    def test_who_wrote_it_and_who_does_not_code_see_it(self, client_of, threads, lead, reader):
        write_sheet(threads[0], lead)
        for person in (lead, reader):
            assert WHY in text(client_of(person).get(sheet_path(threads[0])))

    def test_what_the_interviewer_meant_is_never_told_to_coders(self, client_of, study, threads, coder, reader):
        """The program wrote the sheet, and it says nothing but this."""
        intents = {str(threads[0].turns.filter(role="interviewer")[0].position): "unwarranted"}
        sheet = write_sheet(threads[0], trail.SYSTEM, relevant=[], irrelevant=[], intents=intents)
        assert (sheet.written_by, sheet.writer) == (None, "system")
        finish(threads[0], coder)
        listed = reverse("api:case_sheets", args=[study.slug])
        for person, is_told in ((reader, True), (coder, False)):
            page = text(client_of(person).get(sheet_path(threads[0])))
            assert "Case sheet 1" in page
            assert ("unwarranted" in page.lower()) is is_told
            _, secret = create_token(user=person, name="test", by=person)
            answer = Client(headers={"authorization": f"Bearer {secret}"}).get(listed).json()
            assert [each["intents"] for each in answer["results"]] == [intents if is_told else {}]
            [row] = rows("case_sheets", study, None if is_told else person)
            assert ("unwarranted" in str(row["intents"])) is is_told

    def test_of_a_masked_thread_only_its_writer_sees_it(self, client_of, threads, owner, lead, coder, reader):
        write_sheet(threads[0], owner)
        finish(threads[0], coder)
        mask(threads[0])
        unblind_interview(study=threads[0].study, interview=threads[0], by=lead, where="x")
        for person in (lead, coder, reader):
            assert WHY not in text(client_of(person).get(sheet_path(threads[0])))
        assert WHY in text(client_of(owner).get(sheet_path(threads[0])))
        Interview.objects.filter(pk=threads[0].pk).update(unmasked_at=timezone.now())
        for person in (lead, coder, reader):
            assert WHY in text(client_of(person).get(sheet_path(threads[0])))

    def test_a_lead_writes_it_and_then_its_next_number(self, client_of, threads, lead):
        page, path = client_of(lead), sheet_path(threads[0])
        wrong = page.post(path, {"based_on": 0, "listed_1": "relevant", "why_1": ""})
        assert (wrong.status_code, "Say why" in text(wrong)) == (422, True)
        assert page.post(path, {"based_on": 0, "listed_1": "relevant", "why_1": "It is the task."}).status_code == 302
        listed = {"listed_1": "relevant", "why_1": "It is the task.", "reason": "x"}
        assert page.post(path, listed | {"why_1": "Unseen."}).status_code == 422
        unchanged = page.post(path, listed | {"based_on": 1})
        assert (unchanged.status_code, "says the same" in text(unchanged)) == (422, True)
        changed = {"based_on": 1, "listed_1": "irrelevant", "why_1": "No.", "reason": "Read anew."}
        assert page.post(path, changed).status_code == 302
        shown = text(page.get(path))
        assert "Case sheet 2" in shown
        assert "Earlier numbers: 1" in shown

    def test_a_coder_does_not_write_it(self, client_of, threads, coder):
        answer = client_of(coder).post(sheet_path(threads[0]), {"listed_1": "relevant", "why_1": "x"})
        assert (answer.status_code, CaseSheet.objects.count()) == (403, 0)


class TestPairPages:
    @pytest.fixture
    def pair(self, threads, owner):
        return pair_up(threads, owner)

    def paths(self, pair):
        slug = pair.study.slug
        return reverse("negotiation:pairs", args=[slug]), reverse("negotiation:pair", args=[slug, pair.name])

    @pytest.mark.parametrize("who", ["coder", "lead"])
    def test_it_opens_once_both_threads_are_decided(self, client_of, threads, pair, who, request):
        person = request.getfixturevalue(who)
        page, (listed, beside) = client_of(person), self.paths(pair)
        decide_all(threads[0], person)
        for path in (listed, beside):
            shut = text(page.get(path))
            assert DIFFERS not in shut
            assert "3" in shut
        assert "3 sentences to decide in" in text(page.get(beside))
        decide_all(threads[1], person)
        for path in (listed, beside):
            assert DIFFERS in text(page.get(path))
        assert text(page.get(beside)).count('class="speaker"') >= 4

    def test_signing_off_counts_as_decided_also_with_sentences_left(self, client_of, threads, pair, coder):
        for thread in threads:
            finish(thread, coder)
        assert DIFFERS in text(client_of(coder).get(self.paths(pair)[1]))

    def test_who_made_it_and_who_does_not_code_see_it(self, client_of, pair, owner, reader):
        for person in (owner, reader):
            assert DIFFERS in text(client_of(person).get(self.paths(pair)[0]))

    def test_with_a_masked_thread_it_stays_closed(self, client_of, threads, pair, coder, reader):
        for thread in threads:
            finish(thread, coder)
        mask(threads[1])
        for person in (coder, reader):
            for path in self.paths(pair):
                assert DIFFERS not in text(client_of(person).get(path))

    def test_closed_by_masked_threads_it_leads_those_who_may_to_unmasking_these(
        self, client_of, threads, pair, lead, coder
    ):
        mask(threads[1])
        address = f"{reverse('blinding:unmask', args=[pair.study.slug])}?interview={threads[1].pk}"
        shown = text(client_of(lead).get(self.paths(pair)[1]))
        assert f'href="{address}"' in shown
        assert "A lead unmasks them" in text(client_of(coder).get(self.paths(pair)[1]))

    def test_a_lead_pairs_and_withdraws(self, client_of, threads, lead):
        page = client_of(lead)
        listed = reverse("negotiation:pairs", args=[threads[0].study.slug])
        given = {
            "name": "p",
            "a": threads[0].pk,
            "b": threads[0].pk,
            "differs": "x",
            "expect": "change",
            "seen": 0,
        }
        wrong = page.post(listed, given)
        assert (wrong.status_code, "same one twice" in text(wrong)) == (422, True)
        assert page.post(listed, {**given, "b": threads[1].pk}).status_code == 302
        assert page.post(reverse("negotiation:withdraw_pair", args=[threads[0].study.slug, "p"])).status_code == 302
        assert not Pair.objects.active().exists()
        assert page.get(reverse("negotiation:pair", args=[threads[0].study.slug, "p"])).status_code == 404

    def test_pairs_and_threads_are_listed_as_people_count(self, client_of, study, lead, owner):
        made = bring_in(study, owner, [f"m{number}" for number in (1, 10, 2)])
        for thread, number in zip(made, (1, 10, 2), strict=True):
            Interview.objects.filter(pk=thread.pk).update(title=f"Case {number}")
        for number in (10, 2, 1):
            pair_up(made[:2], lead, name=f"case {number}")
        page = client_of(lead).get(reverse("negotiation:pairs", args=[study.slug]))
        assert [view.pair.name for view in page.context["pairs"]] == ["case 1", "case 2", "case 10"]
        offered = [label.partition(" (")[0] for _, label in page.context["form"].fields["a"].choices]
        assert [label for label in offered if label.startswith("Case")] == ["Case 1", "Case 2", "Case 10"]

    def test_only_what_a_case_sheet_does_not_need_is_called_optional(self, client_of, study, threads, owner):
        write_sheet(threads[0], owner)
        page = text(client_of(owner).get(sheet_path(threads[0])))
        assert "Why it changes <span" not in page
        assert "(needed if the feature is listed)" in page
        assert page.count("(optional)") == page.count("Not listed") + page.count("Not said")
        pairs = text(client_of(owner).get(reverse("negotiation:pairs", args=[study.slug])))
        assert "(needed if it replaces an earlier pair with this name)" in pairs
        assert "(optional)" not in pairs

    def test_the_list_takes_as_many_queries_for_three_pairs_as_for_one(
        self, client_of, threads, pair, coder, owner, django_assert_max_num_queries
    ):
        page, (listed, _) = client_of(coder), self.paths(pair)
        for name in ("p2", "p3"):
            pair_up(threads, owner, name=name)
        page.get(listed)
        with django_assert_max_num_queries(16):
            page.get(listed)


@pytest.mark.parametrize("what", ["a case sheet", "a pair", "a withdrawn pair", "a withdrawn score"])
def test_a_reader_of_what_says_how_a_thread_is_judged_codes_it_as_assisted_later(
    what, study, owner, lead, coder, reader
):
    read, other, free = bring_in(study, lead, ["A", "B", "C"])
    if what == "a case sheet":
        write_sheet(read, lead)
    elif "pair" in what:
        pair = pair_up([read, other], lead)
        if what == "a withdrawn pair":
            withdraw_pair(pair=pair, by=lead)
    else:
        withdraw_score(study=study, score=score(write(study, lead), read, coder), by=coder)
    set_member_role(study=study, user=reader, role="coder", by=owner)
    feature = find_code(study, "feature.power")
    assert put(answers(read)[0], feature, reader, reason="A test.").blinding == "assisted"
    assert put(answers(free)[0], feature, reader).blinding == "blind"


def test_a_lead_who_is_late_replaces_no_case_sheet_unread(client_of, threads, owner, reader):
    page, path = client_of(owner), sheet_path(threads[0])
    assert 'name="based_on" value="0"' in text(page.get(path))
    write_sheet(threads[0], owner)
    given = {"listed_1": "relevant", "why_1": "My own reason.", "reason": "Anew."}
    late = page.post(path, {**given, "based_on": "0"})
    assert late.status_code == 409
    assert all(words in text(late) for words in ("owner wrote case sheet 1", WHY, "My own reason."))
    assert CaseSheet.objects.count() == 1
    assert page.post(path, {**given, "based_on": "1"}).status_code == 302
    assert CaseSheet.objects.count() == 2


def test_a_lead_who_is_late_replaces_no_pair_unread(client_of, study, threads, owner):
    page, path = client_of(owner), reverse("negotiation:pairs", args=[study.slug])
    pair = pair_up(threads, owner)
    given = {
        "name": pair.name,
        "a": threads[0].pk,
        "b": threads[1].pk,
        "differs": "Something else.",
        "expect": "change",
    }
    late = page.post(path, {**given, "reason": "Anew.", "seen": "0"})
    assert late.status_code == 409
    assert "owner wrote number 1 of the pair" in text(late)
    assert "Something else." in text(late)
    assert Pair.objects.count() == 1
    assert f'name="seen" value="{pair.pk}"' in text(late)
    assert page.post(path, {**given, "reason": "Anew.", "seen": pair.pk}).status_code == 302
    assert Pair.objects.active().get().number == 2
