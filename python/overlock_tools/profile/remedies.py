# SPDX-License-Identifier: MIT
"""Settings of runtimes whose threads spin: by the file that the loop is in."""

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Remedy:
    objects: re.Pattern[str]
    threads: str  # the variable with their number; empty: there is none
    setting: str = ""  # by which they sleep instead
    words: str = ""  # where that is no variable
    costs: str = ""


SLEEPS_AT_ONCE = "slower where each thread has a CPU: there it spins for less time than a wake-up"
# docs/results/spins.md has what these gain, and where they cost.
REMEDIES = (
    Remedy(re.compile("gomp"), "OMP_NUM_THREADS", "OMP_WAIT_POLICY=passive", costs=SLEEPS_AT_ONCE),
    # Its threads yield by themselves while they outnumber CPUs: sleeping at once was slower.
    Remedy(re.compile("omp5?[.]"), "OMP_NUM_THREADS"),
    Remedy(re.compile("openblas"), "OPENBLAS_NUM_THREADS", "OPENBLAS_THREAD_TIMEOUT=4"),
    Remedy(re.compile("blis"), "BLIS_NUM_THREADS"),
    Remedy(re.compile("mkl"), "MKL_NUM_THREADS"),
    Remedy(
        re.compile("onnxruntime"),
        "",
        words="set the session's option session.intra_op.allow_spinning to 0",
    ),
    Remedy(re.compile("redis-"), "", words="set io-threads to less"),
    Remedy(
        re.compile(r"libmpi"),
        "",
        words="start no more ranks than there are CPUs for them: between their polls they yield",
    ),
)


def of(objects: str) -> Remedy | None:
    return next((one for one in REMEDIES if one.objects.search(objects)), None)
