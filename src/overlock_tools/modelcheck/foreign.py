# SPDX-License-Identifier: MIT
"""Other people's locks: a C, C++ or Rust file that describes one, and the lock's own source files.

A file says in comments which source files it needs, `// brings: kernel/locking/qspinlock.c`, by
their path below the folder of --source. They are copied without their #include lines, but for those
of one another: what else they need, the file includes before them. Two of one name are copied to
their paths. Beyond that only what the file says is replaced:
`// replaces: spins ?= ?100 => spins=0`, a regular expression and what takes its place. What a file
says also holds for one beside it that includes it.
"""

import os
import re
import shlex
import shutil
import subprocess
from collections import Counter
from functools import partial
from pathlib import Path

from overlock_tools.system import native
from overlock_tools.system.errors import MISSING, Fail

SUFFIXES = (".c", ".cc", ".cpp", ".rs")
BRINGS = re.compile(r"^// brings: (.+)$", re.MULTILINE)
REPLACES = re.compile(r"^// replaces: (.+) => ?(.*)$", re.MULTILINE)
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]+["<]([^">\n]+)[">][^\n]*$', re.MULTILINE)
# As for ThreadSanitizer, whose calls the checker answers; nothing below a stack pointer is in use.
OPTIONS = ("-g", "-O1", "-fPIC", "-fsanitize=thread", "-mno-red-zone", "-w")
RENAMED = (
    "-D__assert_fail=ol_checked_assert_fail",
    "-Dsyscall=ol_checked_syscall",
    "-D__builtin_ia32_pause=ol_checked_spin",
)
# rustc's sanitizers are of its nightly versions, which the others are too if they are told so.
RUST = (
    "--edition=2021",
    "--crate-type=lib",
    "--emit=obj",
    "-Zsanitizer=thread",
    "-Zexternal-clangrt",
    "-Cunsafe-allow-abi-mismatch=sanitizer",
    "-Cpanic=abort",
    "-Copt-level=1",
    "-Ccodegen-units=1",
    "-Crelocation-model=pic",
    "-Cno-redzone=yes",
    "-g",
    "-Awarnings",
)
LINKED = ("-shared", "-Wl,-Bsymbolic", "-Wl,-z,now", "-Wl,-z,norelro")
TABLE = "overlock_checked"
GUIDE = "docs/checking-other-locks.md has the rules"


def is_foreign(name: str) -> bool:
    return name.endswith(SUFFIXES)


def lock_id(file: Path) -> str:
    if not file.is_file():
        raise Fail(f"{file} does not exist; expected a lock's name, a header or a C file")
    return re.sub(r"\W", "_", file.stem)


def brought(file: Path) -> list[str]:
    """What it says that it brings, and what those beside it say that it includes."""
    return [word for line in BRINGS.findall(_said(file)) for word in line.split()]


def _said(file: Path) -> str:
    """Its text, and that of the files beside it which it includes."""
    text = file.read_text()
    beside = (file.parent / name for name in INCLUDE.findall(text))
    return "".join([text, *(_said(other) for other in beside if other.is_file())])


def bring(file: Path, source: Path | None, into: Path) -> None:
    names = list(dict.fromkeys(brought(file)))
    if names and not source:
        raise Fail(f"{file} needs {names[0]}; give its folder with --source")
    short = Counter(Path(name).name for name in names)
    placed = {name: Path(name).name if short[Path(name).name] == 1 else name for name in names}
    replaced = dict.fromkeys(REPLACES.findall(_said(file)), 0)
    for name in names:
        path = (source or Path()) / name
        if not path.is_file():
            raise Fail(f"{source} has no {name}, which {file} needs")
        text = INCLUDE.sub(partial(_include, placed), path.read_text())
        for old, new in replaced:
            text, times = re.subn(old, new, text)
            replaced[old, new] += times
        (into / placed[name]).parent.mkdir(parents=True, exist_ok=True)
        (into / placed[name]).write_text(text)
    if unused := [old for (old, _), times in replaced.items() if not times]:
        raise Fail(f"{file} replaces `{unused[0]}`, which is not in the files of {source}")


def _include(placed: dict[str, str], found: re.Match[str]) -> str:
    """Of one of those brought, by where it is placed; of any other, nothing."""
    meant = [place for name, place in placed.items() if f"/{name}".endswith(f"/{found[1]}")]
    return f'#include "{meant[0]}"' if len(meant) == 1 else ""


def compile_file(file: Path, folder: Path, source: Path | None, flags: str = "") -> Path:
    """A shared object that exports overlock_checked."""
    bring(file, source, folder)
    name = lock_id(file)
    made, out = folder / f"{name}.o", folder / f"{name}.so"
    rest: list[Path] = []
    if file.suffix == ".rs":
        _compile_rust(file, made, flags)
        rest = _core_of_rust()
    else:
        _compile_c(file, made, flags)
    if TABLE.encode() not in made.read_bytes():
        raise Fail(f"{file} has no {TABLE}, the table of its lock; {GUIDE}")
    _run([_found("gcc"), *LINKED, made, *rest, "-o", out], file)
    return out


def _found(compiler: str) -> str:
    if path := shutil.which(compiler):
        return path
    language = {"rustc": "Rust"}.get(compiler, "C")
    raise Fail(f"checking a lock from a {language} file needs {compiler}; install it", MISSING)


def _compile_c(file: Path, made: Path, flags: str) -> None:
    compiler = _found("gcc" if file.suffix == ".c" else "g++")
    includes = [f"-I{made.parent}", f"-I{native.include()}", f"-I{file.parent}"]
    options = [*OPTIONS, *RENAMED, *includes, *shlex.split(flags)]
    _run([compiler, *options, "-c", file, "-o", made], file)


def _compile_rust(file: Path, made: Path, flags: str) -> None:
    told = {
        "RUSTC_BOOTSTRAP": "1",
        "OVERLOCK_INCLUDE": str(native.include()),
        "OVERLOCK_BROUGHT": str(made.parent),
    }
    _run([_found("rustc"), *RUST, *shlex.split(flags), file, "-o", made], file, told)


def _core_of_rust() -> list[Path]:
    """What every Rust program has, for its panics."""
    command = [_found("rustc"), "--print=target-libdir"]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    folder = Path(said.strip())
    return [*folder.glob("libcore-*.rlib"), *folder.glob("libcompiler_builtins-*.rlib")]


def _run(command: list[str | Path], file: Path, told: dict[str, str] | None = None) -> None:
    env = os.environ | (told or {})
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=env)
    if done.returncode:
        errors = [
            line for line in done.stderr.splitlines() if "error" in line or "undefined" in line
        ]
        first = errors[0] if errors else done.stderr.strip() or "the compiler printed nothing"
        raise Fail(f"{file} does not compile: {first}; {GUIDE}")
