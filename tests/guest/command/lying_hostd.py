# SPDX-License-Identifier: MIT
"""An overlock-hostd that watches nobody. Each slice of each vCPU lasts LASTS ms, its end is told to
come TOLD ms after it begins, and to write that takes STOPPED ms.
docs/reference/slice-page.md has the layout.

On a busy machine they last longer: how long, in the median, is said at the end.
"""

import json
import os
import signal
import struct
import sys
import time
from itertools import pairwise
from mmap import mmap
from pathlib import Path
from statistics import median

HEADER = struct.Struct("<8sIIIIIIQQQQ")
ENTRY = struct.Struct("<IIQQQQQ")
SIZE, FIRST, STRIDE, ENTRIES = 4096, 64, 64, 2
LASTING, LATE = 10**9, 10**8  # ns


def header(beat: int) -> bytes:
    places = (SIZE, FIRST, STRIDE, ENTRIES)
    return HEADER.pack(b"OVLKslce", 1, 1, *places, beat, LASTING, LATE, 0)


def write(page: mmap, number: int, told: int, stopped: float) -> int:
    """When it begins. `seq` is odd while it is written; x86 keeps the order of the stores."""
    begin = time.monotonic_ns()
    for at in range(FIRST, FIRST + ENTRIES * STRIDE, STRIDE):
        ENTRY.pack_into(page, at, 2 * number - 1, 1, number, begin, begin + told, 0, begin)
    time.sleep(stopped)
    for at in range(FIRST, FIRST + ENTRIES * STRIDE, STRIDE):
        struct.pack_into("<I", page, at, 2 * number)
    page[: HEADER.size] = header(begin)
    return begin


def main() -> None:
    words = dict(zip(sys.argv[1::2], sys.argv[2::2], strict=True))
    lasts, told, stopped = (float(os.environ[name]) for name in ("LASTS", "TOLD", "STOPPED"))
    ended: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _: ended.append(number))
    with Path(words["--page"]).open("r+b") as file, mmap(file.fileno(), SIZE) as page:
        begun: list[int] = []
        while not ended:
            begun.append(write(page, len(begun) + 1, round(told * 1e6), stopped * 1e-3))
            if len(begun) == 1:
                print(json.dumps({"watching": ENTRIES}), flush=True)
            time.sleep((lasts - stopped) * 1e-3)
    lasted = median(end - begin for begin, end in pairwise(begun)) * 1e-6
    print(json.dumps({"slices": len(begun), "lasted_ms": lasted}), flush=True)


main()
