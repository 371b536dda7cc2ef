"""Trials and files of our own making for the tests of the probe."""

import json

from auditapp.benchmarks.gender_cues.pure.tables import Trial

RULES = {"name": "long enough", "steps": [{"name": "three words", "rule": "length", "unit": "words", "at_least": 3}]}


def make_trial(
    key, truth="woman", predicted="woman", *, status="ok", condition="primed", codes=("Emotion",), model="", review=""
):
    return Trial(key, model, condition, review or key, truth, status, predicted if status == "ok" else None, codes)


def write_answer(gender, *codes, **rationales):
    """An answer in the published layout. ``rationales`` by category, with an underscore for a blank."""
    lines = [f"{number}. {name.replace('_', ' ')}: {said}" for number, (name, said) in enumerate(rationales.items(), 1)]
    return "\n".join(
        [*lines, "**Gender:**", f"-{gender}", "**Codes Applied:**", *(f"-{code}" for code in codes or ["None"])]
    )


def write_csv(rows):
    """A CSV of texts with their categories."""
    return "".join(["text,category\n", *(f"{text},{category}\n" for text, category in rows)]).encode()


def write_lines(*rows):
    return "".join(json.dumps(row) + "\n" for row in rows).encode()
