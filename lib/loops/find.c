/* SPDX-License-Identifier: MIT */
#include "find.h"

#include <stdlib.h>
#include <string.h>

const char *const ol_loop_kinds[] = {
#define OL_LOOP_KIND(name, text, ...) text,
#include "kinds.def"
#undef OL_LOOP_KIND
};

const bool ol_loop_is_patched[] = {
#define OL_LOOP_KIND(name, text, is_patched, ...) is_patched,
#include "kinds.def"
#undef OL_LOOP_KIND
};

/* Arrays that grow, and are used again for the next function. */
#define ARRAY(type)                                                                \
	struct {                                                                   \
		type *all;                                                         \
		size_t n, room;                                                    \
	}

/* One more element, of zeros; null: no memory. */
static void *more(void *all, size_t *n, size_t *room, size_t size)
{
	void **array = all;
	char *element;

	if (*n == *room) {
		size_t larger = *room ? 2 * *room : 64;
		void *grown = realloc(*array, larger * size);

		if (!grown)
			return 0;
		*array = grown;
		*room = larger;
	}
	element = (char *)*array + (*n)++ * size;
	return memset(element, 0, size);
}
#define MORE(array) ((__typeof__((array).all))more(&(array).all, &(array).n, &(array).room, sizeof(*(array).all)))

enum { NO_BLOCK = -1, STACK_POINTER = 4, FRAME_POINTER = 5 };

struct block {
	size_t first, end;	    /* instructions */
	int32_t next, target;	    /* blocks; the first is entered without a jump */
	int32_t order;		    /* in reverse postorder, from 1; the root has 0 */
	int32_t dominator;	    /* immediate, as an order */
	int32_t parents, n_parents; /* in the list of parents */
	bool is_dead;		    /* filling that nothing leads to */
	bool is_root;		    /* of the graph: it may be entered from elsewhere */
	uint32_t visited, member;   /* stamps */
	uint32_t live;	  /* registers that a round uses as the last one left them, from here on */
	uint32_t stepped; /* at its end: those last changed by something that reads them */
};

struct range {
	uint64_t begin, end;
};

/* A way through a loop, as far as it was walked. */
struct way {
	size_t at;
	uint32_t addresses, counters, renewed; /* registers */
	bool loads;
};

struct ol_finder {
	const struct ol_image *image;
	bool only_patched;
	bool has_loop; /* the function that was looked at last */
	struct ol_function function;
	bool is_function; /* rather than code between functions, behind which may be data */
	uint32_t index;
	ARRAY(struct ol_instruction) instructions;
	ARRAY(struct block) blocks;
	ARRAY(int32_t) parents;
	ARRAY(int32_t) by_order; /* blocks, the last one first */
	ARRAY(int32_t) stack;
	ARRAY(int32_t) members; /* of the loop that is looked at */
	ARRAY(struct ol_jump) jumps;
	ARRAY(struct way) ways;
	ARRAY(struct range) dead;  /* bytes in the function and near it */
	ARRAY(struct range) given; /* of those, in the whole object */
	uint32_t stamp;
};

struct ol_finder *ol_finder_new(const struct ol_image *image, bool only_patched)
{
	struct ol_finder *f = calloc(1, sizeof(*f));

	if (f)
		*f = (struct ol_finder){ .image = image, .only_patched = only_patched };
	return f;
}

void ol_finder_free(struct ol_finder *f)
{
	free(f->instructions.all);
	free(f->blocks.all);
	free(f->parents.all);
	free(f->by_order.all);
	free(f->stack.all);
	free(f->members.all);
	free(f->jumps.all);
	free(f->ways.all);
	free(f->dead.all);
	free(f->given.all);
	free(f);
}

/* Instructions. */

static bool ends_block(const struct ol_instruction *i)
{
	return i->does >= OL_DOES_BRANCH;
}

static bool falls_through(const struct ol_instruction *i)
{
	return i->does <= OL_DOES_BRANCH;
}

static bool is_in_function(const struct ol_finder *f, uint64_t at)
{
	return at >= f->function.begin && at < f->function.end;
}

/* Of two bytes: on a condition, on %rcx, or always. */
static bool may_be_short(unsigned char opcode)
{
	return (opcode & 0xf0) == 0x70 || (opcode & 0xfc) == 0xe0 || opcode == 0xeb;
}

/* The size of what may be a jump of five or six bytes; 0: it is none. */
static size_t long_size(const unsigned char *code, size_t size)
{
	bool is_jump = size >= 5 && code[0] == 0xe9,
	     is_branch = size >= 6 && code[0] == 0x0f && (code[1] & 0xf0) == 0x80;

	return is_jump ? 5 : is_branch ? 6 : 0;
}

/* Nothing of a waiting loop that is patched without being named. */
static bool is_foreign(const struct ol_instruction *i)
{
	bool is_store = i->stores && !i->is_atomic,
	     is_call = i->does == OL_DOES_CALL || i->does == OL_DOES_SYSCALL;

	return is_store || is_call || (i->writes >> OL_REGISTER_OTHER & 1);
}

static uint32_t of_address(const struct ol_instruction *i)
{
	uint32_t base = i->address.base <= OL_REGISTER_OTHER ? 1u << i->address.base : 0;

	return base | (i->address.index <= OL_REGISTER_OTHER ? 1u << i->address.index : 0);
}

static bool keep_way(struct ol_finder *f, const struct way *way)
{
	struct way *kept;

	for (size_t k = 0; k < f->ways.n; k++)
		if (f->ways.all[k].at == way->at)
			return true;
	kept = MORE(f->ways);
	if (kept)
		*kept = *way;
	return kept;
}

/* Whether the way meets nothing foreign up to the end of these bytes; where it forks, the other one is kept for later. */
static bool walk(struct ol_finder *f, const unsigned char *code, size_t size, struct way w)
{
	while (w.at < size) {
		struct ol_instruction i;

		if (!ol_decode(code + w.at, size - w.at, w.at, &i) || is_foreign(&i))
			return false;
		if (i.does == OL_DOES_STEP)
			w.counters |= i.reads & i.writes;
		w.renewed |= i.defines & ~i.reads;
		if (i.loads)
			w.addresses |= of_address(&i);
		w.loads |= i.loads;
		w.at += i.size;
		if (w.at < size && (i.does == OL_DOES_BRANCH || i.does == OL_DOES_JUMP)) {
			struct way other = w;

			other.at = i.target;
			if (other.at > w.at && other.at < size && !keep_way(f, &other))
				return false;
		}
		if (w.at < size && i.does >= OL_DOES_JUMP)
			return false;
	}
	return w.at == size && w.loads && !(w.addresses & w.counters & ~w.renewed);
}

/*
 * Whether these bytes, of which the last ones jump back to the first, may be a waiting loop: on some way through
 * them nothing is foreign, and something loads, but not from where only a counter leads.
 */
