"""The batch services of the fake paid API: files and batches as OpenAI has them, message batches as Anthropic has them.

``tests.support.fake_provider`` puts the routes in; what is billed here is counted in its ``/stats`` too.

POST /jobs/orders  changes how jobs go (``Orders``); ``{"reset": true}`` forgets jobs, orders and counts first
GET  /jobs/stats   files (uploaded), kept (files that are there), deleted, jobs, lists, downloads, cancelled, billed, billed_twice,
                   jobs_by_cell (most jobs that hold one custom_id)

A job ends ``seconds`` after it was made. Shares (``errored``, ``expired``) strike a prompt the first time only.
"""

from __future__ import annotations

import asyncio
import datetime
import hashlib
import json
import uuid
from collections import Counter
from dataclasses import dataclass, field, fields
from typing import Any

from aiohttp import web

from tests.support import fake_faults
from tests.support.fake_provider import DESK, Entry

PAGE = 2
COUNTED = ("files", "deleted", "jobs", "lists", "downloads", "cancelled", "checks")


@dataclass
class Orders:
    """How jobs go from now on. Numbers of times count down."""

    seconds: float = 0.0
    errored: float = 0.0
    expired: float = 0.0
    done_before_cancel: float = 0.5
    create_seconds: float = 0.0
    cut_creates: int = 0
    lose_creates: int = 0
    cut_uploads: int = 0
    cut_downloads: int = 0
    down: int = 0
    refuse_jobs: str = ""
    leave_out: int = 0
    delete_status: int = 0


@dataclass
class Job:
    """One job: its requests by custom_id, and how each of them ended once it has ended."""

    id: str
    form: str
    requests: dict[str, dict[str, Any]]
    made_at: float
    ends_at: float
    metadata: dict[str, str] = field(default_factory=dict)
    file_id: str = ""
    error: str = ""
    wrote_at: datetime.datetime = field(default_factory=lambda: datetime.datetime.now(datetime.UTC))
    cancelled_at: float | None = None
    ends: dict[str, str] = field(default_factory=dict)


@dataclass
class Shop:
    """Orders in force, what was made, what was counted."""

    orders: Orders = field(default_factory=Orders)
    files: dict[str, bytes] = field(default_factory=dict)
    jobs: dict[str, Job] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    billed: Counter[str] = field(default_factory=Counter)
    seen: Counter[str] = field(default_factory=Counter)


class Door:
    """Holds the shop in force."""

    def __init__(self) -> None:
        self.shop = Shop()


DOOR = web.AppKey("door", Door)


def count_down(orders: Orders, name: str) -> bool:
    """Whether the order of that name still strikes; one time less is left."""
    left = getattr(orders, name)
    if left:
        setattr(orders, name, left - 1)
    return bool(left)


def check_entry(request: web.Request) -> Shop:
    """The shop, unless it is down or the key is not the account's."""
    shop = request.app[DOOR].shop
    key = request.app[DESK].state.key
    presented = request.headers.get("Authorization", "").removeprefix("Bearer ") or request.headers.get("x-api-key", "")
    if key and presented != key:
        raise web.HTTPUnauthorized(text='{"error": {"message": "as ordered"}}', content_type="application/json")
    if count_down(shop.orders, "down"):
        raise web.HTTPServiceUnavailable(text='{"error": {"message": "as ordered"}}', content_type="application/json")
    return shop


def draw(text: str) -> float:
    return int(hashlib.sha256(text.encode()).hexdigest()[:8], 16) / 2**32


def hash_body(body: dict[str, Any]) -> str:
    """As the live routes hash a prompt."""
    asked = [body["model"], body["messages"], *([body["system"]] if "system" in body else [])]
    return hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()


