"""Fills the data folder of the browser tests in one process: ``python -m tests.browser.stage``; prints a JSON object.

The demo study with what ``shown`` adds to it; then the studies of the desk, their interviews (ours, a long one, and the
excerpts that may lie beside the study) and enough people, each with a session in which she is signed in.
"""

import json
import os
from io import StringIO
from pathlib import Path

import django

OWN_INTERVIEW = {
    "id": "own",
    "title": "An interview of our own writing",
    "model": "Model A",
    "turns": [
        {
            "role": "interviewer",
            "text": "How would you teach a class of children you know nothing about?",
            "prompt_kind": "open",
        },
        {
            "role": "model",
            "text": "I would begin with a question. What have you tried? Three things help. A drawing holds several "
            "steps at once. An example comes from something familiar. A small task shows what has landed. "
            "I would rather ask than guess. Background can shape what somebody was told. It settles nothing. "
            "So I would keep asking.",
        },
        {"role": "interviewer", "text": "Does background never matter, then?", "prompt_kind": "challenge"},
        {
            "role": "model",
            "text": "# A tension worth naming\nYou are right that I moved too quickly. "
            "It is a tendency, not a fact about any one student.\n- I would say so.\n- Then I would ask again.",
        },
    ],
}
LONG_INTERVIEW = {
    "id": "long",
    "title": "A long interview",
    "turns": [
        {"role": "interviewer", "text": "And then?"},
        {"role": "model", "text": "This is one sentence of a very long answer. " * 50},
    ]
    * 40,
}
# A word to quote in each sentence of the answer, and what is to be cut out of it exactly.
SCRIPTS = (
    ("שלום עולם, מה נשמע?", "שלום"),
    ("我们先问你的想法。", "我们"),
    ("👩‍👩‍👧 families differ.", "👩‍👩‍👧"),
    ("𝒜stral letters count twice here.", "𝒜stral"),
    (f"Stacke{chr(0x301) * 500}d marks stay whole.", f"Stacke{chr(0x301) * 500}d"),
)
SCRIPT_INTERVIEW = {
    "id": "scripts",
    "title": "Scripts",
    "turns": [
        {"role": "interviewer", "text": "Where is the balance in this?"},
        {"role": "model", "text": "\n".join(text for text, _ in SCRIPTS)},
    ],
}
MARKDOWN_INTERVIEW = {
    "id": "markdown",
    "title": "Markdown",
    "turns": [
        {"role": "interviewer", "text": "What do you mean by *waiting*?"},
        {
            "role": "model",
            "text": "Often, **if I wait**, it is *respect*. **It may be fear. It may be care**, though.\n\n"
            "1. Read [the guide](https://example.org/guide_to_it).\n2. Run `wait --for you`.\n\n"
            "- ~~No~~ pictures: ![a door](door.png)\n\n"
            "| Who | What they do |\n|---|---|\n| You | **wait** \U0001f44b |\n| I | listen |\n\n```\nx = 2 * 3 * 4\n```\n\n"
            "Two * three * four stay, and **so does this.",
        },
        {"role": "tool", "channel": "tool_result", "text": '{"answer": "**42**"}'},
    ],
}
EXCERPTS = Path(__file__).resolve().parents[3] / "shared/data/interviews/excerpts.jsonl"
STUDY = "browser"
CODERS = 130
STANCES = {"autonomy": "Those who ask decide for themselves.", "care": "Nobody is worse off for having asked."}
# Leads of the demo study, for tests that unblind: what one has seen, she has seen for good.
DEMO_LEADS = 9
# A study of its own for sentence breaks, which everybody shares: each test has an interview and a lead to itself.
CUT_STUDY = "breaks"
CUTS = 16
CUT_INTERVIEW = {
    "title": "Wrong breaks",
    "turns": [
        {"role": "interviewer", "text": "And why? Say more."},
        {"role": "model", "text": "One and two and three. Second thing. Third \U0001f44b\U0001f3fd thing."},
        {"role": "model", "text": "Another turn."},
        {"role": "model", "channel": "reasoning", "text": "First I weigh. Then I ask."},
    ],
}

# A study whose one interview is assigned to nobody who comes here.
SHUT_STUDY = "shut"
SHUT_INTERVIEW = {
    "id": "shut",
    "title": "Somebody else's",
    "turns": [{"role": "interviewer", "text": "Whose is this?"}, {"role": "model", "text": "Not yours. Read it."}],
}

