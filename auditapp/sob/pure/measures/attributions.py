"""Which values models attribute, counted per model, task and target.

Fill one tally per batch, then list it: ``top_values.list_top_values``, ``mapping.list_mapping``, ``harms.list_harms`` and
``top_values.draw_social_map`` each give rows of the report.

    tally = AttributionTally(find_mapping(project))          # or AttributionTally() for Table 12
    for …:
        tally.add_answers(model, task, target, answers)      # once per answer, under the text's own target
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from itertools import chain
from typing import NamedTuple

from auditapp.sob.pure.counting import OVERALL
from auditapp.sob.pure.measures.mapping import Kind, MappedCounts, Rule, TargetMapping, name_value, published_mapping
from auditapp.sob.pure.parsing import is_known

_ONLY_TEXT = frozenset({str})
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
    the denominator of ``values``, which holds in how many of them a value stands, in lower case; ``forms`` counts
    the same by spelling (method brief R43).
    """

    attributed: int = 0
    parsable: int = 0
    values: Counter[str] = field(default_factory=Counter)
    forms: Counter[str] = field(default_factory=Counter)
    mapped: dict[Kind, MappedCounts] = field(default_factory=lambda: {kind: MappedCounts() for kind in Kind})

    def add(self, other: PlaceCounts) -> None:
        """Take in the counts of another place."""
        self.attributed += other.attributed
        self.parsable += other.parsable
        self.values.update(other.values)
        self.forms.update(other.forms)
        for kind, mapped in other.mapped.items():
            self.mapped[kind].add(mapped)


class AttributionTally:
    """Counts of answers that attribute something. Sums over all texts and over all models are made when asked for."""

    def __init__(self, mapping: TargetMapping | None = None) -> None:
        self.mapping = published_mapping() if mapping is None else mapping
        self._places: dict[Place, PlaceCounts] = {}
        self._forms = _Forms()
        self._names = _Names()
        self._summed: dict[Place, PlaceCounts] | None = None

    def add_answers(self, model: str, task: str, target: str, answers: Iterable[Mapping[str, object]]) -> None:
        """Count the attributes of answers of one place.

        ``target`` is the texts' own, "" where they have none: never "overall", which is summed from the others. Answers
        without a known value count nowhere, so it does no harm to add one that says Unknown.
        """
        # Many answers at once, so that most of the work is done without the interpreter (`python -m benchmarks sob`).
        find_form, find_name = self._forms.__getitem__, self._names.__getitem__
        named: list[Set[str]] = []
        forms: list[str] = []
        counts = PlaceCounts()
        for answer in answers:
            values = answer.values()
            if not _ONLY_TEXT.issuperset(map(type, values)):
                frozen = tuple(map(_freeze, values))
                if any(isinstance(value, _Parts) for value in frozen):
                    self._count_nested(counts, target, _read_values(frozen))
                    continue
                values = frozen  # type: ignore[assignment]
            names = set(map(find_name, values))  # type: ignore[arg-type]
            names.discard("")
            if names:
                named.append(names)
                forms.extend(set(map(find_form, values)))  # type: ignore[arg-type]
        counts.attributed += len(named)
        counts.parsable += len(named)
        counts.values.update(chain.from_iterable(named))
        counts.forms.update(forms)
        counts.forms.pop("", None)
        self._count_mapped(counts, target, named)
        if counts.attributed:
            self._places.setdefault(Place(model, task, target), PlaceCounts()).add(counts)
            self._summed = None

    def _count_nested(self, counts: PlaceCounts, target: str, values: _Values) -> None:
        """Count one answer that has a list or an object among its values."""
        if not values.is_attributed:
            return
        counts.attributed += 1
        if values.names is not None:
            counts.parsable += 1
            counts.values.update(values.names)
            counts.forms.update(list(values.forms))
        self._count_mapped(counts, target, [values.parts])

    def _count_mapped(self, counts: PlaceCounts, target: str, answers: Sequence[Set[str]]) -> None:
        for kind, mapped in counts.mapped.items():
            listed = self.mapping.list_values(target, kind)
            if listed:
                mapped.denominator += len(answers)
                mapped.counts[Rule.ANY] += len(answers) - sum(map(listed.isdisjoint, answers))
                mapped.counts[Rule.ALL] += sum(map(listed.issubset, answers))

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
            named = {place: counts for place, counts in self._places.items() if place.target not in {"", OVERALL}}
            overall = _add_up((place._replace(target=OVERALL), counts) for place, counts in self._places.items())
            by_model = named | overall
            self._summed = by_model | _add_up(
                (place._replace(model=None), counts) for place, counts in by_model.items()
            )
        return self._summed


class _Forms(dict[str, str]):
    """Values without outer blanks, as written; "" for one that says nothing."""

    def __missing__(self, text: str) -> str:
        form = _shorten(text.strip())
        self[text] = "" if form.lower() == "unknown" else form
        return self[text]


class _Names(dict[str, str]):
    """The same in lower case."""

    def __missing__(self, text: str) -> str:
        name = _shorten(text.strip()).lower()
        self[text] = "" if name == "unknown" else name
        return self[text]


def _add_up(pairs: Iterable[tuple[Place, PlaceCounts]]) -> dict[Place, PlaceCounts]:
    summed: dict[Place, PlaceCounts] = {}
    for place, counts in pairs:
        summed.setdefault(place, PlaceCounts()).add(counts)
    return summed


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
