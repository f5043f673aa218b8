#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The lock `rota` with one mechanism left out each, as headers for `--locks`.

    tools/ablation.py FOLDER

writes FOLDER/NAME.h for each of CUTS, and prints them as --locks takes them. docs/locks/rota.md
has the table, which tools/judged.py makes.
"""

import sys
from dataclasses import dataclass
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
HEADER = TOP / "include/overlock/lock/rota.h"


@dataclass(frozen=True)
class Cut:
    name: str
    what: str  # is left out
    changes: tuple[tuple[str, str], ...]  # of the lock's source


CUTS = (
    Cut(
        "no_yield",
        "the yield",
        (("ol_count(OL_YIELD);", ""), ("ol_yield();", "ol_relax_until(since);")),
    ),
    Cut(
        "no_pause", "pauses between looks", (("if (++me->lost > 1)", "if (++me->lost > 1u << 31)"),)
    ),
    Cut(
        "no_turn",
        "the sleep of those that others pass",
        (("me.lost > 1 ? 0 : OL_ROTA_WAKE, until", "OL_ROTA_WAKE, until"),),
    ),
    Cut(
        "no_call",
        "the call",
        (
            (
                "uint32_t asks,\n\t\t\t\t  ol_ticks_t until)\n{\n",
                "uint32_t asks,\n\t\t\t\t  ol_ticks_t until)\n{\n\tasks = 0;\n",
            ),
        ),
    ),
    Cut(
        "no_patience",
        "the patience of those that let others run",
        (("me->tired = ol_after(OL_ROTA_PATIENCE, ol_tune(lease));", "{ }"),),
    ),
    Cut("no_leaver", "the leaver", (("me->starved = !me->claim &&", "me->starved = false &&"),)),
    Cut(
        "no_room",
        "one more competitor: after one return in 64 no thread leaves for the one that returned",
        (("if (me->seen & 63 * OL_ROTA_RELEASE)", "if (1)"),),
    ),
    Cut(
        "no_claim",
        "the claim",
        (("if (!me.claim && ol_passed(me.turn) &&", "if (0 &&"),),
    ),
    Cut("no_place", "the place that sleepers get", (("ol_compete(ol_rota_wakes(l));", "{ }"),)),
)


def source(cut: Cut) -> str:
    text = HEADER.read_text()
    for old, new in cut.changes:
        if text.count(old) != 1:
            sys.exit(f"tools/ablation.py: {cut.name}: the lock has no such line: {old.strip()}")
        text = text.replace(old, new)
    for old, new in (("ol_rota", f"ol_{cut.name}"), ("OL_ROTA", f"OL_{cut.name.upper()}")):
        text = text.replace(old, new)
    traits = "OL_FITS4 | OL_YIELDS | OL_PRIVATE | OL_BY_CLOCK"
    line = f'OL_LOCK({cut.name}, timed, {traits}, "here", "rota without {cut.what}")'
    include = "#include <overlock/port.h>\n"
    return text.replace(include, f"{include}\n#define OL_LOCK_LINE {line}\n")


def main() -> None:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for cut in CUTS:
        (folder / f"{cut.name}.h").write_text(source(cut))
    print(",".join(str(folder / f"{cut.name}.h") for cut in CUTS))


if __name__ == "__main__":
    main()
