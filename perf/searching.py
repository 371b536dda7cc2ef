"""Searching and filtering a study of at least 50,000 sentences, as one coder does it over HTTP."""

from __future__ import annotations

import time
from urllib.parse import urlencode

from perf.results import Measured, Row, find_median, find_percentile
from perf.serving import PRODUCT, serve
from perf.setup import Setup
from perf.study import Person, prepare_study

SLOWEST_MS = 400.0
ROUNDS = 5
INTERVIEWS = 320  # of 160 sentences each, questions not counted
CODINGS = 30_000
# A word that nearly every sentence has, a phrase, words that nothing has, and every filter.
ASKED: dict[str, dict[str, str]] = {
    "a common word": {"words": "what"},
    "two words": {"words": "neighbour custom"},
    "a phrase": {"words": '"the neighbour upstairs"'},
    "nothing": {"words": "zygomorphic"},
    "uncoded": {"state": "uncoded"},
    "decided": {"state": "decided"},
    "changed since": {"state": "stale"},
    "with a memo": {"state": "memo"},
    "a code": {"code": "theme.balance"},
    "a code and a word": {"code": "theme.balance", "words": "custom"},
    "latent": {"level": "latent"},
}


def measure(setup: Setup) -> Measured:
    """The 95th percentile over all questions, and the slowest question's median."""
    setup.tell(f"search: a study of {INTERVIEWS} interviews")
    study = prepare_study(setup.folder / "search", interviews=INTERVIEWS, coders=0, codings=CODINGS)
    found: dict[str, list[float]] = {name: [] for name in ASKED}
    failures: list[str] = []
    with serve(PRODUCT, environment=study.instance.environment, log=setup.folder / "web.log") as server:
        person = Person(study, "annotator", server.port)
        for number in range(ROUNDS + 1):
            for name, asked in ASKED.items():
                request = person.get(f"/p/{study.slug}/search/?{urlencode(asked)}")
                start = time.perf_counter()
                answer = person.connection.exchange(request)
                # The first round opens database connections and compiles templates.
                if number:
                    found[name].append((time.perf_counter() - start) * 1000)
                if answer.status != 200:
                    failures.append(f"{name}: {answer.status}")
    sentences = sum(len(each) for each in study.answers.values())
    every = [each for times in found.values() for each in times]
    slowest = max(found, key=lambda name: find_median(found[name]))
    p95 = find_percentile(every, 95)
    row = Row(
        f"search, {sentences:,} sentences",
        f"p50 {find_median(every):.0f} ms, p95 {p95:.0f}; slowest is {slowest} ({find_median(found[slowest]):.0f})",
        f"p95 <= {SLOWEST_MS:.0f} ms",
        p95 <= SLOWEST_MS and not failures,
    )
    return Measured([row], {"milliseconds": found, "sentences": sentences, "failures": failures[:20]})
