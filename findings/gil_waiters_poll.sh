#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Threads of CPython that compute share one lock, which changes hands every 5 ms. One expects those that wait for it to sleep
# until they get it. But each of them wakes every 5 ms, to look whether to ask the holder to give it up, although another
# waiter has asked. So with 16 such threads there are more than a dozen wake-ups for each change of hands.
# Seen with CPython 3.11.2.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=findings/packages disable=SC1091
. "$here/packages"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
packages "$folder" python3.11-minimal libpython3.11-minimal libpython3.11-stdlib
cat >"$folder/share.py" <<'END'
import sys
import threading
import time

count = int(sys.argv[1])
begin = threading.Barrier(count)
slept, hands, holder = [], 0, None


def sleeps():
    with open("/proc/thread-self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("voluntary"))


def compute(me):
    global hands, holder
    begin.wait()
    before, end = sleeps(), time.monotonic() + 4
    while time.monotonic() < end:
        if holder != me:
            hands, holder = hands + 1, me
    slept.append(sleeps() - before)


threads = [threading.Thread(target=compute, args=(i,)) for i in range(count)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(hands, sum(slept))
END
seen() { PYTHONHOME=$root/usr unpacked "$root/usr/bin/python3.11" "$folder/share.py" "$1"; }
read -r hands_2 sleeps_2 <<<"$(seen 2)"
read -r hands_16 sleeps_16 <<<"$(seen 16)"
PYTHONHOME=$root/usr unpacked "$root/usr/bin/python3.11" --version
echo "threads that compute for 4 seconds: how often the lock changes hands, and how often threads sleep"
echo "expected: a few sleeps for each change of hands, however many threads there are"
echo "seen: 2 threads: $hands_2 changes, $sleeps_2 sleeps; 16 threads: $hands_16 changes, $sleeps_16 sleeps"
[ "$sleeps_16" -gt $((6 * hands_16)) ] || { echo "that has changed" >&2; exit 1; }
