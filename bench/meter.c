/* SPDX-License-Identifier: MIT */
#include "meter.h"
#include <overlock/ops.h>
#include <random.h>

/* Samples of a cell: enough for its 99.99th percentile over a few rounds, little enough to pass on. */
#define WANTED		20000.0
/* A sample takes 0.1 to 1 us: no more than a hundredth of the time. */
#define LEAST_NS	50000.0

struct meter_plan meter_plan(unsigned contexts, double seconds)
{
	double ns = contexts * seconds * 1e9 / WANTED;

	if (ns < LEAST_NS)
		ns = LEAST_NS;
	return (struct meter_plan){
		.target = ol_ticks_from_ns((uint64_t)ns),
		.capacity = (uint32_t)(2 * seconds * 1e9 / ns) + 16,
	};
}

void meter_begin(struct meter *m, ol_ticks_t now)
{
	if (!m->mean) /* thousands who begin with a look at all the others would do nothing else */
		m->mean = 1 + m->contexts / 256;
	m->window = now;
	m->before = m->acquisitions;
	ol_store_relaxed(&m->last, now);
	meter_look(m, now);
}

/* Full: every other sample, at random, for twice as many acquisitions each. */
static void thin(struct meter *m)
{
	struct workload_random r = { m->random };
	uint32_t kept = 0;

	for (uint32_t i = 0; i < m->n; i++) {
		if (workload_random_next(&r) >> 31)
			continue;
		m->samples[kept] = m->samples[i];
		m->samples[kept++].weight *= 2;
	}
	m->random = r.state;
	m->target *= 2;
	ol_store_release(&m->n, kept);
}

static void keep(struct meter *m, struct sample s)
{
	if (m->n == m->capacity)
		thin(m);
	if (m->n == m->capacity) /* none of them was dropped: one chance in 2^capacity */
		return;
	m->samples[m->n] = s;
	ol_store_release(&m->n, m->n + 1); /* a reader of n sees the sample */
}

void meter_settle(struct meter *m)
{
	ol_add_relaxed(&m->asks->asked, -1u);
	m->asks = NULL;
	if (ol_load_relaxed(&m->since))
		keep(m, m->pending);
}

void meter_gap(struct meter *m, ol_ticks_t now)
{
	ol_ticks_t since = ol_load_relaxed(&m->since), from = m->last > since ? m->last : since;

	if (since && now > from && now - from > m->longest)
		ol_store_relaxed(&m->longest, now - from);
}

/* The mean that gives a sample per target at the pace since the window's start. */
static void follow(struct meter *m, ol_ticks_t now)
{
	double fit = (double)(m->acquisitions - m->before) * (double)m->target /
		     (double)(now - m->window);
	uint32_t most = m->mean < 1u << 30 ? 2 * m->mean : m->mean;
	uint32_t least = (m->mean + 1) / 2; /* once off the CPU is not yet another pace */

	m->mean = fit > most ? most : fit < least ? least : (uint32_t)fit;
	m->window = now;
	m->before = m->acquisitions;
}

void meter_look(struct meter *m, ol_ticks_t now)
{
	if (m->asks)
		meter_settle(m);
	if (now - m->window >= m->target)
		follow(m, now);
	m->next = meter_draw(m);
	m->look_at = now + 4 * m->target;
}
