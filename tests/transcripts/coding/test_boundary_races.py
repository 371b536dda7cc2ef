"""People who code while a lead corrects the breaks under their hands."""

import pytest

from tests.support.instance import PATIENCE
from tests.support.services import quick_on

pytestmark = [pytest.mark.processes, quick_on("postgres")]

CODERS = 2
SENTENCES = 4
SETUP = f"""
import json
from transcripts.accounts.actions import create_user
from transcripts.audit_trail import trail
from transcripts.codebook.actions import start_study
from transcripts.corpus.actions import import_file
from transcripts.studies.actions import set_member_role

study = start_study(slug="races", name="Races", by=trail.SYSTEM)
turns = [{{"role": "model", "text": "\\n".join(f"Sentence {{n}} has two parts." for n in range({SENTENCES}))}}]
import_file(
    study=study, name="r.jsonl", data=json.dumps({{"id": "r", "turns": turns}}).encode(), by=trail.SYSTEM
)
for name in ("lead", *(f"coder{{n}}" for n in range({CODERS}))):
    user = create_user(username=name, by=trail.SYSTEM)
    set_member_role(study=study, user=user, role=name.rstrip("0123456789"), by=trail.SYSTEM)
"""
START = """
import time
from uuid import uuid4
from transcripts.accounts.models import User
from transcripts.codebook.models import Code
from transcripts.coding import actions
from transcripts.coding.actions import boundary_edits
from transcripts.coding.values import CodingValues
from transcripts.corpus.models import Sentence
from transcripts.studies.models import Study

study = Study.objects.get(slug="races")
as_imported = Sentence.objects.filter(turn__interview__study=study, made_by=None)
sentences = list(as_imported.select_related("turn__interview")[:SENTENCES])
"""
# Each coder codes a sentence again and again until it is cut under her hands, and goes on to the next.
CODE = """
by = User.objects.get(username=NAME)
codes = list(Code.objects.filter(version__study=study, family__identifier="themes").select_related("family", "version"))
for sentence in sentences:
    try:
        for turn in range(PATIENCE):
            time.sleep(0.01)
            actions.add_coding(
                study=study, sentence=sentence, code=codes[turn % len(codes)], by=by, idempotency_key=uuid4(),
                values=CodingValues(level="latent", note=f"reading {turn}"),
            )
            actions.decide_sentence(study=study, sentence=sentence, by=by, idempotency_key=uuid4())
        else:
            raise AssertionError("The sentence was never cut.")
    except actions.WrongPlace as error:
        assert "has since been split" in str(error), error
"""
CUT = """
by = User.objects.get(username="lead")
for sentence in sentences:
    time.sleep(0.02)
    at = sentence.turn.text.index("has", sentence.start)
    boundary_edits.split_sentence(study=study, sentence=sentence, at=at, by=by, idempotency_key=uuid4())
"""


def test_nothing_is_left_behind_on_a_sentence_that_was_split(instance):
    assert instance.start_code(SETUP).wait(PATIENCE) == 0
    start = START.replace("SENTENCES", str(SENTENCES))
    code = CODE.replace("PATIENCE", "2000")
    scripts = [start + code.replace("NAME", f"'coder{number}'") for number in range(CODERS)] + [start + CUT]
    started = [instance.start_code(script) for script in scripts]
    assert [process.wait(PATIENCE) for process in started] == [0] * len(scripts), instance.read_words()
    for table in ("coding_coding", "coding_decision"):
        left = instance.query(
            f"SELECT count(*) FROM {table} c JOIN corpus_sentence s ON s.id = c.sentence_id "
            "WHERE c.withdrawn_at IS NULL AND s.retired_by_id IS NOT NULL"
        )
        assert left == [(0,)]
    # What stood on a sentence when it was split stands on its pieces; what gave way to another reading does not.
    lost = instance.query(
        "SELECT count(*) FROM coding_coding c WHERE c.withdrawal_reason = 'The sentence was split.' "
        "AND (SELECT count(*) FROM coding_coding n WHERE n.migrated_from_id = c.id AND n.withdrawn_at IS NULL) <> 2"
    )
    assert lost == [(0,)]
    assert instance.query("SELECT count(*) FROM corpus_boundaryedit") == [(SENTENCES,)]
    assert instance.ask("audit", "verify")["breaks"] == []


