"""Threads that come in masked: what is sealed of them, that they are recognised all the same, and that they grow."""

import io
import json
import re

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from hypothesis import given
from hypothesis import strategies as st

from tests.support.masked_threads import (
    CONDITIONS,
    FILE_NAME,
    SECRETS,
    bring_in_masked,
    describe_all,
    list_quotes,
    make_thread,
    write_file,
)
from transcripts.audit_trail.models import AuditEvent
from transcripts.blinding import actions as conditions
from transcripts.codebook.actions import start_study
from transcripts.corpus import actions, masked
from transcripts.corpus.actions import import_files, plan_imports
from transcripts.corpus.changes import edit_details
from transcripts.corpus.models import Consent, ImportedFile, Interview, MaskedFacts, Sentence, Turn
from transcripts.corpus.pure.previews import Choices
from transcripts.corpus.pure.redacting import LETTERS, cover_names, is_covered, mask_interview
from transcripts.corpus.pure.segmenting import hash_quote
from transcripts.formats.interviews import read_bytes
from transcripts.formats.text_input import BLOCK, FILLER, mark_unseen
from transcripts.jobs.actions import cancel_job, run_job, start_job
from transcripts.jobs.models import ImportJob
from transcripts.jobs.runs import JobPaused, JobRun
from transcripts.refusals import Refused

LABEL = re.compile(rf"S-[{LETTERS}]{{4}}")
MASK = Choices(mask=True)
commits = pytest.mark.django_db(transaction=True)


def find_secrets(*told):
    text = json.dumps(told, default=str, ensure_ascii=False).casefold()
    return [secret for secret in SECRETS if secret in text]


def dump(study):
    """All rows of a study's texts but what is sealed."""
    interviews = list(Interview.objects.filter(imported_file__study=study).values())
    turns = list(Turn.objects.filter(interview__in=[row["id"] for row in interviews]).values())
    consents = list(Consent.objects.filter(interview__in=[row["id"] for row in interviews]).values())
    return [interviews, turns, consents, list(ImportedFile.objects.values()), list(AuditEvent.objects.values())]


@pytest.mark.parametrize(
    ("text", "covered", "names"),
    [
        ("I am ChatGPT, made by OpenAI.", "I am ██, made by ██.", 2),
        ("As Claude 3.5 Sonnet, I ask.", "As ██, I ask.", 1),
        ("GPT-4o-mini and gpt 4 differ.", "██ and ██ differ.", 2),
        ("Llama-3.1-70B-Instruct, or Qwen2.5-72B", "██, or ██", 2),
        ("**Gemini**’s answer", "**██**’s answer", 1),
        ("As _Claude_, I follow __Anthropic__ rules; __Claude-3__", "As _██_, I follow __██__ rules; __██__", 3),
        ("openai/gpt-4o.", "██.", 1),
        ("house-model says so, as HOUSE-MODEL does", "██ says so, as ██ does", 2),
        ("Das ist Claudes Antwort nach Anthropics Richtlinien.", "Das ist ██ Antwort nach ██ Richtlinien.", 2),
        ("Sonnet and Opus 4.1, Haiku, Ernie, ERNIE Bot 4.0 and o1-preview", "██ and ██, ██, ██, ██ and ██", 6),
        ("我是Claude，由Anthropic开发的人工智能。", "我是██，由██开发的人工智能。", 2),
        ("我是文心一言，不是通义千问，也不是GPT-4o的模型。", "我是██，不是██，也不是██的模型。", 3),
        ("저는 OpenAI의 ChatGPT입니다.", "저는 ██의 ██입니다.", 2),
        ("私はGoogleのGeminiです。", "私は██の██です。", 2),
        ("Llamas and vicunas; she sang a sonnet, and a magnum opus; he googles.", None, 0),
        ("Geminids, Bardot, llamas, a meta-analysis; he googled it.", None, 0),
        ("Nothing of the kind.", None, 0),
    ],
)
def test_names_of_models_and_vendors_are_covered_and_other_words_are_not(text, covered, names):
    said, found = cover_names(text, ["house-model"])
    assert (said.replace(FILLER, ""), found) == (covered or text, names)
    assert len(said) == len(text)
    assert mark_unseen(said) == said, "no badge tells how much is covered"


