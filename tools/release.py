#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""All artefacts of a tagged commit, in build/release, each tried in clean roots: `make release`.

The commit must have the tag of the version, vVERSION, and nothing may be changed: --untagged
and --changed are for a rehearsal. What cannot be made is an error, not left out, but for
what --without names.
"""

import argparse
import gzip
import hashlib
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import image

TOP = image.TOP
VERSIONS = {
    "CMakeLists.txt": r"^project\(overlock VERSION ([\d.]+)",
    "pyproject.toml": r'^version = "([\d.]+)"',
    "python/overlock_tools/__init__.py": r'__version__ = "([\d.]+)"',
    "CITATION.cff": r"^version: ([\d.]+)",
}
FOLDER = "OVERLOCK_RELEASE"  # where tests/packaging/release finds the artefacts


def fail(message: str) -> None:
    sys.exit(f"release.py: {message}")


def git(*words: str) -> str:
    done = subprocess.run(["git", *words], cwd=TOP, capture_output=True, text=True, check=False)
    return done.stdout.strip()


def version() -> str:
    """What all say; they must agree."""
    said = {}
    for name, pattern in VERSIONS.items():
        found = re.search(pattern, (TOP / name).read_text(), re.MULTILINE)
        said[name] = found[1] if found else "none"
    if len(set(said.values())) > 1:
        fail("versions differ: " + ", ".join(f"{name} says {what}" for name, what in said.items()))
    return said["CMakeLists.txt"]


def check_commit(wanted: str, untagged: bool, changed: bool) -> None:
    if not changed and (first := git("status", "--porcelain").partition("\n")[0]):
        fail(f"the tree is changed ({first.strip()}); commit or remove that, or add --changed")
    tags = git("tag", "--points-at", "HEAD").split()
    if not untagged and f"v{wanted}" not in tags:
        at = f"its tags are {', '.join(tags)}" if tags else "it has no tag"
        fail(f"the commit is not v{wanted}: {at}; run `git tag v{wanted}`, or add --untagged")
    heading = rf"^## \[{re.escape(wanted)}\]"
    if not untagged and not re.search(heading, (TOP / "CHANGELOG.md").read_text(), re.MULTILINE):
        fail(f"CHANGELOG.md has no heading [{wanted}]; name the section of this release so")


def ran(*words: str | Path) -> str:
    print("  $", *words, flush=True)
    done = subprocess.run(words, cwd=TOP, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        fail(f"{words[0]} failed; what it printed is above:\n{done.stdout[-2000:]}")
    return done.stdout


def source(out: Path, name: str) -> None:
    """`pip install` and CMake take it; the same bytes of the same commit."""
    tar = subprocess.check_output(["git", "archive", f"--prefix={name}/", "HEAD"], cwd=TOP)
    (out / f"{name}.tar.gz").write_bytes(gzip.compress(tar, 9, mtime=0))


def wheel(out: Path, _name: str) -> None:
    """Built anew: what `make` has built names its folder."""
    without = {key: value for key, value in os.environ.items() if key != "OVERLOCK_NATIVE"}
    words = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", str(out), str(TOP)]
    print("  $ pip wheel", flush=True)
    if subprocess.run(words, env=without, check=False).returncode:
        fail("pip wheel failed; see above")


def debs(out: Path, _name: str) -> None:
    made = TOP / "build/deb"
    for line in ran("tools/deb", made).splitlines():
        shutil.copy(line, out)


def bundle(out: Path, name: str) -> None:
    ran(sys.executable, "tools/bundle.py", out / f"{name}-bundle-x86_64.tar.xz")


def container(out: Path, name: str) -> None:
    ran(sys.executable, "tools/image.py", out / f"{name}-image-x86_64.tar")


def crates(out: Path, _name: str) -> None:
    if not (TOP / "rust/Cargo.toml").exists():
        return
    # Not verified: overlock needs overlock-sys of the same version from the registry.
    ran("cargo", "package", "--no-verify", "--manifest-path", "rust/Cargo.toml", "--workspace")
    for made in (TOP / "rust/target/package").glob("*.crate"):
        shutil.copy(made, out)


def sbom(out: Path, name: str) -> None:
    ran(sys.executable, "tools/sbom.py", out / f"{name}.cdx.json")


# What takes seconds first: what is missing there is not told after an hour.
MAKERS: dict[str, Callable[[Path, str], None]] = {
    "source": source,
    "sbom": sbom,
    "crates": crates,
    "image": container,
    "wheel": wheel,
    "debs": debs,
    "bundle": bundle,
}


def sums(out: Path) -> None:
    """As sha256sum(1) writes and checks them."""
    files = sorted(path for path in out.iterdir() if path.name != "SHA256SUMS")
    lines = [f"{hashlib.sha256(p.read_bytes()).hexdigest()}  {p.name}\n" for p in files]
    (out / "SHA256SUMS").write_text("".join(lines))


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="release.py", description=__doc__.split("\n")[0])
    parser.add_argument("--untagged", action="store_true", help="the commit needs no tag")
    parser.add_argument("--changed", action="store_true", help="the tree may be changed")
    parser.add_argument(
        "--without",
        action="append",
        default=[],
        choices=[*MAKERS, "tests"],
        help="leave that out, and say so; repeatable",
    )
    return parser.parse_args()


def main() -> int:
    given = options()
    began, wanted = time.monotonic(), version()
    check_commit(wanted, given.untagged, given.changed)
    os.environ["SOURCE_DATE_EPOCH"] = git("log", "-1", "--format=%ct")
    out = TOP / "build/release"
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    for what, make in MAKERS.items():
        if what in given.without:
            print(f"{what}: left out", flush=True)
            continue
        print(f"{what}, after {time.monotonic() - began:.0f} s:", flush=True)
        make(out, f"overlock-{wanted}")
    sums(out)
    if "tests" not in given.without:
        print(f"tests, after {time.monotonic() - began:.0f} s:", flush=True)
        words = (sys.executable, "-m", "pytest", "-rs", "tests/packaging/release")
        env = {**os.environ, FOLDER: str(out)}
        if subprocess.run(words, cwd=TOP, env=env, check=False).returncode:
            fail("an artefact does not work; see above")
    for path in sorted(out.iterdir()):
        print(f"{path.stat().st_size / 1e6:8.1f} MB  {path.relative_to(TOP)}")
    print(f"{wanted} at {git('rev-parse', '--short=12', 'HEAD')}: {time.monotonic() - began:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
