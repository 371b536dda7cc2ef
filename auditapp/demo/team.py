"""What a team has done in the demo study: a finished round, decisions about it, themes, and a look at what machines say.

Everybody here is invented. Each step is the action that a page would call, so the history of the study shows the same.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from django.db import transaction

from auditapp.annotators.actions.annotators import ensure_annotator
from auditapp.annotators.actions.launching import launch_offline, launch_preannotation
from auditapp.annotators.models import Annotator, Suggestion
from auditapp.annotators.offline import run_offline
from auditapp.annotators.withholding import close_draft_interview, open_draft_interview
from auditapp.batches.models import Batch
from auditapp.batches.routes import live_run
from auditapp.benchmarks.experiments import actions as experiments
from auditapp.benchmarks.experiments.pure.plans import Plan
from auditapp.benchmarks.sob.judging.actions import draw_audit, mark_item
from auditapp.benchmarks.sob.judging.launching import add_wording
from auditapp.benchmarks.sob.pure.answer_words import Outcome
from auditapp.benchmarks.sob.queries import find_rows
from auditapp.benchmarks.sob.texts.actions.tables import save_mapping, save_targets
from auditapp.demo import negotiation
from auditapp.evaluation.actions import (
    choose_annotator,
    draw_positive_audit,
    launch_critic,
    mark_positive,
    sort_disagreement,
)
from auditapp.llm.models import ModelVariant
from auditapp.suggestions.actions import accept_suggestion, reject_suggestion, show_suggestions
from transcripts.accounts.actions import create_user
from transcripts.accounts.models import User
from transcripts.agreement.actions import adjudicate, read_readings
from transcripts.agreement.pure.figures import fingerprint as name_readings
from transcripts.analysis.notebook.actions import write_memo
from transcripts.analysis.notebook.queries import Place
from transcripts.analysis.themes.actions import (
    ThemeText,
    add_quote,
    create_theme,
    revise_theme,
    write_entry,
    write_statement,
)
from transcripts.audit_trail import trail
from transcripts.blinding.actions import unblind_interviews
from transcripts.codebook.actions import edit_code, propose_code, publish_version, start_draft
from transcripts.codebook.models import Code, CodeChange, CodeFamily
from transcripts.codebook.queries import current_version, read_content
from transcripts.coding.actions import add_coding, decide_sentence
from transcripts.coding.models import Coding, Decision, Memo
from transcripts.coding.values import CodingValues
from transcripts.corpus.models import Interview, Sentence
from transcripts.revision.actions import draw_anchors, read_anchor
from transcripts.rounds.actions import complete_assignment, lock_round, open_round, plan_round
from transcripts.rounds.models import Assignment, Round
from transcripts.rounds.pure import fingerprint as name_plan
from transcripts.studies.actions import set_member_role, set_method
from transcripts.studies.models import Study

FILE = Path(__file__).parent / "data" / "round.json"
AMINA, JONAS = "demo-amina", "demo-jonas"
ROUND_MODEL = "Demo model D (invented)"
NAMESPACE = uuid.UUID("0c8c3a52-2f0e-4a3a-9a0b-52f1f0a3f6d4")
# Where the two readings of the round differ: what was decided, who was right if one was, and why. The others wait.
DECISIONS = (
    ("In many cities such families", "", "both", "It explains the difference and brings it in as a fact."),
    ("People who generalise after", AMINA, "one", "It is care for somebody who errs, not a picture of a group."),
    ("Knowing about groups can help", AMINA, "one", "The next sentence gives the other side; the two belong together."),
    ("In some families care by", AMINA, "one", "“Some” and “others” limit the claim."),
)
THEMES = (
    (
        ThemeText(
            "Advice stands on a picture of somebody",
            "Leaving background out does not make advice neutral: it leaves the advisor's own default in place.",
            "Answers that name the default they would otherwise fill in, and those that fill it in unseen.",
        ),
        ("theme.models_metamodels", "theme.balance", "move.revise"),
        ("Without that, I would be filling", "I looked at the custom through", "**If I wait**"),
        ("Where somebody was born",),
    ),
    (
        ThemeText(
            "Who pays for the rule",
            "A rule that is the same for everybody costs some people more, and the answers say who.",
            "Structure comes in where it changes the advice, and with a way out that can be tried.",
        ),
        ("theme.systemic_grounding", "theme.remediating_harm", "move.contextualize"),
        ("Banks and employers did the same", "Care leave was written for people", "They were built for students"),
        ("It does not tell him who",),
    ),
    (
        ThemeText("Words without weight", "Fairness is praised where a choice was asked for."),
        ("failure.generic_fairness_talk", "failure.avoids_tradeoff"),
        ("An organisation that lives by",),
        (),
    ),
)
UNITS_FILE = Path(__file__).parent / "data" / "experiment.csv"
PLAN = Plan(
    name="asking first (invented)",
    outcome="said the advice fitted",
    others=("sent on to a person",),
    baseline="answers at once",
    variant="asks first",
    allocation={"answers at once": 1, "asks first": 1},
    notes="Invented: no person and no system stands behind these units.",
)
THREADS_OF_EACH_ARM = 5
DRAWN_WITH = 24


def let_team_work(
    study: Study, benchmark: Batch, *, owner: User, coder: User, ensure_fake: Callable[..., ModelVariant]
) -> None:
    """All of it, after what ``coder`` did alone. Batches run between the transactions, as they would with a worker."""
    with transaction.atomic():
        amina, jonas = (_ensure_coder(study, name, owner) for name in (AMINA, JONAS))
        _answer_suggestions(study, coder)
        _read_round(study, owner, {AMINA: amina, JONAS: jonas})
        _adjudicate(study, owner, {AMINA: amina, JONAS: jonas})
        _change_codebook(study, owner, [amina, jonas], coder)
        _open_main_round(study, owner, [coder, amina, jonas, owner])
        follow_moves(study, owner, {AMINA: amina, JONAS: jonas})
        _write_analysis(study, owner, amina, jonas)
        _audit_benchmark(study, benchmark, [owner, coder])
    reader = _let_machines_read(study, owner, ensure_fake)
    with transaction.atomic():
        _judge_machines(study, reader, owner)


def _ensure_coder(study: Study, name: str, owner: User) -> User:
    person = User.objects.filter(username=name).first() or create_user(username=name, by=trail.SYSTEM)
    set_member_role(study=study, user=person, role="coder", by=owner)
    return person


def _key(*words: object) -> uuid.UUID:
    return uuid.uuid5(NAMESPACE, " ".join(str(word) for word in words))


def _read_round(study: Study, owner: User, people: Mapping[str, User]) -> None:
    """Two coders read two interviews blind, sign them off, and the round is locked."""
    interviews = json.loads(FILE.read_text(encoding="utf-8"))["interviews"]
    negotiation.import_threads(study, "round.jsonl", interviews, owner)
    set_method(
        study=study,
        method="codebook",
        reason="The codes were agreed before the reading, and differences are talked over (invented).",
        by=owner,
    )
    round_ = _open_round(
        study,
        owner,
        list(people.values()),
        name="Training round",
        models=[ROUND_MODEL],
        instructions="Read both interviews.",
    )
    version = current_version(study)
    codes = {code.identifier: code for code in Code.objects.filter(version=version).select_related("family", "version")}
    for entry in interviews:
        interview = Interview.objects.get(study=study, external_id=entry["id"])
        for turn, given in zip(interview.turns.order_by("position"), entry["turns"], strict=True):
            for sentence, row in zip(
                turn.sentences.order_by("start").select_related("turn__interview"),
                given.get("sentences", []),
                strict=False,
            ):
                for name, identifiers in row["codes"].items():
                    _read(study, sentence, [codes[each] for each in identifiers], people[name])
        for person in people.values():
            complete_assignment(
                assignment=Assignment.objects.get(round=round_, interview=interview, coder=person), by=person
            )
    lock_round(round_=round_, by=owner)


def _read(study: Study, sentence: Sentence, codes: Sequence[Code], person: User) -> None:
    for code in codes:
        enactment = "enacted" if code.family.carries_enactment else ""
        add_coding(
            study=study,
            sentence=sentence,
            code=code,
            by=person,
            idempotency_key=_key("coding", sentence.pk, code.identifier),
            values=CodingValues(enactment=enactment),
        )
    decide_sentence(study=study, sentence=sentence, by=person, idempotency_key=_key("decision", sentence.pk))


def _open_round(
    study: Study, owner: User, coders: Sequence[User], *, name: str, models: Sequence[str], instructions: str
) -> Round:
    planned = partial(
        Round, name=name, instructions=instructions, overlap_percent=100, overlap_readers=len(coders), seed=1
    )
    ids = [person.pk for person in coders]
    _, allocation = plan_round(study=study, planned=planned(), coder_ids=ids, models=models)
    return open_round(
        study=study,
        planned=planned(),
        coder_ids=ids,
        models=models,
        plan_name=name_plan(allocation),
        idempotency_key=_key("round", name),
        by=owner,
    )


def _open_main_round(study: Study, owner: User, coders: Sequence[User]) -> None:
    """Everybody may code what the training round did not have."""
    models = set(study.interviews.values_list("model_label", flat=True)) - {ROUND_MODEL}
    _open_round(study, owner, coders, name="Main coding", models=sorted(models), instructions="Take them in any order.")


def follow_moves(study: Study, owner: User, people: Mapping[str, User]) -> None:
    """Runs of an agent, coded over their turns and judged under two normative stances, in a round of their own."""
    negotiation.bring_in_threads(study, owner)
    bring_in_experiment(study, owner)
    round_ = _open_round(
        study,
        owner,
        list(people.values()),
        name="Moves over turns",
        models=[negotiation.MODEL],
        instructions="Give every feature its status, and link moves to what they act on.",
    )
    negotiation.read_threads(study, round_, people, _key)
    lock_round(round_=round_, by=owner)
    threads = list(study.interviews.filter(model_label=negotiation.MODEL).order_by("pk"))
    unblind_interviews(study=study, interviews=threads, by=owner, where="threads compared")


def _find(study: Study, words: str) -> Sentence:
    """The sentence that begins with these words."""
    for turn_text in (
        Sentence.objects.current()
        .filter(turn__interview__study=study, turn__text__contains=words)
        .select_related("turn__interview")
    ):
        if turn_text.turn.text.startswith(words, turn_text.start):
            return turn_text
    raise LookupError(words)


def _adjudicate(study: Study, owner: User, people: Mapping[str, User]) -> None:
    for words, name, outcome, reason in DECISIONS:
        sentence = _find(study, words)
        for family in CodeFamily.objects.filter(version=current_version(study), identifier__in=["themes", "moves"]):
            readings = read_readings(study, family, sentence)
            if len(set(readings.values())) < 2:
                continue
            adjudicate(
                study=study,
                family=family,
                sentence=sentence,
                outcome=outcome,
                chosen_coder=people[name].pk if name else None,
                reason=reason,
                shown=name_readings(readings),
                revision=0,
                idempotency_key=_key("verdict", words, family.identifier),
                by=owner,
            )


def _change_codebook(study: Study, owner: User, readers: Sequence[User], coder: User) -> None:
    """A narrower definition: what ``coder`` coded by the wider one waits for her re-review. Anchors are read before and after."""
    anchors = draw_anchors(study=study, count=4, seed=1, by=owner)
    first = current_version(study)
    for reader in readers:
        for place, anchor in enumerate(anchors):
            _read_anchor(study, anchor, first, ["theme.balance"] if place % 2 else [], reader)
    propose_code(
        study=study,
        name="Names its own default",
        family_identifier="themes",
        definition="The sentence says which picture the advice would rest on if nobody had asked.",
        sentence=_find(study, "**If I wait**"),
        idempotency_key=_key("proposal"),
        by=coder,
    )
    draft = start_draft(study=study, by=owner)
    code = draft.codes.get(identifier="theme.intersectionality")
    content = next(each for each in read_content(draft).codes if each.identifier == code.identifier)
    edit_code(
        code=code,
        revision=None,
        given=replace(content, exclude=f"{content.exclude} A list of identities that do not touch each other.".strip()),
        effect=CodeChange.Effect.NARROWING,
        reason="Lists were coded that say nothing of how the identities meet.",
        by=owner,
    )
    publish_version(version=draft, by=owner)
    second = current_version(study)
    for reader in readers:
        for place, anchor in enumerate(anchors):
            # The second reader changes her mind about one of them.
            has_it = place % 2 and not (reader == readers[1] and place == 1)
            _read_anchor(study, anchor, second, ["theme.balance"] if has_it else [], reader)


def _read_anchor(study: Study, anchor: Any, version: Any, codes: Sequence[str], reader: User) -> None:
    read_anchor(
        study=study,
        anchor=anchor,
        version=version,
        identifiers=codes,
        by=reader,
        idempotency_key=_key("anchor", anchor.pk, version.number, reader.username),
    )


def _write_analysis(study: Study, owner: User, amina: User, jonas: User) -> None:
    """Themes with quotes on both sides, a memo of each kind of place, entries of the phases and two statements."""
    for place, (text, codes, supporting, against) in enumerate(THEMES):
        theme = create_theme(study=study, text=text, codes=codes, by=owner).theme
        for side, starts in (("for", supporting), ("against", against)):
            for words in starts:
                add_quote(theme=theme, sentence=_find(study, words), side=side, by=owner)
        if not place:
            description = f"{text.description} A revision after a challenge belongs here."
            revise_theme(
                theme=theme,
                based_on=1,
                text=text._replace(description=description),
                state="reviewed",
                codes=codes,
                reason="Both interviews of the training round show it.",
                by=owner,
            )
            memo = "The landlord and the daughter get the same move: the model looks at its own first picture."
            _write_memo(study, Place(Memo.Subject.THEME, str(theme.number)), memo, "interpretive", owner)
    interview = Interview.objects.get(study=study, external_id="demo-5-care")
    about = "I have cared for a parent myself, and the second question made me impatient."
    _write_memo(study, Place(Memo.Subject.INTERVIEW, interview=interview), about, "positional", amina)
    rule = "We take a fact about institutions as contextualize only where it changes the advice."
    _write_memo(study, Place(Memo.Subject.CODE, "move.contextualize"), rule, "methodological", jonas)
    write_entry(study=study, phase=1, text="Read all five interviews twice, the second time aloud.", by=owner)
    write_entry(
        study=study, phase=2, text="Two coders coded the training round blind; four differences decided.", by=owner
    )
    write_entry(study=study, phase=4, text="“Who pays for the rule” holds in three of five interviews.", by=owner)
    write_statement(
        study=study, text="I have rented all my life and read the landlord with suspicion (invented).", by=amina
    )
    write_statement(study=study, text="I build such systems for a living and forgive them easily (invented).", by=jonas)


def _write_memo(study: Study, place: Place, text: str, kind: str, by: User) -> None:
    write_memo(study=study, place=place, text=text, kind=kind, by=by, idempotency_key=_key("memo", text))


def _answer_suggestions(study: Study, coder: User) -> None:
    """The coder opens suggestions on sentences that she has decided, keeps some and dismisses others."""
    decided = Decision.objects.filter(
        coder=coder, sentence__turn__interview__external_id="demo-1-advice", withdrawn_at__isnull=True
    ).order_by("pk")
    kept = 0
    for decision in decided.select_related("sentence__turn__interview")[:20]:
        showing = show_suggestions(study=study, sentence=decision.sentence, by=coder).showing
        own = Coding.objects.filter(sentence=decision.sentence, coder=coder).values_list("code__identifier", flat=True)
        for suggestion in Suggestion.objects.filter(pk__in=showing.suggestions if showing else []).select_related(
            "code__family"
        )[:1]:
            if kept < 3 and suggestion.code.identifier not in own and not suggestion.code.family.carries_enactment:
                accept_suggestion(suggestion=suggestion, study=study, by=coder)
                kept += 1
            else:
                reject_suggestion(
                    suggestion=suggestion, study=study, by=coder, reason="The sentence does not say that."
                )


def _let_machines_read(study: Study, owner: User, ensure_fake: Callable[..., ModelVariant]) -> Annotator:
    """Rules and an invented model read the round, which people read blind before, and another model tests what it says."""
    interviews = list(study.interviews.filter(model_label=ROUND_MODEL).order_by("pk"))
    run_offline(launch_offline(study=study, kind="rules", by=owner).pk)
    variant = ensure_fake("fake second reader (invented)", "fake second reader", owner=owner)
    reader = ensure_annotator(study=study, name=variant.label, by=owner)
    families = ["themes", "challenges"]
    run(launch_preannotation(study=study, annotator=reader, families=families, interviews=interviews, by=owner))
    critic = ensure_fake("fake critic (invented)", "fake critic", owner=owner)
    run(launch_critic(annotator=reader, critic=critic, by=owner))
    return reader


def _judge_machines(study: Study, reader: Annotator, owner: User) -> None:
    """The lead looks at what people and machines say of the round, chooses for two codes, and audits the model."""
    interviews = list(study.interviews.filter(model_label=ROUND_MODEL).order_by("pk"))
    unblind_interviews(study=study, interviews=interviews, by=owner, where="calibration")
    kept, left = "theme.systemic_grounding", "theme.compassion"
    choose_annotator(study=study, code_identifier=kept, annotator=reader, reason="To try it (invented).", by=owner)
    choose_annotator(study=study, code_identifier=left, annotator=None, reason="People read it better.", by=owner)
    _sort_disagreements(study, reader, owner)
    verdicts = ("applies", "applies", "does_not", "unclear")
    audit = draw_positive_audit(annotator=reader, seed=1, per_code=4, by=owner)
    for place, item in enumerate(audit.items.order_by("position")):
        mark_positive(item=item, number=1, verdict=verdicts[place % 4], by=owner, idempotency_key=_key("mark", place))
    draft = open_draft_interview(
        study=study, interview=interviews[0], reason="To train a new coder (invented).", by=owner
    )
    close_draft_interview(study=study, draft=draft, by=owner)


def _sort_disagreements(study: Study, reader: Annotator, owner: User) -> None:
    """Why the model and people differ, for the first two sentences where it says what nobody coded."""
    suggested = Suggestion.objects.filter(annotator=reader, code__family__identifier="themes")
    suggested = suggested.select_related("sentence__turn__interview", "code")
    alone = (
        each
        for each in suggested.order_by("pk")
        if not Coding.objects.filter(sentence=each.sentence, code__identifier=each.code.identifier).exists()
    )
    for each, category in zip(islice(alone, 2), ("misreading", "definition"), strict=False):
        sort_disagreement(
            study=study,
            annotator=reader,
            sentence=each.sentence,
            code_identifier=each.code.identifier,
            category=category,
            note="Read together in the team (invented).",
            by=owner,
        )


def _audit_benchmark(study: Study, batch: Batch, readers: Sequence[User]) -> None:
    """Two people read a sample of answers blind; the study has a wording and tables of its own."""
    owner = readers[0]
    audit = draw_audit(batch=batch, scope="answers", size=5, seed=1, by=owner)
    for item in audit.items.select_related("audit__batch").order_by("position"):
        found: dict[str, Any] = {"outcome": item.outcome, "n_attributes": item.n_attributes}
        if item.position == 3:
            found = {"outcome": Outcome.UNKNOWN, "note": "It says nothing of a person."}
        for reader in readers:
            mark_item(item=item, number=1, idempotency_key=_key("item", item.position, reader.pk), by=reader, **found)
    rows = {target: dict(lists) for target, lists in find_rows(study).items()}
    rows["women"] = {**rows["women"], "self": [*rows["women"]["self"], "a woman of this study"]}
    save_mapping(study=study, rows=rows, reason="What the answers of this study say of women.", by=owner)
    targets = [{"raw": "wom", "target": "women"}, {"raw": "bla, wom", "target": "black", "secondary": "women"}]
    save_targets(study=study, rows=targets, reason="As the sources of this study label them.", by=owner)
    add_wording(study=study, name="two-names", based_on="paper", characteristics=["Age", "Gender"], by=owner)


def run(batch: Batch) -> None:
    """Have this process do what a worker would do."""
    for queue in batch.queues.all():
        live_run.run_queue(queue.pk)


def bring_in_experiment(study: Study, owner: User) -> None:
    """Lock the plan, load the units, and draw the sample that would be read."""
    experiment = experiments.lock_plan(study=study, plan=PLAN, by=owner)
    experiments.load_enrolments(experiment=experiment, data=UNITS_FILE.read_bytes(), by=owner)
    experiments.draw_audit(experiment=experiment, per_arm=THREADS_OF_EACH_ARM, seed=DRAWN_WITH, by=owner)
