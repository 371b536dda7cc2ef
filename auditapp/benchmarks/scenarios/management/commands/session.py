from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar
from uuid import UUID

from auditapp.batches.command_options import CAP, WAIT, read_dollars, refuse_stopped, wait_for_batch
from auditapp.benchmarks.scenarios.actions.asking import ask, ask_again, give_up, record_answer
from auditapp.benchmarks.scenarios.actions.scripts import branch_session, open_session, write_script
from auditapp.benchmarks.scenarios.actions.storing import close_session, discard_session
from auditapp.benchmarks.scenarios.forms import AskForm, OpenSessionForm
from auditapp.benchmarks.scenarios.models import Question, Script, Session
from auditapp.benchmarks.scenarios.pure.scripts import ScriptRefused, read_guide, read_published_openings
from auditapp.benchmarks.scenarios.queries.sessions import (
    Exchange,
    Raised,
    find_raised,
    find_script,
    latest_scripts,
    read_talk,
)
from auditapp.llm.management import MODEL, find_variant
from transcripts.accounts.models import User
from transcripts.audit_trail import trail
from transcripts.formats.json_lines import read_object
from transcripts.formats.problems import ReadError
from transcripts.refusals import Refused
from transcripts.studies.access import find_role
from transcripts.studies.management import find_study
from transcripts.studies.models import Study
from transcripts.studies.roles import Permission
from transcripts.ui import commands
from transcripts.ui.commands import (
    ActCommand,
    Argument,
    Noun,
    Taken,
    arguments_of,
    find_row,
    input_file,
    pick,
    reading,
    say_file,
)

Told = dict[str, Any]

SESSION = Argument("session", type=int, metavar="SESSION", help="number of the interview")
TURN = Argument("--turn", type=int, required=True, metavar="N", help="number of the question")
PERSON = Argument(
    "--as",
    dest="person",
    default="",
    metavar="NAME",
    help="the person in whose name it is held, who can then read it on its page",
)
IDEMPOTENCY_KEY = Argument(
    "--idempotency-key", type=UUID, help="a UUID; if the command is repeated with the same UUID, nothing is asked again"
)


class _OfStudy(ActCommand):
    """Acts in a study in a person's name, and prints the result."""

    needed = Permission.RUN_BATCHES
    takes: ClassVar[Taken] = (commands.STUDY, PERSON)

    def handle(self, *args: Any, **options: Any) -> None:
        study = find_study(options["study"])
        self.tell(self.act(study, find_person(options["person"], study, self.needed), options))

    def act(self, study: Study, by: trail.Actor, options: Told) -> Told:
        raise NotImplementedError

    def tell(self, told: Told) -> None:
        raised = "; ".join(f"{each['words'] or 'its kind'} raises {each['name']}" for each in told.get("raises", []))
        plain = told | ({"raises": raised} if raised else {})
        self.answer(told, (f"{name}: {value}" for name, value in plain.items() if value not in ("", None, [])))

    def tell_last(self, session: Session, options: Told, question: Question | None = None) -> Told:
        """The question in its current state, by default the first one. If the command waits, its answer has arrived."""
        if options["wait"] and session.arm is not None:
            batch = wait_for_batch(session.arm.batch, report=self.stderr.write, until=lambda: is_answered(session))
            if not is_answered(session):
                refuse_stopped(batch)
        return describe(next(each for each in read_talk(session) if question is None or each.question == question))


class _OfSession(_OfStudy):
    """Acts on one interview."""

    takes: ClassVar[Taken] = (SESSION, PERSON)

    def handle(self, *args: Any, **options: Any) -> None:
        sessions = Session.objects.filter(mode__in=(Session.Mode.ASKED, Session.Mode.RECORDED))
        sessions = sessions.select_related("study", "script", "branch_of", "arm__batch").order_by("-pk")
        session = find_row(sessions, "interview held here with the number", pk=options["session"])
        self.tell(self.act_on(session, find_person(options["person"], session.study, self.needed), options))

    def act_on(self, session: Session, by: trail.Actor, options: Told) -> Told:
        raise NotImplementedError


