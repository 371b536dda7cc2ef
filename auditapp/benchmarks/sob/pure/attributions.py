"""Which values models attribute, counted per model, task and target; and how often such a value names the target itself, or the
group that dominates it (method brief R44).

Table 13 of the paper has two of four cells, and its text the other two; here all four are shown together:
{acceptability, non-acceptability} x {self, dominant}.

Fill one tally per batch. Then ``list_top_values``, ``list_mapping``, ``list_harms`` and ``draw_social_map`` each make rows of the
report from it.

    tally = AttributionTally(find_mapping(study))          # or AttributionTally() for Table 12
    for …:
        tally.add_answers(model, task, target, answers)      # each answer once, under the target of its text"""

from __future__ import annotations

import json
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from auditapp.benchmarks.sob.pure.answer_words import OVERALL, is_known
from transcripts.statistics.figures import MIN_CLUSTERS, wilson_interval

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


_FILE = Path(__file__).parents[1] / "data" / "published_mapping.json"

PUBLISHED = "published"


class Kind(StrEnum):
    """Which group a value stands for, relative to the target of the text."""

    SELF = "self"
    DOMINANT = "dominant"


class Rule(StrEnum):
    """When an answer maps: if it attributes any value of the list (the paper's rule), or only if it attributes every one."""

    ANY = "any"
    ALL = "all"


class MappingError(ValueError):
    """A mapping cannot be used; the message is a sentence that says why."""


@dataclass(frozen=True)
class TargetMapping:
    """The values that map to a group, per target, in lower case; ``name`` is "published" or "table N"."""

    rows: Mapping[str, Mapping[Kind, frozenset[str]]]
    name: str = PUBLISHED

    def list_values(self, target: str, kind: Kind) -> frozenset[str]:
        """The values of one list; empty if the mapping does not contain the target."""
        return self.rows.get(name_value(target), _NO_LISTS)[kind]


_NO_LISTS: Mapping[Kind, frozenset[str]] = {Kind.SELF: frozenset(), Kind.DOMINANT: frozenset()}

Rows = Mapping[str, Mapping[str, Sequence[str]]]
"""A mapping in its written and stored form: {target: {"self": [value, …], "dominant": [value, …]}}."""


def name_value(value: str) -> str:
    """A value or target in the form used for comparison, which is exact except for case and outer blanks."""
    return value.strip().lower()


def read_mapping(rows: Rows, name: str) -> TargetMapping:
    """A mapping from its rows. Raises ``MappingError``."""
    check_rows(rows)
    return TargetMapping(
        {
            name_value(target): {kind: frozenset(map(name_value, lists.get(kind, ()))) for kind in Kind}
            for target, lists in rows.items()
        },
        name,
    )


def check_rows(rows: Rows) -> None:
    """Raise ``MappingError`` for a mapping that would count an answer on both sides, or could count no answer."""
    if not rows:
        raise MappingError("A mapping needs at least one target.")
    names: dict[str, str] = {}
    for target, lists in rows.items():
        if not name_value(target):
            raise MappingError("A row of the mapping has no target. Name it, or remove the row.")
        other = names.setdefault(name_value(target), target)
        if other != target:
            raise MappingError(f"{target} and {other} are one target: keep one of the two rows.")
        if unknown := sorted(set(lists) - set(Kind)):
            raise MappingError(f"{target} has a list {unknown[0]}: a row has the lists self and dominant.")
        dominant = set(map(name_value, lists.get(Kind.DOMINANT, ())))
        for value in lists.get(Kind.SELF, ()):
            if name_value(value) in dominant:
                raise MappingError(
                    f"{target}: {value} is in both lists (case is ignored). A value represents either the target itself or the "
                    "dominant group. Remove it from one list."
                )


def compare_rows(before: Rows, after: Rows) -> list[dict[str, object]]:
    """The values added to and removed from each list of each target, as written; empty if both mappings count alike."""
    spelled = {name_value(target): target for target in (*before, *after)}
    found: list[dict[str, object]] = []
    for name, target in spelled.items():
        for kind in Kind:
            old, new = (_spell_values(rows, name, kind) for rows in (before, after))
            put_in = [value for key, value in new.items() if key not in old]
            taken_out = [value for key, value in old.items() if key not in new]
            if put_in or taken_out:
                found.append({"target": target, "kind": kind, "put_in": put_in, "taken_out": taken_out})
    return found


