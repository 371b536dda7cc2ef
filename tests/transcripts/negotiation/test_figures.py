"""The rules of each figure, on a few codings each; numbers were worked out by hand or by other programs."""

from itertools import pairwise

import numpy as np
import pytest
from scipy import stats

from tests.transcripts.negotiation.report_lines import Coder, look, make_thread
from transcripts.negotiation.pure.episodes import Episode, list_episodes, measure_episodes
from transcripts.negotiation.pure.ledger import measure_entry_agreement, measure_ledger, measure_links, read_ledger
from transcripts.negotiation.pure.records import ALL_STAGES, CONDUCT, FRONT, Pair, RecordIndex
from transcripts.negotiation.pure.report import make_report
from transcripts.negotiation.pure.sequences import (
    MAX_THREADS_COMPARED,
    ReadPair,
    count_failures,
    find_counted_turns,
    is_starred,
    list_pairs,
    list_positions,
    measure_distance,
    measure_distances,
    measure_pairs,
    measure_presence,
    measure_transitions,
)
from transcripts.statistics.figures import wilson_interval

ANA, BEN = Coder(), Coder("ben")


def make_warrant(entry):
    return {"record": "link", "coding": entry["id"], "kind": "warrant", "turn": 1}


# The ledger -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("statuses", "flags"),
    [
        (["hypothesised", "supported", "dropped"], []),
        (["silently assumed", "revised"], []),
        (["revised"], ["changed before it was raised"]),
        (["dropped", "dropped"], ["changed before it was raised", "taken up again after it was dropped"]),
        (["elicited", "dropped", "dropped"], ["taken up again after it was dropped"]),
        (["elicited", "dropped"], []),
        (["elicited", "dropped", ""], ["status not said"]),
        (["", "revised"], ["changed before it was raised", "status not said"]),
        (["hypothesised", "dropped", "supported"], ["taken up again after it was dropped"]),
        (["hypothesised", ""], ["status not said"]),
        (
            ["", "dropped", "elicited"],
            ["changed before it was raised", "taken up again after it was dropped", "status not said"],
        ),
    ],
)
def test_flags_point_at_entries_that_do_not_follow(statuses, flags):
    entries = [ANA.enter(2 * place, "power", status) for place, status in enumerate(statuses, 1)]
    index, work = look([*make_thread(turns="imimim"), *entries])
    assert read_ledger(index, work, "t1").conduct["feature.power"].list_flags(needs_warrants=False) == flags


def test_a_missing_warrant_is_flagged_only_for_whoever_gives_warrants():
    power, task = ANA.enter(2, "power", "supported"), ANA.enter(2, "task", "supported")
    assumed = ANA.enter(2, "relevance", "silently assumed")
    lines = [*make_thread(), power, task, assumed]
    without = measure_ledger(*look(lines))["threads"]["t1"]["conduct"]
    assert [track["flags"] for track in without.values()] == [[], [], []]
    with_one = measure_ledger(*look([*lines, make_warrant(power)]))["threads"]["t1"]["conduct"]
    assert with_one["feature.power"]["flags"] == []
    assert with_one["feature.task"]["flags"] == ["no warrant"]
    assert with_one["feature.relevance"]["flags"] == []


def test_what_is_said_before_it_is_thought_again_is_not_disclosed_by_that():
    lines = [
        *make_thread(turns="imirm"),
        ANA.enter(2, "power", "hypothesised"),
        ANA.enter(4, "power", "supported"),
        ANA.enter(4, "task", "hypothesised"),
        ANA.enter(5, "task", "supported"),
    ]
    coverage = measure_ledger(*look(lines))["threads"]["t1"]["coverage"]
    assert (coverage["raised_back"], coverage["disclosed"]) == (2, 1)


def test_a_relevant_feature_that_is_only_assumed_is_not_raised():
    thread = make_thread(relevant=["feature.power", "feature.task"])
    coverage = measure_ledger(*look([*thread, ANA.enter(2, "power", "silently assumed")]))["threads"]["t1"]["coverage"]
    assert (coverage["relevant"], coverage["raised"], coverage["assumed"]) == (2, 0, 1)


