// SPDX-License-Identifier: MIT
// Shared and exclusive; the class comes from a header beside it.
#include "shared.h"

namespace db {

void Latch::lock()
{
	for (int none = 0; !word_.compare_exchange_weak(none, exclusive, std::memory_order_acquire,
							std::memory_order_relaxed);
	     none = 0)
		;
}

void Latch::unlock()
{
	word_.fetch_sub(exclusive, std::memory_order_release);
}

void Latch::lock_shared()
{
	while (word_.fetch_add(1, std::memory_order_acquire) >= exclusive) {
		word_.fetch_sub(1, std::memory_order_relaxed);
		while (word_.load(std::memory_order_relaxed) >= exclusive)
			;
	}
}

void Latch::unlock_shared()
{
	word_.fetch_sub(1, std::memory_order_release);
}

} // namespace db
