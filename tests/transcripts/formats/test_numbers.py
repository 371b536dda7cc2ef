import pytest

from transcripts.statistics.figures import (
    Figure,
    Interval,
    round_percent,
    write_estimate,
    write_figure,
    write_interval,
    write_number,
    write_p,
    write_percent,
    write_percent_interval,
    write_points,
    write_signed,
)


def test_numbers_have_their_decimals_and_no_negative_nought():
    assert [write_number(value) for value in (None, 1 / 3, -0.001, -0.5)] == ["–", "0.33", "0.00", "−0.50"]
    assert [write_number(value, 3) for value in (0.5, -0.0001)] == ["0.500", "0.000"]


def test_an_estimate_has_its_interval_in_brackets_where_there_is_one():
    assert write_estimate(0.25, None) == "0.250"
    assert write_estimate(0.25, (-0.0001, 0.5)) == "0.250 [0.000, 0.500]"
    assert write_estimate(1.5, (1, 2), 1) == "1.5 [1.0, 2.0]"


def test_p_values_below_what_three_decimals_show_are_told_so():
    assert [write_p(value) for value in (None, 0.5, 0.001, 0.0000021)] == ["–", "0.500", "0.001", "< 0.001"]


def test_a_difference_shows_its_sign_and_nought_has_none():
    assert [write_signed(value) for value in (0.1234, -0.1234, -0.0001, 0.0, None)] == [
        "+0.123",
        "−0.123",
        "0.000",
        "0.000",
        "–",
    ]


def test_a_half_is_rounded_up_and_a_large_number_keeps_its_digits():
    assert [write_number(value, 1) for value in (0.25, 0.35, -0.25)] == ["0.3", "0.4", "−0.3"]
    assert write_number(123456789012345.678, 1) == "123456789012345.7"


def test_shares_and_their_ends_are_in_per_cent():
    assert [write_percent(value) for value in (None, 0.3456, 1)] == ["–", "34.6 %", "100.0 %"]
    assert write_percent_interval((-0.1, 0.25)) == "−10.0 to 25.0 %"
    assert [write_points(value) for value in (None, -0.034, 0.0)] == ["–", "−3.4 points", "0.0 points"]


def test_a_figure_says_how_few_clusters_it_is_of():
    few = Figure(0.824, interval=Interval(-0.01, 1.0), clusters=7)
    assert write_figure(few) == "0.82, −0.01 to 1.00, few"
    assert write_figure(few._replace(clusters=12)) == "0.82, −0.01 to 1.00, rough"
    assert write_figure(few._replace(clusters=20)) == "0.82, −0.01 to 1.00"
    assert write_figure(Figure(reason="nothing to count", clusters=0)) == "nothing to count"


def test_an_interval_names_both_ends():
    assert write_interval([-0.0821, 0.3]) == "−0.082 to 0.300"
    assert write_interval(None) == "–"


@pytest.mark.parametrize(
    ("part", "whole", "percent"),
    [
        (53, 552, 10),
        (29, 30, 97),
        (2, 67, 3),
        (1, 200, 1),
        (1, 201, 0),
        (551, 552, 99),
        (552, 552, 100),
        (0, 7, 0),
        (0, 0, 0),
    ],
)
def test_percentages_are_rounded_and_100_means_all(part, whole, percent):
    assert round_percent(part, whole) == percent