def list_new_targets(before: Rows, after: Rows) -> list[str]:
    """The targets that are only in the second mapping."""
    known = set(map(name_value, before))
    return [target for target in after if name_value(target) not in known]


def _spell_values(rows: Rows, name: str, kind: Kind) -> dict[str, str]:
    return {
        name_value(value): value
        for target, lists in rows.items()
        if name_value(target) == name
        for value in lists.get(kind, ())
    }


def order_rows(rows: Rows) -> Rows:
    """The same rows in the order of Table 12, followed by any other targets: the database does not keep their order."""
    order = {name_value(target): rank for rank, target in enumerate(published_mapping_rows())}
    names = sorted(rows, key=lambda target: (order.get(name_value(target), len(order)), target))
    return {target: rows[target] for target in names}


def list_empty(rows: Rows) -> list[tuple[str, Kind]]:
    """The lists without a value: nothing can map to them."""
    return [(target, kind) for target, lists in rows.items() for kind in Kind if not lists.get(kind)]


@cache
def published_mapping_rows() -> Rows:
    """Table 12, with the targets named as in the texts and the values spelled as printed."""
    content = json.loads(_FILE.read_text(encoding="utf-8"))
    return {row["target"]: {"self": row["self"], "dominant": row["dominant"]} for row in content["rows"]}


@cache
def name_mapping_source() -> str:
    """The source of Table 12, to be printed with it."""
    return str(json.loads(_FILE.read_text(encoding="utf-8"))["source"])


@cache
def published_mapping() -> TargetMapping:
    """The mapping that comes with the software: Table 12."""
    return read_mapping(published_mapping_rows(), PUBLISHED)


@cache
def published_shares() -> Mapping[tuple[str, str, str], Mapping[str, float]]:
    """Table 13 by target, task and kind, as printed: the number of attributed answers, and the percentage of them that map.

    It has two of the four cells, over the twelve models.
    """
    content = json.loads(_FILE.read_text(encoding="utf-8"))
    return {(row["target"], row["task"], row["kind"]): {"n": row["n"], "pct": row["pct"]} for row in content["counted"]}


_ONLY_TEXT = frozenset({str})
_SCALARS = frozenset({str, int, float, bool, type(None)})
# A longer value is not a demographic group; its beginning is enough to identify it.
MAX_VALUE_LENGTH = 200


class Place(NamedTuple):
    """Where answers are counted. ``model`` is None for all models together; ``target`` is "overall" for all texts."""

    model: str | None
    task: str
    target: str

    @property
    def is_overall(self) -> bool:
        return self.target == OVERALL


@dataclass(slots=True)
class PlaceCounts:
    """The counts of one place.

    ``attributed`` answers are the denominator of mapping and harms. ``parsable`` answers have no list among their values;
    they are the denominator of ``values``, which counts the answers with each value, in lower case; ``forms`` counts
    the same by spelling (method brief R43). ``mapped`` has, for each kind, the attributed answers whose target has values
    in the list as "denominator", and those that map by each ``Rule``.
    """

    attributed: int = 0
    parsable: int = 0
    values: Counter[str] = field(default_factory=Counter)
    forms: Counter[str] = field(default_factory=Counter)
    mapped: dict[Kind, Counter[str]] = field(default_factory=lambda: {kind: Counter() for kind in Kind})

    def add(self, other: PlaceCounts) -> None:
        """Add the counts of another place."""
        self.attributed += other.attributed
        self.parsable += other.parsable
        self.values.update(other.values)
        self.forms.update(other.forms)
        for kind, mapped in other.mapped.items():
            self.mapped[kind].update(mapped)


