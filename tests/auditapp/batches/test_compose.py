"""docker-compose.yml and the Dockerfile: what they promise, and that the very commands they name work."""

import ipaddress
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest
import yaml
from django.conf import settings

from auditapp.batches.runner import worker_process
from auditapp.site.environment import SECRETS, find_faults
from auditapp.site.serving import ROOM_FOR_ANSWERS, ROOM_FOR_BODIES, ROOM_LEFT
from tests.support.instance import PATIENCE, ROOT, find_free_port, wait_until
from tests.support.services import quick_on
from transcripts.ui.forms import MEGABYTE

LONG_RUNNING = ("proxy", "web", "worker", "beat", "postgres", "redis")
OURS = ("prepare", "web", "worker", "beat")
SECONDS = re.compile(r"(\d+)s")


def read_compose():
    return dict(yaml.safe_load((ROOT / "docker-compose.yml").read_text(encoding="utf-8")))


SERVICES = read_compose()["services"]


def read_size(text):
    """Bytes, of a number with a unit."""
    return int(text[:-1]) * {"m": MEGABYTE, "g": 1024 * MEGABYTE}[text[-1]]


def read_dockerfile():
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    return [line for line in text.splitlines() if line and not line.startswith("#")]


def read_web_command():
    [line] = [line for line in read_dockerfile() if line.startswith("CMD ")]
    return list(json.loads(line.removeprefix("CMD ")))


