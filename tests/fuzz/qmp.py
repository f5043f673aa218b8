# SPDX-License-Identifier: MIT
"""QEMU's answers, which a guest may have taken over: each names threads, or is refused."""

import atheris

with atheris.instrument_imports(include=["overlock_tools"]):
    from overlock_tools.core.system import reading
    from overlock_tools.guest.qmp import threads_of
    from tests.fuzz.hostile import decoded, fuzz


def take(data: bytes) -> None:
    try:
        threads = threads_of(reading.parsed(decoded(data)).get("return"))
    except ValueError:
        return
    assert all(type(thread) is int for thread in threads)


if __name__ == "__main__":
    fuzz(take, documents=True)
