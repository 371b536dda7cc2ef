import json
from uuid import uuid4

import pytest

from auditapp.benchmarks.sob.judging.launching import launch_sob
from auditapp.benchmarks.sob.models import Dataset
from auditapp.llm.models import ModelVariant
from transcripts.codebook.models import Code
from transcripts.coding.actions import add_coding
from transcripts.corpus.actions import import_file
from transcripts.corpus.models import Interview, Sentence
from transcripts.studies.actions import create_study

pytestmark = pytest.mark.django_db

SENTENCES = "studies/culture/interviews/{}/sentences/"


@pytest.fixture
def program(study, owner, program_of):
    return program_of(owner)


def follow(program, address):
    """The ids of all pages from ``address`` on, in the order they come."""
    found = []
    while address:
        page = program.get(address.removeprefix("http://127.0.0.1:8000/api/v1/")).body
        found += [row["id"] for row in page["results"]]
        address = page["next"]
    return found


def test_pages_hold_each_row_once_and_in_order(program, interview):
    path = SENTENCES.format(interview.pk)
    ids = [row["id"] for row in program.get(path).body["results"]]
    assert len(ids) == interview.sentence_count
    for limit in (1, 4, len(ids), 1_000):
        assert follow(program, f"{path}?limit={limit}") == ids


def test_a_page_links_to_the_one_before(program, interview):
    path = SENTENCES.format(interview.pk)
    first = program.get(path, limit="4").body
    assert first["previous"] is None
    second = program.get(path, limit="4", offset="4").body
    assert second["count"] == first["count"] == interview.sentence_count
    back = program.get(second["previous"].removeprefix("http://127.0.0.1:8000/api/v1/")).body
    assert back["results"] == first["results"]


def test_a_page_behind_the_last_is_empty(program, interview):
    page = program.get(SENTENCES.format(interview.pk), offset=str(2**63 - 1)).body
    assert (page["results"], page["next"]) == ([], None)


def test_links_keep_the_filters(program, study, sentence, owner):
    for code in Code.objects.filter(version__study=study, family__identifier="themes")[:2]:
        add_coding(study=study, sentence=sentence, code=code, by=owner, idempotency_key=uuid4())
    page = program.get("studies/culture/codings/", coder="owner", withdrawn="any", limit="1").body
    assert page["count"] == 2
    assert "coder=owner" in page["next"]
    assert "withdrawn=any" in page["next"]


def test_links_are_built_from_the_base_url(program, interview, settings):
    settings.BASE_URL = "https://coding.example.org"
    page = program.ask("GET", f"{SENTENCES.format(interview.pk)}?limit=1", headers={"X-Forwarded-Host": "evil.example"})
    assert page.body["next"].startswith("https://coding.example.org/api/v1/studies/culture/")


def test_a_page_has_a_hundred_rows_unless_asked_for_more(program, study, owner):
    text = " ".join(f"This is sentence number {number}." for number in range(150))
    line = json.dumps({"id": "long", "turns": [{"role": "model", "text": text}]}).encode()
    import_file(study=study, name="long.jsonl", data=line, by=owner)
    path = SENTENCES.format(Interview.objects.get(external_id="long").pk)
    assert len(program.get(path).body["results"]) == 100
    assert len(program.get(path, limit="1000").body["results"]) == 150
    assert program.get(path, limit="1001").status == 400


def add_interviews(study, owner, count):
    turns = [{"role": "model", "text": "One. Two. Three."}]
    lines = [json.dumps({"id": f"more {number}", "turns": turns}) for number in range(count)]
    import_file(study=study, name="more.jsonl", data="\n".join(lines).encode(), by=owner)


def add_codings(study, owner, count):
    sentence = Sentence.objects.filter(turn__interview__study=study, turn__role="model")[0]
    for code in Code.objects.filter(version__study=study, family__identifier="themes")[:count]:
        add_coding(study=study, sentence=sentence, code=code, by=owner, idempotency_key=uuid4())


def add_studies(study, owner, count):
    for number in range(count):
        create_study(slug=f"more-{number}", name="More", by=owner)


def add_batches(study, owner, count):
    dataset, variant = Dataset.objects.get(), ModelVariant.objects.get()
    for _ in range(count):
        launch_sob(dataset=dataset, variants=[variant], tasks=["acceptability"], by=owner)


@pytest.mark.parametrize(
    ("path", "add", "queries"),
    [
        # A token, a membership, a count, a page; what else there is stands beside it.
        ("studies/", add_studies, 2),  # no membership, and a person's studies are counted as they are read
        ("studies/culture/interviews/", add_interviews, 4),
        ("studies/culture/codings/", add_codings, 6),
        ("studies/culture/batches/", add_batches, 11),  # arms, models, accounts; cells, lost calls, last answers
    ],
)
def test_a_list_takes_as_many_queries_for_many_rows_as_for_few(
    path, add, queries, study, interview, batch, owner, program, django_assert_num_queries
):
    add_codings(study, owner, 1)
    before = program.get(path).body["count"]
    assert before >= 1
    with django_assert_num_queries(queries):
        program.get(path)
    add(study, owner, 6)
    with django_assert_num_queries(queries):
        assert program.get(path).body["count"] >= before + 5


def test_sentences_take_six_queries_whatever_their_number(program, interview, django_assert_num_queries):
    for limit in ("1", "1000"):
        with django_assert_num_queries(6):
            program.get(SENTENCES.format(interview.pk), limit=limit)


def test_the_codebook_takes_six_queries(program, django_assert_num_queries):
    with django_assert_num_queries(6):
        codebook = program.get("studies/culture/codebook/").body
    once = [family["identifier"] for family in codebook["families"] if family["once_per_answer"]]
    assert once == ["repertoires", "failure_modes"]
