/* SPDX-License-Identifier: MIT */
/* Times: the histograms' buckets, and how long a lock takes from one owner to the next. */
#include "sites.h"

bool ol_times_kept;

void ol_sites_keep_times(bool keep)
{
	ol_store_relaxed(&ol_times_kept, keep);
}

bool ol_sites_times_kept(void)
{
	return ol_load_relaxed(&ol_times_kept);
}

unsigned ol_time_bucket(uint64_t ns)
{
	unsigned log, i;

	if (ns < 2)
		return (unsigned)ns;
	log = 63u - (unsigned)__builtin_clzll(ns);
	i = 2 * log + (unsigned)(ns >> (log - 1) & 1);
	return i < OL_BUCKETS ? i : OL_BUCKETS - 1;
}

/*
 * The last release of a lock, by hash of its address, for the waiter that gets it next. A release
 * of another lock may take the entry; then the hand-over is not timed.
 */
static struct release {
	const void *lock;
	ol_ticks_t at;
} releases[1024];

static struct release *release_of(const void *lock)
{
	return &releases[ol_site_hash(lock, 0) % (sizeof(releases) / sizeof(*releases))];
}

void ol_time_release(const void *lock, ol_ticks_t now)
{
	ol_store_relaxed(&release_of(lock)->lock, lock);
	ol_store_relaxed(&release_of(lock)->at, now);
}

/* Releases from before we waited are not hand-overs to us. */
void ol_time_handover(const struct ol_call *c, ol_ticks_t now)
{
	struct release *r = release_of(c->lock);
	ol_ticks_t at = ol_load_relaxed(&r->at);

	if (ol_load_relaxed(&r->lock) != c->lock || at < c->since || at > now)
		return;
	ol_one_more(&c->counts->record.events[OL_HANDOVER]);
	ol_more(&c->counts->record.handover_ns, ol_ns_from_ticks(now - at));
}

void ol_times_renew(void)
{
	memset(releases, 0, sizeof(releases));
}
