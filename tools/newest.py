# SPDX-License-Identifier: MIT
"""The tables of docs/architecture.md: what passes on newer releases of Debian, and what they have.

`make newest` (tests/newest/run.py) runs the checks and keeps what they find in newest.json.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lock_pages import table
from overlock_tools.core.model.quantities import factor

FILE = Path(__file__).resolve().parent.parent / "docs/measured/newest.json"
RELEASES = {"bookworm": "Debian 12", "trixie": "Debian 13", "sid": "Debian sid"}
REFUSED = "not run"

# What a release has that is new: the package that says its version.
VERSIONS = {
    "glibc": "libc6",
    "gcc": "gcc",
    "libgomp": "libgomp1",
    "libstdc++": "libstdc++6",
    "clang": "clang",
    "libomp": "libomp5*",
    "CPython": "python3",
    "binutils": "binutils",
    "elfutils": "libdw1*",
    "Zydis": "libzydis4*",
    "libbpf": "libbpf1",
}
CHECKS = {
    "build": "Overlock is built",
    "conformance": "each call in each state answers as glibc's",
    "interposer": "`overlock run`: threads, calls, names, barriers",
    "openmp": "OpenMP's locks",
    "spins": "`overlock run --spins`",
    "runtimes": "`overlock profile`: locks of libraries and languages",
    "planted": "`overlock profile`: planted causes, and threads that spin",
    "doctor": "`overlock doctor`",
    "registries": "`overlock run`: the newest of PyPI, crates.io and npm",
    "survey": "`overlock apps run`: the measured programs of the survey",
}

ASKERS = ("bind9-dnsutils", "dnsperf", "nghttp2-client", "sysbench")  # load what is measured
Found = dict[str, Any]  # by release


def load() -> Found:
    return dict(json.loads(FILE.read_text())) if FILE.exists() else {}


def shown(found: dict[str, Any] | None) -> str:
    """A cell: what passed, failed and was skipped, at which commit; or why nothing was run."""
    if not found:
        return "not run yet"
    if REFUSED in found:
        return f"not run: {found[REFUSED]}"
    words = [f"{found[name]:,} {name}" for name in ("passed", "failed", "skipped") if name in found]
    return ", ".join(words) + (f" ({found['commit']})" if "commit" in found else "")


def reasons(found: Found) -> Iterator[str]:
    for release, one in found.items():
        for name, result in one["checks"].items():
            if "first_failed" in result:
                yield f"{RELEASES[release]}, {CHECKS[name]}: {result['first_failed']}"


def rows(found: Found) -> list[list[str]]:
    return [
        [what, *(shown(found.get(one, {}).get("checks", {}).get(name)) for one in RELEASES)]
        for name, what in CHECKS.items()
    ]


def version_rows(found: Found) -> list[list[str]]:
    return [
        [name, *(found.get(one, {}).get("versions", {}).get(name, "-") for one in RELEASES)]
        for name in VERSIONS
    ]


def checks_table() -> str:
    found = load()
    text = table(["check", *RELEASES.values()], rows(found))
    failed = [f"- {reason}" for reason in reasons(found)]
    text += "\nFailed first:\n\n" + "\n".join(failed) + "\n" if failed else ""
    got = [f"{name} {one}" for each in found.values() for name, one in _got(each).items()]
    return text + (f"\nFrom registries: {', '.join(got)}.\n" if got else "")


def _got(one: dict[str, Any]) -> dict[str, str]:
    return dict(one.get("checks", {}).get("registries", {}).get("got", {}))


def survey_table() -> str:
    """The rate with four threads for each CPU, to that with one, where it was measured."""
    found = load()
    names = sorted({name for one in found.values() for name in _measured(one)})
    rows = [
        [
            f"`{name}`, `{lock}`",
            *(_ratio(_measured(found.get(one, {})), name, lock) for one in RELEASES),
        ]
        for name in names
        for lock in ("native", "tas_yield")
    ]
    return table(["program, lock", *RELEASES.values()], rows) if rows else "Not measured yet.\n"


def _measured(one: dict[str, Any]) -> dict[str, Any]:
    return dict(one.get("checks", {}).get("survey", {}).get("measured", {}))


def _ratio(measured: dict[str, Any], name: str, lock: str) -> str:
    if name not in measured:
        return "·"
    found = measured[name]["rates"].get(lock, {}).get("4", {})
    if "ratio" not in found:
        return str(found.get("why", "·"))
    low, high = (factor(value) for value in found["interval"])
    text = f"{factor(found['ratio'])}× ({low} – {high})"
    versions = measured[name]["versions"] if lock == "native" else {}
    own = [f"{package} {one}" for package, one in versions.items() if package not in ASKERS]
    return "; ".join([text, *own[:1]])


def versions_table() -> str:
    return table(["package", *RELEASES.values()], version_rows(load()))
