/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "watch.h"
#include "ending.h"
#include "kept.h"
#include "refusal.h"
#include "slices.skel.h"
#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static const char *const words[WAYS] = {
	[WAY_DIRECT] = "by the scheduler, while it switches",
	[WAY_COPY] = "by overlock-hostd, which copies it",
};

const char *watch_way(enum way way)
{
	return words[way];
}

const char *watch_ending(const struct watch *watch)
{
	return ending_words(watch->programs->bss->ending, watch->ticks);
}

static bool refused(struct watch *watch, enum way way, const char *what, int error)
{
	const char *reason = refusal(error);

	snprintf(watch->why, sizeof(watch->why), "%s: %s%s%.150s", words[way], what,
		 *reason ? ": " : "", reason);
	return false;
}

static bool is_kept(int map)
{
	struct bpf_map_info info = { 0 };
	__u32 size = sizeof(info);

	return !bpf_obj_get_info_by_fd(map, &info, &size) && !strcmp(info.name, KEPT_MAP_NAME) &&
	       info.value_size == sizeof(struct kept);
}

/* The newest map of that name: an earlier one is of a scheduler that has ended. -1: there is none. */
static int find_kept(void)
{
	int found = -1;

	for (__u32 id = 0; !bpf_map_get_next_id(id, &id);) {
		int map = bpf_map_get_fd_by_id(id), other = map;

		if (map >= 0 && is_kept(map)) {
			other = found;
			found = map;
		}
		if (other >= 0)
			close(other);
	}
	return found;
}

/* Has overlock-sched one, for us to read? */
static bool take_kept(struct bpf_map *ours)
{
	int fd = find_kept();
	bool taken = fd >= 0 && !bpf_map__reuse_fd(ours, fd);

	if (fd >= 0)
		close(fd);
	return taken;
}

static bool load(struct watch *watch, enum way way, unsigned threads, const struct how *how)
{
	struct slices_bpf *programs = slices_bpf__open();

	watch->programs = programs;
	if (!programs)
		return refused(watch, way, "BPF cannot be opened", errno);
	if (way == WAY_DIRECT && !programs->rodata->lends)
		return refused(watch, way, "overlock-hostd was built with a clang before 15", 0);
	programs->rodata->direct = way == WAY_DIRECT;
	programs->rodata->publisher = way == WAY_COPY ? (__u32)gettid() : 0;
	programs->rodata->slice_ns = how->slice_ns;
	programs->rodata->shift = how->shift;
	programs->rodata->full = how->full;
	programs->rodata->clock_tick_ns = 1000000000ull / (__u64)sysconf(_SC_CLK_TCK);
	programs->rodata->tick_function = ending_tick();
	watch->ticks = programs->rodata->tick_function;
	bpf_program__set_autoload(programs->progs.ticked, watch->ticks);
	bpf_program__set_autoload(programs->progs.kept_on, take_kept(programs->maps.kept));
	bpf_map__set_autocreate(programs->maps.places_on_page, way == WAY_DIRECT);
	bpf_map__set_max_entries(programs->maps.places, threads);
	bpf_map__set_max_entries(programs->maps.records, threads);
	if (slices_bpf__load(programs))
		return refused(watch, way, "the kernel does not take it", errno);
	watch->bytes = (threads * sizeof(struct watched) + 4095) / 4096 * 4096;
	watch->records = mmap(NULL, watch->bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
			      bpf_map__fd(programs->maps.records), 0);
	if (watch->records == MAP_FAILED)
		return refused(watch, way, "its records cannot be mapped", errno);
	if (slices_bpf__attach(programs))
		return refused(watch, way, "it cannot be attached", errno);
	return true;
}

/* Goes off the CPU some times, and looks for what stands on a page of its own. */
static bool tried(struct watch *watch, enum way way, unsigned place)
{
	static struct ol_slice_entry mine __attribute__((aligned(64)));
	const struct timespec moment = { 0, 500000 };
	struct thread self;
	__u32 thread = (__u32)gettid();

	memset(&mine, 0, sizeof(mine));
	if (!thread_find(&self, gettid()) || !watch_thread(watch, place, &self, &mine))
		return refused(watch, way, "it cannot be told a thread", errno);
	for (int i = 0; i < 5; i++)
		nanosleep(&moment, NULL);
	bpf_map_delete_elem(bpf_map__fd(watch->programs->maps.places), &thread);
	if (!watch->records[place].counts.slices)
		return refused(watch, way,
			       "it does not see us; run in the host's own PID and time namespaces",
			       0);
	if (way == WAY_DIRECT && (!mine.id || mine.seq & 1 || mine.running != OL_SLICE_ON))
		return refused(watch, way, "nothing was written in a trial", 0);
	return true;
}

bool watch_open(struct watch *watch, unsigned threads, const struct how *how)
{
	libbpf_set_strict_mode(LIBBPF_STRICT_ALL);
	for (enum way way = how->first; way <= how->last; way++) {
		refusal_begin();
		/* One record more, for the trial. */
		if (load(watch, way, threads + 1, how) && tried(watch, way, threads)) {
			watch->way = way;
			return true;
		}
		watch_close(watch);
	}
	return false;
}

#ifndef PIDFD_THREAD
#define PIDFD_THREAD	O_EXCL /* Linux 6.9 */
#endif

/* The kernel pins the memory that the pointer leads to. */
static bool lend(struct watch *watch, pid_t thread, struct ol_slice_entry *entry)
{
	int fd = (int)syscall(SYS_pidfd_open, thread, PIDFD_THREAD), error;

	if (fd < 0)
		return false;
	error = bpf_map_update_elem(bpf_map__fd(watch->programs->maps.places_on_page), &fd, &entry,
				    BPF_ANY);
	close(fd);
	return !error;
}

bool watch_thread(struct watch *watch, unsigned i, const struct thread *thread,
		  struct ol_slice_entry *entry)
{
	bool direct = watch->programs->rodata->direct;
	const struct place place = { .start = thread->start, .record = i };
	__u32 key = (__u32)thread->id;

	return (!direct || lend(watch, thread->id, entry)) &&
	       !bpf_map_update_elem(bpf_map__fd(watch->programs->maps.places), &key, &place,
				    BPF_ANY);
}

bool watch_gone(const struct watch *watch, unsigned i)
{
	/* Acquires what the program wrote before: the entry, which is then copied once more. */
	return __atomic_load_n(&watch->records[i].gone, __ATOMIC_ACQUIRE);
}

void watch_detach(struct watch *watch)
{
	slices_bpf__detach(watch->programs);
}

void watch_close(struct watch *watch)
{
	if (watch->records && watch->records != MAP_FAILED)
		munmap(watch->records, watch->bytes);
	slices_bpf__destroy(watch->programs);
	watch->programs = NULL;
	watch->records = NULL;
}
