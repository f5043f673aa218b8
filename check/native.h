// SPDX-License-Identifier: MIT
#ifndef OL_CHECK_NATIVE_H
#define OL_CHECK_NATIVE_H
// An execution that the checker has found, on real threads: each is a context, does real atomic
// operations, and is let on only when it is its turn in that execution.
#include "client.h"
#include "trace.h"

namespace ol::check {

struct NativeRun {
    std::string property, how;   // what went wrong; empty: nothing did
    size_t followed = 0, of = 0; // steps
    std::string left;            // why the threads did not follow it to its end
};

// Whether its clients are written for real threads, too.
bool runs_natively(Scenario scenario);

// What waits for ever goes on to do so: the program can only end.
NativeRun run_natively(const ol_lock_ops &ops, const Setting &setting, const ol_tuning &tuning,
                       uint32_t first_word, const ExecutionTrace &trace);

} // namespace ol::check
#endif
