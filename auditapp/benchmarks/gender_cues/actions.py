"""Allowing the probe in a study and withdrawing this permission; loading reviews, launching probes and storing rationales."""

from __future__ import annotations

import hashlib
import io
import json
import random
from collections.abc import Mapping, Sequence
from typing import BinaryIO

from django.db import transaction
from django.utils import timezone

from auditapp.batches.actions import cancel_batch
from auditapp.batches.launching import DEFAULT_OPTIONS, LaunchOptions, LaunchPlan, PlannedArm, launch_once
from auditapp.batches.models import OPEN_STATES, Batch
from auditapp.benchmarks.gender_cues.models import (
    MAX_METHOD,
    MAX_NAME,
    MAX_SEED,
    NO_PURPOSE,
    Purpose,
    RationaleTurn,
    Review,
    ReviewSet,
    Trial,
)
from auditapp.benchmarks.gender_cues.pure.parsing import (
    ANDROGYNOUS,
    CAVEATS,
    CONDITIONS,
    CONTROL,
    CUES,
    MAN,
    MAX_KEPT,
    MAY_ABSTAIN,
    MIN_TEXTS,
    OK,
    PRIMED,
    SCORED,
    WOMAN,
    load_prompts,
)
from auditapp.benchmarks.gender_cues.pure.reviews import ReviewFile, Rules, RulesRefused, winnow
from auditapp.benchmarks.gender_cues.queries import KIND, count_reviews, require_purpose
from auditapp.llm.models import ModelVariant
from transcripts.accounts.models import User
from transcripts.audit_trail import trail
from transcripts.corpus.actions import import_files
from transcripts.corpus.masked import find_sealed
from transcripts.corpus.models import Turn
from transcripts.corpus.pure.previews import Choices
from transcripts.formats.problems import ReadError
from transcripts.refusals import Refused
from transcripts.studies.access import find_role
from transcripts.studies.models import Study
from transcripts.studies.roles import Permission
from transcripts.ui.typed_text import MAX_NOTE, MAX_REASON, check_reason, check_text

NO_REASON = "Say in a few words why the purpose is withdrawn."


def allow_probe(*, study: Study, text: str, by: User, based_on: int | None = None) -> Purpose:
    """Store the purpose for which the study runs the probe. This turns the probe on; a new text becomes the next number.

    ``by`` owns the study, because nobody else may allow it. ``based_on`` is the latest number that she saw, 0 for none. Raises
    ``Refused``, of which ``WrittenMeanwhile`` and ``NothingChanged``.
    """
    _require_owner(study, by, "allow the probe")
    text = check_text(text, field="text", max_length=MAX_NOTE, needed=NO_PURPOSE)
    return Purpose(study=study, text=text).write(by=by, based_on=based_on)


@transaction.atomic
def withdraw_purpose(*, study: Study, number: int, reason: str, by: User) -> Purpose:
    """Withdraw the purpose in force, which turns the probe off. Its open batches are cancelled: calls in flight finish and are
    stored. Reviews and figures stay and can be read.

    ``number`` is that of the purpose as ``by`` saw it; ``by`` owns the study. Raises ``Refused`` if another purpose is in force
    by now, or none.
    """
    _require_owner(study, by, "withdraw the purpose of the probe")
    reason = check_reason(reason, needed=NO_REASON)
    # No number is given out meanwhile.
    Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    purpose = require_purpose(study)
    if purpose.number != number:
        raise Refused(
            f"{purpose.made_by_name} wrote another purpose, number {purpose.number}, after you opened this page. Read it first."
        )
    purpose.withdrawn_at, purpose.withdrawal_reason = timezone.now(), reason
    purpose.withdrawn_by, purpose.withdrawn_by_name = by, by.get_username()
    purpose.save(update_fields=["withdrawn_at", "withdrawal_reason", "withdrawn_by", "withdrawn_by_name"])
    cancelled = list(study.batches.filter(kind=KIND, state__in=OPEN_STATES).order_by("pk"))
    for batch in cancelled:
        cancel_batch(batch=batch, by=by)
    trail.record(
        "gender_cues.withdrawn",
        target=purpose,
        by=by,
        stream=trail.study_stream(study.pk),
        details={"number": purpose.number, "reason": reason, "cancelled": [batch.pk for batch in cancelled]},
    )
    return purpose


def _may(by: User, study: Study, permission: Permission) -> bool:
    role = find_role(by, study)
    return role is not None and permission in role.permissions


