# SPDX-License-Identifier: MIT
"""Every command of README and docs/ is run, here or by another test, or commands.toml says why not.

Here it is run in a scratch folder that has what the pages assume: a server, a lock of one's own.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import pytest

from overlock_tools.cli.main import cli
from tests.conftest import NATIVE, TOP
from tests.processes import HANG_S

HERE = Path(__file__).parent
PAGES = [TOP / "README.md", TOP / "CONTRIBUTING.md", *sorted(TOP.glob("docs/**/*.md"))]
TESTED_APART = ("errors", "counterexamples")  # test_errors_page.py, test_counterexamples.py
GENERATED = re.compile(r"<!-- (?:generated|explored|proof|genmc): .*?<!-- end -->", re.DOTALL)
FENCE = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)
BLOCK = re.compile(r"(?:^ {4}.*\n)+", re.MULTILINE)
CONSOLE = re.compile(r"^```console\n(.*?)^```$", re.DOTALL | re.MULTILINE)
# The first word of a command; other indented lines are what commands print, or files.
PROGRAMS = (
    r"(?:overlock|kubectl|make|cc|g\+\+|pip|git|dpkg|install|systemctl|grep|tr|echo|qemu-system-x86_64"
    r"|(?:build/native/)?overlock-check|build/tests/\S+|tests/\S+|guest/\S+|\./readers) "
)
COMMAND = re.compile(rf"(?:\$ )?({PROGRAMS}.*|overlock doctor)$")
NO_COMMAND = "overlock: "  # a message of the kernel
PROCESS = "PID"


@dataclass(frozen=True)
class Command:
    page: str
    text: str

    def __str__(self) -> str:
        return f"{self.page}: {self.text}"


def commands_of(page: str, text: str) -> list[Command]:
    """Those of its blocks, without comments, a continued one as one line."""
    text, found = GENERATED.sub("", text), []
    for block in [*BLOCK.findall(FENCE.sub("", text)), *CONSOLE.findall(text)]:
        for line in block.replace("\\\n", " ").splitlines():
            command = COMMAND.match(re.sub(r"\s+#.*$", "", line.strip()))
            if command and not command[1].startswith(NO_COMMAND):
                found.append(Command(page, " ".join(command[1].split())))
    return found


def every_command() -> dict[str, Command]:
    """By its text."""
    found = [
        command
        for page in PAGES
        if not page.stem.startswith(TESTED_APART)
        for command in commands_of(str(page.relative_to(TOP)), page.read_text())
    ]
    return {command.text: command for command in found}


ENTRIES: list[dict[str, Any]] = tomllib.loads((HERE / "commands.toml").read_text())["run"]
COMMANDS = every_command()


def entry_of(text: str) -> dict[str, Any] | None:
    return next((one for one in ENTRIES if re.match(one["command"], text)), None)


def is_run(text: str) -> bool:
    return "add" in (entry_of(text) or {})


RUN = [pytest.param(text, id=text) for text in COMMANDS if is_run(text)]
OVERLOCK = [text for text in COMMANDS if text.startswith("overlock ")]


def test_commands_are_found() -> None:
    page = "\n    overlock a  # b\n    overlock c \\\n      --d\n    printed\n"
    page += "\n```c\n    make e\n```\n"
    page += "\n```console\n$ make f\nprinted\n```\n"
    assert [c.text for c in commands_of("p", page)] == ["overlock a", "overlock c --d", "make f"]
    assert len(COMMANDS) > 120
    assert len(RUN) > 50


def test_every_command_has_an_entry() -> None:
    assert not [str(command) for text, command in COMMANDS.items() if not entry_of(text)]


def test_every_entry_is_of_a_command_and_says_one_thing() -> None:
    used = [entry_of(text) for text in COMMANDS]
    for one in ENTRIES:
        assert one in used, one
        assert len(one.keys() & {"add", "by", "why_not"}) == 1, one


def test_tests_that_run_commands_exist() -> None:
    assert not [one for one in ENTRIES if not (TOP / one.get("by", "README.md")).exists()]


def options_of(text: str) -> list[str]:
    """Its options that the command does not have."""
    words = shlex.split(text)[1:]
    words = words[: words.index("--")] if "--" in words else words
    if words[:2] == ["bench", "--replay"]:
        words[1] = "replay"  # which it stands for
    command: click.Command = cli
    context = click.Context(cli)
    while isinstance(command, click.Group) and words and words[0][0] != "-":
        below = command.get_command(context, words.pop(0))
        if below is None and any(isinstance(p, click.Argument) for p in command.params):
            break  # it is the argument of the group itself
        if below is None:
            return [text]
        command, context = below, click.Context(below, context)
    known = {option for param in command.get_params(context) for option in param.opts}
    known |= {option for param in command.get_params(context) for option in param.secondary_opts}
    return [word for word in words if word.startswith("--") and word.split("=")[0] not in known]


@pytest.mark.parametrize("text", [text for text in OVERLOCK if "NAME" not in text])
def test_options_exist(text: str) -> None:
    assert not options_of(text)


def test_options_that_do_not_exist_are_found() -> None:
    assert options_of("overlock run --lok tas -- ./server --port 1") == ["--lok"]
    assert options_of("overlock bench sctions --threads 1") == [
        "overlock bench sctions --threads 1"
    ]


def overlock(folder: Path, *words: str) -> None:
    subprocess.run([*PREFIX, *words], cwd=folder, check=True, capture_output=True)


PREFIX = (sys.executable, "-m", "overlock_tools")


@pytest.fixture(scope="session")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the pages assume."""
    folder = tmp_path_factory.mktemp("prepared")
    source = HERE / "programs/server.c"
    subprocess.run(["cc", "-O1", "-pthread", source, "-o", folder / "server"], check=True)
    (folder / "FILE").write_bytes(os.urandom(100_000))
    (folder / "locks.toml").write_text('lock = "tas_yield"\n')
    (folder / "results").mkdir()
    for name, lock in (("mine.c", "ticket.c"), ("mine.hpp", "spinlock.hpp")):
        shutil.copy(TOP / "tests/check/ordinary/locks" / lock, folder / name)
    page = (TOP / "docs/workloads.md").read_text()
    (folder / "gate.c").write_text(page.partition("```c\n")[2].partition("```")[0])
    example = TOP / "examples/spinlock.c"
    subprocess.run(["cc", "-O2", "-pthread", example, "-o", folder / "spinlock"], check=True)
    (folder / "theirs").mkdir()
    shutil.copy(HERE / "programs/gate.h", folder / "theirs")
    overlock(folder, "new", "mine")
    short = ("--threads", "1,2", "--rounds", "2", "--seconds", "0.01", "--no-pilot")
    overlock(folder, "bench", "sections", "--locks", "tas,ttas", *short, "--json", "results/a.json")
    return folder


