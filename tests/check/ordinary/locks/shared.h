// SPDX-License-Identifier: MIT
#pragma once
#include <atomic>

namespace db
{

class Latch
{
      public:
	void lock();
	void unlock();
	void lock_shared();
	void unlock_shared();

      private:
	static constexpr int exclusive = 1 << 20;
	std::atomic<int> word_ = 0;
};

} // namespace db
