// SPDX-License-Identifier: MIT
// tokens.mjs MODULES MODEL THREADS [TOKENS]: llama.cpp continues the same text again and again, token
// by token, as drivers/asked.py asks it to. TOKENS, as JSON: what is to come, which is checked.
import { createRequire } from "node:module";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const [modules, modelPath, threads, expected] = process.argv.slice(2);
const entry = createRequire(`${modules}/`).resolve("node-llama-cpp");
const { getLlama } = await import(pathToFileURL(entry).href);
const PROMPT = [1, 5, 6];
const LENGTH = 64;
const right = expected && JSON.parse(expected);

const llama = await getLlama({
	gpu: false, build: "never", maxThreads: +threads, logLevel: "error", progressLogs: false,
});
const model = await llama.loadModel({ modelPath });
const context = await model.createContext({ threads: +threads, contextSize: 256, batchSize: 64 });
const sequence = context.getSequence();
const now = () => Number(process.hrtime.bigint());

// Three digits of each time are kept, so that there are few different ones.
function rounded(ns) {
	const scale = 10 ** Math.max(0, String(ns).length - 3);
	return Math.floor(ns / scale) * scale;
}

async function work(seconds) {
	const times = new Map(), began = now();
	let before = began, longest = [], wrong = "", done = 0;
	while (before - began < seconds * 1e9 || !done) {
		await sequence.clearHistory();
		const made = [];
		for await (const token of sequence.evaluate(PROMPT, { temperature: 0 })) {
			const after = now(), took = rounded(after - before);
			times.set(took, (times.get(took) ?? 0) + 1);
			before = after;
			done++;
			made.push(token);
			if (made.length === LENGTH || before - began >= seconds * 1e9)
				break;
		}
		longest = made.length > longest.length ? made : longest;
		if (right && made.some((token, at) => token !== right[at]))
			wrong = "it says something else than with one thread";
	}
	return {
		work: done, seconds: (before - began) / 1e9, wrong,
		ns: [...times].sort((a, b) => a[0] - b[0]), tokens: longest,
	};
}

for await (const line of createInterface({ input: process.stdin }))
	console.log(JSON.stringify(await work(+line)));
process.exit(0);
