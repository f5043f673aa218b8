# SPDX-License-Identifier: MIT
"""A short soak: what the interposer keeps does not grow, and one that leaks is caught."""

from pathlib import Path

import pytest

from tests.run.conformance.test_mutants import Mutant, build
from tests.run.soak import soak

ROUNDS = 400
LEAKS = {
    "a lock left behind for each mutex": (
        "partitioned_ticket",
        Mutant(
            "leak",
            "outside.c",
            "o = find_left(slot, inner);",
            "(void)find_left; o = 0;",
            "partitioned_ticket",
            (),
        ),
    ),
    "a descriptor for each forked child": (
        "mcs",
        Mutant(
            "descriptor",
            "start.c",
            "ol_run_real.register_atfork(0, 0, child, 0);",
            "ol_run_real.register_atfork((void (*)(void))(void *)tmpfile, 0, child, 0);",
            "mcs",
            (),
        ),
    ),
}


@pytest.fixture(scope="session")
def soaking(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return soak.compiled(tmp_path_factory.mktemp("soak"))


def samples(program: Path, variant: str, library: Path | None = None) -> list[soak.Sample]:
    env = soak.environment(variant, library)
    return list(soak.samples_of(program, ROUNDS, env, seconds=float("inf")))


@pytest.mark.parametrize("variant", soak.VARIANTS)
def test_memory_stays_flat(soaking: Path, variant: str) -> None:
    found = samples(soaking, variant)
    assert len(found) == soak.SAMPLES
    assert not soak.verdict(found), soak.row(variant, found)


@pytest.mark.parametrize("leak", LEAKS)
def test_a_leak_is_caught(soaking: Path, tmp_path: Path, leak: str) -> None:
    variant, mutant = LEAKS[leak]
    found = samples(soaking, variant, build(tmp_path, mutant))
    assert soak.verdict(found), soak.row(variant, found)
