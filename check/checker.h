// SPDX-License-Identifier: MIT
#ifndef OL_CHECK_CHECKER_H
#define OL_CHECK_CHECKER_H
// Explores a program: runs it again and again, each time as a search says, until something is
// wrong, nothing is left, or a limit is reached.
#include "world.h"

namespace ol::check {

enum class SearchKind { dpor, plain, pct, walk };

struct Progress {
    uint64_t executions, redundant, steps;
    double seconds;
};

struct Limits {
    SearchKind search = SearchKind::dpor;
    uint64_t seed = 1; // of pct and walk
    uint64_t executions = UINT64_MAX;
    double seconds = 1e18;
    // Now and then; false ends the exploration.
    std::function<bool(const Progress &)> progress = [](const Progress &) { return true; };
    std::function<void(const ExecutionTrace &)> tell; // each execution's steps, if anybody asks
};

struct Outcome {
    uint64_t executions = 0, redundant = 0; // `redundant`: cut short, being explored already
    uint64_t steps = 0;
    double seconds = 0;
    const char *ended = "exhausted"; // or failed, time, executions, interrupted, open
    bool exhausted = false;          // and nothing failed
    engine::Failure failure;
    Path path; // of the execution that failed
};

Outcome explore(World &world, const Program &program, const Limits &limits = {});
// For a program that needs nothing of the world but the platform layer.
Outcome explore(const Program &program, Model model, const Limits &limits = {});

// One execution again, told. Throws std::invalid_argument if the path is not one of the program's.
Outcome replay(World &world, const Program &program, const Path &path, ExecutionTrace &trace);

} // namespace ol::check
#endif
