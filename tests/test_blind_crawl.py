"""A blind coder's site before and after another coder works: the same, byte for byte.

Everything a coder can reach is fetched: every address of a study with every choice of its forms, every link, every
download, and the API. Then a second coder does all that coders do, and it is fetched again. The same of a lead who codes,
before and after machines say something else: on the pages that measure them, of interviews that she has not opened.
Of the pages that links of one kind lead to, such as those of all codes, and of the choices of a list `make test` fetches
one that no address has by itself, `make test-ci` all.
"""

from __future__ import annotations

import io
import re
import uuid
import zipfile
from collections import Counter
from dataclasses import dataclass, field
from itertools import islice
from urllib.parse import parse_qs, urlencode, urljoin, urlsplit

import lxml.html
import pytest
from django.urls import resolve, reverse

from auditapp.annotators.models import Annotator, Suggestion, TurnArm
from auditapp.batches.models import Attempt
from auditapp.batches.pages import progress
from auditapp.benchmarks.sob.judging.actions import mark_item
from auditapp.benchmarks.sob.models import AuditItem
from auditapp.suggestions.actions import accept_suggestion, reject_suggestion, show_suggestions
from tests.auditapp.annotators.cast import answer, answer_all, find_arm, say_otherwise
from tests.auditapp.annotators.cast import launch as launch_challenges
from tests.auditapp.evaluation.cast import add_critic, judge, launch, list_sentences, open_to, suggest
from tests.auditapp.suggestions.cast import add_annotator, show_all
from tests.support.whole_study import ADDRESSES, Stage, add_export, set_stage
from tests.test_access_matrix import LEADS_ON, NOT_SHOWN_TO_HER, OF_A_STUDY, Visitor, undone
from tests.transcripts.coding.cast import decide, find_code, put, take_off
from tests.transcripts.negotiation.cast import score
from tests.transcripts.rounds.cast import bring_in, find_assignment, open_round
from transcripts.accounts.models import Session
from transcripts.analysis.notebook.actions import write_memo as write_free_memo
from transcripts.analysis.notebook.queries import Place
from transcripts.codebook.actions import propose_code
from transcripts.coding.actions import write_memo
from transcripts.coding.models import Memo
from transcripts.corpus.models import Interview, Sentence
from transcripts.exchange.rows import list_exports
from transcripts.jobs.models import ImportJob
from transcripts.negotiation.actions import Evidence
from transcripts.rounds.actions import complete_assignment
from transcripts.studies.actions import set_method
from transcripts.studies.roles import CODER

