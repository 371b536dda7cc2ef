"""Threads of one kind and one model are counted, unless all together are asked for."""

import pytest

from tests.transcripts.negotiation.report_lines import Coder, Line, make_thread, read
from transcripts.negotiation.pure.report import NotThere, make_report


def make_lines(**threads):
    """Threads by name, of the kind and model that are given as "kind/model"; ana codes a move in each."""
    ana, lines = Coder(), list[Line]()
    for name, place in threads.items():
        kind, _, model = place.partition("/")
        lines += [*make_thread(name, kind=kind, model=model), ana.move(2, "elicit", thread=name)]
    return lines


LINES = make_lines(a1="interview/A", a2="interview/A", b="interview/B", run="trajectory/C", run2="trajectory/C")


def report(lines, **asked):
    return make_report(read(lines), **{"kind": "", "model": "", **asked})


def test_interviews_of_the_model_with_most_coded_threads_are_counted_and_the_others_are_told():
    found = report(LINES)
    assert [found[name] for name in ("threads", "kind", "model", "left_out")] == [2, "interview", "A", 3]
    assert found["by_coder"]["ana"]["presence"]["move.elicit"]["enacted"]["front"] == 2
    assert found["warnings"][-1] == (
        "Of 5 threads only those of kind interview and model A are counted: 2. Choose another, or * to count all together."
    )


def test_the_model_is_that_of_the_coder_who_is_asked_for():
    ben = Coder("ben")
    assert report([*LINES, ben.move(2, "elicit", thread="b")], coders=["ben"])["model"] == "B"


def test_all_are_together_where_that_is_asked():
    found = report(LINES, kind="*", model="*")
    assert [found[name] for name in ("threads", "kind", "model", "left_out")] == [5, None, None, 0]
    assert found["by_coder"] == make_report(read(LINES))["by_coder"]


@pytest.mark.parametrize(
    ("asked", "threads"),
    [({"model": "B"}, 1), ({"model": "*"}, 3), ({"kind": "trajectory"}, 2), ({"kind": "*"}, 2), ({"model": "C"}, 2)],
)
def test_another_model_or_kind_can_be_asked_for(asked, threads):
    assert report(LINES, **asked)["threads"] == threads


def test_threads_whose_model_is_not_known_are_asked_for_by_a_hyphen():
    lines = make_lines(a="interview/A", a2="interview/A", x="interview/")
    assert report(lines)["model"] == "A"
    found = report(lines, model="-")
    assert (found["threads"], found["model"]) == (1, "-")


def test_a_file_that_names_no_model_is_counted_whole():
    found = report([*make_thread("a"), *make_thread("b")])
    assert [found[name] for name in ("threads", "kind", "model", "left_out")] == [2, None, None, 0]
    assert found["warnings"] == []


def test_what_hangs_on_a_thread_goes_with_it():
    ben = Coder("ben")
    pair = {"record": "pair", "pair": "p", "a": "a", "b": "b", "expect": "change"}
    entry = ben.enter(2, "power", "supported", thread="b")
    link = {"record": "link", "coding": entry["id"], "kind": "warrant", "turn": 1}
    score = {"record": "score", "thread": "b", "stance": "care/1", "criterion": "moves", "coder": "ben", "value": 3}
    lines = [*make_lines(a="interview/A", b="interview/B"), entry, link, score, pair, ben.decide(2, thread="b")]
    alone, together = report(lines, model="A"), report(lines, model="*")
    assert "care/1" in together["stances"]
    assert alone["stances"] == {}
    assert together["by_coder"]["ben"]["ledger"]["threads"].keys() == {"b"}
    assert (alone["coders"], together["coders"]) == (["ana"], ["ana", "ben"])
    assert not any("pairs of threads were not compared" in warning for warning in alone["warnings"])


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"model": "Z"}, "There is no model Z; there are: A, B, C."),
        ({"kind": "play"}, "There is no kind play; there are: interview, trajectory."),
    ],
)
def test_a_model_or_kind_that_is_not_there_is_told_with_those_that_are(asked, words):
    with pytest.raises(NotThere) as refused:
        report(LINES, **asked)
    assert str(refused.value) == words