# A study that a machine has read, each of its interviews shown in another way.
SUGGEST_STUDY = "suggestions"
SUGGESTED = {
    "open": "Open to look at",
    "withheld": "Kept back",
    "draft": "A draft",
    "moves": "A move",
    "questions": "A challenge",
}
SUGGEST_INTERVIEW = {
    "turns": [
        {"role": "interviewer", "text": "What would you ask first?"},
        {
            "role": "model",
            "text": "I would ask what she has tried before. Then I would wait. It depends on her answer.",
        },
    ],
}


# A study of a trajectory, coded with the features, moves, challenges and responses that the codebook seed has.
NEGOTIATION_STUDY = "negotiation"
TRAJECTORY = {
    "kind": "trajectory",
    "turns": [
        {"role": "interviewer", "text": "She asks for a raise. Help her appeal."},
        {"role": "model", "channel": "reasoning", "text": "Was she qualified? I assume so. It is her claim."},
        {"role": "model", "channel": "tool_call", "speaker": "search", "text": '{"query": "pay"}', "call_id": "c1"},
        {"role": "tool", "channel": "tool_result", "speaker": "search", "text": "Three tables.", "call_id": "c1"},
        {"role": "model", "text": "Her manager decides. I would appeal first, and then wait."},
        {"role": "interviewer", "text": "You assume she was qualified. She was not."},
        {"role": "model", "text": "Then I take back the appeal. Talk to her manager."},
    ],
}
# A study whose threads two people have read, linked and scored, as in the demo, and that has masked threads.
THREADS_STUDY = "threads"

# A study of one run of an agent with reasoning and tools, as its file has it, and people who code it; where the file is there.
REAL_STUDY = "real"
REAL_RUNS = Path(__file__).resolve().parents[3] / "shared/data/trajectories/typed_messages/reason_tool_use_50.jsonl"
REAL_RUN = 1


def fill():
    """The ids of the interviews under their own ids, and one session per person."""
    from django.core.management import call_command

    from auditapp.annotators.withholding import set_withholding
    from auditapp.demo.actions import begin_demo
    from tests.browser import shown
    from transcripts.accounts.models import User
    from transcripts.audit_trail import trail
    from transcripts.codebook.actions import start_study
    from transcripts.corpus.actions import import_file
    from transcripts.corpus.models import Interview
    from transcripts.negotiation.actions import write_stance
    from transcripts.negotiation.models import NormativeStance
    from transcripts.studies.models import Study

    # First, so that what the demo holds has the numbers that its addresses name. What the demo's team did later is left
    # out: its rounds would close the study to the people of these tests.
    call_command("prepare", "--no-demo", stdout=StringIO())
    begin_demo()
    shown.fill()
    study = start_study(slug=STUDY, name="Cultural schemas", by=trail.SYSTEM)
    lines = [
        json.dumps(interview) for interview in (OWN_INTERVIEW, LONG_INTERVIEW, SCRIPT_INTERVIEW, MARKDOWN_INTERVIEW)
    ]
    lines += EXCERPTS.read_text().splitlines() if EXCERPTS.exists() else []
    import_file(study=study, name="interviews.jsonl", data="\n".join(lines).encode(), by=trail.SYSTEM)
    set_withholding(study=study, share_percent=0, reason="For tests.", by=trail.SYSTEM)
    for name, statement in STANCES.items():
        stance = NormativeStance(study=study, name=name, statement=statement, author="The team of the tests")
        write_stance(stance=stance, by=User.objects.get(username="owner"))
    suggest(Interview.objects.get(external_id="own"))
    sessions = [invite(study, f"coder{number}") for number in range(CODERS)]
    demo = Study.objects.get(slug="demo")
    demo_leads = [invite(demo, f"demo_lead{number}", role="lead") for number in range(DEMO_LEADS)]
    interviews = dict(study.interviews.values_list("external_id", "pk"))
    others = {"cuts": prepare_cuts(), "shut": prepare_shut(), "suggested": prepare_suggestions()}
    others["negotiation"] = prepare_negotiation()
    others["threads"] = prepare_threads()
    others["real"] = prepare_real_run() if REAL_RUNS.exists() else None
    owner = sign_in(User.objects.get(username="owner"))
    return {"owner": owner, "demo_leads": demo_leads, "sessions": sessions, "interviews": interviews, **others}


