"""Learning codes from codings: TF-IDF of words, one logistic regression per code. Knows nothing of Django.

Features of a sentence are its words, pairs of words and the first five letters of longer words (which stand in for endings),
weighted by TF-IDF with sublinear counts (Salton and Buckley 1988, Information Processing & Management 24:513). Runs of three to
five letters instead of words took five times as long and are not used.

How well a code was learnt is measured on interviews that were not used for learning: interviews are divided into five parts, and
each part is annotated by a classifier learnt from the others. The threshold is the one with the highest F1 on these labels, among
all thresholds at which at least half of the suggestions are right and the suggestions are better than giving everything the code.
The figures of a part use the threshold chosen by the other parts, so that no sentence influences its own result; a code whose
figures do not satisfy the same rule is not learnt. Word frequencies, which know nothing of codes, are counted once.

scikit-learn is loaded when something is learnt, not by importing this.

How well codes can be learnt from a file of codings: one half of its texts is used for learning, the other half for testing.

A code that a study would not use is tested all the same, with the share of examples that have it as the threshold, so that its
figures can be seen.

The file is CSV with the columns unit, group, text and codes (several between semicolons), or JSON lines of such objects. A line
with ``theme`` and ``turns`` or ``text`` instead is one excerpt, as published in papers: every sentence of the model in it has the
theme of the excerpt, and an excerpt without a theme is left out. Knows nothing of Django.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from itertools import islice, pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from auditapp.annotators.pure.prompts import Prediction
from transcripts.codebook.pure.keyword_rules import find_places, find_words
from transcripts.refusals import Refused

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Numbers = NDArray[np.int64]
    Bools = NDArray[np.bool_]
    Shares = NDArray[np.float64]
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from transcripts.corpus.pure.segmenting import segment
from transcripts.formats.json_lines import Row, read_each, read_lines, refuse_field, take_name, take_text
from transcripts.formats.problems import ReadError, quote
from transcripts.formats.tabular import StrictTable
from transcripts.statistics.figures import wilson_interval

# The second version proposes a code that is applied once per answer for one sentence of it.
READER = "learnt-2"
MIN_POSITIVES = 20
MIN_INTERVIEWS = 3
PARTS = 5
MIN_PRECISION = 0.5
# A word that only one sentence has teaches nothing about others, but where there are few sentences all are kept.
FEW_SENTENCES = 500
STEM = 5
SHOWN_WORDS = 3
AT_ONCE = 2_000
NOT_LEARNT = (
    "On interviews it had not seen, its suggestions were wrong more often than right, or no better than chance."
)


def name_reader() -> str:
    """What determines the result of learning besides the examples: this module, and the release of scikit-learn.

    Raises ``LearningNotInstalled``.
    """
    try:
        return f"{READER}, scikit-learn {version('scikit-learn')}"
    except PackageNotFoundError:
        raise LearningNotInstalled from None


class LearningNotInstalled(Refused):
    """scikit-learn is an extra (`auditapp[learn]`) that this installation lacks."""

    def __init__(self) -> None:
        super().__init__(
            "Learning from codings needs scikit-learn, which is not installed here. Install it with: make learn"
        )


class NothingToLearn(ValueError):
    """The texts contain no words, or no code has enough examples; the sentence says which."""


class Lesson(NamedTuple):
    """Sentences with the interview of each; and, for each code, the places of the sentences that were decided for it, and
    whether they have the code."""

    texts: Sequence[str]
    interviews: Numbers
    codes: Mapping[str, tuple[Numbers, Bools]]


def count_examples(
    rows: Numbers,
    yes: Bools,
    interviews: Numbers,
    *,
    minimum: int = MIN_POSITIVES,
    fewest_interviews: int = MIN_INTERVIEWS,
) -> dict[str, Any]:
    """The examples for learning a code, as a recipe stores them: the examples at ``rows``, and whether they have the code.

    ``reason`` says why there are too few, if so. The threshold and the 2x2 table, from interviews that were not used for
    learning, are set only after learning.
    """
    positives = int(yes.sum())
    negatives = len(yes) - positives
    having = len(set(interviews[rows[yes]].tolist()))
    reason = ""
    if positives < minimum:
        reason = f"Positive examples: {positives} of {minimum} needed."
    elif having < fewest_interviews:
        reason = f"Interviews with an example: {having} of {fewest_interviews} needed."
    elif negatives < minimum:
        reason = f"Examples without the code: {negatives} of {minimum} needed for comparison."
    found = {"positives": positives, "negatives": negatives, "interviews": having, "reason": reason}
    return found | {"threshold": None, "parts": 0} | dict.fromkeys(("tp", "fp", "fn", "tn"))


Heartbeat = Callable[[int, int], object]
"""Called with the number of completed steps and the number of all steps."""


def learn(
    lesson: Lesson,
    *,
    minimum: int = MIN_POSITIVES,
    fewest_interviews: int = MIN_INTERVIEWS,
    seed: int,
    heartbeat: Heartbeat = lambda _done, _total: None,
) -> tuple[LearntReader, dict[str, dict[str, Any]]]:
    """The classifier, and the outcome of each code: the result of ``count_examples`` with the outcome of learning.

    ``heartbeat`` is called repeatedly with the progress, and may raise an exception to stop. Raises ``NothingToLearn``.
    """
    outcomes = {
        code: count_examples(rows, yes, lesson.interviews, minimum=minimum, fewest_interviews=fewest_interviews)
        for code, (rows, yes) in lesson.codes.items()
    }
    if all(each["reason"] for each in outcomes.values()):
        raise NothingToLearn("No code has enough examples yet.")
    words = _Words(lesson.texts)
    steps = len(lesson.codes)
    for number, (code, (rows, yes)) in enumerate(lesson.codes.items(), 1):
        if not outcomes[code]["reason"]:
            outcomes[code] |= _judge(words, lesson.interviews, rows, yes, seed=f"{seed} {code}")
        heartbeat(number, 2 * steps)
    thresholds = {code: each["threshold"] for code, each in outcomes.items() if each["threshold"] is not None}

    def tell(done: int, total: int) -> None:
        heartbeat(steps + done, steps + total)

    return fit(lesson, thresholds, heartbeat=tell, words=words), outcomes


def fit(
    lesson: Lesson,
    thresholds: Mapping[str, float],
    *,
    heartbeat: Heartbeat = lambda _done, _total: None,
    words: _Words | None = None,
) -> LearntReader:
    """The classifier for the codes that have a threshold, learnt from all examples. The same examples give the same
    classifier."""
    words = words or _Words(lesson.texts)
    models = {}
    for code, (rows, yes) in lesson.codes.items():
        if code in thresholds:
            models[code] = _fit_code(words.matrix[rows], yes)
            heartbeat(len(models), len(thresholds))
    return LearntReader(words, models, thresholds)


class LearntReader:
    """Suggests a code if its probability reaches the code's threshold, and abstains otherwise."""

    def __init__(
        self, words: _Words, models: Mapping[str, tuple[Shares, float]], thresholds: Mapping[str, float]
    ) -> None:
        import numpy as np

        self.codes = tuple(models)
        self._words = words
        self._weights = np.zeros((len(words.names), len(models)))
        for column, (weights, _) in enumerate(models.values()):
            self._weights[:, column] = weights
        self._offsets = np.array([offset for _, offset in models.values()])
        self._thresholds = np.array([thresholds[code] for code in models])

    def read(self, texts: Sequence[str]) -> list[list[Prediction]]:
        """Its suggestions for each sentence."""
        return [found for at in range(0, len(texts), AT_ONCE) for found in self._read(texts[at : at + AT_ONCE])]

    def score(self, texts: Sequence[str]) -> Shares:
        """Its probabilities: sentences x codes."""
        return self._score(self._words.weigh(texts))

    def _score(self, matrix: Any) -> Shares:
        return _to_shares(matrix @ self._weights + self._offsets)

    def _read(self, texts: Sequence[str]) -> list[list[Prediction]]:
        found: list[list[Prediction]] = [[] for _ in texts]
        if not self.codes:
            return found
        matrix = self._words.weigh(texts)
        scores = self._score(matrix)
        rows, columns = (scores >= self._thresholds).nonzero()
        for row, column in zip(rows.tolist(), columns.tolist(), strict=True):
            span = slice(matrix.indptr[row], matrix.indptr[row + 1])
            features = matrix.indices[span]
            said = matrix.data[span] * self._weights[features, column]
            named = (self._words.names[features[place]] for place in (-said).argsort(kind="stable") if said[place] > 0)
            # A beginning says no more than the word it is of.
            names = list(islice((name for name in named if not name.endswith("~")), SHOWN_WORDS))
            found[row].append(_explain(self.codes[column], float(scores[row, column]), names, texts[row]))
        return found


