"""How much is measured, and where."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from perf.study import Study, prepare_study


@dataclass(frozen=True)
class Sizes:
    """How much of each thing. ``rounds`` are those of A B A B comparisons, of which medians are taken."""

    interviews: int = 500
    codings: int = 50_000
    coders: int = 20
    rounds: int = 5
    crowd: int = 200
    crowd_seconds: float = 60.0
    saves_a_round: int = 100
    seconds_a_round: float = 3.0
    opens: int = 100
    browser_opens: int = 8
    import_rounds: int = 3
    imported_beside: int = 62
    launched_beside: int = 250_000
    backed_up: int = 1_000
    calls: int = 3_000
    calls_in_flight: tuple[int, ...] = (30, 100, 300)
    batch_rounds: int = 3
    sob_texts: int = 2_457
    sob_texts_many: int = 41_667
    threads: int = 5_000


FULL = Sizes()
SMALL = Sizes(
    interviews=24,
    codings=2_400,
    coders=6,
    rounds=3,
    crowd=200,
    crowd_seconds=15.0,
    saves_a_round=30,
    seconds_a_round=1.0,
    opens=20,
    browser_opens=3,
    import_rounds=1,
    imported_beside=4,
    launched_beside=10_000,
    backed_up=30,
    calls=600,
    calls_in_flight=(30, 100),
    batch_rounds=1,
    sob_texts=500,
    sob_texts_many=5_000,
    threads=250,
)


@dataclass
class Setup:
    """What a measurement gets: its sizes, a folder that is deleted afterwards, and a way to say what it is doing."""

    sizes: Sizes
    folder: Path
    tell: Callable[[str], None]

    @cached_property
    def study(self) -> Study:
        """The study that several measurements share, prepared for the first of them."""
        self.tell(f"a study of {self.sizes.interviews} interviews is prepared")
        sizes = self.sizes
        return prepare_study(
            self.folder / "study", interviews=sizes.interviews, coders=sizes.coders, codings=sizes.codings
        )
