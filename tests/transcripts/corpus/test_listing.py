"""The list of interviews: who works on them, what is searched, kept and sorted, and what is done with all that match."""

import json

import pytest
from django.urls import reverse
from django.utils import timezone

from tests.transcripts.coding.cast import decide, find_code, put
from transcripts.corpus.actions import import_file
from transcripts.corpus.models import Sentence
from transcripts.corpus.queries import list_consenting, list_matching, read_wanted
from transcripts.rounds.models import Assignment, Round


@pytest.fixture
def talks(study, owner, coder, second_coder):
    """Three interviews: the coder is through with the second and has begun the third, which another is to code."""
    said = [("a", "Beta", "One. Two."), ("b", "alpha", "Three."), ("c", "Gamma", "Four. Five.")]
    lines = [
        json.dumps({"id": name, "title": title, "model": f"M {name}", "turns": [{"role": "model", "text": text}]})
        for name, title, text in said
    ]
    import_file(study=study, name="three.jsonl", data="\n".join(lines).encode(), by=owner)
    talks = list(study.interviews.order_by("pk"))
    decide(first_sentence(talks[1]), coder)
    put(first_sentence(talks[2]), find_code(study, "theme.balance"), coder)
    now = timezone.now()
    round_ = Round.objects.create(study=study, number=1, name="R", opened_at=now, opened_by_name="x")
    Assignment.objects.create(
        round=round_, interview=talks[2], coder=second_coder, assigned_at=now, assigned_by_name="x"
    )
    return talks


def first_sentence(talk):
    return Sentence.objects.select_related("turn__interview").filter(turn__interview=talk).order_by("position")[0]


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ({}, "abc"),
        ({"q": "ALPH"}, "b"),
        ({"q": "c"}, "c"),
        ({"model": "M a"}, "a"),
        ({"stage": "none"}, "a"),
        ({"stage": "begun"}, "c"),
        ({"stage": "complete"}, "b"),
        ({"coder": "coder"}, "bc"),
        ({"coder": "second_coder"}, "c"),
        ({"sort": "title"}, "bac"),
        ({"sort": "sentences"}, "acb"),
        ({"sort": "progress"}, "acb"),
        ({"sort": "activity"}, "cba"),
        ({"sort": "nonsense", "stage": "nonsense"}, "abc"),
    ],
)
def test_what_is_shown_and_in_which_order(study, talks, asked, expected):
    assert "".join(row.external_id for row in list_matching(study, read_wanted(asked), None)) == expected


def test_a_lead_sees_everybodys_progress_and_a_coder_her_own(study, talks, lead, coder, second_coder, client_of):
    path = reverse("corpus:interviews", args=[study.slug])
    everybody = client_of(lead).get(path).context["page"][2].work
    assert [(each.name, each.decided, each.total, each.is_assigned) for each in everybody.people] == [
        ("coder", 1, 2, False),
        ("second_coder", 0, 2, True),
    ]
    page = client_of(second_coder).get(path)
    assert [[each.name for each in row.work.people] for row in page.context["page"]] == [[], [], ["second_coder"]]
    assert page.context["page"][1].work.last is None


def test_all_that_match_are_archived(study, talks, lead, coder, client_of):
    form = {"every": "1", "stage": "complete", "sort": "", "reason": "Done elsewhere."}
    path = reverse("corpus:add_to_archive", args=[study.slug])
    assert client_of(coder).post(path, form).status_code == 403
    client_of(lead).post(path, form)
    assert list(study.interviews.order_by("pk")) == [talks[0], talks[2]]


def test_consent_is_recorded_for_all_that_match(study, talks, lead, client_of):
    form = {"every": "1", "q": "alpha", "sort": "", "scope": "external", "given": "given", "basis": "A letter."}
    client_of(lead).post(reverse("corpus:record_consent", args=[study.slug]), form)
    assert list_consenting([talk.pk for talk in talks], "external") == {talks[1].pk}


def test_runs_are_found_by_what_their_files_tell_of_them(study, owner, reader, client_of):
    lines = [
        {"id": name, "kind": "trajectory", "run": run, "turns": [{"role": "model", "text": "Done."}]}
        for name, run in {
            "x": {"task": "files", "status": "success", "epoch": 1},
            "y": {"task": "files", "status": "error", "epoch": 2},
            "z": {"task": "mail = spam", "status": "success", "epoch": 1},
        }.items()
    ]
    data = "\n".join(json.dumps(line) for line in lines).encode()
    import_file(study=study, name="runs.jsonl", data=data, by=owner)

    def find(**asked):
        return "".join(row.external_id for row in list_matching(study, read_wanted(asked), None))

    assert find(run="task=files") == "xy"
    assert find(run="status=success") == "xz"
    assert find(run="epoch=2") == "y"
    assert find(run="task=mail = spam") == "z"
    assert find(run="password=x", kind="trajectory") == "xyz"
    page = client_of(reader).get(reverse("corpus:interviews", args=[study.slug]), {"run": "task=files"})
    assert '<option value="task=files" selected>Task: files</option>' in page.content.decode()
