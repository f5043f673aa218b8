// SPDX-License-Identifier: MIT
// Strings that replay an execution, "1*4.2:1.b1": what is read is written back the same. The first
// byte is the number of contexts, as a letter from 'a' on. From the top of the tree:
//   clang++ -std=c++20 -g -O1 -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all
//     -I. tests/fuzz/path.cpp check/path.cpp
//     -o fuzz-path && ./fuzz-path -max_total_time=60 CORPUS tests/fuzz/seeds/path
#include <check/path.h>

#include <cstdlib>
#include <stdexcept>

using namespace ol::check;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size == 0)
		return 0;
	size_t contexts = 1 + (data[0] + 31u) % 32 % 15; // overlock-check takes 1 to 15
	std::string text(reinterpret_cast<const char *>(data) + 1, size - 1);

	try {
		Path path = path_of(text, contexts);
		for (const Step &s : path.steps)
			if (s.who >= 3 * contexts)
				abort();
		std::string again = text_of(path, contexts);
		if (text_of(path_of(again, contexts), contexts) != again)
			abort();
	} catch (const std::invalid_argument &e) {
		if (std::string(e.what()).find('\n') != std::string::npos)
			abort();
	}
	return 0;
}
