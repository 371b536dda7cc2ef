"""Writing scripts, launching suites of scripts, and opening interviews with one.

A new wording gets the next number under the same name; existing numbers never change. If different questions are asked from some
turn on, this is a separate interview.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, NamedTuple
from uuid import UUID

from django.db import transaction
from django.db.models import Max
from django.utils import timezone

from auditapp.batches.launching import DEFAULT_OPTIONS, LaunchOptions, LaunchPlan, PlannedArm, launch_batch, launch_once
from auditapp.batches.ledger.prompts import hash_prompt
from auditapp.batches.models import Arm, Batch
from auditapp.benchmarks.scenarios.actions.asking import hold_session, send
from auditapp.benchmarks.scenarios.models import Question, Script, Session
from auditapp.benchmarks.scenarios.pure.measures import UNPROMPTED
from auditapp.benchmarks.scenarios.pure.scripts import (
    MAX_TEXT,
    NAME,
    ScriptRefused,
    ScriptText,
    check_script,
    choose_opening,
    find_halves,
)
from auditapp.benchmarks.scenarios.queries.runs import KIND, find_unknown_codes, list_suite, list_suites
from auditapp.benchmarks.scenarios.queries.sessions import count_openings, read_talk
from auditapp.benchmarks.scenarios.runner import SESSION_KIND
from auditapp.llm.models import ModelVariant
from transcripts.accounts.models import User
from transcripts.audit_trail import trail
from transcripts.formats.json_lines import shorten
from transcripts.history.models import NothingChanged
from transcripts.negotiation.queries.cases import list_features
from transcripts.refusals import Refused
from transcripts.studies.models import Study
from transcripts.ui.typed_text import check_reason, check_text


class LoadedScripts(NamedTuple):
    """The result of loading a file: the scripts that were written, and those whose wording the study already had."""

    written: list[Script]
    unchanged: list[Script]


@transaction.atomic
def write_script(
    *, study: Study, script: ScriptText, by: trail.Actor, reason: str = "", based_on: int | None = None
) -> Script:
    """Store a new script, or the next number of an existing one, which needs a ``reason``.

    ``based_on``: the latest number that ``by`` saw, 0 for a new name; None turns this check off. Sessions keep the number with
    which they began. Raises ``Refused``.
    """
    try:
        check_script(script)
    except ScriptRefused as error:
        raise Refused(str(error), field=error.place) from None
    reason = check_reason(reason)
    row = Script(
        study=study,
        name=script.name,
        use=script.use,
        suite=script.suite,
        system=script.system,
        openings=[{"id": key, "text": text} for key, text in script.openings.items()],
        max_questions=script.max_questions,
        case=dict(script.case),
        consents=dict(script.consents),
        consent_basis=script.consent_basis,
        language=script.language,
        sha256=script.sha256,
    )
    latest = row.find_latest(based_on)
    row.reason = reason if latest else ""
    if latest is not None and latest.use != script.use:
        raise Refused(
            f"In this study, {latest.name} is the name of a script for {latest.get_use_display().lower()}s. Choose another name.",
            field="name",
        )
    row.store_after(latest, by=by)
    Question.objects.bulk_create(
        Question(
            script=row,
            position=position,
            kind=question.kind,
            intent=question.intent,
            text=question.text,
            text_if_asked=question.text_if_asked,
        )
        for position, question in enumerate(script.questions, 1)
    )
    return row


@transaction.atomic
def load_scripts(*, study: Study, scripts: Sequence[ScriptText], by: trail.Actor, reason: str) -> LoadedScripts:
    """Store the scripts of a file, all or none. A wording that the study already has under this name is not stored again.

    Raises ``Refused``, which names the script.
    """
    loaded = LoadedScripts([], [])
    for script in scripts:
        try:
            loaded.written.append(write_script(study=study, script=script, by=by, reason=reason))
        except NothingChanged as error:
            loaded.unchanged.append(error.latest)
        except Refused as error:
            raise Refused(f"{script.name}: {error}", field=error.field) from None
    return loaded


MAX_CONDITIONS = 20
MAX_CONDITION_NAME = 60
SURFACE_OF_API = "API"
# Tokens. The published interviews have about 19,000 characters each (docs/reference/pre-annotation.md), in some ten answers.
EXPECTED_ANSWER = 500


@transaction.atomic
def launch_scenarios(
    *,
    study: Study,
    suite: str,
    variants: Sequence[ModelVariant],
    conditions: Mapping[str, str],
    by: trail.Actor,
    has_unprompted: bool = True,
    options: LaunchOptions = DEFAULT_OPTIONS,
) -> Batch:
    """Run the latest number of every script of a suite with every model under every condition, ``options.repeats`` times.

    ``conditions``: system texts by name; each is placed before the script's own system text. The condition ``unprompted``, which
    has no text, is included unless ``has_unprompted`` is false. The sessions are stored with the batch. The same idempotency key
    returns the batch that was made with it. Raises ``Refused``.
    """
    planned: list[Script] = []

    def plan() -> LaunchPlan:
        planned.extend(_read_suite(study, suite))
        return _plan(study, suite, planned, variants, conditions, has_unprompted=has_unprompted)

    batch = launch_once(
        study=study,
        kind=KIND,
        plan=plan,
        by=by,
        options=options,
        suite=suite,
        variants=[variant.pk for variant in variants],
        conditions={name: hash_prompt(text) for name, text in conditions.items()},
        has_unprompted=has_unprompted,
    )
    if planned:
        _open_sessions(batch, planned, options.repeats, by=by)
    return batch


def plan_scenarios(
    *,
    study: Study,
    suite: str,
    variants: Sequence[ModelVariant],
    conditions: Mapping[str, str],
    has_unprompted: bool = True,
) -> LaunchPlan:
    """Plan the calls of a launch; writes nothing. Raises ``Refused``."""
    scripts = _read_suite(study, suite)
    return _plan(study, suite, scripts, variants, conditions, has_unprompted=has_unprompted)


def _read_suite(study: Study, suite: str) -> list[Script]:
    scripts = list(list_suite(study, suite))
    if not scripts:
        there_are = ", ".join(each.name for each in list_suites(study))
        raise Refused(
            f"This study has no suite “{suite}”. "
            + (f"It has {there_are}." if there_are else "Load scripts of scenarios first."),
            field="suite",
        )
    return scripts


def _plan(
    study: Study,
    suite: str,
    scripts: Sequence[Script],
    variants: Sequence[ModelVariant],
    conditions: Mapping[str, str],
    *,
    has_unprompted: bool,
) -> LaunchPlan:
    if not variants:
        raise Refused("Choose at least one model.", field="models")
    if twice := [label for label, count in Counter(variant.label for variant in variants).items() if count > 1]:
        raise Refused(f"The model {twice[0]} is chosen twice. Choose each model only once.", field="models")
    asked = check_conditions(conditions, has_unprompted=has_unprompted)
    _check_features(study, scripts)
    inputs, after = _link_questions(scripts)
    arms = [PlannedArm(variant, name, text) for variant in variants for name, text in asked.items()]
    return LaunchPlan(
        KIND,
        arms,
        inputs,
        # Coders see the title of a batch, so it names neither the suite nor a condition.
        title=f"Scenarios: {len(scripts):,} script{'' if len(scripts) == 1 else 's'}",
        parameters={"suite": suite, "scripts": [script.pk for script in scripts], "conditions": list(asked)},
        warnings=_warn(study, scripts, asked),
        facts=[
            ("Suite", suite),
            ("Scripts", f"{len(scripts):,}"),
            ("Questions of all scripts", f"{len(inputs):,}"),
            ("Conditions", ", ".join(asked)),
        ],
        after=after,
        expected_answer=EXPECTED_ANSWER,
    )


def check_conditions(conditions: Mapping[str, str], *, has_unprompted: bool = True) -> dict[str, str]:
    """The conditions of a launch with their system texts, ``unprompted`` first. Raises ``Refused``."""
    if UNPROMPTED in conditions:
        raise Refused(
            f"The condition {UNPROMPTED} has no text and is included unless you leave it out. Give yours another name.",
            field="conditions",
        )
    asked = ({UNPROMPTED: ""} if has_unprompted else {}) | dict(conditions)
    if not asked:
        raise Refused(f"There is no condition. Name at least one, or use {UNPROMPTED}.", field="conditions")
    if len(asked) > MAX_CONDITIONS:
        raise Refused(f"A launch has at most {MAX_CONDITIONS} conditions.", field="conditions")
    if len({name.casefold() for name in asked}) < len(asked):
        raise Refused(
            "Two conditions have the same name (upper and lower case count as the same). Give each condition its own name.",
            field="conditions",
        )
    for name, text in conditions.items():
        if not NAME.fullmatch(name) or len(name) > MAX_CONDITION_NAME:
            raise Refused(
                f"A condition cannot be named {shorten(name)}. Write 1 to {MAX_CONDITION_NAME} letters, digits, single spaces "
                "and - _ . and begin with a letter or digit.",
                field="conditions",
            )
        if not text.strip():
            raise Refused(f"The condition {name} has no text. Write its system text.", field="conditions")
        if len(text) > MAX_TEXT or "\x00" in text:
            raise Refused(
                f"The text of {name} is longer than {MAX_TEXT:,} characters, or contains one that cannot be stored.",
                field="conditions",
            )
    return asked


def _check_features(study: Study, scripts: Sequence[Script]) -> None:
    """Refuse scripts with features that the study's codebook lacks, because the case sheets of the threads will name them."""
    known = list_features(study)
    for script in scripts:
        for row in [*script.case.get("relevant", []), *script.case.get("irrelevant", [])]:
            if row["feature"] not in known:
                raise Refused(
                    f"The case {script.name} names the feature {row['feature'][:100]}, which the codebook of this study does not "
                    f"have. It has {', '.join(known) or 'no features'}. Add it, or write the case's next number.",
                    field="suite",
                )


