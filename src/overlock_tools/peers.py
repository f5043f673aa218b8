# SPDX-License-Identifier: MIT
"""Other people's locks: those of glibc are built in, the others are plug-ins, or missing.

A family is built where its package is installed, and a wheel has none: their libraries are no
dependencies of ours.
"""

import hashlib
from collections.abc import Iterable
from pathlib import Path

from overlock_tools import defs, native

BUILT_IN = "glibc"


def plugin(family: str) -> Path:
    """Where the family's locks are if they were built."""
    return native.folder() / f"overlock-peers-{family}.so"


def plugins() -> list[Path]:
    """What overlock-bench can load, one file a family."""
    families = dict.fromkeys(peer.family for peer in defs.load().peers.values())
    return [file for file in map(plugin, families) if file.exists()]


def options() -> list[str]:
    """The same as options of overlock-bench."""
    return [f"--peers={file}" for file in plugins()]


def digests(variants: Iterable[str]) -> dict[str, str]:
    """What the peers among them were compiled to, by family."""
    known = defs.load().peers
    named = (known.get(variant.partition("@")[0]) for variant in variants)
    families = {peer.family for peer in named if peer and peer.family != BUILT_IN}
    return {f: hashlib.sha256(plugin(f).read_bytes()).hexdigest() for f in sorted(families)}


def missing() -> dict[str, str]:
    """The peers that are not here, each with a line that says what to do."""
    return {
        peer.id: f"{peer.id} is not here: {_reason(peer)}"
        for peer in defs.load().peers.values()
        if peer.family != BUILT_IN and not plugin(peer.family).exists()
    }


def _reason(peer: defs.Peer) -> str:
    if native.checkout() is None:
        return "a wheel has glibc's locks only; `make peers` in a checkout builds all"
    return f"{peer.package} was not installed when this was built; `make peers` installs it"
