# SPDX-License-Identifier: MIT
"""The launcher: it starts programs as Python does, refuses those that it cannot start, and leaves
the rest to Python.

Each row is a command line. The launcher runs beside a stand-in for `overlock-tools`, which prints
what it is started with, as the program does: the output shows which of them was started, and how.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from overlock_tools import __version__
from overlock_tools.core.model import defs
from overlock_tools.core.model.defs import Tunable
from overlock_tools.core.system import native
from overlock_tools.run.interpose import ADAPTIVE
from tests.conftest import TOP
from tests.mutant import changed
from tests.processes import HANG_S
from tests.run.conftest import LOCKS, Compile, environment

Text = str | bytes


@dataclass(frozen=True)
class Row:
    """`overlock run` with these words in this environment; None unsets a variable.

    {told} is the program, {folder} the folder with others, which is the current one.
    """

    words: tuple[Text, ...]
    variables: dict[str, Text | None] = field(default_factory=dict)
    before: Callable[[], object] | None = None  # in the child that becomes the launcher


def row(*words: Text, before: Callable[[], object] | None = None, **variables: Text | None) -> Row:
    return Row(words, variables, before)


def tunables(*units: str) -> dict[str, Tunable]:
    """By their option, those of these units."""
    every = defs.load().tunables.values()
    return {tunable.option: tunable for tunable in every if tunable.unit in units}


def each(options: Iterable[str], value: Callable[[str], str]) -> list[str]:
    return [word for option in options for word in (option, value(option))]


def lose_folder() -> None:
    """The current folder is none any more."""
    folder = Path("lost")
    folder.mkdir()
    os.chdir(folder)
    os.rmdir("../lost")


(FORMER, *_) = defs.load().aliases
OUTER: dict[str, Text | None] = dict.fromkeys(defs.load().variables, "x")
EVERY, TIMES = tunables("ns", "count", "power"), tunables("ns")
STARTED = {
    "no option": row("{told}"),
    "no option, --": row("--", "{told}"),
    "a lock": row("--lock", "mcs", "{told}"),
    "a lock after =": row("--lock=twa", "--", "{told}"),
    "a name that a lock had": row("--lock", FORMER, "{told}"),
    "the last lock": row("--lock", "mcs", "--lock", "ticket", "{told}"),
    "glibc's adaptive mutex": row("--lock", ADAPTIVE, "{told}"),
    "the last spinlock": row("--spinlock", "tas", "--spinlock=glibc", "{told}"),
    "the default spinlock": row("--spinlock", "glibc", "--spinlock", "spin_yield", "{told}"),
    "the first choice": row("--rwlock", "qrw", "--rwlock=glibc", "{told}"),
    "one in the middle": row("--openmp", "all", "{told}"),
    "the last choice": row("--rwlock", "qrw", "--openmp", "none", "{told}"),
    "the least of each": row(*each(EVERY, lambda t: f"{EVERY[t].least}"), "{told}"),
    "the most of each": row(*each(EVERY, lambda t: f"00{EVERY[t].most}"), "{told}"),
    "inf for each": row(*each(TIMES, lambda _: "inf"), "{told}"),
    "two tunables": row("--tau-ns=5", "--spin-ns", "6", "--tau-ns", "7", "{told}"),
    "arguments": row("{told}", "--lock", "x", "--", "--help", "a b", "", "*", "\n"),
    "arguments, --": row("--", "{told}", "--", "-n"),
    "no text": row("{told}", b"\xff\xfe", b"\xc3"),
    "variables that are no text": row("{told}", ODD=b"\xff\xfe=\xc3"),
    "on PATH": row("told", PATH="/nowhere:{folder}:/usr/bin"),
    "on PATH, here": row("told", PATH="/nowhere::/usr/bin"),
    "on PATH, here at last": row("told", PATH="/nowhere:"),
    "on PATH, relative": row("told", PATH=".:/usr/bin"),
    "on PATH, with a slash": row("told", PATH="{folder}/"),
    "on PATH, behind a folder of that name": row("told", PATH="{folder}/hidden:{folder}"),
    "here": row("./told"),
    "by a crooked path": row("{folder}/.//told"),
    "no current folder": row("{told}", before=lose_folder),
    "script": row("./script", "x"),
    "script, with an argument": row("script-with", "x", PATH="{folder}"),
    "script of a script": row("./script-of-script"),
    "inside another": Row(("{told}",), OUTER),
    "set by hand": row("{told}", OVERLOCK_TAU_NS="3", OVERLOCK_SPIN_NS="4"),
    "set by hand, and asked for": row("--tau-ns", "9", "{told}", OVERLOCK_TAU_NS="3"),
    "disabled": row("{told}", OVERLOCK_DISABLE="1"),
    "preloaded already": row("{told}", LD_PRELOAD="libm.so.6"),
    "preloaded already, two": row("{told}", LD_PRELOAD=" libm.so.6::libdl.so.2 "),
    "preloaded by another": row(
        "{told}", LD_PRELOAD="{native}/liboverlock-run-counted.so libm.so.6"
    ),
    "preloaded, nothing": row("{told}", LD_PRELOAD=""),
    "a native folder by a link": row("{told}", OVERLOCK_NATIVE="native-link"),
    "an empty PATH": row("told", PATH=""),
    "no PATH": row("env", "{told}", PATH=None),
    "with AddressSanitizer": row("./with-address"),
}
if (native.folder() / "liboverlock-run-spins.so").exists():
    STARTED["waiting loops"] = row("--spins", "{told}")
    STARTED["waiting loops and a lock"] = row("--spins=auto", "--lock", "mcs", "{told}")
LEFT_TO_PYTHON = {
    "nothing": row(),
    "no program": row("--lock", "mcs"),
    "no program, --": row("--"),
    "help": row("--help"),
    "help, short": row("-h", "{told}"),
    **{
        f"{words[0]} is not ordinary": row(*words, "{told}")
        for words in (
            ("--counters",),
            ("--counters=1s",),
            ("--spins=dry-run",),
            ("--fit",),
            ("--fit=2",),
            ("--histograms",),
            ("--check",),
            ("--json",),
            ("--output", "out"),
            ("--deadlock-timeout", "5s"),
            ("--site", "f=mcs"),
            ("--config", "locks.toml"),
            ("--no-such",),
            ("-x",),
        )
    },
    "no such lock": row("--lock", "tickt", "{told}"),
    "no such lock, then one": row("--lock", "tickt", "--lock", "mcs", "{told}"),
    "no lock": row("--lock=", "{told}"),
    "no such choice": row("--openmp", "gcc", "{told}"),
    "the beginning of a choice": row("--openmp", "al", "{told}"),
    "two choices": row("--openmp", "llvm|all", "{told}"),
    "a lock is missing": row("--lock"),
    "-- for a lock": row("--lock", "--", "{told}"),
    "a lock of a header": row("--lock", "./mine.h", "{told}"),
    "abbreviated": row("--loc", "mcs", "{told}"),
    "a tunable without its unit": row("--tau", "5", "{told}"),
    "a tunable with underscores": row("--long_term", "5", "{told}"),
    **{
        f"--tau-ns {value!r}": row("--tau-ns", value, "{told}")
        for value in ("", "-1", "+1", " 1", "1 ", "5x", "soon", "INF", "1000000001", "9" * 30, "٣")
    },
    "not a power of two": row("--wait-slots", "3", "{told}"),
    "below the least": row("--long-term", "0", "{told}"),
    "inf is no number": row("--long-term", "inf", "{told}"),
    **{f"--spinlock {lock}": row("--spinlock", lock, "{told}") for lock in ("mcs", "none", "")},
    "no native folder": row("{told}", OVERLOCK_NATIVE="{folder}"),
    "a folder with the library alone": row("{told}", OVERLOCK_NATIVE="without-lists"),
    "a native folder without the library": Row(
        ("{told}",), OUTER | {"OVERLOCK_NATIVE": "without-library"}
    ),
    "a native folder that LD_PRELOAD cannot name": row("{told}", OVERLOCK_NATIVE="a folder"),
    "a shell completes": row("{told}", _OVERLOCK_COMPLETE="bash_complete"),
}

MISSING_PYTHON = (
    "overlock-tools, which cannot be started: No such file or directory; install the package "
    "overlock-tools, or `pip install .` in overlock's sources"
)

REFUSED = {
    "a program without a name": (row(""), 127, "no program  on PATH; check the name"),
    "not on PATH": (row("told", PATH="/usr/bin"), 127, "no program told on PATH; check the name"),
    "on PATH, cannot be executed": (
        row("text", PATH="/nowhere:{folder}"),
        126,
        "{folder}/text is not executable; give a program",
    ),
    "not there": (row("./nowhere"), 127, "./nowhere does not exist; check the name"),
    "a name with a line break": (row("./no\n\nwhere"), 127, "./no  where does not exist; check"),
    "a folder": (row("{folder}"), 126, "{folder} is a folder; give a program"),
    "not executable": (row("./text"), 126, "./text is not executable; give a program"),
    "a pipe": (row("./pipe"), 126, "./pipe cannot be executed: Permission denied"),
    **{
        name: (row(f"./{file}"), code, f"./{file} cannot be executed: {why}")
        for name, file, code, why in (
            ("no program at all", "nonsense", 126, "Exec format error"),
            ("empty", "empty", 126, "Exec format error"),
            ("cut short", "cut-short", 126, "Exec format error"),
            ("a script for nobody", "script-for-nobody", 127, "No such file or directory"),
            ("a script of itself", "script-of-itself", 126, "Too many levels of symbolic links"),
            ("without its loader", "without-loader", 127, "No such file or directory"),
        )
    },
    **{
        name: (row(f"./{file}"), 125, f"{seen} {why}")
        for name, file, seen, why in (
            ("static", "static", "./static", "is statically linked, so no library"),
            ("a script of it", "script-static", "{folder}/static", "is statically linked"),
            ("of another machine", "foreign", "./foreign", "and liboverlock-run.so are for"),
            ("for musl", "for-musl", "./for-musl", "uses musl, but the interposer needs glibc"),
            ("with ThreadSanitizer", "with-thread", "./with-thread", "is built with ThreadSan"),
            ("setuid", "setuid", "./setuid", "is setuid, setgid or has capabilities, so the"),
        )
        if name != "setuid" or os.getuid() == 0
    },
    "a library of another machine": (
        row("{told}", OVERLOCK_NATIVE="foreign-library"),
        125,
        "{told} and liboverlock-run.so are for different processors; run it without overlock",
    ),
}


def script(path: Path, line: str) -> None:
    path.write_text(f"#!{line}")
    path.chmod(0o755)


def foreign(program: Path, path: Path) -> None:
    head = bytearray(program.read_bytes())
    head[18] = 0xF3  # RISC-V
    path.write_bytes(head)


def loader_of(program: Path) -> bytes:
    found = re.search(rb"/lib[\w./-]*/ld-linux[\w.-]*(?=\0)", program.read_bytes())
    assert found
    return found[0]


def with_loader(program: Path, path: Path, loader: bytes) -> None:
    old = loader_of(program)
    path.write_bytes(program.read_bytes().replace(old, loader.ljust(len(old), b"\0")))


@dataclass(frozen=True)
class Ground:
    """Where the rows are run."""

    folder: Path
    told: Path
    launcher: Path  # beside a stand-in for overlock-tools

    def filled(self, text: Text) -> bytes:
        for name, path in (
            ("told", self.told),
            ("folder", self.folder),
            ("native", native.folder()),
        ):
            if isinstance(text, str):
                text = text.replace(f"{{{name}}}", str(path))
        return os.fsencode(text)

    def variables(self, row: Row) -> dict[bytes, bytes]:
        """Python would set LC_CTYPE in C's locale, and pytest sets another in each test."""
        base = environment(None, OVERLOCK_NATIVE=str(native.folder()), LC_ALL="C.UTF-8")
        own = {"LD_PRELOAD": None, "PYTEST_CURRENT_TEST": None}
        every: dict[str, Text | None] = {**base, **own, **row.variables}
        return {os.fsencode(k): self.filled(v) for k, v in every.items() if v is not None}

    def run(
        self, command: list[str | Path], row: Row, become: Path | None = None
    ) -> subprocess.CompletedProcess[bytes]:
        """The command, or `become` under the command's name."""
        return subprocess.run(
            [*(os.fsencode(word) for word in command), b"run", *map(self.filled, row.words)],
            executable=become,
            cwd=self.folder,
            env=self.variables(row),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=HANG_S,
            preexec_fn=row.before,
            check=False,
        )


