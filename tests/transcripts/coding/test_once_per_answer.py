"""Codes of families that are applied at most once per answer: one sentence of a turn, for each person."""

import time
from uuid import uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from tests.support.instance import PATIENCE
from tests.support.services import quick_on
from tests.transcripts.coding.cast import count_events, find_code, put, standing_codes, take_off
from tests.transcripts.desk.desk_pages import act, post
from transcripts.codebook.models import CodeFamily
from transcripts.coding import actions, queries
from transcripts.coding.actions import boundary_edits
from transcripts.coding.models import Coding
from transcripts.corpus.models import Sentence

REPERTOIRE = "repertoire.user_correction"


@pytest.fixture
def once(study):
    """A code of a family that is applied once per answer."""
    return find_code(study, REPERTOIRE)


@pytest.fixture
def later(sentence):
    """Another sentence of the same answer."""
    rows = sentence.turn.sentences.select_related("turn__interview__study").order_by("start")
    return rows[1]


def allow(code, *, once):
    CodeFamily.objects.filter(pk=code.family_id).update(once_per_answer=once)
    code.family.refresh_from_db()


class TestRule:
    def test_second_sentence_of_the_answer_is_refused_and_told_where_the_first_is(
        self, study, sentence, later, once, coder
    ):
        put(sentence, once, coder)
        events = count_events(study)
        with pytest.raises(actions.OncePerAnswer) as refusal:
            put(later, once, coder)
        assert str(refusal.value) == (
            f"{once.name} is applied at most once per answer, and you have applied it to sentence {sentence.label} of this "
            f"answer. Leave it there. To move it, first remove it from sentence {sentence.label}, then apply it here."
        )
        assert (standing_codes(later, coder), count_events(study)) == ([], events)

    def test_it_can_be_moved(self, sentence, later, once, coder):
        take_off(put(sentence, once, coder), coder)
        put(later, once, coder)
        assert standing_codes(later, coder) == [REPERTOIRE]

    def test_it_binds_one_code_of_one_person_in_one_answer(
        self, study, interview, sentence, later, once,
        coder, second_coder
    ):  # fmt: skip
        put(sentence, once, coder)
        put(later, find_code(study, "repertoire.probabilistic_framing"), coder)
        put(later, once, second_coder)
        elsewhere = Sentence.objects.filter(turn__interview=interview, turn__role="model").exclude(
            turn=sentence.turn_id
        )
        put(elsewhere.select_related("turn__interview__study")[0], once, coder)
        assert Coding.objects.count() == 4

    def test_families_without_the_rule_are_as_they_were(self, sentence, later, code, coder):
        put(sentence, code, coder)
        put(later, code, coder)
        assert Coding.objects.count() == 2

    def test_only_codes_with_the_rule_cost_anything(self, sentence, later, once, code, coder):
        sentence = queries.find_sentence(sentence.turn.interview.study, sentence.turn.interview_id, sentence.pk)
        counts = []
        for each in (code, once):
            with CaptureQueriesContext(connection) as captured:
                put(sentence, each, coder)
            counts.append(len(captured))
        lock = 1 if connection.vendor == "postgresql" else 0
        assert counts[1] - counts[0] == 1 + lock
        with CaptureQueriesContext(connection) as captured:
            put(later, code, coder)
        assert not any("suffix" in query["sql"] for query in captured)

    def test_what_is_stored_twice_from_before_stays_and_may_be_changed(self, sentence, later, once, coder):
        allow(once, once=False)
        first, second = put(sentence, once, coder), put(later, once, coder)
        allow(once, once=True)
        assert put(later, once, coder) == second
        changed = put(later, once, coder, note="Here most clearly.")
        take_off(first, coder)
        assert list(Coding.objects.active()) == [changed]

    def test_replay_of_an_act_that_was_stored_is_not_refused(self, sentence, later, once, coder):
        allow(once, once=False)
        key = uuid4()
        stored = put(later, once, coder, idempotency_key=key)
        put(sentence, once, coder)
        allow(once, once=True)
        assert put(later, once, coder, idempotency_key=key) == stored

    def test_splitting_its_sentence_is_not_refused(self, sentence, once, coder, lead):
        put(sentence, once, coder)
        study = sentence.turn.interview.study
        at = sentence.turn.text.index("ask", sentence.start)
        boundary_edits.split_sentence(study=study, sentence=sentence, at=at, by=lead, idempotency_key=uuid4())
        active = Coding.objects.active().filter(code=once).select_related("sentence")
        assert sorted(each.sentence.label for each in active) == [f"{sentence.label}a", f"{sentence.label}b"]


