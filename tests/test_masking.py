"""Masked threads: nothing that anybody gets tells their condition, until it is opened by one or put back for all.

Threads of two conditions are dealt to a coder: a few, of which everything she can reach is fetched, and forty, for the lists, files
and searches; and everything that a lead gets. No name of a condition, model, vendor or file, no system prompt, no detail and no
word of a case sheet or a pair may be in any body or header.
"""

import pytest
from django.test import Client
from django.urls import reverse

from auditapp.webhooks.actions import add_webhook
from auditapp.webhooks.models import Delivery
from tests.support.masked_threads import (
    CONDITIONS,
    FILE_NAME,
    SECRETS,
    bring_in_masked,
    describe_all,
    list_quotes,
    make_thread,
)
from tests.support.whole_study import set_stage
from tests.test_access_matrix import OF_A_STUDY, Visitor
from tests.test_blind_crawl import Crawl
from tests.transcripts.coding.cast import decide, find_code, put
from tests.transcripts.negotiation.cast import pair_up, write_sheet
from tests.transcripts.rounds.cast import find_assignment, open_round
from transcripts.audit_trail.models import AuditEvent
from transcripts.blinding import views
from transcripts.blinding.actions import open_condition, unblind_interview, unmask_interviews
from transcripts.blinding.viewers import Viewer
from transcripts.codebook.actions import start_study
from transcripts.coding.models import CONDITION, Blinding, Coding, Unblinding
from transcripts.corpus.models import InterviewChange, MaskedFacts, Sentence
from transcripts.corpus.pure.segmenting import hash_quote
from transcripts.jobs.models import ImportJob
from transcripts.refusals import Refused
from transcripts.rounds.actions import complete_assignment, lock_round
from transcripts.studies.access import find_role
from transcripts.studies.roles import LEAD

# Words that stand on pages of every study, such as the names of formats that can be read, whatever is masked.
SAID_ANYWAY = ("anthropic", "claude")
NEEDLES = tuple(secret for secret in SECRETS if secret not in SAID_ANYWAY)
# Where vendors are spoken of without any thread: lists of formats and of providers, help.
OF_NO_THREAD = ("/help/", "/import/", "/models/", "/api/v1/schema", "/exports/")
WORDS = ("zephyrine", "quillworks", "anthropic", "claude", "xenobriefed", "arcade", FILE_NAME)


@pytest.fixture
def threads(study, lead):
    made = [make_thread(condition, number) for number in range(20) for condition in CONDITIONS]
    return [each for each in bring_in_masked(study, lead, made) if each.mask_label]


@pytest.fixture
def few(study, lead):
    made = [make_thread(condition, number) for number in range(2) for condition in CONDITIONS]
    return [each for each in bring_in_masked(study, lead, made) if each.mask_label]


def take_part(study, owner, lead, coder, second_coder):
    """The study with one of everything, in which the masked threads are dealt to both coders.

    The owner wrote a case sheet of the first and paired the first two, in words that tell.
    """
    stage = set_stage(study, owner, second_coder)
    masked = list(study.interviews.masked().order_by("pk"))
    round_ = open_round(
        study,
        lead,
        coder,
        second_coder,
        overlap_percent=100,
        name="Both read all",
        interview_ids=[each.pk for each in masked],
    )
    reason = "Only xenobriefed threads name it, so far as Claude says."
    write_sheet(masked[0], owner, relevant=[{"feature": "feature.power", "reason": reason}])
    pair_up(masked[:2], owner, name="case 1", differs="xenobare or xenobriefed")
    sentence = find_answer(study.interviews.masked().order_by("pk")[0])
    stage.things.update(interview_id=sentence.turn.interview_id, sentence_id=sentence.pk)
    for each in (coder, second_coder, lead):
        if each != lead:
            put(sentence, find_code(study, "theme.balance"), each)
            decide(sentence, each)
    ImportJob.objects.update(state=ImportJob.State.CANCELLED)
    return stage, round_


