/* SPDX-License-Identifier: MIT */
/* The platform's state in the process, and the one constructor that sets it up. */
#define OL_POLL_HOOK
#include "internal.h"

#include <pthread.h>

static uint64_t wait_array[OL_WAIT_SLOTS] __attribute__((aligned(128)));

/*
 * Usable before the constructor has run, by the constructors of other objects: the clock ticks in
 * ns until then, and so do the presets.
 */
static struct ol_world world = {
	.abi = OL_ABI,
	.size = sizeof(struct ol_world),
	.wait_array = wait_array,
	.tuning = {
#define OL_TUNABLE(name, unit, preset, ...) .name = preset,
#include <overlock/tunables.def>
#undef OL_TUNABLE
	},
};
struct ol_world *const ol_world = &world;
_Static_assert(sizeof(struct ol_tuning) <= sizeof(world.tuning_room),
	       "a tunable too many: a larger room is another ABI (ABI.md)");

void (*ol_poll_hook)(ol_ticks_t until);

void ol_on_poll(void (*hook)(ol_ticks_t until))
{
	ol_poll_hook = hook;
}

struct ol_world *ol_world_for_writing(void)
{
	return &world;
}

static void child(void)
{
	ol_context_renew();
#ifdef OL_COUNTED
	ol_sites_renew();
#endif
}

void ol_watch_forks(void)
{
	static uint32_t watched;

	if (!ol_xchg_relaxed(&watched, 1u))
		pthread_atfork(0, 0, child);
}

/* 101 is the first priority that is not the implementation's. */
__attribute__((constructor(101))) static void start(void)
{
	ol_calibrate(&world);
	ol_tuning_start();
	ol_knowledge_start();
	ol_context_start();
#ifdef OL_COUNTED
	ol_sites_start();
#endif
	ol_watch_forks();
}