class TestDesk:
    def test_script_gets_the_sentence_as_a_conflict(self, interview, sentence, later, once, coder, client_of):
        put(sentence, once, coder)
        answer = act(client_of(coder), "add", interview, coder, sentence=later.pk, code=once.pk)
        assert (answer.status_code, "X-Desk-Stored" in answer.headers) == (409, False)
        assert f"first remove it from sentence {sentence.label}" in answer.content.decode()

    def test_form_shows_it_on_the_page(self, interview, sentence, later, once, coder, client_of):
        put(sentence, once, coder)
        page = post(client_of(coder), "add", interview, sentence=later.pk, code=once.pk, idempotency_key=uuid4())
        assert page.status_code == 409
        assert f"first remove it from sentence {sentence.label}" in page.content.decode()


ANSWERS = 20
SETUP = f"""
import json
from transcripts.accounts.actions import create_user
from transcripts.audit_trail import trail
from transcripts.codebook.actions import start_study
from transcripts.corpus.actions import import_file
from transcripts.studies.actions import set_member_role

study = start_study(slug="races", name="Races", by=trail.SYSTEM)
turns = [
    {{"role": role, "text": text}}
    for number in range({ANSWERS})
    for role, text in (("interviewer", "And then?"), ("model", f"This is one of {{number}}.\\nThis is another of {{number}}."))
]
import_file(
    study=study, name="r.jsonl", data=json.dumps({{"id": "r", "turns": turns}}).encode(), by=trail.SYSTEM
)
set_member_role(study=study, user=create_user(username="coder", by=trail.SYSTEM), role="coder", by=trail.SYSTEM)
"""
CODE = f"""
import time
from uuid import uuid4
from transcripts.accounts.models import User
from transcripts.codebook.models import Code
from transcripts.coding import actions
from transcripts.corpus.models import Sentence
from transcripts.studies.models import Study

study = Study.objects.get(slug="races")
by = User.objects.get(username="coder")
code = Code.objects.select_related("family", "version").get(version__study=study, identifier="{REPERTOIRE}")
rows = Sentence.objects.filter(turn__interview__study=study, turn__role="model").order_by("position", "start")
sentences = list(rows.select_related("turn__interview"))[PLACE::2]
# Both begin an answer at the same tenth of a second.
for number, sentence in enumerate(sentences):
    time.sleep(max(0, START + number * 0.1 - time.time()))
    try:
        actions.add_coding(study=study, sentence=sentence, code=code, by=by, idempotency_key=uuid4())
    except actions.OncePerAnswer:
        pass
"""


@quick_on("postgres")
def test_of_two_requests_at_the_same_moment_one_is_refused(instance):
    assert instance.start_code(SETUP).wait(PATIENCE) == 0
    code = CODE.replace("START", str(time.time() + 3))
    started = [instance.start_code(code.replace("PLACE", str(place))) for place in (0, 1)]
    assert [process.wait(PATIENCE) for process in started] == [0, 0], instance.read_words()
    active = instance.query(
        "SELECT s.turn_id, count(*) FROM coding_coding c JOIN corpus_sentence s ON s.id = c.sentence_id "
        "WHERE c.withdrawn_at IS NULL GROUP BY s.turn_id"
    )
    assert [count for _, count in active] == [1] * ANSWERS


