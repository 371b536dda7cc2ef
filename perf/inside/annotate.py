"""Plan a reading, read with both annotators that need no key, and open the calibration page and the panel of the desk.

Interviews are invented: words of a vocabulary in which few are frequent, and for each code six words that go with it in
four of five sentences that have it, so that codes can be learnt as far as real ones can and no further.
"""

from __future__ import annotations

import argparse
import io
import json
import random
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from itertools import accumulate

from django.core.management import call_command
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from auditapp.annotators.actions.launching import launch_model
from auditapp.annotators.actions.offline import launch_offline
from auditapp.annotators.models import Annotator, OfflineRun, Suggestion, TurnArm
from auditapp.annotators.pure.learning import fit, learn
from auditapp.annotators.queries.offline import read_lesson
from auditapp.annotators.runner.offline import make_reader, run_offline
from auditapp.llm.actions import add_model
from perf.inside.times import Times
from transcripts.accounts.models import User
from transcripts.audit_trail import trail
from transcripts.codebook.actions import start_study
from transcripts.codebook.models import Code, CodeFamily
from transcripts.codebook.queries import SENTENCE_TEXT
from transcripts.coding.models import Coding, Decision
from transcripts.corpus.actions import import_file
from transcripts.corpus.models import Sentence
from transcripts.studies.actions import set_member_role
from transcripts.studies.models import Project

SEED = 7
VOCABULARY, MARKS, TOLD_BY_WORD = 8_000, 6, 0.8
AN_ANSWER, AN_INTERVIEW = 20, 160
# A fifth of what is coded is withheld and so not learnt from.
LEARNT_SHARE = 0.8
ROWS_AT_A_TIME = 5_000
PANELS = 60


class Words:
    """Invented words, and sentences made of them."""

    def __init__(self, codes: Sequence[str]) -> None:
        self.chance = random.Random(SEED)
        letters = "abcdefghijklmnopqrstuvwxyz"
        self.words = ["".join(self.chance.choices(letters, k=self.chance.randint(2, 10))) for _ in range(VOCABULARY)]
        self.weights = list(accumulate(1 / (place + 1) for place in range(VOCABULARY)))
        self.marks = {
            code: self.words[200 + MARKS * place : 200 + MARKS * (place + 1)] for place, code in enumerate(codes)
        }

    def write(self, codes: Sequence[str]) -> str:
        """One sentence that has these codes."""
        words = self.chance.choices(self.words, cum_weights=self.weights, k=self.chance.randint(8, 27))
        for code in codes:
            if self.chance.random() < TOLD_BY_WORD:
                words.insert(self.chance.randrange(len(words)), self.chance.choice(self.marks[code]))
        return f"{' '.join(words).capitalize()}."


def prepare(sentences: int) -> tuple[Project, User, dict[int, list[Code]]]:
    """A study of so many sentences, somebody who codes, and the codes each sentence has."""
    call_command("prepare", no_demo=True, stdout=io.StringIO())
    project = start_study(slug="bench", name="Bench", by=trail.SYSTEM)
    coder = User.objects.create_user(username="coder", password=None)
    set_member_role(project=project, user=coder, role="coder", by=trail.SYSTEM)
    codes = list(Code.objects.filter(version__project=project, family__unit=CodeFamily.Unit.SENTENCE).order_by("pk"))
    words = Words([code.identifier for code in codes])
    for code in codes:
        Code.objects.filter(pk=code.pk).update(keyword_rules=words.marks[code.identifier])
    has = [words.chance.sample(codes, words.chance.choice((0, 1, 1, 2))) for _ in range(sentences)]
    import_file(project=project, name="bench.jsonl", data=_write_interviews(words, has), by=trail.SYSTEM)
    stored = Sentence.objects.filter(turn__interview__project=project, turn__role="model")
    order = stored.order_by("turn__interview", "turn__position", "start").values_list("pk", flat=True)
    return project, coder, dict(zip(order, has, strict=True))


def _write_interviews(words: Words, has: Sequence[Sequence[Code]]) -> bytes:
    lines = []
    for first in range(0, len(has), AN_INTERVIEW):
        turns = []
        for start in range(first, min(first + AN_INTERVIEW, len(has)), AN_ANSWER):
            said = [words.write([code.identifier for code in codes]) for codes in has[start : start + AN_ANSWER]]
            turns += [{"role": "interviewer", "text": "And then?"}, {"role": "model", "text": "\n".join(said)}]
        lines.append(json.dumps({"id": f"i{first}", "model": "Invented model", "turns": turns}))
    return "\n".join(lines).encode()


def code_blind(coder: User, has: dict[int, list[Code]]) -> None:
    """Every one of these sentences decided, its codes put: plain rows without audit events."""
    now = timezone.now()
    decisions = (
        Decision(sentence_id=pk, coder=coder, none_applies=not codes, idempotency_key=uuid.uuid4(), created_at=now)
        for pk, codes in has.items()
    )
    Decision.objects.bulk_create(decisions, batch_size=ROWS_AT_A_TIME)
    Coding.objects.bulk_create(_make_codings(coder, has), batch_size=ROWS_AT_A_TIME)