def _link_questions(scripts: Sequence[Script]) -> tuple[list[int], dict[int, int]]:
    """The questions of these scripts in order, and the question that each of them continues. One query."""
    inputs: list[int] = []
    after: dict[int, int] = {}
    order = {script.pk: place for place, script in enumerate(scripts)}
    rows = Question.objects.filter(script__in=order).values_list("script", "position", "pk")
    before: dict[int, int] = {}
    for script, _, pk in sorted(rows, key=lambda row: (order[row[0] or 0], row[1])):
        if script in before:
            after[pk] = before[script]
        before[script or 0] = pk
        inputs.append(pk)
    return inputs, after


def _warn(study: Study, scripts: Sequence[Script], conditions: Mapping[str, str]) -> list[str]:
    warnings = []
    if unknown := find_unknown_codes(study, scripts):
        warnings.append(
            f"The codebook of this study does not have {', '.join(unknown)}. Sessions of cases that name "
            f"{'it' if len(unknown) == 1 else 'them'} have no outcome until it does."
        )
    if halves := find_halves(script.case.get("pair", {}) for script in scripts):
        warnings.append(
            f"Of {', '.join(halves)}, only one side is loaded, so no pairs are made from {'it' if len(halves) == 1 else 'them'}."
        )
    if UNPROMPTED not in conditions:
        warnings.append("No session runs without a prompt, so it cannot be measured how much remains without one.")
    return warnings


