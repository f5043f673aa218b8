/* SPDX-License-Identifier: MIT */
/* Not here: Abseil's spinlock, which is in its internal namespace, for nobody else to use. */
#include "lock.h"
#include <absl/synchronization/mutex.h>
#include <new>

/*
 * A library compiled without NDEBUG, as Debian's is, looks for lock cycles at every acquisition,
 * under one lock for the whole process. Releases do not, and are what is compared.
 */
static void absl_init(absl::Mutex *mutex)
{
	absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
	new (mutex) absl::Mutex;
}

PEER_LOCK(absl_mutex, absl::Mutex, absl_init(l), l->Lock(), l->TryLock(), l->Unlock())

#include "table.h"
