// SPDX-License-Identifier: MIT
#if __cplusplus < 202002L
#error "overlock: wait.hpp needs C++20 (-std=c++20); what has C++11 alone takes the functions of the .h headers"
#elif !defined(OL_WAIT_HPP)
#define OL_WAIT_HPP
/*
 * The ways to wait in wait/ as C++20 classes. Those that the standard library has, too, have its names and members:
 *
 *	overlock::barrier meet(4);		meet.arrive_and_wait();
 *	overlock::latch ready(1);		ready.count_down();
 *	overlock::semaphore items(0);		items.acquire();
 *	overlock::wait_until(flag, [](uint32_t v) { return v > 2; });
 *
 * What gives up takes a std::chrono::duration, and returns false then.
 */
#include <overlock/chrono.hpp>
#include <overlock/wait/barrier.h>
#include <overlock/wait/event_count.h>
#include <overlock/wait/latch.h>
#include <overlock/wait/once.h>
#include <overlock/wait/semaphore.h>

#include <atomic>
#include <cstddef>
#include <functional>
#include <utility>

namespace overlock
{

namespace detail
{
struct nothing {
	void operator()() const noexcept
	{
	}
};

inline const uint32_t *word_of(const std::atomic<uint32_t> &a)
{
	static_assert(sizeof(a) == sizeof(uint32_t) && std::atomic<uint32_t>::is_always_lock_free);
	return reinterpret_cast<const uint32_t *>(&a);
}

/* Turns of a wait on an event count until `holds`, which may be any callable. */
template <class Predicate> bool waits(ol_event_count_t *e, Predicate &holds, ol_ticks_t until)
{
	return ol_event_count_timedwait(
		e, [](void *p) { return static_cast<bool>((*static_cast<Predicate *>(p))()); },
		&holds, until);
}
} // namespace detail

/* Waits until holds(value of `word`). Acquires. Whoever changes the word calls wake_all(word) or wake_one(word). */
template <class Predicate>
bool wait_until(const std::atomic<uint32_t> &word, Predicate holds, ol_ticks_t until = OL_NEVER)
{
	struct ol_waiting me;
	uint32_t seen;

	if (holds(word.load(std::memory_order_acquire)))
		return true;
	ol_wait_begin(&me, until);
	while (!holds(seen = word.load(std::memory_order_acquire)))
		if (!ol_wait_turn(&me, detail::word_of(word), seen, OL_ANY))
			return false;
	return true;
}

template <class Predicate, class Rep, class Period>
bool wait_for(const std::atomic<uint32_t> &word, const std::chrono::duration<Rep, Period> &patience,
	      Predicate holds)
{
	return wait_until(word, holds, detail::from_now(patience));
}

inline void wake_all(const std::atomic<uint32_t> &word)
{
	ol_wake_all(detail::word_of(word));
}

inline void wake_one(const std::atomic<uint32_t> &word)
{
	ol_wake(detail::word_of(word), OL_ANY, 1);
}

/* std::barrier, but an arrival can be taken back: arrive_and_wait_for(). `completed` must not throw. */
template <class Completion = detail::nothing> class barrier
{
      public:
	using arrival_token = uint32_t;

	explicit barrier(std::ptrdiff_t expected, Completion completed = Completion())
	    : expected_(static_cast<uint32_t>(expected)), completed_(std::move(completed))
	{
	}
	barrier(const barrier &) = delete;
	barrier &operator=(const barrier &) = delete;

	[[nodiscard]] arrival_token arrive(std::ptrdiff_t n = 1)
	{
		uint32_t sense = 0;

		while (n--)
			sense = arrived();
		return sense;
	}

	void wait(arrival_token sense)
	{
		ol_barrier_await(&raw_, expected(), sense, OL_NEVER);
	}

	void arrive_and_wait()
	{
		wait(arrive());
	}

	/* False: the time was over, and the arrival does not count. */
	template <class Rep, class Period>
	[[nodiscard]] bool arrive_and_wait_for(const std::chrono::duration<Rep, Period> &patience)
	{
		ol_ticks_t until = detail::from_now(patience);

		return ol_barrier_await(&raw_, expected(), arrive(), until);
	}

	/* Arrives, and is not expected in the rounds that follow. */
	void arrive_and_drop()
	{
		ol_add_relaxed(&dropped_, 1u); /* released by the arrival */
		(void)arrived();
	}

      private:
	uint32_t arrived()
	{
		bool last;
		uint32_t sense = ol_barrier_arrive(&raw_, expected(), &last);

		if (last) {
			completed_();
			ol_store_relaxed(&expected_, expected() - ol_xchg_relaxed(&dropped_, 0u));
			ol_barrier_open(&raw_, sense);
		}
		return sense;
	}

	/* Changes once all have arrived, when nobody can take an arrival back whatever it is. */
	uint32_t expected() const
	{
		return ol_load_relaxed(&expected_);
	}

	ol_barrier_t raw_ = OL_BARRIER_INIT;
	uint32_t expected_, dropped_ = 0;
	[[no_unique_address]] Completion completed_;
};

/* std::latch */
class latch
{
      public:
	explicit constexpr latch(std::ptrdiff_t expected) noexcept
	    : expected_(static_cast<uint32_t>(expected))
	{
	}
	latch(const latch &) = delete;
	latch &operator=(const latch &) = delete;

