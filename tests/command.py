# SPDX-License-Identifier: MIT
"""The overlock command, as tests run it."""

import json
import os
import select
import shlex
import signal
import subprocess
import sys
import traceback
from collections.abc import Callable
from importlib import resources
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, NoReturn

import pytest

from tests.processes import HANG_S

Done = subprocess.CompletedProcess[str]
Overlock = Callable[..., Done]
COMMAND = [sys.executable, "-m", "overlock_tools"]
SHORT = ["--rounds", "1", "--seconds", "0.02"]


def run_forked(
    args: list[str], folder: Path, environment: dict[str, str], seconds: float = HANG_S
) -> Done:
    """The command as a process of its own, without a terminal.

    It is a copy of this process, which spares it the third of a second that its imports take.
    """
    import overlock_tools.cli.main  # before the fork

    assert overlock_tools.cli.main
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
    from overlock_tools.cli import main
    from overlock_tools.core.model import defs

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


def schema(name: str) -> Any:
    """Of a format that the command writes."""
    return json.loads((resources.files("overlock_tools.core") / f"schema/{name}.json").read_text())


@pytest.fixture
def overlock(tmp_path: Path) -> Overlock:
    """Runs the command in a folder of its own, without a terminal; `within` comes before it."""

    def run(
        *args: str | Path, within: tuple[str, ...] = (), seconds: float = HANG_S, **environment: str
    ) -> Done:
        words, env = [*map(str, args)], {**os.environ, **environment}
        if not within:
            return run_forked(words, tmp_path, env, seconds)
        return subprocess.run(
            [*within, *COMMAND, *words],
            cwd=tmp_path,
            env=env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
        )

    return run


@pytest.fixture(scope="session")
def result_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A real result: three rounds of locks that collapse, do not, and a peer."""
    path = tmp_path_factory.mktemp("result") / "result.json"
    locks = "ticket,preemptable_ticket,preemptable_ticket@tau=0,tas_yield,pthread_mutex"
    command = ["bench", "sections", "--locks", locks, "--threads", "1,2,6", "--json", str(path)]
    subprocess.run(
        [*COMMAND, *command, "--rounds", "3", "--seconds", "0.02"],
        check=True,
        capture_output=True,
        stdin=subprocess.DEVNULL,
        timeout=HANG_S,
    )
    return path