class _Words:
    """The words of all texts with their weights; ``matrix``: texts x features."""

    def __init__(self, texts: Sequence[str]) -> None:
        from sklearn.feature_extraction.text import TfidfVectorizer

        self._vectoriser = TfidfVectorizer(
            analyzer=list_features, min_df=1 if len(texts) < FEW_SENTENCES else 2, sublinear_tf=True
        )
        try:
            self.matrix: Any = self._vectoriser.fit_transform(texts)
        except ValueError as error:
            raise NothingToLearn("The coded sentences have no words in common.") from error
        self.names: list[str] = self._vectoriser.get_feature_names_out().tolist()

    def weigh(self, texts: Sequence[str]) -> Any:
        return self._vectoriser.transform(texts)


def list_features(text: str) -> list[str]:
    """Words, pairs of words, and beginnings of longer words (which end in a tilde)."""
    words = find_words(text)
    pairs = map(" ".join, pairwise(words))
    return [*words, *pairs, *(f"{word[:STEM]}~" for word in words if len(word) > STEM)]


def _fit_code(matrix: Any, yes: Bools) -> tuple[Shares, float]:
    """Weights and offset of one code, from its examples. If all examples are alike, only their share is used."""
    import numpy as np
    from sklearn.linear_model import LogisticRegression

    if yes.all() or not yes.any():
        return np.zeros(matrix.shape[1]), 20.0 if yes.all() else -20.0
    model = LogisticRegression(
        # The offset is regularised like a weight; scaled, it may be what the share of examples asks for.
        solver="liblinear",
        C=1.0,
        tol=1e-3,
        intercept_scaling=10,
        random_state=0,
    )
    model.fit(matrix, yes)
    return model.coef_[0], float(model.intercept_[0])


