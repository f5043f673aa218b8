/* SPDX-License-Identifier: MIT */
/*
 * Who am I: ids and queue nodes.
 *
 * Both come from lock-free stacks of numbers, so a signal handler may ask at any instant. A thread
 * keeps its id, and one node, until it exits; what a handler finds its thread in the middle of, it
 * leaves alone and goes to the stacks. Nodes are never unmapped: a pop reads the link of a node
 * that may have been taken meanwhile, and a stale waiter may look at one.
 */
#include "internal.h"
#include "slices.h"

#include <overlock/or_fail.h>

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>

enum state { FRESH, REGISTERED, GONE };

static OL_THREAD_LOCAL struct {
	uint32_t id;
	uint8_t state;
	uint8_t busy;	/* with `cached`: a handler keeps away from it */
	uint8_t rounds; /* of key destructors that this thread has seen */
	struct ol_node *cached;
	const void *elides; /* whose its transaction is */
} me;

static pthread_key_t at_exit;
static bool started;

/*
 * A stack of the numbers 1, 2, ... and 0 for none. The upper half of `top` counts the changes, so
 * that a pop which slept while its number went away and came back fails.
 */
struct stack {
	uint64_t top;
	uint32_t *(*below)(uint32_t number); /* where the number beneath is kept */
};

static void push(struct stack *s, uint32_t number)
{
	uint32_t *below = s->below(number);
	uint64_t top = ol_load_relaxed(&s->top), now;

	do {
		ol_store_relaxed(below, (uint32_t)top);
		now = ((top >> 32) + 1) << 32 | number;
		/* Release: the thread that pops the number sees the link, and what its last owner left. */
	} while (!__atomic_compare_exchange_n(&s->top, &top, now, true, __ATOMIC_RELEASE,
					      __ATOMIC_RELAXED));
}

static uint32_t pop(struct stack *s)
{
	uint64_t top = ol_load_acquire(&s->top), now;

	do {
		if (!(uint32_t)top)
			return 0;
		/* May be stale, then the exchange fails. */
		now = ((top >> 32) + 1) << 32 | ol_load_relaxed(s->below((uint32_t)top));
		/* Acquire, also on failure, for the link beneath the new top. */
	} while (!__atomic_compare_exchange_n(&s->top, &top, now, true, __ATOMIC_ACQUIRE,
					      __ATOMIC_ACQUIRE));
	return (uint32_t)top;
}

/* Takes the next number never used, up to `most`; 0 if there is none. */
static uint32_t next_fresh(uint32_t *used, uint32_t most)
{
	uint32_t n = ol_load_relaxed(used);

	do {
		if (n >= most)
			return 0;
	} while (!ol_cas_relaxed(used, n, n + 1) && ((n = ol_load_relaxed(used)), true));
	return n + 1;
}

/* Ids. */

static uint32_t id_links[OL_ID_MAX + 1];

static uint32_t *id_below(uint32_t id)
{
	return &id_links[id];
}

static struct {
	struct stack free;
	uint32_t used, out, most;
} ids = { .free = { .below = id_below }, .most = OL_ID_MAX };

static uint32_t id_get(void)
{
	uint32_t id = 0;

	/* Two threads that overshoot together may both fail; to have no id is always legal. */
	if (ol_add_relaxed(&ids.out, 1u) < ol_load_relaxed(&ids.most)) {
		id = pop(&ids.free);
		if (!id)
			id = next_fresh(&ids.used, OL_ID_MAX);
	}
	if (!id)
		ol_add_relaxed(&ids.out, -1u);
	return id;
}

static void id_put(uint32_t id)
{
	push(&ids.free, id);
	ol_add_relaxed(&ids.out, -1u);
}

/* Rows of or_fail.h, by id. Pages of ids that are not given out are never touched. */
static struct ol_held_row held[OL_ID_MAX + 1];

struct ol_held_row *ol_held_of(uint32_t id)
{
	return &held[id];
}

uint32_t ol_held_last(void)
{
	return ol_load_relaxed(&ids.used);
}

