# SPDX-License-Identifier: MIT
"""Names of calls as llvm-symbolizer prints them, and files' names in a program's map of memory."""

from pathlib import Path

import atheris

with atheris.instrument_imports(include=["overlock_tools"]):
    from overlock_tools.core.system import symbols
    from overlock_tools.run import live, stacks
    from tests.fuzz.hostile import decoded, fuzz, is_plain


def take(data: bytes) -> None:
    text = decoded(data)
    for calls in symbols.named(text).values():
        for call in calls:
            assert is_plain(f"{call.function} {call.file}"), "a name tells a terminal something"
            assert isinstance(call.where, str)
            assert stacks.without_parameters(call.function or "") is not None
    name = data.replace(b"\n", b"\\012")  # as Linux writes it
    for *_, path in live.mappings(b"7f00-7f10 r-xp 00001000 08:01 99    /" + name + b"\n"):
        assert is_plain(Path(path).name), "a file's name tells a terminal something"


if __name__ == "__main__":
    fuzz(take, documents=True)
