"""Launch a batch of the benchmark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256

from django.db import IntegrityError, transaction
from django.utils import timezone

from auditapp.batches.launching import DEFAULT_OPTIONS, LaunchOptions, LaunchPlan, PlannedArm, launch_batch
from auditapp.batches.models import Batch
from auditapp.benchmarks.sob.models import Dataset, TermsNotice, Wording
from auditapp.benchmarks.sob.pure.instruments import (
    BASE,
    BASE_TASK,
    TASKS,
    Instrument,
    UnknownInstrument,
    UnusableWording,
    check_text,
    get_instrument,
    list_variants,
    write_wording,
)
from auditapp.benchmarks.sob.pure.parsing import normalize_key
from auditapp.benchmarks.sob.queries import KIND
from auditapp.llm.models import ModelVariant
from transcripts.accounts.models import User
from transcripts.audit_trail import trail
from transcripts.refusals import Refused
from transcripts.studies.models import Study

MAX_FAMILY_LENGTH = 100
OF_BASE = "The Base prompt is a reconstruction: its exact wording has not been published. Its answers have no score."


@transaction.atomic
def launch_sob(
    *,
    dataset: Dataset,
    variants: Sequence[ModelVariant],
    tasks: Sequence[str],
    by: trail.Actor,
    instrument_variant: str = "paper",
    include_base: bool = False,
    limit: int | None = None,
    confirms_terms: bool = False,
    families: Mapping[str, str] | None = None,
    options: LaunchOptions = DEFAULT_OPTIONS,
) -> Batch:
    """Ask every variant about every text under every task. ``limit`` takes that many texts, spread evenly over the dataset.

    ``instrument_variant`` names a published wording or one of the study's own; ``include_base`` asks the reconstructed Base
    prompt too. ``families``: the family of a model by label, where variants of one model have ids of their own.
    ``confirms_terms``: ``by`` confirms the notice with this launch. Reads dataset.study. Raises ``Refused``.
    """
    plan = plan_sob(
        dataset=dataset,
        variants=variants,
        tasks=tasks,
        instrument_variant=instrument_variant,
        include_base=include_base,
        limit=limit,
        families=families,
    )
    if confirms_terms:
        confirm_notice(study=dataset.study, by=by)
    return launch_batch(
        study=dataset.study,
        kind=KIND,
        title=plan.title,
        arms=plan.arms,
        input_ids=plan.input_ids,
        parameters={**plan.parameters, "repeats": options.repeats},
        by=by,
        options=options,
    )


def plan_sob(
    *,
    dataset: Dataset,
    variants: Sequence[ModelVariant],
    tasks: Sequence[str],
    instrument_variant: str = "paper",
    include_base: bool = False,
    limit: int | None = None,
    families: Mapping[str, str] | None = None,
) -> LaunchPlan:
    """What a launch would ask; writes nothing. One wording serves all tasks. Reads dataset.study. Raises ``Refused``."""
    if limit is not None and limit < 1:
        raise Refused("The limit is a number of texts, at least 1.")
    if len(set(tasks)) != len(tasks) or len({variant.pk for variant in variants}) != len(variants):
        raise Refused("Name each model and each task once.")
    declared = _check_families(families or {}, variants)
    instruments = [find_instrument(task, instrument_variant, dataset.study) for task in tasks]
    comparable = all(each.comparable for each in instruments)
    if include_base:
        instruments.append(find_instrument(BASE_TASK, BASE))
    arms = [
        _plan_arm(variant, instrument, declared.get(variant.label, ""))
        for variant in variants
        for instrument in instruments
    ]
    ids = list(dataset.texts.order_by("position").values_list("pk", flat=True))
    warnings = [] if comparable else [f"The wording is the study's own. {NOT_COMPARABLE}"]
    if include_base:
        warnings.append(OF_BASE)
    if limit is not None and limit > len(ids):
        warnings.append(f"{limit:,} texts were requested, but {dataset.name} has {len(ids):,}, so all are used.")
    if limit is not None and limit < len(ids):
        ids = [ids[index * len(ids) // limit] for index in range(limit)]
    title = f"sob: {dataset.name}"
    if not comparable:
        title += f", wording {instrument_variant} (not comparable)"
    parameters = {
        "dataset": dataset.pk,
        "texts": len(ids),
        "instrument": instrument_variant,
        "comparable": comparable,
    }
    return LaunchPlan(KIND, arms, ids, title=title, parameters=parameters, warnings=warnings)


def _check_families(families: Mapping[str, str], variants: Sequence[ModelVariant]) -> dict[str, str]:
    """The families without outer blanks. Raises ``Refused``."""
    labels = [variant.label for variant in variants]
    for label, family in families.items():
        if label not in labels:
            raise Refused(f"--family names {label}, which is not one of the models of this batch: {', '.join(labels)}.")
        if not family.strip() or "\x00" in family or len(family.strip()) > MAX_FAMILY_LENGTH:
            raise Refused(f"The family of {label} must be a name of 1 to {MAX_FAMILY_LENGTH} characters.")
    return {label: family.strip() for label, family in families.items()}


def _plan_arm(variant: ModelVariant, instrument: Instrument, family: str) -> PlannedArm:
    settings: dict[str, object] = {
        "instrument": instrument.variant,
        "sha256": instrument.sha256,
        "schema": list(instrument.characteristics),
        "comparable": instrument.comparable,
    }
    if family:
        settings["family"] = family
    return PlannedArm(variant, instrument.task, instrument.text, settings)


NOTICE = (
    "The texts are biased and may be hateful or offensive, and the instrument tells the model not to refuse. "
    "Before you send them, read the terms of each provider they go to."
)


@transaction.atomic
def confirm_notice(*, study: Study, by: trail.Actor) -> TermsNotice:
    """Record that ``by`` confirmed the notice; the first confirmation is kept."""
    notice, created = TermsNotice.objects.get_or_create(
        study=study,
        defaults={
            "made_by": by if isinstance(by, User) else None,
            "made_by_name": by.get_username(),
            "made_at": timezone.now(),
        },
    )
    if created:
        trail.record("sob.notice.confirmed", target=notice, by=by)
    return notice


def needs_notice(study: Study, variants: Sequence[ModelVariant]) -> bool:
    """Whether somebody has to confirm the notice before this is sent: once per study. Fake models send nothing to anybody."""
    return find_notice(study) is None and not all(variant.is_fake for variant in variants)


def find_notice(study: Study) -> TermsNotice | None:
    """Who confirmed the notice for a study, and when; ``None`` if nobody has."""
    return TermsNotice.objects.filter(study=study).first()


MAX_NAME_LENGTH = 40
TAKEN = "There is already a wording {name}. A wording is never changed. Choose another name."
NOT_COMPARABLE = "Not comparable with the published figures, nor with any other wording."


@transaction.atomic
def add_wording(
    *,
    study: Study,
    name: str,
    based_on: str,
    characteristics: Sequence[str],
    by: trail.Actor,
    texts: Mapping[str, str] | None = None,
) -> list[Wording]:
    """Store a wording of both tasks under a new name. It is never edited afterwards; a change needs another name.

    ``based_on`` names the wording it comes from; a task without a text of its own in ``texts`` gets that wording with its
    list of characteristics replaced. Raises ``Refused``.
    """
    check_name(study, name)
    characteristics = [" ".join(each.split()) for each in characteristics]
    written = plan_texts(study=study, based_on=based_on, characteristics=characteristics, texts=texts)
    rows = [
        Wording(
            study=study,
            name=name,
            task=task,
            text=text,
            characteristics=[normalize_key(each) for each in characteristics],
            based_on=based_on,
            sha256=sha256(text.encode()).hexdigest(),
            made_by=by if isinstance(by, User) else None,
            made_by_name=by.get_username(),
            made_at=timezone.now(),
        )
        for task, text in written.items()
    ]
    _save_once(rows)
    trail.record(
        "sob.wording.added",
        target=rows[0],
        by=by,
        details={"name": name, "based_on": based_on, **{each.task: each.sha256 for each in rows}},
    )
    return rows


def _save_once(rows: list[Wording]) -> None:
    try:
        with transaction.atomic():
            for row in rows:
                row.save(force_insert=True)
    except IntegrityError as error:
        raise Refused(TAKEN.format(name=rows[0].name)) from error


def plan_texts(
    *, study: Study, based_on: str, characteristics: Sequence[str], texts: Mapping[str, str] | None = None
) -> dict[str, str]:
    """The text of each task as it would be kept; writes nothing. Raises ``Refused``."""
    planned: dict[str, str] = {}
    for task, label in TASKS:
        # Forms send line ends as browsers do; an instrument has one kind.
        own = (texts or {}).get(task, "").replace("\r\n", "\n")
        try:
            base = find_instrument(task, based_on, study)
            planned[task] = own if own.strip() else write_wording(base, characteristics)
            check_text(planned[task], characteristics)
        except UnusableWording as error:
            raise Refused(f"{label}: {error}") from error
    return planned


def check_name(study: Study, name: str) -> None:
    """Refuse a name that a wording cannot have. Raises ``Refused``."""
    if (
        not name
        or len(name) > MAX_NAME_LENGTH
        or not all(each.isascii() and (each.isalnum() or each in "-_") for each in name)
    ):
        raise Refused(
            f"A wording needs a name of up to {MAX_NAME_LENGTH} letters, digits, hyphens and underscores, without spaces."
        )
    if name in {*list_variants(), BASE}:
        raise Refused(f"{name} is the name of a built-in wording. Choose another one.")
    if Wording.objects.filter(study=study, name=name).exists():
        raise Refused(TAKEN.format(name=name))


def find_instrument(task: str, variant: str, study: Study | None = None) -> Instrument:
    """A published instrument, or the study's own wording of that name. Raises ``Refused`` naming those there are."""
    own = Wording.objects.filter(study=study, name=variant, task=task).first() if study else None
    if own is not None:
        return read_wording(own)
    try:
        return get_instrument(task, variant)
    except UnknownInstrument as error:
        names = Wording.objects.filter(study=study, task=task).values_list("name", flat=True) if study else []
        more = f"; wordings of this study: {', '.join(names)}" if names else ""
        raise Refused(f"{error}{more}") from error


def read_wording(wording: Wording) -> Instrument:
    """A study's own wording as an instrument."""
    return Instrument(
        task=wording.task,
        variant=wording.name,
        text=wording.text,
        source=f"written in this study by {wording.made_by_name}, from the wording {wording.based_on}",
        note=NOT_COMPARABLE,
        characteristics=tuple(wording.characteristics),
        comparable=False,
    )
