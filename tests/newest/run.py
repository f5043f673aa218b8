#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Builds and tests Overlock on Debian 12, 13 and sid, each in a root of its own: make newest.

Overlock is built there by the release's compiler and headers. The tests are run by this machine's
Python, with the programs as built here; what they compile is compiled in the root, and runs on the
root's C library, OpenMP runtimes and C++ library. The kernel is this machine's.

    python -m tests.newest.run                            all releases, all checks
    python -m tests.newest.run --only sid --check spins   a part
    python -m tests.newest.run --again                    also what was done at this commit

A root is made once, kept in build/newest/RELEASE, and upgraded at each run; Debian 12 is this
machine if it runs that. A check ends with a line, and is kept at once, with its commit: the same
command goes on after Ctrl-C, with what has not run at this commit. What ran at an earlier one is
kept until it runs again. docs/measured/newest.json keeps all, for the table of
docs/architecture.md. Needs root and mmdebstrap. Exits with 1 if a check that it ran failed.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))

import kept_json
import survey
from newest import (
    FILE,
    REFUSED,
    RELEASES,
    VERSIONS,
    load,
    reasons,
    rows,
    shown,
)
from overlock_tools.core.model.results import from_file
from tests.conftest import BUILD, NATIVE, TOP
from tests.packaging.bare.debian import AMONG_ALL, Debian, why_not

SOURCE = "src/overlock"  # in a root
PACKAGES = (
    *("bpftool", "clang", "cmake", "g++", "gcc", "libbpf-dev", "libbz2-dev", "libc6-dev"),
    *(
        "libabsl-dev",
        "libdw-dev",
        "libomp-dev",
        "libzydis-dev",
        "ninja-build",
        "pkg-config",
        "python3",
    ),
)
JUNIT = "newest.xml"
PATH = re.compile(r"(?:/[\w.-]+)+/")  # of this machine
SECONDS = 3600  # of one check; a hang fails
COMPILERS = ("cc", "gcc", "g++", "clang", "clang++")

# A program that was compiled there runs on what is there.
COMPILER = """#!/bin/bash
root={root}
flags=(-Wl,--dynamic-linker=$root/lib64/ld-linux-x86-64.so.2
	-Wl,-rpath=$root/usr/lib/x86_64-linux-gnu -Wl,--disable-new-dtags)
for word; do case $word in *rustlib*) exec /usr/bin/{name} "$@" ;; esac; done  # not in the root
for word; do case $word in -c|-S|-E|-static|--version|-print*|-dump*) flags=() ;; esac; done
exec chroot "$root" /usr/bin/env --chdir="$PWD" -i PATH=/usr/bin:/bin LANG=C.UTF-8 \
	/usr/bin/{name} "$@" "${{flags[@]}}"
"""
# Within a namespace of mounts, the root has the folders that sources and outputs are in.
WITHIN = """
root=$1 top=$2 script=$3
shift 3
mount --rbind /dev "$root/dev"
mount --rbind /proc "$root/proc"
mount --bind /tmp "$root/tmp"
for folder; do
	mkdir -p "$root$folder"
	mount --bind "$folder" "$root$folder"
done
cd "$top"
exec bash -euc "$script"
"""


@dataclass(frozen=True)
class Check:
    command: str  # of bash, in the sources
    by: str = "pytest"  # tells of each test, as "registries" do; else "build", or "apps"


def _pytest(*paths: str) -> str:
    return f"python -m pytest -q -p no:cacheprovider --tb=line --junit-xml $JUNIT {' '.join(paths)}"


# The programs of docs/results/survey.md as the release has them, by its Python, with one and with
# four threads for each CPU. If one does not run, the others do.
SURVEY = """
for name in {apps}; do
	overlock apps install $name >said 2>&1 </dev/null &&
		overlock apps run $name --locks tas_yield --threads 1x,4x --rounds {rounds} --seconds 1 \\
			-o {folder} >said 2>&1 </dev/null ||
		echo "$name: $(grep -m 1 '^Not measured: \\|^overlock: ' said || tail -n 1 said)"
done
rm -f said
"""
SURVEYED, ROUNDS = "build/newest-survey", 5
INTERPOSER = ("pthread", "calls", "names", "barriers")
PROFILE = ("planted", "spins")
COMMANDS = {
    "build": Check("cmake --build build -j $(nproc) -- -k 0", by="build"),
    "conformance": Check(_pytest("tests/run/conformance/test_conformance.py")),
    "interposer": Check(_pytest(*(f"tests/run/test_{name}.py" for name in INTERPOSER))),
    "openmp": Check(_pytest("tests/run/openmp/test_openmp.py")),
    "spins": Check(_pytest("tests/run/spins/test_spins.py")),
    "runtimes": Check(_pytest("tests/profile/test_runtimes.py")),
    "planted": Check(_pytest(*(f"tests/profile/test_{name}.py" for name in PROFILE))),
    "doctor": Check(_pytest("tests/doctor")),
    "registries": Check(_pytest("tests/newest/registries.py"), by="registries"),
    "survey": Check(
        SURVEY.format(apps=" ".join(survey.apps()), rounds=ROUNDS, folder=SURVEYED), by="apps"
    ),
}


