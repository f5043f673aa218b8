// SPDX-License-Identifier: MIT
// The hapax lock of Dice and Kogan with visible waiters, as JerryMouseZ/mutexbench has it. A hapax is taken
// from the allocator each time, since the checker's contexts are one thread and would share the thread's.
// brings: locks/hapax.hpp
// replaces: static constinit thread_local std::uint64_t PrivateHapax = 0; => const std::uint64_t PrivateHapax = 0;
// replaces: PrivateHapax\+\+ => PrivateHapax
// replaces: (?s)assert\(hapax \+ 1 >= PrivateHapax\);\s*PrivateHapax = hapax \+ 1; =>
// replaces: kWaitingArraySize = 4096 => kWaitingArraySize = OL_SLOTS
// replaces: alignas\(4096\) static Slot waiting_array\[kWaitingArraySize\]\{\}; => static Slot waiting_array[kWaitingArraySize];
#include <overlock/checked.h>

#include <atomic>
#include <cassert>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <thread>
#include <utility>

#ifndef OL_SLOTS
#define OL_SLOTS	8
#endif
#define _mm_pause()	ol_checked_spin_endlessly()
#include "hapax.hpp"

static HapaxVW::LockState states[16];

static void lock(void *o)
{
	states[ol_checked_self()] = static_cast<HapaxVW *>(o)->lock();
}

static void release(void *o)
{
	static_cast<HapaxVW *>(o)->unlock(states[ol_checked_self()]);
}

extern "C" const struct ol_checked_lock overlock_checked = {
	.name = "hapax lock with visible waiters",
	.size = sizeof(HapaxVW),
	.lock = lock,
	.unlock = release,
};
