"""Requests made from the schema of the API, and broken ones: none ends in a 500, each answer is one that the schema names."""

import os
import subprocess
import sys

import pytest

from auditapp.api.schema import build_schema
from perf.serving import PRODUCT, serve
from tests.support.instance import ROOT
from transcripts.accounts.models import Scope

# Per kind of request and operation. A limit of time would leave operations out on a slow machine.
EXAMPLES = 40
PATIENCE_SECONDS = 1_500
# That a request fits the schema does not mean that it is taken: a code that the study does not have is refused.
LEFT_OUT = "positive_data_acceptance"


@pytest.mark.full
@pytest.mark.processes
@pytest.mark.parametrize("person", ["owner", "demo-coder"])
def test_the_api_keeps_to_its_schema_whatever_is_sent(instance, tmp_path, person):
    instance.environment["API_REQUESTS_PER_MINUTE"] = "1000000"
    instance.manage("prepare")
    scopes = [word for scope in Scope.values for word in ("--scope", scope)]
    token = instance.ask("user", "create-token", person, *scopes)["token"]
    log = tmp_path / "server.log"
    with serve(PRODUCT, environment=instance.environment, log=log) as server:
        command = [
            *(sys.executable, "-m", "schemathesis.cli", "run", f"http://127.0.0.1:{server.port}/api/v1/schema/"),
            # The schema names the address of the site, which this server is not.
            *("--url", f"http://127.0.0.1:{server.port}"),
            *("--header", f"Authorization: Bearer {token}", "--exclude-checks", LEFT_OUT, "--continue-on-failure"),
            *("--phases", "examples,coverage,fuzzing", "--max-examples", str(EXAMPLES)),
            *("--seed", "1", "--no-color", "--warnings", "off"),
        ]
        hooks = {"SCHEMATHESIS_HOOKS": "tests.security.fuzz_hooks", "PYTHONPATH": str(ROOT)}
        done = subprocess.run(
            command,
            cwd=tmp_path,
            env=os.environ | hooks,
            capture_output=True,
            text=True,
            timeout=PATIENCE_SECONDS,
            check=False,
        )
    assert done.returncode == 0, done.stdout[-8_000:] + done.stderr[-2_000:]
    # The fuzzer does not test the address that it reads the schema from.
    operations = sum(len(path) for path in build_schema()["paths"].values()) - 1
    assert f"Tested: {operations}" in done.stdout, "operations were left out"
    assert "Traceback" not in log.read_text(encoding="utf-8")
