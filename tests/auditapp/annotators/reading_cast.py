"""A study to be read by models: several interviews, models on and off the site, and codebooks that move on."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from auditapp.llm.actions import add_model
from auditapp.llm.models import ModelVariant
from transcripts.accounts.models import User
from transcripts.audit_trail import trail
from transcripts.codebook.actions import edit_code, pin_example, publish_version, start_draft
from transcripts.codebook.models import Code, CodebookVersion
from transcripts.codebook.queries import read_content
from transcripts.corpus.actions import import_file
from transcripts.corpus.consent import record_consent
from transcripts.corpus.models import Interview, Sentence
from transcripts.studies.models import Study

OFF_SITE = {"provider": "openai_compatible", "base_url": "https://models.example/v1", "model": "gamma-3"}


def add_interviews(study: Study, *names: str, answers: int = 2, model: str = "Model A") -> list[Interview]:
    """Interviews of so many answers, two sentences each."""
    turns: list[dict[str, str]] = []
    for number in range(answers):
        turns.append({"role": "interviewer", "text": f"What of topic {number}?"})
        turns.append({"role": "model", "text": f"I would ask about topic {number} first. Then I would listen."})
    lines = [json.dumps({"id": name, "model": model, "title": f"Talk {name}", "turns": turns}) for name in names]
    import_file(study=study, name=f"{names[0]}.jsonl", data="\n".join(lines).encode(), by=trail.SYSTEM)
    return list(Interview.objects.filter(study=study, external_id__in=names).order_by("pk"))


def add_reader(label: str = "reader", **more: Any) -> ModelVariant:
    """A model of this site; with ``OFF_SITE`` another's."""
    return add_model(label=label, by=trail.SYSTEM, **({"provider": "fake"} | more))


def allow(study: Study, *interviews: Interview, is_given: bool = True) -> None:
    """Put on record whether these interviews may be sent to models off the site."""
    record_consent(
        study=study, interviews=interviews, scope="external", is_given=is_given, basis="Form", by=trail.SYSTEM
    )


def publish_next(
    study: Study, by: User, *, definition: str = "", example: Sentence | None = None, code: str = "theme.balance"
) -> CodebookVersion:
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