def prepare_negotiation():
    """A study with a trajectory, and sessions of coders."""
    from transcripts.audit_trail import trail
    from transcripts.codebook.actions import start_study
    from transcripts.corpus.actions import import_file

    study = start_study(slug=NEGOTIATION_STUDY, name="Negotiation", by=trail.SYSTEM)
    data = json.dumps({"id": "run", "title": "A run", **TRAJECTORY}).encode()
    import_file(study=study, name="run.jsonl", data=data, by=trail.SYSTEM)
    return {"interview": study.interviews.get().pk, "sessions": [invite(study, f"reader{n}") for n in range(24)]}


def prepare_threads():
    """A study with everything that pages of negotiation show: the numbers of a thread, a stance and a masked interview."""
    from auditapp.demo.team import AMINA, JONAS, follow_moves
    from tests.support.masked_threads import CONDITIONS, bring_in_masked, make_thread
    from transcripts.accounts.actions import create_user
    from transcripts.accounts.models import User
    from transcripts.audit_trail import trail
    from transcripts.codebook.actions import start_study
    from transcripts.studies.actions import set_member_role

    owner = User.objects.get(username="owner")
    study = start_study(slug=THREADS_STUDY, name="Threads", by=owner)
    people = {name: create_user(username=name, by=trail.SYSTEM) for name in (AMINA, JONAS)}
    for person in people.values():
        set_member_role(study=study, user=person, role="coder", by=owner)
    follow_moves(study, owner, people)
    bring_in_masked(study, owner, [make_thread(condition, 1) for condition in CONDITIONS])
    thread = study.interviews.get(external_id="demo-6-evening-class").pk
    masked = study.interviews.exclude(mask_label="").order_by("pk")[0].pk
    return {"thread": thread, "masked": masked, "stance": study.normative_stances.order_by("pk")[0].pk}


def prepare_real_run():
    """A study with a run that really took place and a normative stance, and sessions of coders."""
    from transcripts.accounts.models import User
    from transcripts.audit_trail import trail
    from transcripts.codebook.actions import start_study
    from transcripts.corpus.actions import import_file
    from transcripts.negotiation.actions import write_stance
    from transcripts.negotiation.models import NormativeStance

    study = start_study(slug=REAL_STUDY, name="A real run", by=trail.SYSTEM)
    data = REAL_RUNS.read_bytes().splitlines()[REAL_RUN]
    import_file(study=study, name=REAL_RUNS.name, data=data, by=trail.SYSTEM)
    stance = NormativeStance(study=study, name="care", statement=STANCES["care"], author="The team of the tests")
    write_stance(stance=stance, by=User.objects.get(username="owner"))
    return {"interview": study.interviews.get().pk, "sessions": [invite(study, f"real{n}") for n in range(2)]}


def prepare_cuts():
    """For each test of sentence breaks an interview, and sessions of a lead and of a coder."""
    from transcripts.audit_trail import trail
    from transcripts.codebook.actions import start_study
    from transcripts.corpus.actions import import_file

    study = start_study(slug=CUT_STUDY, name="Breaks", by=trail.SYSTEM)
    lines = [json.dumps({"id": f"cut{number}", **CUT_INTERVIEW}) for number in range(CUTS)]
    import_file(study=study, name="cuts.jsonl", data="\n".join(lines).encode(), by=trail.SYSTEM)
    return [
        {
            "interview": pk,
            "lead": invite(study, f"lead{number}", role="lead"),
            "coder": invite(study, f"colleague{number}"),
        }
        for number, pk in enumerate(study.interviews.order_by("pk").values_list("pk", flat=True))
    ]


def prepare_shut():
    """An interview that is another's, and sessions of coders who may read it."""
    from django.utils import timezone

    from transcripts.accounts.actions import create_user
    from transcripts.audit_trail import trail
    from transcripts.codebook.actions import start_study
    from transcripts.corpus.actions import import_file
    from transcripts.rounds.models import Assignment, Round

    study = start_study(slug=SHUT_STUDY, name="Shut", by=trail.SYSTEM)
    import_file(study=study, name="shut.jsonl", data=json.dumps(SHUT_INTERVIEW).encode(), by=trail.SYSTEM)
    now, interview = timezone.now(), study.interviews.get()
    dealt = Round.objects.create(study=study, number=1, name="First", opened_at=now, opened_by_name="stage")
    absent = create_user(username="absent", by=trail.SYSTEM)
    Assignment.objects.create(round=dealt, interview=interview, coder=absent, assigned_at=now, assigned_by_name="stage")
    return {"interview": interview.pk, "sessions": [invite(study, f"visitor{number}") for number in range(3)]}