Heard = tuple[int, bytes, list[bytes]]
ByPython = Callable[[str], Heard]


def heard(done: subprocess.CompletedProcess[bytes]) -> Heard:
    """What the program said of its start; the order of variables is nobody's business."""
    return done.returncode, done.stderr, sorted(done.stdout.split(b"\0"))


@pytest.fixture(scope="session")
def ground(program: Compile, tmp_path_factory: pytest.TempPathFactory) -> Ground:
    folder = tmp_path_factory.mktemp("ground")
    told = Path(shutil.copy(program("told.c", "-D_GNU_SOURCE"), folder / "told"))
    beside = tmp_path_factory.mktemp("bin")
    shutil.copy(told, beside / "overlock-tools")
    launcher = Path(shutil.copy(native.file("overlock"), beside / "overlock"))
    (folder / "hidden/told").mkdir(parents=True)
    (folder / "native-link").symlink_to(native.folder())
    lists, library = native.file("defs.json"), native.file("liboverlock-run.so")
    ours = native.file("overlock")
    for name, files in (
        ("without-library", [lists]),
        ("without-lists", [library]),
        ("foreign-library", [lists, ours]),
        ("a folder", [lists, library, ours]),
    ):
        (folder / name).mkdir()
        for file in files:
            shutil.copy(file, folder / name)
    foreign(library, folder / "foreign-library" / library.name)
    script(folder / "script", f"{told}\n")
    script(folder / "script-with", f" {told} one two\n")
    script(folder / "script-of-script", f"{folder}/script\n")
    script(folder / "script-of-itself", f"{folder}/script-of-itself\n")
    script(folder / "script-for-nobody", "/nowhere\n")
    script(folder / "script-without-end", str(told))
    for name, text in (("text", "no program\n"), ("nonsense", "\1\2\3"), ("empty", "")):
        (folder / name).write_text(text)
    (folder / "cut-short").write_bytes(told.read_bytes()[:40])
    foreign(told, folder / "foreign")
    shutil.copy(os.fsdecode(loader_of(told)), folder / "ld-musl.so.1")  # musl's, by its name
    with_loader(told, folder / "for-musl", b"ld-musl.so.1")
    with_loader(told, folder / "without-loader", b"/lib/nowhere")
    os.mkfifo(folder / "pipe")
    shutil.copy(
        program("told.c", "-D_GNU_SOURCE", "-static", name="told_static"), folder / "static"
    )
    for sanitizer in ("address", "thread"):
        flags = ("-D_GNU_SOURCE", f"-fsanitize={sanitizer}")
        made = program("told.c", *flags, name=f"told_{sanitizer}")
        shutil.copy(made, folder / f"with-{sanitizer}")
    script(folder / "script-static", f"{folder}/static\n")
    for name in ("nonsense", "empty", "foreign", "for-musl", "without-loader", "pipe", "cut-short"):
        (folder / name).chmod(0o755)
    if os.getuid() == 0:
        shutil.copy(told, folder / "setuid")
        os.chown(folder / "setuid", 65534, 65534)
        (folder / "setuid").chmod(0o4755)
    return Ground(folder, told, launcher)


