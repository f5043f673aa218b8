# SPDX-License-Identifier: MIT
"""The words that follow from counts, and from what strace says; mutants of both."""

from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

import pytest

from overlock_tools.apps.runtimes import reads, verdicts
from tests.mutant import changed

UNMOVED, UP, DOWN, NEAREST = [8] * 5, [1, 1, 2, 2, 3], [1, 1, 1, 1, 2], [1, 1, 1, 2, 3]
TWO = [2, 2, 2, 2, 3]
GROUP = ["/proc/self/cgroup", "cgroup v1"]


def counts(
    free: int = 8,
    mask: int | None = 1,
    quotas: Sequence[int] = UNMOVED,
    contained: Sequence[int] = (),
    **others: int,
) -> dict[str, int]:
    told = {"free": free} | ({} if mask is None else {"mask": mask})
    for kind, numbers in (("quota", quotas), ("container", contained)):
        told |= dict(
            zip((f"{kind}-{q}" for q in ("0.5", "1", "1.25", "1.5", "2.5")), numbers, strict=False)
        )
    return told | {name.replace("_", "-"): n for name, n in others.items()}


EITHER = "rounds quotas up or rounds quotas down or rounds quotas to the nearest"
NEVER = "ignores masks; ignores quotas"
CASES = [
    (counts(mask=8), [], NEVER),
    (counts(), ["affinity"], "ignores quotas"),
    (counts(), ["affinity", *GROUP], "looks for quotas, but none changes it"),
    (counts(mask=3), [], "counts 3 under a mask of 1; ignores quotas"),
    (counts(mask=None, quotas=()), [], ""),
    (counts(free=1), GROUP, ""),  # one CPU tells nothing
    (counts(quotas=DOWN), GROUP, "rounds quotas down"),
    (counts(quotas=[1, 1, 2, 2, 2]), GROUP, "has a way of its own with quotas"),
    (counts(quotas=TWO), GROUP, "rounds quotas up, at least to 2"),
    (counts(free=2, quotas=[2] * 5), GROUP, "looks for quotas, but none changes it"),
    (counts(quotas=UP), GROUP, "rounds quotas up"),
    (counts(quotas=NEAREST), GROUP, "rounds quotas to the nearest"),
    (counts(quotas=UP[:2]), GROUP, EITHER),
    (counts(quotas=UNMOVED, contained=DOWN), [], "rounds quotas down, in containers only"),
    (counts(quotas=DOWN, contained=DOWN), [], "rounds quotas down"),
    (counts(free=2, quotas=[1, 1, 1, 1, 2]), GROUP, "rounds quotas down"),  # bounded by the CPUs
    (
        counts(free=2, quotas=UP),
        GROUP,
        "rounds quotas up, beyond the CPUs",
    ),
    (counts(quotas=DOWN, nested=8), [], "rounds quotas down; misses a parent's quota"),
    (counts(quotas=DOWN, nested=1), [], "rounds quotas down"),
    (counts(nested=8), [], "ignores quotas"),
    (counts(mask_later=1), [], "ignores quotas; counts again"),
    (counts(mask_later=8), [], "ignores quotas; counts once"),
    (counts(mask=8, mask_later=8), [], NEVER),
    (counts(quotas=DOWN, mask_later=1, quota_later=1), [], "rounds quotas down; counts again"),
    (counts(quotas=DOWN, mask_later=8, quota_later=8), [], "rounds quotas down; counts once"),
    (
        counts(quotas=DOWN, mask_later=1, quota_later=8),
        [],
        "rounds quotas down; counts masks again",
    ),
    (
        counts(quotas=DOWN, mask_later=8, quota_later=1),
        [],
        "rounds quotas down; counts quotas again",
    ),
]


def unlike(module: ModuleType) -> list[str]:
    return [words for told, read, words in CASES if module.words(told, read) != words]


def broken(module: ModuleType, *edits: tuple[str, str]) -> ModuleType:
    assert module.__file__
    made = ModuleType(module.__name__)
    text = changed(Path(module.__file__).read_text(), *edits, name="mutant.py")
    exec(text, made.__dict__)  # noqa: S102
    return made


def test_words_follow_from_counts() -> None:
    assert unlike(verdicts) == []