async def take_file(request: web.Request) -> web.StreamResponse:
    """POST /v1/files"""
    shop = check_entry(request)
    posted = await request.post()
    upload = posted["file"]
    assert isinstance(upload, web.FileField)
    assert posted["purpose"] == "batch"
    shop.counts["files"] += 1
    name = f"file-{shop.counts['files']}"
    shop.files[name] = upload.file.read()
    if count_down(shop.orders, "cut_uploads"):
        fake_faults.close(request)
    return web.json_response({"id": name, "object": "file", "bytes": len(shop.files[name])})


async def delete_file(request: web.Request) -> web.StreamResponse:
    """DELETE /v1/files/{id}, unless ``delete_status`` says otherwise: 204 deletes too, without a word."""
    shop = check_entry(request)
    ordered = shop.orders.delete_status
    name = request.match_info["name"]
    if ordered not in {0, 204} or name not in shop.files:
        return web.json_response({"error": {"message": "as ordered"}}, status=ordered or 404)
    del shop.files[name]
    shop.counts["deleted"] += 1
    if ordered:
        return web.Response(status=204)
    return web.json_response({"id": name, "object": "file", "deleted": True})


async def make_batch(request: web.Request) -> web.StreamResponse:
    """POST /v1/batches"""
    shop = check_entry(request)
    body = await request.json()
    data = shop.files.get(body["input_file_id"])
    if data is None or body["endpoint"] != "/v1/chat/completions" or body["completion_window"] != "24h":
        return web.json_response({"error": {"message": "no such file or endpoint"}}, status=400)
    requests = {}
    for line in data.decode().splitlines():
        each = json.loads(line)
        assert (each["method"], each["url"]) == ("POST", "/v1/chat/completions")
        assert each["custom_id"] not in requests
        requests[each["custom_id"]] = each["body"]
    return await make_job(request, shop, "openai", requests, body.get("metadata") or {}, body["input_file_id"])


async def make_message_batch(request: web.Request) -> web.StreamResponse:
    """POST /v1/messages/batches"""
    shop = check_entry(request)
    body = await request.json()
    assert set(body) == {"requests"}
    requests = {each["custom_id"]: each["params"] for each in body["requests"]}
    assert len(requests) == len(body["requests"])
    return await make_job(request, shop, "anthropic", requests, {}, "")


async def make_job(
    request: web.Request,
    shop: Shop,
    form: str,
    requests: dict[str, dict[str, Any]],
    metadata: dict[str, str],
    file_id: str,
) -> web.StreamResponse:
    """Make the job, or lose the order, or make it and say so late or never."""
    if count_down(shop.orders, "lose_creates"):
        fake_faults.close(request)
        return web.Response(status=500)
    now = asyncio.get_running_loop().time()
    name = f"{'msgbatch' if form == 'anthropic' else 'batch'}_{uuid.uuid4().hex[:8]}"
    job = Job(name, form, requests, now, now + shop.orders.seconds, metadata, file_id, shop.orders.refuse_jobs)
    shop.jobs[name] = job
    shop.counts["jobs"] += 1
    shop.seen.update(list(requests))
    if count_down(shop.orders, "cut_creates"):
        fake_faults.close(request)
    elif shop.orders.create_seconds:
        await asyncio.sleep(shop.orders.create_seconds)
    return web.json_response(describe(request, job))


def settle(request: web.Request, shop: Shop, job: Job) -> bool:
    """Whether the job has ended; the first time that this is seen, its calls are made and billed."""
    now = asyncio.get_running_loop().time()
    if job.cancelled_at is None and now < job.ends_at:
        return False
    if not job.ends and not job.error:
        for number, (name, body) in enumerate(job.requests.items()):
            job.ends[name] = choose_end(request, shop, job, number, body)
    return True


def choose_end(request: web.Request, shop: Shop, job: Job, number: int, body: dict[str, Any]) -> str:
    key = hash_body(body)
    entry = request.app[DESK].state.prompts.setdefault(key, Entry())
    first = not entry.received
    entry.received += 1
    if job.cancelled_at is not None and number >= len(job.requests) * shop.orders.done_before_cancel:
        return "canceled"
    luck = draw(key)
    if first and luck < shop.orders.expired:
        return "expired"
    if first and luck < shop.orders.expired + shop.orders.errored:
        return "errored"
    entry.billed += 1
    request.app[DESK].state.billed += 1
    shop.billed[key] += 1
    return "succeeded"