PYTHON: list[str | Path] = [sys.executable, "-m", "overlock_tools"]


@pytest.fixture(scope="session")
def by_python(ground: Ground) -> ByPython:
    """What Python makes of a row, asked once."""
    known: dict[str, Heard] = {}

    def ask(name: str) -> Heard:
        if name not in known:
            known[name] = heard(ground.run(PYTHON, STARTED[name]))
            assert known[name][0] == 7, f"Python does not start it: {known[name]}"
        return known[name]

    return ask


def is_left(ground: Ground, row: Row, launcher: Path) -> bool:
    """Whether the stand-in was started, with the very arguments and variables."""
    stand_in = ground.run([launcher], row, become=launcher.parent / "overlock-tools")
    return heard(ground.run([launcher], row)) == heard(stand_in)


@pytest.mark.parametrize("name", STARTED)
def test_starts_as_python_does(ground: Ground, by_python: ByPython, name: str) -> None:
    assert heard(ground.run([ground.launcher], STARTED[name])) == by_python(name)


@pytest.mark.parametrize("name", LEFT_TO_PYTHON)
def test_leaves_to_python(ground: Ground, name: str) -> None:
    assert is_left(ground, LEFT_TO_PYTHON[name], ground.launcher)


def is_refused(ground: Ground, name: str, command: list[str | Path]) -> bool:
    """In one line, which begins with these words, and with that exit code."""
    row, code, words = REFUSED[name]
    done = ground.run(command, row)
    said = done.stderr.split(b"\n")
    expected = b"overlock: " + ground.filled(words)
    if command == PYTHON:
        expected = b" ".join(expected.split())
    fine = said[0].startswith(expected) and said[1:] == [b""]
    return (done.returncode, done.stdout, fine) == (code, b"", True)