static bool may_wait(struct ol_finder *f, const unsigned char *code, size_t size)
{
	f->ways.n = 0;
	if (walk(f, code, size, (struct way){ 0 }))
		return true;
	for (size_t k = 0; k < f->ways.n; k++)
		if (walk(f, code, size, f->ways.all[k]))
			return true;
	return false;
}

/* The size of what may be a jump back at code[i], and how far its target is before its end; 0: it is none. */
static size_t jump_back(const unsigned char *code, size_t size, size_t i, size_t *back)
{
	size_t n = long_size(code + i, size - i);
	int32_t displacement;

	if (n) {
		memcpy(&displacement, code + i + n - sizeof(displacement), sizeof(displacement));
		*back = (size_t)-(int64_t)displacement;
	} else if (may_be_short(code[i])) {
		n = 2;
		*back = (size_t)-(int64_t)(int8_t)code[i + 1];
	}
	return n && *back >= n && *back <= i + n ? n : 0;
}

/* Cheap, before all is decoded. */
static bool may_have_loops(struct ol_finder *f, const unsigned char *code, size_t size)
{
	for (size_t i = 0; i + 1 < size; i++) {
		size_t back, n = jump_back(code, size, i, &back);

		if (n && (!f->only_patched || may_wait(f, code + i + n - back, back)))
			return true;
	}
	return false;
}

enum decoded { CANNOT_BE_DECODED, HAS_NO_LOOPS, HAS_LOOPS };

static enum decoded decode_all(struct ol_finder *f)
{
	size_t size = f->function.end - f->function.begin;
	const unsigned char *code = ol_image_code(f->image, f->function.begin, size);
	bool has_loops = false;

	f->instructions.n = 0;
	if (!code)
		return CANNOT_BE_DECODED;
	if (f->only_patched && !may_have_loops(f, code, size))
		return HAS_NO_LOOPS;
	for (size_t at = 0; at < size;) {
		struct ol_instruction *i = MORE(f->instructions);

		if (!i)
			return CANNOT_BE_DECODED;
		if (!ol_decode(code + at, size - at, f->function.begin + at, i)) {
			if (f->is_function)
				return CANNOT_BE_DECODED;
			f->instructions.n--;
			f->function.end = f->function.begin + at;
			break;
		}
		has_loops |= (i->does == OL_DOES_BRANCH || i->does == OL_DOES_JUMP) &&
			     i->target <= i->at && is_in_function(f, i->target);
		at += i->size;
	}
	return has_loops ? HAS_LOOPS : HAS_NO_LOOPS;
}

/*
 * Which instruction begins at that address; the number of instructions: none. A jump over a lock prefix, as the GNU
 * libraries have where a process has one thread, leads to the instruction with the prefix.
 */
static size_t instruction_at(const struct ol_finder *f, uint64_t at)
{
	size_t low = 0, high = f->instructions.n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (f->instructions.all[middle].at < at)
			low = middle + 1;
		else
			high = middle;
	}
	if (low < f->instructions.n && f->instructions.all[low].at == at)
		return low;
	if (low && f->instructions.all[low - 1].at + 1 == at &&
	    f->instructions.all[low - 1].is_atomic)
		return low - 1;
	return f->instructions.n;
}

/* Blocks. */

static bool is_jump(const struct ol_instruction *i)
{
	return i->does == OL_DOES_BRANCH || i->does == OL_DOES_JUMP;
}

static bool is_filling(const struct ol_instruction *i)
{
	return i->does == OL_DOES_NOTHING || (i->does == OL_DOES_END && i->size == 1);
}

enum { BEGINS = 1, IS_LED_TO = 2 };

/* Filling behind what never goes on is a block of its own. */
static void mark_behind(struct ol_finder *f, size_t k)
{
	bool goes_on = falls_through(&f->instructions.all[k]);

	for (k++; k < f->instructions.n; k++) {
		f->members.all[k] |= BEGINS;
		if (goes_on || !is_filling(&f->instructions.all[k]))
			break;
		while (k + 1 < f->instructions.n && is_filling(&f->instructions.all[k + 1]))
			k++;
		goes_on = true;
	}
}

/* Marks where blocks begin, in `members`; false: a jump leads into an instruction. */
static bool mark_leaders(struct ol_finder *f)
{
	f->members.n = 0;
	for (size_t k = 0; k < f->instructions.n; k++)
		if (!MORE(f->members))
			return false;
	f->members.all[0] = BEGINS;
	for (size_t k = 0; k < f->instructions.n; k++) {
		struct ol_instruction *i = &f->instructions.all[k];
		size_t target;

		if (ends_block(i) && !is_filling(i))
			mark_behind(f, k);
		if (!is_jump(i) || !is_in_function(f, i->target))
			continue;
		target = instruction_at(f, i->target);
		if (target == f->instructions.n)
			return false;
		f->members.all[target] = BEGINS | IS_LED_TO;
	}
	return true;
}

static int32_t block_of(const struct ol_finder *f, uint64_t at)
{
	size_t low = 0, high = f->blocks.n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (f->instructions.all[f->blocks.all[middle].first].at <= at)
			low = middle + 1;
		else
			high = middle;
	}
	return (int32_t)low - 1;
}

static const struct ol_instruction *last(const struct ol_finder *f, const struct block *b)
{
	return &f->instructions.all[b->end - 1];
}

static bool make_blocks(struct ol_finder *f)
{
	f->blocks.n = 0;
	if (!mark_leaders(f))
		return false;
	for (size_t k = 0; k < f->instructions.n; k++) {
		struct block *b;

		if (f->members.all[k]) {
			b = MORE(f->blocks);
			if (!b)
				return false;
			b->first = k;
			b->is_dead = k && !(f->members.all[k] & IS_LED_TO) &&
				     is_filling(&f->instructions.all[k]) &&
				     !falls_through(&f->instructions.all[k - 1]);
		}
		f->blocks.all[f->blocks.n - 1].end = k + 1;
	}
	for (size_t k = 0; k < f->blocks.n; k++) {
		struct block *b = &f->blocks.all[k];
		const struct ol_instruction *end = last(f, b);

		if (b->is_dead) {
			b->next = b->target = NO_BLOCK;
			continue;
		}
		b->next = falls_through(end) && k + 1 < f->blocks.n ? (int32_t)k + 1 : NO_BLOCK;
		b->target = is_jump(end) && is_in_function(f, end->target)
				    ? block_of(f, end->target)
				    : NO_BLOCK;
	}
	return true;
}

