# SPDX-License-Identifier: MIT
"""README's lines, word for word, on a bare Debian 12: install, compile, run, a first profile."""

import pytest

from tests.lib.install.test_readme import line_of, program
from tests.packaging.bare.debian import Debian, copy_to


@pytest.fixture(scope="module")
def debian(tmp_path_factory: pytest.TempPathFactory) -> Debian:
    """Installed as README says, by a shell in the clone."""
    bare = copy_to(tmp_path_factory.mktemp("bare"))
    bare.take_checkout("src/overlock")
    bare.says(f"cd /src/overlock; {line_of('make install')}")
    (bare.root / "src/program.c").write_text(program())
    return bare


def test_compile_and_run(debian: Debian) -> None:
    debian.says(f"cd /src; {line_of('cc program.c')}; ./a.out")
    run = line_of("overlock run -- ./server").replace("./server --port 8080", "./a.out")
    debian.says(f"cd /src; {run}")


def test_which_locks_it_waits_for(debian: Debian) -> None:
    """Exact, though nobody has installed LLVM."""
    debian.profiles("/src/overlock/.venv/bin/overlock")


def test_a_first_profile(debian: Debian) -> None:
    """The command of the second line of README's Install."""
    debian.says(f"cd /src/overlock; {line_of('python3 -m venv')}")
    debian.says("cd /src; cc overlock/tests/run/programs/guarded.c -pthread -o guarded")
    profile = line_of("overlock run --counters").replace("PROGRAM", "./guarded 4 1000 </dev/null")
    lines = [
        line_of("overlock doctor") + " --verbose --seconds 1",
        profile + " 2>&1",
        "overlock tune -- ls",
    ]
    said = debian.says("; ".join(["cd /src", "PATH=~/overlock/bin:$PATH", *lines]))
    assert "Does preemption hurt process 1?" in said
    assert "acquisitions" in said
    assert "there is nothing to tune" in said
