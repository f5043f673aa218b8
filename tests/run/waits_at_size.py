# SPDX-License-Identifier: MIT
"""Every lock and every build, on every kind of terminal; allocators of others under every lock.

A part of the suite `run-long`.
"""

from pathlib import Path

import pytest

from tests.run.conftest import LOCKS, Compile
from tests.run.terminals import MODES, Ended, on
from tests.run.test_production import ALLOCATORS, LIBRARIES
from tests.run.test_waits import FLAVOURS, in_waits

PRELOADED = (*ALLOCATORS, "libmimalloc.so.2")


def on_every_terminal(program: Path, env: dict[str, str], folder: Path) -> None:
    for mode in MODES:
        files = folder / mode
        files.mkdir()
        ended = on(mode, [str(program)], env, files, resumed_at="fine")
        assert ended == Ended(0, "fine\n", ended.said), mode


@pytest.mark.parametrize("flavour", FLAVOURS)
@pytest.mark.parametrize("lock", LOCKS)
def test_the_allocator_is_left_alone_and_nobody_is_cancelled(
    program: Compile, tmp_path: Path, lock: str, flavour: str
) -> None:
    on_every_terminal(program("in_waits.c"), in_waits(lock, flavour, tmp_path), tmp_path)


@pytest.mark.parametrize("allocator", PRELOADED)
@pytest.mark.parametrize("flavour", FLAVOURS)
@pytest.mark.parametrize("lock", LOCKS)
def test_allocators_of_others(
    program: Compile, tmp_path: Path, lock: str, flavour: str, allocator: str
) -> None:
    if not (LIBRARIES / allocator).exists():
        pytest.skip(f"{allocator} is not installed")
    env = in_waits(lock, flavour, tmp_path)
    env["LD_PRELOAD"] += f":{allocator}"
    on_every_terminal(program("allocating.c"), env, tmp_path)