@pytest.mark.parametrize("name", REFUSED)
def test_refuses(ground: Ground, name: str) -> None:
    assert is_refused(ground, name, [ground.launcher])
    assert is_refused(ground, name, PYTHON)


def test_what_must_come_first_does(ground: Ground) -> None:
    said = heard(ground.run([ground.launcher], row("./with-address", LD_PRELOAD="libm.so.6")))[2]
    (listed,) = (s.split(b"=")[1] for s in said if s.startswith(b"variable LD_PRELOAD="))
    first, *rest = listed.split(b":")
    assert first.startswith(b"libasan.so.")
    assert rest == [ground.filled("{native}/liboverlock-run.so"), b"libm.so.6"]


def as_left_by_a_parent() -> None:
    for number in (signal.SIGPIPE, signal.SIGINT, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})


def test_signals_and_files_are_as_natively(ground: Ground) -> None:
    """Python cannot tell whether SIGPIPE was ignored before it came."""

    def about(said: list[bytes]) -> list[bytes]:
        return [s for s in said if s.split(b" ")[0] in (b"ignored", b"blocked", b"file")]

    asked = row("{told}", before=as_left_by_a_parent)
    natively = about(heard(ground.run([ground.told], asked))[2])
    assert {b"ignored 13", b"ignored 2", b"blocked 10", b"file 2"} <= set(natively)
    assert about(heard(ground.run([ground.launcher], asked))[2]) == natively