MAX_PAGES = 1_000
MAX_PAGES_OF_A_KIND = 1
OUTSIDE = ("/accounts/logout", "/static/")
# Made anew for every answer, whoever works.
CHANGING = re.compile(rb'[A-Za-z0-9]{64}|name="idempotency_key" value="[0-9a-f-]+"|name="seed" value="\d+"')
MOMENT = re.compile(rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[.\d]*(?:Z|[+-]\d\d:\d\d)?")
# When a page was computed, to the minute.
SHOWN_TIME = re.compile(rb"<time [^>]*>[^<]*</time>")
# Shows a secret that is new each time, and nothing of a study.
NOT_COMPARED = {"/account/second-factor/set-up/"}
CHANGING_HEADERS = {"Date", "Expires", "Set-Cookie", "Content-Length", "X-Content-SHA256"}
LONG_LIST = 5


@dataclass
class Crawl:
    """What one person gets, by what she asked for."""

    visitor: Visitor
    stage: Stage
    every_link: bool
    found: dict[str, bytes] = field(default_factory=dict)
    linked: Counter[tuple[str, ...]] = field(default_factory=Counter)
    # Of a study with many interviews alike, the pages of a few; all of them by default.
    max_interviews: int | None = None
    # Of links to pages of one kind, how many are followed.
    max_of_a_kind: int = MAX_PAGES_OF_A_KIND
    # Whether each choice of a list in a form is made, or the form is sent as it stands alone.
    makes_choices: bool = True

    def run(self):
        """Fetch everything; the answers, without what changes with every request."""
        waiting = [*self._list_addresses(), "/", "/account/", "/help/"]
        self._follow(waiting)
        self._send(self.stage.path("suggestions:panel"))
        self.send_exports()
        return self.found

    def look(self):
        """Fetch every page and what pages lead to, without the exports."""
        self._follow([*self._list_addresses(), "/", "/account/"])
        return self.found

    def _follow(self, waiting):
        while waiting:
            path = waiting.pop()
            if path in self.found or path in NOT_COMPARED:
                continue
            assert len(self.found) < MAX_PAGES, "The crawl does not come to an end."
            answer = self.visitor.knock(path, "GET")
            self._keep(path, answer)
            if answer.status_code == 200 and "html" in answer.get("Content-Type", ""):
                waiting += self._find_more(path, answer)

    def run_again(self):
        """Fetch what the first run found. A page that has come since would show as a link on one of these."""
        names, self.found = list(self.found), {}
        for name in names:
            if name.startswith("POST "):
                self._send(*name.removeprefix("POST ").split(" ", 1))
            else:
                self._keep(name, self.visitor.knock(name, "GET"))
        return self.found

    def _list_addresses(self):
        for name, row in OF_A_STUDY.items():
            if row.get("GET") in CODER.permissions:
                yield self.stage.path(name)
        found = Interview.objects.filter(study__slug=self.stage.things["slug"]).order_by("pk")
        interviews = list(found[: self.max_interviews])
        for name in (
            "desk:desk",
            "negotiation:thread_scores",
            "search:score_sheet",
            "negotiation:thread",
            "api:interview",
            "api:sentences",
        ):
            for interview in interviews:
                yield self.stage.path(name, interview_id=interview.pk)
        for sentence in Sentence.objects.filter(turn__interview__in=interviews):
            place = {"interview_id": sentence.turn.interview_id, "sentence_id": sentence.pk}
            yield self.stage.path("desk:marks", **place)
        queries = ("withdrawn=any", "withdrawn=any&since=2020-01-01T00:00:00Z")
        for name, others in (
            ("codings", ("coder=second_coder", "code=theme.balance", "blinding=assisted")),
            ("decisions", ("coder=second_coder", "blinding=assisted")),
            ("memos", ("author=second_coder", "kind=reading")),
        ):
            for query in (*queries, *others):
                yield f"{self.stage.path(f'api:{name}')}?{query}"

    def _find_more(self, path, answer):
        page = lxml.html.document_fromstring(answer.content)
        page.make_links_absolute(f"http://site{path}")
        for element, attribute, link, _ in page.iterlinks():
            if element.tag == "a" and attribute == "href" and _is_inside(link):
                parts = urlsplit(link)
                # A choice already made leads to pages, but not to every further choice: they would never end.
                if not (parts.query and urlsplit(path).query) and self._is_wanted(parts):
                    yield parts.path + (f"?{parts.query}" if parts.query else "")
        for form in page.forms:
            if form.method == "GET" and not urlsplit(path).query:
                choices = _list_choices(form, path, every=self.every_link)
                yield from choices if self.makes_choices else islice(choices, 1)

    def _is_wanted(self, link):
        """Whether few links of this kind, to the same view with the same parameters, were followed so far."""
        if self.every_link:
            return True
        kind = (resolve(link.path).view_name, *sorted(parse_qs(link.query)))
        self.linked[kind] += link.geturl() not in self.found
        return self.linked[kind] <= self.max_of_a_kind

    def send_exports(self):
        """Send the forms of the page of exports, and ask the API for every format of each."""
        self.send_forms()
        for export in list_exports():
            for format in export.formats:
                self._send(self.stage.path("api:export", what=export.key), f'{{"format": "{format}"}}')

    def send_forms(self):
        """Send the forms of the page of exports, each as it stands."""
        exports = self.stage.path("exchange:exports")
        page = lxml.html.document_fromstring(self.visitor.knock(exports, "GET").content)
        paths = {form.action for form in page.forms if form.method == "POST" and exports in (form.action or "")}
        assert paths
        for path in sorted(paths):
            self._send(path)

    def _send(self, path, form=""):
        with undone():
            self._keep(f"POST {path} {form}".strip(), self.visitor.knock(path, "POST", form))

    def _keep(self, name, answer):
        body = b"".join(answer) if answer.streaming else answer.content
        if body.startswith(b"PK"):
            with zipfile.ZipFile(io.BytesIO(body)) as packed:
                body = b"\n".join(each.encode() + packed.read(each) for each in sorted(packed.namelist()))
            body = MOMENT.sub(b"", body)
            headers = ""
        else:
            headers = str(sorted((key, value) for key, value in answer.items() if key not in CHANGING_HEADERS))
        if name.startswith("/account/"):
            body = SHOWN_TIME.sub(b"", body)  # when her session and her token were used last
        body = CHANGING.sub(b"", body)
        self.found[name] = f"{answer.status_code} {headers} {len(body)}\n".encode() + body


def _list_choices(form, path, *, every):
    """The address of a form as it stands, and with each choice of each of its lists; of long ones two, or not ``every`` one.

    The one is the second, for the first is mostly what the form sends as it stands."""
    action = urlsplit(form.action or path).path or urlsplit(path).path
    values = [(name, value) for name, value in form.form_values() if value]
    yield f"{action}?{urlencode(values)}"
    for select in form.xpath(".//select[@name]"):
        options = select.xpath(".//option/@value")
        few = options[:2] if every else options[:2][-1:]
        for option in options if every and len(options) <= LONG_LIST else few:
            others = [(name, value) for name, value in values if name != select.name]
            yield f"{action}?{urlencode([*others, (select.name, option)])}"


def _is_inside(link):
    parts = urlsplit(urljoin("http://site/", link))
    return parts.netloc == "site" and not parts.path.startswith(OUTSIDE)


def work(study, stage, round_, talk, who):
    """All that a coder does: codes of every kind, decisions, memos, a proposal, suggestions opened, a sign-off."""
    sentences = list(
        Sentence.objects.select_related("turn__interview__study")
        .filter(turn__interview__study=study, turn__role="model")
        .order_by("turn__interview", "position")
    )
    balance, task = find_code(study, "theme.balance"), find_code(study, "feature.task")
    for sentence in sentences:
        coding = put(sentence, balance, who)
        put(sentence, find_code(study, "move.elicit"), who, enactment="described")
        if sentence.position % 2:
            take_off(coding, who)
            put(sentence, balance, who, level="latent", note="Theirs alone to read.")
        decide(sentence, who)
    put(sentences[0], task, who)
    stance = study.normative_stances.get()
    score(stance, talk, who, 3, note="Theirs.")
    own_turn = {"turn": sentences[0].turn, "feature": task.identifier}
    score(stance, sentences[0].turn.interview, who, 1, "warranted", evidence=[Evidence(sentences[0])], **own_turn)
    write_memo(
        study=study,
        interview=talk,
        sentence=None,
        text="A memo of theirs.",
        by=who,
        idempotency_key=uuid.uuid4(),
    )
    place = Place(Memo.Subject.STUDY)
    write_free_memo(study=study, place=place, text="Of theirs.", kind="reading", by=who, idempotency_key=uuid.uuid4())
    propose_code(
        study=study,
        name="Theirs",
        family_identifier="themes",
        idempotency_key=uuid.uuid4(),
        by=who,
        sentence=sentences[0],
    )
    item = AuditItem.objects.select_related("audit__batch").get(audit__batch=stage.things["sob"]["batch_id"])
    mark_item(item=item, outcome="unknown", note="Theirs.", number=1, idempotency_key=uuid.uuid4(), by=who)
    question = list_questions(study)[0]
    put(question, find_code(study, "challenge.new_fact"), who)
    proposed = answer(stage.things["challenges"], [question], {"challenge.probe": question.read_text().split()[0]})
    show_suggestions(study=study, sentence=question, by=who)
    accept_suggestion(suggestion=proposed["challenge.probe"], study=study, by=who)
    show_suggestions(study=study, sentence=stage.sentence, by=who)
    suggestion = Suggestion.objects.select_related("sentence__turn__interview", "code__family").get(
        sentence=stage.sentence
    )
    reject_suggestion(suggestion=suggestion, study=study, by=who, reason="No.")
    complete_assignment(assignment=find_assignment(round_, talk, who), reason="Done.", by=who)


def list_questions(study):
    """The first sentence of each turn of the interviewer, in order."""
    rows = Sentence.objects.select_related("turn__interview__study").filter(
        turn__interview__study=study, turn__role="interviewer"
    )
    firsts = {}
    for sentence in rows.order_by("turn__interview", "turn__position", "start"):
        firsts.setdefault(sentence.turn_id, sentence)
    return list(firsts.values())


@pytest.mark.full
@pytest.mark.parametrize("every_link", [False, True])
def test_nothing_a_blind_coder_gets_tells_of_another_coders_work(study, owner, lead, coder, second_coder, every_link):
    stage = set_stage(study, owner, second_coder)
    [talk] = bring_in(study, owner, ["Model A"])
    round_ = open_round(study, lead, coder, second_coder, overlap_percent=100, name="Both read all")
    # It has answered once, so that its name is on pages already; what it says the second time comes later.
    answered, stage.things["challenges"] = (find_arm(launch_challenges(study, owner)) for _ in range(2))
    answer(answered, [list_questions(study)[0]], {})
    # Shown, so that the second coder opens what is suggested for them.
    TurnArm.objects.update(arm=TurnArm.Arm.SHOWN)
    own = put(stage.sentence, find_code(study, "theme.balance"), coder)
    decide(stage.sentence, coder)
    stage.things.update(coding_id=own.pk, idempotency_key=own.idempotency_key.hex)
    stage.things["memo_id"] = write_free_memo(
        study=study,
        place=Place(Memo.Subject.STUDY),
        text="Mine.",
        kind="reading",
        by=coder,
        idempotency_key=uuid.uuid4(),
    ).pk
    stage.things["export_id"] = add_export(study, coder).pk
    # A page of a job that waits for a worker says so after a while.
    ImportJob.objects.update(state=ImportJob.State.CANCELLED)
    Visitor(second_coder)
    visitor = Visitor(coder)
    visitor.knock("/api/v1/studies/", "GET")  # her account page says whether her token was ever used
    sessions = Session.objects.count()
    crawl = Crawl(visitor, stage, every_link)
    before = crawl.run()
    work(study, stage, round_, talk, second_coder)
    after = crawl.run_again()
    assert Session.objects.count() == sessions
    seen = {name for name in OF_A_STUDY if OF_A_STUDY[name].get("GET") in CODER.permissions} - LEADS_ON
    # What is closed to her answers, too, before and after.
    allowed = {name: (b"200", b"404") if name in NOT_SHOWN_TO_HER else b"200" for name in seen}
    missing = [name for name in seen if not before.get(stage.path(name), b"").startswith(allowed[name])]
    assert missing == []
    assert [name for name in sorted(before) if before[name] != after[name]] == []


SUGGESTED = ("theme.balance", "theme.compassion")
MEASURES_OF_MACHINES = ("spread", "rejections", "calibration", "disagreements", "rates")


def look_around(visitor, study, *more):
    """The pages that measure machines, with every choice of their forms, the codes that machines suggested and a few others."""
    paths = {reverse(f"evaluation:{name}", args=[study.slug]) for name in (*MEASURES_OF_MACHINES, *more)}
    waiting, found = sorted(paths), {}
    while waiting:
        path = waiting.pop()
        if path in found:
            continue
        answer = visitor.knock(path, "GET")
        assert answer.status_code == 200
        found[path] = strip_times(answer)
        if urlsplit(path).query:
            continue
        page = lxml.html.document_fromstring(answer.content)
        page.make_links_absolute(f"http://site{path}")
        links = [urlsplit(link) for _, attribute, link, _ in page.iterlinks() if attribute == "href"]
        waiting += [f"{link.path}?{link.query}" for link in links if link.path in paths][:MAX_PAGES_OF_A_KIND]
        for form in page.forms:
            if form.method == "GET":
                waiting += _list_choices(form, path, every=True)
        waiting += [f"{path}?code={code}" for code in SUGGESTED]
    return found


def fetch_all(visitor, paths):
    return {path: strip_times(visitor.knock(path, "GET")) for path in paths}


def strip_times(answer):
    return CHANGING.sub(b"", SHOWN_TIME.sub(b"", answer.content))


def test_nothing_a_lead_who_codes_gets_tells_what_machines_said_before_she_opens(
    study, interview, owner, lead, coder, reader
):
    set_method(study=study, method="codebook", by=owner)
    show_all(study)
    sentences = list_sentences(interview)
    arm, questions = find_arm(launch_challenges(study, owner)), list_questions(study)
    readers = [add_annotator(study, name) for name in ("one", "other")]
    for annotator in readers:
        first, second = suggest(annotator, {sentences[0]: [SUGGESTED[0]], sentences[1]: [SUGGESTED[1]]})
        judge(annotator, {first: "uphold", second: "reverse"}, critic=readers[0].variant)
    answer(arm, [questions[0]], {"challenge.probe": questions[0].read_text().split()[0]})
    for sentence in sentences:
        decide(sentence, coder)
    leads, readers_site = Visitor(lead), Visitor(reader)
    pages = [reverse(f"evaluation:{name}", args=[study.slug]) for name in ("spread", "rejections", "calibration")]
    every = [*readers, Annotator.objects.get(pk=arm.settings["annotator"])]
    pages += [reverse("api:calibration", args=[study.slug, annotator.pk]) for annotator in every]
    before, read_before = look_around(leads, study, "choose"), fetch_all(readers_site, pages)
    before |= fetch_all(leads, pages)
    for annotator in readers:
        more = suggest(annotator, {each: list(SUGGESTED) for each in sentences[:2]})
        judge(annotator, dict.fromkeys(more, "reverse"), critic=readers[0].variant)
    words = questions[1].read_text().split()[0]
    answer(arm, [questions[1]], {"challenge.probe": words, "challenge.new_fact": words})
    after, read_after = fetch_all(leads, before), fetch_all(readers_site, pages)
    assert [name for name in sorted(before) if before[name] != after[name]] == []
    # Somebody who does not code sees it, and so does she once she has unblinded.
    assert all(read_after[page] != read_before[page] for page in pages)
    open_to(study, interview, lead)
    unblinded = fetch_all(leads, pages)
    assert all(unblinded[page] != after[page] for page in pages)


BATCHES_BY_API = ("batch", "batch_estimate", "batch_answers")
PAGES_OF_BATCHES = ("detail", "attempts", "spend", "spend_file", "attempt", "requests")


def look_into_batches(visitor, study):
    """Every page, file, choice and call of every batch, what a live page asks for, and the same from the API."""
    progress._watched.clear()
    paths = [reverse("batches:list", args=[study.slug]), reverse("api:batches", args=[study.slug])]
    for batch in study.batches.order_by("pk"):
        arms = list(batch.arms.values_list("pk", flat=True))
        paths += [
            reverse(f"batches:{name}", args=[study.slug, batch.pk]) for name in PAGES_OF_BATCHES if name != "attempt"
        ]
        calls = reverse("batches:attempts", args=[study.slug, batch.pk])
        paths += [f"{calls}?{query}" for query in ("end=answered", "twice=on", *(f"arm={arm}" for arm in arms))]
        paths += [reverse(f"api:{name}", args=[study.slug, batch.pk]) for name in BATCHES_BY_API]
        for attempt in Attempt.objects.filter(cell__batch=batch):
            paths.append(reverse("batches:attempt", args=[study.slug, batch.pk, attempt.pk]))
    found = {path: visitor.knock(path, "POST" if path.endswith("/file/") else "GET") for path in paths}
    for batch in study.batches.order_by("pk"):
        path = reverse("batches:detail", args=[study.slug, batch.pk])
        found[f"{path} live"] = visitor.browser.get(path, headers={"hx-request": "true"})
    return {path: f"{each.status_code} ".encode() + CHANGING.sub(b"", each.getvalue()) for path, each in found.items()}


def test_nothing_a_batch_shows_to_who_may_code_tells_what_its_calls_answered(study, interview, lead, coder, reader):
    show_all(study)
    annotator = add_annotator(study, "one")
    sentences = list_sentences(interview)
    [found] = suggest(annotator, {sentences[0]: ["theme.balance"]})
    assert found.cell is not None
    check = found.cell.batch
    for batch in (check, launch(annotator, add_critic("critic"))):
        answer_all(batch)
    visitors = {who: Visitor(who) for who in (coder, lead, reader)}
    before = {who: look_into_batches(visitor, study) for who, visitor in visitors.items()}
    say_otherwise(study)
    after = {who: look_into_batches(visitor, study) for who, visitor in visitors.items()}
    for who in (coder, lead):
        assert [name for name in before[who] if before[who][name] != after[who][name]] == []
    told = {name for name in before[reader] if before[reader][name] != after[reader][name]}
    for batch in study.batches.all():
        for name in ("detail", "attempts", "spend", "spend_file"):
            assert reverse(f"batches:{name}", args=[study.slug, batch.pk]) in told
        for name in ("batch", "batch_answers"):
            assert reverse(f"api:{name}", args=[study.slug, batch.pk]) in told
    assert {reverse("batches:list", args=[study.slug]), reverse("api:batches", args=[study.slug])} <= told
    open_to(study, interview, lead)
    assert reverse("batches:spend", args=[study.slug, check.pk]) in {
        name for name, page in look_into_batches(visitors[lead], study).items() if page != after[lead][name]
    }


def test_every_address_of_the_study_that_a_coder_may_read_is_on_the_crawl():
    assert {name for name, row in OF_A_STUDY.items() if "GET" in row} <= set(ADDRESSES)
