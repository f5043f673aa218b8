// SPDX-License-Identifier: MIT
#ifndef OL_CHECK_TRACE_H
#define OL_CHECK_TRACE_H
// The steps of one execution. Recorded only on request: an execution that failed is run again.
#include <check/engine/world.h>

#include <string>
#include <vector>

namespace ol::check {

struct TraceEvent {
    std::string context; // its name in a path: 1, b1, k1
    engine::Place place{};
    std::string what;
    std::string op, order, object; // of an access
    unsigned width = 0;
    std::string before, after;
    std::vector<const char *> doing; // every context, after this step
    bool is_mark = false;
};
using ExecutionTrace = std::vector<TraceEvent>;

} // namespace ol::check
#endif