def find_answer(interview, number=0):
    rows = Sentence.objects.filter(turn__interview=interview, turn__is_answer=True, turn__channel="utterance")
    return rows.select_related("turn__interview__study").order_by("position")[number]


def list_leaks(found):
    """What an answer says that it may not, by its address."""
    leaks = {}
    for path, answer in found.items():
        text = answer.decode(errors="replace").casefold()
        # A search that finds nothing says what was searched for.
        asked = path.casefold().rpartition("?")[2] if "?" in path else ""
        needles = NEEDLES if any(part in path for part in OF_NO_THREAD) or "POST" in path else SECRETS
        if told := [needle for needle in needles if needle in text and needle not in asked]:
            leaks[path] = told
    return leaks


def look_further(visitor, study, *, every=1):
    """Every page of masked threads, of all or some, searches for what is sealed, and addresses that are wrong."""
    slug = study.slug
    found = {}
    for path in _list_more(study, every=every):
        found[path] = _keep(visitor.knock(path, "GET"))
    for word in WORDS:
        for name, key in (("corpus:interviews", "q"), ("corpus:interviews", "model"), ("search:search", "q")):
            path = f"{reverse(name, args=[slug])}?{key}={word.replace(' ', '+')}"
            found[path] = _keep(visitor.knock(path, "GET"))
    return found


def _list_more(study, *, every=1):
    slug = study.slug
    for pk in study.interviews.masked().order_by("pk").values_list("pk", flat=True)[::every]:
        for name in (
            "corpus:details",
            "desk:desk",
            "corpus:interview_consent",
            "negotiation:case_sheet",
            "negotiation:thread",
            "negotiation:thread_scores",
            "blinding:condition",
        ):
            yield reverse(name, args=[slug, pk])
        for name in ("interview", "turns", "sentences"):
            yield reverse(f"api:{name}", args=[slug, pk])
    for path in ("zephyrine/", "interviews/999999/", "interviews/?model=zephyrine-9x"):
        yield f"/studies/{slug}/{path}"
    yield f"{reverse('api:interviews', args=[slug])}?task=xenobriefed-task"
    yield f"{reverse('api:interviews', args=[slug])}?masked=true"


def _keep(answer):
    body = b"".join(answer) if answer.streaming else answer.content
    return f"{answer.status_code} {sorted(answer.items())}\n".encode() + body


def test_no_page_that_a_coder_reaches_tells_the_condition_of_the_threads_that_she_is_dealt(
    study, few, owner, lead, coder, second_coder
):
    stage, round_ = take_part(study, owner, lead, coder, second_coder)
    visitor = Visitor(coder)
    found = Crawl(visitor, stage, every_link=False, max_interviews=1, max_of_a_kind=1, makes_choices=False).look()
    assert list_leaks(found) == {}
    assert sum(answer.startswith(b"200") for answer in found.values()) > 150
    assert found[stage.path("corpus:interviews")].startswith(b"200")
    # Neither does what opens to her once she is through, nor what webhooks are told then.
    add_webhook(study=study, address="https://told.example.org/", events=["round.completed"], by=owner)
    for thread in few:
        for person in (coder, second_coder):
            complete_assignment(assignment=find_assignment(round_, thread, person), reason="Done.", by=person)
    assert list_leaks({each.event: each.body.encode() for each in Delivery.objects.all()}) == {}
    assert Delivery.objects.filter(event="round.completed").exists()
    slug = study.slug
    paths = [reverse("negotiation:case_sheet", args=[slug, each.pk]) for each in few]
    paths += [reverse("negotiation:pairs", args=[slug]), reverse("negotiation:pair", args=[slug, "case 1"])]
    paths += [reverse(f"api:{name}", args=[slug]) for name in ("case_sheets", "pairs", "trajectory_report")]
    assert list_leaks({path: _keep(visitor.knock(path, "GET")) for path in paths}) == {}
    assert "xenobriefed" in _keep(Visitor(owner).knock(paths[0], "GET")).decode()


