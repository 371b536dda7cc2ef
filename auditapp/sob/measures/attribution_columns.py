"""The same counts as ``AttributionTally.add_answer`` gives, for many answers at once: a million in a few seconds.

Values are numbered as they are met, and what would be done once per answer is done once per group of answers, by numpy.
An answer that holds a list or an object is rare, and is handed to ``add_answer``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from math import isnan
from typing import TYPE_CHECKING, Any

from auditapp.sob.measures.attributions import LONGEST_VALUE, AttributionTally, Place, PlaceCounts
from auditapp.sob.measures.mapping import Kind, Rule, TargetMapping

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_SCALARS = frozenset({str, int, float, bool, type(None)})
# Counted pairs of place and value that wait to be added up.
_MOST_PAIRS = 2_000_000


class ColumnTally(AttributionTally):
    """A tally that takes answers by the group. ``places`` are all there may be, and are meant by their index."""

    def __init__(self, places: Sequence[Place], mapping: TargetMapping | None = None) -> None:
        import numpy as np

        super().__init__(mapping)
        self._columns = places
        self._numbers = _Numbering()
        self._attributed = np.zeros(len(places), np.int64)
        self._value_pairs = _Pairs()
        self._form_pairs = _Pairs()
        self._lists = [_Lists(self._numbers, places, self.mapping, kind) for kind in Kind]

    def add_group(self, places: NDArray[np.int64], answers: Sequence[Mapping[str, object]]) -> None:
        """Count answers; ``places`` holds the index of each one's place."""
        import numpy as np

        values = _list_values(answers)
        kinds = set(map(type, values))
        if not _SCALARS.issuperset(kinds):
            places, answers = self._add_nested(places, answers)
            values = _list_values(answers)
        texts = values if kinds == {str} else [value if isinstance(value, str) else _write(value) for value in values]
        lengths = np.fromiter(map(len, answers), np.int64, len(answers))
        numbers = np.fromiter(map(self._numbers.__getitem__, texts), np.int64, len(texts))
        self._count(places, np.repeat(np.arange(len(answers)), lengths), numbers)
        self._summed = None

    def _add_nested(
        self, places: NDArray[np.int64], answers: Sequence[Mapping[str, object]]
    ) -> tuple[NDArray[np.int64], Sequence[Mapping[str, object]]]:
        """Count the answers that hold a list or an object; the others are handed back."""
        plain = [_SCALARS.issuperset(map(type, answer.values())) for answer in answers]
        for position, is_plain in enumerate(plain):
            if not is_plain:
                place = self._columns[places[position]]
                self.add_answer(place.model or "", place.task, place.target, answers[position])
        return places[plain], [answer for answer, is_plain in zip(answers, plain, strict=True) if is_plain]

    def _count(self, places: NDArray[np.int64], answer: NDArray[np.int64], forms: NDArray[np.int64]) -> None:
        """``answer`` and ``forms`` are pairs of an answer's position and a value's number."""
        import numpy as np

        names = self._numbers.read_names()[forms]
        known = names >= 0
        answer, forms, names = answer[known], forms[known], names[known]
        by_form, form = _drop_repeated(answer, self._numbers.read_forms()[forms])
        by_name, name = _drop_repeated(answer, names)
        self._form_pairs.add(places[by_form], form)
        self._value_pairs.add(places[by_name], name)
        has_any = np.bincount(by_name, minlength=len(places)) > 0
        self._attributed += np.bincount(places[has_any], minlength=len(self._columns))
        for lists in self._lists:
            lists.count(places, by_name, name, has_any)

    def _settle(self) -> None:
        super()._settle()
        if not self._attributed.any():
            return
        for index in self._attributed.nonzero()[0].tolist():
            counts = self._places.setdefault(self._columns[index], PlaceCounts())
            attributed = int(self._attributed[index])
            counts.attributed += attributed
            counts.parsable += attributed
            for lists in self._lists:
                lists.move_to(counts, index, attributed)
        for index, name, count in self._value_pairs.take():
            self._places[self._columns[index]].values[self._numbers.names[name]] += count
        for index, form, count in self._form_pairs.take():
            self._places[self._columns[index]].forms[self._numbers.forms[form]] += count
        self._attributed[:] = 0
        self._summed = None