@dataclass
class Place:
    """Where a release is: in a root, or here."""

    release: str
    root: Path | None
    folder: Path

    def bash(self, script: str) -> "subprocess.CompletedProcess[str]":
        """With the release's compilers before this machine's."""
        paths = [self.folder / "bin"] if self.root else []
        path = ":".join(map(str, [*paths, Path(sys.executable).parent, os.environ["PATH"]]))
        env = {"PATH": path, "PYTHONPATH": str(TOP / "python"), "OVERLOCK_NATIVE": str(NATIVE)}
        env |= {"BUILD": str(BUILD), "JUNIT": str(self.folder / JUNIT)}
        words = ["bash", "-euc", script]
        if self.root:
            where = ("usr/lib/x86_64-linux-gnu/pkgconfig", "usr/share/pkgconfig")
            env["PKG_CONFIG_LIBDIR"] = ":".join(str(self.root / name) for name in where)
            folders = map(str, dict.fromkeys((TOP, BUILD, NATIVE.parent)))
            words = ["bash", "-euc", WITHIN, "within", str(self.root), str(TOP), script, *folders]
        return subprocess.run(
            [*(AMONG_ALL if self.root else ()), *words],
            cwd=TOP,
            env=os.environ | env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )

    def inside(self, script: str) -> "subprocess.CompletedProcess[str]":
        """In the root itself, among its sources."""
        if not self.root:
            return self.bash(script)
        return Debian(self.root).run(f"cd /{SOURCE}; {script}", seconds=SECONDS)


def say(text: str) -> None:
    print(f"{datetime.now(UTC):%H:%M:%S} {text}", file=sys.stderr, flush=True)


def is_here(release: str) -> bool:
    lines = Path("/etc/os-release").read_text().splitlines()
    return f"VERSION_CODENAME={release}" in lines


def prepared(release: str) -> Place:
    """With its newest packages, the sources as they are here, and compilers that lead there."""
    folder = BUILD / "newest" / release
    if is_here(release):
        folder.mkdir(parents=True, exist_ok=True)
        return Place(release, None, folder)
    if why := why_not(release, folder):
        raise RuntimeError(why)
    place = Place(release, folder / "root", folder)
    debian = Debian(folder / "root")
    debian.take_checkout(SOURCE)
    say(f"{release}: packages")
    script = (
        "apt-get update -qq; apt-get upgrade -y -qq; "
        f"apt-get install -y -qq --no-install-recommends {' '.join(PACKAGES)}"
    )
    done = place.inside(script)
    if done.returncode:
        raise RuntimeError(last_line(done.stderr))
    (folder / "bin").mkdir(exist_ok=True)
    for name in COMPILERS:
        compiler = folder / "bin" / name
        compiler.write_text(COMPILER.format(root=folder / "root", name=name))
        compiler.chmod(0o755)
    return place


def last_line(text: str) -> str:
    """The last one that is no trace of the shell's."""
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("+")]
    return lines[-1].strip() if lines else "it said nothing"


def counted(file: Path) -> dict[str, Any]:
    """Of pytest's report: how many tests passed, failed and were skipped, and why the first did."""
    counts: Counter[str] = Counter()
    why: dict[str, str] = {}
    got: dict[str, str] = {}  # the version of what was fetched
    for case in ET.parse(file).iter("testcase"):  # noqa: S314 - our own pytest's
        bad = case.find("failure")
        bad = case.find("error") if bad is None else bad
        skipped = case.find("skipped")
        ended = "failed" if bad is not None else "skipped" if skipped is not None else "passed"
        counts[ended] += 1
        got |= {each.get("name", ""): each.get("value", "") for each in case.iter("property")}
        told = bad if bad is not None else skipped
        if told is not None:
            said = (told.get("message") or told.text or "").strip().splitlines()
            where = f"{case.get('classname', '').rpartition('.')[2]}::{case.get('name')}"
            text = PATH.sub("", said[0]) if said else "no message"
            why.setdefault(ended, f"{where}: {text}")
    found: dict[str, Any] = dict(counts) | ({"got": got} if got else {})
    return found | {f"first_{ended}": text[:300] for ended, text in why.items()}


def built(place: Place) -> "subprocess.CompletedProcess[str]":
    configure = "cmake -S . -B build -G Ninja --log-level=ERROR >/dev/null"
    return place.inside(f"{configure}; {COMMANDS['build'].command}")