def _judge(words: _Words, interviews: Numbers, rows: Numbers, yes: Bools, *, seed: str) -> dict[str, Any]:
    """How well a code does on interviews that were not used for learning, and the threshold that they determine."""
    import numpy as np

    part_of = deal_parts(interviews[rows], yes, seed=seed)
    matrix = words.matrix[rows]
    scores = np.zeros(len(rows))
    for part in np.unique(part_of):
        held = part_of == part
        weights, offset = _fit_code(matrix[~held], yes[~held])
        scores[held] = _to_shares(matrix[held] @ weights + offset)
    said = np.zeros(len(rows), dtype=bool)
    for part in np.unique(part_of):
        held = part_of == part
        threshold = choose_threshold(scores[~held], yes[~held])
        if threshold is not None:
            said[held] = scores[held] >= threshold
    counts = (said & yes, said & ~yes, ~said & yes, ~said & ~yes)
    tp, fp, fn, tn = (int(each.sum()) for each in counts)
    # Half of the suggestions right, and more likely where the code is than where it is not.
    is_learnt = tp > 0 and tp >= MIN_PRECISION * (tp + fp) and tp * (fp + tn) > fp * (tp + fn)
    threshold = choose_threshold(scores, yes) if is_learnt else None
    cells = {"tp": tp, "fp": fp, "fn": fn, "tn": tn}
    reason = "" if threshold is not None else NOT_LEARNT
    return {"reason": reason, "threshold": threshold, "parts": int(part_of.max()) + 1, **cells}


def deal_parts(interviews: Numbers, yes: Bools, *, seed: str) -> Numbers:
    """The part of each example; all examples of an interview are in the same part. Interviews with the code are distributed
    first, evenly."""
    import numpy as np

    having = sorted(set(interviews[yes].tolist()))
    others = sorted(set(interviews.tolist()) - set(having))
    source = random.Random(seed)  # noqa: S311 - a sample, not a secret
    source.shuffle(having)
    source.shuffle(others)
    parts = min(PARTS, len(having))
    part_of = {interview: place % parts for place, interview in enumerate([*having, *others])}
    return np.array([part_of[interview] for interview in interviews.tolist()], dtype=np.int64)


def choose_threshold(scores: Shares, yes: Bools) -> float | None:
    """The score from which suggestions are made: the one with the highest F1 among those that have a precision of at least one
    half and suggest the code more often on sentences that have it than on others.

    If several have the same F1, the highest is used. The threshold is halfway to the next score, because even similar sentences
    never have exactly the same score.
    """
    import numpy as np

    if not yes.any():
        return None
    order = np.argsort(-scores, kind="stable")
    ordered = scores[order]
    hits = np.cumsum(yes[order])
    said = np.arange(1, len(scores) + 1)
    # Where the next score is the same no threshold lies between.
    is_end = np.append(ordered[1:] < ordered[:-1], True)
    positives, wrong = int(yes.sum()), said - hits
    is_telling = hits * (len(yes) - positives) > wrong * positives
    is_right = hits >= MIN_PRECISION * said
    f1 = np.where(is_end & is_right & (is_telling | (wrong == 0)), 2 * hits / (said + positives), 0.0)
    best = int(f1.argmax())
    if f1[best] == 0:
        return None
    following = ordered[best + 1] if best + 1 < len(ordered) else 0.0
    return float((ordered[best] + following) / 2)