def _make_codings(coder: User, has: dict[int, list[Code]]) -> Iterator[Coding]:
    now = timezone.now()
    for pk, codes in has.items():
        for code in codes:
            yield Coding(sentence_id=pk, coder=coder, code=code, idempotency_key=uuid.uuid4(), created_at=now)


def measure_planning(project: Project) -> dict[str, object]:
    """A reading of everything by a model, planned and not begun."""
    add_model(label="fake", provider="fake", by=trail.SYSTEM)
    times = Times()
    with times.measure():
        batch = launch_model(project=project, name="fake", by=trail.SYSTEM)
    return {**asdict(times), "cells": batch.cells.count()}


def read_offline(project: Project, kind: str) -> tuple[OfflineRun, dict[str, object]]:
    """A whole run, with everything it stores."""
    times = Times()
    run = launch_offline(project=project, kind=kind, by=trail.SYSTEM)
    with times.measure():
        run_offline(run.pk)
    run.refresh_from_db()
    assert run.state == OfflineRun.State.DONE, run.problem
    return run, {**asdict(times), "suggestions": run.suggestions.count()}


def measure_learning(annotator: Annotator, project: Project, rounds: int) -> dict[str, object]:
    """The fit alone, the fit with what judges it, and reading alone."""
    annotator.refresh_from_db()
    found = annotator.recipe["codes"]
    lesson = read_lesson(annotator.recipe["set"]["families"])
    times = {name: Times() for name in ("fit", "judged", "read")}
    # All codes, also those that a study would not go by: fitting takes its time whatever comes of it.
    thresholds = {code: each["threshold"] or 0.2 for code, each in found.items() if each["positives"]}
    texts = _read_texts(project)
    for _ in range(rounds):
        with times["fit"].measure():
            reader = fit(lesson, thresholds)
        with times["read"].measure():
            reader.read(texts)
    with times["judged"].measure():
        learn(lesson, minimum=annotator.recipe["minimum"], seed=annotator.recipe["seed"])
    return {
        **{name: asdict(each) for name, each in times.items()},
        "codings": sum(each["positives"] for each in found.values()),
        "sentences": len(lesson.texts),
        "codes": len(thresholds),
        "read_sentences": len(texts),
    }


def measure_rules(annotator: Annotator, project: Project, rounds: int) -> dict[str, object]:
    """Reading by rules alone."""
    reader, texts, times = make_reader(annotator), _read_texts(project), Times()
    for _ in range(rounds):
        with times.measure():
            reader.read(texts)
    return {**asdict(times), "read_sentences": len(texts), "rules": sum(map(len, annotator.recipe["rules"].values()))}


def _read_texts(project: Project) -> list[str]:
    sentences = Sentence.objects.filter(turn__interview__project=project, turn__role="model")
    return list(sentences.annotate(text=SENTENCE_TEXT).values_list("text", flat=True))


def measure_calibration(annotator: Annotator, project: Project, rounds: int) -> dict[str, object]:
    """The page of an annotator, opened by somebody who does not code, when nothing changes: the first look, and later ones."""
    reader = User.objects.create_user(username="reader", password=None)
    set_member_role(project=project, user=reader, role="reader", by=trail.SYSTEM)
    client, first, later = Client(SERVER_NAME="127.0.0.1"), Times(), Times()
    client.force_login(reader)
    address = f"{reverse('evaluation:calibration', args=[project.slug])}?annotator={annotator.pk}"
    for number in range(rounds + 1):
        with (later if number else first).measure():
            answer = client.get(address)
        assert answer.status_code == 200, answer.status_code
    return {"first": asdict(first), "later": asdict(later), "kilobytes": len(answer.content) / 1000}


def measure_panels(project: Project, coder: User) -> dict[str, object]:
    """The suggestions for a sentence, shown to somebody who has decided about it."""
    client, times = Client(SERVER_NAME="127.0.0.1"), Times()
    client.force_login(coder)
    shown = TurnArm.objects.filter(arm=TurnArm.Arm.SHOWN, plan__project=project).values("turn")
    suggested = Suggestion.objects.filter(sentence__turn__in=shown).order_by("sentence_id")
    for pk in suggested.values_list("sentence_id", flat=True).distinct()[:PANELS]:
        with times.measure():
            answer = client.post(reverse("suggestions:panel", args=[project.slug, pk]))
        assert answer.status_code == 200, answer.status_code
    return asdict(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sentences", type=int, required=True)
    parser.add_argument("--codings", type=int, required=True)
    parser.add_argument("--rounds", type=int, required=True)
    given = parser.parse_args()
    project, coder, has = prepare(given.sentences)
    coded = int(given.codings / LEARNT_SHARE)
    code_blind(coder, dict(list(has.items())[:coded]))
    found: dict[str, object] = {"sentences": len(has), "planning": measure_planning(project)}
    learnt, found["learnt_run"] = read_offline(project, Annotator.Kind.LEARNT)
    found["learnt"] = measure_learning(learnt.annotator, project, given.rounds)
    by_rules, found["rules_run"] = read_offline(project, Annotator.Kind.RULES)
    found["rules"] = measure_rules(by_rules.annotator, project, given.rounds)
    code_blind(coder, dict(list(has.items())[coded:]))
    found["panel"] = measure_panels(project, coder)
    found["calibration"] = measure_calibration(by_rules.annotator, project, given.rounds * 3)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