PLACES = [
    "lib/overlock",
    "lib/python3.11/site-packages/overlock_tools/native",
    "lib/python3.13/dist-packages/overlock_tools/native",
    "lib64/python3.13/site-packages/overlock_tools/native",
    "overlock_tools/native",
    "bin",
]


def started_from(prefix: Path, ground: Ground) -> str:
    """What PREFIX/bin/overlock preloads; empty if it leaves that to Python."""
    (prefix / "bin").mkdir(parents=True, exist_ok=True)
    for name in ("overlock", "overlock-tools"):
        shutil.copy(ground.launcher.parent / name, prefix / "bin")
    said = heard(ground.run([prefix / "bin/overlock"], row("{told}", OVERLOCK_NATIVE="")))[2]
    return next((os.fsdecode(s[20:]) for s in said if s.startswith(b"variable LD_PRELOAD=")), "")


@pytest.mark.parametrize("place", PLACES)
def test_finds_the_library(ground: Ground, tmp_path: Path, place: str) -> None:
    assert started_from(tmp_path / "none", ground) == ""
    folder = tmp_path / "prefix" / place
    folder.mkdir(parents=True)
    for name in ("defs.json", "liboverlock-run.so"):
        shutil.copy(native.file(name), folder)
    assert started_from(tmp_path / "prefix", ground) == f"{folder}/liboverlock-run.so"
    (tmp_path / "link").symlink_to(tmp_path / "prefix/bin/overlock")
    done = ground.run([tmp_path / "link"], row("{told}", OVERLOCK_NATIVE=""))
    assert os.fsencode(f"variable LD_PRELOAD={folder}/liboverlock-run.so") in heard(done)[2]


