/* SPDX-License-Identifier: MIT */
/*
 * The objects of this process and their waiting loops: which are retargeted to stubs, and which cannot be, and why.
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

static struct ol_object *objects; /* the newest first */

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
	struct ol_object *object;
	FILE *file; /* of the cache; null: none */
};

static const char *why_unwanted(const char *object, const struct ol_loop *loop)
{
	if (is_listed(object, loop->begin) || (asked.is_auto && ol_loop_is_patched[loop->kind]))
		return 0;
	return ol_loop_is_patched[loop->kind] ? "not named" : "only if it is named";
}

static struct site site_of(const void *kept, const struct ol_loop *loop, const struct ol_jump *jump,
			   const unsigned char *base)
{
	unsigned char *code = (unsigned char *)base;
	bool is_far = jump->size > 1;
	uint64_t changed = is_far ? jump->target : jump->hop ? jump->hop : jump->pad;
	unsigned highest = jump->size - 1u; /* byte */

	return (struct site){
		.loop = kept,
		.target = code + jump->target,
		.displacement = code + jump->displacement + highest,
		.pad = code + (is_far ? jump->target : jump->pad),
		.is_far = is_far,
		.hop = jump->hop ? code + jump->hop : 0,
		.retargeted = (unsigned char)((changed - jump->after) >> 8 * highest),
		.counter = loop->kind == OL_LOOP_COUNTED ? loop->counter : OL_REGISTER_NONE,
		.bound = loop->bound,
		.bound_is = loop->bound_is,
	};
}

static void keep(const struct ol_loop *loop, void *context)
{
	struct looking *l = context;
	struct ol_found_loop *kept = calloc(1, sizeof(*kept));

	if (!kept)
		return;
	*kept = (struct ol_found_loop){
		.next = l->object->loops,
		.begin = loop->begin,
		.end = loop->end,
		.kind = loop->kind,
		.refused = why_unwanted(l->object->name, loop),
	};
	l->object->loops = kept;
	if (!kept->refused)
		kept->refused = loop->refused;
	if (kept->refused)
		return;
	kept->refused = asked.is_trial ? "only asked for" : 0;
	kept->sites = calloc(loop->n_jumps, sizeof(*kept->sites));
	if (!kept->sites) {
		kept->refused = "memory is short";
		return;
	}
	kept->n_sites = loop->n_jumps;
	for (unsigned k = 0; k < loop->n_jumps; k++)
		kept->sites[k] = site_of(kept, loop, &loop->jumps[k], l->image->base);
}

/* Retargeting. */

/* Whether the jump still has its target. */
static bool is_as_found(const struct site *site)
{
	int32_t displacement = (int8_t)*site->displacement;

	if (site->is_far)
		memcpy(&displacement, site->displacement + 1 - sizeof(displacement),
		       sizeof(displacement));
	return site->displacement + 1 + displacement == site->target;
}

/* Dead bytes; or of ours, which nobody else has taken: another loop may begin less than a jump behind this one. */
static bool is_free(const struct site *site, const unsigned char *jump)
{
	static const unsigned char nothing[OL_PAD];

	return !site->is_far || !memcmp(site->pad, nothing, OL_PAD) ||
	       !memcmp(site->pad, jump, OL_PAD);
}

#define UNCHANGED "its code cannot be changed"

/* Null, or why not. */
static const char *write_pad(const struct site *site, const unsigned char *stub)
{
	unsigned char jump[OL_PAD] = { 0xe9 }, hop[OL_HOP] = { 0xeb };
	int32_t distance = (int32_t)(stub - (site->pad + OL_PAD));

	memcpy(jump + 1, &distance, sizeof(distance));
	if (!is_free(site, jump))
		return "another loop begins less than a jump away";
	hop[1] = (unsigned char)(site->pad - (site->hop + OL_HOP));
	return ol_spins_text_write(site->pad, jump, sizeof(jump)) &&
			       (!site->hop || ol_spins_text_write(site->hop, hop, sizeof(hop)))
		       ? 0
		       : UNCHANGED;
}

/* Calls it with each site of the object's, and its loop; the number of them. */
typedef void each_site(struct ol_found_loop *loop, struct site *site, size_t n, void *context);

static size_t for_each(const struct ol_object *object, each_site *each, void *context)
{
	size_t n = 0;

	for (struct ol_found_loop *loop = object->loops; loop; loop = loop->next)
		for (unsigned k = 0; k < loop->n_sites; k++)
			each(loop, &loop->sites[k], n++, context);
	return n;
}

struct span {
	const unsigned char *low, *high;
};