def _open_sessions(batch: Batch, scripts: Sequence[Script], repeats: int, *, by: trail.Actor) -> None:
    now = timezone.now()
    Session.objects.bulk_create(
        (
            Session(
                study=batch.study,
                script=script,
                arm=arm,
                repeat=repeat,
                mode=Session.Mode.RUN,
                label=f"{script.label}, {arm.task}, {arm.variant.label}, {repeat}"[:200],
                surface=SURFACE_OF_API,
                opened_at=now,
                opened_by=by if isinstance(by, User) else None,
                opened_by_name=by.get_username()[:200],
            )
            for arm in Arm.objects.filter(batch=batch).select_related("variant").order_by("pk")
            for script in scripts
            for repeat in range(1, repeats + 1)
        ),
        batch_size=500,
    )


TASK = "interview"
# An interview and its branches can be held at the same time.
IN_FLIGHT = 4


@transaction.atomic
def open_session(
    *,
    study: Study,
    script: Script,
    by: trail.Actor,
    variant: ModelVariant | None = None,
    model_as_shown: str = "",
    surface: str = "",
    vendor: str = "",
    opening: str = "",
    seed: int | None = None,
    label: str = "",
    tier: str = "",
    cap_usd: Decimal | None = None,
    idempotency_key: UUID | None = None,
) -> Session:
    """Open an interview with a script: either with the model ``variant``, to which the opening is sent at once as the first
    question, or as a recording of the chat page ``surface``, which calls its model ``model_as_shown``.

    ``opening`` is the id of one of the script's openings; without it, ``seed`` chooses one so that openings are balanced over
    models. ``cap_usd`` is the most that the interview and its branches may cost. The same ``idempotency_key`` returns the session
    that was made with it. Raises ``Refused``.
    """
    # The study is locked, so that openings are counted correctly and a form that is sent twice opens only one session.
    Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    if (stored := _find_opened(idempotency_key)) is not None:
        if stored.study_id != study.pk:
            raise Refused("This form was already sent in another study. Reload the page.", field="idempotency_key")
        return stored
    _check_script(study, script)
    model_as_shown = check_text(model_as_shown, field="model_as_shown", max_length=200, one_line=True)
    if (variant is None) == (not model_as_shown):
        raise Refused(
            "Choose a model to ask, or give the model's name as the chat page shows it, but not both.", field="variant"
        )
    model = variant.label if variant else model_as_shown
    chosen = _choose_opening(study, script, opening, seed, model)
    facts: dict[str, Any] = {
        "study": study,
        "script": script,
        "opening": chosen["id"],
        "vendor": check_text(vendor, field="vendor", max_length=200, one_line=True),
        "tier": check_text(tier, field="tier", max_length=50, one_line=True),
        "label": check_text(label, field="label", max_length=200, one_line=True) or f"{script.name} with {model}"[:200],
        "idempotency_key": idempotency_key,
        "opened_at": timezone.now(),
        "opened_by": by if isinstance(by, User) else None,
        "opened_by_name": by.get_username()[:200],
    }
    if variant is None:
        surface = check_text(
            surface,
            field="surface",
            max_length=100,
            needed="Say where the interview is held, such as chat.example.",
            one_line=True,
        )
        session = Session.objects.create(
            **facts, mode=Session.Mode.RECORDED, model_as_shown=model_as_shown, surface=surface
        )
    else:
        arm = _open_batch(script, variant, facts["label"], cap_usd, by)
        session = Session.objects.create(**facts, mode=Session.Mode.ASKED, arm=arm, surface=SURFACE_OF_API)
        question = Question.objects.create(
            session=session,
            position=1,
            kind=Question.Kind.OPEN,
            text=chosen["text"],
            asked_at=timezone.now(),
            asked_by=by if isinstance(by, User) else None,
        )
        send(session, question, after=None, by=by)
    details: dict[str, object] = {
        "script": script.label,
        "mode": session.mode,
        "opening": session.opening,
        **({"seed": seed} if seed is not None and not opening else {}),
        **({"batch": session.arm.batch_id} if session.arm else {}),
    }
    _record("session.opened", session, details, by=by)
    return session


