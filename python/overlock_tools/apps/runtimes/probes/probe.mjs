// SPDX-License-Identifier: MIT
// Answers a line for each line of standard input: `version`, or the value of each expression among the arguments.
import os from "node:os";
import process from "node:process";
import readline from "node:readline";

const version = globalThis.Deno?.version.deno ?? process.versions.bun ?? process.versions.node;
globalThis.os = os;

for await (const line of readline.createInterface({ input: process.stdin })) {
	const answer = line === "version" ? [version] : process.argv.slice(2).map(eval);
	process.stdout.write(answer.join(" ") + "\n");
}
