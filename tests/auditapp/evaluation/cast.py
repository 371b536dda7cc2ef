"""Annotators that read, people who decided blind, and turns that are withheld: rows as the actions leave them, quickly made.

A study whose interviews hold one word for each of four themes, and models known beforehand that are asked about it.

Suggestions with and without a critic's word, and audits of them.

Everything that people made, as one number: what no machine may ever change."""

import hashlib
import json
import uuid
from collections import Counter
from uuid import uuid4

from django.apps import apps
from django.utils import timezone

from auditapp.annotators.models import (
    Annotator,
    OfflineAnswer,
    OfflineRun,
    Suggestion,
    TurnAnswer,
    TurnArm,
    WithholdingPlan,
)
from auditapp.batches.kinds import Answered, get_kind
from auditapp.batches.ledger.prompts import hash_prompt
from auditapp.batches.models import Arm, Attempt, Batch, Cell, Result
from auditapp.evaluation.actions import launch_critic
from auditapp.evaluation.runner import CriticKind
from auditapp.llm.actions import add_model
from auditapp.llm.models import ModelVariant, ProviderAccount
from auditapp.suggestions.models import Response
from tests.auditapp.suggestions.cast import REASON, ask
from tests.support.biased_models import KNOWN, pretend
from tests.support.obedient_model import obey
from transcripts.audit_trail import trail
from transcripts.blinding.actions import unblind_interview
from transcripts.codebook.models import Code, CodebookVersion
from transcripts.coding.models import Blinding, Coding, Decision
from transcripts.corpus.actions import import_file
from transcripts.corpus.models import Interview, Sentence

BALANCE, COMPASSION = "theme.balance", "theme.compassion"
THEMES = (BALANCE, COMPASSION)


def bring_in(study, owner, *, interviews=1, turns=3, sentences=3):
    """So many interviews; what the model says in them, sentence by sentence."""
    lines = []
    for number in range(interviews):
        said = [
            {"role": "model", "text": " ".join(f"Word {number} {turn} {place} stands." for place in range(sentences))}
            for turn in range(turns)
        ]
        lines.append(json.dumps({"id": f"c{number}", "model": "Model A", "title": f"Talk {number}", "turns": said}))
    import_file(study=study, name="talks.jsonl", data="\n".join(lines).encode(), by=owner)
    rows = Sentence.objects.filter(turn__interview__study=study, turn__interview__external_id__startswith="c")
    return list(rows.select_related("turn__interview").order_by("turn__interview", "turn__position", "start"))


def make_annotator(study, name="reader", **fields):
    now = timezone.now()
    account, _ = ProviderAccount.objects.get_or_create(name="fake", defaults={"provider": "fake", "created_at": now})
    variant, _ = ModelVariant.objects.get_or_create(
        label=name, defaults={"account": account, "model": "fake", "created_at": now}
    )
    kind = fields.get("kind", Annotator.Kind.MODEL)
    row = {
        "variant": variant if kind == Annotator.Kind.MODEL else None,
        "version": CodebookVersion.objects.get(study=study, number=1),
        "hash": (name.encode().hex() * 64)[:64],
        "created_at": now,
    }
    return Annotator.objects.create(study=study, name=name, **(row | fields))


def read(annotator, sentences, labels, *, codes=THEMES, missing=(), is_old=False, outcome="valid"):
    """A batch in which the annotator read these sentences for ``codes``. ``labels``: codes by the number of a sentence.

    ``is_old``: kept as before answers said what they were asked about.
    """
    assert annotator.variant is not None
    batch = Batch.objects.create(
        study=annotator.study, kind="preannotation", title="Read", created_at=timezone.now(), launched_by_name="x"
    )
    arm = Arm.objects.create(
        batch=batch,
        variant=annotator.variant,
        task="themes",
        system_prompt="…",
        prompt_hash="0" * 64,
        settings={} if is_old else {"codes": list(codes), "family": "themes"},
    )
    turns = {}
    for sentence in sentences:
        turns.setdefault(sentence.turn_id, []).append(sentence.pk)
    known = {code.identifier: code for code in Code.objects.filter(version=annotator.version)}
    made = []
    for turn, asked in turns.items():
        cell = Cell.objects.create(batch=batch, arm=arm, input_id=turn, state="done")
        TurnAnswer.objects.create(
            cell=cell,
            annotator=annotator,
            outcome=outcome,
            asked=[] if is_old else asked,
            missing=[pk for pk in asked if pk in missing],
        )
        made += [
            Suggestion(annotator=annotator, cell=cell, sentence_id=pk, code=known[code], rationale="Its reason.")
            for pk in asked
            for code in labels.get(pk, ())
        ]
    return Suggestion.objects.bulk_create(made)


