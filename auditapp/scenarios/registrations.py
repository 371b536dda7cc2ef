"""What scenarios add to the registries of other apps."""

from __future__ import annotations

from auditapp.batches.kinds import register_ended, register_kind, register_visibility
from auditapp.batches.runner.sweeps import register_sweep
from auditapp.scenarios.actions.storing import store_when_ended, sweep_plays
from auditapp.scenarios.queries.run_visibility import find_run_visibility, list_run_interviews
from auditapp.scenarios.runner.scenario_kind import ScenarioKind

register_kind(ScenarioKind())
register_visibility(ScenarioKind.name, find_run_visibility, list_run_interviews)
register_ended(ScenarioKind.name, store_when_ended)
register_sweep("plays", sweep_plays)