def describe(request: web.Request, job: Job) -> dict[str, object]:
    """The job as its service tells of it."""
    ended = settle(request, request.app[DOOR].shop, job)
    counts = Counter(job.ends.values())
    if job.form == "anthropic":
        names = ("succeeded", "errored", "canceled", "expired")
        return {
            "id": job.id,
            "type": "message_batch",
            "processing_status": "ended" if ended else "in_progress",
            "request_counts": {
                "processing": 0 if ended else len(job.requests),
                **{name: counts[name] for name in names},
            },
            "created_at": job.wrote_at.isoformat(),
            "cancel_initiated_at": None,
            "results_url": f"http://{request.host}/v1/messages/batches/{job.id}/results" if ended else None,
        }
    status = "in_progress"
    if ended:
        status = "failed" if job.error else "cancelled" if job.cancelled_at is not None else "completed"
        status = "expired" if counts["expired"] else status
    return {
        "id": job.id,
        "object": "batch",
        "status": status,
        "input_file_id": job.file_id,
        "metadata": job.metadata,
        "created_at": int(job.wrote_at.timestamp()),
        "output_file_id": f"out-{job.id}" if counts["succeeded"] else None,
        "error_file_id": f"err-{job.id}" if set(counts) - {"succeeded"} else None,
        "errors": {"object": "list", "data": [{"code": job.error, "message": "as ordered"}]} if job.error else None,
        "request_counts": {"total": len(job.requests), "completed": counts["succeeded"], "failed": counts["errored"]},
    }


async def show_job(request: web.Request) -> web.Response:
    """GET …/batches/{id}"""
    shop = check_entry(request)
    job = shop.jobs.get(request.match_info["name"])
    if job is None:
        return web.json_response({"error": {"message": "no such batch"}}, status=404)
    shop.counts["checks"] += 1
    return web.json_response(describe(request, job))


async def cancel_job(request: web.Request) -> web.Response:
    """POST …/batches/{id}/cancel"""
    shop = check_entry(request)
    job = shop.jobs[request.match_info["name"]]
    if not settle(request, shop, job):
        job.cancelled_at = asyncio.get_running_loop().time()
        shop.counts["cancelled"] += 1
    return web.json_response(describe(request, job))


async def list_jobs(request: web.Request) -> web.Response:
    """GET …/batches: newest first, a few to a page."""
    shop = check_entry(request)
    shop.counts["lists"] += 1
    form = "anthropic" if "/messages/" in request.path else "openai"
    jobs = [job for job in reversed(shop.jobs.values()) if job.form == form]
    after = request.query.get("after_id") or request.query.get("after")
    if after:
        jobs = jobs[[job.id for job in jobs].index(after) + 1 :]
    page = jobs[:PAGE]
    return web.json_response(
        {
            "data": [describe(request, job) for job in page],
            "has_more": len(jobs) > PAGE,
            "first_id": page[0].id if page else None,
            "last_id": page[-1].id if page else None,
        }
    )


async def give_file(request: web.Request) -> web.StreamResponse:
    """GET /v1/files/{id}/content: the answers, or the lines of those that brought none."""
    shop = check_entry(request)
    which, _, name = request.match_info["name"].partition("-")
    job = shop.jobs[name]
    ids = [each for each, end in job.ends.items() if (end == "succeeded") == (which == "out")]
    return await give_lines(request, shop, [write_openai_line(request, job, each) for each in shuffle(ids)])


async def give_results(request: web.Request) -> web.StreamResponse:
    """GET /v1/messages/batches/{id}/results"""
    shop = check_entry(request)
    job = shop.jobs[request.match_info["name"]]
    return await give_lines(request, shop, [write_anthropic_line(request, job, each) for each in shuffle(job.ends)])