def _find_opened(idempotency_key: UUID | None) -> Session | None:
    return Session.objects.filter(idempotency_key=idempotency_key).first() if idempotency_key else None


@transaction.atomic
def branch_session(*, session: Session, after: int, by: trail.Actor, idempotency_key: UUID | None = None) -> Session:
    """Open a session that continues after the answer to question ``after`` of another session, which does not change.

    If that answer belongs to the session that ``session`` branches from, the new branch also branches from that session. Raises
    ``Refused``.
    """
    session = hold_session(session)
    if (stored := _find_opened(idempotency_key)) is not None:
        if stored.study_id != session.study_id or stored.branch_of is None:
            raise Refused("This form was already sent elsewhere. Reload the page.", field="idempotency_key")
        return stored
    shared = next((each for each in read_talk(session) if each.number == after), None)
    if shared is None or not shared.is_answered:
        raise Refused(
            f"Question {after} has no answer in this interview, so no different question can be asked from there. Choose another "
            "question."
        )
    left = hold_session(shared.question.session) if shared.question.session and shared.is_shared else session
    if left.state in {Session.State.DISCARDED, Session.State.FAILED}:
        raise Refused("This interview was discarded, so nothing can branch from it. Open a new one.")
    if left.arm is not None and not left.arm.batch.is_open:
        raise Refused(
            "The calls of this interview ended with it, so nothing more can be asked from there. Open a new interview."
        )
    number = left.branches.count() + 1
    repeat = 1
    if left.arm is not None:
        same = Session.objects.filter(arm=left.arm, script=left.script)
        repeat = 1 + (same.aggregate(last=Max("repeat"))["last"] or 0)
    branch = Session.objects.create(
        study=left.study,
        script=left.script,
        arm=left.arm,
        repeat=repeat,
        mode=left.mode,
        label=f"{left.label[:170]}, branch {number} after answer {after}",
        opening=left.opening,
        surface=left.surface,
        model_as_shown=left.model_as_shown,
        vendor=left.vendor,
        tier=left.tier,
        branch_of=left,
        after_position=after,
        idempotency_key=idempotency_key,
        opened_at=timezone.now(),
        opened_by=by if isinstance(by, User) else None,
        opened_by_name=by.get_username()[:200],
    )
    _record("session.branched", branch, {"branch_of": left.pk, "after": after}, by=by)
    return branch


