# SPDX-License-Identifier: MIT
"""What to do, and what it is likely to bring.

Of a lock whose waiters sleep: the work is fixed. The run lasted T. During Q of it somebody waited
while the thread that they waited for was kept off its work by the cause in question. Without that
cause the run lasts T - Q, but not less than the CPU time that the threads used, divided by the CPUs
that they get. If threads of the program always wait for a CPU, it gets no more than it had: others
have the rest. So nothing is predicted for programs that use all CPU time that they get, and the
prediction is an upper bound where other locks, or I/O of other threads, come next.

Of a lock whose waiters spin or yield: the CPU time that they use up goes to work. What they cost
the holder, whose cache lines they take and before whom they run, is not in that: the gain may be
more.
"""

from typing import Any

from overlock_tools.profile import causes, kinds

Report = dict[str, Any]

LEAST = 0.05  # of the threads' time; less is no trouble
MOST = 100.0  # times as fast: more is not believed
GAIN = 1.05  # a prediction below that is none
OF_THE_LOCK = ("holder_running", "release_yields")  # causes that lie in what lock it is
WORTH = 0.15  # of a lock's waits, a cause that is worth advice


def usable_cpus(report: Report) -> float:
    return float(min(report["cpus"], report.get("quota") or report["cpus"]))


def gets_cpus(report: Report) -> float:
    """As many as it had, as far as its threads waited for more; else those that it may use."""
    ran, ready = (
        report["times"].get(state, 0) / report["ns"] for state in ("running", "preempted")
    )
    full = min(1.0, ready)
    return float(max(ran, full * ran + (1 - full) * usable_cpus(report)))


def wanting(report: Report) -> float:
    """Threads that are able to run, or would be but for a lock, on average."""
    return float(report["wanted_ns"] / report["ns"]) if report["ns"] else 0.0


def main_lock(report: Report) -> Report | None:
    """The one with the longest waits, if it matters."""
    locks = [lock for lock in report["locks"] if lock["is_lock"]]
    spins = report["spun_ns"] > LEAST * report["times"].get("running", 0)
    if not locks or (report["lost_ns"] < LEAST * report["wanted_ns"] and not spins):
        return None
    found: Report = max(locks, key=lambda lock: lock["wait_ns"])
    return found


def main_cause(lock: Report) -> tuple[str, int]:
    return max(lock["split"].items(), key=lambda item: item[1], default=("unknown", 0))


def predicted(report: Report, lock: Report, names: tuple[str, ...]) -> float:
    """How many times as fast, at the most."""
    if lock["ran_ns"]:
        return _without_spinning(report, lock, names)
    whole = report["ns"]
    off = min(whole, sum(lock["wall"].get(name, 0) for name in names))
    ran = report["times"].get("running", 0)
    least = ran / gets_cpus(report) if ran else 0
    return float(whole / max(whole - off, least, 1)) if whole > least else 1.0


def _without_spinning(report: Report, lock: Report, names: tuple[str, ...]) -> float:
    """The CPU time that waiters use up is for work then."""
    share = sum(lock["split"].get(name, 0) for name in names) / sum(lock["split"].values())
    ran = report["times"].get("running", 0)
    least = ran - share * lock["ran_ns"]
    return float(min(ran / max(least, 1), MOST))


def takers(lock: Report, cause: str) -> list[Report]:
    return [who for who in lock["who"] if who["cause"] == cause]


def _openmp(report: Report) -> list[str]:
    return ["env", f"OMP_NUM_THREADS={max(1, round(usable_cpus(report)))}"]


def _fewer_threads(report: Report) -> str:
    n = max(1, round(usable_cpus(report)))
    return f"run it with {n} thread{'s' if n > 1 else ''}, as many as it has CPUs"


def _for_preempted(report: Report, lock: Report, cause: str) -> tuple[str, list[str]]:
    found = takers(lock, cause)
    all_ns = sum(who["ns"] for who in found)
    own = sum(who["ns"] for who in found if who["sibling"])
    if own >= all_ns / 2:
        return _fewer_threads(report), _openmp(report) if report.get("openmp") else []
    others = list(dict.fromkeys(who["taker"] for who in found if not who["sibling"]))[:2]
    names = " and ".join(f"`{name}`" for name in others) or "other programs"
    return f"keep {names} off its CPUs, or give the program a better priority", [
        "nice",
        "-n",
        "-10",
    ]