class WriteScript(_OfStudy):
    help = "Write an interview script, or its next number."
    needed = Permission.SET_METHOD
    takes = (
        *_OfStudy.takes,
        Argument("--name", default="", help="its name, if the file does not give one"),
        Argument("--file", type=input_file, help="a JSON object; without it, only the published opening"),
        commands.REASON.but(required=False, default="", help="for the next number: why the wording changes"),
    )

    def act(self, study: Study, by: trail.Actor, options: Told) -> Told:
        content = read_json(options["file"]) if options["file"] else {}
        if not options["name"] and "name" not in content:
            raise Refused("A script needs a name. Give it with --name NAME, or as “name” in its file.")
        openings = {each.id: each.text for each in read_published_openings()}
        try:
            script = read_guide({"name": options["name"], "openings": openings, **content})
            written = write_script(study=study, script=script, by=by, reason=options["reason"])
        except (Refused, ScriptRefused) as error:
            place = error.place if isinstance(error, ScriptRefused) else error.field
            raise Refused(f"{place.capitalize()}: {error}" if place.startswith("turn ") else str(error)) from error
        return {"script": written.label, "sha256": written.sha256}


class Open(_OfStudy):
    help = "Open an interview; its opening is sent at once."
    takes = (
        *_OfStudy.takes,
        Argument("--script", required=True, help="a name, or a name and number: gender/2"),
        Argument("--opening", default="", help="the id of an opening of the script"),
        commands.SEED.but(default=None, help="chooses the opening, balanced over models"),
        MODEL.but(required=False),
        Argument("--recorded", default="", metavar="NAME", help="the model's name as a public chat page shows it"),
        *arguments_of(OpenSessionForm, "surface vendor tier"),
        Argument("--label", default="", help="the title of the interview"),
        CAP.but(help="the most that the interview and its branches may cost"),
        WAIT.but(help="return once the opening is answered"),
    )

    def act(self, study: Study, by: trail.Actor, options: Told) -> Told:
        session = open_session(
            study=study,
            script=choose_script(study, options["script"]),
            variant=find_variant(options["model"]) if options["model"] is not None else None,
            model_as_shown=options["recorded"],
            **pick(options, "surface vendor tier label opening seed"),
            cap_usd=read_dollars(options["cap"]),
            by=by,
        )
        told: Told = {"session": session.pk, **pick(session, "state opening")}
        if session.arm is not None:
            told |= {"batch": session.arm.batch_id, "first": self.tell_last(session, options)}
        return told


class Ask(_OfSession):
    help = "Ask the next question."
    takes = (
        *_OfSession.takes,
        *arguments_of(Question, "kind intent"),
        *arguments_of(AskForm, "text"),
        IDEMPOTENCY_KEY,
        WAIT.but(help="return once it is answered"),
    )

    def act_on(self, session: Session, by: trail.Actor, options: Told) -> Told:
        raised = list_raised(session, options)
        question = ask(session=session, by=by, **pick(options, "kind intent text idempotency_key"))
        return self.tell_last(session, options, question) | {"raises": raised}


class Record(_OfSession):
    help = "Store a question and its answer."
    takes = (
        *_OfSession.takes,
        *arguments_of(Question, "kind intent"),
        *arguments_of(AskForm, "text answer reasoning"),
        IDEMPOTENCY_KEY,
    )

    def act_on(self, session: Session, by: trail.Actor, options: Told) -> Told:
        raised = list_raised(session, options)
        said = pick(options, "kind intent text idempotency_key answer reasoning")
        question = record_answer(session=session, by=by, **said)
        return {"turn": question.position, "state": "answered", "raises": raised}


class Again(_OfSession):
    help = "Ask the last question once more."
    takes = (*_OfSession.takes, TURN, WAIT.but(help="return once it is answered"))

    def act_on(self, session: Session, by: trail.Actor, options: Told) -> Told:
        return self.tell_last(session, options, ask_again(session=session, number=options["turn"], by=by))


class GiveUp(_OfSession):
    help = "Stop waiting for the answer to the last question."
    takes = (*_OfSession.takes, TURN)

    def act_on(self, session: Session, by: trail.Actor, options: Told) -> Told:
        question = give_up(session=session, number=options["turn"], by=by)
        return describe(next(each for each in read_talk(session) if each.question == question))


