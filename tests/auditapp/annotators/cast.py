"""Paid calls as the ledger keeps them, and the same calls with other answers.

A study to be read by models: several interviews, models on and off the site, and codebooks that move on.

Questions about turns and what is answered to them, as the engine hands both to the kind.

An interview whose questions a model has read for challenges: rows as the other rooms leave them.

A study with interviews coded blind, of which something can be learnt. All of our own making."""

import json
import uuid
from dataclasses import replace

from django.db.models import F
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from auditapp.annotators.actions.launching import launch_model
from auditapp.annotators.models import Annotator, Suggestion
from auditapp.annotators.runner import PreannotationKind
from auditapp.batches.kinds import Answered
from auditapp.batches.models import Attempt, Batch, Cell, Result
from auditapp.batches.pages import progress
from auditapp.llm.actions import add_model
from auditapp.llm.models import ModelVariant
from tests.support.obedient_model import MATERIAL
from transcripts.accounts.actions import create_token
from transcripts.accounts.models import Scope
from transcripts.audit_trail import trail
from transcripts.codebook.actions import edit_code, pin_example, publish_version, start_draft
from transcripts.codebook.models import Code
from transcripts.codebook.queries import read_content
from transcripts.coding.models import Coding, Decision
from transcripts.corpus.actions import import_file
from transcripts.corpus.consent import record_consent, save_redaction
from transcripts.corpus.models import Interview, Sentence, Turn
from transcripts.corpus.pure.redacting import Entry


def answer_all(batch):
    """Every call of the batch answered with the same short words."""
    now = timezone.now()
    made = []
    for number, cell in enumerate(batch.cells.order_by("pk"), start=1):
        attempt = Attempt.objects.create(
            cell=cell,
            arm=cell.arm,
            fence=1,
            request_id=uuid.uuid4(),
            runner="x",
            written_at=now,
            sent_at=now,
            done_at=now,
            end=Attempt.End.ANSWERED,
            http_status=200,
            tokens_in=100 + number,
            tokens_out=10,
            cost_nano=1_000,
            raw="Nothing here.",
            request_hash="0" * 64,
        )
        Result.objects.create(cell=cell, attempt=attempt, answer="Nothing here.", stored_at=now)
        Cell.objects.filter(pk=cell.pk).update(answer_number=number)
        made.append(attempt)
    batch.cells.update(state=Cell.State.DONE, outcome="valid", fence=1)
    Batch.objects.filter(pk=batch.pk).update(state=Batch.State.DONE, finished_at=now, spent_nano=1_000 * len(made))
    return made


def say_otherwise(study):
    """The same calls, had the machine said more in all of them."""
    attempts = Attempt.objects.filter(cell__batch__study=study)
    attempts.update(
        tokens_out=F("tokens_out") + 77,
        cost_nano=F("cost_nano") + 7_000,
        raw="theme.balance",
        done_at=F("written_at"),
        finish_reason="length",
    )
    Cell.objects.filter(batch__study=study).update(outcome="partial")
    Result.objects.filter(cell__batch__study=study).update(answer="theme.balance")
    Batch.objects.filter(study=study).update(spent_nano=F("spent_nano") + 7_000)
    progress._watched.clear()


OFF_SITE = {"provider": "openai_compatible", "base_url": "https://models.example/v1", "model": "gamma-3"}


def add_interviews(study, *names, answers=2, model="Model A"):
    """Interviews of so many answers, two sentences each."""
    turns = []
    for number in range(answers):
        turns.append({"role": "interviewer", "text": f"What of topic {number}?"})
        turns.append({"role": "model", "text": f"I would ask about topic {number} first. Then I would listen."})
    lines = [json.dumps({"id": name, "model": model, "title": f"Talk {name}", "turns": turns}) for name in names]
    import_file(study=study, name=f"{names[0]}.jsonl", data="\n".join(lines).encode(), by=trail.SYSTEM)
    return list(Interview.objects.filter(study=study, external_id__in=names).order_by("pk"))


def add_reader(label="reader", **more):
    """A model of this site; with ``OFF_SITE`` another's."""
    return add_model(label=label, by=trail.SYSTEM, **({"provider": "fake"} | more))


def allow(study, *interviews, is_given=True):
    """Put on record whether these interviews may be sent to models off the site."""
    record_consent(
        study=study, interviews=interviews, scope="external", is_given=is_given, basis="Form", by=trail.SYSTEM
    )


def publish_next(study, by, *, definition="", example=None, code="theme.balance"):
    """The next version of the codebook: one code defined otherwise for machines, or with a pinned sentence."""
    draft = start_draft(study=study, by=by)
    row = Code.objects.select_related("version__study", "family").get(version=draft, identifier=code)
    if definition:
        content = next(each for each in read_content(draft).codes if each.identifier == code)
        given = replace(content, machine_definition=definition)
        edit_code(code=row, revision=row.revision, given=given, effect="narrowing", reason="To test.", by=by)
    if example is not None:
        pin_example(version=draft, code=row, sentence=example, kind="include", by=by)
    publish_version(version=draft, by=by)
    return draft


KIND = PreannotationKind()


def cell_of(arm, sentence):
    return Cell.objects.get(arm=arm, input_id=sentence.turn_id)


def store(arm, sentence, answer, finish_reason="stop"):
    cell = cell_of(arm, sentence)
    answered = Answered(cell.pk, arm.pk, cell.input_id, answer, finish_reason, "")
    return KIND.store_answers(arm.batch, [answered])[cell.pk]