def _to_shares(raw: Shares) -> Shares:
    import numpy as np

    shares: Shares = 1 / (1 + np.exp(-np.clip(raw, -500, 500)))
    return shares


def _explain(code: str, score: float, names: Sequence[str], text: str) -> Prediction:
    """A suggestion with the words that had the largest weights; its evidence is the place of the first of them."""
    if not names:
        return Prediction(code, "No single word had a positive weight.", score=score)
    shown = ", ".join(f"“{name}”" for name in names)
    words, wanted = find_words(text), names[0].split(" ")
    at = next(place for place in range(len(words)) if words[place : place + len(wanted)] == wanted)
    places = find_places(text)
    return Prediction(
        code, f"Words with the largest weights: {shown}.", places[at][0], places[at + len(wanted) - 1][1], score
    )


COLUMNS = ("unit", "group", "text", "codes")
MAX_FILE = 64 * 1024 * 1024


class CodedText(NamedTuple):
    """A decided sentence, the group (an interview or an excerpt) that it is from, and its codes."""

    unit: str
    group: str
    text: str
    codes: frozenset[str]


def read_texts(path: Path) -> list[CodedText]:
    """The texts of a file. Raises ``ReadError`` and ``OSError``."""
    if path.stat().st_size > MAX_FILE:
        raise ReadError(path.name, None, f"more than {MAX_FILE // 1024 // 1024} MB", "a smaller file")
    name = path.name
    texts: list[CodedText] = []
    seen: dict[str, int] = {}
    with path.open("rb") as lines:
        is_csv = path.suffix == ".csv"
        rows = StrictTable(lines, name=name, needed=COLUMNS).read_objects() if is_csv else read_lines(lines, name)
        for line, found in read_each(rows, name, _read_row if is_csv else _read_object):
            for text in found:
                if (first := seen.setdefault(text.unit, line)) != line:
                    raise ReadError(name, line, f"the unit {quote(text.unit)} of line {first} again", "each unit once")
            texts += found
    if not texts:
        raise ReadError(name, None, "no text", "at least one")
    return texts


def _read_object(row: Row) -> list[CodedText]:
    return list(_read_excerpt(row)) if "theme" in row else _read_row(row)


def _read_row(row: Row) -> list[CodedText]:
    codes = row.get("codes")
    named = codes.split(";") if isinstance(codes, str) else codes
    if not isinstance(named, list) or not all(isinstance(code, str) for code in named):
        raise refuse_field(row, ["codes"], "codes with semicolons between them, or a list of codes")
    unit, group, text = take_name(row, "unit"), take_name(row, "group"), take_text(row, "text")
    return [CodedText(unit, group, text, frozenset(filter(None, map(str.strip, named))))]


def _read_excerpt(row: Row) -> Iterator[CodedText]:
    if row["theme"] is None:
        return
    group, theme = take_name(row, "id"), take_text(row, "theme")
    turns = row["turns"] if "turns" in row else [{"role": "model", "text": take_text(row, "text")}]
    if not isinstance(turns, list) or not all(isinstance(turn, dict) for turn in turns):
        raise refuse_field(row, ["turns"], "a list of objects with role and text")
    said = [take_text(turn, "text", default="") for turn in turns if turn.get("role") == "model"]
    sentences = (text[span.start : span.end] for text in said for span in segment(text))
    for number, sentence in enumerate(sentences, 1):
        yield CodedText(f"{group}.{number}", group, sentence, frozenset([theme]))


