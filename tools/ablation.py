#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The lock `rota` with one mechanism left out each, as headers for `--locks`.

    tools/ablation.py FOLDER

writes FOLDER/NAME.h for each of CUTS, and prints them as --locks takes them. docs/rota-paper.md
has the table, which tools/judged.py makes.
"""

import sys
from dataclasses import dataclass
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
HEADER = TOP / "include/overlock/lock/rota.h"
PART = "overlock/lock/impl/turns.h"


@dataclass(frozen=True)
class Cut:
    name: str
    what: str  # is left out
    changes: tuple[tuple[str, str], ...]  # of the lock's source


CUTS = (
    Cut(
        "no_turns",
        "turns: nobody gives up its place, and sleepers wait until they claim the lock",
        (("turn = ol_rota_whose_turn(l, w);", "turn.wakes = 0;"),),
    ),
    Cut(
        "no_room",
        "staying: the leaver leaves even if nobody else takes the lock",
        (
            ("met_nobody = leaver && leaver / OL_ROTA_ID == ol_self()", "met_nobody = false"),
            ("if (leaver && !(w & (OL_ROTA_HELD | OL_ROTA_CLAIMED)) &&", "if (0 &&"),
        ),
    ),
    Cut(
        "no_excess",
        "the leaving of the preempted",
        (("if (ol_rota_was_preempted(now))", "if (0)"),),
    ),
    Cut(
        "no_probe",
        "the probe after a leave",
        (
            (
                "ol_rota_set_turn(l, due, ol_tune(prompt), busy | OL_ROTA_PROBES);",
                "ol_rota_set_turn(l, due, ol_tune(lease), busy);",
            ),
        ),
    ),
    Cut(
        "no_alone",
        "the trial whether one is enough",
        (("} else if (busy == OL_ROTA_BUSIEST && !probes && !tries) {", "} else if (0) {"),),
    ),
    Cut("no_place", "the place that sleepers get", (("ol_compete(ol_rota_wakes(l));", ""),)),
    Cut("no_call", "the call", (("releases <= 1 ? OL_ROTA_WAKE : 0", "0"),)),
    Cut(
        "no_claim",
        "the claim",
        (
            (
                "\tuint32_t w = ol_or_relaxed(&l->word, OL_ROTA_CLAIMED);\n",
                "\tuint32_t w = ol_load_relaxed(&l->word);\n",
            ),
            (
                "if (!(w & OL_ROTA_CLAIMED) || (!(w & OL_ROTA_HELD) &&"
                " !ol_rota_releases_since(w, me)))\n",
                "if (0)\n",
            ),
        ),
    ),
    Cut(
        "no_pause",
        "pauses between looks",
        (
            (
                "if (me->lost > 1) {",
                "if (0) {",
            ),
        ),
    ),
    Cut(
        "no_chance",
        "the random half of a lease",
        (("time / 2 + (chance * time >> 32)", "time + 0 * chance"),),
    ),
)


def source(cut: Cut) -> str:
    part = (TOP / "include" / PART).read_text()
    text = HEADER.read_text().replace(f"#include <{PART}>\n", part)
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
