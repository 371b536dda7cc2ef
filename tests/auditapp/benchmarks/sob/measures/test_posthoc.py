import math

import pytest
from scipy.stats import false_discovery_control, t
from statsmodels.stats.multitest import multipletests

from auditapp.benchmarks.sob.pure.instruments import TARGETS
from auditapp.benchmarks.sob.pure.ranks import RankedBlocks, compare_conover, compare_nemenyi, rank_blocks
from tests.auditapp.benchmarks.sob.measures.test_ranks import read_published
from transcripts.statistics.significance import adjust_benjamini_hochberg, adjust_holm


def rank_published(task):
    return rank_blocks(read_published(task), TARGETS)


# Worked example AC07.
def test_nemenyi_critical_difference_of_the_published_table():
    found = compare_nemenyi(rank_published("non_acceptability"), task="t")
    assert found["critical_difference"] == pytest.approx(3.910418, abs=5e-7)
    assert (found["method"], found["adjustment"], len(found["pairs"])) == ("nemenyi", None, 45)


def test_only_pairs_with_the_extreme_targets_separate_by_nemenyi():
    separate = {
        task: {
            frozenset((pair["a"], pair["b"]))
            for pair in compare_nemenyi(rank_published(task), task=task)["pairs"]
            if pair["p"] < 0.05
        }
        for task in ("acceptability", "non_acceptability")
    }
    assert separate["acceptability"] == {
        frozenset(("disabled", other)) for other in ("mexican", "immigrant", "asian", "black")
    }
    assert separate["non_acceptability"] == {
        frozenset(pair)
        for pair in (("disabled", "mexican"), ("disabled", "immigrant"), ("muslim", "mexican"), ("women", "mexican"))
    }


def test_nemenyi_p_crosses_alpha_at_the_critical_difference():
    found = compare_nemenyi(rank_published("acceptability"), task="t")
    assert found["critical_difference"] is not None
    for pair in found["pairs"]:
        assert (pair["p"] < found["alpha"]) == (abs(pair["difference"]) > found["critical_difference"])


def test_conover_follows_its_formula_on_a_small_table():
    # Ranks 1 2 3, 1 3 2, 2 1 3, 1 2 3: sums 5 8 11, A = 56, so 2 (4 x 56 - 210) / 6 = 14 / 3.
    rows = [[1, 2, 3], [1, 3, 2], [2, 1, 3], [1, 2, 3]]
    ranked = RankedBlocks(("a", "b", "c"), [list(map(float, row)) for row in rows], ())
    found = compare_conover(ranked, task="t")
    spread = math.sqrt(14 / 3)
    assert [pair["statistic"] for pair in found["pairs"]] == pytest.approx([3 / spread, 6 / spread, 3 / spread])
    assert [pair["p"] for pair in found["pairs"]] == pytest.approx([2 * t.sf(each / spread, 6) for each in (3, 6, 3)])
    assert [pair["difference"] for pair in found["pairs"]] == [-0.75, -1.5, -0.75]
    assert (found["adjustment"], found["critical_difference"]) == ("holm", None)
    chances = [pair["p"] for pair in found["pairs"]]
    assert [pair["p_adjusted_bh"] for pair in found["pairs"]] == adjust_benjamini_hochberg(chances)


def test_conover_under_full_agreement_is_infinite_and_says_so_without_a_number():
    ranked = RankedBlocks(("a", "b", "c"), [[1.0, 2.5, 2.5]] * 3, ())
    assert [(pair["statistic"], pair["p"]) for pair in compare_conover(ranked, task="t")["pairs"]] == [
        (None, 0.0),
        (None, 0.0),
        (0.0, 1.0),
    ]


def test_holm_agrees_with_statsmodels():
    chances = [0.01, 0.04, 0.03, 0.005, 0.9, 0.5]
    assert adjust_holm(chances) == pytest.approx(multipletests(chances, method="holm")[1].tolist())
    assert adjust_holm([]) == []


# The fifteen p of Benjamini and Hochberg 1995, section 4.1: at 0.05, theirs names the first four, and Holm's the first three.
PUBLISHED = [
    *(0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344),
    *(0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.0000),
]


def test_benjamini_hochberg_names_the_published_four_and_holm_three():
    assert [p <= 0.05 for p in adjust_benjamini_hochberg(PUBLISHED)] == [True] * 4 + [False] * 11
    assert [p <= 0.05 for p in adjust_holm(PUBLISHED)] == [True] * 3 + [False] * 12


@pytest.mark.parametrize("chances", [PUBLISHED, PUBLISHED[::-1], [0.01, 0.04, 0.03, 0.03, 0.9, 0.5, 0.0], [0.7], []])
def test_benjamini_hochberg_agrees_with_scipy_and_never_exceeds_holm(chances):
    adjusted = adjust_benjamini_hochberg(chances)
    assert adjusted == pytest.approx(false_discovery_control(chances).tolist() if chances else [])
    assert all(bh <= holm + 1e-12 for bh, holm in zip(adjusted, adjust_holm(chances), strict=True))