def test_lists_exports_and_searches_tell_a_coder_nothing_of_forty_threads(
    study, threads, owner, lead, coder, second_coder
):
    assert len(threads) == 40
    stage, _ = take_part(study, owner, lead, coder, second_coder)
    visitor = Visitor(coder)
    crawl = Crawl(visitor, stage, every_link=False)
    crawl.send_forms()
    found = crawl.found | look_further(visitor, study, every=40)
    for name in (
        "corpus:interviews",
        "negotiation:study",
        "negotiation:scores",
        "api:interviews",
        "api:study_sentences",
    ):
        found[name] = _keep(visitor.knock(stage.path(name), "GET"))
    assert list_leaks(found) == {}
    text = b"".join(found.values()).decode(errors="replace")
    assert all(each.mask_label in text for each in threads)


@pytest.mark.full
def test_nothing_that_a_lead_gets_tells_it_before_she_unmasks(study, threads, owner, lead, coder, second_coder):
    stage, _ = take_part(study, owner, lead, coder, second_coder)
    visitor = Visitor(lead)
    paths = [stage.path(name) for name, row in OF_A_STUDY.items() if row.get("GET") in LEAD.permissions]
    found = {path: _keep(visitor.knock(path, "GET")) for path in paths}
    found |= look_further(visitor, study, every=8)
    crawl = Crawl(visitor, stage, every_link=False)
    crawl.send_exports()
    found |= crawl.found
    assert list_leaks(found) == {}
    events = AuditEvent.objects.filter(target__startswith="corpus.").values_list("details", flat=True)
    assert [secret for secret in SECRETS if secret in str(list(events)).casefold()] == []


def test_an_opening_makes_later_codings_assisted_and_shows_her_alone_the_facts(
    study, threads, owner, lead, coder, second_coder
):
    take_part(study, owner, lead, coder, second_coder)
    [facts] = MaskedFacts.objects.filter(external_id="xenobriefed-3").select_related("interview")
    interview = facts.interview
    before = put(find_answer(interview), find_code(study, "theme.balance"), coder)
    assert before.blinding == Blinding.BLIND
    address = reverse("blinding:condition", args=[study.slug, interview.pk])
    browser = Client()
    browser.force_login(coder)
    assert browser.post(address, {}).status_code == 422
    assert not Unblinding.objects.of_conditions().exists()
    browser.post(address, {"confirmed": "on"})
    browser.post(address, {"confirmed": "on"})
    assert Unblinding.objects.get(where=CONDITION).user == coder
    assert AuditEvent.objects.filter(action="coding.condition.opened").count() == 1
    page = browser.get(address).content.decode()
    for told in ("Claude 3.5 Sonnet", "Anthropic", "xenobriefed-3", FILE_NAME, "You negotiate openly.", "arcade-page"):
        assert told in page
    assert "<dt>Task</dt><dd><bdi>xenobriefed-task</bdi></dd>" in page
    details = browser.get(reverse("corpus:details", args=[study.slug, interview.pk])).content.decode()
    assert ("See the condition" in details, "Open the condition for me" in details) == (True, False)
    after = put(find_answer(interview, 1), find_code(study, "theme.balance"), coder, reason="I go on.")
    other = next(each for each in threads if each != interview)
    elsewhere = put(find_answer(other, 1), find_code(study, "theme.balance"), coder)
    assert (after.blinding, elsewhere.blinding) == (Blinding.ASSISTED, Blinding.BLIND)
    before.refresh_from_db()
    assert before.blinding == Blinding.BLIND
    # On every other page of hers it is as sealed as before, and others see nothing of it at all.
    visitor = Visitor(coder)
    pages = {path: _keep(visitor.knock(path, "GET")) for path in _list_more(study, every=8) if path != address}
    assert list_leaks(pages) == {}
    assert list_leaks({address: _keep(Visitor(second_coder).knock(address, "GET"))}) == {}