def _require_owner(study: Study, by: User, what: str) -> None:
    if not _may(by, study, Permission.MANAGE_MEMBERS):
        raise Refused(f"Only an owner of the study can {what}.")


ROWS_AT_ONCE = 500


def load_reviews(
    *,
    study: Study,
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
    """Store the reviews in a CSV that the rules keep, with a funnel that counts all of them.

    ``category_method``: the method that inferred the categories from first names, with its version; ``source``: where the reviews
    are from, and what permits their use; ``text`` and ``category`` are the headings, if the file does not use the usual ones. The
    file is read once, row by row, before anything is written. Raises ``Refused``.
    """
    require_purpose(study)
    name = _check("name", name, MAX_NAME, "The name")
    category_method = _check("category_method", category_method, MAX_METHOD, "The method that inferred the categories")
    source = _check("source", source, MAX_REASON, "The source")
    if not 0 <= seed <= MAX_SEED:
        raise Refused(f"The seed is a whole number from 0 to {MAX_SEED:,}.")
    _refuse_known(study, name)
    hashed = _Hashed(file)
    try:
        reviews = ReviewFile(io.BufferedReader(hashed), name="The file", text=text, category=category)
        winnowing = winnow(reviews, rules)
        kept = []
        for review in winnowing:
            kept.append((review.text, review.category))
            if len(kept) > MAX_KEPT:
                raise Refused(
                    f"The rules keep more than {MAX_KEPT:,} reviews, the most that a study stores from one file. Declare a "
                    "stricter rule."
                )
    except (ReadError, RulesRefused) as error:
        raise Refused(str(error)) from error
    # The draw has to be one that can be made again, not one that nobody can guess.
    random.Random(seed).shuffle(kept)  # noqa: S311
    with transaction.atomic():
        Study.objects.select_for_update(no_key=True).get(pk=study.pk)
        require_purpose(study, locks=True)
        _refuse_known(study, name)
        stored = ReviewSet.objects.create(
            study=study,
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
            "gender_cues.reviews.loaded",
            target=stored,
            by=by,
            stream=trail.study_stream(study.pk),
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
    """A file whose SHA-256 is known after it has been read to the end."""

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


def _refuse_known(study: Study, name: str) -> None:
    if ReviewSet.objects.filter(study=study, name=name).exists():
        raise Refused(f"There are reviews named “{name}” in this study already. Choose another name.")


def _check(field: str, text: str, most: int, what: str) -> str:
    needed = f"{what} is missing. It is kept with the reviews and shown with every figure."
    return check_text(text, field=field, max_length=most, needed=needed, one_line=True)


UNCONFIRMED = (
    "Confirm that the source of the reviews permits sending them to the providers of the chosen models, and that you have read "
    "these providers' terms. Nothing was launched."
)
NO_FILES = (
    "The requests of a probe contain reviews, so they are not written to a file. Ask live, or use the provider's batch "
    "service."
)


@transaction.atomic
def launch_probe(
    *,
    reviews: ReviewSet,
    variants: Sequence[ModelVariant],
    texts: Mapping[str, int],
    by: trail.Actor,
    same_texts: bool = True,
    androgynous: int = 0,
    confirms_source: bool = False,
    options: LaunchOptions = DEFAULT_OPTIONS,
) -> Batch:
    """Ask every variant about reviews under each condition. See ``plan_probe`` for what is drawn.

    ``confirms_source``: ``by`` confirms that the reviews may be sent; needed unless every model is fake. Reads reviews.study.
    Raises ``Refused``.
    """
    require_purpose(reviews.study, locks=True)
    # Fake models send nothing to anybody.
    if not confirms_source and not all(variant.is_fake for variant in variants):
        raise Refused(UNCONFIRMED)
    if options.route == Batch.Route.FILE:
        raise Refused(NO_FILES)
    if options.repeats != 1:
        raise Refused("A probe asks about each review only once under each condition.")

    def plan() -> LaunchPlan:
        return plan_probe(
            reviews=reviews, variants=variants, texts=texts, same_texts=same_texts, androgynous=androgynous
        )

    return launch_once(
        study=reviews.study,
        kind=KIND,
        plan=plan,
        by=by,
        options=options,
        reviews=reviews.pk,
        variants=[variant.pk for variant in variants],
        texts=dict(texts),
        same_texts=same_texts,
        androgynous=androgynous,
    )


def plan_probe(
    *,
    reviews: ReviewSet,
    variants: Sequence[ModelVariant],
    texts: Mapping[str, int],
    same_texts: bool = True,
    androgynous: int = 0,
) -> LaunchPlan:
    """What a launch would ask; writes nothing.

    ``texts``: how many texts of each scored category each condition gets. With ``same_texts``, every condition gets the first
    texts in the order of the set, so that conditions can be paired; otherwise each condition gets its own texts. ``androgynous``:
    how many texts of that category are added, which are counted but not scored. Reads reviews.study. Raises ``Refused``.
    """
    require_purpose(reviews.study)
    if not variants or len({variant.pk for variant in variants}) != len(variants):
        raise Refused("Choose at least one model, and each model only once.")
    asked = {condition: texts[condition] for condition in CONDITIONS if texts.get(condition)}
    if set(texts) - set(CONDITIONS):
        raise Refused(f"The conditions are {', '.join(CONDITIONS)}.")
    _check_numbers(reviews, asked, same_texts=same_texts, androgynous=androgynous)
    drawn = _draw(reviews, asked, same_texts=same_texts, androgynous=androgynous)
    prompts = load_prompts()
    arms = [
        PlannedArm(
            variant,
            condition,
            prompts[condition].text,
            {"prompt_sha256": prompts[condition].sha256, "origin": prompts[condition].origin},
            drawn[condition],
            messages="review",
        )
        for variant in variants
        for condition in asked
    ]
    inputs = sorted({key for keys in drawn.values() for key in keys})
    parameters: dict[str, object] = {
        "reviews": reviews.pk,
        "texts": asked,
        "same_texts": same_texts,
        "androgynous": androgynous,
        "rules_sha256": reviews.rules_sha256,
        "seed": reviews.seed,
    }
    return LaunchPlan(
        KIND,
        arms,
        inputs,
        title=f"Gender-cue probe: {reviews.name}",
        parameters=parameters,
        warnings=_warn(asked),
        facts=[
            ("Reviews", reviews.name),
            *(
                (prompts[condition].title, f"{count} women's, {count} men's texts")
                for condition, count in asked.items()
            ),
            ("Texts of the conditions", "the same" if same_texts else "different ones"),
            ("Androgynous, not scored", str(androgynous)),
            ("Caveats", " ".join(CAVEATS)),
        ],
    )


def _check_numbers(reviews: ReviewSet, asked: Mapping[str, int], *, same_texts: bool, androgynous: int) -> None:
    if not asked:
        raise Refused("Give the number of texts for at least one condition.")
    few = [condition for condition, count in asked.items() if count < MIN_TEXTS]
    if few:
        raise Refused(
            f"{few[0]}: {asked[few[0]]} texts of each category are too few for any figure. A condition gets at least {MIN_TEXTS}."
        )
    there = count_reviews(reviews)
    needed = max(asked.values()) if same_texts else sum(asked.values())
    for category in SCORED:
        if there[category] < needed:
            raise Refused(
                f"{needed} texts of the category {category} are needed, and the rules kept {there[category]} (women "
                f"{there[WOMAN]}, men {there[MAN]}). Ask about fewer, at least {MIN_TEXTS}, or load reviews by other rules. The "
                "funnel shows where they were lost."
            )
    if not 0 <= androgynous <= there[ANDROGYNOUS]:
        raise Refused(f"The rules kept {there[ANDROGYNOUS]} androgynous texts; choose a number from 0 to that.")


def _draw(reviews: ReviewSet, asked: Mapping[str, int], *, same_texts: bool, androgynous: int) -> dict[str, list[int]]:
    rows = reviews.reviews.order_by("position").values_list("category", "pk")
    by_category: dict[str, list[int]] = {}
    for category, key in rows:
        by_category.setdefault(category, []).append(key)
    drawn: dict[str, list[int]] = {}
    first = 0
    for condition, count in asked.items():
        keys = [key for category in SCORED for key in by_category[category][first : first + count]]
        drawn[condition] = [*keys, *by_category.get(ANDROGYNOUS, [])[:androgynous]]
        first += 0 if same_texts else count
    return drawn


def _warn(asked: Mapping[str, int]) -> list[str]:
    said = []
    if MAY_ABSTAIN not in asked:
        said.append(
            "The condition in which the model may abstain is not included. It is recommended, because it shows how much of "
            "Table 1 is due to the demand for a guess."
        )
    if not {CONTROL, PRIMED} <= set(asked):
        said.append("Control and primed are not both included, so the two cannot be compared.")
    if CONTROL in asked or PRIMED in asked:
        said.append(
            "The prompts of control and primed are reconstructions from Appendix A, which has lost its highlighting."
        )
    return said


PER_THREAD = 25
BASIS = "Words of a model about a text of a probe. They may quote the text; any other use depends on the source of the text."


@transaction.atomic
def store_rationales(*, batch: Batch, into: Study, by: trail.Actor, seed: int) -> dict[str, int]:
    """Store the rationales of Emotion and Textual Style of a batch's primed answers as masked threads of ``into``, a separate
    study, ``PER_THREAD`` to a thread, in an order drawn by ``seed``.

    Category, prediction, model and review are not stored with a rationale, although its own words may reveal the prediction.
    Rationales that were stored before are left out, so a batch that has grown can be stored again. Returns how many "threads" and
    "rationales" were stored, and how many answers of the subset are "without_rationale". Reads batch.study. Raises ``Refused``.
    """
    require_purpose(batch.study, locks=True)
    if into.pk == batch.study_id:
        raise Refused(
            "Rationales must be coded in a separate study, so that the people who code them do not see the probe."
        )
    if isinstance(by, User) and not _may(by, into, Permission.IMPORT):
        raise Refused(
            f"You may not import into the study {into.name}. A lead of that study can store the rationales there."
        )
    if not 0 <= seed <= MAX_SEED:
        raise Refused(f"The seed is a whole number from 0 to {MAX_SEED:,}.")
    Batch.objects.select_for_update(no_key=True).get(pk=batch.pk)
    elsewhere = (
        RationaleTurn.objects.filter(trial__cell__batch=batch)
        .exclude(turn__interview__owning_study=into)
        .values_list("turn__interview__owning_study__slug", flat=True)
        .first()
    )
    if elsewhere:
        raise Refused(f"Rationales of batch {batch.pk} are already in the study {elsewhere}. Store the rest there too.")
    trials = Trial.objects.filter(
        cell__batch=batch, cell__arm__task=PRIMED, status=OK, review__category__in=SCORED, rationale_turn__isnull=True
    ).order_by("cell_id")
    cited = [trial for trial in trials if set(trial.codes) & set(CUES)]
    written = [(trial.pk, _write_rationale(trial)) for trial in cited]
    rationales = [(key, text) for key, text in written if text]
    if not rationales:
        raise Refused(
            f"Batch {batch.pk} has no rationale of {' or '.join(CUES)} that is not stored yet. Rationales are those of valid "
            "primed answers that applied one of the two."
        )
    # The order has to be one that can be made again, not one that nobody can guess.
    random.Random(seed).shuffle(rationales)  # noqa: S311
    threads = [rationales[place : place + PER_THREAD] for place in range(0, len(rationales), PER_THREAD)]
    # Ids of a file are sealed where its threads are masked, and have to differ from those of every other file.
    name = hashlib.sha256(f"{batch.pk} {rationales[0][0]} {len(rationales)} {seed}".encode()).hexdigest()[:16]
    lines = [
        json.dumps(
            {
                "id": f"{name}-{number}",
                "turns": [{"role": "model", "text": text} for _, text in thread],
                "consent": {"coding": True, "basis": BASIS},
            },
            ensure_ascii=False,
        )
        for number, thread in enumerate(threads, 1)
    ]
    import_files(
        study=into,
        files=[(f"rationales-{name}.jsonl", "\n".join(lines).encode())],
        by=by,
        format="interview_jsonl",
        choices=Choices("interview_jsonl", mask=True),
    )
    _join(into, name, threads)
    counts = {"threads": len(threads), "rationales": len(rationales), "without_rationale": len(cited) - len(rationales)}
    # The other study's own event is that of the import, which names neither the batch nor anything of the probe.
    trail.record(
        "gender_cues.rationales.stored",
        target=batch,
        by=by,
        stream=trail.study_stream(batch.study_id),
        details={**counts, "seed": seed, "into": into.slug},
    )
    return counts


def _write_rationale(trial: Trial) -> str:
    said = [f"{cue}: {trial.rationales[cue]}" for cue in CUES if cue in trial.codes and trial.rationales.get(cue)]
    return "\n".join(said)


def _join(into: Study, name: str, threads: list[list[tuple[int, str]]]) -> None:
    """Note which turn has which rationale."""
    rows = []
    for number, thread in enumerate(threads, 1):
        turns = Turn.objects.filter(interview__in=find_sealed(into, [f"{name}-{number}"])).order_by("position")
        keys = turns.values_list("pk", flat=True)
        rows += [RationaleTurn(trial_id=trial, turn_id=turn) for (trial, _), turn in zip(thread, keys, strict=True)]
    RationaleTurn.objects.bulk_create(rows)
