# SPDX-License-Identifier: MIT
"""The overlock command, as tests run it."""

import os
import select
import shlex
import signal
import subprocess
import sys
import traceback
from pathlib import Path
from tempfile import TemporaryFile
from typing import NoReturn

from overlock_tools.cli import main
from overlock_tools.model import defs
from tests.processes import HANG_S

Done = subprocess.CompletedProcess[str]
COMMAND = [sys.executable, "-m", "overlock_tools"]


def run_forked(
    args: list[str], folder: Path, environment: dict[str, str], seconds: float = HANG_S
) -> Done:
    """The command as a process of its own, without a terminal.

    It is a copy of this process, which spares it the third of a second that its imports take.
    """
    with TemporaryFile("w+") as out, TemporaryFile("w+") as err:
        if not (child := os.fork()):
            _be_the_command(args, folder, environment, out.fileno(), err.fileno())
        with open(os.pidfd_open(child), "rb") as ended:
            late = not select.select([ended], [], [], seconds)[0]
        if late:
            os.killpg(child, signal.SIGKILL)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        said = [(file.seek(0), file.read())[1] for file in (out, err)]
    assert not late, f"overlock {shlex.join(args)}: not done after {seconds} s: {said}"
    return Done(args, code, *said)


def _be_the_command(
    args: list[str], folder: Path, environment: dict[str, str], out: int, err: int
) -> NoReturn:
    code: object = 1
    try:
        os.setsid()
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(environment)
        defs.load.cache_clear()
        defs.say_renamed.cache_clear()
        for fd, own in enumerate((os.open(os.devnull, os.O_RDONLY), out, err)):
            os.dup2(own, fd)
        sys.stdin, sys.stdout, sys.stderr = sys.__stdin__, os.fdopen(1, "w"), os.fdopen(2, "w")
        sys.argv = ["overlock", *args]
        code = main.run(args)
    except SystemExit as exit_:
        code = exit_.code
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code if isinstance(code, int) else code is not None)
