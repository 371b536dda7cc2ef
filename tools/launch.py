"""The one entry of the Makefile: ``python3 -m tools.launch run|setup|test|test-ci|test-all``.

Written so that Python 3.6 can read it (no annotations of the future, types in quotes): an old Python is then told so
in one line instead of by a syntax error. Whatever is newer is imported after the check.
"""

import sys

OLDEST_PYTHON = (3, 11)


def explain_old_python(version: "tuple[int, ...]", name: str) -> "str | None":
    """The line for anybody who runs a Python (``version`` as in sys.version_info) that is too old; None when it is not."""
    if version[:2] >= OLDEST_PYTHON:
        return None
    found = ".".join(str(part) for part in version[:3])
    return (
        f"auditapp needs Python 3.11 or newer, and {name} is Python {found}. "
        "Install a newer one and name it: make run PYTHON=python3.12"
    )


def main() -> int:
    """Check the Python, then do what the command line asks for; returns the exit status."""
    problem = explain_old_python(tuple(sys.version_info[:3]), sys.executable)
    if problem is not None:
        sys.stderr.write(problem + "\n")
        return 1
    from tools.commands import run_command

    return run_command(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
