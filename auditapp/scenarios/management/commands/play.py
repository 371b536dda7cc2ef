from __future__ import annotations

import json
import time
from argparse import SUPPRESS, ArgumentParser
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError, CommandParser

from auditapp.batches.command_options import POLL_SECONDS, read_cap
from auditapp.batches.ledger import statements
from auditapp.batches.ledger.worker_signs import is_worker_alive
from auditapp.batches.models import WORKING_STATES
from auditapp.batches.runner import recovery, tasks
from auditapp.llm.management.finding import find_variant
from auditapp.scenarios.actions.asking import ask, ask_again, give_up, record_answer
from auditapp.scenarios.actions.closing import close_play, discard_play
from auditapp.scenarios.actions.plays import branch_play, open_play
from auditapp.scenarios.actions.scripts import write_script
from auditapp.scenarios.models import Play, Question, Script
from auditapp.scenarios.pure.openings import read_published_openings
from auditapp.scenarios.pure.scripts import ScriptRefused, read_guide
from auditapp.scenarios.queries.prompting import Raised, find_raised
from auditapp.scenarios.queries.scripts import find_script, latest_scripts
from auditapp.scenarios.queries.talks import Exchange, read_talk
from transcripts.accounts.models import User
from transcripts.audit_trail import trail
from transcripts.formats.command_files import input_file, say_file
from transcripts.projects.access import find_role
from transcripts.projects.management.finding import find_study
from transcripts.projects.models import Project
from transcripts.projects.roles import Permission
from transcripts.refusals import Refused
from transcripts.ui.commands import find_row

Told = dict[str, Any]