static bool list_parents(struct ol_finder *f)
{
	int32_t n = 0;

	for (size_t k = 0; k < f->blocks.n; k++) {
		const struct block *b = &f->blocks.all[k];

		if (b->next != NO_BLOCK)
			f->blocks.all[b->next].n_parents++;
		if (b->target != NO_BLOCK)
			f->blocks.all[b->target].n_parents++;
	}
	for (size_t k = 0; k < f->blocks.n; k++) {
		f->blocks.all[k].parents = n;
		n += f->blocks.all[k].n_parents;
		f->blocks.all[k].n_parents = 0;
	}
	f->parents.n = 0;
	for (int32_t k = 0; k < n; k++)
		if (!MORE(f->parents))
			return false;
	for (size_t k = 0; k < f->blocks.n; k++) {
		int32_t to[2] = { f->blocks.all[k].next, f->blocks.all[k].target };

		for (unsigned e = 0; e < 2; e++)
			if (to[e] != NO_BLOCK) {
				struct block *child = &f->blocks.all[to[e]];

				f->parents.all[child->parents + child->n_parents++] = (int32_t)k;
			}
	}
	return true;
}

static bool push(struct ol_finder *f, int32_t block)
{
	int32_t *top = MORE(f->stack);

	if (top)
		*top = block;
	return top;
}

/* Depth first, from one root; blocks are listed when all that they lead to are. */
static bool walk_from(struct ol_finder *f, int32_t root)
{
	f->stack.n = 0;
	f->blocks.all[root].visited = 1;
	if (!push(f, root))
		return false;
	while (f->stack.n) {
		struct block *b = &f->blocks.all[f->stack.all[f->stack.n - 1]];
		int32_t to[2] = { b->next, b->target }, child = NO_BLOCK;

		for (unsigned e = 0; e < 2 && child == NO_BLOCK; e++)
			if (to[e] != NO_BLOCK && !f->blocks.all[to[e]].visited)
				child = to[e];
		if (child != NO_BLOCK) {
			f->blocks.all[child].visited = 1;
			if (!push(f, child))
				return false;
		} else {
			int32_t *done = MORE(f->by_order);

			if (!done)
				return false;
			*done = f->stack.all[--f->stack.n];
		}
	}
	return true;
}

/*
 * What no jump of the function's leads to is entered from elsewhere: by a table of jumps, a handler, another part. Of
 * circles that nothing leads into the entry is unknown. An entry too many only makes fewer loops natural.
 */
static bool order_blocks(struct ol_finder *f)
{
	int32_t n = (int32_t)f->blocks.n;

	f->by_order.n = 0;
	for (int32_t k = 0; k < n; k++)
		f->blocks.all[k].is_root = !k || !f->blocks.all[k].n_parents;
	for (int32_t k = n - 1; k >= 0; k--)
		if (f->blocks.all[k].is_root && !walk_from(f, k))
			return false;
	for (int32_t k = 0; k < n; k++)
		if (!f->blocks.all[k].visited) {
			f->blocks.all[k].is_root = true;
			if (!walk_from(f, k))
				return false;
		}
	for (int32_t k = 0; k < n; k++) {
		struct block *b = &f->blocks.all[f->by_order.all[k]];

		b->order = n - k;
		b->dominator = NO_BLOCK;
	}
	return true;
}

static int32_t block_in_order(const struct ol_finder *f, int32_t order)
{
	return f->by_order.all[(int32_t)f->blocks.n - order];
}

static int32_t common(const struct ol_finder *f, int32_t a, int32_t b)
{
	while (a != b) {
		while (a > b)
			a = f->blocks.all[block_in_order(f, a)].dominator;
		while (b > a)
			b = f->blocks.all[block_in_order(f, b)].dominator;
	}
	return a;
}

/* Cooper, Harvey and Kennedy 2001: immediate dominators, by orders; 0 is the root. */
static void find_dominators(struct ol_finder *f)
{
	bool changed = true;

	while (changed) {
		changed = false;
		for (int32_t order = 1; order <= (int32_t)f->blocks.n; order++) {
			int32_t block = block_in_order(f, order);
			struct block *b = &f->blocks.all[block];
			int32_t found = b->is_root ? 0 : NO_BLOCK;

			for (int32_t k = 0; k < b->n_parents; k++) {
				const struct block *parent =
					&f->blocks.all[f->parents.all[b->parents + k]];

				if (parent->dominator == NO_BLOCK)
					continue;
				found = found == NO_BLOCK ? parent->order
							  : common(f, found, parent->order);
			}
			if (found != b->dominator) {
				b->dominator = found;
				changed = true;
			}
		}
	}
}

static bool dominates(const struct ol_finder *f, int32_t above, int32_t below)
{
	int32_t wanted = f->blocks.all[above].order, order = f->blocks.all[below].order;

	while (order > wanted)
		order = f->blocks.all[block_in_order(f, order)].dominator;
	return order == wanted;
}

/* Loops. */

static bool leads_back(const struct ol_finder *f, int32_t from, int32_t header)
{
	const struct block *b = &f->blocks.all[from];

	return (b->next == header || b->target == header) && dominates(f, header, from);
}

static bool join(struct ol_finder *f, int32_t block)
{
	int32_t *member;

	if (f->blocks.all[block].member == f->stamp)
		return true;
	f->blocks.all[block].member = f->stamp;
	member = MORE(f->members);
	if (member)
		*member = block;
	return member;
}

static bool is_member(const struct ol_finder *f, int32_t block)
{
	return block != NO_BLOCK && f->blocks.all[block].member == f->stamp;
}

/* The natural loop of that header, header first; none: `members` is empty. False: no memory. */
static bool gather(struct ol_finder *f, int32_t header)
{
	const struct block *h = &f->blocks.all[header];

	f->stamp++;
	f->members.n = 0;
	for (int32_t k = 0; k < h->n_parents; k++) {
		int32_t from = f->parents.all[h->parents + k];

		if (leads_back(f, from, header) && (!join(f, header) || !join(f, from)))
			return false;
	}
	for (size_t k = 1; k < f->members.n; k++) {
		const struct block *b = &f->blocks.all[f->members.all[k]];

		for (int32_t p = 0; p < b->n_parents; p++)
			if (!join(f, f->parents.all[b->parents + p]))
				return false;
	}
	return true;
}

/* Where the values come from that decide whether a loop ends, from the least harmful. */
enum origin { FIXED, LOADED, CLOCK, COUNTER, UNKNOWN };

struct values {
	const struct ol_instruction *first; /* of the function */
	uint32_t written;
	uint32_t carried; /* from round to round */
	uint32_t walks;	  /* of those: each round makes its value from the last one's */
	uint32_t
		needs[OL_REGISTER_OTHER + 1]; /* registers that its writers read, itself excepted */
	enum origin origin[OL_REGISTER_OTHER + 1];
	bool is_renewed[OL_REGISTER_OTHER + 1]; /* by something that does not read it */
	bool is_changed[OL_REGISTER_OTHER + 1]; /* by something that does */
};