static void widen(struct ol_found_loop *loop, struct site *site, size_t n, void *context)
{
	struct span *s = context;

	(void)loop, (void)n;
	s->low = !s->low || site->target < s->low ? site->target : s->low;
	s->high = site->target > s->high ? site->target : s->high;
}

static void lead_into_shadow(struct ol_found_loop *loop, struct site *site, size_t n, void *context)
{
	const struct ol_shadow *shadow = context;

	(void)loop, (void)n;
	if (!site->is_far)
		return;
	site->pad += shadow->shift * OL_SHADOW_STEP;
	site->retargeted = (unsigned char)(site->retargeted + shadow->shift);
}

struct stubs {
	unsigned char *bytes; /* as they will be */
	const unsigned char *at;
	const struct site **sites;
};

static void make_stub(struct ol_found_loop *loop, struct site *site, size_t n, void *context)
{
	struct stubs *s = context;

	(void)loop;
	ol_spins_write_stub(s->bytes + n * STUB, s->at + n * STUB, site);
	s->sites[n] = site;
}

static void refuse(struct ol_found_loop *loop, struct site *site, size_t n, void *why)
{
	(void)site, (void)n;
	loop->refused = why;
}

/* False: memory is short, or is not to be written. */
static bool write_stubs(struct ol_object *object, unsigned char *at, size_t n)
{
	struct stubs s = { calloc(n, STUB), at, calloc(n, sizeof(*s.sites)) };
	bool fine = s.bytes && s.sites;

	if (fine) {
		for_each(object, make_stub, &s);
		fine = ol_spins_text_write(at, s.bytes, n * STUB);
	}
	if (fine) {
		ol_spins_describe(at, s.sites, n);
		object->stubs = at;
	}
	free(s.bytes);
	free(s.sites);
	return fine;
}

static const char *make_stubs(struct ol_object *object)
{
	struct span span = { 0 };
	size_t n = for_each(object, widen, &span);
	struct ol_shadow shadow = ol_spins_shadow(span.low, span.high, n);

	if (!shadow.stubs)
		return "no memory is free in its reach";
	for_each(object, lead_into_shadow, &shadow);
	return write_stubs(object, shadow.stubs, n) ? 0 : "its stubs cannot be written";
}

/* Jumps of a loop to the same place have the same pad in the shadow. */
static void make_ready(struct ol_found_loop *loop, struct site *site, size_t n, void *stubs)
{
	bool has_pad = site != loop->sites && site->pad == loop->sites->pad;

	if (loop->refused) /* for another jump of it */
		return;
	if (!is_as_found(site))
		loop->refused = UNCHANGED;
	else if (!has_pad)
		loop->refused = write_pad(site, (unsigned char *)stubs + n * STUB);
}

static void retarget(struct ol_found_loop *loop, struct site *site, size_t n, void *context)
{
	(void)n, (void)context;
	if (!loop->refused && !ol_spins_text_write(site->displacement, &site->retargeted, 1))
		loop->refused = UNCHANGED;
	loop->retargeted += !loop->refused && site == loop->sites;
}

/* The pads first; when all CPUs see them, the bytes that lead there. */
static void retarget_all(struct ol_object *object)
{
	for_each(object, make_ready, object->stubs);
	ol_spins_text_settle();
	for_each(object, retarget, 0);
}

static void take(struct ol_object *object)
{
	struct span span = { 0 };
	const char *why;

	if (asked.is_trial || !for_each(object, widen, &span))
		return;
	why = make_stubs(object);
	if (why)
		for_each(object, refuse, (void *)why);
	else
		retarget_all(object);
}

/* Whether a jump of a loop that was retargeted is as its file has it: the object was unloaded, and is here again. */
static bool came_again(const struct ol_object *object)
{
	for (const struct ol_found_loop *loop = object->loops; object->stubs && loop;
	     loop = loop->next)
		if (!loop->refused && is_as_found(loop->sites))
			return true;
	return false;
}

/* Finding loops. */

static void keep_and_write(const struct ol_loop *loop, void *context)
{
	struct looking *l = context;

	keep(loop, l);
	if (l->file && ol_loop_is_patched[loop->kind])
		ol_spins_keep_loop(l->file, loop);
}

static void find(struct looking *l, bool only_patched)
{
	struct ol_finder *finder = ol_finder_new(l->image, only_patched);

	for (uint32_t n = 0; finder && n < l->image->n_functions; n++)
		ol_find_in(finder, n, keep_and_write, l);
	if (finder)
		ol_finder_free(finder);
}

