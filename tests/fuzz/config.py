# SPDX-License-Identifier: MIT
"""The file of `overlock run --config`: choices that can be written and read again, or a refusal."""

import tempfile
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["overlock_tools"]):
    from overlock_tools.run import config
    from tests.fuzz.hostile import fuzz, is_refused

FOLDER = Path(tempfile.mkdtemp(prefix="overlock-fuzz-"))


def take(data: bytes) -> None:
    given, again = FOLDER / "given.toml", FOLDER / "again.toml"
    given.write_bytes(data)
    if is_refused(lambda: config.from_file(given)):
        return
    choices = config.from_file(given)
    again.write_text(config.to_text(choices, "a comment"))
    assert config.from_file(again) == choices, "what is written is not what was read"
    for rule in config.variables(choices.sites).get("OVERLOCK_SITES", "").splitlines():
        assert rule.count(" "), "a rule has no pattern"


if __name__ == "__main__":
    fuzz(take)