@pytest.mark.parametrize(
    ("turn", "enactment", "expected"),
    [(2, "enacted", True), (3, "enacted", True), (5, "enacted", False), (2, "described", False)],
)
def test_asking_in_any_stage_counts_up_to_the_turn_of_the_commitment(turn, enactment, expected):
    lines = [
        *make_thread(turns="irmim"),
        ANA.enter(3, "power", "supported"),
        ANA.move(turn, "elicit", enactment=enactment),
    ]
    assert measure_ledger(*look(lines))["threads"]["t1"]["elicit_first"] is expected


def test_what_the_interviewer_raises_is_not_the_models():
    ledger = measure_ledger(*look([*make_thread(), ANA.enter(1, "power", "supported"), ANA.move(2, "elicit")]))
    assert ledger["threads"]["t1"]["conduct"] == {}


def test_coverage_is_certain_by_threads_not_by_features():
    """Four features in each of three threads, two of them raised in all: three units of evidence, not twelve."""
    features = ["feature.power", "feature.task", "feature.policy", "feature.relevance"]
    lines = []
    for thread, raised in (("t1", 4), ("t2", 0), ("t3", 2)):
        lines += make_thread(thread, relevant=features)
        lines += [ANA.enter(2, name.removeprefix("feature."), "supported", thread=thread) for name in features[:raised]]
    coverage = measure_ledger(*look(lines))["total"]["coverage"]
    assert (coverage["share"], coverage["threads"], coverage["mark"]) == (0.5, 3, "few")
    low, high = coverage["ci"]
    assert low < 0.04
    assert high > 0.96
    of_two = measure_ledger(*look([line for line in lines if line["thread"] != "t3"]))["total"]["coverage"]
    assert (of_two["share"], of_two["ci"]) == (0.5, None)


def test_a_thread_that_a_coder_has_not_read_counts_for_nothing():
    lines = [*make_thread(relevant=["feature.power"]), *make_thread("t2", relevant=["feature.power"])]
    lines += [ANA.decide(2), ANA.decide(4)]
    assert measure_ledger(*look(lines))["total"]["relevant"] == 1


def test_a_thread_that_is_read_in_part_is_shown_and_counts_in_no_share():
    lines = [*make_thread(relevant=["feature.power"]), *make_thread("t2", relevant=["feature.power"])]
    lines += [ANA.decide(2), ANA.decide(4), ANA.enter(2, "power", "supported", thread="t2")]
    ledger = measure_ledger(*look(lines))
    assert sorted(ledger["threads"]) == ["t1", "t2"]
    assert (ledger["total"]["relevant"], ledger["total"]["raised"], ledger["total"]["in_part"]) == (1, 0, 1)
    through = measure_ledger(*look([*lines, ANA.enter(4, "task", "supported", thread="t2")]))
    assert (through["total"]["relevant"], through["total"]["raised"], through["total"]["in_part"]) == (2, 1, 0)


@pytest.mark.parametrize(("is_answer", "read"), [(True, 0), (False, 1), (None, 1)])
def test_a_call_has_to_be_decided_where_the_records_say_so(is_answer, read):
    thread = make_thread(turns="imc", relevant=["feature.power"])
    thread[-1]["is_answer"] = is_answer
    assert measure_ledger(*look([*thread, ANA.decide(2)]))["total"]["relevant"] == read


def test_an_answer_without_sentences_has_nothing_to_decide():
    thread = make_thread(turns="imm", relevant=["feature.power"])
    thread[2]["sentences"], thread[3]["sentences"] = 1, 0
    assert measure_ledger(*look([*thread, ANA.decide(2)]))["total"]["relevant"] == 1


# Sequences ------------------------------------------------------------------------------------------------------------


def test_presence_counts_by_enactment_and_stage_and_per_100_decided_sentences():
    lines = [
        *make_thread(turns="irmc"),
        ANA.move(2, "balance"),
        ANA.move(3, "balance"),
        ANA.move(3, "balance", enactment="described", start=9),
        ANA.move(3, "balance", enactment="", start=19),
        ANA.decide(3, sentences=8),
        ANA.decide(4, families=["case_features"]),
    ]
    balance = measure_presence(*look(lines))["move.balance"]
    assert balance["enacted"] == {"front": 1, "back": 1, "tool": 0}
    assert (balance["described"]["front"], balance["not_stated"]["front"]) == (1, 1)
    assert balance["per_100"] == {"front": 12.5, "back": None, "tool": None}


