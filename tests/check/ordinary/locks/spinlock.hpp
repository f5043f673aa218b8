// SPDX-License-Identifier: MIT
// BasicLockable, in a namespace, with a constructor.
#pragma once
#include <atomic>

namespace app
{
namespace detail
{

class SpinLock
{
      public:
	explicit SpinLock(bool held = false) : held_(held)
	{
	}
	SpinLock(const SpinLock &) = delete;
	SpinLock &operator=(const SpinLock &) = delete;

	void lock() noexcept
	{
		while (!try_lock())
			while (held_.load(std::memory_order_relaxed))
				;
	}
	bool try_lock() noexcept
	{
		return !held_.exchange(true, std::memory_order_acquire);
	}
	void unlock() noexcept
	{
		held_.store(false, std::memory_order_release);
	}

      private:
	std::atomic<bool> held_;
};

} // namespace detail
} // namespace app
