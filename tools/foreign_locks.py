#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks other people's locks, listed in check/foreign/locks.toml; writes docs/results/foreign.md.

    python tools/foreign_locks.py --source musl=musl-1.2.3 --source glibc=glibc-2.36 --seconds 60
    python tools/foreign_locks.py --only musl_mutex          # fetches Debian's source of musl
    python tools/foreign_locks.py --page                     # the page alone, from what is known

What was found is kept in check/foreign/results.json, so that a run of some locks leaves the others
as they are. Needs overlock-check: `make checker`. A folder of texts has its version in its name, as
Debian's sources have.
"""

import argparse
import fcntl
import json
import os
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

TOP = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(TOP / "python")]
import kept_json  # noqa: E402
from overlock_tools.core.ordinary import wrapping  # noqa: E402
from overlock_tools.guest import debsource  # noqa: E402

FOLDER = TOP / "check/foreign"
KNOWN = FOLDER / "results.json"
PAGE = TOP / "docs/results/foreign.md"
MODELS = ("sc", "tso", "c11")
SOURCES = TOP / "build/foreign"

HEAD = """# Other people's locks, checked

What `overlock check` found of other people's locks. [How it reads them](../checking-other-locks.md)
says what is changed in their source and what the verdicts do not cover.
`python tools/foreign_locks.py` makes this page; {seconds}
In `CxA holds`, C contexts took the lock A times each, and all executions were explored; the
number is how many there were. `open` was not exhausted, and no failure was found. `loops cut`:
it holds if the [number of turns](../check.md#loops) of a loop does not matter.
Roles are a letter for each context. `frees` fails where a release looks at the lock after it has
let it go: Linux's rwsem does not promise that its memory may be freed then.

| lock | version | scenario, roles | sc | tso | c11 |
| --- | --- | --- | --- | --- | --- |
"""
BEHAVIOUR = """
## When somebody stops, and who is passed

Under SC, without `spurious` and `expiry`. `holder` (2x1): what the other context does when the
holder stops for ever. `waiter` (2x2): a context may stop at any step of its acquisition, also of
what follows the step that gave it the lock; in how many of the executions in which it did the other
was stuck. `order` (2x3): by how many acquisitions that began after it had begun to wait a context
was passed, of three that the other makes. 0: who waits is served first; 2: as often as the other
comes. What was not exhausted is marked.

| lock | holder | waiter | order |
| --- | --- | --- | --- |
"""
BUGS = """
## Historical bugs found again

Each was put back as the last column says. The fix is the source as it is, unless said otherwise,
in the same scenario, size, model and budgets.

| bug | found | with the fix | what it is |
| --- | --- | --- | --- |
"""

NEW = """
## New bugs

| bug | found | with a fix of ours | what it is |
| --- | --- | --- | --- |
"""
# `make docs` fills it in.
AGE = """
## How old these results are

<!-- generated: age foreign -->
<!-- end -->
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--source", action="append", default=[], metavar="PACKAGE=DIR")
    parser.add_argument("--only", action="append", default=[], metavar="LOCK")
    parser.add_argument("--seconds", type=float, help="limit of each check, in CPU time")
    parser.add_argument(
        "--open", action="store_true", help="skip what is exhausted or was searched for --seconds"
    )
    parser.add_argument("--page", action="store_true", help="write the page alone")
    options = parser.parse_args()
    listed = tomllib.loads((FOLDER / "locks.toml").read_text())
    known = found_before()
    options.seconds = options.seconds or listed["seconds"]
    if not options.page:
        sources = dict(one.split("=", 1) for one in options.source)
        done = {n: one["verdict"] for n, one in known.items() if need_not(one, options.seconds)}
        search = Search(sources, options.seconds, done if options.open else {})
        for step in steps(listed, options.only, search):
            known = kept(step())
    PAGE.write_text(page(listed, known))
    return 0


def found_before() -> dict[str, Any]:
    return dict(json.loads(KNOWN.read_text())) if KNOWN.is_file() else {}


def need_not(one: dict[str, Any], seconds: float) -> bool:
    """Whether a search that long would tell no more."""
    enough = one["verdict"] == "open" and one["seconds"] >= seconds
    return bool(enough or one["verdict"] == "holds")


def kept(new: dict[str, Any]) -> dict[str, Any]:
    """All that is known once this is; others may be adding to it."""
    folder = os.open(FOLDER, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        known = found_before()
        known |= {name: longer(known.get(name), what) for name, what in new.items()}
        kept_json.write(KNOWN, dict(sorted(known.items())))
        return known
    finally:
        os.close(folder)


def longer(before: dict[str, Any] | None, new: dict[str, Any]) -> dict[str, Any]:
    """A search that the clock ended tells nothing against one that had more time or got further."""
    if not before or new["verdict"] != "open" or before["version"] != new["version"]:
        return new
    if before["verdict"] != "open":
        return before if before["seconds"] > new["seconds"] else new
    if before["executions"] <= new["executions"]:
        return new
    return before | {"seconds": max(before["seconds"], new["seconds"])}


def label(one: dict[str, Any]) -> str:
    """A lock of several kinds has one for each."""
    return str(one.get("as", one["lock"]))


def seen(one: dict[str, Any]) -> tuple[str, str]:
    """Scenario and roles."""
    return one.get("scenario", "lock"), one.get("roles", "")


def locks(listed: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """One entry for each, that of its first scenario, if it is a lock's."""
    found: dict[str, dict[str, Any]] = {}
    for one in listed["check"]:
        if one.get("scenario", "lock") == "lock":
            found.setdefault(label(one), one)
    return found


class Search(NamedTuple):
    """What a run's checks share: texts by package, the limit, verdicts that stand."""

    sources: dict[str, str]
    seconds: float
    done: dict[str, str]


def steps(
    listed: dict[str, Any], only: list[str], search: Search
) -> Iterator[Callable[[], dict[str, Any]]]:
    def wanted(one: dict[str, Any]) -> bool:
        return not only or label(one) in only or one["lock"] in only

    for one in filter(wanted, listed["check"]):
        for model in one.get("models", MODELS):
            yield partial(checked, one, model, search)
    for one in filter(wanted, locks(listed).values()):
        yield partial(behaviour, one, search)
    for one in filter(wanted, [*listed["bug"], *listed["new"]]):
        yield partial(found_again, one, search)


def source_of(package: str | None, sources: dict[str, str]) -> Path | None:
    if not package:
        return None
    if package not in sources:
        target = SOURCES / package
        if not target.is_dir():
            debsource.fetched(package, target, print)
        sources[package] = str(target)
    return Path(sources[package])


def version(folder: Path) -> str:
    """Of Debian's changelog, or of the folder's name."""
    changelog = folder / "debian/changelog"
    if changelog.is_file():
        return changelog.read_text(errors="replace").split("(", 1)[1].split(")", 1)[0]
    return folder.name.rpartition("-")[2]


def key(lock: str, scenario: str, roles: str, size: str, model: str) -> str:
    return " ".join([lock, scenario, roles or "-", size, model])


def run(lock: str, one: dict[str, Any], size: str, model: str, search: Search) -> dict[str, Any]:
    """One check, as it is kept."""
    scenario, roles = seen(one)
    roles = roles[: int(size.split("x", maxsplit=1)[0])]
    folder = source_of(one.get("package"), search.sources)
    file = next(path for path in FOLDER.glob(f"{lock}.*") if path.suffix in wrapping.SUFFIXES)
    if "(model)" in file.read_text():
        folder = None
    with tempfile.TemporaryDirectory() as made:
        said = Path(made) / "result.json"
        command = [sys.executable, "-m", "overlock_tools", "check", str(file)]
        command += ["--scenario", scenario, "--size", size, "--model", model, "--json", str(said)]
        command += ["--seconds", str(search.seconds)]
        command += ["--roles", roles] if roles else []
        command += ["--source", str(folder)] if folder else []
        command += [f"--cflags={one['cflags']}"] if "cflags" in one else []
        for budget in one.get("budgets", []):
            command += ["--budget", budget]
        if "search" in one:
            command += ["--search", one["search"], "--seed", str(one["seed"])]
        subprocess.run(command, cwd=TOP, check=False, stdout=subprocess.DEVNULL)
        if not said.is_file():
            raise SystemExit(f"foreign_locks: {lock} was not checked; what is wrong is said above")
        result = json.loads(said.read_text())["results"][0]
    text = {k: result[k] for k in ("verdict", "executions", "error")}
    text["seconds"] = search.seconds
    text["notes"] = result["notes"]
    if result["loops"]:
        text["loops"] = [f"{loop['file']}:{loop['line']}" for loop in result["loops"]]
    text["words"] = (result["failure"] or {}).get("property", "")
    text["version"] = one.get("version") or (version(folder) if folder else "model")
    name = one.get("as", lock)
    print(key(name, scenario, roles, size, model), text["verdict"], text["executions"], flush=True)
    return {key(name, scenario, one.get("roles", ""), size, model): text}


QUIET = ["spurious=0", "expiry=0"]
BEHAVIOURS = {"holder": "2x1", "waiter": "2x2", "order": "2x3"}


def behaviour(one: dict[str, Any], search: Search) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for scenario, size in BEHAVIOURS.items():
        name = f"behaviour {label(one)} {scenario}"
        if name in search.done:
            continue
        asked = one | {"scenario": scenario, "budgets": QUIET}
        (found[name],) = run(one["lock"], asked, size, "sc", search).values()
    return found


def behaves(scenario: str, result: dict[str, Any] | None) -> str:
    if not result:
        return ""
    if scenario != "order" and result["words"] == "livelock":
        return "spins for ever"
    if result["verdict"] == "fails":
        return words(result)
    notes, more = result["notes"], "" if result["verdict"] == "holds" else " (open)"
    if scenario == "order":
        return f"{notes.get('passed_waiting', '')}{more}"
    if scenario == "holder":
        waits = [name for name, key in (("sleeps", "parked"), ("spins", "spin")) if notes.get(key)]
        return " or ".join(waits) + more
    stuck = notes.get("stuck", 0)
    return f"{stuck:,} of {stuck + notes.get('went_on', 0):,}{more}"


def checked(one: dict[str, Any], model: str, search: Search) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for size in one["sizes"]:
        name = key(label(one), *seen(one), size, model)
        verdict = search.done.get(name)
        if not verdict:
            (found[name],) = run(one["lock"], one, size, model, search).values()
            verdict = found[name]["verdict"]
        if verdict != "holds":
            break
    return found


def found_again(one: dict[str, Any], search: Search) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for lock, of in ((one["lock"], "package"), (one["fixed"], "fixed_package")):
        package = one.get(of, one["package"])
        if of in one and of == "fixed_package" and package not in search.sources:
            print(f"{lock}: give --source {package}=DIR to see the fix hold", flush=True)
            continue
        scenario, roles, at = *seen(one), (one["size"], one["model"])
        name = f"bug {package} {key(lock, scenario, roles, *at)}"
        if name not in search.done:
            (found[name],) = run(lock, one | {"package": package}, *at, search).values()
    return found


def cell(one: dict[str, Any], model: str, known: dict[str, Any]) -> str:
    said = []
    for size in one["sizes"]:
        name = key(label(one), *seen(one), size, model)
        if name in known:
            said.append(f"{size} {words(known[name])}")
    return "; ".join(said)


def words(result: dict[str, Any]) -> str:
    if result["verdict"] == "fails":
        return f"**FAILS**: {result['words']}"
    verb = "holds" if result["verdict"] == "holds" else "open"
    cut = ", loops cut" if result.get("loops") else ""
    return f"{verb}{cut} ({result['executions']:,})"


def limits(known: dict[str, Any]) -> str:
    """Of the searches that ended by the clock."""
    had = {one["seconds"] for one in known.values() if one["verdict"] == "open"}
    return f"what is not exhausted was searched for {min(had):g} seconds at least."


def page(listed: dict[str, Any], known: dict[str, Any]) -> str:
    lines = [HEAD.replace("{seconds}", limits(known))]
    rows = {(label(one), one.get("scenario"), one.get("roles")): one for one in listed["check"]}
    for one in rows.values():
        name = f"{label(one)} "
        version = next((v["version"] for k, v in known.items() if k.startswith(name)), "")
        roles = f", `{one['roles']}`" if one.get("roles") else ""
        cells = " | ".join(cell(one, model, known) for model in MODELS)
        lines.append(
            f"| `{label(one)}` | {version} | `{one.get('scenario', 'lock')}`{roles} | {cells} |\n"
        )
    lines.append(BEHAVIOUR)
    for name in locks(listed):
        told = [behaves(s, known.get(f"behaviour {name} {s}")) for s in BEHAVIOURS]
        lines.append(f"| `{name}` | {' | '.join(told)} |\n")
    lines += [BUGS, *(bug_row(one, known) for one in listed["bug"])]
    lines += [NEW, *(bug_row(one, known) for one in listed["new"]), AGE]
    return "".join(lines)


def bug_row(one: dict[str, Any], known: dict[str, Any]) -> str:
    at = (one["size"], one["model"])
    which = key("", *seen(one), *at)
    sources = one["package"], one.get("fixed_package", one["package"])
    results = [
        known.get(f"bug {package} {lock}{which}")
        for lock, package in zip((one["lock"], one["fixed"]), sources, strict=True)
    ]
    cells = " | ".join(words(result) if result else "" for result in results)
    how = [*at, *([f"--search {one['search']}"] if "search" in one else [])]
    return f"| `{one['lock']}` ({' '.join(how)}) | {cells} | {one['what']} |\n"


if __name__ == "__main__":
    sys.exit(main())