def read_offline(annotator, sentences, labels):
    run = OfflineRun.objects.create(annotator=annotator, created_at=timezone.now(), launched_by_name="x")
    known = {code.identifier: code for code in Code.objects.filter(version=annotator.version)}
    by_interview = {}
    for sentence in sentences:
        by_interview.setdefault(sentence.turn.interview_id, []).append(sentence.pk)
    for interview, read_here in by_interview.items():
        OfflineAnswer.objects.create(run=run, interview_id=interview, sentences=read_here, read_at=timezone.now())
    Suggestion.objects.bulk_create(
        Suggestion(annotator=annotator, run=run, sentence_id=pk, code=known[code])
        for pk, codes in labels.items()
        for code in codes
    )


def decide_all(coder, sentences, labels, *, blinding=Blinding.BLIND):
    """``coder`` is through with these sentences, and put these codes."""
    now, study = timezone.now(), sentences[0].turn.interview.study_id
    known = {code.identifier: code for code in Code.objects.filter(version__study=study, version__number=1)}
    Decision.objects.bulk_create(
        Decision(
            sentence=sentence,
            coder=coder,
            blinding=blinding,
            none_applies=sentence.pk not in labels,
            idempotency_key=uuid4(),
            created_at=now,
        )
        for sentence in sentences
    )
    Coding.objects.bulk_create(
        Coding(
            sentence_id=pk, code=known[code], coder=coder, blinding=blinding, idempotency_key=uuid4(), created_at=now
        )
        for pk, codes in labels.items()
        for code in codes
    )


def withhold(study, sentences, withheld, *, share=0.5):
    """Draw the turns of these sentences; those in ``withheld`` never show suggestions."""
    plan = WithholdingPlan.objects.create(study=study, number=1, seed=1, made_at=timezone.now(), made_by_name="x")
    TurnArm.objects.bulk_create(
        TurnArm(turn_id=turn, plan=plan, arm="withheld" if turn in withheld else "shown", probability=share)
        for turn in sorted({sentence.turn_id for sentence in sentences})
    )


WORDS = [*KNOWN, "nothing"]
PER_TURN = 5


def write_interview(name, *, turns, last=""):
    """An interview of so many answers of five sentences: one for each of four themes, and one for none. ``last`` stands
    at the end of every answer."""
    said = []
    for number in range(turns):
        told = " ".join([*(f"Sentence {number} speaks of {word} here." for word in WORDS), last]).strip()
        said += [{"role": "interviewer", "text": "And then?"}, {"role": "model", "text": told}]
    return {"id": name, "title": name, "model": "Model B", "turns": said}


def bring_in_one(study, by, *, turns=20, name="marked", last=""):
    """Such an interview in a study."""
    line = json.dumps(write_interview(name, turns=turns, last=last))
    import_file(study=study, name=f"{name}.jsonl", data=line.encode(), by=by)
    return Interview.objects.get(study=study, external_id=name)


