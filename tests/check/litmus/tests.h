// SPDX-License-Identifier: MIT
#ifndef OL_LITMUS_TESTS_H
#define OL_LITMUS_TESTS_H
// Where the tests come from.
#include <check/litmus/litmus.h>

namespace ol::litmus {

std::vector<Litmus> platform_tests(); // those in C++
std::vector<Litmus> all_tests();      // these, and every file below tests/check/litmus

Litmus random_test(uint64_t seed); // with no verdict; its name is its text

} // namespace ol::litmus
#endif
