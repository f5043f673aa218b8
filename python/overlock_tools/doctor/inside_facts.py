# SPDX-License-Identifier: MIT
"""What the threads of a program spend their time on: on locks, and on spinning at none."""

from typing import Any

from overlock_tools.core.system.kernel_files import Unknown
from overlock_tools.doctor.fact import Found, World, fact
from overlock_tools.profile import advice, show

Report = dict[str, Any]

HOW = "overlock profile: samples of its code (BPF, else ptrace), futex() calls"


def _report(w: World) -> Report:
    if not w.inside:
        raise Unknown("the program was not looked into")
    if not w.inside.report:
        raise Unknown(w.inside.why_not or "the look into it failed")
    return w.inside.report


def _sure(w: World) -> Report:
    """One of which no part is in doubt."""
    report = _report(w)
    if report["doubts"]:
        raise Unknown("; ".join(report["doubts"]))
    return report


@fact(
    "spinning",
    "process",
    "spinning",
    how=HOW,
    means="CPU time spent on waiting; it is lost where other threads lack a CPU meanwhile",
)
def spinning(w: World) -> Found:
    report = _report(w)
    ran = report["times"].get("running", 0)
    if not ran:
        raise Unknown("it did not run")
    spins = [lock for lock in report["locks"] if lock["ran_ns"]]
    if not spins:
        _sure(w)
        return Found({"share": 0.0, "burnt": 0.0, "place": ""}, "none")
    most = max(spins, key=lambda lock: int(lock["ran_ns"]))
    share, burnt = min(1.0, report["spun_ns"] / ran), min(1.0, report["burnt_ns"] / ran)
    place = show.lock_name(most)
    return Found(
        {"share": share, "burnt": burnt, "place": place},
        f"{show.share(share, 1)} of its CPU time, most at {place}",
    )


@fact(
    "held_up",
    "process",
    "lost to waits",
    how=HOW,
    means="of its threads' active time: waiting for locks, and what was spun away",
)
def held_up(w: World) -> Found:
    report = _report(w)
    share = report["lost_ns"] / report["wanted_ns"] if report["wanted_ns"] else 0.0
    lock = advice.main_lock(report)
    if not lock:
        _sure(w)
    at = f", most at {show.lock_name(lock)}" if lock else ""
    return Found({"share": share}, f"{show.share(share, 1)}{at}")


@fact("remedy", "process", "remedy", how=HOW, means="what overlock profile advises first")
def remedy(w: World) -> Found:
    found = _report(w)["advice"]
    if not found or not advice.is_worth(found[0]):
        raise Unknown("nothing that it could wait less for was seen")
    return Found([one["do"] for one in found], found[0]["do"])
