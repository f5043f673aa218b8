/* SPDX-License-Identifier: MIT */
/* A program with progressive locks: compiled with HAProxy's header, and with ours before it. */
#ifdef OURS
#include <overlock/compat/plock.h>
#else
#include <import/plock.h>
#endif

#include "sections.h"

#define READER	PLOCK64_RL_1
#define SEEKER	(PLOCK64_SL_1 | PLOCK64_RL_1)
#define WRITER	(PLOCK64_WL_1 | PLOCK64_SL_1 | PLOCK64_RL_1)

static unsigned long wide;
static unsigned int narrow;

/* Of each width: a spinlock, which is S; W; W by way of S. The last two also have readers. */
#define WIDTH(word)									\
	CALLS(word##_s, pl_take_s(&word), pl_try_s(&word), pl_drop_s(&word), word != 0)	\
	CALLS(word##_w, pl_take_w(&word), pl_try_w(&word), pl_drop_w(&word), word != 0)	\
	static void word##_sw_lock(void)						\
	{										\
		pl_take_s(&word);							\
		pl_stow(&word);								\
	}										\
	static void word##_read(void)							\
	{										\
		pl_take_r(&word);							\
	}										\
	static void word##_unread(void)							\
	{										\
		pl_drop_r(&word);							\
	}
WIDTH(wide)
WIDTH(narrow)

#define KINDS(word)									\
	KIND(word##_s, true),								\
	{ #word "_w", word##_w_lock, word##_w_trylock, word##_w_unlock, word##_w_locked, true,	\
	  word##_read, word##_unread },							\
	{ #word "_sw", word##_sw_lock, 0, word##_w_unlock, word##_w_locked, true, word##_read,	\
	  word##_unread }

static const struct kind kinds[] = { KINDS(wide), KINDS(narrow) };

/* The word is HAProxy's in each state, so that code with and without our waiters may share it. */
static void words(void)
{
	pl_take_r(&wide);
	EXPECT(wide == READER);
	EXPECT(pl_try_r(&wide));
	EXPECT(wide == 2 * READER);
	pl_drop_r(&wide);
	EXPECT(pl_try_rtos(&wide));
	EXPECT(wide == SEEKER);
	EXPECT(!pl_try_s(&wide) && !pl_try_w(&wide) && wide == SEEKER);
	pl_stow(&wide);
	EXPECT(wide == WRITER);
	EXPECT(!pl_try_r(&wide) && !pl_try_s(&wide) && !pl_try_w(&wide) && wide == WRITER);
	pl_wtos(&wide);
	EXPECT(wide == SEEKER);
	pl_stor(&wide);
	EXPECT(wide == READER);
	pl_drop_r(&wide);
	EXPECT(pl_try_w(&wide));
	EXPECT(wide == WRITER);
	pl_wtor(&wide);
	EXPECT(wide == READER);
	pl_drop_r(&wide);
	pl_take_w(&wide);
	EXPECT(wide == WRITER);
	pl_drop_w(&wide);
	EXPECT(wide == 0);
}

/* A writer yields while it waits for a reader, too. */
static void writer_yields_to_reader(const struct kind *k)
{
	unsigned long before = yields;
	pthread_t writer;

	k->read();
	writer = start(call_pair, k);
	while (__atomic_load_n(&yields, __ATOMIC_RELAXED) < before + 3)
		sched_yield();
	k->unread();
	pthread_join(writer, 0);
}

static bool is_read;

static void *read_once(void *given)
{
	const struct kind *k = (const struct kind *)given;

	k->read();
	__atomic_store_n(&is_read, true, __ATOMIC_RELAXED);
	k->unread();
	return 0;
}

/* A reader waits for a writer, and yields. */
static void reader_yields_to_writer(const struct kind *k)
{
	unsigned long before = yields;
	pthread_t reader;

	k->lock();
	is_read = false;
	reader = start(read_once, k);
	while (__atomic_load_n(&yields, __ATOMIC_RELAXED) < before + 3) {
		EXPECT(!__atomic_load_n(&is_read, __ATOMIC_RELAXED));
		sched_yield();
	}
	k->unlock();
	pthread_join(reader, 0);
	EXPECT(is_read);
}

int main(int argc, char **argv)
{
	(void)argc;
	begin(argv);
	words();
	judge(kinds, sizeof(kinds) / sizeof(*kinds), argv);
	for (size_t i = 0; &yields && i < sizeof(kinds) / sizeof(*kinds); i++)
		if (kinds[i].read) {
			writer_yields_to_reader(&kinds[i]);
			reader_yields_to_writer(&kinds[i]);
		}
	return 0;
}
