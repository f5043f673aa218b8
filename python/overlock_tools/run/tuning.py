# SPDX-License-Identifier: MIT
"""What a program's own sections say about tau, csd, spin and the lock: `overlock tune`.

It reads the report of the counted library with histograms. A bucket of those reaches up to where
the next begins, two per power of two: what is read from them is right within a factor of 1.5.
"""

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from overlock_tools.core.model import advice as recommended
from overlock_tools.core.model import defs
from overlock_tools.core.model.quantities import duration
from overlock_tools.core.system.symbols import Call
from overlock_tools.run import config, trying

# Teabe et al. 2017, 4.1 and Figure 3: 2^12 and 2^14 cycles, on CPUs of 2.67 GHz; both are bounds
# of buckets.
SHORT_NS = {"2^12 cycles": 1536, "2^14 cycles": 6144}
# Of the preset of tau, 400 ns, what is not the section of 70 ns that it was measured with.
HANDOVER_NS = 330
LONG_NS = 20_000  # "tens of microseconds": docs/choosing.md
CONTENDED = "mutex-threads"  # the situation of advice.toml
RARE = 0.01  # of the acquisitions: what waits less often is not worth a lock
PLACES = (0, 1, 2, 3, 4, 8, 16, 32)  # where a bucket of a place begins

Buckets = dict[int, int]  # times that began there, in ns


