"""A run in a real worker process that is killed in the middle: nothing is lost, and nothing is there twice."""

import pytest

from tests.support.instance import wait_until
from tests.support.services import quick_on

pytestmark = [pytest.mark.processes, quick_on("sqlite")]

INTERVIEWS, TURNS = 200, 9
MAKE_STUDY = f"""
from tests.auditapp.annotators.cast import add_interviews_to_teach, set_rules
from transcripts.accounts.models import User
from transcripts.codebook.actions import seed_codebook
from transcripts.studies.actions import create_study
owner = User.objects.create_user(username="owner", password=None, may_start_studies=True)
study = create_study(slug="culture", name="Culture", by=owner)
seed_codebook(study=study, by=owner)
add_interviews_to_teach(study, owner, number={INTERVIEWS}, turns={TURNS})
set_rules(study, balance=["balance"], compassion=["weigh*"])
"""
# Neither the dead worker's claim nor the message that may have gone with it is waited for.
LET_TIME_PASS = """
from django.core.cache import cache
from auditapp.outbound.clock import read_now
from auditapp.annotators.models import OfflineRun
OfflineRun.objects.update(claimed_until=read_now())
cache.clear()
"""
READINGS = "SELECT count(*) FROM annotators_offlineanswer"
STATE = "SELECT state FROM annotators_offlinerun"


def count(instance, sql):
    return int(instance.query(sql)[0][0])


@pytest.mark.full
def test_a_run_outlives_the_worker_that_was_at_it(instance):
    instance.run_code(MAKE_STUDY)
    worker = instance.start_worker("--queues", "2")
    instance.manage("annotator", "run", "--study", "culture", "--annotator", "rules")
    wait_until(lambda: count(instance, READINGS) >= INTERVIEWS // 20, what="a few interviews were read")
    instance.stop()
    worker.wait()
    before = count(instance, READINGS)
    assert 0 < before < INTERVIEWS, instance.read_words()
    assert instance.query(STATE) == [("running",)]
    instance.run_code(LET_TIME_PASS)
    instance.start_worker("--queues", "2")
    wait_until(lambda: instance.query(STATE) == [("done",)], what="another worker came to the end")
    assert count(instance, READINGS) == INTERVIEWS
    assert count(instance, "SELECT count(DISTINCT interview_id) FROM annotators_offlineanswer") == INTERVIEWS
    # A third of the sentences weigh, and each of those has both codes.
    suggested = INTERVIEWS * TURNS // 3
    found = instance.query(
        "SELECT count(*), count(DISTINCT sentence_id) FROM annotators_suggestion WHERE quote_end > quote_start"
    )
    assert found == [(2 * suggested, suggested)]


@pytest.mark.full
def test_a_command_that_waits_reads_where_no_worker_is(instance):
    instance.run_code(MAKE_STUDY.replace(f"number={INTERVIEWS}", "number=2"))
    instance.ask("annotator", "run", "--study", "culture", "--annotator", "rules", "--wait")
    assert instance.query(STATE) == [("done",)]
    assert count(instance, READINGS) == 2