def test_two_pythons_are_left_to_the_one_that_runs(ground: Ground, tmp_path: Path) -> None:
    for version in ("3.11", "3.12"):
        place = tmp_path / f"lib/python{version}/site-packages/overlock_tools"
        place.mkdir(parents=True)
        (place / "native").symlink_to(native.folder())
    assert started_from(tmp_path, ground) == ""


# Without Python: what is said, on standard output after 0; else in one line of an error.
ALONE = {
    (): (0, "Usage: overlock COMMAND"),
    ("--help",): (0, "Usage: overlock COMMAND"),
    ("run", "-h"): (0, "Usage: overlock run"),
    ("run", "--lock", "mcs", "--help"): (0, "Usage: overlock run"),
    ("--version",): (0, f"overlock, version {__version__}\n"),
    ("locks",): (0, f"{LOCKS[0]:22} {defs.load().locks[LOCKS[0]].what}\n"),
    ("run",): (125, "there is no program to run; see"),
    ("run", "--lock", "mcs"): (125, "there is no program to run; see"),
    ("run", "--lock", "tiket", "true"): (125, "unknown lock 'tiket'; did you mean ticket? `"),
    ("run", "--lock=qrv", "true"): (125, "unknown lock 'qrv'; did you mean qrw? `"),
    ("run", "--lock", "preemptable_tickets"): (
        125,
        "unknown lock 'preemptable_tickets'; did you mean preemptable_ticket? `",
    ),
    ("run", "--lock", "nosuch", "true"): (125, "unknown lock 'nosuch'; `overlock locks` lists"),
    ("run", "--lock", "m" * 99, "true"): (125, f"unknown lock '{'m' * 99}'; `overlock locks`"),
    ("run", "--tau-ns", "soon", "true"): (125, "--tau-ns soon: expected a time of 0 to"),
    ("run", "--counters", "true"): (125, f"run --counters needs {MISSING_PYTHON}"),
    ("run", "--lock", "./mine.h", "true"): (125, f"run --lock needs {MISSING_PYTHON}"),
    ("run", "--lock"): (125, f"run --lock needs {MISSING_PYTHON}"),
    ("bench", "sections"): (3, f"bench needs {MISSING_PYTHON}"),
}


def alone(launcher: Path, words: tuple[str, ...]) -> tuple[int, str, str]:
    env = {"PATH": "/usr/bin:/bin", "OVERLOCK_NATIVE": str(native.folder())}
    command: list[str | Path] = [launcher, *words]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


def answers_alone(launcher: Path, words: tuple[str, ...]) -> bool:
    code, begin = ALONE[words]
    said = alone(launcher, words)
    if code == 0:
        return said[0] == 0 and said[1].startswith(begin) and not said[2]
    return (
        said[:2] == (code, "")
        and re.match(f"overlock: {re.escape(begin)}.*\n\\Z", said[2]) is not None
    )


@pytest.mark.parametrize("words", ALONE, ids=" ".join)
def test_answers_without_python(ground: Ground, tmp_path: Path, words: tuple[str, ...]) -> None:
    launcher = Path(shutil.copy(ground.launcher, tmp_path))
    assert answers_alone(launcher, words), alone(launcher, words)


def test_help_without_python_names_every_tunable_and_fits(ground: Ground, tmp_path: Path) -> None:
    launcher = Path(shutil.copy(ground.launcher, tmp_path))
    _, said, _ = alone(launcher, ("run", "--help"))
    assert set(EVERY) <= set(said.split())
    assert max(map(len, said.splitlines())) <= 80
    assert alone(launcher, ("locks",))[1].count("\n") == len(defs.load().locks)


