"""Opening an interview with a model, and leaving it at a turn: what is asked otherwise is a session of its own."""

from __future__ import annotations

from decimal import Decimal
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import Max
from django.utils import timezone

from auditapp.batches.launching import LaunchOptions, PlannedArm, launch_batch
from auditapp.batches.models import Arm
from auditapp.benchmarks.scenarios.actions.asking import hold_session, send
from auditapp.benchmarks.scenarios.models import Question, Script, Session
from auditapp.benchmarks.scenarios.pure.scripts import choose_opening
from auditapp.benchmarks.scenarios.queries.sessions import count_openings, read_talk
from auditapp.benchmarks.scenarios.runner import SESSION_KIND
from auditapp.llm.models import ModelVariant
from transcripts.accounts.models import User
from transcripts.audit_trail import trail
from transcripts.refusals import Refused
from transcripts.studies.models import Study
from transcripts.ui.typed_text import check_text

TASK = "interview"
SURFACE_OF_API = "API"
# An interview and its branches are held side by side.
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
    """Open an interview by a script: with ``variant``, whose first question, the opening, is sent at once, or recorded from a chat
    page that calls its model ``model_as_shown`` on ``surface``.

    ``opening`` is the id of one of the script's; without one, ``seed`` chooses it so that the openings are balanced over models.
    ``cap_usd`` is the most that the interview and its branches may cost. The same ``idempotency_key`` again gives the session it
    made. Raises ``Refused``.
    """
    # Openings are counted, and a form that is sent twice opens one session.
    Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    if (
        idempotency_key is not None
        and (stored := Session.objects.filter(idempotency_key=idempotency_key).first()) is not None
    ):
        if stored.study_id != study.pk:
            raise Refused("This form was already sent in another study. Reload the page.", field="idempotency_key")
        return stored
    _check_script(study, script)
    model_as_shown = check_text(model_as_shown, field="model_as_shown", max_length=200, one_line=True)
    if (variant is None) == (not model_as_shown):
        raise Refused(
            "Choose a model to ask, or give the model's name as the chat page shows it, but not both.",
            field="variant",
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


@transaction.atomic
def branch_session(*, session: Session, after: int, by: trail.Actor, idempotency_key: UUID | None = None) -> Session:
    """Open a session that goes on behind the answer to question ``after`` of another, which stays as it is.

    Where that answer is one that ``session`` shares with a session above it, the branch leaves that one. Raises ``Refused``.
    """
    session = hold_session(session)
    if (
        idempotency_key is not None
        and (stored := Session.objects.filter(idempotency_key=idempotency_key).first()) is not None
    ):
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
        raise Refused("Choose an opening, or give a seed that chooses one.", field="opening")
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
    """The batch that makes the calls of an interview and its branches: one arm, one cap, open until all of them are closed."""
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
