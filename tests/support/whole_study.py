"""A study with one of everything, and the map of the site: for tests that try every address."""

from __future__ import annotations

import io
import uuid
from collections.abc import Iterator
from typing import Any, NamedTuple

from django.urls import URLPattern, URLResolver, get_resolver, reverse
from django.utils import timezone

from auditapp.annotators.actions.annotators import add_control_sentence
from auditapp.annotators.models import Annotator, DraftInterview, OfflineRun, Suggestion, TurnAnswer
from auditapp.annotators.withholding import ensure_arms, set_withholding
from auditapp.batches.models import Arm, Attempt, Batch, Cell, ProviderJob, Result, WorkQueue
from auditapp.benchmarks.experiments.actions import draw_audit, load_enrolments, lock_plan
from auditapp.benchmarks.experiments.pure.plans import make_plan
from auditapp.benchmarks.gender_cues.actions import allow_probe, load_reviews
from auditapp.benchmarks.gender_cues.models import Trial
from auditapp.benchmarks.gender_cues.pure.reviews import check_rules
from auditapp.benchmarks.scenarios.actions.asking import record_answer
from auditapp.benchmarks.scenarios.actions.scripts import open_session, write_script
from auditapp.benchmarks.scenarios.models import Session
from auditapp.benchmarks.scenarios.pure.scripts import QuestionText, ScriptText
from auditapp.benchmarks.sob.models import Audit, AuditItem, Dataset, Judgment, Text
from auditapp.benchmarks.sob.texts.actions.tables import save_targets
from auditapp.evaluation.models import AuditedSuggestion, PositiveAudit
from auditapp.llm.models import ModelVariant, ProviderAccount
from auditapp.webhooks.actions import add_webhook
from transcripts.accounts.models import User
from transcripts.analysis.notebook.actions import write_memo
from transcripts.analysis.notebook.queries import Place
from transcripts.analysis.themes.actions import ThemeText, add_quote, create_theme
from transcripts.codebook.actions import pin_example, propose_code, start_draft
from transcripts.codebook.models import Code, CodebookVersion
from transcripts.coding.models import Coding, Decision, Link, Memo
from transcripts.corpus.actions import import_file
from transcripts.corpus.models import Sentence
from transcripts.exchange.actions.exporting import start_export
from transcripts.exchange.rows import Scope, find_export
from transcripts.jobs.models import ImportJob
from transcripts.negotiation.actions import pair_threads, write_case_sheet, write_stance
from transcripts.negotiation.models import NormativeStance, Score
from transcripts.revision.models import AnchorSentence
from transcripts.rounds.models import Round
from transcripts.studies.access import find_role
from transcripts.studies.actions import invite_user
from transcripts.studies.models import Study


class Address(NamedTuple):
    """A place of the site map: its name, and the names of what stands in it."""

    name: str
    holes: frozenset[str]


def list_addresses(
    patterns: list[URLPattern | URLResolver], space: str = "", holes: frozenset[str] = frozenset()
) -> Iterator[Address]:
    """Every address below ``patterns``."""
    for pattern in patterns:
        own = holes | set(pattern.pattern.converters)
        if isinstance(pattern, URLResolver):
            inner = f"{space}{pattern.namespace}:" if pattern.namespace else space
            yield from list_addresses(pattern.url_patterns, inner, own)
        else:
            yield Address(space + (pattern.name or "*"), own)


ADDRESSES = {address.name: address for address in list_addresses(get_resolver().url_patterns)}


class Stage(NamedTuple):
    """A study with one of everything, under the names that addresses use."""

    sentence: Sentence
    version: CodebookVersion
    things: dict[str, Any]

    def find(self, name: str, hole: str) -> object:
        """What stands in a hole of the address ``name``: some rooms and addresses have things of their own."""
        things = {**self.things, **self.things.get(name.partition(":")[0], {}), **self.things.get(name, {})}
        assert hole in things, f"{name} asks for {hole}: put one on the stage"
        return things[hole]

    def path(self, name: str, **others: object) -> str:
        """The address ``name`` in this study, with ``others`` in some of its holes."""
        return reverse(name, kwargs={hole: others.get(hole, self.find(name, hole)) for hole in ADDRESSES[name].holes})