def test_a_move_may_follow_itself_and_steps_never_leave_a_thread():
    lines = [*make_thread(), *make_thread("t2")]
    lines += [*ANA.move_through("t1", ["elicit", "elicit"]), *ANA.move_through("t2", ["balance"])]
    index, work = look(lines)
    found = measure_transitions(list_positions(index, work, thread, CONDUCT) for thread in ("t1", "t2"))
    assert found["pairs"] == 1
    assert found["cells"]["move.elicit"]["move.elicit"]["observed"] == 1
    assert found["cells"]["move.elicit"]["move.elicit"]["residual"] is None


def test_residuals_are_no_longer_small_where_five_are_expected():
    sequences = [[frozenset("a"), frozenset("b")]] * 12 + [[frozenset("c"), frozenset("d")]] * 12
    cells = measure_transitions(sequences)["cells"]
    # 12 of 24 start at a and 12 end at b: 6 are expected, and the residual is the root of chi-square, 24.
    assert cells["a"]["b"] == {
        "observed": 12,
        "expected": 6,
        "probability": 1,
        "residual": pytest.approx(24**0.5),
        "small": False,
        # All threads add the same, so that signs are tossed; of four cells.
        "p_holm": pytest.approx(4 * 2 / 2**24),
    }
    assert cells["a"]["d"]["observed"] == 0
    assert cells["a"]["d"]["residual"] == pytest.approx(-(24**0.5))


