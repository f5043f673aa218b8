/* SPDX-License-Identifier: MIT */
/*
 * The objects of this process and their waiting loops: which are led through stubs, and which cannot be, and why.
 *
 * Objects are looked at before main, and whenever a thread is created after others were loaded: a loop waits for
 * another thread. dlopen() itself is left alone: it looks for libraries where its caller's own object says.
 */
#include "spins.h"

#include "cache.h"
#include "report.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <overlock/port.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct {
	bool is_auto, is_trial; /* a trial changes nothing */
	const char *list;	/* of OBJECT+ADDRESS, with commas */
} asked;

static struct ol_found_loop *loops; /* the newest first; they stay when their object goes */

/* An object that was looked at. */
struct known {
	struct known *next;
	uint64_t base;
	const ElfW(Phdr) * segments;
	char id[OL_BUILD_ID];
	bool is_there;
};
static struct known *known_objects;

/* Whether the list names a loop of that object. */
static bool is_named(const char *object)
{
	size_t size = strlen(object);

	for (const char *word = asked.list; word && *word;
	     word += strcspn(word, ","), word += *word == ',')
		if (!strncmp(word, object, size) && word[size] == '+')
			return true;
	return false;
}

/* Whether the list has OBJECT+ADDRESS. */
static bool is_listed(const char *object, uint64_t begin)
{
	size_t size = strlen(object);

	for (const char *word = asked.list; word && *word;
	     word += strcspn(word, ","), word += *word == ',') {
		char *end;

		if (!strncmp(word, object, size) && word[size] == '+' &&
		    strtoull(word + size + 1, &end, 16) == begin && (*end == ',' || !*end))
			return true;
	}
	return false;
}

/* What of an object is being found. */
struct looking {
	const struct ol_image *image;
	const char *name;
	struct ol_found_loop *found;
	FILE *file; /* of the cache; null: none */
};

static void keep(const struct ol_loop *loop, void *context)
{
	struct looking *l = context;
	struct ol_found_loop *kept = calloc(1, sizeof(*kept));
	bool is_wanted = is_listed(l->name, loop->begin) ||
			 (asked.is_auto && ol_loop_is_patched[loop->kind]);

	if (!kept)
		return;
	*kept = (struct ol_found_loop){
		.next = l->found,
		.object = l->name,
		.begin = loop->begin,
		.end = loop->end,
		.kind = loop->kind,
		.refused = loop->refused,
	};
	l->found = kept;
	if (!is_wanted)
		kept->refused =
			ol_loop_is_patched[loop->kind] ? "not named" : "only if it is named";
	if (kept->refused)
		return;
	kept->sites = calloc(loop->n_jumps, sizeof(*kept->sites));
	if (!kept->sites)
		return;
	kept->n_sites = loop->n_jumps;
	for (unsigned k = 0; k < loop->n_jumps; k++) {
		const struct ol_jump *jump = &loop->jumps[k];
		unsigned char *base = (unsigned char *)l->image->base;

		kept->sites[k] = (struct site){
			.target = base + jump->target,
			.displacement = base + jump->displacement,
			.pad = base + jump->pad,
			.original = (unsigned char)(jump->target - jump->after),
			.hop = jump->hop ? base + jump->hop : 0,
			.led = (unsigned char)((jump->hop ? jump->hop : jump->pad) - jump->after),
			.counter = loop->kind == OL_LOOP_COUNTED ? loop->counter : OL_REGISTER_NONE,
			.bound = loop->bound,
			.bound_is = loop->bound_is,
			.object = l->name,
			.begin = loop->begin,
		};
	}
}

static bool is_as_found(const struct site *site)
{
	return *site->displacement == site->original;
}

static bool write_pad(const struct site *site, const unsigned char *stub)
{
	unsigned char jump[OL_PAD] = { 0xe9 }, hop[OL_HOP] = { 0xeb };
	int32_t distance = (int32_t)(stub - (site->pad + OL_PAD));

	memcpy(jump + 1, &distance, sizeof(distance));
	if (!ol_spins_text_write(site->pad, jump, sizeof(jump)))
		return false;
	hop[1] = (unsigned char)(site->pad - (site->hop + OL_HOP));
	return !site->hop || ol_spins_text_write(site->hop, hop, sizeof(hop));
}

