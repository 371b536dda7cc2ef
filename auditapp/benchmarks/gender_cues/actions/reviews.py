"""Loading reviews: what the rules keep is stored, in an order drawn by seed; the rest is only counted."""

from __future__ import annotations

import hashlib
import io
import random
from typing import BinaryIO

from django.db import transaction
from django.utils import timezone

from auditapp.benchmarks.gender_cues.models import MAX_METHOD, MAX_NAME, MAX_SEED, Review, ReviewSet
from auditapp.benchmarks.gender_cues.pure.limits import MAX_KEPT
from auditapp.benchmarks.gender_cues.pure.reviews import ReviewFile
from auditapp.benchmarks.gender_cues.pure.winnowing import Rules, RulesRefused, winnow
from auditapp.benchmarks.gender_cues.queries.purposes import require_purpose
from transcripts.accounts.models import User
from transcripts.audit_trail import trail
from transcripts.formats.problems import ReadError
from transcripts.refusals import Refused
from transcripts.studies.models import Project
from transcripts.ui.typed_text import MAX_REASON, check_text

ROWS_AT_ONCE = 500


def load_reviews(
    *,
    project: Project,
    name: str,
    file: BinaryIO,
    rules: Rules,
    category_method: str,
    source: str,
    seed: int,
    by: trail.Actor,
    text: str = "",
    category: str = "",
) -> ReviewSet:
    """Store the reviews of a CSV that the rules keep, with the funnel of all of them.

    ``category_method``: what inferred the categories from first names, with its version; ``source``: where the reviews are
    from, and what allows their use; ``text`` and ``category`` are headings where the file has others than usual. The file is read
    once, row by row, before anything is written. Raises ``Refused``.
    """
    require_purpose(project)
    name = _check("name", name, MAX_NAME, "The name")
    category_method = _check("category_method", category_method, MAX_METHOD, "The method that inferred the categories")
    source = _check("source", source, MAX_REASON, "The source")
    if not 0 <= seed <= MAX_SEED:
        raise Refused(f"The seed is a whole number from 0 to {MAX_SEED:,}.")
    _refuse_known(project, name)
    hashed = _Hashed(file)
    try:
        reviews = ReviewFile(io.BufferedReader(hashed), name="The file", text=text, category=category)
        winnowing = winnow(reviews, rules)
        kept = []
        for review in winnowing:
            kept.append((review.text, review.category))
            if len(kept) > MAX_KEPT:
                raise Refused(
                    f"The rules keep more than {MAX_KEPT:,} reviews, the most that a study keeps of one file. Declare a stricter "
                    "rule."
                )
    except (ReadError, RulesRefused) as error:
        raise Refused(str(error)) from error
    # The draw has to be one that can be made again, not one that nobody can guess.
    random.Random(seed).shuffle(kept)  # noqa: S311
    with transaction.atomic():
        Project.objects.select_for_update(no_key=True).get(pk=project.pk)
        require_purpose(project, locks=True)
        _refuse_known(project, name)
        stored = ReviewSet.objects.create(
            project=project,
            name=name,
            sha256=hashed.sha256,
            category_method=category_method,
            source=source,
            rules=rules.declared,
            rules_sha256=rules.sha256,
            funnel=winnowing.funnel,
            without_text=reviews.without_text,
            seed=seed,
            made_by=by if isinstance(by, User) else None,
            made_by_name=by.get_username(),
            made_at=timezone.now(),
        )
        Review.objects.bulk_create(
            (
                Review(review_set=stored, position=position, text=each, category=inferred)
                for position, (each, inferred) in enumerate(kept, 1)
            ),
            batch_size=ROWS_AT_ONCE,
        )
        trail.record(
            "probe.reviews.loaded",
            target=stored,
            by=by,
            stream=trail.project_stream(project.pk),
            details={
                "sha256": stored.sha256,
                "rules_sha256": stored.rules_sha256,
                "read": stored.funnel[0]["total"],
                "kept": len(kept),
                "seed": seed,
            },
        )
    return stored


class _Hashed(io.RawIOBase):
    """A file whose SHA-256 is known once it has been read to its end."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._hash = hashlib.sha256()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        data = self._file.read(len(buffer))
        self._hash.update(data)
        buffer[: len(data)] = data
        return len(data)

    @property
    def sha256(self) -> str:
        return self._hash.hexdigest()


def _refuse_known(project: Project, name: str) -> None:
    if ReviewSet.objects.filter(project=project, name=name).exists():
        raise Refused(f"There are reviews named “{name}” in this study already. Choose another name.")


def _check(field: str, text: str, most: int, what: str) -> str:
    needed = f"{what} is missing. It is kept with the reviews and shown with every figure."
    return check_text(text, field=field, max_length=most, needed=needed, one_line=True)