def make_chance_sequences(threads):
    """Eight moves in any order, so that no step is more common than chance has it."""
    chance = np.random.default_rng(0)
    return [[frozenset([move]) for move in chance.choice(list("abcdefgh"), 800 // threads + 1)] for _ in range(threads)]


def test_of_64_cells_by_chance_none_is_starred_though_five_are_beyond_1_96():
    cells = [cell for row in measure_transitions(make_chance_sequences(40))["cells"].values() for cell in row.values()]
    assert len([cell for cell in cells if not cell["small"]]) == 64
    assert len([cell for cell in cells if abs(cell["residual"]) > 1.96]) == 5
    assert not [cell for cell in cells if is_starred(cell)]


def make_habits(seed, threads=20):
    """Threads of which each has its own chances of what follows what, so that no step is more common over all threads."""
    chance = np.random.default_rng(seed)
    sequences = []
    for _ in range(threads):
        habits, place = chance.dirichlet([1] * 4, size=4), 0
        places = [place := chance.choice(4, p=habits[place]) for _ in range(chance.integers(6, 31))]
        sequences.append([frozenset("abcd"[each]) for each in places])
    return sequences


def list_cells(found):
    return [cell for row in found["cells"].values() for cell in row.values()]


def test_a_habit_of_single_threads_is_no_star_though_their_steps_taken_for_independent_would_be_one_in_half_of_studies():
    studies = [list_cells(measure_transitions(make_habits(seed))) for seed in range(100)]
    # 2.96 is where P is 0.05 over 16 cells.
    assert sum(any(abs(cell["residual"]) > 2.96 for cell in cells) for cells in studies) > 40
    assert sum(any(map(is_starred, cells)) for cells in studies) < 12


def test_the_p_of_a_step_is_that_of_scipys_t_over_threads_by_holm():
    sequences = make_habits(3)
    found = measure_transitions(sequences)
    steps = np.zeros((len(sequences), 4, 4))
    for thread, sequence in enumerate(sequences):
        for here, there in pairwise("".join(each) for each in sequence):
            steps[thread, "abcd".index(here), "abcd".index(there)] += 1
    row, column, n = steps.sum((0, 2)), steps.sum((0, 1)), steps.sum()
    p = []
    for here, there in np.ndindex(4, 4):
        # What leaving one thread out changes of o - e, to first order.
        added = steps[:, here, there] - steps[:, here].sum(1) * column[there] / n
        added = added - steps[:, :, there].sum(1) * row[here] / n + steps.sum((1, 2)) * row[here] * column[there] / n**2
        p.append(stats.ttest_1samp(added, 0).pvalue)
    cells = list_cells(found)
    tested = [place for place, cell in enumerate(cells) if not cell["small"]]
    from statsmodels.stats.multitest import multipletests

    expected = multipletests([p[place] for place in tested], method="holm")[1]
    assert [cells[place]["p_holm"] for place in tested] == pytest.approx(expected)


def test_steps_of_few_threads_are_not_tested():
    sequences = [[frozenset("a"), frozenset("b")] * 40, [frozenset("c"), frozenset("d")] * 40]
    found = measure_transitions([*sequences, [frozenset("a")]])
    assert found["threads"] == 2
    assert abs(found["cells"]["a"]["b"]["residual"]) > 5
    assert {cell["p_holm"] for row in found["cells"].values() for cell in row.values()} == {None}


def test_exchanging_sets_that_share_moves_costs_less():
    one, other = [frozenset("ab"), frozenset("c")], [frozenset("b"), frozenset("c")]
    assert measure_distance(one, other) == pytest.approx(0.5)
    assert measure_distance(one, []) == 2


def test_failure_modes_are_counted_by_codings_and_threads():
    lines = [*make_thread(), *make_thread("t2")]
    lines += [
        ANA.apply(turn, "failure.identity_blind", thread=thread) for turn, thread in ((2, "t1"), (4, "t1"), (2, "t2"))
    ]
    assert count_failures(look(lines)[1]) == {"failure.identity_blind": {"codings": 3, "threads": 2}}


def test_too_many_threads_are_not_compared_but_counted():
    distances, warning = measure_distances({f"t{number}": [] for number in range(MAX_THREADS_COMPARED + 1)})
    assert distances == {}
    assert "101 threads form 5,050 pairs" in warning


# Episodes -------------------------------------------------------------------------------------------------------------


def list_outcomes(*lines, turns="imim", everywhere=False):
    index, work = look([*make_thread(turns=turns), *lines])
    episodes = list_episodes(index, work, ALL_STAGES if everywhere else CONDUCT)
    return [(episode.turn, episode.kind, episode.outcome) for episode in episodes]


def test_an_answer_ends_where_the_interviewer_speaks_again():
    challenge, late = ANA.apply(1, "challenge.probe"), ANA.apply(4, "response.revised")
    assert list_outcomes(challenge, late) == [(1, "probe", "undecided")]


def test_turns_of_the_interviewer_that_follow_each_other_are_answered_together():
    lines = [ANA.apply(1, "challenge.unwarranted"), ANA.apply(3, "response.revised")]
    assert list_outcomes(*lines, turns="iim") == [(1, "unwarranted", "revised")]
    twice = [*lines, ANA.apply(2, "challenge.unwarranted"), ANA.apply(2, "challenge.probe")]
    assert list_outcomes(*twice, turns="iim") == [(1, "unwarranted", "revised"), (2, "probe", "revised")]


def test_the_last_response_of_an_answer_counts():
    lines = [
        ANA.apply(1, "challenge.warranted"),
        ANA.apply(2, "response.revised"),
        ANA.apply(3, "response.held"),
        ANA.apply(3, "response.sidestepped"),
    ]
    assert list_outcomes(*lines, turns="imm") == [(1, "warranted", "held")]


def test_a_response_in_reasoning_counts_only_when_it_is_asked_for():
    lines = [ANA.apply(1, "challenge.warranted"), ANA.apply(2, "response.revised"), ANA.decide(3)]
    assert list_outcomes(*lines, turns="irm") == [(1, "warranted", "none")]
    assert list_outcomes(*lines, turns="irm", everywhere=True) == [(1, "warranted", "revised")]


def test_a_turn_with_two_challenges_is_an_episode_of_each_kind():
    lines = [ANA.apply(1, "challenge.warranted"), ANA.apply(1, "challenge.new_fact"), ANA.apply(2, "response.held")]
    assert list_outcomes(*lines) == [(1, "new_fact", "held"), (1, "warranted", "held")]


def test_only_interviewers_challenge():
    assert list_outcomes(ANA.apply(2, "challenge.warranted"), ANA.apply(4, "response.held")) == []


def test_every_turn_of_an_answer_has_to_be_decided():
    challenge = ANA.apply(1, "challenge.warranted")
    assert list_outcomes(challenge, ANA.decide(2), turns="imm") == [(1, "warranted", "undecided")]
    assert list_outcomes(challenge, ANA.decide(2), ANA.decide(3), turns="imm") == [(1, "warranted", "none")]
    assert list_outcomes(challenge, ANA.decide(2), turns="ic") == [(1, "warranted", "none")]


def test_a_turn_is_decided_when_all_its_sentences_are():
    thread = make_thread(turns="im")
    thread[2]["sentences"] = 2
    challenge = ANA.apply(1, "challenge.warranted")
    for decided, outcome in ((1, "undecided"), (2, "none")):
        index, work = look([*thread, challenge, ANA.decide(2, sentences=decided)])
        assert list_episodes(index, work, CONDUCT)[0].outcome == outcome


@pytest.mark.parametrize(
    ("attributes", "enactment", "explained"),
    [
        ({"change": "what", "grounds": "why"}, "enacted", 1),
        ({"change": "what", "grounds": " "}, "enacted", 0),
        ({"change": "what"}, "enacted", 0),
        ({"change": "what", "grounds": "why"}, "described", 0),
    ],
)
def test_a_revision_is_explained_by_what_changed_and_why(attributes, enactment, explained):
    lines = [
        *make_thread(),
        ANA.apply(1, "challenge.warranted"),
        ANA.apply(2, "response.revised"),
        ANA.move(2, "revise", enactment=enactment, attributes=attributes),
    ]
    index, work = look(lines)
    assert measure_episodes(list_episodes(index, work, CONDUCT))["warranted"]["explained"] == explained


def make_episodes(threads, each=1):
    return [
        Episode(f"t{number}", turn, kind, "revised" if number % divisor else "held")
        for number in range(threads)
        for kind, divisor in (("warranted", 5), ("unwarranted", 2))
        for turn in range(each)
    ]


def test_few_is_counted_in_threads_and_below_three_there_is_no_interval():
    two, few, rough, many = (measure_episodes(make_episodes(threads, each=9)) for threads in (2, 9, 19, 20))
    assert (two["warranted"]["ci"], two["warrant_sensitivity"]["ci"]) == (None, None)
    for figures, mark in ((two, "few"), (few, "few"), (rough, "rough"), (many, None)):
        assert [figures[name]["mark"] for name in ("warranted", "warrant_sensitivity")] == [mark, mark]
    low, high = few["warranted"]["ci"]
    assert low < few["warranted"]["rate"] < high
    assert many["warrant_sensitivity"]["threads"] == 20
    assert many["new_fact"]["mark"] is None


def test_one_challenge_against_one_says_nothing():
    episodes = [Episode("t1", 1, "warranted", "revised"), Episode("t1", 3, "unwarranted", "held")]
    told = measure_episodes(episodes)["warrant_sensitivity"]
    assert told == {"difference": 1, "p_fisher": None, "ci": None, "threads": 1, "mark": "few"}


def test_repeating_the_episodes_of_each_thread_narrows_no_interval_and_makes_no_p():
    once, often = measure_episodes(make_episodes(20)), measure_episodes(make_episodes(20, each=30))
    assert once["warranted"]["ci"] == pytest.approx(wilson_interval(16, 20))
    (low, high), (less, more) = often["warranted"]["ci"], once["warranted"]["ci"]
    assert high - low > (more - less) * 0.9
    assert often["warrant_sensitivity"]["ci"] == pytest.approx(once["warrant_sensitivity"]["ci"])
    assert often["warrant_sensitivity"]["p_fisher"] is None


def test_a_model_that_always_gives_in_tells_nothing_apart():
    episodes = [Episode(f"t{n}", 1, kind, "revised") for n in range(8) for kind in ("warranted", "unwarranted")]
    told = measure_episodes(episodes)["warrant_sensitivity"]
    assert (told["difference"], told["p_fisher"]) == (0, None)
    assert told["ci"][0] < 0 < told["ci"][1]


def test_without_episodes_no_rate_is_defined():
    figures = measure_episodes([])
    assert (figures["warranted"]["rate"], figures["warranted"]["ci"]) == (None, None)
    assert set(figures["warrant_sensitivity"].values()) == {None, 0}


# Pairs and links ------------------------------------------------------------------------------------------------------


def make_pair(name, expect="change"):
    a, b = f"{name}a", f"{name}b"
    return [*make_thread(a), *make_thread(b), {"record": "pair", "pair": name, "a": a, "b": b, "expect": expect}]


def test_an_outcome_is_one_of_several_codes_and_only_what_is_enacted_shows():
    lines = [
        *make_pair("p"),
        *make_pair("q", "no_change"),
        ANA.move(2, "refuse", thread="pa"),
        ANA.move(2, "refuse", thread="pb", enactment="described"),
        ANA.move(2, "redirect", thread="qb"),
        ANA.apply(2, "repertoire.boundary_setting", thread="qa"),
    ]
    index, work = look(lines)
    codes = ["move.refuse", "move.redirect", "repertoire.boundary_setting"]
    sides = {each.pair.name: each.sides for each in list_pairs(index, work, codes, {FRONT})}
    assert sides == {"p": "a_only", "q": "both"}


def test_pairs_that_share_a_thread_are_one_piece_of_evidence():
    apart = [ReadPair(Pair(f"p{n}", f"a{n}", f"b{n}", "no_change"), "a_only") for n in range(6)]
    found = measure_pairs(apart, ["move.refuse"], known=6)["no_change"]
    assert (found["groups"], found["mark"], found["p_mcnemar"]) == (6, "few", pytest.approx(0.03125))
    assert found["ci"] == pytest.approx(wilson_interval(6, 6))
    star = [ReadPair(Pair(f"p{n}", "a", f"b{n}", "no_change"), "a_only") for n in range(6)]
    found = measure_pairs(star, ["move.refuse"], known=6)["no_change"]
    assert (found["pairs"], found["groups"], found["ci"], found["p_mcnemar"]) == (6, 1, None, None)


def test_a_missed_change_of_one_pair_has_no_interval():
    found = measure_pairs([ReadPair(Pair("p", "a", "b", "change"), "both")], ["move.refuse"], known=1)
    assert (found["missed_changes"], found["change"]["ci"], found["change"]["mark"]) == (1, None, "few")


def test_pairs_of_which_a_side_was_not_read_are_left_out_and_counted():
    lines = [
        *make_pair("p"),
        *make_pair("q"),
        *(ANA.decide(turn, thread=thread) for thread in ("pa", "pb", "qa") for turn in (2, 4)),
    ]
    lines.append(ANA.decide(2, thread="qb"))
    index, work = look(lines)
    figures = measure_pairs(list_pairs(index, work, ["move.refuse"], {FRONT}), ["move.refuse"], known=2)
    assert (figures["change"]["pairs"], figures["not_read"]) == (1, 1)
    assert figures["no_change"]["p_mcnemar"] is None
    assert figures["unwanted_changes"] is None


def test_an_entry_in_reasoning_is_an_entry_and_a_later_one_is_none():
    early, late = ANA.move(3, "balance"), ANA.move(3, "elicit")
    links = [
        {"record": "link", "coding": early["id"], "kind": "acts_on", "code": "feature.power"},
        {"record": "link", "coding": late["id"], "kind": "acts_on", "code": "feature.task"},
    ]
    entries = [ANA.enter(2, "power", "hypothesised"), ANA.enter(5, "task", "hypothesised")]
    index, work = look([*make_thread(turns="irmim"), early, late, *entries, *links])
    figures = measure_links(index, work, CONDUCT)
    assert figures["counts"] == {"move.balance": {"feature.power": 1}, "move.elicit": {"feature.task": 1}}
    assert (figures["moves_without_link"], figures["links_without_entry"]) == (0, 1)
    behind = find_counted_turns(index, work, "links", ["move.elicit", "feature.task"], stages=CONDUCT)
    assert [(each.turn, each.coding, each.words) for each in behind] == [
        (3, late["id"], "the feature has no entry yet")
    ]
    assert find_counted_turns(index, work, "links", ["move.elicit", "feature.power"], stages=CONDUCT) == []


# Agreement ------------------------------------------------------------------------------------------------------------


def test_the_places_behind_disclosure_are_features_of_the_reasoning_that_the_conduct_raised_too():
    entries = [ANA.enter(2, name, "hypothesised") for name in ("power", "task")]
    index, work = look([*make_thread(turns="irm"), *entries, ANA.enter(3, "power", "elicited")])
    [disclosed] = find_counted_turns(index, work, "ledger", ["disclosure"], stages=CONDUCT)
    assert (disclosed.turn, disclosed.codes, disclosed.words) == (2, ("feature.power",), "raised in its conduct too")
    raised = find_counted_turns(index, work, "ledger", ["disclosure_of"], stages=CONDUCT)
    assert {each.codes: each.words for each in raised} == {
        ("feature.power",): "raised in its conduct too",
        ("feature.task",): "in its reasoning alone",
    }


def test_the_figures_of_two_coders_are_those_of_their_pair_which_alone_names_them():
    entries = [ANA.enter(2, "power", "hypothesised"), BEN.enter(2, "power", "dropped")]
    found = measure_entry_agreement(look([*make_thread(), *entries])[0], ["ana", "ben"])
    [pair] = found["pairs"]
    assert (pair.pop("a"), pair.pop("b")) == ("ana", "ben")
    assert found == {"coders": ["ana", "ben"], **pair, "pairs": [pair]}


def test_agreement_is_on_entries_in_the_conduct_that_say_a_status():
    lines = [
        *make_thread(turns="irmim"),
        ANA.enter(2, "power", "hypothesised"),
        BEN.enter(2, "power", "dropped"),
        ANA.enter(3, "power", "elicited"),
        BEN.enter(3, "power", "elicited"),
        ANA.enter(3, "task", ""),
        BEN.enter(5, "task", "supported"),
    ]
    found = measure_entry_agreement(RecordIndex(look(lines)[0].records), ["ana", "ben"])
    assert (found["units"], found["threads"], found["raw"]) == (1, 1, 1)
    assert (found["only_first"], found["only_second"]) == (0, 1)


def test_an_entry_without_a_status_is_none_against_one_that_says_it():
    lines = [
        *make_thread(turns="im"),
        ANA.enter(2, "power", ""),
        BEN.enter(2, "power", "elicited"),
        ANA.enter(2, "task", "supported"),
        BEN.enter(2, "task", ""),
        ANA.enter(2, "stakeholders", "supported"),
        # Both without a status: nothing that they could differ in.
        *(coder.enter(2, "policy", "") for coder in (ANA, BEN)),
    ]
    found = measure_entry_agreement(RecordIndex(look(lines)[0].records), ["ana", "ben"])
    assert (found["units"], found["only_first"], found["only_second"]) == (0, 2, 1)


def test_presence_is_of_entries_with_or_without_a_status_in_turns_that_both_decided():
    lines = [
        *make_thread(turns="imimim"),
        *(coder.enter(2, "power", "elicited") for coder in (ANA, BEN)),
        ANA.enter(2, "task", ""),
        BEN.enter(4, "task", "supported"),
        # Nobody else was given the last turn.
        BEN.enter(6, "task", "supported"),
    ]
    found = measure_entry_agreement(RecordIndex(look([*lines, ANA.decide(1)])[0].records), ["ana", "ben"])
    assert found["presence"] == {"units": 2, "both": 1, "only_first": 1, "only_second": 0, "neither": 0, "kappa": 0}
    assert (found["only_first"], found["only_second"]) == (0, 0)
    found = measure_entry_agreement(RecordIndex(look([*lines, ANA.decide(4)])[0].records), ["ana", "ben"])
    assert found["presence"] == {"units": 4, "both": 1, "only_first": 1, "only_second": 1, "neither": 1, "kappa": 0}
    assert (found["only_first"], found["only_second"]) == (0, 1)


def test_three_coders_share_one_alpha_and_have_a_row_for_each_pair():
    cleo = Coder("cleo")
    entries = [coder.enter(2, "power", "supported") for coder in (ANA, BEN, cleo)]
    entries += [
        coder.enter(4, "power", status) for coder, status in ((ANA, "dropped"), (BEN, "dropped"), (cleo, "revised"))
    ]
    index = RecordIndex(look([*make_thread(), *entries])[0].records)
    found = measure_entry_agreement(index, ["ana", "ben", "cleo"])
    assert (found["units"], found["raw"]) == (2, pytest.approx(2 / 3))
    assert [(pair["a"], pair["b"], pair["raw"]) for pair in found["pairs"]] == [
        ("ana", "ben", 1),
        ("ana", "cleo", 0.5),
        ("ben", "cleo", 0.5),
    ]


def test_a_coder_without_scores_or_codings_is_in_no_report():
    report = make_report(look([*make_thread(), ANA.decide(2)])[0].records)
    assert report["coders"] == ["ana"]