/* All kinds are only looked for where one is named, or asked for. False: that needs the decoder. */
static bool look_at(const struct ol_image *image, struct ol_object *object)
{
	struct looking looking = { .image = image, .object = object };
	bool only_patched = !asked.is_trial && !is_named(object->name);
	char key[OL_IMAGE_KEY] = "";

	if (only_patched)
		ol_image_key(image, key);
	if (only_patched && ol_spins_kept(key, keep, &looking)) {
		take(object);
		return true;
	}
	if (!ol_decode_is_started())
		return false;
	looking.file = only_patched ? ol_spins_keep_begin(key) : 0;
	find(&looking, only_patched);
	if (looking.file)
		ol_spins_keep_end(looking.file, key);
	take(object);
	return true;
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

static struct ol_object *known_as(const struct dl_phdr_info *object, const char *id)
{
	for (struct ol_object *o = objects; o; o = o->next)
		if (o->base == object->dlpi_addr && o->segments == object->dlpi_phdr &&
		    !strcmp(o->id, id))
			return o;
	return 0;
}

static int look_at_object(struct dl_phdr_info *there, size_t size, void *needs_decoder)
{
	struct ol_object *object = calloc(1, sizeof(*object)), *known;
	struct ol_image image;

	(void)size;
	if (!object)
		return 0;
	ol_image_loaded(&image, there);
	ol_image_build_id(&image, object->id);
	known = known_as(there, object->id);
	if (known) { /* without a build id it might be another one */
		if (*known->id && came_again(known))
			retarget_all(known);
		free(object);
		return 0;
	}
	object->base = there->dlpi_addr;
	object->segments = there->dlpi_phdr;
	object->name = strdup(base_name(name_of(there)));
	if (object->name && !ol_image_is_left_alone(object->name) && image.n_functions &&
	    !look_at(&image, object)) {
		*(bool *)needs_decoder = true;
		free((char *)object->name);
		free(object);
		return 0;
	}
	object->next = objects;
	objects = object;
	return 0;
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
static const char *why_not; /* nothing is done, or not all */

/* A trial's report is what was asked for, and says it. */
static void say_why_not(const char *what)
{
	if (!asked.is_trial)
		dprintf(STDERR_FILENO, "overlock: OVERLOCK_SPINS=%s: %s: %s\n", asked.list, what,
			why_not);
}

/* Twice if the decoder is needed, which is loaded in between: decode.h. */
static void look_at_all(void)
{
	bool needs_decoder = false;

	dl_iterate_phdr(look_at_object, &needs_decoder);
	if (!needs_decoder || why_not) /* the decoder that was missing stays so: that was said */
		return;
	why_not = ol_decode_start();
	if (why_not) /* what is kept from earlier runs needs none */
		say_why_not("loops are not looked for in new code");
	else
		dl_iterate_phdr(look_at_object, &needs_decoder);
}

static void refresh(void)
{
	unsigned long long now = 0;
	int saved = errno;

	dl_iterate_phdr(count_changes, &now);
	/* Acquire: what was found up to there is seen. */
	if (now == ol_load_acquire(&changes) || pthread_mutex_trylock(&looking))
		return;
	look_at_all();
	ol_store_release(&changes, now);
	ol_spins_report(objects, why_not, false);
	pthread_mutex_unlock(&looking);
	errno = saved;
}

static void renew(void)
{
	pthread_mutex_init(&looking, 0);
	ol_spins_renew_yielding();
}

static void understand(const char *words)
{
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

	if (!words || !*words || is_disabled())
		return;
	asked.list = strdup(words);
	if (!asked.list)
		return;
	understand(asked.list);
	ol_spins_set_patience(patience ? strtoull(patience, 0, 10) : PATIENCE_NS);
	why_not = asked.is_trial ? ol_decode_start() : ol_spins_text_start();
	if (!why_not && !ol_spins_may_yield())
		why_not = "a filter of system calls forbids sched_yield()";
	ol_spins_report_start();
	if (why_not) {
		say_why_not("no loop was changed");
		ol_spins_report(0, why_not, true);
		return;
	}
	pthread_atfork(0, 0, renew);
	is_on = true;
	refresh();
}

__attribute__((destructor)) static void end(void)
{
	if (is_on)
		ol_spins_report(objects, why_not, true);
}

__attribute__((visibility("default"))) int pthread_create(pthread_t *restrict thread,
							  const pthread_attr_t *restrict how,
							  void *(*function)(void *),
							  void *restrict argument)
{
	static int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

	if (is_on)
		refresh();
	/* Relaxed: each thread finds the same. */
	if (!ol_load_relaxed(&real))
		ol_store_relaxed(&real, (__typeof__(real))dlsym(RTLD_NEXT, "pthread_create"));
	return ol_load_relaxed(&real)(thread, how, function, argument);
}