def _check_script(study: Study, script: Script) -> None:
    if script.study_id != study.pk or script.use != Script.Use.INTERVIEW:
        raise Refused("This study has no such interview script. Choose another.", field="script")


def _choose_opening(study: Study, script: Script, opening: str, seed: int | None, model: str) -> dict[str, str]:
    texts = {each["id"]: each["text"] for each in script.openings}
    if not opening and seed is None:
        raise Refused("Choose an opening, or give a seed with which one is chosen.", field="opening")
    if not texts:
        raise Refused(f"The script {script.label} has no openings. Write its next number with one.", field="script")
    if not opening:
        used = count_openings(study, script.name)
        opening = choose_opening(list(texts), used=used, model=model, seed=seed or 0)
    if opening not in texts:
        raise Refused(
            f"The script {script.label} has no opening “{opening[:60]}”. It has {', '.join(texts)}.", field="opening"
        )
    return {"id": opening, "text": texts[opening]}


def _open_batch(script: Script, variant: ModelVariant, title: str, cap_usd: Decimal | None, by: trail.Actor) -> Arm:
    """Open the batch that makes the calls of an interview and its branches: one arm, one cap, open until all of them are closed."""
    try:
        batch = launch_batch(
            study=script.study,
            kind=SESSION_KIND,
            title=title,
            arms=[PlannedArm(variant, TASK, script.system)],
            input_ids=[],
            stays_open=True,
            options=LaunchOptions(cap_usd=cap_usd, concurrency=IN_FLIGHT),
            by=by,
        )
    except Refused as error:
        raise Refused(str(error), field="cap") from error
    return Arm.objects.select_related("batch", "variant").get(batch=batch)


def _record(action: str, session: Session, details: dict[str, object], *, by: trail.Actor) -> None:
    trail.record(action, target=session, by=by, details=details)