def shuffle(ids: Any) -> list[str]:
    """Not the order in which they were asked."""
    return sorted(ids, key=draw)


async def give_lines(request: web.Request, shop: Shop, lines: list[dict[str, object]]) -> web.StreamResponse:
    shop.counts["downloads"] += 1
    for _ in range(shop.orders.leave_out):
        lines = lines[1:]
    data = "".join(json.dumps(line) + "\n" for line in lines).encode()
    if not count_down(shop.orders, "cut_downloads"):
        return web.Response(body=data, content_type="application/octet-stream")
    response = web.StreamResponse()
    response.content_length = len(data)
    await response.prepare(request)
    await response.write(data[: len(data) // 2])
    await asyncio.sleep(0.01)
    fake_faults.close(request)
    return response


def write_openai_line(request: web.Request, job: Job, name: str) -> dict[str, object]:
    body, end = job.requests[name], job.ends[name]
    line: dict[str, object] = {"id": f"batch_req_{name}", "custom_id": name, "response": None, "error": None}
    if end in {"expired", "canceled"}:
        code = "batch_expired" if end == "expired" else "batch_cancelled"
        return line | {"error": {"code": code, "message": "as ordered"}}
    if end == "errored":
        failure = {"error": {"message": "as ordered", "type": "server_error"}}
        return line | {"response": {"status_code": 500, "request_id": f"req_{name}", "body": failure}}
    answer = fake_faults.write_completion(hash_body(body), body, "", request.app[DESK].state.answer)
    return line | {"response": {"status_code": 200, "request_id": f"req_{name}", "body": answer}}


def write_anthropic_line(request: web.Request, job: Job, name: str) -> dict[str, object]:
    body, end = job.requests[name], job.ends[name]
    result: dict[str, object] = {"type": end}
    if end == "errored":
        result["error"] = {"type": "error", "error": {"type": "api_error", "message": "as ordered"}}
    if end == "succeeded":
        result["message"] = fake_faults.write_message(hash_body(body), body, "", request.app[DESK].state.answer)
    return {"custom_id": name, "result": result}


async def tell(request: web.Request) -> web.Response:
    """What was counted."""
    shop = request.app[DOOR].shop
    return web.json_response(
        {
            **{name: shop.counts[name] for name in COUNTED},
            "kept": len(shop.files),
            "billed": sum(shop.billed.values()),
            "billed_twice": sum(count - 1 for count in shop.billed.values()),
            "jobs_by_cell": max(shop.seen.values(), default=0),
            "calls": [len(job.requests) for job in shop.jobs.values()],
        }
    )


async def order(request: web.Request) -> web.Response:
    """Change how jobs go."""
    orders = await request.json()
    door = request.app[DOOR]
    if orders.pop("reset", False):
        door.shop = Shop()
    known = {each.name for each in fields(Orders)}
    for name, value in orders.items():
        if name not in known:
            raise web.HTTPBadRequest(text=f"no such order: {name}")
        setattr(door.shop.orders, name, value)
    return web.json_response({"ok": True})


def add_routes(app: web.Application) -> None:
    """Put the batch services into the fake paid API."""
    app[DOOR] = Door()
    app.router.add_post("/v1/files", take_file)
    app.router.add_delete("/v1/files/{name}", delete_file)
    app.router.add_get("/v1/files/{name}/content", give_file)
    app.router.add_post("/v1/batches", make_batch)
    app.router.add_post("/v1/messages/batches", make_message_batch)
    app.router.add_get("/v1/messages/batches/{name}/results", give_results)
    for base in ("/v1/batches", "/v1/messages/batches"):
        app.router.add_get(base, list_jobs)
        app.router.add_get(f"{base}/{{name}}", show_job)
        app.router.add_post(f"{base}/{{name}}/cancel", cancel_job)
    app.router.add_get("/jobs/stats", tell)
    app.router.add_post("/jobs/orders", order)
