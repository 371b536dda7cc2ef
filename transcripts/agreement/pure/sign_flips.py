"""Whether paired differences lean to one side: their signs are tossed (Fisher 1935, The Design of Experiments, section 21)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MAX_WINDOW = 1 << 17
"""So many sums are computed exactly; for more, drawing is faster."""
MIN_P = 1e-12
"""Below this, rounding errors are larger than the probability itself."""
FLIPS = 10_000


def toss_signs(
    differences: Sequence[int], open_stream: Callable[[], np.random.Generator] | None = None, flips: int = FLIPS
) -> tuple[float, bool]:
    """The two-sided P, and whether it is exact: how often the sum is at least as far from 0 when each sign is tossed.

    ``differences`` are whole numbers, one for each unit of evidence. Those of 0 change no sum: without any other P is 1. All 2^n
    tosses count, unless the sums are too many; then ``flips`` of them are drawn from the stream, and P is (1 + those as large) /
    (1 + flips) (Phipson and Smyth 2010). Of differences of one size it is McNemar's exact test.
    """
    import numpy as np  # loads slowly

    found, counts = np.unique(np.abs([each for each in differences if each]), return_counts=True)
    sizes = dict(zip(found.tolist(), counts.tolist(), strict=True))
    observed = abs(sum(differences))
    p = _count_flips(sizes, observed)
    if p is not None:
        return p, True
    generator = open_stream() if open_stream else np.random.default_rng(0)
    total = sum(size * (2 * generator.binomial(count, 0.5, size=flips) - count) for size, count in sizes.items())
    as_large = int((abs(total) >= observed).sum())
    return (1 + as_large) / (1 + flips), False


def _count_flips(sizes: Mapping[int, int], observed: int) -> float | None:
    """P(|sum| >= observed) over all tosses, from the sum's characteristic function: product of cos(size x angle)^count.

    Sums within ten standard deviations are computed; the rest has a probability less than ``MIN_P`` (Hoeffding 1963). None where
    those are too many.
    """
    import numpy as np

    reach = sum(size * count for size, count in sizes.items())
    spread = math.sqrt(sum(size * size * count for size, count in sizes.items()))
    half = min(reach, math.ceil(10 * spread))
    length = 1 << (2 * half + 1).bit_length()
    if length > MAX_WINDOW:
        return None
    if observed > half:
        return MIN_P
    cosines = np.cos(2 * np.pi / length * np.arange(length))
    steps = np.arange(length // 2 + 1)
    wave = np.ones(length // 2 + 1)
    for size, count in sizes.items():
        wave *= raise_by_squaring(cosines[size * steps % length], count)
    # Place s holds the chance of the sum s, and place length - s that of -s, which is the same.
    chances = np.fft.irfft(wave, n=length)
    inside = float(chances[0] + 2 * chances[1:observed].sum()) if observed else 0.0
    return min(1.0, max(MIN_P, 1 - inside))


def raise_by_squaring(wave: NDArray[Any], power: int) -> NDArray[Any]:
    """The wave to a whole power, several times as fast as numpy's own."""
    import numpy as np

    raised = np.ones_like(wave)
    while power:
        if power & 1:
            raised = raised * wave
        power >>= 1
        if power:
            wave = wave * wave
    return raised