/* Its last owner may have ended with locks that are now nobody's. */
static void held_clear(struct ol_held_row *row)
{
	ol_store_release(&row->held, 0u);
	ol_store_relaxed(&row->unlisted, 0u);
	ol_store_relaxed(&row->waits_for, (const void *)0);
	ol_store_relaxed(&row->moves, (const void *)0);
}

struct ol_held_row *ol_held_mine(void)
{
	uint32_t id = ol_self();

	return OL_UNLIKELY(!id) ? 0 : &held[id];
}

static OL_COLD uint32_t self_slow(void)
{
	uint32_t id, none = 0;

	if (!ol_thread_register())
		return 0;
	id = id_get();
	if (id)
		held_clear(&held[id]);
	/* A handler may have been here between our look and now; its id stands. */
	if (id && !ol_cas_relaxed(&me.id, none, id))
		id_put(id);
	id = ol_load_relaxed(&me.id);
	ol_slices_join(id);
	return id;
}

uint32_t ol_self(void)
{
	uint32_t id = ol_load_relaxed(&me.id);

	return OL_UNLIKELY(!id) ? self_slow() : id;
}

/* Set in a transaction, it goes with it; nobody else looks. */
void ol_htm_set_owner(const void *p)
{
	ol_store_relaxed(&me.elides, p);
}

const void *ol_htm_owned(void)
{
	return ol_load_relaxed(&me.elides);
}

/* Nodes, in chunks each twice as long as the one before, reached by number. */

enum { FIRST_CHUNK = 16, FIRST_CHUNK_LOG = 4, CHUNKS = 28 };

struct slot {
	struct ol_node node;
	uint32_t number, below; /* on a cache line of their own: waiters spin on the node */
};

static struct slot *chunks[CHUNKS];

static unsigned chunk_of(uint32_t number)
{
	return 31u - (unsigned)__builtin_clz(number - 1 + FIRST_CHUNK) - FIRST_CHUNK_LOG;
}

static size_t chunk_length(unsigned chunk)
{
	return (size_t)FIRST_CHUNK << chunk;
}

/* Null if the chunk is not there. */
static struct slot *slot_at(uint32_t number)
{
	unsigned chunk = chunk_of(number);
	/* Acquire: the chunk is zero and its slots are numbered. */
	struct slot *base = ol_load_acquire(&chunks[chunk]);

	return base ? base + (number - 1 + FIRST_CHUNK - chunk_length(chunk)) : 0;
}

static uint32_t *slot_below(uint32_t number)
{
	return &slot_at(number)->below;
}

static struct {
	struct stack free;
	uint32_t used, most, parents; /* `parents`: the numbers up to it */
} nodes = { .free = { .below = slot_below }, .most = UINT32_MAX / 2 };