static void describe(const struct looking *l, const unsigned char *stubs, size_t n)
{
	const struct site **sites = calloc(n, sizeof(*sites));
	size_t at = 0;

	for (const struct ol_found_loop *loop = l->found; sites && loop; loop = loop->next)
		for (unsigned k = 0; k < loop->n_sites; k++)
			sites[at++] = &loop->sites[k];
	if (sites)
		ol_spins_describe(stubs, sites, n);
	free(sites);
}

/* All of an object at once. The pads first; when all CPUs see them, the bytes that lead there. */
static const char *lead(struct looking *l, size_t n)
{
	const unsigned char *low = (const unsigned char *)UINTPTR_MAX, *high = 0;
	unsigned char *stubs, *stub;
	bool done = true;

	for (struct ol_found_loop *loop = l->found; loop; loop = loop->next)
		for (unsigned k = 0; k < loop->n_sites; k++) {
			low = loop->sites[k].pad < low ? loop->sites[k].pad : low;
			high = loop->sites[k].pad > high ? loop->sites[k].pad : high;
		}
	stub = stubs = ol_spins_stubs_near(low, high, n);
	if (!stubs)
		return "no memory is free in its reach";
	for (struct ol_found_loop *loop = l->found; loop; loop = loop->next)
		for (unsigned k = 0; k < loop->n_sites; k++, stub += STUB)
			ol_spins_write_stub(stub, stub, &loop->sites[k]);
	if (!ol_spins_stubs_seal(stubs, n))
		return "its stubs cannot be made executable";
	describe(l, stubs, n);
	stub = stubs;
	for (struct ol_found_loop *loop = l->found; loop; loop = loop->next)
		for (unsigned k = 0; k < loop->n_sites; k++, stub += STUB)
			done &= is_as_found(&loop->sites[k]) && write_pad(&loop->sites[k], stub);
	if (!done)
		return "its code cannot be changed";
	ol_spins_text_settle();
	for (struct ol_found_loop *loop = l->found; loop; loop = loop->next)
		for (unsigned k = 0; k < loop->n_sites; k++)
			done &= ol_spins_text_write(loop->sites[k].displacement,
						    &loop->sites[k].led, 1);
	return done ? 0 : "its code cannot be changed";
}

static void take(struct looking *l)
{
	struct ol_found_loop **end = &l->found;
	const char *why = 0;
	size_t n = 0;

	for (struct ol_found_loop *loop = l->found; loop; loop = loop->next)
		n += loop->n_sites;
	if (n && asked.is_trial)
		why = "only asked for";
	else if (n)
		why = lead(l, n);
	for (; *end; end = &(*end)->next)
		if ((*end)->n_sites && why)
			(*end)->refused = why;
	*end = loops;
	loops = l->found;
}

static void keep_and_write(const struct ol_loop *loop, void *context)
{
	struct looking *l = context;

	keep(loop, l);
	if (l->file && ol_loop_is_patched[loop->kind])
		ol_spins_keep_loop(l->file, loop);
}

/* All kinds are only looked for where one is named, or asked for. */
static void find(struct looking *l, bool only_patched)
{
	struct ol_finder *finder = ol_decode_start() ? 0 : ol_finder_new(l->image, only_patched);

	for (uint32_t n = 0; finder && n < l->image->n_functions; n++)
		ol_find_in(finder, n, keep_and_write, l);
	if (finder)
		ol_finder_free(finder);
}

