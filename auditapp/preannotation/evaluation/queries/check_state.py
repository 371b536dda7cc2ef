"""Whether an annotator was ever checked, and what its latest check found: for whoever is about to launch it."""

from __future__ import annotations

from django.urls import reverse
from django.utils.html import format_html
from django.utils.timezone import localtime

from auditapp.batches.models import Batch
from auditapp.preannotation.evaluation.pure.check_verdicts import judge_check
from auditapp.preannotation.evaluation.queries.checks import list_checks, read_check
from auditapp.preannotation.models import Annotator

NEW = (
    "never checked: this launch makes the annotator. Start with a pilot, and check it from its page while the batch is "
    "waiting for approval"
)


def find_check_state(annotator: Annotator) -> tuple[Batch, str] | None:
    """Its latest check, and the verdicts in one line; ``None`` where it was never checked, or is not stored yet."""
    checks = list_checks(annotator) if annotator.pk else []
    if not checks:
        return None
    report = read_check(checks[0]).report
    verdicts = judge_check(report) if report.answers else []
    said = "; ".join(f"{each.title[:1].lower()}{each.title[1:]}: {each.words}" for each in verdicts)
    return checks[0], said or "no answer has come yet"


def tell_checked(annotator: Annotator) -> str:
    """The latest check with the way to it, or the way to one, as HTML. Reads annotator.project."""
    if not annotator.pk:
        return NEW
    state, slug = find_check_state(annotator), annotator.project.slug
    if state is None:
        address = reverse("preannotation:launch_check", args=[slug, annotator.pk])
        return format_html('never checked. <a class="button small" href="{}">Check it</a>', address)
    batch, verdicts = state
    address = reverse("preannotation:check", args=[slug, batch.pk])
    when = f"{localtime(batch.created_at):%-d %B %Y}"
    return format_html('<a href="{}">{}</a>: {}', address, when, verdicts)


def tell_checked_in_words(annotator: Annotator) -> str:
    """The same for a command."""
    state = find_check_state(annotator)
    if state is None:
        return f"{annotator} was never checked: manage.py preannotate_check does that."
    batch, verdicts = state
    return f"Its latest check, batch {batch.pk}: {verdicts}."