def surveyed(place: Place, check: Check) -> dict[str, Any]:
    """What ran and at which rates, and what failed."""
    sources = place.root / SOURCE if place.root else TOP
    shutil.rmtree(sources / SURVEYED, ignore_errors=True)
    ready = "tools/setup demo apps >/dev/null; PATH=$PWD/.venv/bin:$PATH; " if place.root else ""
    if place.root and (done := built(place)).returncode:
        return {"failed": 1, "first_failed": f"build: {last_line(done.stdout + done.stderr)[:300]}"}
    done = place.inside(ready + check.command)
    if done.returncode:
        return {"failed": 1, "first_failed": last_line(done.stderr)[:300]}
    failed = dict(line.split(": ", 1) for line in done.stdout.splitlines())
    measured: dict[str, Any] = {}
    for file in sorted((sources / SURVEYED).glob("*.json")):
        result = from_file(file)
        rates = survey.shortened(result, {})["rates"]
        measured[result.kind.removeprefix("program-")] = {
            "versions": result.native["packages"],
            "rates": next(iter(rates.values()), {}),
        }
    found: dict[str, Any] = {"passed": len(measured.keys() - failed.keys()), "measured": measured}
    if failed:
        name, why = next(iter(failed.items()))
        found |= {"failed": len(failed), "first_failed": PATH.sub("", f"{name}: {why}")[:300]}
    return found


def checked(place: Place, check: Check) -> dict[str, Any]:
    report = place.folder / JUNIT
    report.unlink(missing_ok=True)
    begun = datetime.now(UTC)
    try:
        if check.by == "apps":
            found = surveyed(place, check)
            return found | {"seconds": round((datetime.now(UTC) - begun).total_seconds())}
        if check.by == "registries" and place.root:
            return {REFUSED: "these bring their own code, and run on this machine's C library"}
        done = built(place) if check.by == "build" else place.bash(check.command)
    except subprocess.TimeoutExpired:
        return {"failed": 1, "first_failed": f"not done after {SECONDS} s"}
    if check.by != "build" and report.exists():
        found = counted(report)
    elif done.returncode:
        found = {"failed": 1, "first_failed": last_line(done.stdout + done.stderr)[:300]}
    else:
        found = {"passed": 1}
    return found | {"seconds": round((datetime.now(UTC) - begun).total_seconds())}


def versions(place: Place) -> dict[str, str]:
    script = "dpkg-query -W -f '${Version}\n' \"$1\" 2>/dev/null | grep . | head -1 || true"
    lines = "".join(f"set -- '{package}'; echo \"$({script})\";" for package in VERSIONS.values())
    said = place.inside(lines).stdout.splitlines()
    return {name: text for name, text in zip(VERSIONS, said, strict=True) if text}


def commit() -> str:
    """What is checked. Tables and what they are made of are written meanwhile."""
    words = ["git", "rev-parse", "--short=8", "HEAD"]
    said = subprocess.run(words, cwd=TOP, capture_output=True, text=True, check=True).stdout
    changed = ["git", "diff", "--quiet", "HEAD", "--", ".", ":!docs"]
    dirty = subprocess.run(changed, cwd=TOP, check=False).returncode
    return said.strip() + ("-dirty" if dirty else "")


def save(release: str, found: dict[str, Any]) -> None:
    """Others stay as they are now: another run may be writing them."""
    every = load() | {release: found}
    kept_json.write(FILE, {one: every[one] for one in RELEASES if one in every})


def wanted(checks: dict[str, Any], names: list[str], now: str, again: bool) -> list[str]:
    """What was not done at this commit; first what was never done."""
    left = [name for name in names if again or checks.get(name, {}).get("commit") != now]
    return sorted(left, key=lambda name: "commit" in checks.get(name, {}))


def on_release(release: str, names: list[str], again: bool) -> bool:
    """Whether nothing failed."""
    now = commit()
    one = load().get(release, {"versions": {}, "checks": {}})
    checks = one["checks"]
    names = wanted(checks, names, now, again)
    if not names:
        return True
    try:
        place = prepared(release)
    except RuntimeError as error:
        for name in names:
            checks.setdefault(name, {REFUSED: str(error)})
        say(f"{release}: not run: {error}")
        save(release, one)
        return True
    one["versions"] = versions(place)
    for name in names:
        say(f"{release}: {name}")
        ran = {"commit": now, "date": f"{datetime.now(UTC):%Y-%m-%d}"}
        checks[name] = checked(place, COMMANDS[name]) | ran
        say(f"{release}: {name}: {shown(checks[name])}")
        save(release, one)
    return not any("failed" in checks[name] for name in names)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--only", action="append", choices=RELEASES, metavar="RELEASE")
    parser.add_argument("--check", action="append", choices=COMMANDS, metavar="CHECK")
    parser.add_argument("--again", action="store_true")
    options = parser.parse_args()
    fine = True
    try:
        for release in options.only or RELEASES:
            fine &= on_release(release, options.check or list(COMMANDS), options.again)
    except KeyboardInterrupt:
        say("stopped; the same command goes on")
    found = load()
    for row in [["check", *RELEASES.values()], *rows(found)]:
        print("  ".join(f"{cell:32}" for cell in row).rstrip())
    for reason in reasons(found):
        print(f"failed: {reason}")
    return not fine


if __name__ == "__main__":
    sys.exit(main())
