"""What leaves the product, each by a name: the demo's exports and pages, answers of commands and of the API, and its schema."""

import io
import json
import zipfile
from urllib.parse import urldefrag, urljoin, urlsplit

import lxml.html
from django.core.management import call_command
from django.test import Client
from django.urls import Resolver404, resolve

from auditapp.api.schema import build_schema
from auditapp.batches.models import Batch
from tests.approved.plain import settle, write_difference, write_head, write_json, write_page, write_table
from transcripts.accounts.actions import create_token
from transcripts.accounts.models import User
from transcripts.exchange.rows import list_exports
from transcripts.studies.models import Study

STUDY = "demo"
# Of the study that has the demo's suite: what the other has no rows of.
SUITE = "demo-scenarios"
OF_SUITE = {"scripts", "sessions", "scenario_outcomes", "trajectories"}
# The same rows as CSV has.
OTHER_FORMS = {"json", "jsonl", "parquet"}
# Pages that no study has, or that show a secret.
NOT_COPIED = ("/accounts/logout", "/static/", "/help/", "/api/", "/account/second-factor/")
# Commands that read and write nothing.
COMMANDS = (
    ("batch", "list"),
    ("sob", "report", "--published"),
    ("trajectory", "report", "--study", STUDY),
    ("audit", "verify", "--rows"),
    ("batch", "verify"),
)
REPORTS = ("sob", "probe", "scenario")


def list_copies(folder):
    """Each copy: its name, and its text. Files are written to ``folder`` on the way."""
    yield from copy_exports(folder)
    yield from copy_commands()
    yield from copy_pages()
    yield from copy_api()


def copy_exports(folder):
    chosen = [(STUDY, export) for export in list_exports()]
    chosen += [(SUITE, export) for export in list_exports() if export.key in OF_SUITE]
    for slug, export in chosen:
        for format in export.formats:
            if not (format in OTHER_FORMS and "csv" in export.formats):
                name = f"{slug}.{export.key}.{format}"
                run("study", "export", export.key, "--study", slug, "--format", format, "--output", str(folder / name))
                yield f"export {name}", read_file(folder / name)


def read_file(file):
    data = file.read_bytes()
    if zipfile.is_zipfile(io.BytesIO(data)):
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            names = sorted(archive.namelist())
            project = next(name for name in names if name.endswith(".qde"))
            return f"{settle(f'{len(names)} files, of which {project}')}\n{write_head(archive.read(project).decode())}"
    text = data.decode("utf-8-sig")
    if file.suffix == ".csv":
        return write_table(text)
    if file.suffix in {".json", ".jsonl"}:
        return write_json(
            [json.loads(line) for line in text.splitlines()] if file.suffix == ".jsonl" else json.loads(text)
        )
    return write_head(text)


def copy_commands():
    for words in COMMANDS:
        yield f"command {' '.join(words)}", write_json(json.loads(run(*words, "--json")))
    for kind in REPORTS:
        batch = Batch.objects.get(kind=kind, study__slug__in=(STUDY, SUITE))
        yield (
            f"command {kind} report --batch",
            write_json(json.loads(run(kind, "report", "--batch", str(batch.pk), "--json"))),
        )


def run(*words):
    """What a command prints."""
    said = io.StringIO()
    call_command(*words, stdout=said, stderr=io.StringIO())
    return said.getvalue()


def copy_pages():
    """Of the owner's pages the text; of a coder's, where the owner has the same page, the lines that differ."""
    of_owner = {}
    for name, address, page in crawl("owner"):
        of_owner[name] = settle(f"{address}\n{write_page(page)}")
        yield f"page {name}", write_head(of_owner[name])
    for name, address, page in crawl("demo-coder"):
        text = settle(f"{address}\n{write_page(page)}")
        if text != of_owner.get(name):
            yield f"page {name} for a coder", write_head(write_difference(text, of_owner.get(name, "")))


def crawl(username):
    """One page of each kind that links lead to from the demo's overview on: its route's name, its address, and its HTML."""
    client = Client()
    client.force_login(User.objects.get(username=username))
    waiting = [f"/studies/{STUDY}/", f"/studies/{SUITE}/", "/", "/account/"]
    seen = set()
    for address in waiting:
        try:
            name = resolve(urlsplit(address).path).view_name.replace(":", ".")
        except Resolver404:
            continue
        if name in seen or address.startswith(NOT_COPIED):
            continue
        seen.add(name)
        answer = client.get(address)
        if answer.status_code == 200 and answer["Content-Type"].startswith("text/html"):
            page = answer.content.decode()
            yield name, address, page
            links = lxml.html.document_fromstring(page).iterfind(".//a[@href]")
            waiting += [urldefrag(urljoin(address, str(link.get("href")))).url for link in links]
        answer.close()


def copy_api():
    """The answer to each GET that needs a study, or its first interview or its benchmark, and nothing else."""
    owner = User.objects.get(username="owner")
    _, secret = create_token(user=owner, name="copies", scopes=["read"], by=owner)
    client = Client(headers={"Authorization": f"Bearer {secret}"})
    study = Study.objects.get(slug=STUDY)
    known = {
        "{slug}": STUDY,
        "{interview_id}": str(study.interviews.order_by("pk")[0].pk),
        "{batch_id}": str(study.batches.get(kind="sob").pk),
    }
    for path, operations in sorted(build_schema()["paths"].items()):
        address = path
        for parameter, value in known.items():
            address = address.replace(parameter, value)
        if "get" in operations and "{" not in address and not path.endswith("/schema/"):
            answer = client.get(address)
            said = f"{answer.status_code} {answer['Content-Type']}"
            yield f"api {path.strip('/').replace('/', '.')}", f"{said}\n{read_answer(answer)}"


def read_answer(answer):
    text = b"".join(answer).decode()
    return write_json(json.loads(text)) if answer["Content-Type"] == "application/json" else write_head(text)


def copy_schema():
    """A line for each operation of the API, and for each field of what goes in or out."""
    schema = build_schema()
    lines = []
    for path, operations in sorted(schema["paths"].items()):
        for method, operation in operations.items():
            asked = [
                f"{each['name']}: {describe(each['schema'])}"
                for each in operation.get("parameters", [])
                if each["in"] != "path"
            ]
            bodies = operation.get("requestBody", {}).get("content", {})
            lines.append(f"{method.upper()} {path}")
            lines += [f"  ? {each}" for each in asked]
            lines += [f"  < {kind} {describe(each['schema'])}" for kind, each in bodies.items()]
            for status, answer in operation["responses"].items():
                contents = answer.get("content", {}) if int(status) < 400 else {}
                said = ", ".join(f"{kind} {describe(each.get('schema', {}))}" for kind, each in contents.items())
                lines.append(f"  {status} {said}".rstrip())
    for name, component in sorted(schema["components"]["schemas"].items()):
        required = component.get("required", [])
        fields = component.get("properties", {})
        lines.append(f"{name} {'' if fields else describe(component)}".rstrip())
        lines += [f"  {each}{'' if each in required else '?'}: {describe(field)}" for each, field in fields.items()]
    return "\n".join(lines) + "\n"


def describe(schema):
    """What a value is, in one line."""
    said = {key: value for key, value in schema.items() if key not in {"description", "title"}}
    return str(said["$ref"]).rpartition("/")[2] if list(said) == ["$ref"] else json.dumps(said, sort_keys=True)
