# SPDX-License-Identifier: MIT
"""An execution of the old pv_ticket, which looked at the lock again after it had released it.

Told as overlock-check tells it: two contexts, the lock freed by whoever is the last to leave.
"""

from typing import Any

HEADER = "pv_ticket.h"
R, X, A, L = "relaxed", "acquire", "acq_rel", "release"

# context, line, op, order, old, new, states; of what is no access to memory: what is said of it,
# and last whether that is a mark
STEPS: list[tuple[Any, ...]] = [
    ("1", 60, "load", R, "0x0", "0x0", "rr"),
    ("1", 63, "cas", X, "0x0", "0x20000", "rr"),
    ("1", 63, "holds", "rr", True),
    ("2", 60, "load", R, "0x20000", "0x20000", "rr"),
    ("2", 117, "add", R, "0x20000", "0x40000", "rr"),
    ("2", 71, "load", X, "0x40000", "0x40000", "rr"),
    ("2", 74, "relaxes", "rw", False),
    ("1", 0, "loses its CPU", "ow", False),
    ("2", 71, "load", X, "0x40000", "0x40000", "or"),
    ("2", 74, "relaxes", "ow", False),
    ("2", 71, "load", X, "0x40000", "0x40000", "or"),
    ("2", 74, "relaxes", "ow", False),
    ("2", 71, "load", X, "0x40000", "0x40000", "or"),
    ("2", 74, "relaxes", "ow", False),
    ("2", 82, "or", R, "0x40000", "0x40001", "or"),
    ("2", 87, "parks", "op", False),
    ("1", 0, "has its CPU back", "rp", False),
    ("1", 140, "add", L, "0x40001", "0x40003", "rp"),
    ("1", 140, "released", "rp", True),
    ("2", 87, "wakes", "rr", False),
    ("2", 71, "load", X, "0x40003", "0x40003", "rr"),
    ("2", 96, "cas", R, "0x40003", "0x40002", "rr"),
    ("2", 96, "holds", "rr", True),
    ("2", 140, "add", L, "0x40002", "0x40004", "rr"),
    ("2", 140, "released", "rr", True),
    ("2", 0, "frees lock", "rd", False),
    ("b1", 60, "drain", "", "0x40002", "0x40004", "rd"),
    ("1", 142, "FAILURE: use after release: pv_ticket.h:142 loads lock", "rd", True),
]
STATES = {"r": "runs", "w": "relaxes", "o": "off", "p": "parks", "d": "done"}
HOW = "pv_ticket.h:142 loads lock after its memory was freed"


def event(n: int, context: str, line: int, *rest: Any) -> dict[str, Any]:
    whose = {
        "n": n,
        "context": context,
        "file": HEADER if line else "client.cpp",
        "line": line or 88,
    }
    if len(rest) == 3:
        what, states, is_mark = rest
        access = {}
    else:
        op, order, old, new, states = rest
        what, is_mark = f"{op}_{order} lock: {old} -> {new}", False
        access = {"op": op, "order": order, "object": "lock", "width": 4, "old": old, "new": new}
    told = {"what": what, "state": [STATES[letter] for letter in states]}
    return {**whose, **told, **access, "mark": what if is_mark else None}


def events() -> list[dict[str, Any]]:
    return [event(n, *step) for n, step in enumerate(STEPS, 1)]


def failure(told: bool = True) -> dict[str, Any]:
    return {
        "property": "use after release",
        "how": HOW,
        "replay": "1*2.2*13:1.1.2*5.1",
        "events": events() if told else [],
    }
