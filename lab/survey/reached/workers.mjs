// SPDX-License-Identifier: MIT
// Worker threads of Node's at a lock of Atomics, and its pool, which computes hashes.
import { pbkdf2 } from "node:crypto";
import { Worker, isMainThread, workerData } from "node:worker_threads";

if (isMainThread) {
	const shared = new Int32Array(new SharedArrayBuffer(8));
	for (let i = 0; i < 4; i++)
		new Worker(new URL(import.meta.url), { workerData: shared });
	for (let i = 0; i < 50; i++)
		pbkdf2("a", "b", 1000, 64, "sha512", () => {});
} else {
	const word = workerData;
	for (let n = 0; n < 20000; n++) {
		while (Atomics.compareExchange(word, 0, 0, 1) !== 0)
			Atomics.wait(word, 0, 1, 1);
		word[1]++;
		Atomics.store(word, 0, 0);
		Atomics.notify(word, 0, 1);
	}
}