static enum origin worse(enum origin a, enum origin b)
{
	return a > b ? a : b;
}

static enum origin of_registers(const struct values *v, uint32_t registers)
{
	enum origin found = FIXED;

	for (unsigned r = 0; r <= OL_REGISTER_OTHER; r++)
		if (registers >> r & 1)
			found = worse(found, v->origin[r]);
	return found;
}

/* Of a word at an address that changes as a counter does, nothing is known. */
static enum origin of_memory(const struct values *v, const struct ol_instruction *i)
{
	return !i->loads ? FIXED : of_registers(v, of_address(i)) > LOADED ? UNKNOWN : LOADED;
}

#define CALL_CLOBBERS	 0x0fc7u /* rax, rcx, rdx, rsi, rdi, r8 to r11 */
#define SYSCALL_CLOBBERS 0x0803u /* rax, rcx, r11 */

static uint32_t writes(const struct ol_instruction *i)
{
	return i->does == OL_DOES_CALL	    ? CALL_CLOBBERS
	       : i->does == OL_DOES_SYSCALL ? SYSCALL_CLOBBERS
					    : i->writes;
}

static enum origin of_inputs(const struct values *v, const struct ol_instruction *i,
			     uint32_t registers)
{
	return worse(of_registers(v, registers), of_memory(v, i));
}

/* What the flags are set by, most likely: the last before it that sets any. */
static enum origin of_flags(const struct values *v, const struct ol_instruction *i)
{
	const struct ol_instruction *setter = i;

	if (!i->uses_flags)
		return FIXED;
	do {
		if (setter == v->first)
			return UNKNOWN;
		setter--;
	} while (!setter->sets_flags);
	return of_inputs(v, setter, setter->reads);
}

static enum origin of_result(const struct values *v, const struct ol_instruction *i, unsigned r)
{
	uint32_t itself = 1u << r, others = i->reads & ~itself;

	if (i->does == OL_DOES_CLOCK)
		return CLOCK;
	if (i->does > OL_DOES_STEP || i->does == OL_DOES_WORK)
		return UNKNOWN;
	if (i->is_atomic) /* what the word had */
		return of_memory(v, i);
	if (v->is_changed[r] &&
	    (!v->is_renewed[r] ||
	     (v->walks >> r & 1))) { /* a counter, or a walk from word to word */
		bool steps = (i->does == OL_DOES_STEP || i->does == OL_DOES_MOVE ||
			      i->does == OL_DOES_LOGIC);

		return steps && !i->loads && of_registers(v, others) == FIXED ? COUNTER : UNKNOWN;
	}
	return worse(of_flags(v, i), of_inputs(v, i, others));
}

/* Registers that a block's beginning needs, if its end needs those. */
static uint32_t live_before(const struct ol_finder *f, const struct block *b, uint32_t live)
{
	for (size_t n = b->end; n-- > b->first;) {
		const struct ol_instruction *i = &f->instructions.all[n];

		live = (live & ~i->defines) | i->reads;
	}
	return live;
}

/* Registers that a round uses as the last one left them. */
static uint32_t carried(struct ol_finder *f)
{
	bool changed = true;

	for (size_t k = 0; k < f->members.n; k++)
		f->blocks.all[f->members.all[k]].live = 0;
	while (changed) {
		changed = false;
		for (size_t k = 0; k < f->members.n; k++) {
			struct block *b = &f->blocks.all[f->members.all[k]];
			uint32_t after = 0, before;

			if (is_member(f, b->next))
				after |= f->blocks.all[b->next].live;
			if (is_member(f, b->target))
				after |= f->blocks.all[b->target].live;
			before = live_before(f, b, after);
			changed |= before != b->live;
			b->live = before;
		}
	}
	return f->blocks.all[f->members.all[0]].live;
}

static uint32_t stepped_behind(const struct ol_finder *f, const struct block *b, uint32_t stepped)
{
	for (size_t n = b->first; n < b->end; n++) {
		const struct ol_instruction *i = &f->instructions.all[n];

		stepped = (stepped & ~(i->defines & ~i->reads)) | (writes(i) & i->reads);
	}
	return stepped;
}

/* Of the blocks of the loop before this one. */
static uint32_t stepped_before(const struct ol_finder *f, const struct block *b)
{
	uint32_t found = 0;

	for (int32_t p = 0; p < b->n_parents; p++)
		if (is_member(f, f->parents.all[b->parents + p]))
			found |= f->blocks.all[f->parents.all[b->parents + p]].stepped;
	return found;
}

/* Registers that a round leaves to the next one as it changed them: not what it loaded anew before its end. */
static uint32_t stepped(struct ol_finder *f)
{
	bool changed = true;

	for (size_t k = 0; k < f->members.n; k++)
		f->blocks.all[f->members.all[k]].stepped = 0;
	while (changed) {
		changed = false;
		for (size_t k = 0; k < f->members.n; k++) {
			struct block *b = &f->blocks.all[f->members.all[k]];
			uint32_t behind = stepped_behind(f, b, stepped_before(f, b));

			changed |= behind != b->stepped;
			b->stepped = behind;
		}
	}
	return stepped_before(f, &f->blocks.all[f->members.all[0]]);
}

typedef void each_instruction(const struct ol_instruction *i, void *context);

static void for_each(const struct ol_finder *f, each_instruction *each, void *context)
{
	for (size_t k = 0; k < f->members.n; k++) {
		const struct block *b = &f->blocks.all[f->members.all[k]];

		for (size_t n = b->first; n < b->end; n++)
			each(&f->instructions.all[n], context);
	}
}

static void note_writes(const struct ol_instruction *i, void *context)
{
	struct values *v = context;

	v->written |= writes(i);
	for (unsigned r = 0; r <= OL_REGISTER_OTHER; r++)
		if (writes(i) >> r & 1) {
			v->needs[r] |= i->reads & ~(1u << r);
			v->is_renewed[r] |= !(i->reads >> r & 1);
			v->is_changed[r] |= i->reads >> r & 1;
		}
}

static void improve(const struct ol_instruction *i, void *context)
{
	struct values *v = context;

	for (unsigned r = 0; r <= OL_REGISTER_OTHER; r++)
		if (writes(i) >> r & 1)
			v->origin[r] = worse(v->origin[r], of_result(v, i, r));
}

/* A register whose value comes from itself by way of others. */
static bool is_circular(const struct values *v, unsigned r)
{
	uint32_t reached = v->needs[r], before = 0;

	while (reached != before) {
		before = reached;
		for (unsigned other = 0; other <= OL_REGISTER_OTHER; other++)
			if (before >> other & 1)
				reached |= v->needs[other];
	}
	return reached >> r & 1;
}

static struct values values(struct ol_finder *f)
{
	struct values v = { .first = f->instructions.all }, before;

