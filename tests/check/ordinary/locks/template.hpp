// SPDX-License-Identifier: MIT
// A template with a default; operators rather than functions of std::atomic.
#pragma once
#include <atomic>
#include <cstdint>

template <typename Word = std::uint32_t> class TicketLock
{
      public:
	void lock()
	{
		Word mine = next_++;
		while (serving_ != mine)
			;
	}
	void unlock()
	{
		serving_++;
	}

      private:
	std::atomic<Word> next_{ 0 }, serving_{ 0 };
};
