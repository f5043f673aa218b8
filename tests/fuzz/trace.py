# SPDX-License-Identifier: MIT
"""A trace of `overlock run --record`, unpacked: read, made a plan and a mix, or refused."""

import gzip
import tempfile
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["overlock_tools"]):
    from overlock_tools.core.system.errors import Fail
    from overlock_tools.core.trace import format as traces
    from overlock_tools.core.trace import mix, plan
    from tests.fuzz.hostile import fuzz, is_refused

FOLDER = Path(tempfile.mkdtemp(prefix="overlock-fuzz-"))


def take(data: bytes) -> None:
    given = FOLDER / "given.trace"
    given.write_bytes(data if data[:2] == b"\x1f\x8b" else gzip.compress(data, 1))
    if is_refused(lambda: traces.read(given)):
        return
    trace = traces.read(given)
    traces.write(given, trace)
    again = traces.read(given)
    assert (again.events == trace.events).all(), "what is written is not what was read"
    try:
        made = plan.of(trace)
    except Fail:
        return
    plan.packed(made)
    mix.of(trace, made)
    for ops in made.ops:
        held: list[int] = []
        for op in ops:
            if op["kind"] == plan.ACQUIRE:
                assert int(op["lock"]) not in held, "a thread would wait for itself"
                held.append(int(op["lock"]))
            elif op["kind"] == plan.RELEASE:
                held.remove(int(op["lock"]))
        assert not held, "a lock is never released"


if __name__ == "__main__":
    fuzz(take)
