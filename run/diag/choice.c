/* SPDX-License-Identifier: MIT */
/*
 * Which lock a mutex gets: by the function that initialises it, or locks it first, and by its own name.
 *
 *	OVERLOCK_SITES		a line per rule, `LOCK PATTERN`; the first that fits decides
 *	PATTERN			[OBJECT:]FUNCTION or &[OBJECT:]VARIABLE
 *
 * OBJECT is a file's name without its folder, and fits without what comes after `.so` too. FUNCTION
 * and VARIABLE are as the file has them, or as C++ has, with or without parameters. `*` is any text,
 * `?` any character. Functions are those that call pthread_mutex_init(), or pthread_mutex_lock() and
 * its like if it was initialised statically.
 *
 * The mutex remembers in the upper bits of its kind, so that deciding happens once for each. What
 * fits is looked up once for each object, as ranges of addresses: a mutex on the heap then costs
 * two searches. All of it grows only, and is read without locks (symbols.h says why).
 */
#include "defaults.h"
#include "interposer.h"
#include "symbols.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Choices 0 and 1 are the default: not decided yet, and decided. OPENMP is that of OpenMP's locks. */
enum { UNDECIDED, DEFAULT, OPENMP, FIRST_RULE };

struct rule {
	const char *lock, *object, *name, *text; /* object: null for any; text: as it was given */
	bool by_variable;
	uint64_t mutexes; /* that got its lock */
};

const struct ol_lock_ops **ol_run_choices;
bool ol_run_has_rules;
static const struct ol_lock_ops *without_rules[FIRST_RULE];
static struct rule *rules;
static uint32_t n_rules;

/* Memory: from the kernel, for good, and all zero. */

