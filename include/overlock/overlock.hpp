// SPDX-License-Identifier: MIT
#if __cplusplus < 202002L
#error "overlock: overlock.hpp needs C++20 (-std=c++20); what has C++11 alone takes the functions of the .h headers"
#elif !defined(OL_OVERLOCK_HPP)
#define OL_OVERLOCK_HPP
/*
 * The locks as C++20 Lockables, for std::lock_guard, std::unique_lock and std::scoped_lock, and a condition
 * variable for them:
 *
 *	overlock::mutex lock;
 *	std::lock_guard guard(lock);
 *
 * Those that can give up are TimedLockable too, and one that readers may share is SharedLockable, for
 * std::shared_lock; the others have none of these functions. All are constant-initialised, so a lock
 * with static storage is ready before any constructor runs. Nothing here throws or asks for a type at
 * run time: -fno-exceptions and -fno-rtti are as good.
 */
#include <overlock/chrono.hpp>
#include <overlock/overlock.h>

#include <concepts>
#include <condition_variable> // std::cv_status
#include <cstdint>
#include <optional>

namespace overlock
{

/* The analysis sees what the wrappers promise, not what they are made of. */
#define OL_UNCHECKED	OL_ANNOTATE(no_thread_safety_analysis)

/* The standard's Lockable and TimedLockable, for locks from anywhere. */
template <class L>
concept lockable = requires(L &l) {
	l.lock();
	l.unlock();
	{ l.try_lock() } -> std::convertible_to<bool>;
};
template <class L>
concept timed_lockable = lockable<L> && requires(L &l, std::chrono::nanoseconds patience,
						 std::chrono::steady_clock::time_point until) {
	{ l.try_lock_for(patience) } -> std::convertible_to<bool>;
	{ l.try_lock_until(until) } -> std::convertible_to<bool>;
};

/* The standard's SharedLockable, beside them. */
template <class L>
concept shared_lockable = lockable<L> && requires(L &l) {
	l.lock_shared();
	l.unlock_shared();
	{ l.try_lock_shared() } -> std::convertible_to<bool>;
};

/* Traits of a lock that can give up. */
template <class Traits>
concept gives_up = requires(typename Traits::type *l, ol_ticks_t until) {
	{ Traits::timedlock(l, until) } -> std::same_as<bool>;
};

/* Traits of a lock that readers may share. */
template <class Traits>
concept has_readers = requires(typename Traits::type *l) {
	Traits::read_lock(l);
	Traits::read_unlock(l);
	{ Traits::read_trylock(l) } -> std::same_as<bool>;
};

namespace detail
{
/* Known of our locks, and of a std::unique_lock of one; nobody else's can tell. */
template <class Lock> std::optional<bool> is_locked(Lock &lock)
{
	if constexpr (requires { lock.is_locked(); })
		return lock.is_locked();
	else if constexpr (requires { lock.mutex()->is_locked(); })
		return lock.mutex()->is_locked();
	else
		return std::nullopt;
}
} // namespace detail

template <class Traits> class OL_CAPABILITY lock_of
{
      public:
	using native_handle_type = typename Traits::type *;

	constexpr lock_of() noexcept = default;
	lock_of(const lock_of &) = delete;
	lock_of &operator=(const lock_of &) = delete;

	void lock() noexcept OL_ACQUIRES() OL_UNCHECKED
	{
		Traits::lock(&raw);
	}

	[[nodiscard]] bool try_lock() noexcept
		OL_ANNOTATE(try_acquire_capability(true)) OL_UNCHECKED
	{
		return Traits::trylock(&raw);
	}

	void unlock() noexcept OL_RELEASES() OL_UNCHECKED
	{
		Traits::unlock(&raw);
	}

	template <class Rep, class Period>
		requires gives_up<Traits>
	[[nodiscard]] bool try_lock_for(const std::chrono::duration<Rep, Period> &patience)
		OL_ANNOTATE(try_acquire_capability(true)) OL_UNCHECKED
	{
		return Traits::timedlock(&raw, detail::from_now(patience));
	}

	/* Looks at `Clock` again before it gives up: that clock may have been set. */
	template <class Clock, class Duration>
		requires gives_up<Traits>
	[[nodiscard]] bool try_lock_until(const std::chrono::time_point<Clock, Duration> &until)
		OL_ANNOTATE(try_acquire_capability(true)) OL_UNCHECKED
	{
		auto left = until - Clock::now();

		while (!Traits::timedlock(&raw, detail::from_now(left))) {
			left = until - Clock::now();
			if (left <= left.zero())
				return false;
		}
		return true;
	}

	void lock_shared() noexcept
		requires has_readers<Traits>
	OL_ANNOTATE(acquire_shared_capability())
	OL_UNCHECKED
	{
		Traits::read_lock(&raw);
	}

	[[nodiscard]] bool try_lock_shared() noexcept
		requires has_readers<Traits>
	OL_ANNOTATE(try_acquire_shared_capability(true))
	OL_UNCHECKED
	{
		return Traits::read_trylock(&raw);
	}

	void unlock_shared() noexcept
		requires has_readers<Traits>
	OL_ANNOTATE(release_shared_capability())
	OL_UNCHECKED
	{
		Traits::read_unlock(&raw);
	}

	/* Relaxed: true may be old news. */
	[[nodiscard]] bool is_locked() const noexcept
	{
		return Traits::is_locked(&raw);
	}

	[[nodiscard]] bool is_contended() const noexcept
	{
		return Traits::is_contended(&raw);
	}

	native_handle_type native_handle() noexcept
	{
		return &raw;
	}

      private:
	typename Traits::type raw{};
};

#define OL_TRAITS_timed(id)                                                                        \
	static bool timedlock(type *l, ol_ticks_t until) noexcept OL_UNCHECKED                     \
	{                                                                                          \
		return ol_##id##_timedlock(l, until);                                              \
	}
#define OL_TRAITS_waits(id)
/* There if the lock's header has it. Looked up when it is asked for, in `L`: nobody need list them. */
#define OL_TRAITS_read(id, what)                                                                   \
	template <class L>                                                                         \
		requires requires(L *l) { ol_##id##_read_##what(l); }                              \
	static auto read_##what(L *l) noexcept OL_UNCHECKED                                        \
	{                                                                                          \
		return ol_##id##_read_##what(l);                                                   \
	}
#define OL_LOCK(id, timing, traits, source, what)                                                  \
	struct id##_traits {                                                                       \
		using type = ol_##id##_t;                                                          \
		static void lock(type *l) noexcept OL_UNCHECKED                                    \
		{                                                                                  \
			ol_##id##_lock(l);                                                         \
		}                                                                                  \
		static bool trylock(type *l) noexcept OL_UNCHECKED                                 \
		{                                                                                  \
			return ol_##id##_trylock(l);                                               \
		}                                                                                  \
		static void unlock(type *l) noexcept OL_UNCHECKED                                  \
		{                                                                                  \
			ol_##id##_unlock(l);                                                       \
		}                                                                                  \
		static bool is_locked(const type *l) noexcept                                      \
		{                                                                                  \
			return ol_##id##_is_locked(l);                                             \
		}                                                                                  \
		static bool is_contended(const type *l) noexcept                                   \
		{                                                                                  \
			return ol_##id##_is_contended(l);                                          \
		}                                                                                  \
		OL_TRAITS_##timing(id)                                                             \
		OL_TRAITS_read(id, lock)                                                           \
		OL_TRAITS_read(id, trylock)                                                        \
		OL_TRAITS_read(id, unlock)                                                         \
	};                                                                                         \
	using id = lock_of<id##_traits>;
#include <overlock/locks.def>
#undef OL_LOCK
#undef OL_TRAITS_timed
#undef OL_TRAITS_waits
#undef OL_TRAITS_read

/* Names that locks had. */
#define OL_ALIAS(old, id) using old = id;
#include <overlock/aliases.def>
#undef OL_ALIAS

/* For those who do not want to choose a lock. */
using mutex = rota;

/*
 * std::condition_variable_any without its mutex and its allocation, and without a crowd on notify_all(): see
 * cond.h. `Lock` is one of the locks above, a std::unique_lock of one, or whatever else has lock() and unlock().
 */
class condition_variable
{
      public:
	using native_handle_type = ol_cond_t *;

