// SPDX-License-Identifier: MIT
// Abseil's Mutex, and its CondVar, with their semaphores on the futex. Needs the headers of the same version:
// Debian's libabsl-dev. A context has an identity of its own; a turn of a loop that waits is one of the
// checker's, of which the first gives up, as it spins. Clocks, timeouts, debugging and the graph of deadlocks are not there.
// brings: absl/synchronization/mutex.cc
// brings: absl/synchronization/internal/waiter.h
// brings: absl/synchronization/internal/waiter.cc absl/synchronization/internal/per_thread_sem.cc
// replaces: (?s)const MutexGlobals &GetMutexGlobals\(\) \{.*?\n\}\n => const MutexGlobals &GetMutexGlobals() { static const MutexGlobals none; return none; }\n
// replaces: (?s)int MutexDelay\(int32_t c, int mode\) \{.*?\n\}\n => int MutexDelay(int32_t c, int) { c ? ol_checked_spin_endlessly() : ol_checked_spin(); return c + 1; }\n
// replaces: (?s)static absl::Time DeadlineFromTimeout.*?\n\}\n => static absl::Time DeadlineFromTimeout(absl::Duration) { return absl::InfiniteFuture(); }\n
// replaces: \(absl::Symbolize\) =>
#undef __SANITIZE_THREAD__ /* its annotations are not ours */
#define NDEBUG
#include <overlock/checked.h>

#include <linux/futex.h>
#include <sys/syscall.h>

#include <algorithm>
#include <atomic>
#include <cassert>
#include <cerrno>
#include <cinttypes>
#include <cstring>
#include <new>
#include <thread>

#define CurrentThreadIdentityIfPresent ol_of_the_thread
#include <absl/base/internal/thread_identity.h>
#undef CurrentThreadIdentityIfPresent
#include <absl/base/call_once.h>
#include <absl/base/internal/atomic_hook.h>
#include <absl/base/internal/hide_ptr.h>
#include <absl/base/internal/low_level_alloc.h>
#include <absl/base/internal/raw_logging.h>
#include <absl/base/internal/spinlock.h>
#include <absl/base/internal/tsan_mutex_interface.h>
#undef ABSL_RAW_LOG
#undef ABSL_RAW_CHECK
#define ABSL_RAW_LOG(level, ...)	ol_checked_fail("Abseil logs " #level)
#define ABSL_RAW_CHECK(x, what)		((x) ? (void)0 : ol_checked_fail("Abseil's check: " #x))

/* The mutex has flags in the low byte of a pointer to one. */
static struct alignas(absl::base_internal::PerThreadSynch::kAlignment) Identity : absl::base_internal::ThreadIdentity {
} identities[16];

namespace absl {
ABSL_NAMESPACE_BEGIN
namespace base_internal {
struct CycleClock {
	static int64_t Now() { return 0; }
	static double Frequency() { return 1; }
};

static ThreadIdentity *CurrentThreadIdentityIfPresent()
{
	return &identities[ol_checked_self()];
}
} // namespace base_internal
ABSL_NAMESPACE_END
} // namespace absl
#include <absl/synchronization/mutex.h>

namespace absl {
ABSL_NAMESPACE_BEGIN
static int GetStackTrace(void **, int, int)
{
	return 0;
}
namespace synchronization_internal {
struct GraphId {
	uint64_t handle;
	bool operator==(GraphId g) const { return handle == g.handle; }
	bool operator!=(GraphId g) const { return handle != g.handle; }
};
static GraphId InvalidGraphId()
{
	return {0};
}
struct GraphCycles {
	GraphId GetId(void *) { return {0}; }
	void RemoveNode(void *) {}
	void *Ptr(GraphId) { return nullptr; }
	bool InsertEdge(GraphId, GraphId) { return true; }
	void UpdateStackTrace(GraphId, int, int (*)(void **, int)) {}
	int FindPath(GraphId, GraphId, int, GraphId *) { return 0; }
	int GetStackTrace(GraphId, void ***) { return 0; }
	bool IsReachable(GraphId, GraphId) { return false; }
};
struct Futex {
	static int WaitUntil(std::atomic<int32_t> *word, int32_t value, KernelTimeout)
	{
		return ol_checked_futex_wait(word, static_cast<unsigned>(value), ~0u, false);
	}
	static int Wake(std::atomic<int32_t> *word, int n)
	{
		return ol_checked_futex_wake(word, n, ~0u);
	}
};
} // namespace synchronization_internal
ABSL_NAMESPACE_END
} // namespace absl
#define ABSL_FORCE_WAITER_MODE	ABSL_WAITER_MODE_FUTEX
#include "waiter.h"
#include "waiter.cc"
#include "per_thread_sem.cc"
#include "mutex.cc"


/* What is for debugging and timeouts alone. */
namespace absl {
ABSL_NAMESPACE_BEGIN
int64_t ToUnixNanos(Time)
{
	ol_checked_fail("a time");
}
namespace base_internal {
void *LowLevelAlloc::Alloc(size_t)
{
	ol_checked_fail("an allocation");
}
void LowLevelAlloc::Free(void *)
{
	ol_checked_fail("an allocation");
}
void SpinLock::SlowLock()
{
	ol_checked_fail("a spin lock");
}
void SpinLock::SlowUnlock(uint32_t)
{
	ol_checked_fail("a spin lock");
}
} // namespace base_internal
namespace synchronization_internal {
base_internal::ThreadIdentity *CreateThreadIdentity()
{
	ol_checked_fail("a thread without an identity");
}
} // namespace synchronization_internal
ABSL_NAMESPACE_END
} // namespace absl

struct both {
	absl::Mutex mutex;
	absl::CondVar cond;
};

static void start(void *o)
{
	for (auto &identity : identities) {
		new (&identity) Identity();
		auto *waiter = absl::synchronization_internal::Waiter::GetWaiter(&identity);
		new (waiter) absl::synchronization_internal::Waiter();
	}
	new (o) both;
}

static void lock(void *o)
{
	static_cast<both *>(o)->mutex.Lock();
}

static bool try_to_lock(void *o)
{
	return static_cast<both *>(o)->mutex.TryLock();
}

static void release(void *o)
{
	static_cast<both *>(o)->mutex.Unlock();
}

static void lock_shared(void *o)
{
	static_cast<both *>(o)->mutex.ReaderLock();
}

static void release_shared(void *o)
{
	static_cast<both *>(o)->mutex.ReaderUnlock();
}

static void wait(void *o)
{
	static_cast<both *>(o)->cond.Wait(&static_cast<both *>(o)->mutex);
}

static void wake_one(void *o)
{
	static_cast<both *>(o)->cond.Signal();
}

static void wake_all(void *o)
{
	static_cast<both *>(o)->cond.SignalAll();
}

extern "C" const struct ol_checked_lock overlock_checked = {
	.name = "Abseil Mutex and CondVar",
	.size = sizeof(both),
	.init = start,
	.lock = lock,
	.unlock = release,
	.trylock = try_to_lock,
	.read_lock = lock_shared,
	.read_unlock = release_shared,
	.wait = wait,
	.signal = wake_one,
	.broadcast = wake_all,
};
