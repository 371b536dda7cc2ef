"""A real model behind a real server, through a real worker: ``make real``.

``local-smollm2`` is asked for ten benchmark answers and two turns of pre-annotation. In the middle its server is killed,
stays away for a while, and comes back; nobody touches the batch. Then an interview of six questions is held with it, with
the worker killed on the way, and it plays three cases with their twins. Prints one promise a line; the exit status is 1
when any of them is broken. Takes about ten minutes, and is not part of ``make test``: its server is a download of 130 MB.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.error import URLError

from auditapp.benchmarks.scenarios.pure.scripts import SHIPPED, SHIPPED_FILE
from tests.support.instance import ROOT, Instance, Process, kill_group, wait_until
from tools.environment import LOCAL_MODEL_FOLDER
from tools.local_model import SMALL, LocalModel, choose_model

TEXTS, TURNS = 5, 2
PLAYS = (
    "SELECT p.state, count(*) FROM scenarios_session p JOIN batches_arm a ON a.id = p.arm_id WHERE a.batch_id = {batch} "
    "GROUP BY 1"
)
TASKS = ("acceptability", "non_acceptability")
# The interview, behind its opening.
QUESTIONS = (
    ("open", "Who taught you what you know about being helpful?"),
    ("open", "Do you think that people ask you other things than they would ask a person?"),
    ("challenge", "You speak as if you had a childhood. Is that so?"),
    ("open", "What would you say to somebody who thinks that you are on her side?"),
    ("open", "What did we speak about, in one sentence?"),
)
CASES = 3
AWAY_SECONDS = 20.0
PATIENCE = 900.0
ANSWERED = "SELECT count(*) FROM batches_cell WHERE batch_id = {batch} AND state = 'done'"
STATE = "SELECT state FROM batches_batch WHERE id = {batch}"
OUTCOMES = (
    "SELECT CASE j.outcome WHEN '' THEN 'none' ELSE j.outcome END, count(*) FROM sob_judgment j "
    "JOIN batches_arm a ON a.id = j.arm_id WHERE a.batch_id = {batch} GROUP BY 1 ORDER BY 1"
)


class RealModel:
    """The instance, its worker, and the model's server."""

    def __init__(self, folder: Path) -> None:
        self.instance = Instance(folder)
        self.model: LocalModel = choose_model(SMALL, packages=LOCAL_MODEL_FOLDER, folder=folder)
        self.server: Process | None = None
        self.worker: Process | None = None

    def start_server(self) -> None:
        """Start the model's server, and wait until it has loaded the weights."""
        command = self.model.write_command(Path(sys.executable), LOCAL_MODEL_FOLDER)[1:]
        self.server = self.instance.start(*command)
        wait_until(self.is_serving, what="the model's server is ready")

    def restart_worker(self) -> None:
        """Kill the worker, if there is one, without notice, and start another."""
        if self.worker is not None:
            kill_group(self.worker)
        self.worker = self.instance.start_worker()

    def kill_server(self) -> None:
        assert self.server is not None
        kill_group(self.server)

    def is_serving(self) -> bool:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.model.port}/health", timeout=5) as answer:
                return bool(answer.status == 200)
        except URLError:
            return False

    def prepare(self) -> None:
        """A study with the demo's interviews and texts, and the model."""
        demo = ROOT / "auditapp" / "demo" / "data"
        address = ("--local-model", self.model.label, "--local-model-url", self.model.base_url)
        self.instance.ask("prepare", "--no-demo", *address, "--local-model-is-small")
        self.instance.manage("study", "create", "real", "--name", "A real model")
        self.instance.manage("interview", "import", str(demo / "interviews.jsonl"), "--study", "real")
        self.instance.manage("sob", "load", str(demo / "sob_texts.csv"), "--name", "texts", "--study", "real")

    def judge_through_an_outage(self) -> int:
        """A sob batch whose server dies after two answers and comes back; its number."""
        tasks = [word for task in TASKS for word in ("--task", task)]
        batch = self.instance.ask(
            *("sob", "launch", "--dataset", "texts", "--study", "real", "--limit", str(TEXTS)),
            *("--model", self.model.label, *tasks, "--confirm-terms"),
        )["batch"]
        self.wait(lambda: self.count_answered(batch) >= 2)
        tell(f"killing the model's server after {self.count_answered(batch)} answers")
        self.kill_server()
        time.sleep(AWAY_SECONDS)
        tell("starting it again")
        self.start_server()
        self.wait_for_end(batch)
        return int(batch)

    def annotate(self) -> int:
        """A batch of pre-annotation; its number."""
        batch = self.instance.ask(
            *("annotator", "run", "--study", "real", "--annotator", self.model.label),
            *("--limit", str(TURNS), "--family", "themes", "--pilot", "0"),
        )["batch"]
        self.wait_for_end(batch)
        return int(batch)

    def interview(self) -> tuple[int, dict[str, Any]]:
        """An interview, through the end of a worker; its batch, and what closing it told."""
        self.instance.manage("session", "script", "--study", "real", "--name", "identity")
        opened = self.instance.ask(
            *("session", "open", "--study", "real", "--script", "identity", "--seed", "1"),
            *("--model", self.model.label, "--wait"),
        )
        session = str(opened["session"])
        for number, (kind, text) in enumerate(QUESTIONS):
            asked = ("session", "ask", session, "--kind", kind, "--text", text)
            intent = ("--intent", "warranted") if kind == "challenge" else ()
            self.instance.ask(*asked, *intent)
            if number == len(QUESTIONS) // 2:
                tell("killing the worker while the model answers")
                self.restart_worker()
            self.wait(lambda: all(each["answer"] for each in self.show_turns(session)))
        closed = self.instance.ask(
            "session", "close", session, "--inclusion", "included", "--reason", "Held to its end with a real model."
        )
        return int(opened["batch"]), closed

    def show_turns(self, session: str) -> list[dict[str, Any]]:
        turns: list[dict[str, Any]] = self.instance.ask("session", "show", session)["turns"]
        return turns

    def session_cases(self) -> int:
        """The first cases of the suite that ships, with their twins; their batch's number."""
        # The two sides of a case are consecutive lines.
        lines = SHIPPED_FILE.read_text(encoding="utf-8").splitlines()[: 2 * CASES]
        chosen = self.instance.folder / "three-cases.jsonl"
        chosen.write_text("\n".join(line.replace(SHIPPED, "three-cases") for line in lines), encoding="utf-8")
        self.instance.manage("scenario", "load", str(chosen), "--study", "real")
        batch = self.instance.ask(
            *("scenario", "launch", "--study", "real", "--suite", "three-cases", "--model", self.model.label),
            *("--pilot", "0"),
        )["batch"]
        self.wait_for_end(batch)
        # The worker stores the last plays a moment after their batch has ended.
        self.wait(lambda: "open" not in self.count_sessions(int(batch)))
        return int(batch)

    def count_sessions(self, batch: int) -> dict[str, int]:
        return {str(state): int(count) for state, count in self.instance.query(PLAYS.format(batch=batch))}

    def wait_for_end(self, batch: int) -> None:
        if not self.wait(lambda: self.ask_one(STATE, batch) in {"done", "cancelled"}):
            tell(f"batch {batch} had not ended after {PATIENCE:.0f} s\n{self.instance.read_words()}")

    def wait(self, is_so: Callable[[], object]) -> bool:
        """Wait for something, with patience; whether it came."""
        end = time.monotonic() + PATIENCE
        while not is_so():
            if time.monotonic() > end:
                return False
            time.sleep(0.5)
        return True

    def count_answered(self, batch: int) -> int:
        return int(str(self.ask_one(ANSWERED, batch)))

    def ask_one(self, sql: str, batch: int) -> object:
        return self.instance.query(sql.format(batch=batch))[0][0]

    def check_talks(self, closed: dict[str, Any], suite: int) -> list[tuple[str, bool, str]]:
        """What is promised of the interview and of the cases."""
        told = closed["questions"], closed["left_out"]
        held = ("interview: every question was answered", told == (len(QUESTIONS) + 1, 0), f"{told[0]} questions")
        states = self.count_sessions(suite)
        stored = ("suite: every session is a thread", states == {"stored": 2 * CASES}, str(states))
        report = self.instance.manage("scenario", "report", "--batch", str(suite))
        return [held, stored, ("suite: it has a report", bool(report), f"{len(report.splitlines())} lines")]

    def check(self, batches: dict[str, int]) -> list[tuple[str, bool, str]]:
        """Each promise of batches, whether it was kept, and what was found."""
        found, sob = [], batches["sob"]
        for name, batch in batches.items():
            shown = self.instance.ask("batch", "show", str(batch))
            failed = shown["states"].get("failed", 0)
            done = shown["state"] == "done"
            found.append((f"{name}: done without a person", done, f"batch {batch} is {shown['state']}"))
            found.append((f"{name}: no cell failed", failed == 0, f"{failed} of {shown['cells']} failed"))
        outcomes = ", ".join(f"{count} {outcome}" for outcome, count in self.instance.query(OUTCOMES.format(batch=sob)))
        report = self.instance.manage("sob", "report", "--batch", str(sob), "--format", "json")
        found.append(("sob: every answer has an outcome", bool(outcomes) and bool(report), outcomes))
        for command in ("batch", "audit"):
            done_by = self.instance.run(command, "verify")
            words = (done_by.stdout + done_by.stderr).strip().splitlines()
            found.append((f"{command} verify finds nothing wrong", done_by.returncode == 0, words[-1] if words else ""))
        return found


def tell(words: str) -> None:
    print(f"… {words}", file=sys.stderr, flush=True)


def main() -> int:
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    with ExitStack() as stack:
        folder = Path(tempfile.mkdtemp(prefix="auditapp-real-"))
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        real = RealModel(folder)
        stack.callback(real.instance.stop)
        tell("setting up")
        real.prepare()
        real.start_server()
        real.restart_worker()
        started = time.monotonic()
        sob = real.judge_through_an_outage()
        tell(f"sob took {time.monotonic() - started:.0f} s; annotating {TURNS} turns")
        annotation = real.annotate()
        tell(f"holding an interview of {len(QUESTIONS) + 1} questions")
        interview, closed = real.interview()
        tell(f"playing {CASES} cases and their twins")
        suite = real.session_cases()
        batches = {"sob": sob, "pre-annotation": annotation, "interview": interview, "suite": suite}
        found = [*real.check_talks(closed, suite), *real.check(batches)]
        for promise, kept, words in found:
            print(f"{'kept  ' if kept else 'BROKEN'} {promise}: {words}")
        return 0 if all(kept for _, kept, _ in found) else 1


if __name__ == "__main__":
    sys.exit(main())
