"""The inference step of the benchmark's released pipeline, as a program of the same shape, written anew for a race.

Every call is a task made at the start; a semaphore is held from before the first try until after the last, waits
included; the vendor's client is used with its own two retries, and around it five tries for rate limits, four to sixty
seconds apart; answers are written in one file when all are there (shared facts: uofthcdslab/second-order-bias, run_sob.py).

``python pipeline_loop.py BODIES --base-url URL --in-flight N --output FILE``, in an environment with ``openai`` and
``tenacity``; BODIES holds one body of a call a line. Prints {"answered", "failed", "seconds"}.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

Ask = Callable[[dict[str, Any]], Awaitable[Any]]


async def ask_all(bodies: list[dict[str, Any]], base_url: str, in_flight: int) -> list[dict[str, Any]]:
    """One row for every body: its answer, or the error in its place."""
    from openai import AsyncOpenAI, RateLimitError
    from tenacity import retry, retry_if_exception_type, stop_after_attempt, wait_exponential

    client = AsyncOpenAI(base_url=base_url, api_key="invented")
    turns = asyncio.Semaphore(in_flight)
    try_again: Callable[[Ask], Ask] = retry(
        retry=retry_if_exception_type(RateLimitError),
        wait=wait_exponential(multiplier=2, min=4, max=60),
        stop=stop_after_attempt(5),
    )

    @try_again
    async def ask(body: dict[str, Any]) -> Any:
        return await client.chat.completions.create(**body)

    async def fill_row(body: dict[str, Any]) -> dict[str, Any]:
        async with turns:
            try:
                answer = await ask(body)
                return {"response": answer.choices[0].message.content, "error": None}
            except Exception as error:  # whatever it is, the shape of the thing is a row with the error's words
                return {"response": None, "error": str(error)}

    tasks = [asyncio.create_task(fill_row(body)) for body in bodies]
    return [await each for each in asyncio.as_completed(tasks)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("bodies", type=Path)
    parser.add_argument("--base-url", required=True)
    parser.add_argument("--in-flight", type=int, required=True)
    parser.add_argument("--output", type=Path, required=True)
    given = parser.parse_args()
    bodies = [json.loads(line) for line in given.bodies.read_text(encoding="utf-8").splitlines()]
    start = time.perf_counter()
    rows = asyncio.run(ask_all(bodies, given.base_url, given.in_flight))
    given.output.write_text(json.dumps(rows), encoding="utf-8")
    failed = sum(row["error"] is not None for row in rows)
    print(json.dumps({"answered": len(rows) - failed, "failed": failed, "seconds": time.perf_counter() - start}))


if __name__ == "__main__":
    main()
