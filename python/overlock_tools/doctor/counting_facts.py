# SPDX-License-Identifier: MIT
"""How the runtimes that a program has loaded count CPUs.

Measured: docs/results/cpu_counts.md has each with its versions; `tools/cpu_counts.py` asks them.
"""

import re
from dataclasses import dataclass

from overlock_tools.core.system.kernel_files import Unknown
from overlock_tools.doctor.fact import Found, World, fact
from overlock_tools.doctor.process_facts import GNU, INTEL, LLVM, mapped


@dataclass(frozen=True)
class Runtime:
    """Told by a file that is mapped."""

    pattern: str
    name: str
    id: str  # in docs/measured/cpu_counts.json, the oldest version that was asked
    heeds_quotas: bool | None  # None: it depends on the version
    heeds_masks: bool = True


RUNTIMES = (
    Runtime(r"libgomp(-\w+)?\.so", GNU, "libgomp", False),
    Runtime(r"libomp(-\w+)?\.so", LLVM, "libomp", False),
    Runtime(r"libiomp5(-\w+)?\.so", INTEL, "libiomp5", False),
    Runtime(r"libtbb\.so", "oneTBB", "tbb-2022.1.0", None),
    Runtime(r"lib(\w*)openblas", "OpenBLAS", "openblas", False),
    Runtime(r"libmkl_(rt|core)", "MKL", "mkl", False),
    Runtime(r"libjvm\.so", "a Java VM", "jvm-debian", True),
    Runtime(r"libcoreclr\.so", ".NET", "dotnet", True),
    Runtime(r"node$", "Node.js", "node-18", False),
    Runtime(r"beam\.smp$", "Erlang", "erlang", False),
    Runtime(r"(libpython3|python3(\.\d+)?$)", "Python", "cpython", False, heeds_masks=False),
    Runtime(r"(libruby|ruby$)", "Ruby", "ruby", False),
)


def runtimes(w: World) -> list[Runtime]:
    files = mapped(w)
    return [one for one in RUNTIMES if any(re.match(one.pattern, file) for file in files)]


def _words(one: Runtime) -> str:
    if not one.heeds_masks:
        return f"{one.name} counts the machine's CPUs"
    if one.heeds_quotas is None:
        return f"{one.name} heeds its CPU mask, and quotas by its version"
    return f"{one.name} heeds its CPU mask{', and quotas' if one.heeds_quotas else ', no quotas'}"


@fact(
    "counting",
    "process",
    "how it counts CPUs",
    how="names of mapped files in /proc/PID/maps; how each runtime counts was measured",
    means="without a number from its user, a program mostly starts as many threads; other versions "
    "may count otherwise; not visible: Go, Rust, and what the program counts by itself",
)
def counting(w: World) -> Found:
    found = runtimes(w)
    if not found:
        raise Unknown("it has loaded no runtime of which that is known")
    names = [one.name for one in found]
    miscounts = any(one.heeds_quotas is False for one in found)
    return Found({"names": names, "miscounts": miscounts}, "; ".join(map(_words, found)))