@given(
    st.lists(st.sampled_from(["Claude 3.5 Sonnet", "GPT-4", " ", "\n", "𝒳", "é", "word.", "zephyrine", "日本", "- "]))
)
def test_offsets_stay_where_names_are_covered(parts):
    text = "".join(parts)
    covered, names = cover_names(text, ["zephyrine"])
    assert len(covered) == len(text)
    assert all(one == other or other in (BLOCK, FILLER) for one, other in zip(text, covered, strict=True))
    assert is_covered(covered, text)
    assert not is_covered(covered + "x", text)
    assert (names == 0) == (covered == text)


def test_a_masked_thread_is_stored_under_a_label_with_nothing_that_tells_its_condition(study, lead):
    threads = [make_thread(condition, number) for condition in CONDITIONS for number in range(3)]
    interviews = bring_in_masked(study, lead, threads)
    assert len({each.mask_label for each in interviews}) == 6
    for each in interviews:
        assert LABEL.fullmatch(each.mask_label)
        assert each.title == each.external_id == each.mask_label
        assert each.is_masked
        assert each.kind == "trajectory"
    assert find_secrets(*dump(study)) == []
    facts = MaskedFacts.objects.get(external_id="xenobriefed-1")
    assert facts.facts["vendor"] == "Anthropic"
    assert facts.facts["files"] == {
        str(ImportedFile.objects.get().pk): {"name": FILE_NAME, "format": "interview_jsonl"}
    }
    assert facts.names_covered == 3
    assert facts.turns["1"]["text"] == CONDITIONS["xenobriefed"]["system"]


def test_system_turns_keep_their_place_and_calls_their_results(study, lead):
    [interview] = bring_in_masked(study, lead, [make_thread("xenobriefed", 1)])
    system, *_, call, result, said, _, _ = interview.turns.order_by("position")
    assert (system.role, system.position, system.text, system.sentences.count()) == ("system", 1, "", 0)
    assert call.call_id == result.call_id == "call-1"
    assert call.is_answer
    assert said.text.replace(FILLER, "") == "As ██ by ██ I would ask. It depends on case 1. 日本 fits."
    for sentence in Sentence.objects.filter(turn__interview=interview).select_related("turn"):
        assert sentence.text_hash == hash_quote(sentence.read_text())


def test_what_kind_of_prompt_a_turn_is_comes_back_with_the_mask_unless_somebody_has_said_it_meanwhile(
    study, lead, coder
):
    thread = make_thread("xenobriefed", 1)
    [interview] = bring_in_masked(study, lead, [thread])
    asked = interview.turns.filter(role="interviewer").order_by("position")
    assert list(asked.values_list("prompt_kind", flat=True)) == ["", ""]
    page = _sign_in(coder).get(reverse("desk:desk", args=[study.slug, interview.pk])).content.decode()
    assert "You assumed a lot." in page
    assert '<span class="tag">challenge</span>' not in page
    kinds = {asked[0].pk: "leading"}
    edit_details(study=study, interview=interview, values={}, kinds=kinds, reason="It leads.", by=lead)
    assert (
        import_files(study=study, files=[("again.jsonl", write_file([thread]) + b"\n")], by=lead)[0].already_there == 1
    )

    conditions.unmask_interviews(study=study, interviews=[interview], reason="All is coded.", by=lead)
    assert list(asked.values_list("prompt_kind", flat=True)) == ["leading", "challenge"]


def test_the_counts_of_a_masked_thread_are_those_of_the_same_thread_open(study, lead):
    thread = make_thread("xenobriefed", 1)
    [masked_one] = bring_in_masked(study, lead, [thread])
    [*_, plain] = bring_in_masked(study, lead, [{**thread, "id": "other"}], name="other", mask=False)
    for name in ("questions", "author_words", "turn_count"):
        assert getattr(masked_one, name) == getattr(plain, name)
    # "Claude 3.5 Sonnet" is one word while it is covered.
    assert masked_one.model_words == plain.model_words - 2


def test_the_order_of_masked_threads_is_not_that_of_the_file(study, lead):
    interviews = bring_in_masked(study, lead, [make_thread("xenobriefed", number) for number in range(30)])
    labels = [each.mask_label for each in interviews]
    ids = [each.masked_facts.external_id for each in interviews]
    assert labels == sorted(labels)
    assert ids != [f"xenobriefed-{number}" for number in range(30)]


