// SPDX-License-Identifier: MIT
// What C++20 waits on, as the installed library has it: KIND is an atomic, a flag, a semaphore, a latch, a barrier; and
// a variable of a function that is initialised once. MUTANT: a fault.
#include <atomic>
#include <barrier>
#include <latch>
#include <new>
#include <overlock/checked.h>
#include <semaphore>

enum { atomic, flag, counting, binary, one_latch, one_barrier, once };
enum { none, wakes_nobody, throws, leaves_once };
#ifndef KIND
#define KIND atomic
#endif
#ifndef MUTANT
#define MUTANT none
#endif
#define IS(mutant)	(MUTANT == (mutant))

namespace
{

/* 0 free, 1 held, 2 held and wanted */
struct Atomic {
	std::atomic<int> state{ 0 };

	void lock()
	{
		int seen = 0;

		if (state.compare_exchange_strong(seen, 1, std::memory_order_acquire))
			return;
		while (state.exchange(2, std::memory_order_acquire))
			state.wait(2, std::memory_order_relaxed);
	}
	void unlock()
	{
		if (state.exchange(0, std::memory_order_release) == 2 && !IS(wakes_nobody))
			state.notify_one();
	}
};

/* Its waits are for a byte: the library waits for a counter of its own. */
struct Flag {
	std::atomic_flag held;

	void lock()
	{
		while (held.test_and_set(std::memory_order_acquire))
			held.wait(true, std::memory_order_relaxed);
	}
	void unlock()
	{
		if (IS(throws))
			throw 1;
		held.clear(std::memory_order_release);
		if (!IS(wakes_nobody))
			held.notify_one();
	}
};

template <class T> struct Semaphore {
	T units{ 1 };

	void lock()
	{
		units.acquire();
	}
	void unlock()
	{
		units.release();
	}
};

/* The first two wait for each other, then it is a flag. */
template <class T> struct Meeting : Flag {
	T both{ 2 };

	void lock()
	{
		if (ol_checked_self())
			both.arrive_and_wait();
		Flag::lock();
	}
};

/* Its second variable has a constructor that takes steps. */
struct Once : Flag {
	struct Value {
		std::atomic<int> begun{ 0 };
		int done;

		Value()
		{
			begun.store(1, std::memory_order_relaxed);
			done = begun.load(std::memory_order_relaxed);
		}
	};

	void lock()
	{
		static Value value;

		if (value.done != !IS(leaves_once))
			ol_checked_fail("it is not initialised");
		Flag::lock();
	}
};

template <int kind> struct Of {
	using type = Atomic;
};
template <> struct Of<flag> {
	using type = Flag;
};
template <> struct Of<counting> {
	using type = Semaphore<std::counting_semaphore<>>;
};
template <> struct Of<binary> {
	using type = Semaphore<std::binary_semaphore>;
};
template <> struct Of<one_latch> {
	using type = Meeting<std::latch>;
};
template <> struct Of<one_barrier> {
	using type = Meeting<std::barrier<>>;
};
template <> struct Of<once> {
	using type = Once;
};
using Lock = Of<KIND>::type;

} // namespace

static void init(void *o)
{
	new (o) Lock;
}

static void lock(void *o)
{
	static_cast<Lock *>(o)->lock();
}

static void unlock(void *o)
{
	static_cast<Lock *>(o)->unlock();
}

extern "C" const struct ol_checked_lock overlock_checked = {
	.name = "waits",
	.size = sizeof(Lock),
	.init = init,
	.lock = lock,
	.unlock = unlock,
};
