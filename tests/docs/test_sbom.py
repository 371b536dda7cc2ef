"""The list of what an installation contains is made from the lock file, and holds nothing else."""

import json
import re

import pytest

from tools.environment import ROOT
from tools.sbom import PAGE, build_sbom

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


def test_the_list_is_the_one_that_is_made_of_the_lock_file():
    """``make sbom`` writes it; two runs write the same."""
    assert PAGE.read_text(encoding="utf-8") == build_sbom()


def test_it_names_every_package_of_the_lock_file_and_no_other():
    lock = (ROOT / "requirements" / "base.txt").read_text(encoding="utf-8")
    pinned = re.findall(r"^([\w.-]+)==([\w.]+)", lock, re.MULTILINE)
    components = json.loads(PAGE.read_text(encoding="utf-8"))["components"]
    assert sorted((each["name"], each["version"]) for each in components) == sorted(pinned)
    assert len(pinned) > 50


def test_it_says_what_needs_what():
    needs = {
        each["ref"]: each.get("dependsOn", []) for each in json.loads(PAGE.read_text(encoding="utf-8"))["dependencies"]
    }
    names = {re.sub(r"@.*", "", ref).removeprefix("pkg:pypi/"): refs for ref, refs in needs.items()}
    assert any(ref.startswith("pkg:pypi/django@") for ref in names["auditapp"])
    assert any(ref.startswith("pkg:pypi/kombu@") for ref in names["celery"])
    needed = {ref for refs in needs.values() for ref in refs}
    assert set(needs) - needed == {"auditapp"}


def test_it_holds_no_time_no_serial_number_and_no_address():
    text = PAGE.read_text(encoding="utf-8").replace('"$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json"', "")
    assert not re.search(r"://|timestamp|serialNumber|[0-9]{4}-[0-9]{2}-[0-9]{2}T|/home|/tmp", text)
