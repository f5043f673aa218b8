/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "gathered.h"
#include "names.h"
#include "unwind.h"
#include <search.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_STACKS = 16384, MOST_CODE = 65536, FEW = 8, KEPT = 256 };

/* A stack that somebody waited with, or held with. */
struct stack {
	__u32 kind, state, frames, scanned;
	__u64 lock;
	struct frame frame[MOST_FRAMES];
	__u64 seen, ns; /* not compared */
};

/* An instruction that threads were seen at, and some of them. */
struct code {
	__u64 ip;
	struct frame frame;
	__u64 seen;
	unsigned room;
	struct sample_record *kept;
};

struct open {
	__u64 lock, ns;
};

static void *stacks, *codes, *opens;
static unsigned n_stacks, n_codes, n_opens;
static __u64 lost, began;

static int compare_stacks(const void *a, const void *b)
{
	const struct stack *x = a, *y = b;

	return memcmp(x, y, offsetof(struct stack, frame) + x->frames * sizeof(*x->frame));
}

static int compare_first(const void *a, const void *b)
{
	const __u64 *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* The one that is equal, or a copy of this. Null: there are too many. */
static void *entry(void **root, int (*compare)(const void *, const void *), const void *like,
		   size_t bytes, unsigned *n, unsigned most)
{
	void *found = tfind(like, root, compare), *copy;

	if (found)
		return *(void **)found;
	copy = *n < most ? malloc(bytes) : NULL;
	if (!copy) {
		lost++;
		return NULL;
	}
	memcpy(copy, like, bytes);
	++*n;
	return tsearch(copy, root, compare) ? copy : NULL;
}

static void add_stack(const struct stack_record *r)
{
	static struct stack like;
	struct stack *s;
	bool scanned;

	memset(&like, 0, sizeof(like));
	like.kind = r->kind;
	like.state = r->state;
	like.lock = r->lock;
	like.frames = unwind_stack(r, like.frame, &scanned);
	like.scanned = scanned;
	s = entry(&stacks, compare_stacks, &like, sizeof(like), &n_stacks, MOST_STACKS);
	if (!s)
		return;
	s->seen++;
	s->ns += r->ns;
}

static bool make_room(struct code *c)
{
	unsigned room = c->room ? c->room * 2 : FEW;
	struct sample_record *kept;

	if (c->seen < c->room || c->room >= KEPT)
		return true;
	kept = realloc(c->kept, room * sizeof(*kept));
	if (!kept)
		return false;
	c->kept = kept;
	c->room = room;
	return true;
}

/* Each sample is as likely to be among those that are kept. */
static void add_sample(const struct sample_record *r)
{
	static unsigned short state[3] = { 1, 2, 3 };
	static struct code like;
	struct code *c;
	__u64 place;

	like.ip = r->ip;
	c = entry(&codes, compare_first, &like, sizeof(like), &n_codes, MOST_CODE);
	if (!c || !make_room(c)) {
		lost += c != NULL;
		return;
	}
	if (!c->seen || c->frame.module < 0) { /* the objects may have been read again since */
		unwind_check(r->ip);
		c->frame = unwind_find(r->ip);
	}
	place = c->seen < c->room ? c->seen : (__u64)nrand48(state) % (c->seen + 1);
	c->seen++;
	if (place < c->room)
		c->kept[place] = *r;
}

int gathered_record(void *context, void *data, size_t bytes)
{
	(void)context;
	(void)bytes; /* each kind has its own, in the kernel's own order */
	switch (*(__u32 *)data) {
	case RECORD_WAITER:
	case RECORD_HOLDER:
	case RECORD_YIELD:
		add_stack(data);
		break;
	case RECORD_SAMPLE:
		add_sample(data);
		break;
	case RECORD_EXEC:
		began = ((struct exec_record *)data)->at;
		unwind_begin();
		break;
	default:
		break;
	}
	return 0;
}

void gathered_none_open(void)
{
	tdestroy(opens, free);
	opens = NULL;
	n_opens = 0;
}

void gathered_open_wait(__u64 lock, __u64 ns)
{
	const struct open like = { .lock = lock };
	struct open *o = entry(&opens, compare_first, &like, sizeof(like), &n_opens, ~0u);

	if (o)
		o->ns += ns;
}

__u64 gathered_open_waits(__u64 lock)
{
	void *found = tfind(&lock, &opens, compare_first);

	return found ? (*(struct open **)found)->ns : 0;
}

__u64 gathered_began(void)
{
	return began;
}

__u64 gathered_lost(void)
{
	return lost;
}

static const char *comma;

static void tell_frame(const struct frame *frame)
{
	printf("[%d, %llu]", frame->module, (unsigned long long)frame->offset);
}

static const char *const stack_names[] = {
	[RECORD_WAITER] = "waiter",
	[RECORD_HOLDER] = "holder",
	[RECORD_YIELD] = "yielder",
};

static void tell_stack(const void *node, VISIT visit, int depth)
{
	const struct stack *s = *(struct stack *const *)node;

	(void)depth;
	if (visit != postorder && visit != leaf)
		return;
	printf("%s{\"of\": \"%s\", \"state\": \"%s\", \"address\": %llu, \"seen\": %llu, \"ns\": "
	       "%llu, \"scanned\": %s, \"frames\": [",
	       comma, stack_names[s->kind], state_names[s->state % STATES], s->lock, s->seen, s->ns,
	       s->scanned ? "true" : "false");
	for (unsigned i = 0; i < s->frames; i++) {
		fputs(i ? ", " : "", stdout);
		tell_frame(&s->frame[i]);
	}
	printf("]}");
	comma = ",\n";
}

/* Words that may be addresses of code. */
static void tell_top(const struct sample_record *r)
{
	const char *between = "";

	for (int i = 0; i < STACK_WORDS; i++) {
		const struct frame frame = unwind_known(r->top[i]);

		if (frame.module < 0)
			continue;
		fputs(between, stdout);
		tell_frame(&frame);
		between = ", ";
	}
}

static void tell_sample(const struct sample_record *r)
{
	printf("{\"thread\": %u, \"registers\": [", r->thread);
	for (int i = 0; i < 16; i++)
		printf("%s%llu", i ? ", " : "", r->registers[i]);
	printf("], \"away\": %u, \"suspects\": [", r->away);
	for (unsigned i = 0; i < r->n_suspects && i < SUSPECTS; i++)
		printf("%s{\"thread\": %u, \"ip\": %llu, \"state\": \"%s\"}", i ? ", " : "",
		       r->suspects[i].thread, r->suspects[i].ip,
		       state_names[r->suspects[i].state % STATES]);
	printf("], \"stack\": [");
	tell_top(r);
	printf("]}");
}

static void tell_code(const void *node, VISIT visit, int depth)
{
	const struct code *c = *(struct code *const *)node;
	unsigned kept = c->seen < c->room ? (unsigned)c->seen : c->room;

	(void)depth;
	if (visit != postorder && visit != leaf)
		return;
	printf("%s{\"ip\": %llu, \"frame\": ", comma, c->ip);
	tell_frame(&c->frame);
	printf(", \"seen\": %llu, \"kept\": [", c->seen);
	for (unsigned i = 0; i < kept; i++) {
		fputs(i ? ", " : "", stdout);
		tell_sample(&c->kept[i]);
	}
	printf("]}");
	comma = ",\n";
}

void gathered_tell(void)
{
	printf(", \"stacks\": [");
	comma = "";
	twalk(stacks, tell_stack);
	printf("], \"code\": [");
	comma = "";
	twalk(codes, tell_code);
	putchar(']');
}
