"""The floor under a batch: coroutines that post and read, with nothing kept, retried or accounted for.

``python -m perf.bare_loop BASE_URL FILE --in-flight N``: FILE holds one text a line; prints {"answered", "seconds"},
from before the first call to after the last answer.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from collections.abc import Iterator
from pathlib import Path

import aiohttp

from auditapp.benchmarks.sob.pure.instruments import get_instrument


def build_bodies(texts: list[str], task: str) -> list[dict[str, object]]:
    """The bodies of the calls: what the product sends for the same texts."""
    system = {"role": "system", "content": get_instrument(task).text}
    return [
        {"model": "bench", "messages": [system, {"role": "user", "content": text}], "max_tokens": 1024}
        for text in texts
    ]


async def post_all(url: str, bodies: list[dict[str, object]], in_flight: int) -> list[str]:
    """Post every body, ``in_flight`` at a time; the words of the answers."""
    left = iter(bodies)
    words: list[str] = []
    connector = aiohttp.TCPConnector(limit=in_flight)
    async with aiohttp.ClientSession(connector=connector) as session:
        await asyncio.gather(*(_post(session, url, left, words) for _ in range(in_flight)))
    return words


async def _post(session: aiohttp.ClientSession, url: str, left: Iterator[dict[str, object]], words: list[str]) -> None:
    for body in left:
        async with session.post(url, json=body) as response:
            answer = await response.json()
        words.append(answer["choices"][0]["message"]["content"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("base_url")
    parser.add_argument("file", type=Path)
    parser.add_argument("--task", default="acceptability")
    parser.add_argument("--in-flight", type=int, required=True)
    given = parser.parse_args()
    texts = [json.loads(line)["text"] for line in given.file.read_text(encoding="utf-8").splitlines()]
    bodies = build_bodies(texts, given.task)
    start = time.perf_counter()
    words = asyncio.run(post_all(f"{given.base_url}/chat/completions", bodies, given.in_flight))
    print(json.dumps({"answered": len(words), "seconds": time.perf_counter() - start}))


if __name__ == "__main__":
    main()
