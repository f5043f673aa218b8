# SPDX-License-Identifier: MIT
"""Other people's locks: some are built in, the others are plug-ins, or missing.

A family is built where its package is installed, and a wheel has none: their libraries are no
dependencies of ours. One is of no use where the processor does not do what it asks.
"""

import hashlib
from collections.abc import Iterable
from pathlib import Path

from overlock_tools.core.model import defs
from overlock_tools.core.system import machine, native
from overlock_tools.core.system.kernel_files import Tree

BUILT_IN = ("glibc", defs.ELIDES)
HLE = "hle"  # of the processor's making, and named as the kernel names what the processor has
NO_HLE = "this CPU has no hardware lock elision (HLE: CPUID leaf 7, EBX bit 4)"


def plugin(family: str) -> Path:
    """Where the family's locks are if they were built."""
    return native.folder() / f"overlock-peers-{family}.so"


def plugins() -> list[Path]:
    """What overlock-bench can load, and this machine run, one file a family."""
    families = dict.fromkeys(peer.family for peer in defs.load().peers.values())
    return [
        file for family in families if is_possible(family) and (file := plugin(family)).exists()
    ]


def options() -> list[str]:
    """The same as options of overlock-bench."""
    return [f"--peers={file}" for file in plugins()]


def digests(variants: Iterable[str]) -> dict[str, str]:
    """What the peers among them were compiled to, by family."""
    known = defs.load().peers
    named = (known.get(variant.partition("@")[0]) for variant in variants)
    families = {peer.family for peer in named if peer and peer.family not in BUILT_IN}
    return {f: hashlib.sha256(plugin(f).read_bytes()).hexdigest() for f in sorted(families)}


def is_possible(family: str) -> bool:
    """On this machine, whatever is installed."""
    return family != HLE or HLE in machine.cpu_flags(Tree().read_or("/proc/cpuinfo"))


def missing() -> dict[str, str]:
    """The peers that could be here and are not, each with a line that says what to do."""
    return {
        peer.id: f"{peer.id} is not available: {_reason(peer)}"
        for peer in defs.load().peers.values()
        if peer.family not in BUILT_IN
        and is_possible(peer.family)
        and not plugin(peer.family).exists()
    }


def absent() -> dict[str, str]:
    """All that cannot be measured here, each with a line that says why."""
    known = defs.load().peers.values()
    never = {p.id: f"{p.id} is not available: {NO_HLE}" for p in known if not is_possible(p.family)}
    return missing() | never


def _reason(peer: defs.Peer) -> str:
    if native.checkout() is None:
        return "a wheel has only built-in locks; `make peers` in a checkout builds all peers"
    return f"{peer.package} was not installed at build time; `make peers` installs it"
