# SPDX-License-Identifier: MIT
"""Who may read and write the files of a program under `overlock run`; which links are followed."""

import os
import sys
from pathlib import Path

import pytest

from overlock_tools.core.system import native
from tests.run.conftest import environment, installed, output, run

HOW = {"counters": "--output", "check": "--output", "record": "--record"}
# What the program sees of the folder in which it is counted or recorded.
LOOKS = """
import os
for variable in {"OVERLOCK_LIVE", "OVERLOCK_RECORD"} & set(os.environ):
    folder = os.environ[variable]
    files = [os.path.join(folder, name) for name in os.listdir(folder)]
    print(*(f"{os.stat(path).st_mode & 0o777:o}" for path in (folder, *files)))
"""


@pytest.mark.parametrize("umask", ["000", "002", "022", "077"])
@pytest.mark.parametrize("how", HOW)
def test_no_file_is_for_all_to_write_to(tmp_path: Path, how: str, umask: str) -> None:
    """What lasts has the modes of the umask, less what is for all; what does not is private."""
    out = tmp_path / "out"
    flags = {"counters": ["--counters"], "check": ["--check"], "record": []}[how]
    options: list[str | Path] = ["run", *flags, HOW[how], out, "--", sys.executable, "-c", LOOKS]
    shell = ["sh", "-c", f'umask {umask}; exec "$@"', "sh"]
    done = run(
        [*shell, installed(), *options], environment(None, OVERLOCK_NATIVE=str(native.folder()))
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == ("" if how == "check" else "700 600\n")
    assert out.stat().st_mode & 0o777 == 0o664 & ~int(umask, 8)


def test_no_link_is_followed_to_another_file(tmp_path: Path) -> None:
    """In a folder such as /tmp somebody may have put one where a report will be."""
    out, other = tmp_path / "out", tmp_path / "other"
    other.write_text("other")
    out.symlink_to(other)
    library = native.file("liboverlock-run-counted.so")
    env = environment("tas_yield", library, OVERLOCK_OUTPUT=str(out))
    output([sys.executable, "-c", "pass"], env)
    assert other.read_text() == "other"
    assert not out.is_symlink()
    assert out.read_text().startswith("{")
    assert sorted(os.listdir(tmp_path)) == ["other", "out"]