	void count_down(std::ptrdiff_t n = 1) noexcept
	{
		ol_latch_arrive(&raw_, static_cast<uint32_t>(n), expected_);
	}

	[[nodiscard]] bool try_wait() const noexcept
	{
		return ol_latch_is_open(&raw_, expected_);
	}

	void wait() const noexcept
	{
		ol_latch_wait(&raw_, expected_);
	}

	template <class Rep, class Period>
	[[nodiscard]] bool wait_for(const std::chrono::duration<Rep, Period> &patience) const
	{
		return ol_latch_timedwait(&raw_, expected_, detail::from_now(patience));
	}

	void arrive_and_wait(std::ptrdiff_t n = 1) noexcept
	{
		count_down(n);
		wait();
	}

      private:
	ol_latch_t raw_ = OL_LATCH_INIT;
	uint32_t expected_;
};

/* std::counting_semaphore */
class semaphore
{
      public:
	explicit constexpr semaphore(std::ptrdiff_t units) noexcept
	    : raw_{ static_cast<uint32_t>(units) }
	{
	}
	semaphore(const semaphore &) = delete;
	semaphore &operator=(const semaphore &) = delete;

	void acquire() noexcept
	{
		ol_semaphore_take(&raw_);
	}

	[[nodiscard]] bool try_acquire() noexcept
	{
		return ol_semaphore_trytake(&raw_);
	}

	template <class Rep, class Period>
	[[nodiscard]] bool try_acquire_for(const std::chrono::duration<Rep, Period> &patience)
	{
		return ol_semaphore_timedtake(&raw_, detail::from_now(patience));
	}

	void release(std::ptrdiff_t n = 1) noexcept
	{
		ol_semaphore_give(&raw_, static_cast<uint32_t>(n));
	}

      private:
	ol_semaphore_t raw_;
};

/* std::once_flag and std::call_once(). If the call throws, the next caller, or one that waits, calls again. */
class once_flag
{
      public:
	constexpr once_flag() noexcept = default;
	once_flag(const once_flag &) = delete;
	once_flag &operator=(const once_flag &) = delete;

	template <class F, class... Args> void call(F &&f, Args &&...args)
	{
		struct attempt {
			ol_once_t *of;
			bool done = false;

			~attempt()
			{
				ol_once_end(of, done);
			}
		};

		if (!ol_once_begin(&raw_))
			return;
		attempt now{ &raw_ };
		std::invoke(std::forward<F>(f), std::forward<Args>(args)...);
		now.done = true;
	}

      private:
	ol_once_t raw_ = OL_ONCE_INIT;
};

template <class F, class... Args> void call_once(once_flag &flag, F &&f, Args &&...args)
{
	flag.call(std::forward<F>(f), std::forward<Args>(args)...);
}

/* Waits for any condition. The predicate reads with acquire order what notifiers wrote with release order. */
class event_count
{
      public:
	constexpr event_count() noexcept = default;
	event_count(const event_count &) = delete;
	event_count &operator=(const event_count &) = delete;

	template <class Predicate> void wait(Predicate holds)
	{
		detail::waits(&raw_, holds, OL_NEVER);
	}

	template <class Rep, class Period, class Predicate>
	[[nodiscard]] bool wait_for(const std::chrono::duration<Rep, Period> &patience,
				    Predicate holds)
	{
		return detail::waits(&raw_, holds, detail::from_now(patience));
	}

	void notify_one() noexcept
	{
		ol_event_count_notify_one(&raw_);
	}

	void notify_all() noexcept
	{
		ol_event_count_notify_all(&raw_);
	}

      private:
	ol_event_count_t raw_ = OL_EVENT_COUNT_INIT;
};

} // namespace overlock
#endif
