"""Who may do what, for every address of the API: the table below is the whole policy."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple
from uuid import uuid4

import pytest
from django.urls import URLPattern, reverse

from auditapp.api import urls
from tests.auditapp.evaluation.cast import make_annotator
from tests.conftest import make_user
from tests.support.whole_study import add_experiment, add_export, add_probe, add_provider_job, add_run, add_session
from tests.transcripts.coding.cast import find_code, put
from transcripts.accounts.models import User
from transcripts.analysis.notebook.actions import write_memo
from transcripts.analysis.notebook.queries import Place
from transcripts.audit_trail import trail
from transcripts.blinding.actions import unblind_interviews
from transcripts.codebook.actions import start_study
from transcripts.coding.actions import decide_sentence
from transcripts.coding.actions.links import add_link
from transcripts.coding.models import Memo
from transcripts.corpus.actions import import_file
from transcripts.negotiation.actions import Evidence, pair_threads, put_score, write_stance
from transcripts.negotiation.models import NormativeStance

pytestmark = pytest.mark.django_db


class Row(NamedTuple):
    """What a method at a named address answers to each of the cast. ``own``: it acts on a coding of that person."""

    name: str
    method: str
    owner: int
    lead: int
    coder: int
    reader: int
    outsider: int


POLICY = [
    Row("studies", "GET", 200, 200, 200, 200, 200),
    Row("study", "GET", 200, 200, 200, 200, 404),
    Row("interviews", "GET", 200, 200, 200, 200, 404),
    Row("interviews", "POST", 200, 200, 403, 403, 404),
    Row("interview", "GET", 200, 200, 200, 200, 404),
    Row("sentences", "GET", 200, 200, 200, 200, 404),
    Row("turns", "GET", 200, 200, 200, 200, 404),
    Row("study_sentences", "GET", 200, 200, 200, 200, 404),
    Row("codebook", "GET", 200, 200, 200, 200, 404),
    Row("codebook", "POST", 200, 200, 403, 403, 404),
    Row("codebook_versions", "GET", 200, 200, 200, 200, 404),
    Row("publish", "POST", 200, 200, 403, 403, 404),
    Row("codings", "GET", 200, 200, 200, 200, 404),
    Row("codings", "POST", 201, 201, 201, 403, 404),
    # The coding is the coder's: to everybody else who codes it is not there.
    Row("withdraw", "POST", 404, 404, 200, 403, 404),
    Row("add_codings", "POST", 200, 200, 200, 403, 404),
    Row("decisions", "GET", 200, 200, 200, 200, 404),
    # The coder has decided on this sentence.
    Row("decisions", "POST", 201, 201, 200, 403, 404),
    Row("decide_sentences", "POST", 200, 200, 200, 403, 404),
    Row("reopen", "POST", 404, 404, 200, 403, 404),
    Row("exports", "GET", 200, 200, 200, 200, 404),
    # Whoever codes and sees all is not unblinded by a program.
    Row("export", "POST", 409, 409, 200, 200, 404),
    Row("export_file", "GET", 404, 404, 200, 404, 404),
    Row("take_export_file", "POST", 404, 404, 409, 404, 404),
    Row("memos", "GET", 200, 200, 200, 200, 404),
    Row("memos", "POST", 201, 201, 201, 403, 404),
    Row("revise_memo", "POST", 404, 404, 200, 403, 404),
    Row("withdraw_memo", "POST", 404, 404, 200, 403, 404),
    # Negotiation. An empty body is refused for its fields; the pair was made by the owner, and withdrawn by her first.
    Row("links", "GET", 200, 200, 200, 200, 404),
    Row("links", "POST", 422, 422, 422, 403, 404),
    Row("withdraw_link", "POST", 404, 404, 200, 403, 404),
    Row("normative_stances", "GET", 200, 200, 200, 200, 404),
    Row("normative_stances", "POST", 422, 422, 403, 403, 404),
    Row("scores", "GET", 200, 200, 200, 200, 404),
    Row("scores", "POST", 422, 422, 422, 403, 404),
    Row("withdraw_score", "POST", 404, 404, 200, 403, 404),
    Row("case_sheets", "GET", 200, 200, 200, 200, 404),
    Row("case_sheets", "POST", 422, 422, 403, 403, 404),
    Row("pairs", "GET", 200, 200, 200, 200, 404),
    Row("pairs", "POST", 422, 422, 403, 403, 404),
    Row("withdraw_pair", "POST", 200, 404, 403, 403, 404),
    Row("trajectory_report", "GET", 200, 200, 200, 200, 404),
    Row("sessions", "GET", 200, 200, 200, 200, 404),
    # The owner held it, the others may code its interview; a reader sees all.
    Row("session_questions", "GET", 200, 404, 404, 200, 404),
    Row("sessions", "POST", 422, 422, 403, 403, 404),
    Row("session_questions", "POST", 422, 404, 403, 403, 404),
    Row("branch_session", "POST", 422, 404, 403, 403, 404),
    Row("close_session", "POST", 422, 404, 403, 403, 404),
    Row("grants", "GET", 200, 200, 403, 403, 404),
    Row("batches", "GET", 200, 200, 200, 200, 404),
    Row("batch", "GET", 200, 200, 200, 200, 404),
    Row("sob_report", "GET", 200, 200, 200, 200, 404),
    Row("sob_comparison", "GET", 200, 200, 200, 200, 404),
    Row("probe_report", "GET", 200, 200, 403, 200, 404),
    Row("scenario_report", "GET", 200, 200, 403, 200, 404),
    Row("scripts", "GET", 200, 200, 403, 200, 404),
    Row("experiments", "GET", 200, 200, 403, 200, 404),
    Row("experiments", "POST", 422, 422, 403, 403, 404),
    Row("experiment_units", "POST", 422, 422, 403, 403, 404),
    Row("experiment_report", "GET", 200, 200, 403, 200, 404),
    Row("webhooks", "GET", 200, 200, 403, 403, 404),
    Row("webhooks", "POST", 201, 422, 403, 403, 404),
    # Launches, controls, answers: an empty launch is refused for its fields. The owner cancels the batch before the lead comes.
    Row("launch_preannotation", "POST", 422, 422, 403, 403, 404),
    Row("estimate_preannotation", "POST", 422, 422, 403, 403, 404),
    Row("launch_sob", "POST", 422, 422, 403, 403, 404),
    Row("estimate_sob", "POST", 422, 422, 403, 403, 404),
    Row("launch_scenarios", "POST", 422, 422, 403, 403, 404),
    Row("estimate_scenarios", "POST", 422, 422, 403, 403, 404),
    Row("batch_estimate", "GET", 200, 200, 403, 403, 404),
    Row("pause_batch", "POST", 200, 409, 403, 403, 404),
    Row("resume_batch", "POST", 200, 409, 403, 403, 404),
    Row("approve_batch", "POST", 200, 409, 403, 403, 404),
    Row("name_batch", "POST", 422, 422, 403, 403, 404),
    # No job of it is gone.
    Row("end_job", "POST", 409, 409, 403, 403, 404),
    Row("batch_answers", "GET", 200, 200, 403, 200, 404),
    Row("cancel_batch", "POST", 200, 200, 403, 403, 404),
    # Figures of people's and machines' labels.
    Row("models_compared", "GET", 200, 200, 200, 200, 404),
    Row("agreement", "GET", 200, 200, 403, 200, 404),
    Row("annotators", "GET", 200, 200, 403, 200, 404),
    Row("calibration", "GET", 200, 200, 403, 200, 404),
    Row("schema", "GET", 200, 200, 200, 200, 200),
]
TWO_CODES = Path(__file__).parents[2] / "data" / "codebook" / "two_codes.csv"
# The lead asks for the same address as the owner.
NEW_WEBHOOK = {"address": "https://example.org/hook", "events": ["batch.ended"]}
OF_A_BATCH = (
    *("batch_estimate", "pause_batch", "resume_batch", "approve_batch", "name_batch", "batch_answers", "cancel_batch"),
)
NEW_FILE = {"name": "f.jsonl", "content": '{"id": "new", "text": "It depends."}'}
OF_A_THING = {
    *("interview", "sentences", "turns", "batch", "sob_report", "sob_comparison", "probe_report", "scenario_report"),
    *OF_A_BATCH,
    "end_job",
    "calibration",
    *("withdraw", "reopen", "revise_memo", "withdraw_memo"),
    *("export_file", "take_export_file"),
    *("withdraw_link", "withdraw_pair", "withdraw_score"),
    *("experiment_units", "experiment_report"),
    *("session_questions", "branch_session", "close_session"),
}
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE")


@pytest.fixture
def people(owner, lead, coder, reader, outsider):
    return {"owner": owner, "lead": lead, "coder": coder, "reader": reader, "outsider": outsider}


@pytest.fixture
def paths(study, interview, sentence, batch, owner, coder, put_code):
    """Every named address of the API, with things that exist."""
    of_study = {"slug": study.slug}
    of_interview = {**of_study, "interview_id": interview.pk}
    of_batch = {**of_study, "batch_id": batch.pk}
    of_experiment = {**of_study, **add_experiment(study, owner)}
    of_session = {**of_study, "session_id": add_session(study, User.objects.get(username="owner"))["session_id"]}
    arguments = {
        "interview": of_interview,
        "sentences": of_interview,
        "turns": of_interview,
        "withdraw": {**of_study, "coding_id": put_code(coder).pk},
        "reopen": {**of_study, "decision_id": decide(study, sentence, coder)},
        "export": {**of_study, "what": "codings"},
        "export_file": {**of_study, "export_id": add_export(study, coder).pk},
        "take_export_file": {**of_study, "export_id": add_export(study, coder).pk},
        "publish": {**of_study, "number": 1},
        "withdraw_link": {**of_study, "link_id": link_up(study, sentence, coder)},
        "withdraw_score": {**of_study, "score_id": judge(study, sentence, coder)},
        "withdraw_pair": {**of_study, "pair_name": pair(study, interview)},
        **dict.fromkeys(("session_questions", "branch_session", "close_session"), of_session),
        "revise_memo": {**of_study, "memo_id": note(study, coder)},
        "withdraw_memo": {**of_study, "memo_id": note(study, coder)},
        **dict.fromkeys(("batch", "sob_report", *OF_A_BATCH), of_batch),
        "sob_comparison": {**of_batch, "other_id": batch.pk},
        "end_job": {**of_batch, "job_id": add_provider_job(batch)},
        "scenario_report": {**of_study, "batch_id": add_run(study, owner)["batch_id"]},
        "probe_report": {**of_study, "batch_id": add_probe(study, owner)["batch_id"]},
        **dict.fromkeys(("experiment_units", "experiment_report"), of_experiment),
        "calibration": {**of_study, "annotator_id": make_annotator(study).pk},
        "studies": {},
        "schema": {},
    }
    names = [pattern.name for pattern in urls.urlpatterns if isinstance(pattern, URLPattern) and pattern.name]
    addresses = {name: reverse(f"api:{name}", kwargs=dict(arguments.get(name, of_study))) for name in names}
    return {name: address.removeprefix("/api/v1/") for name, address in addresses.items()}


def link_up(study, sentence, by):
    move, feature = find_code(study, "move.elicit"), find_code(study, "feature.power")
    coding = put(sentence, move, by)
    link = add_link(study=study, coding=coding, kind="acts_on", code=feature, by=by, idempotency_key=uuid4())
    return link.pk


def judge(study, sentence, by):
    stance = NormativeStance(study=study, name="care", statement="Nobody is worse off.", author="The team")
    write_stance(stance=stance, by=User.objects.get(username="owner"))
    return put_score(
        study=study,
        stance=stance,
        interview=sentence.turn.interview,
        criterion="moves",
        value=2,
        evidence=[Evidence(sentence)],
        by=by,
        idempotency_key=uuid4(),
    ).pk


def pair(study, interview):
    line = b'{"id": "twin", "text": "It depends."}'
    import_file(study=study, name="twin.jsonl", data=line, by=trail.SYSTEM)
    twin = study.interviews.get(external_id="twin")
    owner = User.objects.get(username="owner")
    return pair_threads(
        study=study, name="twins", a=interview, b=twin, differs="Who asks.", expect="change", by=owner
    ).name


def decide(study, sentence, by):
    return decide_sentence(study=study, sentence=sentence, by=by, idempotency_key=uuid4()).pk


def note(study, by):
    place = Place(Memo.Subject.STUDY)
    return write_memo(study=study, place=place, text="N.", kind="reading", by=by, idempotency_key=uuid4()).pk


def ask(program, method, path, body):
    data = json.dumps(body).encode() if method in {"POST", "PUT", "PATCH"} else b""
    kind = "application/x-ndjson" if path.endswith("/bulk/") else "application/json"
    return program.ask(method, path, data=data, content_type=kind)


def new_coding(sentence, code):
    return {
        "sentence": sentence.pk,
        "code": code.identifier,
        "level": "latent",
        "note": "n",
        "idempotency_key": str(uuid4()),
    }


def test_every_address_has_a_row_in_the_policy(paths):
    assert set(paths) == {row.name for row in POLICY}


def test_each_role_gets_what_the_policy_says(people, paths, program_of, sentence, code):
    for name, person in people.items():
        program = program_of(person)
        for row in POLICY:
            decision = {"sentence": sentence.pk, "idempotency_key": str(uuid4())}
            memo = {"text": "A note.", "idempotency_key": str(uuid4())}
            bodies = {
                "codings": new_coding(sentence, code),
                "interviews": NEW_FILE,
                "decisions": decision,
                "codebook": {"name": "two.csv", "content": TWO_CODES.read_text(encoding="utf-8"), "dry_run": True},
                "memos": memo,
                "revise_memo": memo,
                "export": {"format": "csv"},
                "webhooks": NEW_WEBHOOK,
            }
            body = bodies.get(row.name, {})
            answer = ask(program, row.method, paths[row.name], body)
            assert answer.status == getattr(row, name), (row.method, row.name, name)


def test_other_methods_are_refused_to_members_and_hidden_from_outsiders(people, paths, program_of):
    taken = {(row.name, row.method) for row in POLICY}
    lead, outsider = program_of(people["lead"]), program_of(people["outsider"])
    for name, path in paths.items():
        for method in METHODS:
            if (name, method) not in taken:
                answer = ask(lead, method, path, {})
                assert (answer.status, answer.error["code"]) == (405, "method_not_allowed"), (name, method)
                assert answer.headers["Allow"]
                hidden = 404 if path.startswith("studies/culture") else 405
                assert ask(outsider, method, path, {}).status == hidden


def test_things_of_another_study_are_not_there(people, paths, program_of, owner):
    """A member of both studies cannot reach the first one's things through the second."""
    other = start_study(slug="other", name="Other", by=owner)
    program = program_of(owner)
    for row in POLICY:
        if row.name in OF_A_THING:
            path = paths[row.name].replace("studies/culture/", f"studies/{other.slug}/")
            assert ask(program, row.method, path, {}).status == 404