class _Numbering(dict[str, int]):
    """A number for each value as it came; ``forms`` are values without outer blanks, ``names`` those in lower case."""

    def __init__(self) -> None:
        super().__init__()
        self.forms: list[str] = []
        self.names: list[str] = []
        self._form_numbers: dict[str, int] = {}
        self._name_numbers: dict[str, int] = {}
        self._form_of: list[int] = []
        self._name_of: list[int] = []

    def __missing__(self, value: str) -> int:
        form = value.strip()
        if len(form) > LONGEST_VALUE:
            form = form[:LONGEST_VALUE] + "…"
        name = form.lower()
        known = name not in {"", "unknown"}
        self._form_of.append(_number(form, self._form_numbers, self.forms) if known else -1)
        self._name_of.append(self.number_name(name) if known else -1)
        number = self[value] = len(self._form_of) - 1
        return number

    def number_name(self, name: str) -> int:
        return _number(name, self._name_numbers, self.names)

    def read_forms(self) -> NDArray[np.int64]:
        """The form of each number, -1 for one that says nothing."""
        import numpy as np

        return np.array(self._form_of, np.int64)

    def read_names(self) -> NDArray[np.int64]:
        """The name of each number, -1 likewise."""
        import numpy as np

        return np.array(self._name_of, np.int64)


class _Lists:
    """The lists of one kind, and how many answers of each place map to them."""

    def __init__(self, numbers: _Numbering, places: Sequence[Place], mapping: TargetMapping, kind: Kind) -> None:
        import numpy as np

        self._kind = kind
        lists = [mapping.list_values(place.target, kind) for place in places]
        listed = [[numbers.number_name(name) for name in sorted(each)] for each in lists]
        self._sizes = np.array([len(each) for each in lists], np.int64)
        self._is_listed = np.zeros((len(places), len(numbers.names) + 1), bool)
        for place, names in enumerate(listed):
            self._is_listed[place, names] = True
        self._counts = {rule: np.zeros(len(places), np.int64) for rule in Rule}

    def count(
        self,
        places: NDArray[np.int64],
        answer: NDArray[np.int64],
        names: NDArray[np.int64],
        has_any: NDArray[np.bool_],
    ) -> None:
        """``answer`` and ``names`` are distinct pairs. The last column stands for every name that no list holds."""
        import numpy as np

        last = self._is_listed.shape[1] - 1
        hit = self._is_listed[places[answer], np.minimum(names, last)]
        hits = np.bincount(answer[hit], minlength=len(places))
        sizes = self._sizes[places]
        for rule, mapped in ((Rule.ANY, hits > 0), (Rule.ALL, (hits == sizes) & (sizes > 0) & has_any)):
            self._counts[rule] += np.bincount(places[mapped], minlength=len(self._sizes))

    def move_to(self, counts: PlaceCounts, index: int, attributed: int) -> None:
        """Add one place's counts to ``counts``; they begin anew."""
        if not self._sizes[index]:
            return
        mapped = counts.mapped[self._kind]
        mapped.denominator += attributed
        for rule, found in self._counts.items():
            mapped.counts[rule] += int(found[index])
            found[index] = 0


def _drop_repeated(answer: NDArray[np.int64], number: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Each pair once: a value counts once per answer, whatever characteristics it stands under."""
    import numpy as np

    pairs = np.sort(answer * 2**32 + number)
    if len(pairs):
        pairs = pairs[np.concatenate(([True], pairs[1:] != pairs[:-1]))]
    return pairs >> 32, pairs & (2**32 - 1)


class _Pairs:
    """Counts of pairs of whole numbers."""

    def __init__(self) -> None:
        self._keys: list[NDArray[np.int64]] = []
        self._counts: list[NDArray[np.int64]] = []
        self._waiting = 0

    def add(self, first: NDArray[np.int64], second: NDArray[np.int64]) -> None:
        import numpy as np

        keys, counts = np.unique(first * 2**32 + second, return_counts=True)
        self._keys.append(keys)
        self._counts.append(counts)
        self._waiting += len(keys)
        if self._waiting > _MOST_PAIRS:
            self._merge()

    def take(self) -> list[tuple[int, int, int]]:
        """Every pair with its count; nothing is left."""
        self._merge()
        if not self._keys:
            return []
        found = list(
            zip(
                (self._keys[0] >> 32).tolist(),
                (self._keys[0] & (2**32 - 1)).tolist(),
                self._counts[0].tolist(),
                strict=True,
            )
        )
        self._keys, self._counts, self._waiting = [], [], 0
        return found

    def _merge(self) -> None:
        import numpy as np

        if len(self._keys) > 1:
            keys, place = np.unique(np.concatenate(self._keys), return_inverse=True)
            counts = np.zeros(len(keys), np.int64)
            np.add.at(counts, place, np.concatenate(self._counts))
            self._keys, self._counts = [keys], [counts]
        self._waiting = 0


def _list_values(answers: Sequence[Mapping[str, object]]) -> list[Any]:
    return list(chain.from_iterable([answer.values() for answer in answers]))


def _number(name: str, numbers: dict[str, int], names: list[str]) -> int:
    number = numbers.setdefault(name, len(names))
    if number == len(names):
        names.append(name)
    return number


def _write(value: object) -> str:
    """A number, a truth or nothing as text; what is no number says nothing."""
    return "" if value is None or (isinstance(value, float) and isnan(value)) else str(value)
