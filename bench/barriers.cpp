// SPDX-License-Identifier: MIT
// The barriers that the workload `rounds` measures: ours, the usual loops, and what one would use instead.
#include "barriers.h"

#include <barrier>
#include <meeting.h>
#include <pthread.h>

namespace
{

MEETING(pthread_barrier, pthread_barrier_t, (static_cast<void>(n), pthread_barrier_wait(b)))
MEETING(std_barrier, std::barrier<>, (static_cast<void>(n), b->arrive_and_wait()))

MEETING(gnu_openmp_barrier, char,
	(static_cast<void>(b), static_cast<void>(n), openmp_barrier_gnu()))
MEETING(llvm_openmp_barrier, char,
	(static_cast<void>(b), static_cast<void>(n), openmp_barrier_llvm()))

void ready_pthread_barrier(void *object)
{
	auto *m = static_cast<pthread_barrier_meeting *>(object);

	pthread_barrier_init(&m->at, nullptr, m->contexts);
}

void ready_std_barrier(void *object)
{
	auto *m = static_cast<std_barrier_meeting *>(object);

	new (&m->at) std::barrier<>(m->contexts);
}

#define BARRIER(id, where, source, what) constexpr ol_lock_ops id##_ops = MEETING_OPS(id, source, what);
#include <barriers.def>
#undef BARRIER

#define READY_any(id) nullptr
#define READY_user(id) ready_##id
#define READY_openmp(id) nullptr

} // namespace

const ol_peer ol_barriers[] = {
#define BARRIER(id, where, source, what) {&id##_ops, READY_##where(id)},
#include <barriers.def>
#undef BARRIER
	{ nullptr, nullptr },
};

ol_team *barrier_team(const ol_lock_ops *ops)
{
	if (ops == &gnu_openmp_barrier_ops)
		return openmp_team_gnu;
	return ops == &llvm_openmp_barrier_ops ? openmp_team_llvm : nullptr;
}