def test_an_outsider_learns_nothing_about_which_studies_exist(study, outsider, program_of):
    program = program_of(outsider)
    assert program.get(f"studies/{study.slug}/").body == program.get("studies/no-such-study/").body


def test_the_owner_of_the_site_reads_every_study(study, program_of):
    site_owner = make_user("site_owner")
    User.objects.filter(pk=site_owner.pk).update(is_superuser=True)
    site_owner.refresh_from_db()
    answer = program_of(site_owner).get("studies/")
    assert [(row["slug"], row["role"]) for row in answer.body["results"]] == [(study.slug, "owner")]


def test_a_coder_sees_only_her_own_codings_whatever_she_asks_for(
    study, interview, coder, second_coder, lead, put_code, program_of
):
    own = put_code(coder)
    for other in (second_coder, lead):
        put_code(other)
    program = program_of(coder)
    path = f"studies/{study.slug}/codings/"
    for query in ({}, {"interview": str(interview.pk)}, {"withdrawn": "any"}, {"code": "theme.balance"}):
        found = program.get(path, **query).body
        assert [row["id"] for row in found["results"]] == [own.pk]
        assert found["count"] == 1
    assert program.get(path, coder="second_coder").body["results"] == []


def test_nothing_a_coder_reads_changes_when_another_codes(paths, coder, second_coder, put_code, program_of):
    program = program_of(coder)
    asked = [(path, {}) for name, path in paths.items() if name != "withdraw"]
    asked += [(paths["codings"], {"coder": name, "withdrawn": "any"}) for name in ("second_coder", "nobody")]
    before = [program.get(path, **query).body for path, query in asked]
    put_code(second_coder)
    assert [program.get(path, **query).body for path, query in asked] == before
    # A coder who has codings and a name nobody bears look the same.
    assert before[-2] == before[-1]


def test_a_reader_sees_the_codings_of_all_and_a_lead_who_codes_those_of_unblinded_interviews(
    study, interview, coder, second_coder, lead, reader, put_code, program_of
):
    put_code(coder)
    put_code(second_coder)
    own = put_code(lead)

    def find(person):
        found = program_of(person).get(f"studies/{study.slug}/codings/").body
        return [row["coder"] for row in found["results"]], found["hidden_interviews"]

    everybody = [coder.username, second_coder.username, own.coder.username]
    assert find(reader) == (everybody, 0)
    assert find(lead) == ([lead.username], 1)
    assert find(coder) == ([coder.username], 0)
    unblind_interviews(study=study, interviews=[interview], by=lead, where="search")
    assert find(lead) == (everybody, 0)