PREPARE_FILE = f"""
from pathlib import Path
from uuid import uuid4
from transcripts.accounts.models import User
from transcripts.audit_trail import trail
from transcripts.codebook.models import Code
from transcripts.coding.actions import add_coding
from transcripts.corpus.models import Sentence
from transcripts.exchange.actions import import_qdpx, write_export
from transcripts.exchange.rows import Scope, find_export
from transcripts.studies.actions import create_study, set_member_role
from transcripts.studies.models import Study

def export(path):
    write_export(export=find_export("qdpx"), scope=Scope(study, None), format="qdpx", path=Path(path), by=trail.SYSTEM)

study = Study.objects.get(slug="races")
by = User.objects.get(username="coder")
export(BEFORE)
other = create_study(slug="other", name="Other", by=trail.SYSTEM)
set_member_role(study=other, user=by, role="coder", by=trail.SYSTEM)
with open(BEFORE, "rb") as stream:
    import_qdpx(study=other, stream=stream, name="before", by=trail.SYSTEM)
code = Code.objects.select_related("family", "version").get(version__study=study, identifier="{REPERTOIRE}")
rows = Sentence.objects.filter(turn__interview__study=study, turn__role="model").order_by("position", "start")
for sentence in rows.select_related("turn__interview")[::2]:
    add_coding(study=study, sentence=sentence, code=code, by=by, idempotency_key=uuid4())
export(AFTER)
"""
# The import stops where it has read her codings and has stored none.
IMPORT = """
import time
from pathlib import Path
from transcripts.audit_trail import trail
from transcripts.exchange.actions import import_qdpx
from transcripts.exchange.refi.planned_codings import CodingPlan
from transcripts.studies.models import Study

load = CodingPlan._load

def load_slowly(store, coder):
    is_first = coder.pk not in store._names
    load(store, coder)
    if is_first:
        Path(SIGN).touch()
        time.sleep(2)

CodingPlan._load = load_slowly
with open(AFTER, "rb") as stream:
    import_qdpx(study=Study.objects.get(slug="other"), stream=stream, name="after", by=trail.SYSTEM)
"""
CODE_MEANWHILE = f"""
import time
from pathlib import Path
from uuid import uuid4
from transcripts.accounts.models import User
from transcripts.codebook.models import Code
from transcripts.coding import actions
from transcripts.corpus.models import Sentence
from transcripts.studies.models import Study

study = Study.objects.get(slug="other")
by = User.objects.get(username="coder")
code = Code.objects.select_related("family", "version").filter(version__study=study, identifier="{REPERTOIRE}").last()
rows = Sentence.objects.filter(turn__interview__study=study, turn__role="model").order_by("position", "start")
sentence = rows.select_related("turn__interview")[1]
while not Path(SIGN).exists():
    time.sleep(0.01)
try:
    actions.add_coding(study=study, sentence=sentence, code=code, by=by, idempotency_key=uuid4())
except actions.OncePerAnswer:
    pass
"""


@quick_on("postgres")
def test_of_an_import_and_a_save_at_the_same_moment_one_gives_way(instance, tmp_path):
    def start(code):
        for name in ("BEFORE", "AFTER", "SIGN"):
            code = code.replace(f"({name}", f"({str(tmp_path / name)!r}")
        return instance.start_code(code)

    assert instance.start_code(SETUP).wait(PATIENCE) == 0
    assert start(PREPARE_FILE).wait(PATIENCE) == 0, instance.read_words()
    started = [start(IMPORT), start(CODE_MEANWHILE)]
    assert [process.wait(PATIENCE) for process in started] == [0, 0], instance.read_words()
    active = instance.query(
        "SELECT i.study_id, s.turn_id, count(*) FROM coding_coding c JOIN corpus_sentence s ON s.id = c.sentence_id "
        "JOIN corpus_turn t ON t.id = s.turn_id JOIN corpus_interview i ON i.id = t.interview_id "
        "WHERE c.withdrawn_at IS NULL GROUP BY i.study_id, s.turn_id"
    )
    assert [count for *_, count in active] == [1] * 2 * ANSWERS
