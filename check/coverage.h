// SPDX-License-Identifier: MIT
#ifndef OL_CHECK_COVERAGE_H
#define OL_CHECK_COVERAGE_H
// Which basic blocks of the locks were executed. The compiler begins each with a call
// (-fsanitize-coverage=trace-pc); overlock_tools/check/coverage.py turns the calls' addresses
// into source lines.
#include <cstdint>
#include <vector>

namespace ol::check {

class Coverage {
public:
    // Of a loaded object, by its handle from dlopen(); of this program, if it is null.
    explicit Coverage(void *shared_object);
    ~Coverage();
    Coverage(const Coverage &) = delete;
    Coverage &operator=(const Coverage &) = delete;

    // Where calls returned to, in ascending order, as addresses in the object's file.
    std::vector<uintptr_t> reached() const;

private:
    uintptr_t loaded_at_;
    std::vector<uint8_t> seen_; // by distance from the beginning of the code
};

// Calls this now and then amid the code, with where it is.
void watch_code(void (*look)(uintptr_t pc));

} // namespace ol::check
#endif
