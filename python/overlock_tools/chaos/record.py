# SPDX-License-Identifier: MIT
"""What the library recorded of a run: a file per process, which a killed one leaves behind, too."""

import contextlib
import struct
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from overlock_tools.core.model import defs

ROW = struct.Struct("=QQIIQQQQQQ")  # chaos/record.h
THREAD = struct.Struct("=IIQ")
MS = 1e6


@dataclass(frozen=True)
class Site:
    """A call in the program, and a moment at it."""

    path: str  # of the object
    offset: int
    kind: str
    visits: int = 0
    naps: int = 0
    nap_ns: int = 0
    taken: int = 0  # of the naps: runnable, without a CPU
    worst_ns: int = 0  # the longest wait there
    wait_ns: int = 0

    @property
    def name(self) -> str:
        """The same in every run of the same build; --only takes it."""
        return f"{Path(self.path).name}+{self.offset:#x}:{self.kind}"

    def plus(self, other: "Site") -> "Site":
        return replace(
            self,
            visits=self.visits + other.visits,
            naps=self.naps + other.naps,
            nap_ns=self.nap_ns + other.nap_ns,
            taken=self.taken + other.taken,
            worst_ns=max(self.worst_ns, other.worst_ns),
            wait_ns=self.wait_ns + other.wait_ns,
        )

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass
class Recorded:
    sites: dict[str, Site]
    stuck: Counter[str]  # threads that waited at the end, by site


def _text(raw: bytes) -> str:
    return raw.split(b"\0", 1)[0].decode(errors="replace")


def _objects(raw: bytes, at: dict[str, int]) -> list[str]:
    (n,) = struct.unpack_from("=Q", raw, at["n_objects"])
    starts = (at["objects"] + i * at["object"] for i in range(min(n, at["most_objects"])))
    return [_text(raw[start : start + at["object"]]) for start in starts]


def _sites(raw: bytes, at: dict[str, int], names: list[str]) -> Iterator[tuple[int, Site]]:
    objects = _objects(raw, at)
    for i in range(at["most_sites"]):
        row = ROW.unpack_from(raw, at["sites"] + i * at["site"])
        key, offset, number, kind, *counts = row
        if key and kind < len(names):
            path = objects[number - 1] if 0 < number <= len(objects) else "?"
            yield i, Site(path, offset, names[kind], *counts)


def _read(raw: bytes, into: Recorded) -> None:
    at: dict[str, int] = defs.raw_lists()["chaos"]
    if len(raw) < at["threads"] + at["most_threads"] * at["thread"]:
        return  # killed before it was whole
    kinds = [one["name"].replace("_", "-") for one in defs.raw_lists()["chaos_kinds"]]
    by_row = dict(_sites(raw, at, kinds))
    for site in by_row.values():
        known = into.sites.get(site.name)
        into.sites[site.name] = known.plus(site) if known else site
    for i in range(at["most_threads"]):
        tid, waits, _ = THREAD.unpack_from(raw, at["threads"] + i * at["thread"])
        if tid and waits - 1 in by_row:
            into.stuck[by_row[waits - 1].name] += 1


def read(folder: Path) -> Recorded:
    """All processes of a run together."""
    found = Recorded({}, Counter())
    for path in sorted(folder.iterdir()):
        with contextlib.suppress(OSError):
            _read(path.read_bytes(), found)
    return found