	for_each(f, note_writes, &v);
	v.carried = carried(f) & v.written;
	v.walks = v.carried & stepped(f);
	for (unsigned r = 0; r <= OL_REGISTER_OTHER; r++)
		if ((v.written >> r & 1) && is_circular(&v, r))
			v.origin[r] = UNKNOWN;
	do { /* origins only get worse, so this ends */
		before = v;
		for_each(f, improve, &v);
	} while (memcmp(before.origin, v.origin, sizeof(v.origin)) != 0);
	return v;
}

/* The instruction that the block's last one has its condition from, in it or in the only block before. */
static const struct ol_instruction *condition(const struct ol_finder *f, int32_t block)
{
	for (unsigned hops = 0; hops < 3; hops++) {
		const struct block *b = &f->blocks.all[block];

		for (size_t n = b->end; n-- > b->first;)
			if (f->instructions.all[n].sets_flags)
				return &f->instructions.all[n];
		if (b->n_parents != 1 || !is_member(f, f->parents.all[b->parents]))
			return 0;
		block = f->parents.all[b->parents];
	}
	return 0;
}

struct exits {
	bool by_word, by_counter, by_clock, by_table;
	const struct ol_instruction *word, *bound, *comparison;
	const struct ol_instruction *other; /* of two words that are compared */
	bool until_equal;
};

/* A load of one of these registers. */
static const struct ol_instruction *load_into(const struct ol_finder *f, uint32_t registers)
{
	for (size_t k = 0; k < f->members.n; k++) {
		const struct block *b = &f->blocks.all[f->members.all[k]];

		for (size_t n = b->end; n-- > b->first;) {
			const struct ol_instruction *i = &f->instructions.all[n];

			if (i->loads && (i->writes & registers))
				return i;
		}
	}
	return 0;
}

/* What a block's condition comes from, and is set by. */
static enum origin of_condition(const struct ol_finder *f, const struct values *v, int32_t block,
				const struct ol_instruction **by)
{
	const struct ol_instruction *i = *by = condition(f, block);

	if (!i || i->does > OL_DOES_STEP || i->does == OL_DOES_WORK ||
	    !last(f, &f->blocks.all[block])->uses_flags)
		return UNKNOWN;
	return i->is_atomic ? of_memory(v, i) : of_inputs(v, i, i->reads);
}

static bool leaves_if_equal(const struct ol_finder *f, int32_t block)
{
	const struct block *b = &f->blocks.all[block];
	const struct ol_instruction *branch = last(f, b);

	return is_member(f, b->target) ? branch->if_unequal : branch->if_equal;
}

static void take_exit(const struct ol_finder *f, const struct values *v, int32_t block,
		      struct exits *e)
{
	const struct ol_instruction *i;
	enum origin from = of_condition(f, v, block, &i);

	if (from == LOADED) {
		e->by_word = true;
		if (!e->word) {
			e->word = i->loads ? i : load_into(f, i->reads);
			e->other = i->loads ? load_into(f, i->reads & ~of_address(i)) : 0;
			e->comparison = i;
			e->until_equal = leaves_if_equal(f, block);
		}
	}
	e->by_counter |= from == COUNTER;
	if (from == COUNTER)
		e->bound = i;
	e->by_clock |= from == CLOCK;
}

static struct exits exits(const struct ol_finder *f, const struct values *v)
{
	struct exits e = { 0 };

	for (size_t k = 0; k < f->members.n; k++) {
		int32_t block = f->members.all[k];
		const struct block *b = &f->blocks.all[block];
		const struct ol_instruction *end = last(f, b);

		if (end->does == OL_DOES_BRANCH &&
		    !(is_member(f, b->next) && is_member(f, b->target)))
			take_exit(f, v, block, &e);
		e.by_table |= end->does == OL_DOES_JUMP_AWAY;
	}
	return e;
}

struct body {
	uint64_t begin, end;
	bool loads, stores, updates, calls, relaxes;
	/* Of the function's own frame: how many accesses, and whether others' memory is stored to, or asked for. */
	unsigned instructions, in_frame;
	bool stores_elsewhere, asks_elsewhere;
};

static bool is_in_frame(const struct ol_instruction *i)
{
	return (i->loads || i->stores) && !i->is_atomic && i->address.index == OL_REGISTER_NONE &&
	       (i->address.base == STACK_POINTER || i->address.base == FRAME_POINTER);
}

static void take_body(const struct ol_instruction *i, void *context)
{
	struct body *b = context;
	uint64_t end = i->at + i->size;

	b->instructions++;
	b->in_frame += is_in_frame(i);
	b->stores_elsewhere |= i->stores && !i->is_atomic && !is_in_frame(i);
	b->asks_elsewhere |= (i->loads && !is_in_frame(i)) || i->does == OL_DOES_CALL;
	b->begin = i->at < b->begin ? i->at : b->begin;
	b->end = end > b->end ? end : b->end;
	b->loads |= i->loads;
	b->stores |= i->stores && !i->is_atomic;
	b->updates |= i->stores && i->is_atomic;
	b->calls |= i->does == OL_DOES_CALL || i->does == OL_DOES_SYSCALL;
	b->relaxes |= i->does == OL_DOES_RELAX;
}

#define KEPT_BY_CALLEES 0xf000u /* r12 to r15: code that has too few other registers uses them first */

/*
 * As compilers leave it that do not optimize: it stores in its own frame alone, where all variables are, however many
 * registers are free. A loop that loads and calls nothing else waits for nobody.
 */
static bool is_unoptimized(const struct ol_finder *f, const struct body *b)
{
	if (b->stores_elsewhere || !b->asks_elsewhere || 4 * b->in_frame < b->instructions)
		return false;
	for (size_t n = 0; n < f->instructions.n; n++)
		if ((f->instructions.all[n].reads | f->instructions.all[n].writes) &
		    KEPT_BY_CALLEES)
			return false;
	return true;
}

/* It may be one round of a wait, whose look is elsewhere. */
static bool delays(const struct body *b)
{
	return b->relaxes && !b->loads && !b->updates && !b->calls;
}

static bool has_inner_loop(const struct ol_finder *f)
{
	for (size_t k = 1; k < f->members.n; k++) {
		int32_t header = f->members.all[k];
		const struct block *h = &f->blocks.all[header];

		for (int32_t p = 0; p < h->n_parents; p++)
			if (leads_back(f, f->parents.all[h->parents + p], header))
				return true;
	}
	return false;
}

static uint32_t from_words(const struct values *v, uint32_t registers)
{
	uint32_t found = 0;

	for (unsigned r = 0; r <= OL_REGISTER_OTHER; r++)
		if ((registers >> r & 1) && v->origin[r] == LOADED)
			found |= 1u << r;
	return found;
}