@pytest.fixture
def server() -> Any:
    """A process to observe."""
    with subprocess.Popen(["sleep", "100"]) as process:
        yield process.pid
        process.kill()


@pytest.mark.parametrize("text", RUN)
def test_command_runs(text: str, prepared: Path, tmp_path: Path, server: int) -> None:
    entry = entry_of(text)
    assert entry
    folder = shutil.copytree(prepared, tmp_path / "scratch")
    if "without" in entry:
        (folder / entry["without"]).unlink()
    (folder / "build").mkdir()
    (folder / "build/native").symlink_to(NATIVE)
    (folder / "examples").symlink_to(TOP / "examples")
    (folder / "tests").mkdir()
    (folder / "tests/check").symlink_to(TOP / "tests/check")
    adapted = re.sub(rf"\b{PROCESS}\b", str(server), text).replace("PROGRAM", "./server")
    own, dash, program = adapted.partition(" -- ")
    command = f"{own} {entry['add']}{dash}{program}"
    path = os.pathsep.join((str(NATIVE), str(Path(sys.executable).parent), os.environ["PATH"]))
    done = subprocess.run(
        ["script", "--quiet", "--return", "--command", command, "/dev/null"],  # on a terminal
        cwd=folder,
        env={**os.environ, "PATH": path, "OVERLOCK_NATIVE": str(NATIVE)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=HANG_S,
        check=False,
    )
    assert done.returncode in entry.get("codes", [0]), (command, done.stdout)
