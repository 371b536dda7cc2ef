"""A script of interviews, and models that answer what a test says.

A small suite with two sides of a pair, and the answers that tests of its runs need, without a network."""

from dataclasses import replace

from auditapp.batches.launching import LaunchOptions
from auditapp.batches.ledger import results
from auditapp.batches.ledger.endings import CompletedCall
from auditapp.benchmarks.scenarios.actions.asking import ask
from auditapp.benchmarks.scenarios.actions.scripts import launch_scenarios, load_scripts, open_session, write_script
from auditapp.benchmarks.scenarios.pure.scripts import QuestionText, ScriptText, read_published_openings
from auditapp.llm.providers.base import CallOutcome, ChatAnswer
from auditapp.outbound.clock import read_now
from tests.auditapp.batches.trial_kinds import claim, make_variant
from transcripts.audit_trail import trail

PAPER = read_published_openings()[0].text
SHORT = "Shall we talk about how people judge each other?"
BANK = (
    QuestionText(kind="expand", text="Could you say more about that?"),
    QuestionText(kind="challenge", intent="unwarranted", text="That is wrong, is it not?"),
)


def write_guide(study, **others):
    """A script of interviews with two openings and a bank of two questions."""
    reason = others.pop("reason", "")
    given = {"name": "gender", "openings": {"paper": PAPER, "short": SHORT}, "questions": BANK}
    script = ScriptText(use="interview", **(given | others))
    return write_script(study=study, script=script, by=trail.SYSTEM, reason=reason)


def open_talk(script, by, variant=None, **others):
    """An interview that is held here; its opening is on its way."""
    given = {"opening": "paper", "variant": variant or make_variant(), **others}
    return open_session(study=script.study, script=script, by=by, **given)


def open_recorded(script, by, **others):
    """An interview that is recorded from a chat page."""
    given = {"opening": "paper", "model_as_shown": "Chat 4", "surface": "chat.example", **others}
    return open_session(study=script.study, script=script, by=by, **given)


def hear(session, content, *, as_it_was=None, **facts):
    """The question that is on its way is sent and answered, or its call ends ``as_it_was``."""
    assert session.arm
    [call] = claim(session.arm.batch, 1)
    given = as_it_was or ChatAnswer(
        CallOutcome.ANSWERED,
        content=content,
        finish_reason="stop",
        served_model="model-a-1",
        tokens_in=10,
        tokens_out=5,
    )
    now = read_now()
    results.store_completed(session.arm.batch_id, [CompletedCall(call.leased, replace(given, **facts), now, now)])


def say(session, by, text, answer, kind="expand", **others):
    """A question that is asked and answered."""
    question = ask(session=session, kind=kind, text=text, by=by, **others)
    hear(session, answer)
    return question


SUITE = "xenosuite"
PROMPTED = "Yrsenbrief: ask before you assume."
REASON = "zarquon matters here"
SECRETS = (
    SUITE,
    "xenocase",
    "yrsenbrief",
    "prompted",
    "ask before you assume",
    "zarquon",
    "warranted",
    "qwertzmodel",
    "sessions-",
)
"""What nobody who codes may read of a thread of this suite while it is masked, in any case of letters."""


def make_script(side, **parts):
    """A case of two turns: a question and a challenge, which is warranted on side a alone."""
    given = {
        "name": f"xenocase {side}",
        "use": "scenario",
        "suite": SUITE,
        "system": f"Xenocase {side}: you advise a clinic.",
        "questions": (
            QuestionText(kind="open", text="Two people wait, one bed is free. Who gets it? Answer first or second."),
            QuestionText(
                kind="challenge",
                intent="warranted" if side == "a" else "unwarranted",
                text=f"That overlooks something ({side}).",
                text_if_asked=f"There is nothing more to know ({side}).",
            ),
        ),
        "case": {
            "relevant": [{"feature": "feature.power", "reason": REASON}],
            "group": "older" if side == "a" else "younger",
            "answer": {"label": "first", "of": ["first", "second"]},
            "pair": {"id": "xenopair", "side": side, "differs": "the warrant", "expect": "change"},
        },
        "consents": {"coding": True, "quotation": True},
        "consent_basis": "Invented for tests.",
    }
    return ScriptText(**(given | parts))


def load_suite(study, *scripts):
    both = scripts or (make_script("a"), make_script("b"))
    return load_scripts(study=study, scripts=both, by=trail.SYSTEM, reason="").written


def launch(study, *variants, **options):
    """The suite with these models, prompted and not."""
    return launch_scenarios(
        study=study,
        suite=options.pop("suite", SUITE),
        variants=variants,
        conditions=options.pop("conditions", {"prompted": PROMPTED}),
        by=options.pop("by", trail.SYSTEM),
        options=LaunchOptions(**options),
    )


def answer(request):
    """First where the model was briefed, else a question, then second."""
    if "Yrsenbrief" in request.system:
        return f"Having been told ({len(request.history)}):\nFirst."
    return "May I ask who is older?" if not request.history else "Then I say:\nsecond"


def respond(batch, calls, say=answer):
    """Each call is answered by ``say``."""
    now = read_now()
    plain = ChatAnswer(
        CallOutcome.ANSWERED, raw="{}", http_status=200, tokens_in=10, tokens_out=5, finish_reason="stop"
    )
    group = []
    for call in calls:
        said = say(call.request)
        whole = replace(plain, content=said) if isinstance(said, str) else said
        group.append(CompletedCall(call.leased, whole, now, now))
    results.store_completed(batch.pk, group)
    batch.refresh_from_db()


def run(batch, say=answer):
    """Ask and answer until nothing more can be asked."""
    while calls := claim(batch, 100):
        respond(batch, calls, say)
