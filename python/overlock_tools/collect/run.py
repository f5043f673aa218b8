# SPDX-License-Identifier: MIT
"""The parts, one after the other, each a command of its own; what they left, packed."""

import datetime
import json
import re
import shlex
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from overlock_tools import __version__
from overlock_tools.collect import parts as plan
from overlock_tools.collect.parts import Around, Part
from overlock_tools.core.model import collected
from overlock_tools.core.model.collected import Collected, Done
from overlock_tools.core.system import archive, children, files, machine
from overlock_tools.core.system.errors import FAILED, INTERRUPTED, Fail, last_line, say

NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,40}")
SLACK = 2.0  # a part is ended after so many times its time: its estimate may be wrong
LEAST_S = 60.0


def usual_name() -> str:
    """Of the processor and its CPUs: it names no owner."""
    model = re.sub(r"\((r|tm)\)|\bcpu\b.*|\bprocessor\b", " ", _cpu().lower())
    words = re.findall(r"[a-z0-9]+", model)[:3]
    return "-".join([*words, str(machine.cpus())])


def _cpu() -> str:
    return str(machine.facts()["cpu"])


def run(
    name: str, minutes: float, only: str | None, apps: tuple[str, ...], output: Path | None
) -> int:
    if not NAME.fullmatch(name):
        raise Fail(f"--name {name}: expected small letters, digits and `-`, such as {usual_name()}")
    today = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d")
    path = output or Path(f"overlock-{name}-{today}{archive.ENDING}")
    if not collected.is_archive(path):
        raise Fail(f"{path}: expected a name that ends in {archive.ENDING}")
    files.check_writable(path)
    children.end_with_us()
    chosen, around = plan.chosen(only, apps), Around(machine.cpus(), name, apps)
    budget_s = minutes * 60
    about = Collected(name, __version__, today, budget_s, machine.facts())
    with tempfile.TemporaryDirectory(prefix="overlock-collect-") as folder:
        interrupted = _all(chosen, around, budget_s, about, Path(folder))
        archive.pack(path, _found(about, Path(folder)))
    whole = sum(not done.why for done in about.parts)
    print(f"{path}: {whole} of {len(chosen)} parts; show it: overlock report {path} -o report.html")
    if interrupted:
        return INTERRUPTED
    return 0 if whole == len(chosen) else FAILED


def _all(
    chosen: list[Part], around: Around, budget_s: float, about: Collected, folder: Path
) -> bool:
    """Whether it was interrupted: then what is done is kept."""
    ends = time.monotonic() + budget_s
    try:
        for number, part in enumerate(chosen):
            left = ends - time.monotonic()
            seconds = plan.times(chosen[number:], max(0.0, left))[part.name]
            print(f"[{number + 1}/{len(chosen)}] {part.name}, about {seconds:.0f} s", flush=True)
            about.parts.append(_one(part, around, seconds, folder))
            if why := about.parts[-1].why:
                say(f"{part.name}: {why}")
    except KeyboardInterrupt:
        say("interrupted: what is done is kept")
        left_out = chosen[len(about.parts) :]
        about.parts.extend(Done(part.name, "", "", 0.0, "interrupted") for part in left_out)
        return True
    return False


def _one(part: Part, around: Around, seconds: float, folder: Path) -> Done:
    if why := part.missing():
        return Done(part.name, "", "", 0.0, why)
    if seconds < part.least_s:
        why = f"it needs {part.least_s:.0f} s, and has {seconds:.0f} s; give more --minutes"
        return Done(part.name, "", "", 0.0, why)
    words = [word.replace("{file}", part.file) for word in part.words(around, seconds)]
    began = time.monotonic()
    with (
        (folder / f"{part.name}.out").open("w+b") as out,
        (folder / f"{part.name}.err").open("w+b") as err,
    ):
        command = [sys.executable, "-m", "overlock_tools", *words]
        told = {"stdin": subprocess.DEVNULL, "stdout": out, "stderr": err, "cwd": folder}
        with children.group(command, **told) as child:
            why = _why(part, child, max(LEAST_S, SLACK * seconds), folder)
    took = time.monotonic() - began
    if part.prints and not why:
        (folder / part.file).write_bytes((folder / f"{part.name}.out").read_bytes())
    for made in (folder / "apps").glob("*.json"):
        made.rename(folder / part.file)
    file = part.file if (folder / part.file).exists() else ""
    why = why or ("" if file else f"it left no {part.file}")
    return Done(part.name, shlex.join(["overlock", *words]), file, round(took, 1), why)


def _why(part: Part, child: "subprocess.Popen[bytes]", limit: float, folder: Path) -> str:
    """Empty if it did what it was to do."""
    try:
        code = child.wait(limit)
    except subprocess.TimeoutExpired:
        return f"ended after {limit:.0f} s, not whole"
    if code in part.codes:
        return ""
    said = last_line((folder / f"{part.name}.err").read_text(errors="replace"))[:300]
    return f"exit code {code}: {said}"


def _found(about: Collected, folder: Path) -> dict[str, bytes]:
    """And what each part said, which tells why one failed."""
    kept = [folder / done.file for done in about.parts if done.file]
    kept += [path for done in about.parts for path in folder.glob(f"{done.part}.err")]
    listed = json.dumps(about.to_json(), indent=1) + "\n"
    return {path.name: path.read_bytes() for path in kept} | {collected.LIST: listed.encode()}
