/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef OL_SLICE_READER_H
#define OL_SLICE_READER_H
/*
 * The reader's side of the slice page: what may be concluded from it. On the platform layer, so
 * that a guest's kernel and a thread of the host read alike. The writer of the page is not trusted:
 * whatever it holds, a reader reads nothing outside it, never waits, and at worst believes a wrong end.
 */
#include <overlock/port.h>
#include <overlock/slice_page.h>

/* A page, as it was found when it was mapped: a host that changes it later moves nothing. */
struct ol_slice_map {
	const struct ol_slice_page *page;
	uint32_t first, stride, entries;
};

/* False if the memory, `size` bytes of it, holds no page that we understand. */
static inline bool ol_slice_map_open(struct ol_slice_map *map, const void *memory, uint64_t size)
{
	const struct ol_slice_page *page = (const struct ol_slice_page *)memory;
	uint64_t told;

	if (size < sizeof(*page) || ol_load_acquire(&page->magic) != OL_SLICE_PAGE_MAGIC ||
	    ol_load_relaxed(&page->version) != OL_SLICE_PAGE_VERSION)
		return false;
	map->page = page;
	map->first = ol_load_relaxed(&page->first);
	map->stride = ol_load_relaxed(&page->stride);
	map->entries = ol_load_relaxed(&page->entries);
	told = ol_load_relaxed(&page->size);
	return told <= size && map->first >= sizeof(*page) && map->first % 8 == 0 &&
	       map->stride >= sizeof(struct ol_slice_entry) && map->stride % 8 == 0 &&
	       map->first + (uint64_t)map->stride * map->entries <= told;
}

static inline const struct ol_slice_entry *ol_slice_entry(const struct ol_slice_map *map,
							  uint32_t i)
{
	if (i >= map->entries)
		return 0;
	return (const struct ol_slice_entry *)((const char *)map->page + map->first +
					       (uint64_t)map->stride * i);
}

#ifndef OL_SLICE_TRIES
#define OL_SLICE_TRIES	8	/* a writer needs some ns; one that was stopped half-way may need for ever */
#endif

/*
 * A whole entry, or false. The loads are acquiring, so that the second look at `seq` comes last. No
 * ol_relax() between the tries: where polls are counted it asks for the slice, and would come here.
 */
static inline bool ol_slice_read(const struct ol_slice_entry *there, struct ol_slice_entry *copy)
{
	unsigned tries;

	for (tries = 0; tries < OL_SLICE_TRIES; tries++) {
		uint32_t seq = ol_load_acquire(&there->seq);

		copy->running = ol_load_acquire(&there->running);
		copy->id = ol_load_acquire(&there->id);
		copy->begin = ol_load_acquire(&there->begin);
		copy->end = ol_load_acquire(&there->end);
		copy->sure = ol_load_acquire(&there->sure);
		copy->published = ol_load_acquire(&there->published);
		if (!(seq & 1) && ol_load_relaxed(&there->seq) == seq)
			return true;
	}
	return false;
}

/* Does the host still tell, by its time `host_now`? Not if it said that it is over, or was killed. */
static inline bool ol_slice_told(const struct ol_slice_map *map, uint64_t host_now)
{
	return ol_load_acquire(&map->page->state) == OL_SLICE_PAGE_TOLD &&
	       (int64_t)(host_now - ol_load_relaxed(&map->page->beat)) <=
		       (int64_t)ol_load_relaxed(&map->page->lasting);
}

/*
 * What is left of an entry by the host's time `host_now`. An end that has passed is still one: it was
 * expected, and the reader is about to be preempted. Not so if it has passed for long.
 */
static inline void ol_slice_judge(const struct ol_slice_map *map, struct ol_slice_entry *e,
				  uint64_t host_now)
{
	uint64_t late = ol_load_relaxed(&map->page->late);

	if (e->end != OL_SLICE_NO_END && (int64_t)(host_now - e->end) > (int64_t)late)
		e->end = OL_SLICE_UNKNOWN;
	if ((int64_t)(host_now - e->sure) > (int64_t)late)
		e->sure = OL_SLICE_UNKNOWN;
	if (e->running != OL_SLICE_ON) { /* its end is still to be told */
		e->end = OL_SLICE_UNKNOWN;
		e->sure = OL_SLICE_UNKNOWN;
	}
}

/*
 * The host's clock by ours. Nothing is read before it was written: of the differences (our time at the
 * look - the host's when it wrote), none is less than the clocks' offset, and the least is the nearest.
 * The clocks also drift: the least of this window of time and of the one before counts, and a window
 * is over when it has lasted, and has seen enough that its least is a good one.
 */
struct ol_slice_clock {
	uint64_t began;	  /* the window; 0: nothing was seen yet */
	uint64_t seen;	  /* the last publication, each of which is one sample */
	int64_t least;	  /* of this window */
	int64_t before;	  /* of the one before */
	int64_t moved;	  /* from one window's least to the next one's: how good it is */
	uint32_t samples; /* in this window */
};

enum { OL_SLICE_WINDOW_NS = 1 << 26, OL_SLICE_SAMPLES = 8 };

static inline int64_t ol_slice_offset(const struct ol_slice_clock *clock)
{
	return clock->least < clock->before ? clock->least : clock->before;
}

/* Our time `now` at a look, in ns, and what the entry said of when it was written. */
static inline void ol_slice_clock_learn(struct ol_slice_clock *clock, uint64_t now,
					uint64_t published)
{
	int64_t offset = (int64_t)(now - published);

	if (!clock->began) {
		clock->began = now;
		clock->least = offset;
		clock->before = offset;
	}
	if (published == clock->seen)
		return; /* later than the first look at it, so no nearer */
	clock->seen = published;
	clock->samples++;
	if (offset < clock->least)
		clock->least = offset;
	if (now - clock->began < OL_SLICE_WINDOW_NS || clock->samples < OL_SLICE_SAMPLES)
		return;
	clock->moved = clock->least - clock->before;
	clock->before = clock->least;
	clock->least = INT64_MAX;
	clock->began = now;
	clock->samples = 0;
}
#endif
