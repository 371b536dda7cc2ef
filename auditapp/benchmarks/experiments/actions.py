"""Lock the plan of an experiment, load its units, and draw a sample of them for the audit."""

from __future__ import annotations

import hashlib
import io
import random
from collections.abc import Sequence
from typing import Annotated, NamedTuple

from django.db import transaction
from django.utils import timezone

from auditapp.benchmarks.experiments.models import Enrolment, Experiment, SampledUnit
from auditapp.benchmarks.experiments.pure.plans import FEWER_GROUPS, MAX_GROUPS, MAX_NAME, Plan, Unit, read_units
from auditapp.benchmarks.experiments.queries import LOADED, read_stored_plan
from transcripts.accounts.models import User
from transcripts.audit_trail import trail
from transcripts.formats.problems import ReadError
from transcripts.refusals import Refused
from transcripts.studies.models import Study
from transcripts.ui.typed_text import MAX_SEED, check_text

UNITS_AT_A_TIME = 1_000
MAX_SAMPLE = 1_000


class Loaded(NamedTuple):
    """The result of loading a file of units."""

    new: Annotated[int, "Number of units that were not there."]
    completed: Annotated[int, "Number of existing units for which outcomes were added."]
    unchanged: Annotated[int, "Number of units that did not change."]


@transaction.atomic
def lock_plan(*, study: Study, plan: Plan, by: trail.Actor, name: str = "") -> Experiment:
    """Store the plan of a new experiment, which nobody can change afterwards.

    Without ``name``, the name in the plan is used. The same plan under the same name again returns the existing experiment.
    Raises ``Refused``.
    """
    needed = "Give the experiment a name."
    name = check_text(name or plan.name, field="name", max_length=MAX_NAME, needed=needed, one_line=True)
    # The study is locked, so that two plans cannot take the same name at once.
    Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    known = Experiment.objects.filter(study=study, name__iexact=name).first()
    if known is not None:
        if known.sha256 == plan.sha256:
            return known
        raise Refused(
            f"The plan of {known.name} was locked on {known.locked_at:%d %B %Y} and differs from this one. A locked plan does not "
            "change: give the other experiment another name.",
            field="name",
        )
    experiment = Experiment.objects.create(
        study=study,
        name=name,
        plan=plan.as_json(),
        sha256=plan.sha256,
        locked_at=timezone.now(),
        locked_by_name=by.get_username(),
        locked_by=by if isinstance(by, User) else None,
    )
    _record("experiments.plan.locked", experiment, by=by, details={"name": name, "sha256": plan.sha256})
    return experiment


def load_enrolments(*, experiment: Experiment, data: bytes, by: trail.Actor) -> Loaded:
    """Store the units of a CSV in UTF-8, all or none.

    An existing unit with outcomes that were not known before gets a new row, and its previous row is kept. A unit with another arm
    or group than before is refused, and so is a known outcome with another value. Raises ``Refused``.
    """
    try:
        # The whole file is read before anything is locked, so that others can write meanwhile.
        units = list(read_units(io.BytesIO(data), read_stored_plan(experiment), name="The file"))
    except ReadError as error:
        raise Refused(str(error), field="file") from None
    with transaction.atomic():
        held = Experiment.objects.select_for_update(no_key=True).get(pk=experiment.pk)
        loaded = Loaded(0, 0, 0)
        for start in range(0, len(units), UNITS_AT_A_TIME):
            loaded = _add(loaded, _store(held, units[start : start + UNITS_AT_A_TIME]))
        if held.enrolments.current().values("group").distinct().count() > MAX_GROUPS:
            raise Refused(
                f"With those stored already there are more than {MAX_GROUPS} groups; expected {FEWER_GROUPS}.",
                field="file",
            )
        details = {**loaded._asdict(), "sha256": hashlib.sha256(data).hexdigest()}
        _record(LOADED, held, by=by, details=details)
    return loaded


