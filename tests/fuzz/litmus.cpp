// SPDX-License-Identifier: MIT
// The parser of .litmus files: bad input must give one line of error.
#define OL_PORT_SIM
#include "../../check/litmus/parse.cpp"
#include "../../check/engine/memory.cpp"

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
