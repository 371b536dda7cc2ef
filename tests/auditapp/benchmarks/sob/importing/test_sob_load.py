import json
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from auditapp.benchmarks.sob.models import Dataset
from auditapp.benchmarks.sob.texts.actions.tables import save_targets
from tests.support.shared import shared

RAW = Path(__file__).resolve().parents[4] / "data" / "sob" / "raw"


def run(path, *words, name="texts"):
    out = StringIO()
    call_command("sob", "load", str(path), "--name", name, *words, "--json", stdout=out)
    return json.loads(out.getvalue())


def test_json_says_what_became_of_every_row(study):
    answer = run(RAW / "linghate.csv")
    assert (answer["read"], answer["kept"], answer["format"]) == (5, 4, "linghate")
    assert answer["dropped"] == {"the same text again in its source": 1}
    assert answer["strata"] == {
        "Jews": {"read": 2, "kept": 1},
        "Gays": {"read": 1, "kept": 1},
        "Muslims": {"read": 1, "kept": 1},
        "Women": {"read": 1, "kept": 1},
    }
    assert str(answer["source"]).startswith("LingHate")
    assert answer["warnings"] == ["row 4: the same text again in its source; dropped"]


def test_words_say_what_was_not_taken(study):
    out = StringIO()
    call_command("sob", "load", str(RAW / "hatecheck.csv"), "--name", "h", stdout=out)
    assert out.getvalue() == f"h: 3 texts loaded into {study.slug}.\n  5 rows read; left out: 2 not labelled hateful.\n"


def test_sample_is_drawn_as_asked(study):
    how = ["--sample", "2", "--by", "kind", "--method", "stratum", "--seed", "5", "--all-rows", "--drop-duplicates"]
    answer = run(RAW / "linghate.csv", *how)
    assert (answer["read"], answer["kept"]) == (5, 2)
    assert answer["dropped"] == {"the same text again in its source": 1, "not drawn": 2}
    assert answer["strata"] == {"ABUSE": {"read": 2, "kept": 1}, "OTHER": {"read": 2, "kept": 1}}
    assert answer["sampling"]["seed"] == 5


def test_targets_are_named_by_the_studys_table(study, owner):
    save_targets(study=study, rows=[{"raw": "Women", "target": "her"}], reason="Trial.", by=owner)
    answer = run(RAW / "linghate.csv", "--targets", "table:1", "--licence", "ours", "--split", "a half")
    assert (answer["targets"], answer["licence"], answer["split"]) == ("table:1", "ours", "a half")
    assert Dataset.objects.get().texts.get(target="her").target_raw == "Women"
    assert run(RAW / "linghate.csv", "--targets", "table", name="newest")["targets"] == "table:1"


def test_senseless_wish_is_refused_in_one_line(study):
    for words, sentence in [
        (["--targets", "mine"], "is not valid"),
        (["--targets", "table:x"], "is not valid"),
        (["--targets", "table:3"], "no target table 3"),
        (["--targets", "table"], "no table of targets yet"),
        (["--sample", "9"], "9 texts cannot be drawn from 3"),
        (["--sample", "2", "--seed", "-1"], "whole number"),
        (["--column", "text"], "is not a mapping"),
    ]:
        with pytest.raises(CommandError, match=sentence) as refusal:
            run(RAW / "hatecheck.csv", *words)
        assert "\n" not in str(refusal.value)
        assert not Dataset.objects.exists()


def test_prepared_table_loads_as_ever(study):
    answer = run(shared("data/sob/sob_inputs.csv"))
    assert (answer["texts"], answer["format"], answer["dropped"]) == (2457, "sob_inputs", {})
    assert answer["sampling"] == {}
    assert answer["targets"] == "file"