def halve(texts: Sequence[CodedText], *, seed: int) -> tuple[list[CodedText], list[CodedText]]:
    """Texts for learning and texts for testing: two halves of the groups, balanced as far as possible for each code.

    Groups are assigned alternately, code by code, in a seeded order.
    """
    codes_of: dict[str, Counter[str]] = {}
    for text in texts:
        codes_of.setdefault(text.group, Counter()).update(text.codes)
    order = sorted(codes_of)
    random.Random(seed).shuffle(order)  # noqa: S311 - a sample, not a secret
    dealt: dict[str, int] = {}
    counts: Counter[str] = Counter()
    for group in order:
        main = min(codes_of[group], key=lambda code: (-codes_of[group][code], code)) if codes_of[group] else ""
        dealt[group] = counts[main] % 2
        counts[main] += 1
    return (
        [text for text in texts if dealt[text.group] == 0],
        [text for text in texts if dealt[text.group] == 1],
    )


def make_lesson(texts: Sequence[CodedText], codes: Sequence[str]) -> Lesson:
    """Every text counts as decided for every code."""
    import numpy as np

    groups = {group: number for number, group in enumerate(dict.fromkeys(text.group for text in texts))}
    rows = np.arange(len(texts))
    return Lesson(
        [text.text for text in texts],
        np.array([groups[text.group] for text in texts], dtype=np.int64),
        {code: (rows, np.array([code in text.codes for text in texts], dtype=bool)) for code in codes},
    )


def report_file(
    texts: Sequence[CodedText],
    *,
    seed: int,
    minimum: int = MIN_POSITIVES,
    fewest_groups: int = MIN_INTERVIEWS,
) -> dict[str, Any]:
    """By code: the examples, the threshold, and the 2x2 table of the half that was not used for learning.

    Raises ``NothingToLearn``."""
    taught, tested = halve(texts, seed=seed)
    codes = sorted({code for text in texts for code in text.codes})
    lesson = make_lesson(taught, codes)
    outcomes = _judge_file(lesson, minimum=minimum, fewest_groups=fewest_groups, seed=seed)
    thresholds = dict(_choose_thresholds(lesson, outcomes))
    picked = fit(lesson, thresholds).read([text.text for text in tested])
    said = [{pick.code for pick in picks} for picks in picked]
    return {
        "seed": seed,
        "minimum": minimum,
        "groups": fewest_groups,
        "taught": _count(taught),
        "read": _count(tested),
        "codes": {code: _score(code, found, thresholds.get(code), tested, said) for code, found in outcomes.items()},
    }


def _judge_file(lesson: Lesson, *, minimum: int, fewest_groups: int, seed: int) -> dict[str, dict[str, Any]]:
    try:
        return learn(lesson, minimum=minimum, fewest_interviews=fewest_groups, seed=seed)[1]
    except NothingToLearn:
        return {
            code: count_examples(*examples, lesson.interviews, minimum=minimum, fewest_interviews=fewest_groups)
            for code, examples in lesson.codes.items()
        }


def _choose_thresholds(lesson: Lesson, outcomes: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[str, float]]:
    """The threshold of a learnt code; for another code, the share of examples that have it, if some do and some do not."""
    for code, (rows, _) in lesson.codes.items():
        positives, threshold = outcomes[code]["positives"], outcomes[code]["threshold"]
        if threshold is not None:
            yield code, threshold
        elif 0 < positives < len(rows):
            yield code, positives / len(rows)


def _count(texts: Sequence[CodedText]) -> dict[str, int]:
    return {"units": len(texts), "groups": len({text.group for text in texts})}


def _score(
    code: str,
    outcome: Mapping[str, Any],
    threshold: float | None,
    texts: Sequence[CodedText],
    said: Sequence[set[str]],
) -> dict[str, Any]:
    """The figures of one code on the test texts, whether or not a study would use the code."""
    found: dict[str, Any] = {
        "taught_positives": outcome["positives"],
        "taught_groups": outcome["interviews"],
        "learnt": not outcome["reason"],
        "reason": outcome["reason"],
        "threshold": threshold,
        "n": len(texts),
        "positives": sum(code in text.codes for text in texts),
    }
    if threshold is None:
        return found | dict.fromkeys(("tp", "fp", "fn", "tn", "precision", "precision_ci", "recall", "recall_ci"))
    pairs = Counter((code in picked, code in text.codes) for picked, text in zip(said, texts, strict=True))
    tp, fp, fn, tn = pairs[True, True], pairs[True, False], pairs[False, True], pairs[False, False]
    cells = {"tp": tp, "fp": fp, "fn": fn, "tn": tn}
    return found | cells | _share("precision", tp, tp + fp) | _share("recall", tp, tp + fn)


def _share(name: str, part: int, n: int) -> dict[str, Any]:
    interval = wilson_interval(part, n)
    return {name: part / n if n else None, f"{name}_ci": list(interval) if interval else None}