# A coder changes an entry that rests on a sentence again and again, until that sentence was cut as often as it can be.
LINK_SETUP = """
import json
from uuid import uuid4
from transcripts.accounts.actions import create_user
from transcripts.audit_trail import trail
from transcripts.codebook.actions import start_study
from transcripts.codebook.models import Code
from transcripts.coding import actions
from transcripts.coding.values import CodingValues
from transcripts.corpus.actions import import_file
from transcripts.corpus.models import Sentence
from transcripts.studies.actions import set_member_role

study = start_study(slug="races", name="Races", by=trail.SYSTEM)
turns = [{"role": "model", "text": " ".join(["word"] * CUTS)}, {"role": "model", "text": "So it is."}]
import_file(study=study, name="r.jsonl", data=json.dumps({"id": "r", "turns": turns}).encode(), by=trail.SYSTEM)
people = {name: create_user(username=name, by=trail.SYSTEM) for name in ("lead", "coder")}
for name, person in people.items():
    set_member_role(study=study, user=person, role=name, by=trail.SYSTEM)
said, last = Sentence.objects.select_related("turn__interview__study").order_by("turn__position")
code = Code.objects.select_related("family", "version").get(version__study=study, identifier="feature.power")
entry = actions.add_coding(
    study=study, sentence=last, code=code, by=people["coder"], idempotency_key=uuid4(), values=CodingValues()
)
actions.add_link(
    study=study, coding=entry, kind="warrant", sentence=said, by=people["coder"], idempotency_key=uuid4()
)
"""
LINK_START = """
from uuid import uuid4
from transcripts.accounts.models import User
from transcripts.codebook.models import Code
from transcripts.coding import actions
from transcripts.coding.actions import boundary_edits
from transcripts.coding.values import CodingValues
from transcripts.corpus.models import BoundaryEdit, Sentence
from transcripts.studies.models import Study

study = Study.objects.get(slug="races")
current = Sentence.objects.current().select_related("turn__interview__study").order_by("turn__position", "start")
"""
CHANGE = """
by, last = User.objects.get(username="coder"), list(current)[-1]
code = Code.objects.select_related("family", "version").get(version__study=study, identifier="feature.power")
for number in range(PATIENCE):
    actions.add_coding(
        study=study, sentence=last, code=code, by=by, idempotency_key=uuid4(), values=CodingValues(note=f"line {number}")
    )
    if BoundaryEdit.objects.count() == CUTS - 1:
        break
else:
    raise AssertionError("The sentence was never cut to the end.")
"""
CUT_OFF = """
by = User.objects.get(username="lead")
for _ in range(CUTS - 1):
    first = current[0]
    at = first.turn.text.rindex(" ", first.start, first.end) + 1
    boundary_edits.split_sentence(study=study, sentence=first, at=at, by=by, idempotency_key=uuid4())
"""


def test_a_link_keeps_up_with_changes_of_its_coding_and_cuts_of_its_end(instance):
    cuts = "8"
    assert instance.start_code(LINK_SETUP.replace("CUTS", cuts)).wait(PATIENCE) == 0
    scripts = [LINK_START + CHANGE.replace("PATIENCE", "5000"), LINK_START + CUT_OFF]
    started = [instance.start_code(script.replace("CUTS", cuts)) for script in scripts]
    assert [process.wait(PATIENCE) for process in started] == [0, 0], instance.read_words()
    standing = instance.query(
        "SELECT c.withdrawn_at IS NULL, s.retired_by_id IS NULL FROM coding_link l JOIN coding_coding c ON c.id = l.coding_id "
        "JOIN corpus_sentence s ON s.id = l.sentence_id WHERE l.withdrawn_at IS NULL"
    )
    assert [tuple(map(bool, row)) for row in standing] == [(True, True)]
    assert instance.ask("audit", "verify", "--rows")["differences"] == []