def standing(turn):
    return list(Sentence.objects.select_related("turn").filter(turn=turn, retired_by__isnull=True).order_by("start"))


def say(sentences, **codings):
    """An answer with an entry for every sentence; ``of_0`` names the codings of the first."""
    entries = [{"sentence": each.pk, "codings": codings.get(f"of_{place}", [])} for place, each in enumerate(sentences)]
    return json.dumps({"sentences": entries})


def coding(quote, code="theme.balance", **more):
    return {"rationale": "It weighs.", "quote": quote, "code": code, **more}


def read_material(message):
    found = MATERIAL.fullmatch(message)
    assert found is not None
    return json.loads(found[2])


def redact(study, *pairs):
    """A list of the study's, its number one above the last."""
    entries = [Entry(*pair) for pair in pairs]
    return save_redaction(study=study, entries=entries, reason="To test.", by=trail.SYSTEM, based_on=0)


def import_answer(study, text, name="own"):
    """An interview of one question and one answer."""
    turns = [{"role": "interviewer", "text": "What did Anna say?"}, {"role": "model", "text": text}]
    line = json.dumps({"id": name, "title": name, "turns": turns})
    import_file(study=study, name=f"{name}.jsonl", data=line.encode(), by=trail.SYSTEM)
    return Turn.objects.get(interview__study=study, interview__external_id=name, role="model")


PROBE, FACT = "challenge.probe", "challenge.new_fact"
# The last turn has no answer.
TURNS = [
    ("interviewer", "How would you help her? She asks for a raise."),
    ("model", "I would appeal first. Then I would wait."),
    ("interviewer", "Her manager has left. Does that change it?"),
    ("model", "Then I take it back. Ask the new one."),
    ("interviewer", "Are you sure?"),
]


def bring_in(study, name="talk", turns=TURNS):
    """An interview, as the sentences of each of its turns."""
    said = [{"role": role, "text": text} for role, text in turns]
    line = json.dumps({"id": name, "title": f"Talk {name}", "turns": said})
    import_file(study=study, name=f"{name}.jsonl", data=line.encode(), by=trail.SYSTEM)
    rows = Turn.objects.filter(interview__study=study, interview__external_id=name).order_by("position")
    return [standing(turn) for turn in rows.select_related("interview")]


def find_reader():
    return ModelVariant.objects.filter(label="reader").first() or add_reader()


def launch(study, by, *families):
    """Without what is asked a second time."""
    return launch_model(study=study, variant=find_reader(), families=families or ["challenges"], by=by)


def find_arm(batch, family="challenges"):
    return batch.arms.get(settings__condition="", settings__family=family)


def read_calibration(who):
    """The families of the only annotator's calibration, as a program of ``who`` reads them from the API."""
    _, token = create_token(user=who, name="figures", by=who, scopes=Scope.values)
    annotator = Annotator.objects.select_related("study").get()
    path = reverse("api:calibration", args=[annotator.study.slug, annotator.pk])
    found = Client(headers={"Authorization": f"Bearer {token}"}).get(path).json()
    return list(found["families"])


def answer(arm, question, found):
    """The model finds these challenges in the turn, each with words of it."""
    codings = [coding(quote, code) for code, quote in found.items()]
    store(arm, question[0], json.dumps({"sentences": [{"sentence": question[0].pk, "codings": codings}]}))
    made = Suggestion.objects.filter(cell=cell_of(arm, question[0])).select_related("code", "sentence")
    return {each.code.identifier: each for each in made}


TAUGHT, OTHER = "theme.balance", "theme.compassion"
# Every third answer weighs one thing against another.
WEIGHS = "On balance I weigh both sides of question %d."
NOT = "The weather of day %d is fine."


def add_interviews_to_teach(study, by, *, number=5, turns=24, first=0):
    """Interviews of so many answers, each of one sentence."""
    names = [f"t{place}" for place in range(first, first + number)]
    lines = [
        json.dumps(
            {
                "id": name,
                "model": "Model A",
                "turns": [
                    {"role": "model", "text": (WEIGHS if turn % 3 == 0 else NOT) % turn} for turn in range(turns)
                ],
            }
        )
        for name in names
    ]
    import_file(study=study, name=f"taught-{first}.jsonl", data="\n".join(lines).encode(), by=by)
    return list(Interview.objects.filter(study=study, external_id__in=names).order_by("pk"))


def list_sentences(interviews):
    sentences = Sentence.objects.filter(turn__interview__in=interviews).select_related("turn")
    return list(sentences.order_by("turn__interview", "position"))


def code_blind(study, coder, interviews, *, turned=False):
    """Every sentence decided; those that weigh have the code, or with ``turned`` the others."""
    code, now = Code.objects.get(version__study=study, identifier=TAUGHT), timezone.now()
    codings, decisions = [], []
    for sentence in list_sentences(interviews):
        has = ("balance" in sentence.turn.text) != turned
        common = {"sentence": sentence, "coder": coder, "created_at": now}
        decisions.append(Decision(**common, none_applies=not has, idempotency_key=uuid.uuid4()))
        if has:
            codings.append(Coding(**common, code=code, idempotency_key=uuid.uuid4()))
    Coding.objects.bulk_create(codings)
    Decision.objects.bulk_create(decisions)


def set_rules(study, **rules):
    """Keyword rules of themes, and no others, as if the codebook had been published with them."""
    Code.objects.filter(version__study=study).update(keyword_rules=[])
    for name, lines in rules.items():
        Code.objects.filter(version__study=study, identifier=f"theme.{name}").update(keyword_rules=lines)