def _for_call(lock: Report, cause: str, otherwise: str) -> str:
    called = [who["call"] for who in takers(lock, cause) if who["call"]]
    return f"do the {called[0]}() outside of the lock" if called else otherwise


def _for_work(lock: Report) -> str:
    """A lesser cause is told by its share, for the finding is another."""
    words = "shorten the critical section, or split the lock: its holder works"
    cause, split = "holder_running", lock["split"]
    if main_cause(lock)[0] == cause:
        return words
    percent = round(100 * split.get(cause, 0) / (sum(split.values()) or 1))
    return f"{words} during {percent} % of the waits"


def _for_spinning(report: Report, lock: Report) -> tuple[str, list[str]]:
    if report.get("openmp"):
        return _fewer_threads(report), _openmp(report)
    is_posix = "spin_lock" in (lock["site"]["function"] or "")
    command = ["overlock", "run", "--"] if is_posix else []
    return f"use a lock whose waiters sleep, or {_fewer_threads(report)}", command


def lacks_cpus(report: Report) -> bool:
    """Its threads outnumber its CPUs, or others use these, too."""
    without = sum(report["times"].get(state, 0) for state in ("preempted", "throttled"))
    return bool(without >= LEAST * report["wanted_ns"])


def _by_yields(report: Report, lock: Report) -> list[Report]:
    """What changes neither the program nor its threads: waiters give their CPU to the holder."""
    loops = [loop for loop in lock["loops"] if not loop["is_fixed"]]
    if not lacks_cpus(report) or not loops:
        return []
    named = [loop["name"] for loop in loops if not loop["is_patched"]]
    option = "--spins=" + ",".join(["auto", *named]) if named else "--spins"
    return [
        {
            "cause": main_cause(lock)[0],
            "do": "let its waiters yield, with the program as it is: "
            f"`overlock run {option} -- {report['program']}`",
            "command": ["overlock", "run", option, "--"],
            "predicted": None,
            "upper_bound": False,
        }
    ]


def _one(report: Report, lock: Report, cause: str) -> tuple[str, list[str]]:
    """In words, and what to put before the program's command line."""
    if cause in OF_THE_LOCK and (found := kinds.ADVICE.get(lock["kind"])):
        return found[0], list(found[1])
    if lock["ran_ns"]:
        return _for_spinning(report, lock)
    if cause in ("holder_preempted", "next_preempted"):
        return _for_preempted(report, lock, cause)
    by_cause = {
        "holder_throttled": "raise the CPU quota, or " + _fewer_threads(report),
        "holder_io": _for_call(lock, cause, "do the I/O outside of the lock"),
        "holder_fault": "touch, or lock, the memory before the lock is taken",
        "holder_asleep": _for_call(lock, cause, "do not sleep with the lock held"),
        "holder_lock": "look at the lock that its holder waits for",
        "holder_running": _for_work(lock),
        "wake_up": "let threads keep what they work on for longer: each hand-over wakes a thread",
    }
    return by_cause.get(cause, ""), []


def of(report: Report) -> list[Report]:
    """For the lock that costs the most, by what is behind its waits, the greatest first."""
    lock = main_lock(report)
    if not lock:
        return []
    found = []
    total = sum(lock["split"].values()) or 1
    for cause, ns in sorted(lock["split"].items(), key=lambda item: -item[1]):
        if ns < WORTH * total or cause == "unknown":
            continue
        words, command = _one(report, lock, cause)
        gain = predicted(report, lock, (cause,)) if causes.BY_NAME[cause].off else None
        found.append(
            {
                "cause": cause,
                "do": words,
                "command": command,
                "predicted": gain,
                "upper_bound": not lock["ran_ns"],
            }
        )
    return sorted(found + _by_yields(report, lock), key=lambda one: not is_worth(one))


def is_worth(one: Report) -> bool:
    """What the model cannot say may be."""
    return one["predicted"] is None or one["predicted"] >= GAIN