static void *keep(size_t size)
{
	void *p = mmap(0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? 0 : p;
}

/* Patterns. */

/* Whether `text`, up to `end`, is as the pattern says. */
static bool fits(const char *pattern, const char *text, const char *end)
{
	const char *star = 0, *retry = 0;

	while (text < end) {
		if (*pattern == '*') {
			star = ++pattern;
			retry = text;
		} else if (*pattern && (*pattern == '?' || *pattern == *text)) {
			pattern++;
			text++;
		} else if (star) {
			pattern = star;
			text = ++retry;
		} else {
			return false;
		}
	}
	while (*pattern == '*')
		pattern++;
	return !*pattern;
}

static bool fits_all(const char *pattern, const char *text)
{
	return fits(pattern, text, text + strlen(text));
}

/* Where the parameters begin: at the parenthesis that the last one closes; null if there are none. */
static const char *parameters(const char *name)
{
	const char *p = strrchr(name, ')');
	int depth = 0;

	if (!p || (p[1] && p[1] != ' ')) /* " const", " [clone .cold]" */
		return 0;
	for (; p >= name; p--) {
		depth += (*p == ')') - (*p == '(');
		if (!depth)
			return p;
	}
	return 0;
}

static bool fits_object(const struct rule *r, const struct object *o)
{
	const char *name = ol_run_object_name(o), *so = strstr(name, ".so.");

	return !r->object || fits_all(r->object, name) || (so && fits(r->object, name, so + 3));
}

/* `plain` is the symbol as the file has it, `cpp` as C++ has, or null. */
static bool fits_symbol(const struct rule *r, const char *plain, const char *cpp)
{
	const char *made = strchr(plain + 1, '.'); /* by the compiler: .constprop.0, .cold */
	const char *end = cpp ? parameters(cpp) : 0;

	return fits_all(r->name, plain) || (made && fits(r->name, plain, made)) ||
	       (cpp && fits_all(r->name, cpp)) || (end && fits(r->name, cpp, end));
}

/* What fits within an object. */

struct range {
	uintptr_t start, end;
	uintptr_t reach; /* the last end of this one and all before */
	uint32_t rule;
};

struct known {
	struct known *next;
	struct object object;
	size_t n, size;
	struct range *ranges; /* by start */
};

static struct known *knowns;

static bool add_range(struct known *k, uintptr_t start, uintptr_t end, uint32_t rule)
{
	if (k->n == k->size) {
		size_t size = k->size ? 2 * k->size : 64;
		struct range *more = keep(size * sizeof(*more));

		if (!more)
			return false;
		if (k->n) {
			memcpy(more, k->ranges, k->n * sizeof(*more));
			munmap(k->ranges, k->size * sizeof(*more));
		}
		k->ranges = more;
		k->size = size;
	}
	k->ranges[k->n++] = (struct range){ start, end, 0, rule };
	return true;
}

struct search {
	struct known *known;
	struct string text;
};

static bool look_at(const struct symbol *s, void *arg)
{
	struct search *search = arg;
	struct known *k = search->known;
	const char *cpp = 0;
	bool demangled = false;

	for (uint32_t i = 0; i < n_rules; i++) {
		const struct rule *r = &rules[i];

		if (r->by_variable == s->is_function || !fits_object(r, &k->object))
			continue;
		if (!demangled)
			cpp = ol_run_demangle(&search->text, s->name);
		demangled = true;
		if (fits_symbol(r, s->name, cpp))
			return add_range(k, s->start, s->end, i);
	}
	return true;
}

/* Sifting down needs no memory and no stack. */
static void sift(struct range *heap, size_t i, size_t n)
{
	struct range moved = heap[i];

	for (size_t child; (child = 2 * i + 1) < n; i = child) {
		child += child + 1 < n && heap[child + 1].start > heap[child].start;
		if (heap[child].start <= moved.start)
			break;
		heap[i] = heap[child];
	}
	heap[i] = moved;
}

/* Heap sort, because qsort() may call malloc(). */
static void sort(struct range *ranges, size_t n)
{
	for (size_t i = n / 2; i-- > 0;)
		sift(ranges, i, n);
	for (size_t end = n; end-- > 1;) {
		struct range last = ranges[end];

		ranges[end] = ranges[0];
		ranges[0] = last;
		sift(ranges, 0, end);
	}
}

static void learn(void *arg)
{
	struct search search = { .known = arg };
	struct known *k = arg;
	uintptr_t reach = 0;
	bool by_name = false;

	for (uint32_t i = 0; i < n_rules; i++) {
		if (!fits_object(&rules[i], &k->object))
			continue;
		if (!strcmp(rules[i].name,
			    "*")) /* whatever its symbols are called, and those without */
			add_range(k, k->object.start, k->object.end, i);
		else
			by_name = true;
	}
	if (by_name)
		ol_run_symbols_each(&k->object, look_at, &search);
	ol_run_string_free(&search.text);
	sort(k->ranges, k->n);
	for (size_t i = 0; i < k->n; i++) {
		reach = k->ranges[i].end > reach ? k->ranges[i].end : reach;
		k->ranges[i].reach = reach;
	}
}

static bool is_same(const struct object *a, const struct object *b)
{
	return a->start == b->start && a->end == b->end && a->dynamic == b->dynamic;
}

/* Two threads may learn the same at once; then it is there twice. */
static const struct known *known_of(const struct object *o)
{
	struct known *k = ol_load_acquire(&knowns);

	while (k && !is_same(&k->object, o))
		k = k->next;
	if (k)
		return k;
	k = keep(sizeof(*k));
	if (!k)
		return 0;
	k->object = *o;
	if (!ol_run_on_large_stack(learn, k))
		return 0;
	k->object.path = 0; /* may go before we do */
	do {
		k->next = ol_load_relaxed(&knowns);
	} while (!ol_cas_release(&knowns, k->next, k)); /* shows the ranges */
	return k;
}

/* The first rule of that sort that fits the address; n_rules: none. */
static uint32_t rule_at(const void *address, bool by_variable)
{
	uintptr_t at = (uintptr_t)address;
	uint32_t best = n_rules;
	size_t low = 0, high;
	struct object o;
	const struct known *k = ol_run_object_at(address, &o) ? known_of(&o) : 0;

	if (!k)
		return best;
	for (high = k->n; low < high;) { /* to the first that starts beyond */
		size_t middle = low + (high - low) / 2;

		if (k->ranges[middle].start <= at)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low > 0 && k->ranges[low - 1].reach > at; low--) {
		const struct range *r = &k->ranges[low - 1];

		if (r->end > at && rules[r->rule].by_variable == by_variable && r->rule < best)
			best = r->rule;
	}
	return best;
}

static uint32_t choice_for(const struct mutex *m, const void *site)
{
	/* The call, not where it returns to: that may be the next function. */
	uint32_t by_site = site ? rule_at((const char *)site - 1, false) : n_rules;
	uint32_t by_name = rule_at(m, true), rule = by_name < by_site ? by_name : by_site;

	return rule < n_rules ? FIRST_RULE + rule : (uint32_t)DEFAULT;
}

/*
 * Relaxed: the kind orders nothing. Until it says what lock the mutex has nobody has touched that
 * lock, and the table of choices is older than the first mutex.
 */
OL_COLD uint32_t ol_run_decide(struct mutex *m, const void *site)
{
	uint32_t choice = choice_for(m, site), kind;

	for (;;) {
		kind = ol_load_relaxed(&m->kind);
		if (kind >> KIND_CHOICE_SHIFT)
			return kind; /* another thread was faster */
		if (ol_cas_relaxed(&m->kind, kind, kind | choice << KIND_CHOICE_SHIFT))
			break;
	}
	if (choice >= FIRST_RULE)
		ol_add_relaxed(&rules[choice - FIRST_RULE].mutexes, (uint64_t)1);
	return kind | choice << KIND_CHOICE_SHIFT;
}

static bool has_openmp;

uint32_t ol_run_openmp_kind(const void *site)
{
	uint32_t rule = n_rules ? rule_at((const char *)site - 1, false) : n_rules;

	ol_store_relaxed(&has_openmp, true);
	if (rule >= n_rules)
		return OPENMP << KIND_CHOICE_SHIFT;
	ol_add_relaxed(&rules[rule].mutexes, (uint64_t)1);
	return (FIRST_RULE + rule) << KIND_CHOICE_SHIFT;
}

const struct ol_lock_ops *ol_run_openmp_lock(void)
{
	return ol_load_relaxed(&has_openmp) ? ol_run_choices[OPENMP] : 0;
}

/* The start. */

static uint32_t count_lines(const char *text)
{
	uint32_t n = 0;

	for (; *text; text++)
		n += *text == '\n' || !text[1];
	return n;
}

/* A colon that is not one of C++'s two ends the object's name. */
static char *object_end(char *pattern)
{
	for (char *p = pattern; *p; p++) {
		if (*p != ':')
			continue;
		if (p[1] != ':')
			return p;
		p++;
	}
	return 0;
}

static void parse(struct rule *r, char *line, char *copy)
{
	char *space = strchr(line, ' '), *colon;

	if (!space || !space[1])
		ol_run_refuse(line, "is not LOCK PATTERN, as OVERLOCK_SITES expects; use `overlock "
				    "run --site`");
	*space = 0;
	r->lock = line;
	r->name = space + 1;
	r->text = copy + (r->name - line);
	r->by_variable = *r->name == '&';
	r->name += r->by_variable;
	colon = object_end((char *)(uintptr_t)r->name);
	if (!colon)
		return;
	*colon = 0;
	r->object = r->name;
	r->name = colon + 1;
}

/* Two copies of the text: one is cut up. The environment is not ours to keep pointers into. */
static void parse_all(const char *text)
{
	size_t size = strlen(text) + 1;
	char *cut = keep(2 * size), *copy = cut + size;

	if (!cut)
		ol_run_refuse("OVERLOCK_SITES", "out of memory for its rules");
	memcpy(cut, text, size);
	memcpy(copy, text, size);
	for (uint32_t i = 0; i < n_rules; i++) {
		size_t length = strcspn(cut, "\n");

		cut[length] = copy[length] = 0;
		parse(&rules[i], cut, copy);
		cut += length + 1;
		copy += length + 1;
	}
}

static void rules_start(const char *text)
{
	n_rules = count_lines(text);
	if (n_rules > (KIND_CHOICE >> KIND_CHOICE_SHIFT) - FIRST_RULE)
		ol_run_refuse("OVERLOCK_SITES", "has too many rules; combine them with patterns");
	if (!ol_run_objects_start())
		ol_run_refuse("OVERLOCK_SITES",
			      "needs glibc 2.35 or later to identify callers; run "
			      "without --site");
	rules = keep(n_rules * sizeof(*rules));
	ol_run_choices = keep((FIRST_RULE + n_rules) * sizeof(const struct ol_lock_ops *));
	if (!rules || !ol_run_choices)
		ol_run_refuse("OVERLOCK_SITES", "out of memory for its rules");
	parse_all(text);
	for (uint32_t i = 0; i < n_rules; i++)
		if (strcmp(rules[i].lock, GLIBC) != 0)
			ol_run_choices[FIRST_RULE + i] = ol_run_lock_named(rules[i].lock);
	ol_run_has_rules = true;
}

uint32_t ol_run_choices_start(const struct ol_lock_ops *preset, const struct ol_lock_ops *openmp)
{
	const char *text = secure_getenv("OVERLOCK_SITES");

	ol_run_choices = without_rules;
	if (text && *text)
		rules_start(text);
	else
		ol_run_choices[UNDECIDED] = preset; /* with rules none, until they have decided */
	ol_run_choices[DEFAULT] = preset;
	ol_run_choices[OPENMP] = openmp;
	return ol_run_has_rules ? DEFAULT << KIND_CHOICE_SHIFT : 0;
}

bool ol_run_rules_each(bool (*each)(const char *pattern, const char *lock, uint64_t mutexes,
				    void *arg),
		       void *arg)
{
	for (uint32_t i = 0; i < n_rules; i++)
		if (!each(rules[i].text, rules[i].lock, ol_load_relaxed(&rules[i].mutexes), arg))
			return false;
	return true;
}