class AttributionTally:
    """Counts of answers that attribute something. Sums over all texts and over all models are computed on request."""

    def __init__(self, mapping: TargetMapping | None = None) -> None:
        self.mapping = published_mapping() if mapping is None else mapping
        self._forms = _Forms()
        self._added: dict[Place, _Added] = {}
        self._summed: dict[Place, PlaceCounts] | None = None

    def add_answers(self, model: str, task: str, target: str, answers: Iterable[Mapping[str, object]]) -> None:
        """Add the attributes of answers of one place.

        ``target`` is the target of the texts, "" if they have none; never "overall", which is the sum of the others. Answers
        without a known value count nowhere, so an answer that says Unknown may be added without effect.
        """
        added = self._added.setdefault(Place(model, task, target), _Added())
        self._summed = None
        # Here values only get numbers; numpy counts them later, which is faster than a loop over answers (`python -m perf sob`).
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
        """The counts of one place without the values of plain answers; then the numbers of the forms and names of those values.

        A form or a name counts once per answer.
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
        """Count one answer with a list or an object among its values."""
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
        """Every place with its counts: first all models together, then each model; among targets, first "overall".

        The other targets follow in the order of ``targets``, or by number of attributed answers. Places without an attributed
        answer are omitted.
        """
        places = self.sum_places()
        order = {target: rank for rank, target in enumerate((OVERALL, *(targets or self.list_targets())))}
        last = len(order)
        for place in sorted(
            places, key=lambda each: (each.model or "", each.task, order.get(each.target, last), each.target)
        ):
            yield place, places[place]

    def list_targets(self) -> list[str]:
        """The targets that occur, except "overall", by number of attributed answers, then by name."""
        counts: Counter[str] = Counter()
        for place, each in self.sum_places().items():
            if place.model is None and not place.is_overall:
                counts[place.target] += each.attributed
        return sorted(counts, key=lambda target: (-counts[target], target))

    def sum_places(self) -> Mapping[Place, PlaceCounts]:
        """The counts of every place, including the sums over texts and models."""
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
    """All four cells per target and model by one rule; ``model`` is None for all models together. JSON-ready.

    An answer maps once, however many of its values match; values are compared exactly except for case. The denominator is
    the number of answers that attribute anything (in Table 13 n differs between the two tasks for the same texts, so it cannot
    be all answers); "overall" covers the targets with values in the list. If a target's list is empty, ``count`` is None; a
    target that is not in the mapping has no row. ``ci`` is Wilson's 95 % interval as shares from 0 to 1, None if by ``texts`` the
    place has fewer than three texts; ``pct`` is from 0 to 100. ``targets`` gives the order. ``named``: whether any answer to the
    task, by any model about any target, has a value of the list (in answers about other targets, values inside lists are not
    searched). If not, the list may contain words that never occur in answers, and its 0 says nothing about a model.
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
    """Assigns a number to each value as written, without outer blanks; 0 to a value that says nothing."""

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
    """The answers of one place: how many values each has, the numbers of these values, and the answers with lists or objects."""

    def __init__(self) -> None:
        self.lengths = array("q")
        self.forms = array("q")
        self.nested: list[_Values] = []


def _list_distinct(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """The distinct numbers in ascending order. Several times as fast as ``np.unique`` here."""
    import numpy as np

    ordered = np.sort(numbers)
    return ordered[np.diff(ordered, prepend=-1) > 0]


def _count_labels(numbers: NDArray[np.int64], labels: Sequence[str]) -> Counter[str]:
    import numpy as np

    counts = np.bincount(numbers)
    found = np.flatnonzero(counts)
    return Counter(dict(zip(map(labels.__getitem__, found.tolist()), counts[found].tolist(), strict=True)))


class _Values(NamedTuple):
    """The known values of one answer, each once: ``forms`` as written; ``names`` in lower case, None if a value is a list.

    ``parts`` has the items of lists and objects separately, because an answer maps by any of them. ``is_attributed`` follows
    paper counting, in which a list counts whatever it contains.
    """

    is_attributed: bool
    forms: Iterable[str]
    names: frozenset[str] | None
    parts: frozenset[str]


class _Parts(NamedTuple):
    """A list or an object that is not empty, in a form that can be counted."""

    is_list: bool
    text: str
    parts: frozenset[str]


def has_value(attributes: Mapping[str, object], value: str) -> bool:
    """Whether the figures of a value (top values, social map) count this answer; for the page that lists these answers."""
    names = _read_values(tuple(map(_freeze, attributes.values()))).names
    return names is not None and value.strip().lower() in names


def list_parts(attributes: Mapping[str, object]) -> frozenset[str]:
    """The known values of one answer in lower case, with the items of lists and objects as separate values."""
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
    """The value as text; a list or an object as its parts. 1, 1.0 and true are three different values."""
    if isinstance(value, str):
        return value
    if not is_known(value):
        return ""
    if isinstance(value, (list, tuple, set, frozenset)):
        return _Parts(True, "", _name_parts(value))
    if isinstance(value, Mapping):
        # Sorted, because PostgreSQL changes the order of an object's keys.
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