def test_a_library_that_is_not_there(ground: Ground, tmp_path: Path) -> None:
    launcher = shutil.copy(ground.launcher, tmp_path)
    env = {"PATH": "/usr/bin:/bin"}
    command: list[str | Path] = [launcher, "run", "true"]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    said = "overlock: liboverlock-run.so is not found; reinstall overlock\n"
    assert (done.returncode, done.stdout, done.stderr) == (125, "", said)


# Mutants: a launcher with one thing wrong, each of which some row tells from the right one.
LAUNCH, PROGRAM, ENVIRONMENT = "launch.c", "program.c", "environment.c"
SPOKEN = {
    "the last name is the nearest": ("alone.c", "least = far;", ""),
    "every name is near": ("alone.c", "strlen(name) / 3 + 1", "LONGEST"),
    "letters are not compared": ("alone.c", "(a[i] != b[j])", "1"),
    "names are looked for in tunables": ("alone.c", "if (!strcmp(ours, option))", "if (0)"),
    "help is an option": ("alone.c", "if (is_help(m->option))", "if (0)"),
    "no word is remembered": (LAUNCH, "(struct misunderstood){ option, value };", "a->wrong;"),
}
MUTANTS = {
    "keeps what another set": (ENVIRONMENT, 'unsetenv("OVERLOCK_" #name);', ""),
    "preloads itself alone": (ENVIRONMENT, "if (!n || is_ours(list, n))", "if (1)"),
    "preloads the other too": (ENVIRONMENT, "if (!n || is_ours(list, n))", "if (!n)"),
    "preloads what has no name": (ENVIRONMENT, "if (!n || is_ours", "if (is_ours"),
    "is not quiet": (LAUNCH, 'tell("OVERLOCK_QUIET", "1") &&', ""),
    "another default": ("defaults.h", '"tas_yield"', '"tas"'),
    "takes any lock": (LAUNCH, "lock_called(name) || !strcmp(name, GLIBC_ADAPTIVE)", "1"),
    "does not know what a lock was called": (
        LAUNCH,
        "? ol_now_called(value) : value",
        "? value : value",
    ),
    "says nothing of a name that a lock had": (LAUNCH, "if (a->former)", "if (0)"),
    "takes any spinlock": (LAUNCH, "? !spin_refusal(l->traits)", "? 1"),
    "takes any choice": (LAUNCH, "return !strcmp(choices, value);", "return 1;"),
    "the last choice is none": (LAUNCH, "return !strcmp(choices, value);", "return 0;"),
    "a choice by its beginning": (LAUNCH, "strlen(value) == (size_t)(bar - choices)", "*value"),
    "the preset is told": (LAUNCH, "strcmp(now, p->preset) != 0 ? now : 0", "now"),
    "a tunable by its beginning": (
        LAUNCH,
        "return !strcmp(name, option);",
        "return !strncmp(name, option, strlen(option));",
    ),
    "zeros before a number": (
        LAUNCH,
        "(a->tunable[t - ol_tunables] = as_told(value))",
        "(a->tunable[t - ol_tunables] = text)",
    ),
    "inf as a number": (LAUNCH, 'return "inf";', ";"),
    "-- is no end": (LAUNCH, 'if (!strcmp(word, "--"))', "if (0)"),
    "completion is not known": (LAUNCH, ' && !getenv("_OVERLOCK_COMPLETE")', ""),
    "any native folder": (LAUNCH, "if (!access(lists, R_OK))", ""),
    "a native folder by its link": (LAUNCH, "realpath(folder, 0)", "strdup(folder)"),
    "spaces in the library's name": (LAUNCH, '!strpbrk(library, ": \\t")', "library"),
    "no library": (LAUNCH, "|| access(library, R_OK)", ""),
    "variables before it is sure": (
        LAUNCH,
        "if (!library) return;",
        "prepare(0); if (!library) return;",
    ),
    "two lines": (LAUNCH, "*c = ' ';", ";"),
    "one exit code for all programs": (LAUNCH, "errno == ENOENT ? NOT_FOUND : ", ""),
    "the end of PATH": (PROGRAM, "*end ? end + 1 : 0", "*end && end[1] ? end + 1 : 0"),
    "two slashes": (PROGRAM, "end > folder && end[-1] != '/'", "end > folder"),
    "the current folder is the root": (PROGRAM, "end > folder && end[-1] != '/'", "end[-1] != '/'"),
    "folders are programs": (PROGRAM, "!access(path, X_OK) && !is_folder(path)", "1"),
    "no PATH, no program": (PROGRAM, 'folder = "/bin:/usr/bin";', "return 0;"),
    "what cannot be executed is not seen": (PROGRAM, "on_path(name, is_file)", "0"),
    "ELF files without a whole header": (
        PROGRAM,
        "f->size >= (ssize_t)sizeof(f->head.elf)",
        "f->size",
    ),
    "static programs": (PROGRAM, "!find_segment(f, PT_INTERP, &p)", "0"),
    "sanitizers": (PROGRAM, "names && read_entry(f, &dynamic, i, &e)", "0"),
    "ThreadSanitizer": (PROGRAM, '"\\0__tsan_init"', '"\\0__asan_init"'),
    "musl": (PROGRAM, 'strstr(loader, "ld-musl")', "0"),
    "any machine": (PROGRAM, "&& a->e_machine == b->e_machine", ""),
    "scripts are not followed": (PROGRAM, '!memcmp(f.head.line, "#!", 2)', "0"),
}
if "waiting loops" in STARTED:
    MUTANTS["a flag takes the next word"] = (LAUNCH, "!equals && !alone", "!equals")
