"""From the five published files to the paper's texts as one set, by commands alone, and how far that is the paper's own."""

import json
from collections import Counter
from io import StringIO

import pytest
from django.core.management import call_command

from auditapp.benchmarks.sob.models import Dataset, Text
from auditapp.benchmarks.sob.pure.instruments import TARGETS
from tests.support.shared import shared

RAW = {
    "dynab": "dynab_sampled_500.csv",
    "hatecheck": "hatecheck_test.csv",
    "ishate": "ishate_test.csv.gz",
    "linghate": "linguistic_informed_data.csv",
    "toxigen": "toxigen_annotated_test.csv",
}
SIZES = {"dynab": 500, "hatecheck": 500, "ishate": 500, "linghate": 499, "toxigen": 458}
# Texts of each target: by the published table, and in the prepared one. Others agree.
DIFFERENT = {
    "muslim": (327, 425),
    "jew": (210, 269),
    "immigrant": (212, 213),
    "black": (185, 212),
    "asian": (90, 103),
    "mexican": (49, 52),
    "arab": (43, 45),
    "non white": (9, 35),
    "race": (96, 19),
    "nation": (23, 10),
    "religion": (151, 0),
    "mixed race": (0, 8),
    "chinese": (0, 2),
    "white": (0, 2),
}


def run(*words):
    out = StringIO()
    call_command(*words, "--json", stdout=out)
    return json.loads(out.getvalue())


@pytest.fixture
def combined(study):
    for name, file in RAW.items():
        run("sob", "load", str(shared(f"data/sob/raw/{file}")), "--name", name)
    return run("sob", "combine", *RAW, "--name", "whole")


def find_texts(name):
    return {(text.source, text.text): text for text in Text.objects.filter(dataset__name=name)}


def test_five_sources_come_to_the_papers_texts_with_its_targets_but_for_what_was_set_by_hand(combined):
    assert (combined["read"], combined["kept"], combined["dropped"]) == (2457, 2457, {})
    assert combined["strata"] == {name: {"read": size, "kept": size} for name, size in SIZES.items()}
    assert combined["targets"] == "published"
    warnings = combined["warnings"]
    assert isinstance(warnings, list)
    assert sum("the same text in more than one source" in warning for warning in warnings) == 1

    run("sob", "load", str(shared("data/sob/sob_inputs.csv")), "--name", "prepared")
    ours, prepared = find_texts("whole"), find_texts("prepared")
    assert Counter(source for source, _ in ours) == Counter(source for source, _ in prepared) == SIZES
    # One sentence is damaged to a spreadsheet's error mark in theirs.
    assert [key for key in prepared if key not in ours] == [("linghate", "#NAME?")]
    both = ours.keys() & prepared.keys()
    assert len(both) == 2456

    counts = [Counter(text.target for text in texts.values()) for texts in (ours, prepared)]
    found = {target: (counts[0][target], counts[1][target]) for target in counts[0] | counts[1]}
    assert {target: pair for target, pair in found.items() if pair[0] != pair[1]} == DIFFERENT
    assert [sum(count[target] for target in TARGETS) for count in counts] == [2047, 2250]
    moved = [key for key in both if ours[key].target != prepared[key].target]
    assert Counter(source for source, _ in moved) == {"ishate": 233, "dynab": 8}
    assert {ours[key].target_raw for key in moved} == {
        "Religious Groups",
        "Ethnic/Racial Minorities",
        "Nationalities/Regions",
        "mixed.race",
    }


def test_prepared_targets_can_be_had_for_the_texts_of_the_sources_by_no_table_alone(study):
    """One label of a source leads to several targets in the prepared table, so no table of labels gives it back."""
    run("sob", "load", str(shared("data/sob/sob_inputs.csv")), "--name", "prepared")
    targets = {}
    for text in Dataset.objects.get(name="prepared").texts.all():
        targets.setdefault((text.source, text.target_raw), set()).add(text.target)
    several = {key: found for key, found in targets.items() if len(found) > 1}
    assert {source for source, _ in several} == {"ishate"}
    assert len(several["ishate", "Religious Groups"]) > 1
