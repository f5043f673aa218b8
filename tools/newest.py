# SPDX-License-Identifier: MIT
"""The tables of docs/architecture.md: what passes on newer releases of Debian, and what they have.

`make newest` (tests/newest/run.py) runs the checks and keeps what they find in newest.json.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lock_pages import table

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
}

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
    return text + ("\nFailed first:\n\n" + "\n".join(failed) + "\n" if failed else "")


def versions_table() -> str:
    return table(["package", *RELEASES.values()], version_rows(load()))