/* Whether it looks at word after word. */
static bool scans(const struct ol_finder *f, const struct values *v)
{
	for (size_t k = 0; k < f->members.n; k++) {
		const struct block *b = &f->blocks.all[f->members.all[k]];

		for (size_t n = b->first; n < b->end; n++)
			if (f->instructions.all[n].loads &&
			    of_registers(v, of_address(&f->instructions.all[n])) == COUNTER)
				return true;
	}
	return false;
}

/* Most likely a value that had no register. */
static bool waits_for_own_frame(const struct exits *e, const struct body *b)
{
	return e->word && e->word->address.base == STACK_POINTER && !b->relaxes;
}

/* Without a register that is carried, a round is told from the last one by memory alone: whatever it computes, it waits. */
static enum ol_loop_kind kind_of(const struct ol_finder *f, const struct values *v,
				 uint32_t carried, const struct exits *e, const struct body *b)
{
	bool counts = carried && of_registers(v, carried) == COUNTER;

	if (!b->loads)
		return OL_LOOP_DELAY;
	if (b->calls)
		return OL_LOOP_CALLS;
	if ((carried && (!counts || !e->by_counter || scans(f, v))) || waits_for_own_frame(e, b))
		return OL_LOOP_WORKS;
	if (carried && has_inner_loop(f))
		return OL_LOOP_NESTED;
	if (b->updates)
		return OL_LOOP_UPDATES;
	return carried ? OL_LOOP_COUNTED : e->by_clock ? OL_LOOP_TIMED : OL_LOOP_PURE;
}

/* Jumps. */

/* A state that no block is in, nor the one behind it. Members stay members. */
static uint32_t begin_visits(struct ol_finder *f)
{
	f->stamp++;
	for (size_t k = 0; k < f->members.n; k++)
		f->blocks.all[f->members.all[k]].member = f->stamp;
	return 2 * f->stamp;
}

/* Whether the loop has no circle without the jump of that block. */
static bool is_cut_by(struct ol_finder *f, int32_t block)
{
	uint32_t state = begin_visits(f); /* visited: being walked, or done */
	bool is_cut = true;

	f->stack.n = 0;
	if (!push(f, f->members.all[0]))
		return false;
	f->blocks.all[f->members.all[0]].visited = state;
	while (f->stack.n && is_cut) {
		int32_t at = f->stack.all[f->stack.n - 1], child = NO_BLOCK;
		const struct block *b = &f->blocks.all[at];
		int32_t to[2] = { b->next, at == block ? NO_BLOCK : b->target };

		for (unsigned e = 0; e < 2 && child == NO_BLOCK; e++) {
			if (!is_member(f, to[e]))
				continue;
			if (f->blocks.all[to[e]].visited == state)
				is_cut = false;
			else if (f->blocks.all[to[e]].visited != state + 1)
				child = to[e];
		}
		if (child == NO_BLOCK) {
			f->blocks.all[at].visited = state + 1;
			f->stack.n--;
		} else {
			f->blocks.all[child].visited = state;
			if (!push(f, child))
				return false;
		}
	}
	return is_cut;
}

static bool add_jump(struct ol_finder *f, int32_t block)
{
	const struct ol_instruction *i = last(f, &f->blocks.all[block]);
	struct ol_jump *jump = MORE(f->jumps);

	if (!jump)
		return false;
	jump->after = i->at + i->size;
	jump->displacement = i->at + i->displacement_at;
	jump->size = i->displacement_size;
	jump->target = i->target;
	return true;
}

/* Dead bytes. */

static bool add_dead(struct ol_finder *f, uint64_t begin, uint64_t end)
{
	struct range *dead = end > begin ? MORE(f->dead) : 0;

	if (dead)
		*dead = (struct range){ begin, end };
	return dead || end <= begin;
}

/* Whether nothing falls out of a function's end, as far as its last instruction says. */
static bool ends_for_good(const struct ol_finder *f, const struct ol_function *function)
{
	size_t size = function->end - function->begin;
	const unsigned char *code = ol_image_code(f->image, function->begin, size);
	struct ol_instruction i = { 0 };

	for (size_t at = 0; code && at < size; at += i.size)
		if (!ol_decode(code + at, size - at, function->begin + at, &i))
			return false;
	return code && !falls_through(&i);
}

/* The filling between the n-th function and the next one. */
static bool add_dead_behind(struct ol_finder *f, uint32_t n)
{
	struct ol_function function, next;
	const unsigned char *code;
	uint64_t end;

	if (n + 1 >= f->image->n_functions || !ol_image_function(f->image, n, &function) ||
	    !ol_image_function(f->image, n + 1, &next) || next.begin < function.end + OL_HOP)
		return true;
	code = ol_image_code(f->image, function.end, next.begin - function.end);
	for (end = function.end; code && end < next.begin;) {
		struct ol_instruction i;

		if (!ol_decode(code + (end - function.end), next.begin - end, end, &i) ||
		    !is_filling(&i))
			break;
		end += i.size;
	}
	return end < function.end + OL_HOP || !ends_for_good(f, &function) ||
	       add_dead(f, function.end, end);
}

/* As far as a jump of one byte reaches, twice. */
enum { FAR = 2 * (INT8_MAX + 1) };

/* What is dead in the function and near it. */
static bool find_dead(struct ol_finder *f)
{
	struct ol_function function;

	for (size_t k = 0; k < f->blocks.n; k++) {
		const struct block *b = &f->blocks.all[k];
		const struct ol_instruction *end = last(f, b);

		if (b->is_dead &&
		    !add_dead(f, f->instructions.all[b->first].at, end->at + end->size))
			return false;
	}
	for (uint32_t n = f->index; n < f->image->n_functions; n++) {
		if (!ol_image_function(f->image, n, &function) ||
		    function.begin > f->function.end + FAR)
			break;
		if (!add_dead_behind(f, n))
			return false;
	}
	for (uint32_t n = f->index; n-- > 0;) {
		if (!ol_image_function(f->image, n, &function) ||
		    function.end + FAR < f->function.begin)
			break;
		if (!add_dead_behind(f, n))
			return false;
	}
	return true;
}

static bool is_given(const struct ol_finder *f, uint64_t at, uint64_t size)
{
	for (size_t k = 0; k < f->given.n; k++)
		if (at < f->given.all[k].end && f->given.all[k].begin < at + size)
			return true;
	return false;
}

static bool give(struct ol_finder *f, uint64_t at, uint64_t size)
{
	struct range *given = MORE(f->given);

	if (given)
		*given = (struct range){ at, at + size };
	return given;
}

