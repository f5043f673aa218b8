#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A program may end its first thread by pthread_exit() and go on in others. One expects that a tool which shows
# stacks by process id goes on, too. But the kernel takes the memory map of a thread that has ended away, and the
# process's own entry is the first thread's: /proc/PID/maps is empty, and only /proc/PID/task/TID/maps has what
# the others map. eu-stack of elfutils reads the former, and prints addresses without a single name.
# Seen with elfutils 0.188-2.1 and Linux 6.18.44.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=findings/packages disable=SC1091
. "$here/packages"
folder=$(mktemp -d)
process=
trap 'kill $process 2>/dev/null; rm -rf "$folder"' EXIT
packages "$folder" elfutils=0.188-2.1 libdw1=0.188-2.1 libelf1=0.188-2.1 libasm1=0.188-2.1 libstdc++6 libgcc-s1
echo "Linux $(uname -r)"

# stacks PID: as eu-stack prints them.
stacks() {
	unpacked "$root/usr/bin/eu-stack" --pid "$1" 2>&1 || true
}

# program WORDS STATE: a process whose second thread sleeps in a system call, and whose first one then runs WORDS, and
# has the state.
program() {
	python3 -c "
import ctypes, threading, time
threading.Thread(target=time.sleep, args=(100,)).start()
$1" &
	process=$!
	until [ "$(find "/proc/$process/task" -mindepth 1 -maxdepth 1 | wc -l)" = 2 ] &&
		grep -q ") $2 " "/proc/$process/stat"; do
		sleep 0.1
	done
	sleep 1
}

# named: how many lines have a function's name.
named() { grep -cE '^#[0-9]+ +0x[0-9a-f]+ [^ ]' || true; }

unpacked "$root/usr/bin/eu-stack" --version | sed -n 1p
program 'time.sleep(100)' S
alive=$(stacks "$process" | named)
kill "$process"
program 'ctypes.CDLL(None).pthread_exit(None)' Z
ended=$(stacks "$process" | named)
mapped=$(wc -l <"/proc/$process/maps")
thread=$(find "/proc/$process/task" -mindepth 1 -maxdepth 1 -printf '%f\n' | grep -vx "$process" | sed -n 1p)
of_thread=$(wc -l <"/proc/$process/task/$thread/maps")
echo "expected: functions of the threads that live, whether or not the first one does"
echo "seen: $alive named frames while the first thread lives, $ended after it has ended"
echo "seen: /proc/PID/maps has $mapped lines then, that of another thread $of_thread"
if ! { [ "$alive" -gt 0 ] && [ "$ended" = 0 ] && [ "$mapped" = 0 ] && [ "$of_thread" -gt 0 ]; }; then
	echo "that has changed" >&2
	exit 1
fi
