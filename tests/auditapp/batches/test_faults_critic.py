"""A reading and a critic of what it found, through a worker that is killed: each suggestion has its one end, and is told of."""

import json

import pytest

from tests.support.instance import kill_group, wait_until

pytestmark = pytest.mark.processes

TURNS = 20
# One sentence of each answer holds the word of one of four themes (tests/support/biased_models.py).
PER_CODE, POSITIVES = TURNS, 4 * TURNS
BEFORE_THE_KILL = 30
IN_FLIGHT = 10

# Interviews to be read, and one that a person has coded; what people made is hashed before any machine reads.
PREPARE = f"""
import json
from tests.auditapp.evaluation.cast import hash_human

def make_study():
    from auditapp.llm.models import ModelVariant
    from auditapp.annotators.actions.launching import launch_model
    from tests.auditapp.evaluation.cast import bring_in_one
    from tests.auditapp.annotators.cast import add_interviews_to_teach, code_blind
    from auditapp.batches.launching import LaunchOptions
    from transcripts.codebook.actions import seed_codebook
    from transcripts.accounts.models import User
    from transcripts.studies.actions import create_study
    owner = User.objects.create_user(username="owner", password=None, is_superuser=True)
    study = create_study(slug="culture", name="Culture", by=owner)
    seed_codebook(study=study, by=owner)
    code_blind(study, owner, add_interviews_to_teach(study, owner, number=1, turns=6))
    read = bring_in_one(study, owner, turns={TURNS})
    human = hash_human()
    batch = launch_model(
        study=study,
        variant=ModelVariant.objects.get(label="m"),
        interviews=[read],
        families=["themes"],
        options=LaunchOptions(concurrency={IN_FLIGHT}),
        by=owner,
    )
    print(json.dumps({{"human": human, "batch": batch.pk}}))
"""
LAUNCH_CRITIC = """
from auditapp.batches.launching import LaunchOptions
from auditapp.llm.models import ModelVariant
from auditapp.evaluation.actions import launch_critic
from auditapp.annotators.models import Annotator
from transcripts.audit_trail import trail
critic = ModelVariant.objects.get(label="other")
options = LaunchOptions(concurrency=int(sys.argv[1]))
batch = launch_critic(annotator=Annotator.objects.get(), critic=critic, options=options, by=trail.SYSTEM)
print(batch.pk)
"""
COUNT = """
from auditapp.annotators.models import Annotator
from auditapp.evaluation.queries.positives import (count_rejections)
[(critic, found)] = count_rejections(Annotator.objects.get())
rows = [[row["n"], row["rejected"], row["unusable"], row["rate"], row["interval"] is not None] for row in found]
print(json.dumps({"critic": critic.label, "rows": sorted(rows), "n": sum(row["n"] for row in found), "human": hash_human()}))
"""


@pytest.mark.full
def test_a_critic_whose_worker_is_killed_judges_every_positive_once_and_touches_nothing_of_people(ground):
    """Where the paid API is slow for a while, the worker dies with its calls under way."""
    ground.provider.order(pretends="definition", latency=0.01)
    worker = ground.instance.start_worker()
    launched = json.loads(ground.instance.run_code(PREPARE + "make_study()"))
    wait_until(lambda: ground.read_state(launched["batch"]) == "done", what="a model had read the interview")
    assert ground.instance.query("SELECT count(*) FROM annotators_suggestion") == [(POSITIVES,)]
    fast = ground.provider.stats()["received"] + BEFORE_THE_KILL
    ground.provider.order(slow_after=fast, slow_latency=600)
    critic = int(ground.instance.run_code("import sys" + LAUNCH_CRITIC, str(IN_FLIGHT)))
    readings = "SELECT count(*), count(DISTINCT suggestion_id) FROM annotators_criticanswer"
    wait_until(
        lambda: ground.instance.query(readings)[0][0] >= BEFORE_THE_KILL and ground.provider.stats()["received"] > fast,
        what="the critic was in the middle of its work",
    )
    kill_group(worker)
    ground.provider.order(slow_after=0, slow_latency=0)
    ground.instance.start_worker()
    shown = ground.wait_for_end(critic)
    wait_until(lambda: ground.provider.stats()["in_flight"] == 0, what="the paid API ended what nobody waits for")

    assert shown["outcomes"] == {"upheld": 2 * PER_CODE, "rejected": PER_CODE, "invalid": PER_CODE}
    assert ground.instance.query(readings) == [(POSITIVES, POSITIVES)]
    ground.check_whole(critic, cells=POSITIVES, shown=shown)
    paid_twice = ground.provider.stats()["paid_twice"]
    assert 0 < paid_twice <= shown["possibly_paid_twice"] <= IN_FLIGHT

    counted = json.loads(ground.instance.run_code(PREPARE + COUNT))
    assert counted["critic"] == "other"
    assert counted["rows"] == [
        [0, 0, PER_CODE, None, False],
        [PER_CODE, 0, 0, 0.0, True],
        [PER_CODE, 0, 0, 0.0, True],
        [PER_CODE, PER_CODE, 0, 1.0, True],
    ]
    assert counted["human"] == launched["human"]