@pytest.mark.parametrize("mask", [True, False])
def test_a_masked_thread_that_comes_in_again_is_recognised_and_stays_masked(mask, study, lead):
    threads = [make_thread("xenobriefed", number) for number in range(2)]
    bring_in_masked(study, lead, threads)
    before = dump(study)[:3]
    data = write_file([*threads, make_thread("xenobare", 1)])
    [report] = import_files(study=study, files=[("again.jsonl", data)], by=lead, choices=Choices(mask=mask))
    assert (report.interviews, report.already_there) == (1, 2)
    assert dump(study)[1][: len(before[1])] == before[1]
    assert sum(each.is_masked for each in study.interviews.all()) == 2 + mask
    [report] = import_files(study=study, files=[("twice.jsonl", write_file(threads))], by=lead)
    assert report.skipped


def test_the_same_id_with_other_text_is_refused_also_where_only_the_covered_words_differ(study, lead):
    bring_in_masked(study, lead, [make_thread("xenobriefed", 1)])
    other = json.loads(write_file([make_thread("xenobriefed", 1)]).replace(b"by Anthropic I", b"by Microsoft I"))
    with pytest.raises(Refused, match="whose text differs from the one stored under this id, from turn 6 on"):
        import_files(study=study, files=[("other.jsonl", write_file([other]))], by=lead, choices=MASK)


@pytest.mark.parametrize("mask", [True, False])
def test_a_masked_conversation_that_went_on_is_continued_masked(mask, study, lead):
    thread = make_thread("xenobriefed", 1)
    [interview] = bring_in_masked(study, lead, [thread])
    more = [
        {"role": "interviewer", "text": "So what is Claude?", "speaker": "held by Zofia", "prompt_kind": "leading"},
        {"role": "model", "channel": "tool_call", "text": "{}", "speaker": "toolu_x", "call_id": "toolu_2"},
        {"role": "system", "text": "Claude, negotiate openly."},
        {"role": "model", "text": "Claude 3.5 Sonnet is a name. Nothing more."},
    ]
    longer = {**thread, "turns": [*thread["turns"], *more]}
    data = write_file([longer])
    [report] = import_files(study=study, files=[("anthropic-2.jsonl", data)], by=lead, choices=Choices(mask=mask))
    assert (report.grown, report.grown_turns) == (1, 4)
    assert find_secrets(*dump(study)) == []
    texts = list(interview.turns.order_by("position").values_list("text", flat=True))[8:]
    shown = [text.replace(FILLER, "") for text in texts]
    assert shown == ["So what is ██?", "{}", "", "██ is a name. Nothing more."]
    assert interview.turns.get(position=10).call_id == "call-2"
    assert interview.turns.get(position=9).prompt_kind == ""
    facts = MaskedFacts.objects.get(interview=interview)
    assert facts.names_covered == 5
    assert facts.turns["9"]["prompt_kind"] == "leading"
    assert {each["name"] for each in facts.facts["files"].values()} == {FILE_NAME, "anthropic-2.jsonl"}
    [report] = import_files(study=study, files=[("3.jsonl", data + b"\n")], by=lead)
    assert report.already_there == 1


def test_ids_of_calls_that_look_like_ours_stay_apart_when_a_masked_thread_goes_on(study, lead):
    """The file counts its calls as we do, so nothing of the first ones is sealed."""
    opening = {"role": "interviewer", "text": "Look it up."}
    calls = [
        {"role": "model", "channel": "tool_call", "text": "{}", "speaker": "search", "call_id": f"call-{number}"}
        for number in (1, 2, 3)
    ]
    results = [
        {"role": "tool", "channel": "tool_result", "text": f"Result {number}.", "call_id": f"call-{number}"}
        for number in (1, 2, 3)
    ]
    thread = make_thread("xenobriefed", 1, turns=[opening, calls[0], results[0], calls[1]])
    [interview] = bring_in_masked(study, lead, [thread])
    longer = {**thread, "turns": [*thread["turns"], results[1], calls[2], results[2]]}
    bring_in_masked(study, lead, [longer], name="more.jsonl")
    ids = interview.turns.order_by("position").values_list("call_id", flat=True)
    assert list(ids) == ["", "call-1", "call-1", "call-2", "call-2", "call-3", "call-3"]


