"""The floor under plays: each a coroutine that asks one question after the other, with nothing kept, retried or accounted for.

``python -m perf.bare_plays BASE_URL --plays P --questions Q --in-flight N``: prints {"answered", "seconds"}, from before the
first call to after the last answer.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from collections.abc import Iterator

import aiohttp


async def hold_all(url: str, plays: int, questions: int, in_flight: int) -> int:
    """Hold every play, ``in_flight`` at a time; the number of answers."""
    left = iter(range(plays))
    connector = aiohttp.TCPConnector(limit=in_flight)
    async with aiohttp.ClientSession(connector=connector) as session:
        counts = await asyncio.gather(*(_hold(session, url, left, questions) for _ in range(in_flight)))
    return sum(counts)


async def _hold(session: aiohttp.ClientSession, url: str, left: Iterator[int], questions: int) -> int:
    answered = 0
    for play in left:
        messages = [{"role": "system", "content": "You are asked."}]
        for question in range(1, questions + 1):
            messages.append({"role": "user", "content": f"Question {10 * (play + 1) + question}"})
            body = {"model": "bench", "messages": messages, "max_tokens": 1024}
            async with session.post(url, json=body) as response:
                answer = await response.json()
            messages.append({"role": "assistant", "content": answer["choices"][0]["message"]["content"]})
            answered += 1
    return answered


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("base_url")
    for name in ("--plays", "--questions", "--in-flight"):
        parser.add_argument(name, type=int, required=True)
    given = parser.parse_args()
    start = time.perf_counter()
    url = f"{given.base_url}/chat/completions"
    answered = asyncio.run(hold_all(url, given.plays, given.questions, given.in_flight))
    print(json.dumps({"answered": answered, "seconds": time.perf_counter() - start}))


if __name__ == "__main__":
    main()