def bucket_end(least: int) -> int:
    """Where the next bucket begins."""
    if least < 2:
        return least + 1
    half = 1 << (least.bit_length() - 2)
    return (least // half + 1) * half


def quantile(buckets: Buckets, share: float) -> int:
    """The time, in ns, that this share of them stays under."""
    wanted, seen = share * sum(buckets.values()), 0
    for least in sorted(buckets):
        seen += buckets[least]
        if seen >= wanted:
            return bucket_end(least)
    return 0


def share_under(buckets: Buckets, ns: int) -> float:
    total = sum(buckets.values())
    return sum(n for least, n in buckets.items() if bucket_end(least) <= ns) / total if total else 0


def added(all_buckets: Iterable[Buckets]) -> Buckets:
    sums: Buckets = {}
    for buckets in all_buckets:
        for least, n in buckets.items():
            sums[least] = sums.get(least, 0) + n
    return sums


@dataclass(frozen=True)
class Site:
    """The calls from one place."""

    name: str
    acquisitions: int
    waited: int
    preempted: int | None  # Teabe et al.'s LHP; None: nothing here tells of slices
    hold: Buckets
    ahead: float | None  # on average, of who queued; None: nobody did, or the lock has no line
    where: str = ""  # `queue.h:31`, of the call that acquired most; empty: unknown

    @property
    def contended(self) -> float:
        return self.waited / self.acquisitions if self.acquisitions else 0.0

    @property
    def undisturbed(self) -> Buckets:
        """Without as many of the longest as a slice ended in: those are long for want of a CPU."""
        left, kept = self.preempted or 0, dict(self.hold)
        for least in sorted(self.hold, reverse=True):
            taken = min(left, kept[least])
            kept[least] -= taken
            left -= taken
        return {least: n for least, n in kept.items() if n}


def _ahead(places: dict[str, list[int]]) -> float | None:
    counts = places.get("QUEUE") or places.get("WAIT")
    if not counts or not sum(counts):
        return None
    return sum(n * at for n, at in zip(counts, PLACES, strict=True)) / sum(counts)


def _place(site: dict[str, Any]) -> str:
    if name := site.get("function"):
        return str(name)
    if "module" in site:
        return f"{Path(site['module']).name}+{site['offset']:#x}"
    return str(site["site"])


def _where(site: dict[str, Any]) -> str:
    """In the function that has a name, not in what was inlined there."""
    calls = site.get("calls")
    return Call(**calls[-1]).where if calls else ""


def sites_of(report: dict[str, Any]) -> list[Site]:
    """Those that acquired anything, busiest first; calls from one function are one."""
    by_name: dict[str, list[Site]] = {}
    for site in report["sites"]["sites"]:
        events, preempted = site["events"], site["preemptions"]
        if not events.get("ACQUIRE"):
            continue
        one = Site(
            _place(site),
            events["ACQUIRE"],
            events.get("SLOW_PATH", 0),
            preempted["LHP"] if preempted else None,
            dict(site.get("hold", ())),
            _ahead(site["places"]),
            _where(site),
        )
        by_name.setdefault(one.name, []).append(one)
    return sorted((merged(same) for same in by_name.values()), key=lambda s: -s.acquisitions)


def merged(same: list[Site], name: str = "") -> Site:
    known = [s.preempted for s in same if s.preempted is not None]
    queued = [(s.ahead, s.waited) for s in same if s.ahead is not None]
    weight = sum(n for _, n in queued)
    return Site(
        name or same[0].name,
        sum(s.acquisitions for s in same),
        sum(s.waited for s in same),
        sum(known) if known else None,
        added(s.hold for s in same),
        sum(a * n for a, n in queued) / weight if weight else None,
        max(same, key=lambda s: s.acquisitions).where,
    )


@dataclass(frozen=True)
class Proposal:
    what: str  # a tunable, or "lock"
    value: str
    why: str


def _clamped(name: str, ns: int) -> str:
    tunable = defs.load().tunable(name)
    return str(min(max(ns, tunable.least), tunable.most))


def reason_to_keep(site: Site) -> str:
    """Why no lock can make a difference, as docs/choosing.md has it; empty if one may."""
    often = f"{site.contended:.1%} of the acquisitions waited"
    if site.contended < RARE:
        return f"{often}: no lock makes a difference; keep the mutex"
    typical = quantile(site.undisturbed, 0.5)
    if typical > LONG_NS:
        return (
            f"{often}, but half of the sections last {duration(typical)} or more: sleeping costs "
            "little beside them; keep the mutex"
        )
    return ""


def lock_for(site: Site) -> Proposal:
    """What advice.toml recommends, from measurements of other programs."""
    if why := reason_to_keep(site):
        return Proposal("lock", config.GLIBC, why)
    situation = recommended.situation(CONTENDED)
    held = (
        f"{site.contended:.1%} of the acquisitions waited, for sections of "
        f"{duration(quantile(site.undisturbed, 0.5))}"
    )
    if situation.keeps:
        other = ", ".join(situation.alternatives)
        return Proposal(
            "lock",
            config.GLIBC,
            f"{held}: no lock was measured to be faster than glibc's mutex; not slower: {other}",
        )
    return Proposal("lock", situation.take, f"{held}: measured to be faster (docs/choosing.md)")


def tunables_for(site: Site) -> list[Proposal]:
    """Of the sections that are waited for."""
    hold = site.undisturbed
    usual, longest = quantile(hold, 0.9), quantile(hold, 1)
    tau = usual + HANDOVER_NS
    found = [
        Proposal(
            "tau",
            _clamped("tau", tau),
            f"90 % of the sections are shorter than {duration(usual)}, and a hand-over takes about "
            f"{HANDOVER_NS} ns; a longer wait per position means that a thread is preempted "
            "(Ouyang & Lange 2013, section 5.1)",
        ),
        Proposal(
            "csd",
            _clamped("csd", longest),
            f"the longest section without preemption is shorter than {duration(longest)} "
            "(Teabe et al. 2017, section 4.1)",
        ),
    ]
    preset = defs.load().tunable("spin").default
    turn = round(tau * (1 + (site.ahead or 0)))
    if turn <= 2 * preset:
        why = f"a wait lasts about {duration(turn)}, less than two context switches"
        found.append(Proposal("spin", _clamped("spin", turn), why))
    else:
        why = (
            f"a wait lasts about {duration(turn)}, more than two context switches; spin no longer "
            "than those take (Ouyang & Lange 2013, section 5.2)"
        )
        found.append(Proposal("spin", str(preset), why))
    return found


@dataclass(frozen=True)
class Advice:
    sites: list[Site]
    proposals: list[Proposal]
    apart: dict[str, Proposal]  # by site, where another lock than the program's is better
    undecided: bool = False  # only a measurement of the program tells whether a lock is faster
    chosen: config.Choices = field(default_factory=lambda: trying.GLIBC.choices)

    @property
    def tunables(self) -> dict[str, str]:
        return {p.what: p.value for p in self.proposals if p.what != "lock"}

    @property
    def lock_to_try(self) -> str:
        proposed = self.proposals[0].value
        return config.PRESET if proposed == config.GLIBC else proposed

    def with_lock(self, lock: trying.Candidate, why: str) -> "Advice":
        """Tunables that were not in force when it won are no proposals."""
        kept = lock == trying.GLIBC or lock.tunables
        rest = self.proposals[1:] if kept else []
        ours = [Proposal("lock", lock.lock, why), *rest]
        return replace(self, proposals=ours, chosen=lock.choices)

    def to_json(self) -> dict[str, Any]:
        return {
            "version": 1,
            "sites": [
                {
                    "function": site.name,
                    "where": site.where or None,
                    "acquisitions": site.acquisitions,
                    "waited": site.waited,
                    "LHP": site.preempted,
                    "ahead": site.ahead,
                    "hold_ns": {f"p{p:g}": quantile(site.hold, p / 100) for p in (50, 90, 99, 100)},
                    "under": {name: share_under(site.hold, ns) for name, ns in SHORT_NS.items()},
                    "hold": sorted(site.hold.items()),
                    "lock": asdict(lock_for(site)),
                }
                for site in self.sites
            ],
            "proposals": [asdict(p) for p in self.proposals],
        }


def advice(report: dict[str, Any]) -> Advice:
    sites = sites_of(report)
    if not sites:
        return Advice([], [], {})
    waited = [s for s in sites if s.waited and s.hold]
    # The lock is for those that wait; who never does is served by any.
    subject = merged([s for s in waited if s.contended >= RARE] or sites, "all")
    lock = lock_for(subject)
    apart = {s.name: lock_for(s) for s in waited if lock_for(s).value != lock.value}
    proposals = [lock, *(tunables_for(subject) if subject.hold else [])]
    return Advice(sites, proposals, apart, not reason_to_keep(subject))