def test_threads_that_hang_on_masked_ones_hang_on(study, lead):
    main = make_thread("xenobriefed", 1)
    hung = make_thread("xenobriefed", 2, relation="branch", hangs_on={"id": "xenobriefed-1", "turn": 2})
    bring_in_masked(study, lead, [main, hung])
    child = study.interviews.get(relation="branch")
    assert child.hangs_on is not None
    assert child.hangs_on.position == 2
    assert child.hangs_on.interview.masked_facts.external_id == "xenobriefed-1"


def test_the_consent_that_a_file_states_is_kept_and_its_basis_names_no_model(study, lead):
    thread = make_thread("xenobriefed", 1, consent={"external": True, "basis": "Terms of Anthropic, April"})
    other = make_thread("xenobare", 1, consent={"quotation": False})
    bring_in_masked(study, lead, [thread, other])
    held = dict(Consent.objects.values_list("scope", "basis"))
    assert held == {"external": f"Terms of ██{7 * FILLER}, April", "quotation": "Stated in the file masked."}
    assert find_secrets(*dump(study)) == []


def test_a_large_file_comes_in_masked_by_a_worker_and_its_job_names_nothing(study, lead, monkeypatch):
    monkeypatch.setattr(actions, "ROWS_IN_A_GROUP", 20)
    threads = [make_thread(condition, number) for condition in CONDITIONS for number in range(4)]
    threads.append(make_thread("xenobriefed", 9, relation="branch", hangs_on={"id": "xenobriefed-1", "turn": 2}))
    job = start_job(
        study=study,
        kind="interviews",
        files=[SimpleUploadedFile(FILE_NAME, write_file(threads))],
        options={"mask": True, "model": "zephyrine-9x"},
        by=lead,
    )
    run_job(job.pk)
    job.refresh_from_db()
    assert job.state == ImportJob.State.DONE
    assert find_secrets(*dump(study), list(ImportJob.objects.values())) == []
    assert study.interviews.masked().count() == 9
    assert study.interviews.get(relation="branch").hangs_on is not None
    page = _sign_in(lead).get(job.get_absolute_url()).content.decode()
    assert find_secrets(page) == []
    assert "Masked file 1" in page


@commits
@pytest.mark.parametrize("how", ["waiting", "checked", "cancelled", "refused"])
def test_an_import_that_did_not_come_in_tells_its_files_to_nobody_but_who_started_it(how, study, lead, owner):
    data = write_file([make_thread("xenobriefed", 1)]) + (b"\nxenobare" if how == "refused" else b"")
    job = start_job(
        study=study,
        kind="interviews",
        files=[SimpleUploadedFile(FILE_NAME, data)],
        options={"mask": True},
        check_only=how != "refused",
        by=lead,
    )
    if how != "waiting":
        run_job(job.pk)
    if how == "cancelled":
        cancel_job(job=job, by=lead)
    job.refresh_from_db()
    assert job.state == how
    other = _sign_in(owner)
    addresses = [job.get_absolute_url(), reverse("corpus:import", args=[study.slug])]
    pages = [other.get(address).content.decode() for address in addresses]
    assert find_secrets(pages[0]) == []
    assert FILE_NAME not in pages[1]
    assert all("Masked file 1" in page for page in pages)
    assert FILE_NAME in _sign_in(lead).get(job.get_absolute_url()).content.decode()
    other.post(reverse("jobs:import_checked", args=[study.slug, job.pk]))
    job.refresh_from_db()
    assert (job.state, job.asked_by) == (how, lead)


@commits
def test_an_import_that_was_paused_goes_on_with_the_labels_that_it_has_drawn(study, lead, monkeypatch):
    monkeypatch.setattr(actions, "ROWS_IN_A_GROUP", 20)
    monkeypatch.setattr("transcripts.jobs.runs.TELL_SECONDS", 0)
    threads = [make_thread("xenobriefed", 9)]
    threads.append(make_thread("xenobriefed", 8, relation="branch", hangs_on={"id": "xenobriefed-9", "turn": 2}))
    threads += [make_thread("xenobriefed", number) for number in range(4)]
    upload = SimpleUploadedFile(FILE_NAME, write_file(threads))
    job = start_job(study=study, kind="interviews", files=[upload], options={"mask": True}, by=lead)
    tell = JobRun.tell

    def pause(run, stage, done=0, total=0):
        if stage == "Storing" and done:
            raise JobPaused
        tell(run, stage, done, total)

    monkeypatch.setattr(JobRun, "tell", pause)
    run_job(job.pk)
    first = set(Interview.objects.staged().values_list("mask_label", flat=True))
    assert first
    monkeypatch.setattr(JobRun, "tell", tell)
    run_job(job.pk)
    job.refresh_from_db()
    assert job.state == ImportJob.State.DONE
    assert first < set(study.interviews.values_list("mask_label", flat=True))
    assert study.interviews.count() == 6
    child = study.interviews.get(relation="branch")
    assert child.hangs_on is not None
    assert child.hangs_on.interview.masked_facts.external_id == "xenobriefed-9"