def test_who_opened_a_condition_still_sees_nobodys_labels_and_unblinds_them_apart(
    study, threads, lead, coder, second_coder
):
    interview = threads[0]
    theirs = put(find_answer(interview), find_code(study, "theme.balance"), second_coder)
    open_condition(study=study, interview=interview, by=lead)
    role = find_role(lead, study)
    assert role is not None
    viewer = Viewer(study, lead, role)
    assert viewer.unblinded == frozenset()
    assert viewer.hidden_interviews == {interview.pk}
    assert viewer.closed_turns
    assert theirs not in Coding.objects.active().visible_to(viewer)
    with pytest.raises(Refused):
        unblind_interview(study=study, interview=interview, by=coder, where="desk")
    unblind_interview(study=study, interview=interview, by=lead, where="desk")
    assert Unblinding.objects.filter(user=lead).count() == 2
    assert theirs in Coding.objects.active().visible_to(Viewer(study, lead, role))


def test_only_who_codes_opens_a_condition_and_only_of_a_masked_thread(
    study, threads, interview, coder, reader, outsider
):
    for person in (reader, outsider):
        with pytest.raises(Refused):
            open_condition(study=study, interview=threads[0], by=person)
    with pytest.raises(Refused, match="not masked"):
        open_condition(study=study, interview=interview, by=coder)


def test_unmasking_waits_for_the_round_and_asks_for_a_lead_and_a_reason(study, threads, lead, coder, second_coder):
    round_ = open_round(study, lead, coder, second_coder, name="First pass")
    with pytest.raises(Refused, match="First pass"):
        unmask_interviews(study=study, interviews=threads, reason="Done.", by=lead)
    lock_round(round_=round_, by=lead)
    with pytest.raises(Refused, match="Only leads and owners"):
        unmask_interviews(study=study, interviews=threads, reason="Done.", by=coder)
    with pytest.raises(Refused, match="Give a reason"):
        unmask_interviews(study=study, interviews=threads, reason=" ", by=lead)
    other = start_study(slug="other", name="Other", by=lead)
    with pytest.raises(Refused, match="not part of this study"):
        unmask_interviews(study=other, interviews=threads, reason="Done.", by=lead)
    assert study.interviews.masked().count() == 40
    unmask_interviews(study=study, interviews=threads, reason="Done.", by=lead)
    with pytest.raises(Refused, match="at least one"):
        unmask_interviews(study=study, interviews=threads, reason="Done.", by=lead)


def test_the_page_of_unmasking_names_some_of_many_and_counts_the_others(study, lead, monkeypatch):
    threads = bring_in_masked(study, lead, [make_thread("xenobriefed", number) for number in range(5)])
    browser = Client()
    browser.force_login(lead)
    address, ticked = reverse("blinding:unmask", args=[study.slug]), {"interview": [each.pk for each in threads]}
    assert (
        " more"
        not in browser.post(address, ticked).content.decode().partition("5 interviews: ")[2].partition("</p>")[0]
    )
    monkeypatch.setattr(views, "LABELS_SHOWN", 3)
    listed = browser.post(address, ticked).content.decode().partition("5 interviews: ")[2].partition("</p>")[0]
    assert [each.mask_label in listed for each in threads] == [True, True, True, False, False]
    assert listed.endswith(" and 2 more")