def add_batch(study: Study, kind: str, input_id: int) -> Attempt:
    """A running batch of one call, so that it can be paused, resumed and looked into."""
    now = timezone.now()
    account, _ = ProviderAccount.objects.get_or_create(name="fake", defaults={"provider": "fake", "created_at": now})
    variant, _ = ModelVariant.objects.get_or_create(
        label=f"Fake of {study.slug}", defaults={"account": account, "model": "fake", "created_at": now}
    )
    batch = Batch.objects.create(
        study=study, kind=kind, title="A batch", created_at=now, launched_by_name="x", parameters={"texts": 1}
    )
    task = {"sob": "acceptability", "probe": "primed"}.get(kind, "themes")
    arm = Arm.objects.create(batch=batch, variant=variant, task=task, system_prompt="…", prompt_hash="0" * 64)
    cell = Cell.objects.create(batch=batch, arm=arm, input_id=input_id)
    return Attempt.objects.create(cell=cell, arm=arm, fence=1, request_id=uuid.uuid4(), runner="x", written_at=now)


def add_coding(sentence: Sentence, version: CodebookVersion, coder: User) -> Coding:
    """A coding of ``coder``'s own."""
    return Coding.objects.create(
        sentence=sentence,
        code=version.codes.all()[0],
        coder=coder,
        idempotency_key=uuid.uuid4(),
        created_at=timezone.now(),
    )


def add_decision(sentence: Sentence, coder: User) -> Decision:
    """A decision of ``coder``'s own, which she has taken back: pages show the sentence as open."""
    now = timezone.now()
    return Decision.objects.create(
        sentence=sentence,
        coder=coder,
        none_applies=False,
        idempotency_key=uuid.uuid4(),
        created_at=now,
        withdrawn_at=now,
    )


def add_memo(study: Study, author: User) -> Memo:
    """A memo of ``author``'s own on the study."""
    place = Place(Memo.Subject.STUDY)
    return write_memo(study=study, place=place, text="A note.", kind="reading", by=author, idempotency_key=uuid.uuid4())


def add_theme(study: Study, sentence: Sentence, owner: User) -> dict[str, int]:
    """A theme of one code with a quote, under the names that the addresses of themes use."""
    code = Code.objects.filter(version__study=study)[0].identifier
    version = create_theme(study=study, text=ThemeText("A theme"), codes=[code], by=owner)
    quote = add_quote(theme=version.theme, sentence=sentence, side="for", by=owner)
    return {"number": version.theme.number, "quote_id": quote.pk}


def add_cases(study: Study, owner: User) -> dict[str, str]:
    """A case sheet of the first thread and a pair with its branch, under the names that their addresses use."""
    a, b = study.interviews.get(external_id="i1"), study.interviews.get(external_id="branch")
    relevant = [{"feature": "feature.stakeholders", "reason": "Others are affected."}]
    write_case_sheet(study=study, interview=a, relevant=relevant, irrelevant=[], by=owner)
    pair = pair_threads(
        study=study, name=f"pair of {study.slug}", a=a, b=b, differs="Who asks.", expect="no_change", by=owner
    )
    return {"pair_name": pair.name}


def add_judgements(study: Study, coding: Coding, owner: User) -> dict[str, int]:
    """A normative stance, and as they are stored a score and a link, under the names that their addresses use."""
    stance = NormativeStance(study=study, name="care", statement="Nobody is worse off.", author="The team")
    write_stance(stance=stance, by=owner)
    now, key = timezone.now(), uuid.uuid4()
    end = {"kind": "revises", "sentence": coding.sentence, "idempotency_key": key}
    link = Link.objects.create(coding=coding, coder=owner, created_at=now, **end)
    interview = coding.sentence.turn.interview
    score = Score.objects.create(
        stance=stance,
        interview=interview,
        criterion="moves",
        note="x",
        coder=owner,
        idempotency_key=key,
        created_at=now,
    )
    return {"stance_id": stance.pk, "link_id": link.pk, "score_id": score.pk}


