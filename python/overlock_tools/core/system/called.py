# SPDX-License-Identifier: MIT
"""What the user types for this command: `overlock`, if a shell finds this one by that name."""

import re
import shlex
import shutil
import sys
from functools import cache
from pathlib import Path

NAME = "overlock"
SCRIPTS = (NAME, "overlock-tools")

COMMANDS: set[str] = set()  # cli adds its own: before one of them, `overlock` is the command


@cache
def command() -> str:
    """Beside the script that runs is the launcher. `python -m overlock_tools` has none."""
    ours = Path(sys.argv[0]).absolute().with_name(NAME)
    if Path(sys.argv[0]).name not in SCRIPTS or not ours.is_file() or _finds(ours):
        return NAME
    if ours.is_relative_to(Path.cwd()):
        return shlex.quote(str(ours.relative_to(Path.cwd())))
    return shlex.quote(str(ours))


def _finds(ours: Path) -> bool:
    found = shutil.which(NAME)
    return found is not None and Path(found).samefile(ours)


def typed(text: str) -> str:
    """With the commands in it as they are typed here."""
    ours = command()
    return text if ours == NAME else _mentioned().sub(lambda _: f"{ours} ", text)


@cache
def _mentioned() -> re.Pattern[str]:
    names = "|".join(sorted(COMMANDS))
    return re.compile(rf"(?<![\w/.-])overlock (?=(?:{names})\b)")
