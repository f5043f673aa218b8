// SPDX-License-Identifier: MIT
// The parser of .litmus files: bad input must give one line of error. From the top of the tree:
//   clang++ -std=c++20 -g -O1 -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all
//     -DOL_PORT_SIM -I. -Iinclude tests/fuzz/litmus.cpp tests/litmus/parse.cpp engine/memory.cpp
//     -o fuzz-litmus && ./fuzz-litmus -max_total_time=60 CORPUS tests/fuzz/seeds/litmus
//     tests/litmus/*/
#include "../litmus/litmus.h"

#include <algorithm>
#include <cstdlib>
#include <stdexcept>

using namespace ol::litmus;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	std::string text(reinterpret_cast<const char *>(data), size);

	try {
		Litmus test = parse(text, "input");
		uint64_t r[registers] = {};
		test.outcome(test.initial, r);
		if (test.contexts.empty() || test.registers.size() > registers)
			abort();
	} catch (const std::invalid_argument &e) {
		std::string error = e.what();
		if (!error.starts_with("input:") || error.size() > 200 ||
		    !std::ranges::all_of(error, [](char c) { return c >= ' ' && c <= '~'; }))
			abort();
	}
	return 0;
}
