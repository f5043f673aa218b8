/* SPDX-License-Identifier: MIT */
#include "changes.h"
#include "names.h"
#include "words.h"
#include <stdio.h>
#include <stdlib.h>

static struct {
	struct change *all;
	unsigned n, most;
} kept;

static int keep(void *context, void *data, size_t bytes)
{
	(void)context, (void)bytes;
	if (kept.n < kept.most)
		kept.all[kept.n++] = *(struct change *)data;
	return 0;
}

bool changes_open(struct ring_buffer *ring, int map, unsigned most)
{
	if (!most)
		return true;
	kept.all = calloc(most, sizeof(*kept.all));
	kept.most = kept.all ? most : 0;
	return kept.all && !ring_buffer__add(ring, map, keep, NULL);
}

/* state, at, thread, name, state, lock, call, taker, whether that is a sibling */
static void tell_turn(const struct change *c)
{
	printf("[\"state\", %llu, %u, ", c->at, c->thread);
	tell_string(c->name);
	printf(", \"%s\", %llu, ", c->is < STATES ? state_names[c->is] : "ended", c->lock);
	tell_call(c->is == STATE_READY ? ~0u : c->syscall);
	printf(", ");
	tell_string(c->is == STATE_READY ? c->taker.name : "");
	printf(", %s]", c->is == STATE_READY && c->taker.sibling ? "true" : "false");
}

/* lock, at, lock, role, thread, by, waiters */
static void tell_subject(const struct change *c)
{
	printf("[\"lock\", %llu, %llu, \"%s\", %u, %u, %u]", c->at, c->lock,
	       role_names[c->is % ROLES], c->thread, c->by, c->waiters);
}

void changes_tell(void)
{
	printf(", \"changes\": [");
	for (unsigned i = 0; i < kept.n; i++) {
		fputs(i ? ",\n" : "", stdout);
		if (kept.all[i].kind == CHANGE_STATE)
			tell_turn(&kept.all[i]);
		else
			tell_subject(&kept.all[i]);
	}
	putchar(']');
}