def add_session(study: Study, owner: User) -> dict[str, int]:
    """A script of interviews, and one that is recorded by it, under the names that their addresses use."""
    text = ScriptText(name="guide", use="interview", openings={"short": "Shall we talk?"})
    script = write_script(study=study, script=text, by=owner)
    session = open_session(
        study=study, script=script, opening="short", model_as_shown="Chat", surface="chat.example", by=owner
    )
    record_answer(session=session, kind="open", text="Shall we talk?", answer="Yes.", by=owner)
    return {"script_id": script.pk, "session_id": session.pk, "number": 1}


def add_provider_job(batch: Batch) -> int:
    """A job at a provider's batch service."""
    queue, _ = WorkQueue.objects.get_or_create(batch=batch, name="1:jobs")
    return ProviderJob.objects.create(queue=queue, token=uuid.uuid4(), calls=0, written_at=timezone.now()).pk


def add_job(study: Study, owner: User) -> ImportJob:
    """An import whose files were checked, so that it can be imported and cancelled."""
    now = timezone.now()
    return ImportJob.objects.create(
        study=study,
        kind="interviews",
        files=[{"name": "large.jsonl", "size": 1_000_000}],
        options={"format": "auto"},
        check_only=True,
        asked_by=owner,
        asked_by_name=owner.username,
        asked_at=now,
        touched_at=now,
        state=ImportJob.State.CHECKED,
    )


def add_export(study: Study, user: User) -> ImportJob:
    """A file that ``user`` asked for, of her own rows, which no worker has written yet."""
    codings, role = find_export("codings"), find_role(user, study)
    assert codings
    assert role
    return start_export(export=codings, scope=Scope(study, user), format="csv", exact=False, by=user, role=role)


def add_draft(study: Study, sentence: Sentence, owner: User) -> dict[str, int]:
    """A draft of the codebook with a pinned sentence, and a proposal, under the names of the codebook's addresses."""
    draft = start_draft(study=study, by=owner)
    code = draft.codes.all()[0]
    example = pin_example(version=draft, code=code, sentence=sentence, kind="include", by=owner)
    proposal = propose_code(
        study=study,
        name="Missing",
        family_identifier=code.family.identifier,
        idempotency_key=uuid.uuid4(),
        by=owner,
    )
    return {
        "number": draft.number,
        "older": draft.number - 1,
        "code_id": code.pk,
        "family_id": code.family_id,
        "example_id": example.pk,
        "proposal_id": proposal.pk,
    }


def add_answer(study: Study, attempt: Attempt) -> dict[str, int]:
    """An answer that no rule could read, a sample of it, and a second one that gives a score, under the names that the
    addresses of sob use."""
    now = timezone.now()
    dataset = Dataset.objects.create(
        study=study, name="Texts", file_name="x", sha256="0" * 64, format="x", loaded_by_name="x", loaded_at=now
    )
    text = Text.objects.create(dataset=dataset, position=1, source="x", external_id="1", text="A text.", target="women")
    Result.objects.create(cell=attempt.cell, attempt=attempt, answer="Somebody.", stored_at=now)
    judgment = Judgment.objects.create(
        cell=attempt.cell, arm=attempt.arm, text=text, outcome="off_format", parser="rules-1"
    )
    again = Cell.objects.create(batch=attempt.cell.batch, arm=attempt.arm, input_id=text.pk, repeat=2, state="done")
    Judgment.objects.create(cell=again, arm=attempt.arm, text=text, repeat=2, outcome="unknown", parser="rules-1")
    audit = Audit.objects.create(
        batch=attempt.cell.batch, number=1, scope="answers", size=1, seed=1, frame=1, made_by_name="x", made_at=now
    )
    item = AuditItem.objects.create(
        audit=audit, position=1, judgment=judgment, reader="rules", outcome="off_format", n_attributes=0
    )
    return {
        "dataset_id": dataset.pk,
        "text_id": text.pk,
        "cell_id": judgment.pk,
        "audit_id": audit.pk,
        "item_id": item.pk,
    }


