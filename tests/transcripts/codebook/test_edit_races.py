"""People who edit the same code of a draft at the same moment, each in a process of her own, five hundred times."""

import json

import pytest

from tests.support.instance import PATIENCE

pytestmark = [pytest.mark.processes, pytest.mark.full]

PEOPLE, EACH = 5, 100
SETUP = f"""
from transcripts.accounts.actions import create_user
from transcripts.audit_trail import trail
from transcripts.codebook import actions
from transcripts.codebook.models import Code
from transcripts.studies.actions import set_member_role

study = actions.start_study(slug="races", name="Races", by=trail.SYSTEM)
for number in range({PEOPLE}):
    set_member_role(study=study, user=create_user(username=f"lead{{number}}", by=trail.SYSTEM), role="lead", by=trail.SYSTEM)
draft = actions.start_draft(study=study, by=trail.SYSTEM)
code = Code.objects.get(version=draft, identifier="theme.balance")
actions.rename_code(code=code, revision=None, name="Race 0", by=trail.SYSTEM)
"""
# Each winner writes one more than what she read: a change that was overwritten would be missing in the end.
EDIT = f"""
import json, random, sys, time
from pathlib import Path
from transcripts.accounts.models import User
from transcripts.codebook import actions
from transcripts.codebook.models import Code

by = User.objects.get(username=NAME)
won = lost = 0
for _ in range({EACH}):
    code = Code.objects.select_related("version__study", "family").get(version__status="draft", identifier="theme.balance")
    seen = int(code.name.split()[1])
    time.sleep(random.uniform(0, 0.01))
    try:
        actions.rename_code(code=code, revision=code.revision, name=f"Race {{seen + 1}}", by=by)
        won += 1
    except actions.EditConflict as error:
        assert int(error.current.name.split()[1]) > seen, "who lost is shown what stands"
        lost += 1
Path(FILE).write_text(json.dumps([won, lost]))
"""


def test_of_five_hundred_edits_of_one_code_none_overwrites_another(instance):
    assert instance.start_code(SETUP).wait(PATIENCE) == 0, instance.read_words()
    files = [instance.folder / f"edits-{number}.json" for number in range(PEOPLE)]
    started = [
        instance.start_code(EDIT.replace("NAME", f"'lead{number}'").replace("FILE", repr(str(file))))
        for number, file in enumerate(files)
    ]
    assert [process.wait(PATIENCE) for process in started] == [0] * PEOPLE, instance.read_words()
    won, lost = (sum(counts) for counts in zip(*(json.loads(file.read_text()) for file in files), strict=True))
    assert won + lost == PEOPLE * EACH
    assert lost > 0, "they did race"
    [(name,)] = instance.query(
        "SELECT name FROM codebook_code WHERE identifier = 'theme.balance' ORDER BY version_id DESC LIMIT 1"
    )
    assert name == f"Race {won}"
    renamed = (
        "SELECT count(*) FROM audit_trail_auditevent WHERE action IN ('codebook.code.changed', 'codebook.code.renamed')"
    )
    assert instance.query(renamed) == [(won + 1,)]
    assert instance.ask("audit", "verify")["breaks"] == []