static bool chunk_make(unsigned chunk)
{
	size_t length = chunk_length(chunk), bytes = length * sizeof(struct slot);
	int saved = errno;
	struct slot *base;

	if (chunk >= CHUNKS)
		return false;
	if (ol_load_relaxed(&chunks[chunk]))
		return true;
	base = mmap(0, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	errno = saved;
	if (base == MAP_FAILED)
		return false;
	for (size_t i = 0; i < length; i++)
		base[i].number = (uint32_t)(length - FIRST_CHUNK + i + 1);
	if (!ol_cas_release(&chunks[chunk], (struct slot *)0, base))
		munmap(base, bytes); /* another thread was faster */
	return true;
}

static struct slot *slot_fresh(void)
{
	uint32_t next = ol_load_relaxed(&nodes.used) + 1;
	uint32_t number;

	/* The chunk first: a number taken without memory behind it would be lost. */
	if (!chunk_make(chunk_of(next)))
		return 0;
	number = next_fresh(&nodes.used, ol_load_relaxed(&nodes.most));
	if (!number || !chunk_make(chunk_of(number)))
		return 0;
	return slot_at(number);
}

static struct ol_node *node_from_pool(void)
{
	uint32_t number = pop(&nodes.free);
	struct slot *slot = number ? slot_at(number) : slot_fresh();

	return slot ? &slot->node : 0;
}

static struct slot *slot_of(struct ol_node *node)
{
	return (struct slot *)(void *)node;
}

static void node_to_pool(struct ol_node *node)
{
	push(&nodes.free, slot_of(node)->number);
}

/* From before a fork: inherited locks may point to it, or name it. */
static bool is_parents(struct ol_node *node)
{
	return slot_of(node)->number <= ol_load_relaxed(&nodes.parents);
}

/* Leaves `node` in the thread's cache and returns what was there; `node` if it must keep away. */
static struct ol_node *cache_swap(struct ol_node *node)
{
	struct ol_node *old;

	if (me.busy || me.state != REGISTERED)
		return node;
	me.busy = 1;
	atomic_signal_fence(memory_order_seq_cst); /* a handler sees busy first, and last */
	old = me.cached;
	me.cached = node;
	atomic_signal_fence(memory_order_seq_cst);
	me.busy = 0;
	return old;
}

struct ol_node *ol_node_get(void)
{
	struct ol_node *node = cache_swap(0);

	return OL_UNLIKELY(!node) ? node_from_pool() : node;
}

void ol_node_put(struct ol_node *node)
{
	if (OL_UNLIKELY(is_parents(node)))
		return;
	if (OL_UNLIKELY(me.state == FRESH))
		ol_thread_register();
	node = cache_swap(node);
	if (OL_UNLIKELY(node != 0))
		node_to_pool(node);
}

/* Recycled numbers go out before fresh ones, so only a crowd gets one without a name. */
uint32_t ol_node_number(const struct ol_node *node)
{
	uint32_t number = ((const struct slot *)(const void *)node)->number;

	return number <= OL_NODE_MAX ? number : 0;
}

struct ol_node *ol_node_at(uint32_t number)
{
	static struct slot nobody; /* a name that reached us from before a fork, or by mistake */
	struct slot *slot = number - 1 < OL_NODE_MAX ? slot_at(number) : 0;

	return slot ? &slot->node : &nobody.node;
}

/* The life of a thread. */

/*
 * Other destructors may still take locks, so ours comes again, until the last round but one: in the
 * last, race detectors take down the thread's state, before us. A lock taken later still finds no
 * id, which is legal.
 */
static void thread_exit(void *unused)
{
	struct ol_node *node;
	uint32_t id;

	if (++me.rounds < PTHREAD_DESTRUCTOR_ITERATIONS - 1 && !pthread_setspecific(at_exit, &me))
		return;
	node = cache_swap(0);
	me.state = GONE;
	ol_leave();
	ol_slices_leave();
#ifdef OL_COUNTED
	ol_sites_leave();
#endif
	id = ol_xchg_relaxed(&me.id, 0u);
	if (node)
		node_to_pool(node);
	if (id)
		id_put(id);
	(void)unused;
}

/*
 * glibc keeps the first 32 keys in the thread's descriptor, so that setting ours allocates nothing
 * unless the program had made that many before it loaded us.
 */
bool ol_thread_register(void)
{
	if (me.state == FRESH && ol_load_acquire(&started) && !pthread_setspecific(at_exit, &me))
		me.state = REGISTERED;
	return me.state == REGISTERED;
}

void ol_context_start(void)
{
	if (!pthread_key_create(&at_exit, thread_exit))
		ol_store_release(&started, true); /* with the key */
}

/*
 * Queues and tickets inherited from the parent name threads that are not here. Ids start afresh;
 * the parent's nodes are abandoned, with their numbers, because a thread that waits on an
 * inherited lock, or releases it, may still write to them.
 */
void ol_context_renew(void)
{
	ids.free.top = 0;
	ids.used = ids.out = 0;
	nodes.free.top = 0;
	nodes.parents = nodes.used;
	me.id = 0;
	me.cached = 0;
	me.busy = 0;
	ol_knowledge_renew();
}

void ol_test_limits(uint32_t id_limit, uint32_t node_limit)
{
	ol_store_relaxed(&ids.most, id_limit);
	ol_store_relaxed(&nodes.most, node_limit);
}

void ol_test_usage(uint32_t *ids_out, uint32_t *nodes_made)
{
	*ids_out = ol_load_relaxed(&ids.out);
	*nodes_made = ol_load_relaxed(&nodes.used);
}