	constexpr condition_variable() noexcept = default;
	condition_variable(const condition_variable &) = delete;
	condition_variable &operator=(const condition_variable &) = delete;

	void notify_one() noexcept
	{
		ol_cond_signal(&raw);
	}

	void notify_all() noexcept
	{
		ol_cond_broadcast(&raw);
	}

	template <class Lock> void wait(Lock &lock)
	{
		wait_until_tick(lock, OL_NEVER);
	}

	template <class Lock, class Predicate> void wait(Lock &lock, Predicate holds)
	{
		while (!holds())
			wait(lock);
	}

	template <class Lock, class Rep, class Period>
	std::cv_status wait_for(Lock &lock, const std::chrono::duration<Rep, Period> &patience)
	{
		return wait_until_tick(lock, detail::from_now(patience))
			       ? std::cv_status::no_timeout
			       : std::cv_status::timeout;
	}

	template <class Lock, class Rep, class Period, class Predicate>
	bool wait_for(Lock &lock, const std::chrono::duration<Rep, Period> &patience,
		      Predicate holds)
	{
		const ol_ticks_t until = detail::from_now(patience);

		while (!holds())
			if (!wait_until_tick(lock, until))
				return holds();
		return true;
	}

	/* A clock that was set meanwhile may say that the time has not come; that is a spurious wake-up. */
	template <class Lock, class Clock, class Duration>
	std::cv_status wait_until(Lock &lock, const std::chrono::time_point<Clock, Duration> &until)
	{
		wait_for(lock, until - Clock::now());
		return Clock::now() < until ? std::cv_status::no_timeout : std::cv_status::timeout;
	}

	template <class Lock, class Clock, class Duration, class Predicate>
	bool wait_until(Lock &lock, const std::chrono::time_point<Clock, Duration> &until,
			Predicate holds)
	{
		while (!holds())
			if (wait_until(lock, until) == std::cv_status::timeout)
				return holds();
		return true;
	}

	native_handle_type native_handle() noexcept
	{
		return &raw;
	}

      private:
	template <class Lock> bool wait_until_tick(Lock &lock, ol_ticks_t until) OL_UNCHECKED
	{
		ol_node *node = ol_cond_prepare(&raw);

		lock.unlock();
		uint32_t woken = ol_cond_sleep(&raw, node, until);
		if (detail::is_locked(lock) == true)
			ol_cond_give_way(woken);
		if (detail::is_locked(lock) == false)
			woken = ol_cond_relay(&raw, woken);
		lock.lock();
		return ol_cond_finish(&raw, woken);
	}

	ol_cond_t raw{};
};
#undef OL_UNCHECKED

} // namespace overlock
#endif