def add_probe(study: Study, owner: User) -> dict[str, object]:
    """The probe allowed, one review kept of two, and an answer about it, under the names that the addresses of the probe use."""
    allow_probe(study=study, text="To try every address.", by=owner)
    rules = {"name": "all", "steps": [{"name": "two words", "rule": "length", "unit": "words", "at_least": 2}]}
    reviews = load_reviews(
        study=study,
        name="Reviews",
        file=io.BytesIO(b"text,category\nInvented words.,woman\nShort,man\n"),
        rules=check_rules(rules),
        category_method="invented",
        source="invented",
        seed=1,
        by=owner,
    )
    review = reviews.reviews.get()
    attempt = add_batch(study, "probe", review.pk)
    batch = attempt.cell.batch
    Batch.objects.filter(pk=batch.pk).update(parameters={"reviews": reviews.pk, "texts": {"primed": 1}})
    Trial.objects.create(
        cell=attempt.cell, review=review, status="ok", predicted="woman", codes=["Emotion"], parser="probe-1"
    )
    return {"batch_id": batch.pk, "set_id": reviews.pk, "what": "table1", "format": "csv"}


def add_run(study: Study, owner: User) -> dict[str, object]:
    """A suite of one case and a batch whose play of it failed, under the names that the addresses of scenarios use."""
    turn = QuestionText(kind="open", text="Who goes first?")
    script = write_script(
        study=study,
        script=ScriptText(name="case", use="scenario", suite="A suite", questions=(turn,)),
        by=owner,
    )
    attempt = add_batch(study, "scenario", script.questions.get().pk)
    # A cancelled batch hides nothing from those who may code: no thread will come of it.
    Batch.objects.filter(pk=attempt.cell.batch_id).update(
        parameters={"suite": "A suite", "scripts": [script.pk]}, state=Batch.State.CANCELLED
    )
    Session.objects.create(
        study=study,
        script=script,
        arm=attempt.arm,
        mode=Session.Mode.RUN,
        state=Session.State.FAILED,
        label="A session",
        opened_at=timezone.now(),
        opened_by_name="x",
    )
    return {"batch_id": attempt.cell.batch_id, "what": "retention", "format": "csv"}


def add_positive_audit(suggestion: Suggestion) -> dict[str, int]:
    """An audit of one suggestion, under the names that the addresses of audits use."""
    audit = PositiveAudit.objects.create(
        annotator=suggestion.annotator, seed=1, made_at=timezone.now(), made_by_name="x"
    )
    item = AuditedSuggestion.objects.create(audit=audit, suggestion=suggestion, position=1, population=1)
    return {"audit_id": audit.pk, "item_id": item.pk}


def add_reading(suggestion: Suggestion, owner: User) -> DraftInterview:
    """What stands around a suggestion that people are shown: its answer, no withholding; and a draft that is closed."""
    cell, sentence, annotator = suggestion.cell, suggestion.sentence, suggestion.annotator
    assert cell is not None
    now, told = timezone.now(), {"annotator": annotator.pk, "codes": [suggestion.code.identifier]}
    Cell.objects.filter(pk=cell.pk).update(input_id=sentence.turn_id)
    Arm.objects.filter(pk=cell.arm_id).update(settings=told)
    TurnAnswer.objects.create(cell=cell, annotator=annotator, outcome="valid", accepted=1, asked=[sentence.pk])
    set_withholding(study=annotator.study, share_percent=0, reason="x", by=owner)
    ensure_arms(study=annotator.study, interviews=[sentence.turn.interview_id], by=owner)
    return DraftInterview.objects.create(
        interview=sentence.turn.interview, reason="x", opened_at=now, opened_by_name="x", closed_at=now
    )


def add_experiment(study: Study, owner: User) -> dict[str, object]:
    plan = {"outcome": "asked", "baseline": "old", "variant": "new", "allocation": {"old": 1, "new": 1}}
    experiment = lock_plan(study=study, plan=make_plan(plan), name="asking", by=owner)
    load_enrolments(experiment=experiment, data=b"unit,arm,outcome\nu1,old,0\nu2,new,1\n", by=owner)
    draw_audit(experiment=experiment, per_arm=1, seed=1, by=owner)
    return {"experiment_id": experiment.pk}