class Command(BaseCommand):
    help = "Hold an interview with a model: script, open, ask, again, give-up, record, branch, close, discard, show."

    def add_arguments(self, parser: CommandParser) -> None:
        # Django's parser takes an argument of its own, which the parsers of acts do not.
        acts = parser.add_subparsers(dest="act", required=True, parser_class=ArgumentParser)
        script = _add(acts, "script", "write a script of interviews, or its next number", of_play=False)
        script.add_argument("--project", required=True, metavar="SLUG")
        script.add_argument("--name", default="", help="what it is called, where its file does not say it")
        script.add_argument("--file", type=input_file, help="a JSON object; without it, the published opening alone")
        script.add_argument("--reason", default="", help="why the wording changes, for the next number")
        opened = _add(acts, "open", "open an interview; its opening is sent at once", of_play=False)
        opened.add_argument("--project", required=True, metavar="SLUG")
        opened.add_argument("--script", required=True, help="a name, or a name and number: gender/2")
        opened.add_argument("--opening", default="", help="the id of an opening of the script")
        opened.add_argument("--seed", type=int, help="choose the opening, balanced over models")
        opened.add_argument("--model", metavar="LABEL", help="a model of an account")
        opened.add_argument("--recorded", default="", metavar="NAME", help="the model as a public chat page calls it")
        opened.add_argument("--surface", default="", help="the chat page of a recorded interview")
        for name in ("vendor", "tier", "label"):
            opened.add_argument(f"--{name}", default="")
        opened.add_argument("--cap", metavar="USD", help="the most the interview and its branches may cost")
        opened.add_argument("--wait", action="store_true", help="return when the opening is answered")
        for name, told in (("ask", "ask the next question"), ("record", "store a question and its answer")):
            said = _add(acts, name, told)
            said.add_argument("--kind", default="", help=", ".join(Question.Kind.values))
            said.add_argument("--intent", default="", help=", ".join(Question.Intent.values))
            said.add_argument("--text", required=True)
            said.add_argument("--client-id", type=UUID, help="a UUID; the same one again asks nothing more")
            if name == "record":
                said.add_argument("--answer", required=True)
                said.add_argument("--reasoning", default="")
            else:
                said.add_argument("--wait", action="store_true", help="return when it is answered")
        again = _add(acts, "again", "ask the last question once more")
        again.add_argument("--turn", type=int, required=True)
        again.add_argument("--wait", action="store_true", help="return when it is answered")
        stopped = _add(acts, "give-up", "wait no longer for the answer to the last question")
        stopped.add_argument("--turn", type=int, required=True)
        branch = _add(acts, "branch", "open a play that goes on otherwise behind a turn")
        branch.add_argument("--turn", type=int, required=True)
        closed = _add(acts, "close", "store the interview as a thread of the study")
        closed.add_argument("--inclusion", required=True, help="included, excluded, or a word of your own")
        closed.add_argument("--reason", required=True)
        _add(acts, "discard", "end it without a thread").add_argument("--reason", required=True)
        _add(acts, "show", "what was said so far")

    def handle(self, *args: object, act: str, **options: Any) -> None:
        try:
            told = getattr(self, f"_{act.replace('-', '_')}")(options | {"act": act})
        except (Refused, ScriptRefused) as error:
            raise CommandError(_name_place(error) + " ".join(str(error).split())) from error
        self.stdout.write(json.dumps(told, ensure_ascii=False) if options["json"] else _put_in_words(told))

    def _script(self, options: Told) -> Told:
        content = _read_json(options["file"]) if options["file"] else {}
        if not options["name"] and "name" not in content:
            raise CommandError("A script has a name. Say it with --name NAME, or as “name” in its file.")
        openings = {each.id: each.text for each in read_published_openings()}
        script = read_guide({"name": options["name"], "openings": openings, **content})
        project = find_study(options["project"])
        by = _find_person(options, project)
        written = write_script(project=project, script=script, by=by, reason=options["reason"])
        return {"script": written.label, "sha256": written.sha256}

    def _open(self, options: Told) -> Told:
        project = find_study(options["project"])
        play = open_play(
            project=project,
            script=_find_script(project, options["script"]),
            variant=find_variant(options["model"]) if options["model"] is not None else None,
            model_as_shown=options["recorded"],
            **{name: options[name] for name in ("surface", "vendor", "tier", "label", "opening", "seed")},
            cap_usd=read_cap(options["cap"]),
            by=_find_person(options, project),
        )
        told: Told = {"play": play.pk, "state": play.state, "opening": play.opening}
        if play.arm is not None:
            told["batch"] = play.arm.batch_id
            told["first"] = self._tell_last(play, options)
        return told

    def _ask(self, options: Told) -> Told:
        play = _find_play(options)
        raised = find_raised(play, read_talk(play), options["text"], options["kind"])
        question = ask(play=play, by=_find_person(options, play.project), **_read_said(options))
        return self._tell_last(play, options, question) | {"raises": _describe_raised(raised)}

    def _again(self, options: Told) -> Told:
        play = _find_play(options)
        question = ask_again(play=play, number=options["turn"], by=_find_person(options, play.project))
        return self._tell_last(play, options, question)

    def _give_up(self, options: Told) -> Told:
        play = _find_play(options)
        question = give_up(play=play, number=options["turn"], by=_find_person(options, play.project))
        return _describe(next(each for each in read_talk(play) if each.question == question))

    def _record(self, options: Told) -> Told:
        play = _find_play(options)
        raised = find_raised(play, read_talk(play), options["text"], options["kind"])
        said = _read_said(options) | {"answer": options["answer"], "reasoning": options["reasoning"]}
        question = record_answer(play=play, by=_find_person(options, play.project), **said)
        return {"turn": question.position, "state": "answered", "raises": _describe_raised(raised)}

    def _branch(self, options: Told) -> Told:
        play = _find_play(options)
        branch = branch_play(play=play, after=options["turn"], by=_find_person(options, play.project))
        return {"play": branch.pk, "state": branch.state, "branch_of": branch.branch_of_id, "turn": options["turn"]}

    def _close(self, options: Told) -> Told:
        play = _find_play(options)
        by = _find_person(options, play.project)
        closed = close_play(play=play, inclusion=options["inclusion"], reason=options["reason"], by=by)
        return closed._asdict() | {
            "interview": closed.interview.pk,
            "external_id": closed.interview.external_id,
            "unanswered": [each._asdict() for each in closed.unanswered],
        }

    def _discard(self, options: Told) -> Told:
        play = _find_play(options)
        discard_play(play=play, reason=options["reason"], by=_find_person(options, play.project))
        return {"play": options["play"], "state": Play.State.DISCARDED.value}

    def _show(self, options: Told) -> Told:
        play = _find_play(options)
        return {
            "play": play.pk,
            "state": play.state,
            "script": play.script.label,
            "turns": [_describe(each) for each in read_talk(play)],
        }

    def _tell_last(self, play: Play, options: Told, question: Question | None = None) -> Told:
        """The question as it stands, once it is answered where the command is to wait for it."""
        if options["wait"]:
            _wait(play, report=self.stderr.write)
        talk = read_talk(play)
        return _describe(next(each for each in talk if question is None or each.question == question))