@transaction.atomic
def draw_audit(*, experiment: Experiment, per_arm: int, seed: int, by: trail.Actor) -> list[SampledUnit]:
    """Draw the units whose threads are to be read: ``per_arm`` from each arm, at random by ``seed``, in random order over all arms.

    An experiment has only one sample, because if there were two, people could choose between them. Raises ``Refused``, for example
    if an arm has too few units.
    """
    if not 1 <= per_arm <= MAX_SAMPLE:
        raise Refused(f"Draw 1 to {MAX_SAMPLE:,} units of each arm.", field="per_arm")
    if not 0 <= seed <= MAX_SEED:
        raise Refused(f"The seed is a number from 0 to {MAX_SEED:,}.", field="seed")
    held = Experiment.objects.select_for_update(no_key=True).get(pk=experiment.pk)
    if held.sampled.exists():
        raise Refused(
            "The sample of this experiment has already been drawn. A sample is drawn only once.", field="seed"
        )
    drawing = random.Random(seed)  # noqa: S311 - a sample, not a secret
    drawn: list[tuple[str, str]] = []
    for arm in sorted(read_stored_plan(held).allocation):
        # Sorted by name, so that the draw depends only on the units and the seed.
        units = sorted(held.enrolments.current().filter(arm=arm).values_list("unit", flat=True))
        if len(units) < per_arm:
            raise Refused(
                f"The arm {arm} has {len(units):,} units, fewer than the sample needs. Draw at most this number, or load the "
                "others first, because a sample is drawn only once.",
                field="per_arm",
            )
        drawn += [(unit, arm) for unit in drawing.sample(units, per_arm)]
    drawing.shuffle(drawn)
    now = timezone.now()
    sampled = SampledUnit.objects.bulk_create(
        SampledUnit(experiment=held, unit=unit, arm=arm, place=place, seed=seed, drawn_at=now)
        for place, (unit, arm) in enumerate(drawn, 1)
    )
    _record("experiments.audit.drawn", held, by=by, details={"per_arm": per_arm, "seed": seed, "units": len(sampled)})
    return sampled


def _add(loaded: Loaded, more: Loaded) -> Loaded:
    return Loaded(*(sum(pair) for pair in zip(loaded, more, strict=True)))


def _store(experiment: Experiment, units: Sequence[Unit]) -> Loaded:
    known = {row.unit: row for row in experiment.enrolments.current().filter(unit__in=[unit.unit for unit in units])}
    now = timezone.now()
    new: list[Enrolment] = []
    replaced: list[int] = []
    for unit in units:
        outcomes = {name: value for name, value in unit.outcomes.items() if value is not None}
        before = known.get(unit.unit)
        if before is not None:
            _refuse_other(unit, before)
            if outcomes.items() <= before.outcomes.items():
                continue
            outcomes = {**before.outcomes, **outcomes}
            replaced.append(before.pk)
        row = Enrolment(
            experiment=experiment, unit=unit.unit, arm=unit.arm, group=unit.group, outcomes=outcomes, loaded_at=now
        )
        new.append(row)
    Enrolment.objects.filter(pk__in=replaced).update(is_current=False)
    Enrolment.objects.bulk_create(new, batch_size=500)
    return Loaded(len(new) - len(replaced), len(replaced), len(units) - len(new))


def _refuse_other(unit: Unit, before: Enrolment) -> None:
    if unit.arm != before.arm:
        raise Refused(
            f"The unit {unit.unit} is in {before.arm} already, but this file has it in {unit.arm}. Each unit is assigned once.",
            field="file",
        )
    if unit.group != before.group:
        raise Refused(f"The unit {unit.unit} is stored with another group than in this file.", field="file")
    for name, value in unit.outcomes.items():
        if value is not None and before.outcomes.get(name, value) != value:
            raise Refused(
                f"The outcome “{name}” of the unit {unit.unit} is already stored with another value. Stored outcomes cannot "
                "change.",
                field="file",
            )


def _record(action: str, experiment: Experiment, *, by: trail.Actor, details: dict[str, object]) -> None:
    trail.record(action, target=experiment, by=by, stream=trail.study_stream(experiment.study_id), details=details)