def answer_all(batch, part):
    """Let a model of ``tests.support.biased_models``, or the one that obeys, answer every call of a batch, as a worker would store
    it."""
    kind, calls = get_kind(batch.kind), Counter[str]()
    arms = {arm.pk: arm for arm in batch.arms.select_related("variant__account")}
    answered = []
    for cell in Cell.objects.filter(batch=batch, state=Cell.State.PLANNED).order_by("pk"):
        arm = arms[cell.arm_id]
        prompt = kind.write_prompts(arm, [cell.input_id]).get(cell.input_id)
        if not isinstance(prompt, str):
            continue
        key = hash_prompt(arm.system_prompt + prompt)
        calls[key] += 1
        words = _say(part, arm.system_prompt, prompt, calls[key])
        answered.append(Answered(cell.pk, cell.arm_id, cell.input_id, words, "stop", ""))
        _keep_call(cell, words)
    outcomes = kind.store_answers(batch, answered)
    for cell_id, outcome in outcomes.items():
        Cell.objects.filter(pk=cell_id).update(state=Cell.State.DONE, outcome=outcome)
    Batch.objects.filter(pk=batch.pk).update(state=Batch.State.DONE, finished_at=timezone.now())
    batch.refresh_from_db()


def _say(part, instructions, prompt, time):
    return obey(instructions, prompt).words if part == "obeying" else pretend(part, instructions, prompt, time)


def _keep_call(cell, words):
    now = timezone.now()
    attempt = Attempt.objects.create(
        cell=cell,
        arm=cell.arm,
        fence=1,
        request_id=uuid.uuid4(),
        runner="x",
        written_at=now,
        done_at=now,
        end=Attempt.End.ANSWERED,
    )
    Result.objects.create(cell=cell, attempt=attempt, answer=words, stored_at=now)


def list_sentences(interview):
    """The sentences the model says, in order."""
    rows = Sentence.objects.filter(turn__interview=interview, turn__role="model", retired_by__isnull=True)
    return list(rows.select_related("turn__interview").order_by("position"))


def suggest(annotator, codes, *, rationale=REASON):
    """One answer for each turn of these sentences, that proposes these codes and says of the rest that none applies."""
    found = []
    for turn_id in sorted({sentence.turn_id for sentence in codes}):
        own = {sentence: named for sentence, named in codes.items() if sentence.turn_id == turn_id}
        first = next(iter(own))
        cell = ask(annotator, first)
        Cell.objects.filter(pk=cell.pk).update(state=Cell.State.DONE)
        asked = list(first.turn.sentences.order_by("pk").values_list("pk", flat=True))
        TurnAnswer.objects.create(cell=cell, annotator=annotator, outcome="valid", asked=asked)
        found += [
            Suggestion.objects.create(
                annotator=annotator,
                cell=cell,
                sentence=sentence,
                code=Code.objects.get(version=annotator.version, identifier=code),
                rationale=rationale,
                quote_start=sentence.start,
                quote_end=sentence.start + 5,
            )
            for sentence, named in own.items()
            for code in named
        ]
    return found


def add_critic(label="critic", **more):
    return add_model(label=label, **{"provider": "fake", "by": trail.SYSTEM, **more})


def launch(annotator, critic, **more):
    return launch_critic(annotator=annotator, critic=critic, by=trail.SYSTEM, **more)


def answer(batch, answers):
    """Store what the critic said of suggestions, by their numbers; the outcome of each."""
    cells = {cell.input_id: cell for cell in batch.cells.all()}
    said = [Answered(cells[key].pk, cells[key].arm_id, key, text, "stop", "") for key, text in answers.items()]
    outcomes = CriticKind().store_answers(batch, said)
    return {cell.input_id: outcomes[cell.pk] for cell in cells.values() if cell.pk in outcomes}


def judge(annotator, verdicts, *, critic=None):
    """Have a critic come to these verdicts, "uphold" or "reverse"."""
    batch = launch(annotator, critic or add_critic(), again=True)
    answer(batch, {each.pk: json.dumps({"rationale": "So.", "verdict": word}) for each, word in verdicts.items()})
    return batch


def open_to(study, interview, user):
    unblind_interview(study=study, interview=interview, by=user, where="test")


# Machines leave events of their own there.
HISTORY = "audit_trail"


def hash_human():
    """SHA-256 of all rows of the human half, and of what people answered to suggestions; without the history."""
    human = [model for model in apps.get_models() if model.__module__.startswith("transcripts.")]
    models = [*(model for model in human if model._meta.app_label != HISTORY), Response]
    rows = {model._meta.label: list(model._default_manager.order_by("pk").values()) for model in models}
    return hashlib.sha256(json.dumps(rows, default=str, sort_keys=True).encode()).hexdigest()