class TestFile:
    def test_it_has_the_parts_of_a_site(self):
        assert set(SERVICES) == {*OURS, *LONG_RUNNING}

    @pytest.mark.parametrize("name", LONG_RUNNING)
    def test_every_part_that_stays_is_watched_and_started_again(self, name):
        assert SERVICES[name]["healthcheck"]["test"][0] == "CMD"
        assert SERVICES[name]["restart"] == "unless-stopped"

    @pytest.mark.parametrize("name", SERVICES)
    def test_every_part_is_locked_in(self, name):
        service = SERVICES[name]
        assert service["read_only"] is True
        assert service["cap_drop"] == ["ALL"]
        assert service["security_opt"] == ["no-new-privileges:true"]
        assert not service.get("privileged")
        if name in OURS:
            assert service["image"] == "auditapp"
        else:
            assert service["user"] == {"proxy": "nginx"}.get(name, name)

    @pytest.mark.parametrize("name", SERVICES)
    def test_every_part_has_limits(self, name):
        service = SERVICES[name]
        memory = read_size(service["mem_limit"])
        assert service["pids_limit"] > 0
        folders = [re.fullmatch(r"(/[a-z/]+):size=(\d+[mg])", entry) for entry in service["tmpfs"]]
        assert all(folders), "each has a size"
        # What lies there is memory of this part.
        assert sum(read_size(folder[2]) for folder in folders if folder) < memory * 0.75
        options = service["logging"]["options"]
        assert read_size(options["max-size"]) * int(options["max-file"]) <= 50 * MEGABYTE

    def test_the_largest_requests_fit_into_the_folder_for_temporary_files(self):
        """A body, and the files in it once more while they are read; and beside them what slow clients have not read yet."""
        [folder] = SERVICES["web"]["tmpfs"]
        assert read_size(folder.partition("size=")[2]) >= 2 * ROOM_FOR_BODIES + ROOM_FOR_ANSWERS + ROOM_LEFT

    @pytest.mark.parametrize("name", SERVICES)
    def test_no_secret_is_on_a_command_line_or_in_the_environment(self, name):
        service = SERVICES[name]
        variables = service.get("environment", {})
        assert not {variable for variable in variables if variable in {*SECRETS, "POSTGRES_PASSWORD", "REDISCLI_AUTH"}}
        for variable, value in variables.items():
            if variable.endswith("_FILE"):
                assert value.removeprefix("/run/secrets/") in service["secrets"]
        words = [
            *service.get("command", []),
            *service.get("entrypoint", []),
            *service.get("healthcheck", {}).get("test", []),
        ]
        for file in re.findall(r"/run/secrets/(\w+)", " ".join(words)):
            assert file in service["secrets"]
        assert "${" not in " ".join(words)

    def test_our_own_image_does_not_run_as_root(self):
        lines = read_dockerfile()
        assert [line for line in lines if line.startswith("USER ")] == ["USER auditapp"]
        assert lines.index("USER auditapp") > lines.index("COPY . .")

    def test_what_is_kept_is_kept_in_named_volumes(self):
        volumes = read_compose()["volumes"]
        for name in LONG_RUNNING:
            for mount in SERVICES[name]["volumes"]:
                assert mount.split(":")[0] in volumes or mount.endswith(":ro")

    def test_every_worker_of_a_machine_has_the_same_spool(self):
        assert SERVICES["worker"]["volumes"] == SERVICES["web"]["volumes"] == ["data:/data"]
        assert "AUDITAPP_DATA=/data" in (ROOT / "Dockerfile").read_text(encoding="utf-8")

    def test_workers_can_be_as_many_as_one_likes(self):
        for name in ("worker", "web", "beat"):
            assert "container_name" not in SERVICES[name]
            assert "hostname" not in SERVICES[name]
        assert "ports" not in SERVICES["worker"]

    def test_only_the_proxy_is_reached_from_outside(self):
        ports = {name: service["ports"] for name, service in SERVICES.items() if "ports" in service}
        assert ports == {"proxy": ["80:8080", "443:8443"]}
        in_front = {name for name, service in SERVICES.items() if "front" in service["networks"]}
        assert in_front == {"proxy", "web"}
        assert {name for name, service in SERVICES.items() if "edge" in service["networks"]} == {"proxy"}
        assert "back" not in SERVICES["proxy"]["networks"], "database and broker are out of its reach"

    def test_visitors_by_ipv6_come_with_their_own_addresses(self):
        """Where the network of published ports has IPv4 only, Docker hands them on as one: its own gateway."""
        assert read_compose()["networks"]["edge"]["enable_ipv6"] == "${IPV6:-true}"
        assert read_compose()["networks"]["front"]["internal"] is True, "it is no way in or out"

    def test_the_web_server_believes_the_proxy_alone(self):
        [trusted] = {service["environment"]["TRUSTED_PROXIES"] for name, service in SERVICES.items() if name in OURS}
        address = SERVICES["proxy"]["networks"]["front"]["ipv4_address"]
        assert trusted == address
        [network] = read_compose()["networks"]["front"]["ipam"]["config"]
        hosts = list(ipaddress.ip_network(network["subnet"]).hosts())
        # The first is Docker's own.
        assert ipaddress.ip_address(address) in hosts[1:]
        given = ipaddress.IPv4Network(network["ip_range"])
        assert given.subnet_of(ipaddress.IPv4Network(network["subnet"]))
        assert ipaddress.ip_address(address) not in given, "no other container is given the proxy's address"

    def test_there_can_be_two_web_servers(self):
        """A second one, and `docker compose run web`, need an address of their own."""
        assert SERVICES["web"]["networks"] == ["front", "back"]

    def test_what_must_be_given_has_no_default(self):
        text = (ROOT / "docker-compose.yml").read_text(encoding="utf-8")
        used = re.findall(r"(?<!\$)\$\{([^}]*)\}", text)
        assert [each.split(":?")[0] for each in used if ":?" in each] == ["BASE_URL"]
        left_out = [each for each in used if ":?" not in each and each != "IPV6:-true"]
        assert all(each.endswith(":-") for each in left_out), "what may be left out is empty then"

    def test_the_lines_of_the_guide_make_the_secrets_that_the_site_needs(self, tmp_path, monkeypatch):
        guide = (ROOT / "docs" / "guide" / "deployment.md").read_text(encoding="utf-8")
        [lines] = re.findall(r"```sh\n(.*?)```", guide, re.DOTALL)
        subprocess.run(["sh", "-e", "-c", lines], cwd=tmp_path, check=True)
        folder = tmp_path / "secrets"
        declared = {name: tmp_path / each["file"] for name, each in read_compose()["secrets"].items()}
        # The certificate is the person's own.
        made = {name: file for name, file in declared.items() if not name.startswith("tls_")}
        assert sorted(folder.iterdir()) == sorted(made.values())
        assert folder.stat().st_mode & 0o777 == 0o700
        for variable, value in SERVICES["web"]["environment"].items():
            if variable.endswith("_FILE"):
                monkeypatch.delenv(variable.removesuffix("_FILE"), raising=False)
                monkeypatch.setenv(variable, str(made[value.removeprefix("/run/secrets/")]))
        assert find_faults(tmp_path) == []
        password = made["postgres_password"].read_text(encoding="ascii").strip()
        assert made["database_url"].read_text(encoding="ascii").strip() == (
            f"postgresql://auditapp:{password}@postgres:5432/auditapp"
        )
        word, password = made["redis_conf"].read_text(encoding="ascii").split()
        assert (word, made["redis_url"].read_text(encoding="ascii").strip()) == (
            "requirepass",
            f"redis://:{password}@redis:6379/0",
        )

    def test_what_holds_secrets_is_neither_committed_nor_in_the_image(self):
        assert "secrets/" in (ROOT / ".gitignore").read_text(encoding="ascii").split()
        assert (ROOT / ".dockerignore").read_text(encoding="ascii").splitlines()[1] == "*", (
            "only what is named is copied"
        )

    @pytest.mark.skipif(shutil.which("docker-compose") is None, reason="docker-compose is not installed")
    def test_compose_reads_the_file(self):
        done = subprocess.run(
            ["docker-compose", "--file", "docker-compose.yml", "config", "--quiet"],
            cwd=ROOT,
            env={"PATH": os.environ["PATH"], "BASE_URL": "https://coding.example.org"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr

    def test_a_worker_is_given_the_time_it_takes_to_end(self):
        [grace] = SECONDS.findall(SERVICES["worker"]["stop_grace_period"])
        assert int(grace) > settings.CELERY_WORKER_SOFT_SHUTDOWN_TIMEOUT + worker_process.LAST_SECONDS

    def test_what_a_part_waits_for_can_become_true(self):
        for service in SERVICES.values():
            for other, wait in service.get("depends_on", {}).items():
                if wait["condition"] == "service_healthy":
                    assert "healthcheck" in SERVICES[other]
                else:
                    assert SERVICES[other]["restart"] == "no"


def as_here(command):
    """A container's command for this machine: the same words after the program of this environment."""
    program, *arguments = command
    if program == "python":
        return [sys.executable, *arguments]
    return [str(Path(sys.executable).parent / program), *arguments]


@quick_on("sqlite")
@pytest.mark.processes
class TestCommands:
    """No Docker is at hand: the same processes by hand, on this session's database and broker."""

    def run(self, instance, command):
        return subprocess.run(
            as_here(command),
            cwd=ROOT,
            env=instance.environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE,
        )

    @pytest.mark.full
    def test_a_site_comes_up_from_its_own_commands_and_is_healthy(self, instance):
        prepared = self.run(instance, SERVICES["prepare"]["command"])
        assert prepared.returncode == 0, prepared.stderr
        assert "sign-in/" not in prepared.stdout
        port = str(find_free_port())
        web = [port if word == "8000" else word for word in read_web_command()]
        commands = [web, SERVICES["worker"]["command"], SERVICES["beat"]["command"]]
        started = [start(instance, command) for command in commands]
        check = SERVICES["worker"]["healthcheck"]["test"][1:]
        wait_until(lambda: is_ready(port), what="the site is ready, worker included")
        wait_until(lambda: self.run(instance, check).returncode == 0, what="the worker is healthy")
        assert all(process.poll() is None for process in started)
        for process in started:
            os.killpg(process.pid, signal.SIGTERM)
        ends = [process.wait(PATIENCE) for process in started]
        assert ends[1] == 0, "the worker ended as it was told to"

    @pytest.mark.full
    def test_the_worker_s_check_fails_where_none_lives(self, instance):
        done = self.run(instance, SERVICES["worker"]["healthcheck"]["test"][1:])
        assert done.returncode == 1
        assert "No worker on this machine" in done.stderr

    @pytest.mark.full
    def test_beat_alone_has_a_worker_sweep(self, instance):
        instance.start("manage.py", "worker", "--no-beat", "--queues", "1")
        start(instance, SERVICES["beat"]["command"])
        wait_until(lambda: ("sweep",) in instance.query("SELECT name FROM batches_tick"), what="a beat was heard")


def start(instance, command):
    """A container's command as a process that ends with the instance."""
    code = f"import os; os.execv({as_here(command)[0]!r}, {as_here(command)!r})"
    return instance.start("-c", code)


def is_ready(port):
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=5) as answer:
            found = json.load(answer)
    except OSError:
        return False
    return bool(found["ready"]) and found["checks"]["worker"] == "ok"
