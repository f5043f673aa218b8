# SPDX-License-Identifier: MIT
"""Checks an explanation against the events themselves, read anew and slowly."""

import re
from collections import defaultdict
from itertools import pairwise
from typing import Any

from overlock_tools.sim.explain import REASONS, duration, moment

OPENING = re.compile(r"^(.+) waited (.+) for (.+) \((\w+)\), from (.+ ms) to (.+ ms?)(\.| and)")
FOUND = re.compile(r"When it came, (?:(.+) held the lock|the lock was free), and (\d+|no) other")
LOST = re.compile(
    r"^- At ([^ ]+ ms) ([^,]+), "
    r"(which held the lock|next in line(?: from .+ ms)?|the waiter itself.*), "
    r"lost ([^()]*?)(?: to ([^()]+))? \((.+?)(?:; (.+) carries it)?\)"
    r"(?:, and got (.+?)(?: back)? ([\d.]+ \w+) later)?"
)
SHARE = re.compile(r"(under 0\.1|[\d.]+) % ([a-z][a-z -]*?)(?=,| and (?:under|\d)|\.$)")


class Witness:
    def __init__(self, told: dict[str, Any]) -> None:
        self.told = told
        kinds, reasons = told["kinds"], told["reasons"]
        self.events = [
            (at, kinds[what], who, other, reasons[why[0]] if why else "")
            for at, what, who, other, *why in told["events"]
        ]
        self.cpus = told["cpus"]
        self.contexts = len(told["contexts"])

    def name(self, entity: int) -> str:
        all_of_them = [*self.told["contexts"], *self.told["vcpus"]]
        said = all_of_them[entity]
        guest = self.told["guests"][said["guest"]]
        noun = "vCPU" if entity >= self.contexts or guest["kind"] == "kernel" else "context"
        owner = f"{guest['name']} " if len(self.told["guests"]) > 1 else ""
        return f"{owner}{noun} {said['number']}"

    def entity(self, name: str) -> int:
        count = self.contexts + len(self.told["vcpus"])
        [found] = [e for e in range(count) if self.name(e) == name]
        return found

    def cpu_name(self, cpu: int) -> str:
        return f"CPU {cpu}" if cpu < self.cpus else self.name(self.contexts + cpu - self.cpus)

    # What is so at a time.

    def has_cpu(self, entity: int, time: int) -> bool:
        cpu = None
        for at, what, who, other, _ in self.events:
            if at > time:
                break
            if who == entity and what in ("run", "lose"):
                cpu = other if what == "run" else None
        if cpu is None or cpu < self.cpus:
            return cpu is not None
        return self.has_cpu(self.contexts + cpu - self.cpus, time)

    def reason(self, entity: int, time: int) -> str:
        """Why it has no CPU: it sleeps, has yielded, its guest is throttled, or none of these."""
        asleep = yielded = throttled = False
        guest = self.told["contexts"][entity]["guest"]
        for at, what, who, _, why in self.events:
            if at > time:
                break
            if what in ("throttle", "refill") and who == guest:
                throttled = what == "throttle"
            elif who == entity and what in ("lose", "run"):
                yielded = why == "yielded"
                asleep = asleep or why == "blocked"
            elif who == entity and what == "ready":
                asleep = False
        return "asleep" if asleep else "quota" if throttled else "yielded" if yielded else "off"

    def cause(self, waiter: int, lock: int, began: int, time: int) -> str:
        holder = following = None
        since: dict[int, int] = {}  # the last wait of each
        came = began  # when whoever the lock waits for did
        for at, what, who, other, _ in self.events:
            if what == "wait" and other == lock:
                since[who] = at
            if what == "acquire" and other == lock:
                if at > time and holder is not None:
                    break
                came = since[who]
                if at > time:
                    following = who
                    break
                holder = who
            if what == "release" and other == lock and at <= time:
                holder = None
        whose = holder if holder is not None else waiter if following is None else following
        came_later = whose != waiter and came > began
        concerned = waiter if came_later else whose
        runs = self.has_cpu(concerned, time)
        why = "" if runs else self.reason(concerned, time)
        if came_later:
            return {"": "being overtaken", "asleep": "being overtaken"}.get(why) or self.kind(
                why, "own preemption"
            )
        if holder is not None:
            return "queueing" if runs else "quota" if why == "quota" else "lock-holder preemption"
        if why in ("", "asleep"):
            return "hand-overs and wake-ups"
        return self.kind(why, "own preemption" if whose == waiter else "lock-waiter preemption")

    @staticmethod
    def kind(why: str, usual: str) -> str:
        return {"yielded": "yielding", "quota": "quota"}.get(why, usual)

    # What is claimed.

    def check(self, text: str) -> None:
        opening, *steps, conclusion = text.strip().split("\n")
        waiter, lock, began, ended = self.opening(opening)
        for step in steps:
            if " lost " in step:
                self.loss(step, waiter, lock)
        self.shares(conclusion, waiter, lock, (began, ended))

    def opening(self, line: str) -> tuple[int, int, int, int]:
        claim = OPENING.match(line)
        assert claim, line
        waiter = self.entity(claim[1])
        lock = int(claim[3].rsplit(" ", 1)[1])
        waits = [e for e in self.events if e[1:4] == ("wait", waiter, lock)]
        [began] = {at for at, *_ in waits if moment(at) == claim[5]} & self.began(
            claim, waiter, lock
        )
        [ended] = {self.ended(waiter, lock, began)}
        assert moment(ended) == claim[6]
        assert duration(ended - began) == claim[2]
        met = FOUND.search(line)
        assert met, line
        holder, others = self.met(lock, waiter, began)
        assert (met[1] or None) == (self.name(holder) if holder is not None else None), line
        assert (0 if met[2] == "no" else int(met[2])) == others, line
        return waiter, lock, began, ended

    def began(self, claim: re.Match[str], waiter: int, lock: int) -> set[int]:
        found = [e[0] for e in self.events if e[1:4] == ("wait", waiter, lock)]
        return {at for at in found if duration(self.ended(waiter, lock, at) - at) == claim[2]}

    def ended(self, waiter: int, lock: int, began: int) -> int:
        after = [e for e in self.events if e[0] >= began and e[1:4] == ("acquire", waiter, lock)]
        end: int = after[0][0] if after else self.told["until"]
        return end

    def met(self, lock: int, waiter: int, time: int) -> tuple[int | None, int]:
        waits: set[int] = set()
        holder: int | None = None
        for at, what, who, other, _ in self.events:
            if other != lock or what not in ("wait", "acquire", "release"):
                continue
            if at > time:
                break
            if (what, at) == ("wait", time):  # at the same time is not before
                continue
            if what == "wait":
                waits.add(who)
            elif what == "acquire":
                waits.discard(who)
                holder = who
            else:
                holder = None
        return holder, len(waits - {waiter})

    def loss(self, step: str, waiter: int, lock: int) -> None:
        claim = LOST.match(step)
        assert claim, step
        when, name, role, cpu, by, why, carrier, back, later = claim.groups()
        subject = self.entity(name)
        loser = self.entity(carrier) if carrier else subject
        losses = [e for e in self.events if e[1:3] == ("lose", loser) and moment(e[0]) == when]
        [place] = [self.events.index(e) for e in losses if self.cpu_name(e[3]) == cpu]
        at, _, _, number, reason = self.events[place]
        assert REASONS[reason] == why
        after = self.events[place + 1 :]
        runs = [e for e in after if e[1] == "run"]
        taker = next((e[2] for e in runs if e[3] == number), None)
        assert (by or None) == (None if taker in (None, loser) else self.name(taker or 0)), step
        again = next((e for e in runs if e[2] == loser), None)
        if back:
            assert again
            assert self.cpu_name(again[3]) == back
            assert duration(again[0] - at) == later
        else:
            assert again is None
        if role == "which held the lock":
            use = [e for e in self.events if e[2:4] == (subject, lock)]
            before = [e[1] for e in use if e[0] <= (again[0] if again else self.told["until"])]
            assert "acquire" in before[-2:], step
        elif role.startswith("next in line"):
            assert subject != waiter
            takes = [e for e in after if e[1] == "acquire" and e[3] == lock]
            since = re.search("from (.+ ms)", role)
            following = next(e for e in takes if not since or e[0] / 1e9 >= float(since[1][:-3]))
            assert following[2] == subject, step
        else:
            assert subject == waiter, step

    def shares(self, line: str, waiter: int, lock: int, span: tuple[int, int]) -> None:
        edges = sorted({*span, *(e[0] for e in self.events if span[0] < e[0] < span[1])})
        spent: dict[str, int] = defaultdict(int)
        for one, later in pairwise(edges):
            spent[self.cause(waiter, lock, span[0], one)] += later - one
        claimed = {cause: share for share, cause in SHARE.findall(line)}
        assert set(claimed) == {cause for cause, time in spent.items() if time}, (line, dict(spent))
        for cause, share in claimed.items():
            exact = 100 * spent[cause] / (span[1] - span[0])
            if share.startswith("under"):
                assert exact < 0.1, (cause, exact)
            else:
                assert abs(float(share) - exact) < 0.06, (cause, share, exact)