def test_after_unmasking_everything_is_back_byte_for_byte(study, lead, coder):
    consent = {"external": True, "basis": "Terms of Anthropic"}
    made = [make_thread(condition, number) for number in range(20) for condition in CONDITIONS]
    made[0] |= {"consent": consent}
    made[1] |= {"consent": {"quotation": False}}
    made.append(make_thread("xenobriefed", 77, relation="branch", hangs_on={"id": "xenobriefed-3", "turn": 2}))
    plain = start_study(slug="plain", name="Plain", by=lead)
    bring_in_masked(plain, lead, made, mask=False)
    threads = bring_in_masked(study, lead, made)
    grown = {**made[0], "turns": [*made[0]["turns"], {"role": "model", "text": "Claude adds this."}]}
    bring_in_masked(study, lead, [grown], name="anthropic-2.jsonl")
    bring_in_masked(plain, lead, [grown], name="anthropic-2.jsonl", mask=False)
    coding = put(find_answer(threads[0]), find_code(study, "theme.balance"), coder)
    place = (coding.sentence.start, coding.sentence.end)
    browser = Client()
    browser.force_login(lead)
    address = reverse("blinding:unmask", args=[study.slug])
    few = {"interview": [each.pk for each in threads[:5]]}
    page = browser.post(address, few)
    assert all(each.mask_label in page.content.decode() for each in threads[:5])
    assert browser.post(address, {**few, "unmask": "1", "reason": ""}).status_code == 422
    assert browser.post(address, {**few, "unmask": "1", "reason": "A look."}).status_code == 302
    assert study.interviews.masked().count() == 36
    # The file that most of them came in is named only once the last is unmasked.
    assert not study.imported_files.filter(name=FILE_NAME).exists()
    assert browser.post(address, {"every": "1", "unmask": "1", "reason": "All is read."}).status_code == 302
    assert not study.interviews.masked().exists()
    for mine, theirs in zip(describe_all(study), describe_all(plain), strict=True):
        assert mine == theirs
    assert list_quotes(study) == list_quotes(plain)
    for sentence in Sentence.objects.filter(turn__interview__study=study).select_related("turn"):
        assert sentence.text_hash == hash_quote(sentence.read_text())
    assert set(study.imported_files.values_list("name", flat=True)) == {FILE_NAME, "anthropic-2.jsonl"}
    coding.sentence.refresh_from_db()
    assert (coding.sentence.start, coding.sentence.end) == place
    labels = {each.mask_label for each in threads}
    assert set(study.interviews.values_list("mask_label", flat=True)) == labels
    events = AuditEvent.objects.filter(action="corpus.interviews.unmasked").order_by("pk")
    assert [event.details["reason"] for event in events] == ["A look.", "All is read."]
    changes = InterviewChange.objects.filter(field="masked")
    assert {(change.old, change.reason) for change in changes if change.interview == threads[0]} == {
        (threads[0].mask_label, "A look.")
    }


def test_names_that_were_covered_are_counted_once_the_thread_is_unmasked(study, lead):
    silent = make_thread("xenobare", 9, turns=[{"role": "model", "text": "I say no name."}])
    threads = bring_in_masked(study, lead, [make_thread("xenobriefed", 1), silent])
    named = study.interviews.with_names_covered()
    assert {vars(each)["names_covered"] for each in named} == {None}
    unmask_interviews(study=study, interviews=threads, reason="All is read.", by=lead)
    counts = {each.external_id: vars(each)["names_covered"] for each in named.all()}
    assert counts == {"xenobriefed-1": 3, "xenobare-9": 0}
    answer = Visitor(lead).knock(reverse("api:export", args=[study.slug, "interviews"]), "POST", '{"format": "csv"}')
    heading, *rows = b"".join(answer).decode().splitlines()
    assert {"mask_label", "unmasked", "names_covered"} <= set(heading.lstrip("\ufeff").split(","))
    assert len(rows) == 2


def test_a_thread_that_is_unmasked_is_recognised_by_its_own_id(study, lead):
    thread = make_thread("xenobriefed", 1)
    threads = bring_in_masked(study, lead, [thread])
    unmask_interviews(study=study, interviews=threads, reason="All is read.", by=lead)
    again = bring_in_masked(study, lead, [thread], name="again")
    assert [each.external_id for each in again] == ["xenobriefed-1"]
