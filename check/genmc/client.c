
/* The client: contexts that count under the lock, by lock() and then by trylock(). */

#ifndef OL_ACQUISITIONS
#define OL_ACQUISITIONS 2
#endif
#ifndef OL_TRIES
#define OL_TRIES 0
#endif

static ol_@NAME@_t the_lock = OL_@UPPER@_INIT;
static unsigned counter;			 /* plain: the lock protects it */
static unsigned entered[OL_CONTEXTS + 1]; /* each context's own */

static void *context(void *id)
{
	ol_id = (uint32_t)(uintptr_t)id;
	for (int i = 0; i < OL_ACQUISITIONS + OL_TRIES; i++) {
		if (i < OL_ACQUISITIONS)
			ol_@NAME@_lock(&the_lock);
		else if (!ol_@NAME@_trylock(&the_lock))
			continue;
		counter++;
		entered[ol_id]++;
		ol_@NAME@_unlock(&the_lock);
	}
	return NULL;
}

int main(void)
{
	pthread_t threads[OL_CONTEXTS];
	unsigned sum = 0;

	for (uintptr_t id = 1; id <= OL_CONTEXTS; id++)
		pthread_create(&threads[id - 1], NULL, context, (void *)id);
	ol_let_time_pass();
	for (unsigned id = 1; id <= OL_CONTEXTS; id++) {
		pthread_join(threads[id - 1], NULL);
		sum += entered[id];
	}
	assert(counter == sum);
	assert(!ol_@NAME@_is_locked(&the_lock) && !ol_@NAME@_is_contended(&the_lock));
	assert(ol_@NAME@_trylock(&the_lock));
	return 0;
}
