# SPDX-License-Identifier: MIT
"""The kernel's checkpatch judges each patch of the series, as its maintainers would.

It comes with Debian's linux-source-6.1, or from the unpacked kernel in KERNEL_SOURCE.
"""

import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.conftest import BUILD, TOP

PACKED = Path("/usr/src/linux-source-6.1.tar.xz")
NEEDED = ("checkpatch.pl", "spelling.txt", "const_structs.checkpatch")

# The headers are one text for user space, C++, a model checker and a kernel.
OF_HEADERS = {
    "FILE_PATH_CHANGES",  # new files; the last patch has them in MAINTAINERS
    "PREFER_KERNEL_TYPES",
    "UNSPECIFIED_INT",
    "NEW_TYPEDEFS",
    "LONG_LINE_COMMENT",  # pictures of words and orders
    "TYPO_SPELLING",  # a paper's word: preemptable
    "PREFER_DEFINED_ATTRIBUTE_MACRO",
    "MULTIPLE_ASSIGNMENTS",
    "LONG_LINE",  # messages of #error
}
# Lists that expand to what their reader wants.
OF_LISTS = {"COMPLEX_MACRO", "TRAILING_SEMICOLON", "MACRO_ARG_REUSE", "MACRO_ARG_PRECEDENCE"}
# What `checkpatch --strict` may say of each patch, by its subject; of others nothing.
EXEMPT = {
    "Add the interface": OF_HEADERS | OF_LISTS | {"LINE_SPACING"},  # node.h: a list of members
    # linux.h calls the kernel's own barriers; the locks say [A], [R].
    "Add the platform layer": OF_HEADERS | OF_LISTS | {"MEMORY_BARRIER"},
    "Add locks without": OF_HEADERS,
    "Add ticket locks": OF_HEADERS,
    "Add queued locks": OF_HEADERS,
    "Add locks whose waiters park": OF_HEADERS,
    "Add locks that know": OF_HEADERS,
    "Add ids": OF_HEADERS | OF_LISTS | {"SPACING"},  # or_fail.h: ol_##id##_t *l is no product
    # Labels within inline assembly; __has_include(<a/b.h>) is no division.
    "Add parking": {"FILE_PATH_CHANGES", "AVOID_EXTERNS", "SPACING"},
    # A number of leases, and looked at at least once.
    "Add ways to wait": OF_HEADERS | {"BIT_MACRO", "UNNECESSARY_ELSE", "REPEATED_WORD"},
    "Add what the hypervisor": OF_HEADERS,
    "Add counters": {"FILE_PATH_CHANGES"},
    "Add two broken locks": {"FILE_PATH_CHANGES", "PREFER_KERNEL_TYPES", "NEW_TYPEDEFS"},
    "Add the choice": OF_LISTS | {"FILE_PATH_CHANGES", "TYPO_SPELLING"},
}
SINCE = {"MACRO_ARG_UNUSED"}  # what newer kernels' also says of lists


@pytest.fixture(scope="module")
def scripts() -> Path:
    """The folder of checkpatch.pl."""
    if given := os.environ.get("KERNEL_SOURCE"):
        return Path(given) / "scripts"
    folder = BUILD / "checkpatch"
    if not all((folder / "scripts" / name).exists() for name in NEEDED):
        folder.mkdir(parents=True, exist_ok=True)
        members = [f"linux-source-6.1/scripts/{name}" for name in NEEDED]
        command = ["tar", "-xf", str(PACKED), "-C", str(folder), "--strip-components=1", *members]
        subprocess.run(command, check=True)
    return folder / "scripts"


@pytest.fixture(scope="module")
def mails(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("mails")
    who = {"GIT_AUTHOR_NAME": "A", "GIT_AUTHOR_EMAIL": "a@b.example"}
    command = [TOP / "guest/series", folder]
    done = subprocess.run(
        command, capture_output=True, text=True, check=True, env={**os.environ, **who}
    )
    return [Path(name) for name in done.stdout.split()]


def said(scripts: Path, mail: Path) -> set[str]:
    """The kinds of its complaints."""
    command = ["perl", str(scripts / "checkpatch.pl"), "--strict", "--no-tree", "--show-types"]
    command += [f"--root={scripts.parent}", str(mail)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "lines checked" in done.stdout, done.stderr
    return set(re.findall(r"^(?:ERROR|WARNING|CHECK):(\w+)", done.stdout, re.M)) - SINCE


def test_it_has_only_exempted_complaints(scripts: Path, mails: list[Path]) -> None:
    used: dict[str, set[str]] = {}
    for mail in mails:
        subject = re.findall(r"^Subject: \[.*?\] [\w/]+: (.*)$", mail.read_text(), re.M)[0]
        name = next((start for start in EXEMPT if subject.startswith(start)), subject)
        used[name] = said(scripts, mail)
        assert used[name] <= EXEMPT.get(name, set()), subject
    everywhere = set().union(*used.values())
    assert set().union(*EXEMPT.values()) == everywhere, "an exemption that nothing needs"
    assert used.keys() >= EXEMPT.keys()


def test_it_complains_where_there_is_reason(
    scripts: Path, mails: list[Path], tmp_path: Path
) -> None:
    """A blank at a line's end, where nothing is exempted."""
    mail = next(m for m in mails if "Let-the-boot-choose" in m.name)
    text, line = mail.read_text(), "+#include <asm/overlock.h>"
    assert text.count(f"{line}\n") == 1
    wrong = tmp_path / mail.name
    wrong.write_text(text.replace(line, f"{line} "))
    assert said(scripts, wrong) == {"TRAILING_WHITESPACE"}
