# SPDX-License-Identifier: MIT
"""A Rust file with locks, or what a compiler prints of it: a table, a refusal, one line."""

import contextlib
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["overlock_tools"]):
    from overlock_tools.core.ordinary import compiler, lock, rust, table
    from overlock_tools.core.system.errors import Fail
    from tests.fuzz.hostile import fuzz

FILE = Path("mine.rs")


def take(data: bytes) -> None:
    text = data.decode(errors="replace")
    assert "\n" not in compiler.first_error(text, FILE)
    found = rust.in_text(text)
    for one in found:
        assert one.listed.keys() <= set(lock.OPERATIONS)
        made = table.appended(one, text)
        assert made.startswith(text)
        assert all(name in made[len(text) :] for name in one.listed.values())
    if found:
        with contextlib.suppress(Fail):
            assert lock.choose(FILE, found, "") in found


if __name__ == "__main__":
    fuzz(take)
