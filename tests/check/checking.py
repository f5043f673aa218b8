# SPDX-License-Identifier: MIT
"""The model checker on an object of a test's."""

import json
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

from tests.conftest import BUILD, TOP

CHECKER = BUILD / "native/overlock-check"
HANGS = 900  # seconds: far more than any of these takes
MODELS = ("sc", "tso", "c11")


def compiled(
    source: Path, folder: Path, *flags: str, lock: str, header: tuple[str, str] | None = None
) -> Path:
    """A source that is for any lock. `header`: name and text of one in place of ours."""
    if header is not None:
        (folder / "overlock").mkdir()
        (folder / "overlock" / header[0]).write_text(header[1])
    out = folder / source.with_suffix(".so").name
    options = ["-std=c++20", "-O1", "-fPIC", "-shared", "-DOL_PORT_SIM", f"-DLOCK={lock}"]
    options += [f"-DHEADER=<overlock/lock/{lock}.h>", *flags]
    includes = [f"-I{folder}", f"-I{TOP}", f"-I{TOP}/include"]
    subprocess.run(["g++", *options, *includes, str(source), "-o", str(out)], check=True)
    return out


def of(text: str) -> list[str]:
    """`wait 3x1 wwb tso`, scenario, size, roles and model, as options."""
    scenario, size, *rest = text.split()
    contexts, acquisitions = size.split("x")
    said = [f"--scenario={scenario}", f"--contexts={contexts}", f"--acquisitions={acquisitions}"]
    return said + [f"--{'model' if word in MODELS else 'roles'}={word}" for word in rest]


@cache
def listed() -> dict[str, Any]:
    done = subprocess.run([CHECKER, "--list"], check=True, capture_output=True, text=True)
    known: dict[str, Any] = json.loads(done.stdout)
    return known


def ids(kind: str) -> list[str]:
    return [str(one["id"]) for one in listed()[kind]]


def options(run: str) -> list[str]:
    """Of `2x3 tso order expiry=2 tau=inf clock=3 no-timeouts`."""
    size, model, scenario, *more = run.split()
    found = of(f"{scenario} {size} {model}")
    for word in more:
        name, _, value = word.partition("=")
        if word in ("pct", "walk"):
            found += ["--search", word, "--seed", "1"]
        elif name.startswith("tune:"):  # a budget has the same name
            found += ["--tune", word.removeprefix("tune:")]
        elif name in ("clock", "roles"):
            found += [f"--{name}", value]
        elif not value:
            found.append(f"--{name}")
        else:
            found += ["--budget" if name in ids("budgets") else "--tune", word]
    return found


def last_word(*options: str | Path) -> dict[str, Any]:
    command = [CHECKER, *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=HANGS, check=False)
    assert done.returncode in (0, 1, 3), f"{done.args}\n{done.stderr}"
    result = json.loads(done.stdout.splitlines()[-1])["result"]
    assert isinstance(result, dict)
    return result


def check(library: Path, asked: str, *more: str) -> dict[str, Any]:
    return last_word("--load", library, *of(asked), *more)


def failure(result: dict[str, Any], what: str = "property") -> str:
    return str(result["failure"][what]) if result["failure"] else ""
