# SPDX-License-Identifier: MIT
"""What locks.def says that a lock needs is what its text calls."""

import pytest

from overlock_tools.core.model import defs
from overlock_tools.core.model.traits import LABELS, NEEDS
from tests.docs.lock_text import header, needed, needs
from tests.mutant import changed

LOCKS = list(defs.load().locks.values())
ORDERS = {"fifo", "patient", "bounded", "late_fifo"}


def as_traits(names: set[str]) -> str:
    return " | ".join(f"OL_{name.upper()}" for name in sorted(names)) or "none"


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.id)
def test_needs_are_what_the_text_calls(lock: defs.Lock) -> None:
    said = {trait for trait in lock.traits if trait.startswith(NEEDS)}
    called = needed(header(lock.id).read_text())
    assert said == called, f"locks.def: {lock.id} needs {as_traits(called)}"


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.id)
def test_traits_agree_with_each_other(lock: defs.Lock) -> None:
    traits = set(lock.traits)
    assert len(traits & ORDERS) <= 1, "one order"
    assert ("yields" in traits) == bool(traits & {"needs_park", "needs_yield"})
    assert not ("alone" in traits and any(t.startswith(NEEDS) for t in traits))
    assert "polls" not in traits or lock.gives_up == "timed"


def test_a_lock_that_lies_is_caught() -> None:
    text = header("pv_ticket").read_text()
    assert needed(text) == {"needs_id", "needs_park", "needs_time"}
    assert needed(changed(text, ("ol_park", "ol_relax_"))) == {"needs_id", "needs_time"}
    asks = changed(text, ("ol_count(OL_KICK);", "(void)ol_slice_end();"))
    assert needed(asks) == {"needs_id", "needs_park", "needs_time", "needs_slice"}


def test_calls_are_found_in_a_part_that_many_locks_share() -> None:
    text = header("tas_yield").read_text()
    assert needed(text) == {"needs_time", "needs_yield"}
    assert (
        needed(text.replace("impl/yielding.h", "impl/poll.h").replace("YIELDING", "POLLED"))
        == set()
    )


def test_calls_are_found_where_they_hide() -> None:
    """In a function of another header or of the platform layer, in a macro, not in a comment."""
    assert needed(header("preemptable_ticket").read_text()) == {"needs_time"}
    macro = "#define OL_MINE_NAP(l)\t\\\n\tol_park(l, 1, 1, 1)\n"
    lock = "static inline void ol_mine_lock(ol_mine_t *l)\n{\n\tOL_MINE_NAP(l);\n}\n"
    assert needed(macro + lock) == {"needs_park"}
    told = "static inline void ol_mine_lock(ol_mine_t *l) /* now */\n{\n\tol_yield();\n}\n"
    assert needed(told) == {"needs_yield"}
    assert needed(lock) == needed("/* ol_park() */\n" + lock) == set()
    base = "#include <overlock/lock/ticket.h>\n"
    outside = "static inline void ol_mine_lock(ol_ticket_t *l)\n{\n\tol_ticket_lock(l);\n}\n"
    assert needed(base + outside) == {"needs_id"}
    named = "static inline void ol_mine_lock(ol_mine_t *l)\n{\n\tol_named_node_get();\n}\n"
    assert needed(named) == {"needs_nodes"}


def test_every_trait_has_words() -> None:
    told = {trait for lock in LOCKS for trait in lock.traits}
    assert {trait for trait in told if trait not in needs()} <= LABELS.keys()
