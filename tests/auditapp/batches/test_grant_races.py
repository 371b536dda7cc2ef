"""People who launch at the same moment, each in a process of her own: together they stay within what was granted."""

import pytest

from tests.support.instance import PATIENCE
from tests.support.services import quick_on

# On PostgreSQL, test_grants.py does the same in threads.
pytestmark = [pytest.mark.processes, quick_on("sqlite")]

PEOPLE = 3
SETUP = f"""
from decimal import Decimal
from auditapp.llm.actions import add_model
from auditapp.benchmarks.sob.texts.actions.loading import load_dataset
from auditapp.llm.grants import set_grant
from transcripts.accounts.actions import create_user
from transcripts.audit_trail import trail
from transcripts.codebook.actions import start_study
from transcripts.studies.actions import set_member_role

study = start_study(slug="races", name="Races", by=trail.SYSTEM)
data = b"text,target\\nInvented text.,old\\n"
load_dataset(study=study, name="texts", file_name="t.csv", data=data, by=trail.SYSTEM)
paid = add_model(
    label="paid", provider="openai_compatible", base_url="https://models.example/v1", model="m", max_tokens=100,
    price_in=Decimal(1), price_out=Decimal(2), by=trail.SYSTEM,
)
limits = {{"study_usd": Decimal(9), "study_day_usd": Decimal(5), "person_day_usd": Decimal(3)}}
set_grant(study=study, account=paid.account, by=trail.SYSTEM, **limits)
for number in range({PEOPLE}):
    user = create_user(username=f"lead{{number}}", by=trail.SYSTEM)
    set_member_role(study=study, user=user, role="lead", by=trail.SYSTEM)
"""
LAUNCH = """
from decimal import Decimal
from auditapp.batches.launching import LaunchOptions
from auditapp.llm.models import ModelVariant
from transcripts.refusals import Refused
from auditapp.benchmarks.sob.judging.launching import launch_sob
from auditapp.benchmarks.sob.models import Dataset
from transcripts.accounts.models import User

by = User.objects.get(username=NAME)
asked = {"dataset": Dataset.objects.get(), "variants": [ModelVariant.objects.select_related("account").get()]}
options = LaunchOptions(cap_usd=Decimal(1))
for _ in range(5):
    try:
        launch_sob(**asked, tasks=["acceptability"], confirms_terms=True, by=by, options=options)
    except Refused as error:
        assert "is left for" in str(error), error
"""


def test_launches_of_several_processes_never_exceed_a_limit(instance):
    assert instance.start_code(SETUP).wait(PATIENCE) == 0, instance.read_words()
    started = [instance.start_code(LAUNCH.replace("NAME", f"'lead{number}'")) for number in range(PEOPLE)]
    assert [process.wait(PATIENCE) for process in started] == [0] * PEOPLE, instance.read_words()
    committed = "SELECT person_name, sum(nano) FROM llm_commitment GROUP BY person_name"
    by_person = {name: int(nano) for name, nano in instance.query(committed)}
    assert sum(by_person.values()) == 5_000_000_000
    assert max(by_person.values()) <= 3_000_000_000
    assert instance.query("SELECT count(*) FROM batches_batch") == [(5,)]