def set_stage(study: Study, owner: User, member: User) -> Stage:
    lines = (
        '{"id": "i1", "turns": [{"role": "model", "text": "It depends. Ask first."}]}\n'
        '{"id": "branch", "relation": "branch", "hangs_on": {"id": "i1", "turn": 1},'
        ' "turns": [{"role": "model", "text": "Or not."}]}'
    )
    import_file(study=study, name=f"{study.slug}.jsonl", data=lines.encode(), by=owner)
    sentence = Sentence.objects.filter(turn__interview__study=study).select_related("turn")[0]
    version = CodebookVersion.objects.filter(study=study).prefetch_related("codes")[0]
    # First, for lists of batches begin with the newest, and crawlers follow a few of each kind.
    probe, scenarios = add_probe(study, owner), add_run(study, owner)
    read, judged = (add_batch(study, kind, sentence.pk) for kind in ("preannotation", "sob"))
    annotator = Annotator.objects.create(
        study=study, name="Fake", variant=read.cell.arm.variant, version=version, created_at=timezone.now()
    )
    suggestion = Suggestion.objects.create(
        annotator=annotator, cell=read.cell, sentence=sentence, code=version.codes.all()[0]
    )
    draft = add_reading(suggestion, owner)
    # Without assignments, so that everybody may code everything.
    Round.objects.create(study=study, number=1, name="First", opened_at=timezone.now(), opened_by_name="x")
    anchor = AnchorSentence.objects.create(study=study, sentence=sentence, added_at=timezone.now(), added_by_name="x")
    coding = add_coding(sentence, version, owner)
    held = add_session(study, owner)
    experiment = add_experiment(study, owner)
    things = {
        "slug": study.slug,
        "user_id": member.pk,
        "invitation_id": invite_user(study=study, username="somebody", role="reader", by=owner).pk,
        "number": version.number,
        "older": version.number,
        "anchor_id": anchor.pk,
        "interview_id": sentence.turn.interview_id,
        "other_id": study.interviews.get(external_id="branch").pk,
        "file_id": sentence.turn.interview.imported_file_id,
        "sentence_id": sentence.pk,
        "batch_id": read.cell.batch_id,
        "attempt_id": read.pk,
        "suggestion_id": suggestion.pk,
        "variant_id": annotator.variant_id,
        "annotator_id": annotator.pk,
        "control_id": add_control_sentence(study=study, text="Nobody said this.", codes=[], by=owner).pk,
        "run_id": OfflineRun.objects.create(annotator=annotator, created_at=timezone.now(), launched_by_name="x").pk,
        "draft_id": draft.pk,
        "own_coding": coding,
        "coding_id": coding.pk,
        "decision_id": add_decision(sentence, owner).pk,
        "idempotency_key": coding.idempotency_key.hex,
        "what": "codebook",
        "format": "csv",
        "codebook": add_draft(study, sentence, owner),
        "sob": {
            **add_answer(study, judged),
            "batch_id": judged.cell.batch_id,
            "number": save_targets(study=study, rows=[{"raw": "x", "target": "y"}], reason="x", by=owner).number,
            "wording": "paper",
            "mapping": "published",
            "what": "cells",
        },
        "batches:end_job": {"job_id": add_provider_job(read.cell.batch)},
        "api:end_job": {"job_id": add_provider_job(judged.cell.batch)},
        "gender_cues": probe,
        "api:sob_comparison": {"other_id": judged.cell.batch_id},
        "api": {"batch_id": judged.cell.batch_id, "session_id": held["session_id"], **experiment},
        "api:probe_report": probe,
        "api:scenario_report": scenarios,
        "evaluation": add_positive_audit(suggestion),
        "scenarios": {**held, **scenarios},
        "themes": add_theme(study, sentence, owner),
        "experiments": experiment,
        **add_cases(study, owner),
        **add_judgements(study, coding, owner),
        "memo_id": add_memo(study, owner).pk,
        "webhook_id": add_webhook(
            study=study, address=f"https://{study.slug}.example.org/", events=["batch.ended"], by=owner
        )[0].pk,
        "resource": "codings",
        "job_id": add_job(study, owner).pk,
        "export_id": add_export(study, owner).pk,
    }
    return Stage(sentence, version, things)