static void look_at(const struct ol_image *image, const char *name, const char *id)
{
	struct looking looking = { .image = image, .name = name };
	bool only_patched = !asked.is_trial && !is_named(name);

	if (!only_patched) {
		find(&looking, false);
	} else if (!ol_spins_kept(id, keep, &looking)) {
		looking.file = ol_spins_keep_begin(id);
		find(&looking, true);
		if (looking.file)
			ol_spins_keep_end(looking.file, id);
	}
	take(&looking);
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* For the program itself the loader has no name. */
static const char *name_of(const struct dl_phdr_info *object)
{
	static char program[4096];
	ssize_t size;

	if (*object->dlpi_name)
		return object->dlpi_name;
	size = readlink("/proc/self/exe", program, sizeof(program) - 1);
	program[size > 0 ? size : 0] = 0;
	return program;
}

static struct known *known_as(const struct dl_phdr_info *object, const char *id)
{
	for (struct known *k = known_objects; k; k = k->next)
		if (k->base == object->dlpi_addr && k->segments == object->dlpi_phdr &&
		    !strcmp(k->id, id))
			return k;
	return 0;
}

static int look_at_object(struct dl_phdr_info *object, size_t size, void *context)
{
	const char *name = base_name(name_of(object));
	struct ol_image image;
	struct known *known;
	char id[OL_BUILD_ID];

	(void)size, (void)context;
	ol_image_loaded(&image, object);
	ol_image_build_id(&image, id);
	known = known_as(object, id);
	if (known) {
		known->is_there = true;
		return 0;
	}
	known = calloc(1, sizeof(*known));
	name = strdup(name);
	if (!known || !name)
		return 0;
	*known = (struct known){ known_objects, object->dlpi_addr, object->dlpi_phdr, "", true };
	memcpy(known->id, id, sizeof(id));
	known_objects = known;
	if (!ol_image_is_left_alone(name) && image.n_functions)
		look_at(&image, name, id);
	return 0;
}

static void forget_the_gone(void)
{
	for (struct known **at = &known_objects; *at;) {
		struct known *known = *at;

		if (known->is_there) {
			known->is_there = false;
			at = &known->next;
		} else {
			*at = known->next;
			free(known);
		}
	}
}

/* How many objects were ever loaded, and unloaded. */
static unsigned long long changes;

static int count_changes(struct dl_phdr_info *object, size_t size, void *found)
{
	(void)size;
	*(unsigned long long *)found = object->dlpi_adds + object->dlpi_subs;
	return 1;
}

static pthread_mutex_t looking = PTHREAD_MUTEX_INITIALIZER;
static bool is_on;

static void refresh(void)
{
	unsigned long long now = 0;
	int saved = errno;

	dl_iterate_phdr(count_changes, &now);
	/* Acquire: what was found up to there is seen. */
	if (now == ol_load_acquire(&changes) || pthread_mutex_trylock(&looking))
		return;
	dl_iterate_phdr(look_at_object, 0);
	forget_the_gone();
	ol_store_release(&changes, now);
	ol_spins_report(loops);
	pthread_mutex_unlock(&looking);
	errno = saved;
}

static void renew(void)
{
	pthread_mutex_init(&looking, 0);
}

static void understand(const char *words)
{
	asked.list = words;
	for (; *words; words += strcspn(words, ","), words += *words == ',') {
		size_t size = strcspn(words, ",");

		asked.is_auto |= size == 4 && !strncmp(words, "auto", size);
		asked.is_trial |= size == 7 && !strncmp(words, "dry-run", size);
	}
	asked.is_auto |= asked.is_trial;
}

#define PATIENCE_NS 5000

static bool is_disabled(void)
{
	const char *disable = getenv("OVERLOCK_DISABLE");

	return disable && *disable && strcmp(disable, "0") != 0;
}

__attribute__((constructor)) static void start(void)
{
	const char *words = getenv("OVERLOCK_SPINS"), *patience = getenv("OVERLOCK_SPINS_NS");
	const char *why;

	if (!words || !*words || is_disabled())
		return;
	understand(words);
	ol_spins_set_patience(patience ? strtoull(patience, 0, 10) : PATIENCE_NS);
	why = asked.is_trial ? ol_decode_start() : ol_spins_text_start();
	if (!why && !ol_spins_may_yield())
		why = "a filter of system calls forbids sched_yield()";
	ol_spins_report_start(why);
	if (why)
		return;
	pthread_atfork(0, 0, renew);
	is_on = true;
	refresh();
}

__attribute__((destructor)) static void end(void)
{
	if (is_on)
		ol_spins_report(loops);
}

__attribute__((visibility("default"))) int pthread_create(pthread_t *restrict thread,
							  const pthread_attr_t *restrict how,
							  void *(*function)(void *),
							  void *restrict argument)
{
	static int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

	if (is_on)
		refresh();
	/* Relaxed: whoever finds it finds the same. */
	if (!ol_load_relaxed(&real))
		ol_store_relaxed(&real, (__typeof__(real))dlsym(RTLD_NEXT, "pthread_create"));
	return ol_load_relaxed(&real)(thread, how, function, argument);
}
