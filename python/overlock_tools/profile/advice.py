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

import math
from typing import Any

from overlock_tools.profile import causes, kinds, remedies
from overlock_tools.profile.remedies import Remedy

Report = dict[str, Any]

LEAST = 0.05  # of the threads' time; less is no trouble
MOST = 50.0  # times as fast: the work that is left is within the samples' error
GAIN = 1.05  # a prediction below that is none
OF_THE_LOCK = ("holder_running", "release_yields")  # causes that lie in what lock it is
OURS = "overlock-profil"  # as the kernel cuts its name: it ends with the profile
WORTH = 0.15  # of a lock's waits, a cause that is worth advice


def usable_cpus(report: Report) -> float:
    cpus = report["cpus"]
    return float(min(cpus, report.get("allowed") or cpus, report.get("quota") or cpus))


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


def counts(lock: Report) -> bool:
    """Whether its waits may be a loss."""
    return bool(lock["is_lock"] or lock.get("spins"))  # older reports have none


def lost(lock: Report) -> int:
    """Of its waits. Who spins on no lock costs nothing while nobody of the program lacks a CPU."""
    kept = lock["split"].get("others_running", 0) if lock.get("spins") else 0
    return lock["wait_ns"] - kept if counts(lock) else 0


def main_lock(report: Report) -> Report | None:
    """The one with the greatest loss, if it matters."""
    spins = report["burnt_ns"] > LEAST * report["times"].get("running", 0)
    if report["lost_ns"] < LEAST * report["wanted_ns"] and not spins:
        return None
    found = max(report["locks"], key=lost, default=None)
    return found if found and lost(found) else None


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
    share = sum(lock["split"].get(name, 0) for name in names) / (sum(lock["split"].values()) or 1)
    ran = report["times"].get("running", 0)
    least = ran - share * lock["ran_ns"]
    return float(min(ran / max(least, 1), MOST))


def takers(lock: Report, cause: str) -> list[Report]:
    return [who for who in lock["who"] if who["cause"] == cause]


def _fitting(report: Report) -> int:
    """Threads."""
    return max(1, round(usable_cpus(report)))


def _openmp(report: Report) -> list[str]:
    return ["env", f"OMP_NUM_THREADS={_fitting(report)}"]


def _fewer_threads(report: Report) -> str:
    n = _fitting(report)
    return f"run it with {n} thread{'s' if n > 1 else ''}, as many as it has CPUs"


def _for_preempted(report: Report, lock: Report, cause: str) -> tuple[str, list[str]]:
    found = takers(lock, cause)
    all_ns = sum(who["ns"] for who in found)
    own = sum(who["ns"] for who in found if who["sibling"])
    if own >= all_ns / 2:
        return _fewer_threads(report), _openmp(report) if report.get("openmp") else []
    takers_of = (who["taker"] for who in found if not who["sibling"])
    others = list(dict.fromkeys(name for name in takers_of if not name.startswith(OURS)))[:2]
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


def _remedy(lock: Report) -> Remedy | None:
    places = [*(loop["name"] for loop in lock["loops"]), lock["site"]["function"] or ""]
    return next((one for place in places if (one := remedies.of(place))), None)


def _advice(cause: str, do: str, command: list[str], gain: float | None) -> Report:
    return {"cause": cause, "do": do, "command": command, "predicted": gain, "upper_bound": False}


def _for_no_lock(report: Report, lock: Report) -> list[Report]:
    """Of threads that spin while others lack CPUs: the runtime's own setting first."""
    cause = main_cause(lock)[0]
    ran = report["times"].get("running", 0)
    gain = float(min(ran / max(ran - report["burnt_ns"], 1), MOST))  # of all that it spins at
    own = _remedy(lock)
    found = _by_fit(report, gain)
    if own and own.setting:
        costs = f" ({own.costs})" if own.costs else ""
        found.append(_advice(cause, f"set {own.setting}{costs}", ["env", own.setting], gain))
    elif own and own.words:
        found.append(_advice(cause, own.words, [], gain))
    found += _by_yields(report, lock)
    if own and own.words:
        return found
    fewer = ["env", f"{own.threads}={_fitting(report)}"] if own and own.threads else []
    return [*found, _advice(cause, _fewer_threads(report), fewer, gain)]


def counted_too_many(report: Report) -> bool:
    """It has as many threads with work as the CPUs that it may be on; its quota pays for fewer."""
    allowed = report.get("allowed") or report["cpus"]
    pays = math.ceil(report.get("quota") or allowed)
    return lacks_cpus(report) and pays < allowed and round(wanting(report)) == allowed


def _by_fit(report: Report, gain: float | None = None) -> list[Report]:
    """Where it seems to have counted its threads' CPUs by itself."""
    if not counted_too_many(report):
        return []
    words = (
        "tell it how many CPUs its quota pays for, if it counts them by itself: "
        f"`overlock run --fit -- {report['program']}`"
    )
    return [_advice("quota_spent", words, ["overlock", "run", "--fit", "--"], gain)]


def _by_yields(report: Report, lock: Report) -> list[Report]:
    """What changes neither the program nor its threads: waiters give their CPU to the holder."""
    loops = [loop for loop in lock["loops"] if not loop["is_fixed"]]
    if not lacks_cpus(report) or not loops:
        return []
    named = [loop["name"] for loop in loops if not loop["is_patched"]]
    option = "--spins=" + ",".join(["auto", *named]) if named else "--spins"
    words = (
        "let its waiters yield, with the program as it is: "
        f"`overlock run {option} -- {report['program']}`"
    )
    return [_advice(main_cause(lock)[0], words, ["overlock", "run", option, "--"], None)]


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
        return _by_fit(report)
    if lock["spins"]:
        return _for_no_lock(report, lock)
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
    found += _by_fit(report) + _by_yields(report, lock)
    return sorted(found, key=lambda one: not is_worth(one))


def is_worth(one: Report) -> bool:
    """What the model cannot say may be."""
    return one["predicted"] is None or one["predicted"] >= GAIN


def costs_no_throughput(report: Report) -> bool:
    """Its waits may delay one thread; the program's others have the CPU meanwhile."""
    found = report["advice"]
    return bool(found) and not is_worth(found[0])