@pytest.mark.parametrize(
    "edit",
    [
        ('"rounds quotas up": math.ceil', '"rounds quotas up": math.floor'),
        ('"rounds quotas down": math.floor', '"rounds quotas down": math.ceil'),
        ("math.floor(quota + 0.5)", "math.floor(quota + 0.2)"),
        ("max(math.ceil(quota), 2)", "max(math.floor(quota), 2)"),
        ("max(way(quota), 1)", "way(quota)"),
        ("min(least, most)", "least"),
        ("rounding(told, None) or", ""),
        ("told = contained or plain", "told = plain"),
        ("if contained and set", "if False and set"),
        ('"ignores masks" if masked == free', '"ignores masks" if masked != free'),
        ("for word in GROUPS", "for word in ()"),
        ("limited == free", "False"),
        ("nested == free", "True"),
        ("counts[first] != counts[situations.FREE]", "True"),
        ("counts[then] == counts[first]", "True"),
        ("not any(again.values())", "True"),
        ("if all(again.values())", "if any(again.values())"),
        ("free < 2 or not told", "not told"),
    ],
    ids=lambda edit: edit[0],
)
def test_a_wrong_rule_gives_other_words(edit: tuple[str, str]) -> None:
    assert unlike(broken(verdicts, edit))


TRACE = """\
12 openat(AT_FDCWD, "/etc/ld.so.cache", O_RDONLY|O_CLOEXEC) = 3
12 sched_getaffinity(0, 128, [0 1])     = 8
13 openat(AT_FDCWD, "/sys/devices/system/cpu/online", O_RDONLY|O_CLOEXEC <unfinished ...>
13 <... openat resumed>)                = 3
13 readlink("/sys/devices/system/cpu/cpu1/cache", 0x7ffd, 1023) = -1 EINVAL (Invalid argument)
13 --- SIGCHLD {si_signo=SIGCHLD, si_code=CLD_EXITED, si_pid=14, si_status=0} ---
openat(AT_FDCWD, "/proc/self/cgroup", O_RDONLY) = 3
12 open("/sys/fs/cgroup/cpu/a \\"b\\"/cpu.cfs_quota_us", O_RDONLY) = 3
12 openat(AT_FDCWD, "/sys/fs/cgroup/a/cpu.max", O_RDONLY) = -1 ENOENT (No such file or directory)
12 openat(AT_FDCWD, "/home/proc/stat", O_RDONLY) = 3
12 write(1, "/proc/cpuinfo", 13) = 13
12 newfstatat(AT_FDCWD, "/proc/13/task/13/status", {st_mode=S_IFREG|0444, ...}, 0) = 0
12 +++ exited with 0 +++
"""
READ = [
    *("affinity", "/sys/devices/system/cpu/online", "/sys/devices/system/cpu/cpuN"),
    *("/proc/self/status", "/proc/self/cgroup", "cgroup v1", "cgroup v2"),
]


def misread(module: ModuleType) -> list[str]:
    """Of the whole trace, or of a line of it."""
    told = [line for line in TRACE.splitlines() if module.words(line)]
    each = {word for line in told for word in module.words(line)}
    right = module.words(TRACE) == READ and len(told) == len(READ) and each == set(READ)
    return [] if right else told


def test_strace_s_output_becomes_words() -> None:
    assert misread(reads) == []
    assert reads.words("") == []


@pytest.mark.parametrize(
    "edit",
    [
        ('found["call"] not in CALLS', "False"),
        (r'r"^/proc/stat$"', r'r"/proc/stat$"'),
        (r'r"/cpu\.max$"', r'r"/cpu\.cfs_quota_us$"'),
        (r"(?:\d+\s+)?", r"\d+\s+"),
        (r'"((?:[^"\\]|\\.)*)"', r'"([^"]*)"'),
        (r'r"^sched_getaffinity$"', 'r"^getcpu$"'),
    ],
    ids=lambda edit: edit[0],
)
def test_a_wrong_rule_reads_other_words(edit: tuple[str, str]) -> None:
    assert reads.__file__
    text = Path(reads.__file__).read_text()
    assert text.count(edit[0]) == 1
    made = ModuleType("mutant")
    exec(text.replace(*edit), made.__dict__)  # noqa: S102
    assert misread(made)
