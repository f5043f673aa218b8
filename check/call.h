// SPDX-License-Identifier: MIT
#ifndef OL_CHECK_CALL_H
#define OL_CHECK_CALL_H
// A call that code from outside makes of the checker, instead of the system or of a library; and
// what the files that answer such calls may do for it.
#include "world.h"

#include <span>

namespace ol::check {

// What the code did before is over.
struct Call {
    World &world;
    const void *pc;
    const uint64_t *frame;
    Place place; // in its source

    Call(const void *pc, const void *frame);
};
#define OL_CALL ol::check::Call(__builtin_return_address(0), __builtin_frame_address(0))

// instrumented.cpp
bool is_under_way(); // not so for constructors of a file, which run when it is loaded
uint8_t *tracked(const Call &call, const volatile void *p);   // where the world has it, or null
uint32_t *sleepers_word(const volatile void *word);           // the same, though it may be gone
uint8_t *thread_local_at(size_t offset);                      // of the running context
void announce(const Call &call, void *p, size_t size, Op op); // which the caller then does itself
// First of all that is more than to look: it may return twice, so nothing that owns memory may be
// alive in the caller.
void end_turns();
void hint(const Call &call); // that the code is in a loop that waits

// system_calls.cpp
void begin_system_calls();                    // an execution begins
int &error_of_caller();                       // errno
uint32_t id_of_caller();                      // as gettid() has it
constexpr int process_id = World::outside_id; // its first thread is none of the contexts
long system_call(const Call &call, long number, const std::array<long, 6> &arguments); // or -errno
long read_clock(const Call &call, long clock, void *to);
uint64_t now_ns(const Call &call, bool real_time);

// library_calls.cpp
std::span<const char *const> library_calls(); // which it answers: the linker renames them

} // namespace ol::check
#endif
