# SPDX-License-Identifier: MIT
"""README's lines, word for word, where nothing was installed before: /usr/local is empty.

They run in a mount namespace of their own, so they leave nothing.
"""

import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.conftest import BUILD, TOP
from tests.processes import HANG_S

README = (TOP / "README.md").read_text()
FRESH = """
mount -t tmpfs none /usr/local
cp -a /etc "$SCRATCH/etc"
mount --bind "$SCRATCH/etc" /etc
rm -f /etc/ld.so.cache
ldconfig
"""
BARE = "export PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"


def line_of(begin: str) -> str:
    """Without the remark behind it."""
    (line,) = re.findall(rf"^    ({re.escape(begin)}.*)$", README, re.MULTILINE)
    return re.sub(r"\s+#.*", "", line)


def program() -> str:
    """The snippet as a program: what is declared, and what main does."""
    found = re.search(r"```c\n(#include .*?\nstatic .*?\n)(.*?)```", README, re.DOTALL)
    assert found
    return f"{found[1]}int main(void)\n{{\n{found[2]}return 0;\n}}\n"


def can_be_bare() -> bool:
    probe = ["unshare", "--mount", "mount", "-t", "tmpfs", "none", "/usr/local"]
    return (
        os.getuid() == 0 and not subprocess.run(probe, capture_output=True, check=False).returncode
    )


@pytest.mark.skipif(not can_be_bare(), reason="no mount namespaces here, or not root")
def test_install_compile_run_and_a_first_profile(tmp_path: Path) -> None:
    (tmp_path / "program.c").write_text(program())
    install = f"{line_of('make install')} BUILD={BUILD} WITH_TESTS=ON"
    run = line_of("overlock run -- ./server").replace("./server --port 8080", "./a.out")
    profile = line_of("overlock run --counters").replace("PROGRAM", "./a.out")
    lines = ["set -ex", FRESH, f"(cd {TOP} && {install})", BARE, "cd $SCRATCH"]
    lines += [line_of("cc program.c"), "./a.out", "overlock --version", run, profile]
    done = subprocess.run(
        ["unshare", "--mount", "setsid", "-w", "bash", "-c", "\n".join(lines)],
        env={**os.environ, "SCRATCH": str(tmp_path), "OVERLOCK_NO_INSTALL": "1"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=HANG_S,
        check=False,
    )
    said = done.stdout + done.stderr
    assert done.returncode == 125, said  # of the last line: counters need Python
    assert "run --counters needs overlock-tools" in said.splitlines()[-1]
    assert "overlock, version " in said