def _add(acts: Any, name: str, told: str, *, of_play: bool = True) -> ArgumentParser:
    parser = cast("ArgumentParser", acts.add_parser(name, help=told, description=told))
    if of_play:
        parser.add_argument("play", type=int)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument(
        "--as", dest="person", default="", metavar="NAME", help="in whose name, who can then read it on its page"
    )
    # Options of every command, which Django looks for behind its own arguments alone.
    for common in ("--skip-checks", "--traceback", "--no-color"):
        parser.add_argument(common, action="store_true", default=SUPPRESS, help=SUPPRESS)
    return parser


def _name_place(error: Refused | ScriptRefused) -> str:
    """Which turn of a script is wrong, where one is."""
    place = error.place if isinstance(error, ScriptRefused) else error.field
    return f"{place.capitalize()}: " if place.startswith("turn ") else ""


def _describe_raised(raised: Mapping[str, Raised]) -> list[Told]:
    return [{"code": code, **each._asdict()} for code, each in raised.items()]


def _describe(each: Exchange) -> Told:
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


def _wait(play: Play, *, report: Any) -> None:
    """Wait until nothing is on its way in a play, or its batch has stopped; without a worker, make its calls here."""
    assert play.arm is not None  # noqa: S101  (only plays with an arm are asked)
    batch, is_reported = play.arm.batch, False
    while any(each.is_waiting for each in read_talk(play)):
        batch.refresh_from_db()
        if batch.state not in WORKING_STATES and not batch.awaits_server:
            raise CommandError(f"Batch {batch.pk} is {batch.get_state_display().lower()}: {batch.state_reason}")
        if not is_worker_alive():
            if not is_reported:
                report("No worker is running; this command makes the calls itself.")
                is_reported = True
            recovery.recover_queues()
            for queue_id in statements.find_queues_to_notify(batch):
                tasks.work_on_queue(queue_id)
        else:
            time.sleep(POLL_SECONDS)


def _read_said(options: Told) -> Told:
    return {name: options[name] for name in ("kind", "intent", "text", "client_id")}


def _find_person(options: Told, project: Project) -> trail.Actor:
    """The person in whose name the command acts; the program itself where none is named."""
    name = options["person"]
    if not name:
        return trail.SYSTEM
    person = User.objects.filter(username=name, is_active=True).first()
    role = find_role(person, project) if person else None
    if person is None or role is None:
        raise CommandError(f"There is nobody {name!r} in the study {project.slug}.")
    needed = Permission.SET_METHOD if options["act"] == "script" else Permission.RUN_BATCHES
    if needed not in role.permissions:
        raise CommandError(f"The role of {name} in this study is {role.name}. {role.sentence}")
    return person


def _find_script(project: Project, label: str) -> Script:
    script = find_script(project, label)
    if script is None:
        known = ", ".join(each.label for each in latest_scripts(project, Script.Use.INTERVIEW)) or "none"
        raise CommandError(f"There is no script of interviews {label!r}. The scripts are: {known}.")
    return script


def _find_play(options: Told) -> Play:
    plays = Play.objects.filter(mode__in=(Play.Mode.ASKED, Play.Mode.RECORDED))
    plays = plays.select_related("project", "script", "branch_of", "arm__batch").order_by("-pk")
    return find_row(plays, "interview held here with the number", pk=options["play"])


def _read_json(path: Path) -> Told:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise CommandError(f"{path} cannot be read: {error.strerror}.") from error
    except ValueError as error:
        raise CommandError(f"{say_file(path)} is not JSON in UTF-8: {error}.") from error
    if not isinstance(content, dict):
        raise CommandError(f"{say_file(path)} is not a JSON object.")
    return content


def _put_in_words(told: Told) -> str:
    raised = told.get("raises", [])
    said = [f"{each['words'] or 'its kind'} raises {each['name']}" for each in raised]
    plain = told | ({"raises": "; ".join(said)} if raised else {})
    return "\n".join(f"{name}: {value}" for name, value in plain.items() if value not in ("", None, []))