def test_what_an_import_that_broke_off_has_stored_masked_is_removed(study, lead, monkeypatch):
    monkeypatch.setattr(actions, "ROWS_IN_A_GROUP", 20)
    threads = [make_thread("xenobriefed", number) for number in range(4)]
    threads.append(make_thread("xenobriefed", 9, relation="branch", hangs_on={"id": "xenobriefed-0", "turn": 2}))
    upload = SimpleUploadedFile(FILE_NAME, write_file(threads))
    job = start_job(study=study, kind="interviews", files=[upload], options={"mask": True}, by=lead)
    monkeypatch.setattr(actions, "_record_import", _fail)
    with pytest.raises(_Killed):
        run_job(job.pk)
    assert not MaskedFacts.objects.exists()
    assert not Turn.objects.filter(interview__imported_file__study=study).exists()


class _Killed(BaseException):
    pass


def _fail(*_, **__):
    raise _Killed


def test_labels_are_drawn_again_while_another_thread_has_them(study, lead, monkeypatch):
    monkeypatch.setattr(masked, "LETTERS", "AB")
    interviews = bring_in_masked(study, lead, [make_thread("xenobriefed", number) for number in range(40)])
    labels = {each.mask_label for each in interviews}
    assert len(labels) == 40
    assert max(map(len, labels)) > len("S-ABAB")


def test_what_is_sealed_cannot_be_typed_in_while_it_is_masked(study, lead):
    [interview] = bring_in_masked(study, lead, [make_thread("xenobriefed", 1)])
    for values in ({"title": "Claude"}, {"model_label": "Claude"}):
        with pytest.raises(Refused, match="can be corrected once it is unmasked"):
            edit_details(study=study, interview=interview, values=values, kinds={}, reason="", by=lead)
    edit_details(study=study, interview=interview, values={"inclusion": "included"}, kinds={}, reason="", by=lead)
    client, path = _sign_in(lead), reverse("corpus:details", args=[study.slug, interview.pk])
    seen = client.get(path).context["form"].initial["seen"]
    page = client.post(path, {"title": "Claude", "inclusion": "kept", "seen": seen})
    assert page.status_code == 302
    interview.refresh_from_db()
    assert (interview.title, interview.inclusion) == (interview.mask_label, "kept")


def test_the_command_masks_and_counts_what_would_come_in(study, tmp_path):
    path = tmp_path / FILE_NAME
    path.write_bytes(write_file([make_thread("xenobriefed", 1)]))
    out = io.StringIO()
    call_command("interview", "import", path, study=study.slug, mask=True, dry_run=True, json=True, stdout=out)
    [told] = json.loads(out.getvalue())["files"]
    call_command("interview", "import", path, study=study.slug, mask=True, stdout=io.StringIO())
    interview = study.interviews.get()
    assert interview.is_masked
    assert told["sentences"] == interview.sentence_count
    path.write_bytes(write_file([make_thread("xenobriefed", 1)]).replace(b"Case 1.", b"Case 2."))
    with pytest.raises(CommandError, match="whose text differs"):
        call_command("interview", "import", path, study=study.slug, stdout=io.StringIO())


def test_the_page_masks(study, lead):
    client = _sign_in(lead)
    address = reverse("corpus:import", args=[study.slug])
    upload = SimpleUploadedFile(FILE_NAME, write_file([make_thread("xenobriefed", 1)]))
    client.post(address, {"uploads": upload, "mask": "on"})
    assert study.interviews.get().is_masked
    client.get(reverse("corpus:interviews", args=[study.slug]))  # tells her who sent it what came in
    page = client.get(reverse("corpus:interviews", args=[study.slug])).content.decode()
    assert study.interviews.get().mask_label in page
    assert find_secrets(page) == []


