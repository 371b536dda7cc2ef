"""What files tell is printed as people read it."""

import pytest

from transcripts.desk.exchanges import write_time, write_value


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("2026-03-01T10:00:05+00:00", "1 Mar 2026, 10:00:05 UTC"),
        ("2026-03-01 10:00:05.123456Z", "1 Mar 2026, 10:00:05 UTC"),
        ("2026-03-01T10:00:05-03:30", "1 Mar 2026, 10:00:05 UTC-03:30"),
        ("2026-03-01T10:00", "1 Mar 2026, 10:00:00"),
        ("2026-03-01T99:00", ""),
        ("2026-03", ""),
        ("at noon", ""),
    ],
)
def test_times_are_told_in_the_zone_that_they_name(given, shown):
    assert write_time(given) == shown


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ({"reward": 1.5, "passed": True}, "reward: 1.5, passed: yes"),
        (
            '{"setting": {"temperature": 0, "seeds": [1, 2]}, "note": null}',
            "setting: (temperature: 0, seeds: (1, 2)), note: –",
        ),
        (["a", False, {}], "a, no, –"),
        ("2026-03-01T10:00:05Z", "1 Mar 2026, 10:00:05 UTC"),
        ("{not JSON", "{not JSON"),
        ("[" * 100_000, "[" * 100_000),
        ("[" * 600 + "]" * 600, "[" * 600 + "]" * 600),
        ("plain words", "plain words"),
        (3, "3"),
    ],
)
def test_values_are_told_in_words(given, shown):
    assert write_value(given) == shown
