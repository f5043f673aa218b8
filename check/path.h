// SPDX-License-Identifier: MIT
#ifndef OL_CHECK_PATH_H
#define OL_CHECK_PATH_H
// An execution written down: which process made each step, and what it chose where it could.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace ol::check {

// Processes are numbered: contexts first, then each context's store buffer, then the late kicks to
// each context. Their names in a path are 1, 2 ..., b1, b2 ..., k1, k2 ...
using Process = uint8_t;
using Alternative = uint32_t;        // of those that a step can take: 0, the most ordinary, 1 ...
using Mask = uint64_t;               // of processes
constexpr size_t max_processes = 48; // of an exhaustive search

constexpr Mask bit(size_t process) {
    return Mask(1) << process;
}

struct Step {
    Process who = 0;
    std::vector<Alternative> choices;
};

struct Path {
    std::vector<Alternative> first; // choices made before anybody's first step
    std::vector<Step> steps;
};

// As in "1*4.2:1.b1.2*7": four steps of context 1, one of context 2 that took its alternative 1,
// and so on. Alternatives that are all 0 are left out.
std::string text_of(const Path &path, size_t contexts);
Path path_of(const std::string &text, size_t contexts); // std::invalid_argument, with a reason
std::string name_of(Process who, size_t contexts);

} // namespace ol::check
#endif
