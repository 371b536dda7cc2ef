"""What is written again: each such history, and how a test writes its next number."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any, NamedTuple

from django.utils import timezone

from auditapp.benchmarks.gender_cues.actions import allow_probe
from auditapp.benchmarks.gender_cues.models import Purpose
from auditapp.benchmarks.scenarios.actions.scripts import write_script
from auditapp.benchmarks.scenarios.models import Script
from auditapp.benchmarks.scenarios.pure.scripts import ScriptText
from auditapp.benchmarks.sob.models import MappingTable, TargetTable
from auditapp.benchmarks.sob.texts.actions.tables import save_mapping, save_targets
from auditapp.llm.actions import set_capabilities, set_price
from auditapp.llm.grants import set_grant
from auditapp.llm.models import Capabilities, Grant, ModelVariant, Price, ProviderAccount
from tests.transcripts.rounds.cast import bring_in
from transcripts.accounts.models import User
from transcripts.analysis.models import Theme, ThemeVersion
from transcripts.analysis.themes.actions import ThemeText, create_theme, revise_theme
from transcripts.audit_trail import trail
from transcripts.corpus.consent import save_redaction
from transcripts.corpus.models import Interview, RedactionList
from transcripts.corpus.pure.redacting import Entry
from transcripts.negotiation.actions import pair_threads, write_case_sheet, write_stance
from transcripts.negotiation.models import CaseSheet, NormativeStance, Pair
from transcripts.studies.models import Membership, Study


class History(NamedTuple):
    """``write`` stores the wording of that number, from 1, for somebody who saw ``based_on``, unless nobody ``looks`` first."""

    model: Any
    write: Callable[..., Any]
    looks: bool = True


def write_stance_again(study: Study, by: User, wording: int, *, based_on: Any, reason: str) -> NormativeStance:
    statement = f"Nobody is left worse off, {wording}."
    stance = NormativeStance(study=study, name="care", statement=statement, author="The team", reason=reason)
    return write_stance(stance=stance, by=by, based_on=based_on)


def write_script_again(study: Study, by: User, wording: int, *, based_on: Any, reason: str) -> Script:
    script = ScriptText(name="identity", use="interview", openings={"plain": "Let us talk."}, max_questions=wording)
    return write_script(study=study, script=script, by=by, based_on=based_on, reason=reason)


def write_targets_again(study: Study, by: User, wording: int, *, based_on: Any, reason: str) -> TargetTable:
    rows = [{"raw": "elves", "target": f"elf {wording}"}]
    return save_targets(study=study, rows=rows, by=by, based_on=based_on, reason=reason)


def write_mapping_again(study: Study, by: User, wording: int, *, based_on: Any, reason: str) -> MappingTable:
    rows = {"women": {"self": ["woman", f"girl {wording}"], "dominant": ["man"]}}
    return save_mapping(study=study, rows=rows, by=by, based_on=based_on, reason=reason)[0]


def write_sheet_again(study: Study, by: User, wording: int, *, based_on: Any, reason: str) -> CaseSheet:
    return write_case_sheet(
        study=study,
        interview=find_threads(study, by)[0],
        relevant=[{"feature": "feature.power", "reason": f"Power decides, {wording}."}],
        irrelevant=[],
        by=by,
        based_on=based_on,
        reason=reason,
    )


def write_pair_again(study: Study, by: User, wording: int, *, based_on: Any, reason: str) -> Pair:
    a, b = find_threads(study, by)
    said = {"differs": f"The tutor, {wording}.", "expect": "no_change"}
    return pair_threads(study=study, name="tutor 1", a=a, b=b, **said, by=by, based_on=based_on, reason=reason)


def write_redaction_again(study: Study, by: User, wording: int, *, based_on: Any, reason: str) -> RedactionList:
    entries = [Entry("Anna Berg", f"[PERSON {wording}]")]
    return save_redaction(study=study, entries=entries, by=by, based_on=based_on, reason=reason)


def write_theme_again(study: Study, by: User, wording: int, *, based_on: Any, reason: str) -> ThemeVersion:
    text = ThemeText(f"Weighing, {wording}")
    if not based_on:
        return create_theme(study=study, text=text, codes=[], by=by, reason=reason)
    theme = Theme.objects.get(study=study)
    return revise_theme(theme=theme, based_on=based_on, text=text, state="candidate", codes=[], reason=reason, by=by)


def write_purpose_again(study: Study, by: User, wording: int, *, based_on: Any, reason: str) -> Purpose:
    Membership.objects.filter(study=study, user=by).update(role="owner")
    return allow_probe(study=study, text=f"To learn, {wording}.", by=by, based_on=based_on)


def write_price_again(study: Study, by: User, wording: int, *, based_on: Any, reason: str) -> Price:
    amount = Decimal(wording)
    return set_price(variant=find_variant(), price_in=amount, price_out=amount / 2, source=reason, by=by)


def write_capabilities_again(study: Study, by: User, wording: int, *, based_on: Any, reason: str) -> Capabilities:
    return set_capabilities(variant=find_variant(), max_output_tokens=1_000 * wording, source=reason, by=by)


def write_grant_again(study: Study, by: User, wording: int, *, based_on: Any, reason: str) -> Grant:
    limits = {"study_usd": Decimal(wording), "study_day_usd": Decimal(1), "person_day_usd": Decimal(1)}
    return set_grant(study=study, account=find_variant().account, by=trail.SYSTEM, **limits)


def find_variant() -> ModelVariant:
    now = {"created_at": timezone.now()}
    account, _ = ProviderAccount.objects.get_or_create(name="lab", provider="openai_compatible", defaults=now)
    return ModelVariant.objects.get_or_create(label="small", account=account, model="small", defaults=now)[0]


def find_threads(study: Study, by: User) -> list[Interview]:
    return list(study.interviews.order_by("pk")) or bring_in(study, by, ["A", "B"])


HISTORIES = {
    "stance": History(NormativeStance, write_stance_again),
    "script": History(Script, write_script_again),
    "targets": History(TargetTable, write_targets_again),
    "mapping": History(MappingTable, write_mapping_again),
    "case sheet": History(CaseSheet, write_sheet_again),
    "pair": History(Pair, write_pair_again),
    "redaction": History(RedactionList, write_redaction_again),
    "theme": History(ThemeVersion, write_theme_again),
    "purpose": History(Purpose, write_purpose_again),
    "price": History(Price, write_price_again, looks=False),
    "capabilities": History(Capabilities, write_capabilities_again, looks=False),
    "grant": History(Grant, write_grant_again, looks=False),
}