if os.getuid() == 0:
    MUTANTS["setuid"] = (PROGRAM, "(s.st_mode & S_ISUID)", "0")


def build(folder: Path, mutant: tuple[str, str, str]) -> Path:
    """That launcher, beside a stand-in."""
    name, right, wrong = mutant
    for source in filter(Path.is_file, (TOP / "run").iterdir()):
        text = source.read_text()
        if source.name == name:
            text = changed(text, (right, wrong))
        (folder / source.name).write_text(text)
    includes = (f"-I{place}" for place in (folder, TOP / "include", TOP / "lib"))
    ours = (folder / name for name in ("alone.c", LAUNCH, PROGRAM, ENVIRONMENT))
    version = f'-DOL_VERSION="{__version__}"'
    command = ["gcc", "-std=gnu11", "-O1", "-w", "-D_GNU_SOURCE", version, *includes]
    sources = (*ours, TOP / "lib/tunable.c")
    subprocess.run([*command, *sources, "-o", folder / "overlock"], check=True)
    return folder / "overlock"


def caught_by(ground: Ground, by_python: ByPython, launcher: Path) -> str:
    """The first row that it gets wrong; empty if there is none."""
    shutil.copy(ground.told, launcher.parent / "overlock-tools")
    for name, row in STARTED.items():
        if heard(ground.run([launcher], row)) != by_python(name):
            return name
    wrong = [name for name, row in LEFT_TO_PYTHON.items() if not is_left(ground, row, launcher)]
    wrong += [name for name in REFUSED if not is_refused(ground, name, [launcher])]
    return " ".join(wrong[:1])


def test_the_right_one_is_not_caught(ground: Ground, by_python: ByPython, tmp_path: Path) -> None:
    launcher = build(tmp_path, (LAUNCH, "int main(", "int main("))
    assert caught_by(ground, by_python, launcher) == ""


@pytest.mark.parametrize("mutant", MUTANTS)
def test_mutants_are_caught(
    ground: Ground, by_python: ByPython, tmp_path: Path, mutant: str
) -> None:
    assert caught_by(ground, by_python, build(tmp_path, MUTANTS[mutant]))


@pytest.mark.parametrize("mutant", SPOKEN)
def test_mutants_of_the_answers_are_caught(tmp_path: Path, mutant: str) -> None:
    launcher = build(tmp_path, SPOKEN[mutant])
    assert not all(answers_alone(launcher, words) for words in ALONE)