def test_a_masked_file_says_neither_its_name_nor_its_format(study, lead, coder):
    [interview] = bring_in_masked(study, lead, [make_thread("xenobriefed", 1)])
    for name, holes in (("corpus:files", []), ("corpus:details", [interview.pk])):
        page = _sign_in(coder).get(reverse(name, args=[study.slug, *holes])).content.decode()
        assert find_secrets(page) == []
        assert "masked" in page
    [event] = AuditEvent.objects.filter(action="corpus.file.imported").order_by("-pk")[:1]
    assert event.details["format"] == "masked"


@pytest.mark.parametrize("condition", list(CONDITIONS))
def test_every_format_that_is_read_can_be_masked_and_put_together_again(condition):
    [read] = read_bytes(write_file([make_thread(condition, 1)]), name="x.jsonl").interviews
    hidden = mask_interview(read, "S-AAAA")
    for position, (turn, original) in enumerate(zip(hidden.turns, read.turns, strict=True), 1):
        taken = hidden.sealed.turns.get(str(position), {})
        for name in ("role", "channel", "speaker", "text", "call_id", "details", "prompt_kind"):
            assert taken.get(name, getattr(turn, name)) == getattr(original, name)
    for name in ("model_label", "vendor", "title", "external_id", "metadata", "run", "surface"):
        assert hidden.sealed.facts[name] == getattr(read, name)


def test_planning_stores_nothing(study):
    plan_imports(study=study, files=[(FILE_NAME, write_file([make_thread("xenobriefed", 1)]))], choices=MASK)
    assert not MaskedFacts.objects.exists()
    assert not study.interviews.exists()
    assert connection.in_atomic_block


def _sign_in(user):
    client = Client()
    client.force_login(user)
    return client


def unmask(study, lead, number):
    """Bring in so many threads masked and unmask them; the number of statements that the unmasking took."""
    made = [make_thread("xenobriefed", each) for each in range(number)]
    threads = bring_in_masked(study, lead, made)
    with CaptureQueriesContext(connection) as found:
        conditions.unmask_interviews(study=study, interviews=threads, reason="Done.", by=lead)
    assert not study.interviews.masked().exists()
    return len(found)


def test_many_threads_are_unmasked_with_as_many_statements_as_a_few(study, lead):
    other = start_study(slug="other", name="Other", by=lead)
    assert unmask(study, lead, 40) == unmask(other, lead, 2)


@pytest.mark.parametrize(("interviews", "turns"), [(2, 20_000), (200, 17), (200, 1)])
def test_threads_of_several_groups_are_put_back_as_those_of_one(study, lead, monkeypatch, interviews, turns):
    other = start_study(slug="other", name="Other", by=lead)
    unmask(other, lead, 5)
    monkeypatch.setattr(masked, "INTERVIEWS_AT_A_TIME", interviews)
    monkeypatch.setattr(masked, "TURNS_AT_A_TIME", turns)
    unmask(study, lead, 5)
    assert describe_all(study) == describe_all(other)
    assert list_quotes(study) == list_quotes(other)
    events = AuditEvent.objects.filter(action="corpus.interviews.unmasked").order_by("pk")
    assert [len(event.details["files"]) for event in events] == [1, 1]


def test_a_file_is_named_only_once_every_thread_that_it_brought_or_continued_is_unmasked(study, lead):
    made = [make_thread("xenobriefed", number) for number in (1, 2)]
    bring_in_masked(study, lead, made)
    first, second = (study.interviews.get(masked_facts__external_id=each["id"]) for each in made)
    grown = {**made[1], "turns": [*made[1]["turns"], {"role": "model", "text": "I add this."}]}
    bring_in_masked(study, lead, [grown, make_thread("xenobare", 3)], name="second.jsonl")
    third = study.interviews.latest("pk")
    names = []
    for thread in (first, third, second):
        conditions.unmask_interviews(study=study, interviews=[thread], reason="Done.", by=lead)
        names.append(set(study.imported_files.exclude(format="masked").values_list("name", flat=True)))
    assert names == [set(), set(), {FILE_NAME, "second.jsonl"}]