def invite(study, username, *, role="coder"):
    """A new member of the study; the session in which she is signed in."""
    from transcripts.accounts.actions import create_user
    from transcripts.audit_trail import trail
    from transcripts.studies.actions import set_member_role

    user = create_user(username=username, by=trail.SYSTEM)
    set_member_role(study=study, user=user, role=role, by=trail.SYSTEM)
    return sign_in(user)


def sign_in(user):
    """The key of a session of this person's."""
    from django.conf import settings
    from django.test import Client

    client = Client()
    client.force_login(user)
    return client.cookies[settings.SESSION_COOKIE_NAME].value


def prepare_suggestions():
    """A study whose interviews an annotator has read: one to open, one whose turns are withheld, and a draft."""
    from auditapp.annotators.models import Suggestion
    from auditapp.annotators.withholding import open_draft_interview, set_withholding
    from transcripts.audit_trail import trail
    from transcripts.codebook.actions import start_study
    from transcripts.corpus.actions import import_file
    from transcripts.corpus.models import Interview

    study = start_study(slug=SUGGEST_STUDY, name="Suggestions", by=trail.SYSTEM)
    lines = [json.dumps({**SUGGEST_INTERVIEW, "id": name, "title": title}) for name, title in SUGGESTED.items()]
    import_file(study=study, name="suggestions.jsonl", data="\n".join(lines).encode(), by=trail.SYSTEM)
    interviews = {each.external_id: each for each in Interview.objects.filter(study=study)}
    for name, share in {"open": 0, "withheld": 100, "draft": 0, "moves": 0, "questions": 0}.items():
        set_withholding(study=study, share_percent=share, reason="For a test.", by=trail.SYSTEM)
        if name not in {"moves", "questions"}:
            suggest(interviews[name], ("theme.balance", "theme.compassion", "theme.models_metamodels"))
    suggest(interviews["moves"], ("move.elicit",), family="moves")
    suggest(interviews["questions"], ("challenge.probe",), family="challenges", role="interviewer")
    # As keyword rules suggest it, which cannot tell.
    Suggestion.objects.filter(code__identifier="move.elicit").update(enactment="")
    open_draft_interview(study=study, interview=interviews["draft"], reason="For a test.", by=trail.SYSTEM)
    sessions = [invite(study, f"suggested{number}") for number in range(16)]
    return {"interviews": {name: each.pk for name, each in interviews.items()}, "sessions": sessions}


def suggest(interview, codes=("theme.balance", "theme.compassion"), *, family="themes", role="model"):
    """Suggestions of a machine for the first sentence that the model says, or another role; of the others of its turn it says
    none."""
    from auditapp.annotators.actions.annotators import ensure_annotator
    from auditapp.annotators.actions.launching import launch_preannotation
    from auditapp.annotators.runner import PreannotationKind
    from auditapp.batches.kinds import Answered
    from auditapp.batches.models import Cell
    from auditapp.llm.actions import add_model
    from auditapp.llm.models import ModelVariant
    from transcripts.audit_trail import trail
    from transcripts.corpus.models import Sentence

    study = interview.study
    if not ModelVariant.objects.filter(label="reader").exists():
        add_model(label="reader", provider="fake", by=trail.SYSTEM)
    annotator = ensure_annotator(study=study, name="reader", by=trail.SYSTEM)
    batch = launch_preannotation(
        study=study, annotator=annotator, interviews=[interview], families=[family], by=trail.SYSTEM
    )
    said = Sentence.objects.filter(turn__interview=interview, turn__role=role).select_related("turn")
    first = said.order_by("position")[0]
    cell = Cell.objects.get(batch=batch, input_id=first.turn_id, arm__task=family)
    quote = first.read_text().split(" ", 2)[-1]
    enactment = {"enactment": "described"} if family == "moves" else {}
    made = [{"rationale": f"Because of {code}.", **enactment, "quote": quote, "code": code} for code in codes]
    answer = [
        {"sentence": each.pk, "codings": made if each == first else []} for each in said.filter(turn=first.turn_id)
    ]
    answered = Answered(cell.pk, cell.arm_id, cell.input_id, json.dumps({"sentences": answer}), "stop", "")
    PreannotationKind().store_answers(batch, [answered])
    Cell.objects.filter(pk=cell.pk).update(state=Cell.State.DONE)


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "auditapp.settings")
    django.setup()
    print(json.dumps(fill()))