/* The next place of that size, from `from` on, that a jump of one byte reaches from `after`; 0: there is none. */
static uint64_t place(const struct ol_finder *f, uint64_t after, uint64_t size, uint64_t from)
{
	uint64_t best = 0;

	for (size_t k = 0; k < f->dead.n; k++) {
		const struct range *dead = &f->dead.all[k];
		uint64_t at = dead->begin > from ? dead->begin : from;

		if (at + INT8_MAX + 1 < after)
			at = after - INT8_MAX - 1;
		while (at + size <= dead->end && at <= after + INT8_MAX && is_given(f, at, size))
			at++;
		if (at + size <= dead->end && at <= after + INT8_MAX && (!best || at < best))
			best = at;
	}
	return best;
}

/* At once, or by way of a short jump in dead bytes between. */
static bool find_pad(struct ol_finder *f, struct ol_jump *jump)
{
	jump->pad = place(f, jump->after, OL_PAD, 0);
	for (uint64_t hop = 0; !jump->pad;) {
		hop = place(f, jump->after, OL_HOP, hop + 1);
		if (!hop)
			return true;
		jump->hop = hop;
		jump->pad = place(f, hop + OL_HOP, OL_PAD, 0);
		if (jump->pad < hop + OL_HOP && hop < jump->pad + OL_PAD)
			jump->pad = 0; /* it would be in it */
	}
	return give(f, jump->pad, OL_PAD) && (!jump->hop || give(f, jump->hop, OL_HOP));
}

/* A jump of four bytes reaches memory of our own. */
static const char *find_pads(struct ol_finder *f)
{
	size_t given = f->given.n;

	for (size_t k = 0; k < f->jumps.n; k++) {
		struct ol_jump *jump = &f->jumps.all[k];

		if (jump->size != 1)
			continue;
		if (!find_pad(f, jump))
			return "memory is short";
		if (!jump->pad) {
			jump->hop = 0;
			f->given.n = given;
			return "no dead bytes are in its jump's reach";
		}
	}
	return 0;
}

/* All those to the header, if nothing falls into it. */
static const char *choose_all_jumps(struct ol_finder *f)
{
	int32_t header = f->members.all[0];

	f->jumps.n = 0;
	for (size_t k = 0; k < f->members.n; k++) {
		int32_t block = f->members.all[k];
		const struct block *b = &f->blocks.all[block];

		if (b->next == header)
			return "a round of it ends without a jump";
		if (b->target == header && !add_jump(f, block))
			return "memory is short";
	}
	return find_pads(f);
}

static bool ends_by_counter(const struct ol_finder *f, const struct values *v, int32_t block)
{
	const struct ol_instruction *i;

	return is_member(f, block) && of_condition(f, v, block, &i) == COUNTER;
}

/*
 * Whether a round of a loop around this one takes that jump, too, though it does not go back to this one's header. Where
 * a counter ends the loop, this one waited.
 */
static bool is_shared(struct ol_finder *f, const struct values *v, int32_t block)
{
	int32_t header = f->members.all[0], target = f->blocks.all[block].target;
	uint32_t state = begin_visits(f);

	f->stack.n = 0;
	if (!push(f, target))
		return true;
	while (f->stack.n) {
		int32_t at = f->stack.all[--f->stack.n];
		const struct block *b = &f->blocks.all[at];
		int32_t to[2] = { b->next, b->target };

		if (at == block || last(f, b)->does == OL_DOES_JUMP_AWAY)
			return true;
		for (unsigned e = 0; e < 2; e++) {
			if (to[e] == NO_BLOCK || f->blocks.all[to[e]].visited == state ||
			    (to[e] == header && is_member(f, at)) ||
			    (!is_member(f, to[e]) && ends_by_counter(f, v, at)))
				continue;
			f->blocks.all[to[e]].visited = state;
			if (!push(f, to[e]))
				return true;
		}
	}
	return false;
}

/* One that each round takes, to the header or elsewhere, and its pad; null, why there is none, or `why`: no such jump. */
static const char *choose_jump(struct ol_finder *f, const struct values *v, bool to_header,
			       const char *why)
{
	for (size_t k = 0; k < f->members.n; k++) {
		int32_t block = f->members.all[k], target = f->blocks.all[block].target;

		if (!is_member(f, target) || (target == f->members.all[0]) != to_header ||
		    !is_cut_by(f, block) || (!to_header && is_shared(f, v, block)))
			continue;
		f->jumps.n = 0;
		why = add_jump(f, block) ? find_pads(f) : "memory is short";
		if (!why)
			break;
	}
	return why;
}

/*
 * One jump or, if that is not to be had, all those to the header. Such are the loop's own. Others may be a round's of
 * a loop around it: a loop that never waits may be part of one that works, which shall not be slowed down.
 */
static const char *choose_jumps(struct ol_finder *f, const struct values *v)
{
	const char *why;

	if (!f->dead.n && !find_dead(f))
		return "memory is short";
	why = choose_jump(f, v, true, "no jump leads to its beginning");
	if (why)
		why = choose_jump(f, v, false, why);
	return why ? choose_all_jumps(f) : 0;
}

/* Whether a jump back of it is such as the quick look finds. */
static bool is_found_quickly(struct ol_finder *f)
{
	uint64_t begin = f->function.begin;
	const unsigned char *code = ol_image_code(f->image, begin, f->function.end - begin);

	for (size_t k = 0; code && k < f->members.n; k++) {
		const struct block *b = &f->blocks.all[f->members.all[k]];
		const struct ol_instruction *i = last(f, b);
		uint64_t after = i->at + i->size;

		if (is_member(f, b->target) && i->target <= i->at &&
		    may_wait(f, code + (i->target - begin), after - i->target))
			return true;
	}
	return false;
}

/* What it counts to: 0 if it counts down by an instruction that sets the flags, else what it compares its counter with. */
static void set_bound(struct ol_loop *loop, const struct exits *e)
{
	uint32_t others;

	loop->bound = OL_REGISTER_NONE;
	loop->bound_is = OL_NO_BOUND;
	if (!e->bound || loop->counter == OL_REGISTER_NONE || e->bound->loads)
		return;
	others = e->bound->reads & ~(1u << loop->counter);
	if (e->bound->does == OL_DOES_STEP)
		loop->bound_is = 0;
	else if (!others)
		loop->bound_is = e->bound->immediate;
	else if (!(others & (others - 1)))
		loop->bound = (uint8_t)__builtin_ctz(others);
}

/* The block that is always run before this one, the last such; NO_BLOCK: the function begins here. */
static int32_t before(const struct ol_finder *f, int32_t block)
{
	int32_t order = f->blocks.all[block].dominator;

	return order > 0 ? block_in_order(f, order) : NO_BLOCK; /* 0 is the root */
}

static struct ol_word word_of(const struct ol_instruction *load, const struct values *v)
{
	if (!load)
		return (struct ol_word){ 0 };
	return (struct ol_word){ load->address, load->at + load->size,
				 !(of_address(load) & v->written) };
}

