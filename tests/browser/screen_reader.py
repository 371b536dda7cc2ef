"""Orca at work: a display and a bus of its own, keys as a keyboard sends them, and what it says, as it logs it."""

import os
import re
import shutil
import signal
import subprocess
import time
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

PROGRAMS = ("orca", "Xvfb", "xdotool", "dbus-daemon")
LAUNCHER = Path("/usr/libexec/at-spi-bus-launcher")
# In a command: the number of the file where a program is to tell its display or address.
TOLD = "{told}"
SPOKEN = re.compile(r"SPEECH OUTPUT: '(.*?)' ?\{")
QUIET_SECONDS, PATIENCE_SECONDS = 0.8, 60.0
# So that a word typed into a field of the browser itself looks nothing up.
BROWSER_ARGUMENTS = (
    "--no-sandbox",
    "--force-renderer-accessibility",
    "--window-size=1280,900",
    "--window-position=0,0",
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
)


def list_missing():
    """What this machine lacks of it."""
    return [name for name in PROGRAMS if shutil.which(name) is None] + ([] if LAUNCHER.exists() else [str(LAUNCHER)])


class ScreenReader:
    """Orca gets the keys first and passes on to the page what it does not take."""

    def __init__(self, environment, log):
        self.environment, self.log = environment, log
        self._read = 0

    def press(self, key, until=""):
        """What is said after a key, such as "ctrl+k"; of several sentences, until one of them is heard."""
        self.listen()
        *modifiers, last = key.split("+")
        # As a hand lets go: the last key first, or it would be released as a plain letter.
        held = [part for modifier in modifiers for part in ("keydown", modifier)]
        left = [part for modifier in reversed(modifiers) for part in ("keyup", modifier)]
        self._do(*held, "key", "--delay", "40", last, *left)
        return self.hear(until)

    def press_twice_with_insert(self, key, until):
        """With Orca's own modifier, as one presses twice."""
        self.listen()
        self._do("keydown", "Insert", "key", "--delay", "60", key, "key", "--delay", "60", key, "keyup", "Insert")
        return self.hear(until)

    def hear(self, words):
        """What is said, until these words are heard; a busy machine may leave it silent in between."""
        told, end = " ".join(self.listen()), time.monotonic() + PATIENCE_SECONDS
        while words not in told:
            assert time.monotonic() < end, f"{words!r} was not heard in {told!r}"
            told = " ".join([told, *self.listen()])
        return told

    def click(self, x, y):
        self._do("mousemove", str(x), str(y), "click", "1")
        self.listen()

    def listen(self):
        """What was said since it was last asked, once it has nothing more to do: it logs all that it does."""
        size, still_since = -1, time.monotonic()
        end = still_since + PATIENCE_SECONDS
        while time.monotonic() - still_since < QUIET_SECONDS:
            assert time.monotonic() < end, "Orca does not come to rest"
            time.sleep(0.05)
            if self.log.stat().st_size != size:
                size, still_since = self.log.stat().st_size, time.monotonic()
        text = self.log.read_bytes().decode("utf-8", "replace")
        told = SPOKEN.findall(text, self._read)
        self._read = len(text)
        return told

    def _do(self, *arguments):
        subprocess.run(["xdotool", *arguments], env=self.environment, check=True, capture_output=True)


@contextmanager
def run_screen_reader(folder):
    """Orca on a screen that nobody sees. A browser that is started with its ``environment`` is read by it."""
    log = folder / "orca.log"
    log.touch()
    # Its log would come in pieces of 8 kilobytes.
    own = folder / "share/orca/orca-customizations.py"
    own.parent.mkdir(parents=True)
    own.write_text("from orca import debug\n\ndebug.debugFile.reconfigure(line_buffering=True)\n", encoding="utf-8")
    home = {"HOME": "", "XDG_RUNTIME_DIR": "", "XDG_CONFIG_HOME": "config", "XDG_DATA_HOME": "share"}
    environment = {**os.environ, **{name: str(folder / place) for name, place in home.items()}, "NO_AT_BRIDGE": "0"}
    with ExitStack() as stack:
        size = ("-screen", "0", "1280x900x24")
        screen = _start(stack, environment, folder, "Xvfb", "-displayfd", TOLD, "-nolisten", "tcp", *size)
        environment["DISPLAY"] = f":{screen}"
        bus = _start(stack, environment, folder, "dbus-daemon", "--session", "--nofork", f"--print-address={TOLD}")
        environment["DBUS_SESSION_BUS_ADDRESS"] = bus
        _start(stack, environment, folder, str(LAUNCHER), "--launch-immediately")
        _start(stack, environment, folder, "orca", "--replace", "--debug-file", str(log))
        reader = ScreenReader(environment, log)
        end = time.monotonic() + PATIENCE_SECONDS
        while "Screen reader on." not in reader.listen():
            assert time.monotonic() < end, (folder / "words.log").read_text(encoding="utf-8", errors="replace")
        yield reader


def _start(stack, environment, folder, *command):
    """Start a program that ends with the stack; the line that it tells where its command has ``TOLD``."""
    ours, its = os.pipe()
    with (folder / "words.log").open("ab") as words:
        process = subprocess.Popen(
            [part.replace(TOLD, str(its)) for part in command],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=words,
            stderr=words,
            pass_fds=[its],
            start_new_session=True,
        )
    os.close(its)
    stack.callback(_end, process)
    with os.fdopen(ours, encoding="utf-8") as told:
        return told.readline().strip() if any(TOLD in part for part in command) else ""


def _end(process):
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)
    try:
        process.wait(timeout=10)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
