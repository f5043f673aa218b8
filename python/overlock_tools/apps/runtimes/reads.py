# SPDX-License-Identifier: MIT
"""What a process looked at to count CPUs: from strace's output, in a few words."""

import re

CALLS = (
    *("open", "openat", "readlink", "readlinkat", "access", "faccessat", "faccessat2"),
    *("stat", "lstat", "newfstatat", "statx", "sched_getaffinity"),
)
_CPU = "/sys/devices/system/cpu/"
# In the table's order. A file that was looked for and is not there counts: another machine has it.
WORDS = {
    "affinity": r"^sched_getaffinity$",
    f"{_CPU}online": rf"^{_CPU}online$",
    f"{_CPU}possible": rf"^{_CPU}(possible|present)$",
    f"{_CPU}cpuN": rf"^{_CPU}(cpu\d+(/|$)|$)|^/sys/devices/system/cpu$",
    "/sys/devices/system/node": r"^/sys/devices/system/node",
    "/proc/cpuinfo": r"^/proc/cpuinfo$",
    "/proc/stat": r"^/proc/stat$",
    "/proc/self/status": r"^/proc/(self|thread-self|\d+)(/task/\d+)?/status$",
    "/proc/self/cgroup": r"^/proc/(self|thread-self|\d+)/cgroup$",
    "cgroup v1": r"/cpu\.(cfs_(quota|period)_us|shares)$",
    "cgroup v2": r"/cpu\.max$",
    "cpuset": r"/cpuset\.(cpus|effective_cpus|cpus\.effective)$",
}
_CALL = re.compile(r"^(?:\d+\s+)?(?P<call>\w+)\((?P<rest>.*)")
_PATH = re.compile(r'"((?:[^"\\]|\\.)*)"')


def looked_at(line: str) -> str | None:
    """The path, or `sched_getaffinity`; None of a signal, an exit, or the end of a call."""
    found = _CALL.match(line)
    if not found or found["call"] not in CALLS:
        return None
    if found["call"] == "sched_getaffinity":
        return found["call"]
    path = _PATH.search(found["rest"])
    return path[1] if path else None


def words(text: str) -> list[str]:
    """`text` is the output of strace -f."""
    seen = {path for line in text.splitlines() if (path := looked_at(line))}
    return [word for word, rule in WORDS.items() if any(re.search(rule, path) for path in seen)]
