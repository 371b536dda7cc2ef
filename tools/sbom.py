"""Write the list of what an installation contains, in CycloneDX: ``make sbom`` (docs/security/sbom.json).

Everything comes from the lock file, so the list changes only with it: it has no time, no serial number and no address of
a package index. The hashes of the packages' files are in the lock file.
"""

from __future__ import annotations

import json
import re
import tomllib
from typing import Any

from tools.environment import ROOT

LOCK = ROOT / "requirements" / "base.txt"
PAGE = ROOT / "docs" / "security" / "sbom.json"
PINNED = re.compile(r"^(?P<name>[\w.-]+)==(?P<version>\S+?)(?: ; (?P<condition>.*?))? \\$")
NEEDED_BY = re.compile(r"^    #   (?:via )?(?P<name>[\w.-]+(?: \(pyproject\.toml\))?)$")


def read_lock() -> list[tuple[str, str, str, list[str]]]:
    """Each pinned package: name, version, the condition under which it is installed ("" for always), and what needs it."""
    found: list[tuple[str, str, str, list[str]]] = []
    for line in LOCK.read_text(encoding="utf-8").replace("    # via ", "    #   via ").splitlines():
        if match := PINNED.match(line):
            found.append((match["name"], match["version"], match["condition"] or "", []))
        elif match := NEEDED_BY.match(line):
            found[-1][3].append(match["name"].removesuffix(" (pyproject.toml)"))
    return found


def build_sbom() -> str:
    """The text of the file."""
    from cyclonedx.model import Property
    from cyclonedx.model.bom import Bom
    from cyclonedx.model.component import Component, ComponentType
    from cyclonedx.output.json import JsonV1Dot6
    from cyclonedx.schema import SchemaVersion
    from cyclonedx.validation.json import JsonStrictValidator
    from packageurl import PackageURL

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    product = Component(
        name=project["name"], version=project["version"], type=ComponentType.APPLICATION, bom_ref=project["name"]
    )
    packages = []
    for name, version, condition, needed_by in read_lock():
        address = PackageURL("pypi", name=name, version=version)
        properties = [Property(name="condition", value=condition)] if condition else []
        component = Component(
            name=name,
            version=version,
            purl=address,
            bom_ref=str(address),
            properties=properties,
            type=ComponentType.LIBRARY,
        )
        packages.append((component, needed_by))
    bom = Bom(components=[component for component, _ in packages])
    bom.metadata.component = product
    for user in [product, *bom.components]:
        bom.register_dependency(user, [component for component, needed_by in packages if user.name in needed_by])
    made: dict[str, Any] = json.loads(JsonV1Dot6(bom).output_as_string())
    del made["serialNumber"], made["metadata"]["timestamp"]
    text = json.dumps(made, indent=1, sort_keys=True) + "\n"
    if error := JsonStrictValidator(SchemaVersion.V1_6).validate_str(text):
        raise ValueError(f"The list is no CycloneDX 1.6: {error}")
    return text


def main() -> None:
    PAGE.write_text(build_sbom(), encoding="utf-8")
    print(f"{len(read_lock())} packages in {PAGE.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
