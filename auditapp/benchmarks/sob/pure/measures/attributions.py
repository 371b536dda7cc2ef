"""Which values models attribute, counted per model, task and target.

Fill one tally per batch, then list it: ``top_values.list_top_values``, ``list_mapping``, ``harms.list_harms`` and
``top_values.draw_social_map`` each give rows of the report.

    tally = AttributionTally(find_mapping(study))          # or AttributionTally() for Table 12
    for …:
        tally.add_answers(model, task, target, answers)      # once per answer, under the text's own target
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from auditapp.benchmarks.sob.pure.counting import OVERALL
from auditapp.benchmarks.sob.pure.measures.mapping import Kind, Rule, TargetMapping, name_value, published_mapping
from auditapp.benchmarks.sob.pure.parsing import is_known
from transcripts.statistics.figures import MIN_CLUSTERS, wilson_interval

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_ONLY_TEXT = frozenset({str})
_SCALARS = frozenset({str, int, float, bool, type(None)})
# A longer value is no demographic; its beginning is enough to identify it.
MAX_VALUE_LENGTH = 200


class Place(NamedTuple):
    """Where answers are counted. ``model`` ``None`` is all models together; ``target`` "overall" is all texts."""

    model: str | None
    task: str
    target: str

    @property
    def is_overall(self) -> bool:
        return self.target == OVERALL


@dataclass(slots=True)
class PlaceCounts:
    """The counts of one place.

    ``attributed`` answers are the denominator of mapping and harms. ``parsable`` ones have no list among their values:
    the denominator of ``values``, which counts the answers that have a value, in lower case; ``forms`` counts
    the same by spelling (method brief R43). ``mapped`` holds, for each kind, the attributed answers whose target has values
    in the list as "denominator", and those that map by either ``Rule``.
    """

    attributed: int = 0
    parsable: int = 0
    values: Counter[str] = field(default_factory=Counter)
    forms: Counter[str] = field(default_factory=Counter)
    mapped: dict[Kind, Counter[str]] = field(default_factory=lambda: {kind: Counter() for kind in Kind})

    def add(self, other: PlaceCounts) -> None:
        """Take in the counts of another place."""
        self.attributed += other.attributed
        self.parsable += other.parsable
        self.values.update(other.values)
        self.forms.update(other.forms)
        for kind, mapped in other.mapped.items():
            self.mapped[kind].update(mapped)


class AttributionTally:
    """Counts of answers that attribute something. Sums over all texts and over all models are made when asked for."""

    def __init__(self, mapping: TargetMapping | None = None) -> None:
        self.mapping = published_mapping() if mapping is None else mapping
        self._forms = _Forms()
        self._added: dict[Place, _Added] = {}
        self._summed: dict[Place, PlaceCounts] | None = None

    def add_answers(self, model: str, task: str, target: str, answers: Iterable[Mapping[str, object]]) -> None:
        """Add the attributes of answers of one place.

        ``target`` is the texts' own, "" where they have none: never "overall", which is summed from the others. Answers
        without a known value count nowhere, so it does no harm to add one that says Unknown.
        """
        added = self._added.setdefault(Place(model, task, target), _Added())
        self._summed = None
        # Values are only numbered here; numpy counts them, which is faster than a loop over answers (`python -m perf sob`).
        plain = []
        for answer in answers:
            if _SCALARS.issuperset(map(type, answer.values())):
                plain.append(answer.values())
            else:
                added.nested.append(_read_values(tuple(map(_freeze, answer.values()))))
        values = list(chain.from_iterable(plain))
        if not _ONLY_TEXT.issuperset(map(type, values)):
            values = list(map(_freeze, values))
        added.lengths.extend(map(len, plain))
        added.forms.extend(map(self._forms.__getitem__, values))  # type: ignore[arg-type]

    def _sum_places(self) -> dict[Place, PlaceCounts]:
        import numpy as np

        numbers: dict[str, int] = {}
        name_of_form = np.array([numbers.setdefault(form.lower(), len(numbers)) for form in self._forms.written])
        parts: dict[Place, list[tuple[PlaceCounts, NDArray[np.int64], NDArray[np.int64]]]] = {}
        for place, added in self._added.items():
            counted = self._count_place(place.target, added, numbers, name_of_form)
            if counted[0].attributed:
                for model in (place.model, None):
                    for target in {place.target, OVERALL} - {""}:
                        parts.setdefault(Place(model, place.task, target), []).append(counted)
        summed = {}
        for place, of_place in parts.items():
            all_counts, forms, names = zip(*of_place, strict=True)
            summed[place] = PlaceCounts(
                values=_count_labels(np.concatenate(names), list(numbers)),
                forms=_count_labels(np.concatenate(forms), self._forms.written),
            )
            for counts in all_counts:
                summed[place].add(counts)
        return summed

    def _count_place(
        self, target: str, added: _Added, numbers: Mapping[str, int], name_of_form: NDArray[np.int64]
    ) -> tuple[PlaceCounts, NDArray[np.int64], NDArray[np.int64]]:
        """The counts of one place, without the values of plain answers; and the numbers of these forms and names.

        A form, or a name, counts once per answer.
        """
        import numpy as np

        counts, size = PlaceCounts(), len(name_of_form)
        answers, forms = np.repeat(np.arange(len(added.lengths)), added.lengths), np.asarray(added.forms)
        answers, forms = np.divmod(_list_distinct(answers[forms > 0] * size + forms[forms > 0]), size)
        answers, names = np.divmod(_list_distinct(answers * size + name_of_form[forms]), size)
        counts.attributed = counts.parsable = int((np.bincount(answers) > 0).sum())
        for kind, mapped in counts.mapped.items():
            listed = self.mapping.list_values(target, kind)
            if listed:
                is_listed = np.zeros(size, bool)
                is_listed[[numbers[value] for value in listed if value in numbers]] = True
                per_answer = np.bincount(answers[is_listed[names]])
                mapped["denominator"] = counts.attributed
                mapped[Rule.ANY] = int((per_answer > 0).sum())
                mapped[Rule.ALL] = int((per_answer == len(listed)).sum())
        for nested in added.nested:
            self._count_nested(counts, target, nested)
        return counts, forms, names

    def _count_nested(self, counts: PlaceCounts, target: str, values: _Values) -> None:
        """Count one answer that has a list or an object among its values."""
        if not values.is_attributed:
            return
        counts.attributed += 1
        if values.names is not None:
            counts.parsable += 1
            counts.values.update(values.names)
            counts.forms.update(list(values.forms))
        for kind, mapped in counts.mapped.items():
            listed = self.mapping.list_values(target, kind)
            if listed:
                mapped["denominator"] += 1
                mapped[Rule.ANY] += not listed.isdisjoint(values.parts)
                mapped[Rule.ALL] += listed.issubset(values.parts)

    def list_places(self, targets: Sequence[str] | None = None) -> Iterator[tuple[Place, PlaceCounts]]:
        """Every place with its counts: all models together first, then each; "overall" first among targets.

        The others come in the order of ``targets``, or by number of attributed answers. A place without an attributed
        answer is not there.
        """
        places = self.sum_places()
        order = {target: rank for rank, target in enumerate((OVERALL, *(targets or self.list_targets())))}
        last = len(order)
        for place in sorted(
            places, key=lambda each: (each.model or "", each.task, order.get(each.target, last), each.target)
        ):
            yield place, places[place]

    def list_targets(self) -> list[str]:
        """The targets that occur, by number of attributed answers, then by name; "overall" excepted."""
        counts: Counter[str] = Counter()
        for place, each in self.sum_places().items():
            if place.model is None and not place.is_overall:
                counts[place.target] += each.attributed
        return sorted(counts, key=lambda target: (-counts[target], target))

    def sum_places(self) -> Mapping[Place, PlaceCounts]:
        """The counts of every place, sums over texts and models included."""
        if self._summed is None:
            self._summed = self._sum_places()
        return self._summed


def list_mapping(
    tally: AttributionTally,
    *,
    targets: Sequence[str] | None = None,
    rule: Rule = Rule.ANY,
    texts: Mapping[Place, int] = {},
) -> list[dict[str, object]]:
    """All four cells per target and model by one rule, ``model`` ``None`` for all models together; JSON-ready.

    An answer maps once, however many of its values match; values are compared exactly, but for case. The denominator is
    the answers that attribute anything (the texts of one target have another n in either task of Table 13, so n cannot be
    all answers); "overall" is over the targets that have values in the list. A target whose list is empty has
    ``count`` ``None``; one that the mapping does not name has no row. ``ci`` is Wilson's, 95 %, shares from 0 to 1,
    None where ``texts`` says that a place has fewer than three texts; ``pct`` is 0 to 100. ``targets`` gives the
    order. ``named``: whether any answer of the task, of any model about any target, has a value of the list (lists among the values
    of other targets' answers are not looked through). Where none has, the list may be of words that answers cannot have, and its 0
    says nothing of a model.
    """
    rows: list[dict[str, object]] = []
    places = tally.sum_places()
    for place, counts in tally.list_places(targets):
        if place.is_overall or name_value(place.target) in tally.mapping.rows:
            head = {"task": place.task, "target": place.target, "model": place.model}
            everything = places[Place(None, place.task, OVERALL)].values.keys()
            for kind, mapped in counts.mapped.items():
                listed = tally.mapping.list_values(place.target, kind)
                named = mapped[Rule.ANY] > 0 or place.is_overall or not listed.isdisjoint(everything)
                rows.append(head | {"kind": str(kind)} | _write_row(mapped, rule, texts.get(place)) | {"named": named})
    return rows


def _write_row(mapped: Mapping[str, int], rule: Rule, texts: int | None) -> dict[str, object]:
    row: dict[str, object] = {"rule": str(rule), "match": "exact", "denominator": mapped["denominator"]}
    count = mapped[rule]
    interval = wilson_interval(count, mapped["denominator"])
    is_few = texts is not None and texts < MIN_CLUSTERS
    if interval is None:
        return row | {"count": None, "pct": None, "ci": None}
    return row | {"count": count, "pct": 100 * count / mapped["denominator"], "ci": None if is_few else list(interval)}


class _Forms(dict[str, int]):
    """Numbers of values as written, without outer blanks; 0 for a value that says nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.written = [""]

    def __missing__(self, text: str) -> int:
        form = _shorten(text.strip())
        if not form or form.lower() == "unknown":
            number = 0
        elif form != text:
            number = self[form]
        else:
            number = len(self.written)
            self.written.append(form)
        self[text] = number
        return number


class _Added:
    """The answers of one place: how many values each has, the numbers of these, and answers with lists or objects."""

    def __init__(self) -> None:
        self.lengths = array("q")
        self.forms = array("q")
        self.nested: list[_Values] = []


def _list_distinct(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """In ascending order. Several times as fast as ``np.unique`` here."""
    import numpy as np

    ordered = np.sort(numbers)
    return ordered[np.diff(ordered, prepend=-1) > 0]


def _count_labels(numbers: NDArray[np.int64], labels: Sequence[str]) -> Counter[str]:
    import numpy as np

    counts = np.bincount(numbers)
    found = np.flatnonzero(counts)
    return Counter(dict(zip(map(labels.__getitem__, found.tolist()), counts[found].tolist(), strict=True)))


class _Values(NamedTuple):
    """The known values of one answer, each once: as written, and in lower case, ``None`` where one is a list.

    ``parts`` takes the items of lists and objects apart: an answer maps by any of them. ``is_attributed`` is that of paper
    counting, where a list counts whatever it holds.
    """

    is_attributed: bool
    forms: Iterable[str]
    names: frozenset[str] | None
    parts: frozenset[str]


class _Parts(NamedTuple):
    """A list or an object, not empty, in a form that can be counted."""

    is_list: bool
    text: str
    parts: frozenset[str]


def has_value(attributes: Mapping[str, object], value: str) -> bool:
    """Whether the figures of a value (top values, social map) count this answer: for the page of answers behind one."""
    names = _read_values(tuple(map(_freeze, attributes.values()))).names
    return names is not None and value.strip().lower() in names


def list_parts(attributes: Mapping[str, object]) -> frozenset[str]:
    """The known values of one answer in lower case, items of lists and objects each by itself."""
    return _read_values(tuple(map(_freeze, attributes.values()))).parts


def _read_values(values: tuple[object, ...]) -> _Values:
    forms: dict[str, str] = {}
    parts: set[str] = set()
    has_list = False
    for value in values:
        if isinstance(value, _Parts):
            has_list = has_list or value.is_list
            parts |= value.parts
        form = _shorten((value.text if isinstance(value, _Parts) else str(value)).strip())
        name = form.lower()
        if name and name != "unknown":
            forms[form] = name
            if not isinstance(value, _Parts):
                parts.add(name)
    names = None if has_list else frozenset(forms.values())
    return _Values(has_list or bool(forms), forms, names, frozenset(parts))


def _freeze(value: object) -> object:
    """The value as text; a list or an object as its parts. 1, 1.0 and true are three values."""
    if isinstance(value, str):
        return value
    if not is_known(value):
        return ""
    if isinstance(value, (list, tuple, set, frozenset)):
        return _Parts(True, "", _name_parts(value))
    if isinstance(value, Mapping):
        # PostgreSQL keeps the keys of an object in an order of its own.
        text = ", ".join(f"{key}: {item}" for key, item in sorted(value.items()))
        return _Parts(False, text, _name_parts(value.values()))
    return str(value)


def _name_parts(items: Iterable[object]) -> frozenset[str]:
    parts: set[str] = set()
    for item in items:
        frozen = _freeze(item)
        if isinstance(frozen, _Parts):
            parts |= frozen.parts
        else:
            parts.add(name_value(_shorten(str(frozen).strip())))
    return frozenset(parts - {"", "unknown"})


def _shorten(text: str) -> str:
    return text if len(text) <= MAX_VALUE_LENGTH else text[:MAX_VALUE_LENGTH] + "…"
