"""Arguments that many commands take. A command that says something else of one takes ``usual.STUDY.but(help=…)``."""

from __future__ import annotations

from transcripts.formats.command_files import input_file
from transcripts.ui.commands import Argument

STUDY = Argument("--project", required=True, metavar="SLUG", help="the study")
MAYBE_STUDY = STUDY.but(required=False)
FILE = Argument("file", metavar="FILE", type=input_file)
MAYBE_FILE = FILE.but(nargs="?")
OUTPUT = Argument("--output", required=True, metavar="PATH", help="the file that is written")
OVERWRITE = Argument("--overwrite", action="store_true", help="overwrite an existing file")
DRY_RUN = Argument("--dry-run", action="store_true", help="check, and say what would be stored; store nothing")
REASON = Argument("--reason", required=True, help="why")
CODER = Argument("--coder", default="", metavar="NAME", help="whose codings are read")
SEED = Argument("--seed", type=int, default=1, metavar="N", help="seed of what is random (default: %(default)s)")
RESAMPLES = Argument(
    "--resamples", type=int, metavar="N", help="resamples for each interval, 0 for no intervals (default: %(default)s)"
)
