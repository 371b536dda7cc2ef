"""The payloads again, as they meet a study: a real worker asks the obeying model over the wire, and stores what it says."""

import json

import pytest

from tests.auditapp.annotators.test_injection import BY_NAME, OUTCOMES
from tests.support.instance import wait_until

pytestmark = pytest.mark.processes

LAUNCH = """
import json, sys
from tests.auditapp.evaluation.cast import hash_human
from tests.auditapp.annotators.test_injection import Asked
from transcripts.accounts.models import User
from transcripts.codebook.actions import seed_codebook
from transcripts.studies.actions import create_study
owner = User.objects.create_user(username="owner", password=None, may_start_studies=True)
study = create_study(slug="culture", name="Culture", by=owner)
seed_codebook(study=study, by=owner)
address = {"provider": "openai_compatible", "base_url": sys.argv[1], "model": "m"}
asked = Asked(study, owner, **address, max_tokens=200_000, allow_private=True)
turns = {turn.pk: turn.interview.title for turn in asked.turns.values()}
told = {"batch": asked.batch.pk, "arm": asked.arm.pk, "bystander": asked.bystander.pk, "turns": turns}
print(json.dumps(told | {"human": hash_human()}))
"""
CHECK = """
import json, sys
from auditapp.batches.models import Arm, Cell
from auditapp.annotators.models import Suggestion
from auditapp.suggestions.models import Response
from tests.auditapp.evaluation.cast import hash_human
from tests.auditapp.annotators.test_injection import check_schema
from transcripts.corpus.models import Interview
arm, bystander = Arm.objects.get(pk=sys.argv[1]), Interview.objects.get(pk=sys.argv[2])
check_schema(arm, bystander)
cells = Cell.objects.filter(arm=arm).exclude(input_id__in=bystander.turns.values("pk"))
ends = [[cell.input_id, cell.state, cell.outcome, hasattr(cell, "turn_answer")] for cell in cells.select_related("turn_answer")]
suggested = Suggestion.objects.count()
machine = Suggestion.objects.filter(cell__batch=arm.batch_id, annotator__kind="model").count()
print(json.dumps({"ends": ends, "suggested": suggested, "machine": machine, "human": hash_human()}))
"""


@pytest.mark.full
def test_a_worker_that_asks_an_obeying_model_stores_nothing_that_was_not_asked_for(instance, fake_provider):
    fake_provider.order(obey=True)
    instance.start_worker()
    launched = json.loads(instance.run_code(LAUNCH, fake_provider.base_url))
    state = f"SELECT state FROM batches_batch WHERE id = {launched['batch']}"
    wait_until(lambda: instance.query(state) == [("done",)], what="the batch was done")
    checked = json.loads(instance.run_code(CHECK, str(launched["arm"]), str(launched["bystander"])))
    outcomes = {launched["turns"][str(turn)]: outcome for turn, _, outcome, _ in checked["ends"]}
    assert set(outcomes) == set(BY_NAME)
    assert {(ended, is_read) for _, ended, _, is_read in checked["ends"]} == {("done", True)}
    assert {name: outcomes[name] for name, _, _ in OUTCOMES} == {name: outcome for name, outcome, _ in OUTCOMES}
    assert checked["suggested"] == checked["machine"] > 0
    assert checked["human"] == launched["human"]
    assert fake_provider.stats()["paid_twice"] == 0
