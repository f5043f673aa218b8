# SPDX-License-Identifier: MIT
"""The crates of rust/, built by each Rust that is here: the first on PATH, and Debian's.

Other crates come from Debian's packages, so nothing is downloaded.
"""

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.conftest import BUILD, TOP

DEBIAN = Path("/usr/share/cargo/registry")
SECONDS = 1200


@dataclass(frozen=True)
class Rust:
    name: str
    cargo: str
    tools: dict[str, str]  # RUSTC, RUSTDOC; none: as cargo finds them

    def run(
        self,
        folder: Path,
        *arguments: str,
        check: bool = True,
        crates: Path | None = DEBIAN,
        **environment: str,
    ) -> subprocess.CompletedProcess[str]:
        replaced = [
            '--config=source.crates-io.replace-with="debian"',
            f'--config=source.debian.directory="{crates}"',
        ]
        kept = BUILD / "rust" / self.name
        told = {"CARGO_TARGET_DIR": str(kept), "CARGO_TERM_COLOR": "never", "RUST_BACKTRACE": "0"}
        unset = ("MAKEFLAGS", "MFLAGS")  # make's job slots are not lent
        inherited = {name: text for name, text in os.environ.items() if name not in unset}
        done = subprocess.run(
            [self.cargo, *(replaced if crates else ()), *arguments],
            cwd=folder,
            env=inherited | self.tools | told | environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=SECONDS,
        )
        if check and done.returncode:
            pytest.fail(f"cargo {' '.join(arguments)}\n{done.stdout[-4000:]}{done.stderr[-4000:]}")
        return done


def found() -> list[Rust]:
    rusts = []
    if first := shutil.which("cargo"):
        rusts.append(Rust("first", first, {}))
    if first != "/usr/bin/cargo" and Path("/usr/bin/cargo").exists():
        tools = {"RUSTC": "/usr/bin/rustc", "RUSTDOC": "/usr/bin/rustdoc"}
        rusts.append(Rust("debian", "/usr/bin/cargo", tools))
    return rusts


RUSTS = found()
MISSING = "cargo is not installed" if not RUSTS else ""
if not MISSING and not any(DEBIAN.glob("lock_api-*")):
    MISSING = "librust-lock-api-dev is not installed"


def copied(folder: Path, *names: str) -> Path:
    """Of the tree, as it is published: links are files. Modification times stay, for cargo."""
    for name in ("rust", *names):
        unwanted = shutil.ignore_patterns("target", "Cargo.lock")
        shutil.copytree(TOP / name, folder / name, ignore=unwanted, dirs_exist_ok=True)
    return folder