static bool updates(const struct ol_finder *f, const struct block *b)
{
	for (size_t n = b->first; n < b->end; n++)
		if (f->instructions.all[n].is_atomic && f->instructions.all[n].stores)
			return true;
	return false;
}

/* Whether each path to the loop updates some word, as one does that takes a ticket, or arrives. */
static bool is_after_update(const struct ol_finder *f)
{
	for (int32_t at = before(f, f->members.all[0]); at != NO_BLOCK; at = before(f, at))
		if (updates(f, &f->blocks.all[at]))
			return true;
	return false;
}

/* The only register that the word is compared with, if all rounds compare with the same. */
static uint8_t value_of(const struct exits *e, const struct values *v)
{
	const struct ol_instruction *i = e->comparison;
	uint32_t address = i && i->loads ? of_address(i) : 0,
		 others = i ? i->reads & ~address & ~e->word->writes : 0;

	if (!i || i->does != OL_DOES_COMPARE || !others || (others & (others - 1)) ||
	    (others & v->written))
		return OL_REGISTER_NONE;
	return (uint8_t)__builtin_ctz(others);
}

/* Whether that register has, before the loop, what an atomic update found or made, as far as moves lead back to it. */
static bool comes_from_update(const struct ol_finder *f, uint8_t reg)
{
	uint32_t wanted = reg <= OL_REGISTER_OTHER ? 1u << reg : 0;

	for (int32_t at = before(f, f->members.all[0]); wanted && at != NO_BLOCK;
	     at = before(f, at)) {
		const struct block *b = &f->blocks.all[at];

		for (size_t n = b->end; n-- > b->first;) {
			const struct ol_instruction *i = &f->instructions.all[n];

			if (!(writes(i) & wanted))
				continue;
			if (i->is_atomic)
				return true;
			if ((i->does != OL_DOES_MOVE && i->does != OL_DOES_LOGIC) || i->loads)
				return false;
			wanted = (wanted & ~writes(i)) | i->reads;
		}
	}
	return false;
}

/* Of which nothing else is known. */
static void tell_unoptimized(const struct ol_finder *f, const struct body *b, ol_loop_found *found,
			     void *context)
{
	const struct ol_loop loop = {
		.function = f->function.begin,
		.begin = b->begin,
		.end = b->end,
		.kind = OL_LOOP_UNOPTIMIZED,
		.relaxes = b->relaxes,
		.counter = OL_REGISTER_NONE,
		.bound = OL_REGISTER_NONE,
		.bound_is = OL_NO_BOUND,
		.value = OL_REGISTER_NONE,
		.refused = "its code is not optimized",
	};

	found(&loop, context);
}

static void look_at(struct ol_finder *f, ol_loop_found *found, void *context)
{
	struct values v = values(f);
	struct exits e = exits(f, &v);
	struct body b = { .begin = UINT64_MAX };
	uint32_t between = v.carried;
	struct ol_loop loop;

	for_each(f, take_body, &b);
	if (b.stores) {
		if (!f->only_patched && is_unoptimized(f, &b))
			tell_unoptimized(f, &b, found, context);
		return;
	}
	/* If an update is made from what the last one found, the loop does not wait: it tries again. */
	if (!(b.loads || delays(&b)) || e.by_table ||
	    (b.updates && between && of_registers(&v, between) != COUNTER))
		return;
	between &= ~from_words(&v, between);
	if (!e.by_word && !delays(&b) && (between || b.calls))
		return;
	loop = (struct ol_loop){
		.function = f->function.begin,
		.begin = b.begin,
		.end = b.end,
		.kind = kind_of(f, &v, between, &e, &b),
		.relaxes = b.relaxes,
		.counter = between ? (uint8_t)__builtin_ctz(between) : OL_REGISTER_NONE,
		.value = OL_REGISTER_NONE,
		.is_after_update = is_after_update(f),
	};
	loop.word = word_of(e.word, &v);
	loop.other = word_of(e.other, &v);
	if (e.word) {
		loop.until_equal = e.until_equal;
		loop.value = value_of(&e, &v);
		loop.value_is_updates = comes_from_update(f, loop.value);
	}
	set_bound(&loop, &e);
	loop.refused = ol_loop_is_patched[loop.kind] && !is_found_quickly(f)
			       ? "other code lies between its ends"
			       : choose_jumps(f, &v);
	loop.jumps = f->jumps.all;
	loop.n_jumps = (unsigned)f->jumps.n;
	found(&loop, context);
}

bool ol_find_relaxes(const struct ol_finder *f)
{
	bool relaxes = false;

	for (size_t n = 0; n < f->instructions.n; n++) {
		const struct ol_instruction *i = &f->instructions.all[n];

		relaxes |= i->does == OL_DOES_RELAX;
		if (i->does == OL_DOES_SYSCALL)
			return false;
	}
	return relaxes && !f->has_loop;
}

bool ol_find_calls(const struct ol_finder *f, uint64_t at)
{
	for (size_t n = 0; n < f->instructions.n; n++) {
		const struct ol_instruction *i = &f->instructions.all[n];

		if (at >= i->at && at < i->at + i->size)
			return i->does == OL_DOES_CALL;
	}
	return false;
}

bool ol_find_has(const struct ol_finder *f, uint64_t at)
{
	return is_in_function(f, at) && is_member(f, block_of(f, at));
}

static bool does_more(const struct ol_finder *f)
{
	for (size_t k = 0; k < f->members.n; k++) {
		const struct block *b = &f->blocks.all[f->members.all[k]];

		for (size_t n = b->first; n < b->end; n++)
			if (is_foreign(&f->instructions.all[n]))
				return true;
	}
	return false;
}

static bool find(struct ol_finder *f, ol_loop_found *found, void *context)
{
	enum decoded decoded = decode_all(f);

	f->has_loop = false;
	if (decoded != HAS_LOOPS)
		return decoded == HAS_NO_LOOPS;
	if (!make_blocks(f) || !list_parents(f) || !order_blocks(f))
		return false;
	find_dominators(f);
	f->dead.n = 0;
	f->stamp = 2; /* above what `visited` has */
	for (size_t k = 0; k < f->blocks.n; k++) {
		if (!gather(f, (int32_t)k))
			return false;
		f->has_loop |= f->members.n > 0;
		if (f->members.n && !(f->only_patched && does_more(f)))
			look_at(f, found, context);
	}
	return true;
}

bool ol_find_in(struct ol_finder *f, uint32_t n, ol_loop_found *found, void *context)
{
	f->index = n;
	f->is_function = true;
	return ol_image_function(f->image, n, &f->function) && find(f, found, context);
}

bool ol_find_between(struct ol_finder *f, uint32_t n, struct ol_function *code,
		     ol_loop_found *found, void *context)
{
	bool fine;

	f->index = n;
	f->is_function = false;
	f->function = *code;
	fine = find(f, found, context);
	code->end = f->function.end;
	return fine;
}