class Branch(_OfSession):
    help = "Open an interview that continues differently after a turn."
    takes = (*_OfSession.takes, TURN)

    def act_on(self, session: Session, by: trail.Actor, options: Told) -> Told:
        branch = branch_session(session=session, after=options["turn"], by=by)
        return {"session": branch.pk, "state": branch.state, "branch_of": branch.branch_of_id, "turn": options["turn"]}


class Close(_OfSession):
    help = "Store the interview as a thread of the study."
    takes = (
        *_OfSession.takes,
        Argument("--inclusion", required=True, help="included, excluded, or a word of your own"),
        commands.REASON,
    )

    def act_on(self, session: Session, by: trail.Actor, options: Told) -> Told:
        closed = close_session(session=session, **pick(options, "inclusion reason"), by=by)
        return closed._asdict() | {
            "interview": closed.interview.pk,
            "external_id": closed.interview.external_id,
            "unanswered": [each._asdict() for each in closed.unanswered],
        }


class Discard(_OfSession):
    help = "End an interview without a thread."
    takes = (*_OfSession.takes, commands.REASON)

    def act_on(self, session: Session, by: trail.Actor, options: Told) -> Told:
        discard_session(session=session, reason=options["reason"], by=by)
        return {"session": session.pk, "state": Session.State.DISCARDED.value}


class Show(_OfSession):
    help = "Show the interview so far."

    def act_on(self, session: Session, by: trail.Actor, options: Told) -> Told:
        turns = [describe(each) for each in read_talk(session)]
        return {"session": session.pk, "state": session.state, "script": session.script.label, "turns": turns}


class Command(Noun):
    help = "Hold an interview with a model."
    verbs = {
        "script": WriteScript,
        "open": Open,
        "ask": Ask,
        "again": Again,
        "give-up": GiveUp,
        "record": Record,
        "branch": Branch,
        "close": Close,
        "discard": Discard,
        "show": Show,
    }


def list_raised(session: Session, options: Told) -> list[Told]:
    """The codes that the question would be the first in the conversation to raise."""
    raised: Mapping[str, Raised] = find_raised(session, read_talk(session), options["text"], options["kind"])
    return [{"code": code, **each._asdict()} for code, each in raised.items()]


def describe(each: Exchange) -> Told:
    """A question and its answer, as the command prints them."""
    counting = each.counting
    return {
        "turn": each.number,
        "kind": each.question.kind,
        "state": each.state,
        "question": each.question.text,
        "answer": each.answer,
        "finish_reason": counting.finish_reason if counting else "",
        "served_model": counting.served_model if counting else "",
        "possibly_paid_twice": each.possibly_paid_twice,
        "error": counting.error if counting and not each.has_result else "",
        "failure": counting.failure if counting else "",
    }


def is_answered(session: Session) -> bool:
    """Whether no answer is awaited in an interview."""
    return not any(each.is_waiting for each in read_talk(session))


def find_person(name: str, study: Study, needed: Permission) -> trail.Actor:
    """The person in whose name the command acts, or the program itself if nobody is named. Raises ``Refused``."""
    if not name:
        return trail.SYSTEM
    person = User.objects.filter(username=name, is_active=True).first()
    role = find_role(person, study) if person else None
    if person is None or role is None:
        raise Refused(f"The study {study.slug} has no member {name!r}.")
    if needed not in role.permissions:
        raise Refused(f"The role of {name} in this study is {role.name}. {role.sentence}")
    return person


def choose_script(study: Study, label: str) -> Script:
    """The script with this name, or with this name and number. Raises ``Refused``."""
    script = find_script(study, label)
    if script is None:
        known = ", ".join(each.label for each in latest_scripts(study, Script.Use.INTERVIEW)) or "none"
        raise Refused(f"There is no interview script {label!r}. The scripts are: {known}.")
    return script


def read_json(path: Path) -> Told:
    """The object in a file. Raises ``CommandError``."""
    with reading(path, ReadError) as stream:
        return read_object(stream.read(), say_file(path))
