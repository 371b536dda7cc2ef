"""The study that is saved to, opened and exported: prepared once, and people who are signed in to it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

from perf.client import Connection, build_get, build_post
from perf.corpus import QUESTIONS, write_interviews
from tests.support.instance import ROOT, Instance

PATIENCE_SECONDS = 240.0


class Unprepared(Exception):
    """A program of the measurement failed; the message holds its last words."""


def run_inside(program: str, *arguments: str, environment: dict[str, str], patience: float = PATIENCE_SECONDS) -> Any:
    """Run ``perf.inside.PROGRAM`` on a data folder; the object it prints."""
    done = subprocess.run(
        [sys.executable, "-m", f"perf.inside.{program}", *arguments],
        cwd=ROOT,
        env={**environment, "LOG_LEVEL": "WARNING"},
        capture_output=True,
        text=True,
        check=False,
        timeout=patience,
    )
    if done.returncode != 0:
        raise Unprepared(f"{program} failed: {done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])


@dataclass(frozen=True)
class Study:
    """A data folder with one study. ``answers`` are the model's sentences by interview, ``links`` sign-in secrets, each of which
    works once; ``sessions`` are the cookies of those who have used theirs."""

    instance: Instance
    slug: str
    links: dict[str, str]
    answers: dict[int, list[int]]
    codes: list[tuple[int, str]]
    sessions: dict[str, dict[str, str]] = field(default_factory=dict)

    @property
    def database(self) -> Path:
        """The SQLite file."""
        return self.instance.folder / "auditapp.sqlite3"


def prepare_study(
    folder: Path,
    *,
    interviews: int,
    coders: int,
    codings: int,
    database_url: str = "",
    questions: int = QUESTIONS,
    write: Callable[[Path], object] | None = None,
    entries: int = 0,
) -> Study:
    """A fresh data folder with a study of ``interviews`` interviews, of which ``codings`` sentences are coded; or of those that
    ``write`` writes into a file. ``entries``: on so many answers of each a feature is entered and a move coded."""
    instance = Instance(folder, database_url=database_url)
    file = folder / "interviews.jsonl"
    if write is None:
        file.write_bytes(write_interviews(interviews, questions=questions))
    else:
        write(file)
    sizes = ("--coders", str(coders), "--codings", str(codings), "--entries", str(entries))
    made = run_inside("study", str(file), *sizes, environment=instance.environment)
    answers = {int(interview): sentences for interview, sentences in made["answers"].items()}
    return Study(instance, made["slug"], made["links"], answers, made["codes"])


class Person:
    """Somebody signed in over HTTP, and the headers her browser sends."""

    def __init__(self, study: Study, name: str, port: int) -> None:
        self.study, self.port = study, port
        self.base = {"Host": f"127.0.0.1:{port}", "User-Agent": "bench", "Accept": "*/*"}
        self.cookies: dict[str, str] = study.sessions.get(name, {})
        self.user_id = ""
        self.connection = Connection(port)
        if not self.cookies:
            self._sign_in(urlsplit(study.links[name]).path)
            study.sessions[name] = self.cookies

    def desk_path(self, interview: int) -> str:
        """The desk's address."""
        return f"/studies/{self.study.slug}/interviews/{interview}/"

    def get(self, path: str) -> bytes:
        """A request for a page."""
        return build_get(path, {**self.base, "Cookie": self._cookie_header()})

    def post(self, path: str, fields: dict[str, object]) -> bytes:
        """A request as the desk's script sends it: CSRF token, origin, and who is at the desk."""
        headers = {
            **self.base,
            "Cookie": self._cookie_header(),
            "Origin": f"http://127.0.0.1:{self.port}",
            "X-CSRFToken": self.cookies.get("csrftoken", ""),
        }
        if self.user_id:
            headers["X-Desk"] = self.user_id
        return build_post(path, headers, fields)

    def open_desk(self, interview: int) -> None:
        """Open a desk once: it says who she is, and renews the CSRF cookie."""
        answer = self.connection.exchange(self.get(self.desk_path(interview)))
        if answer.status != 200:
            raise Unprepared(f"The desk answered {answer.status}.")
        self.cookies |= answer.cookies
        _, _, rest = answer.body.partition(b'data-user="')
        self.user_id = rest.partition(b'"')[0].decode()

    def make_saves(self, interviews: list[int]) -> Callable[[], bytes]:
        """A source of requests, each of which puts one more code on a sentence of these interviews."""
        requests = self._list_saves(interviews)
        return lambda: next(requests)

    def _list_saves(self, interviews: list[int]) -> Iterator[bytes]:
        for code, enactment in self.study.codes:
            for interview in interviews:
                path = f"{self.desk_path(interview)}add/"
                for sentence in self.study.answers[interview]:
                    given = {"idempotency_key": uuid4().hex, "sentence": sentence, "code": code}
                    yield self.post(path, {**given, "level": "semantic", "enactment": enactment, "note": ""})

    def _sign_in(self, path: str) -> None:
        offered = self.connection.exchange(self.get(path))
        self.cookies |= offered.cookies
        answer = self.connection.exchange(self.post(path, {}))
        if answer.status != 302:
            raise Unprepared(f"Signing in answered {answer.status}.")
        self.cookies |= answer.cookies

    def _cookie_header(self) -> str:
        return "; ".join(f"{name}={value}" for name, value in self.cookies.items())
