/* SPDX-License-Identifier: MIT */
/* A program with Concurrency Kit's locks: compiled with its headers, and with ours before them. */
#include <ck_spinlock.h>

#include "sections.h"

static ck_spinlock_t any = CK_SPINLOCK_INITIALIZER;
static ck_spinlock_fas_t fas = CK_SPINLOCK_FAS_INITIALIZER;
static ck_spinlock_cas_t cas = CK_SPINLOCK_CAS_INITIALIZER;
static ck_spinlock_dec_t dec = CK_SPINLOCK_DEC_INITIALIZER;
static ck_spinlock_ticket_t ticket = CK_SPINLOCK_TICKET_INITIALIZER;
static ck_spinlock_mcs_t mcs = CK_SPINLOCK_MCS_INITIALIZER;
static __thread ck_spinlock_mcs_context_t node;
static ck_spinlock_clh_t *clh, clh_first;
static __thread ck_spinlock_clh_t *clh_node;
static ck_spinlock_anderson_t anderson;
static ck_spinlock_anderson_thread_t slots[64];
static __thread ck_spinlock_anderson_thread_t *slot;

/* Never freed: a thread may leave with another node than its own. */
static ck_spinlock_clh_t *clh_mine(void)
{
	if (!clh_node)
		clh_node = (ck_spinlock_clh_t *)calloc(1, sizeof(*clh_node));
	return clh_node;
}

CALLS(any, ck_spinlock_lock(&any), ck_spinlock_trylock(&any), ck_spinlock_unlock(&any),
      ck_spinlock_locked(&any))
CALLS(any_eb, ck_spinlock_lock_eb(&any), ck_spinlock_trylock(&any), ck_spinlock_unlock(&any),
      ck_spinlock_locked(&any))
CALLS(fas, ck_spinlock_fas_lock(&fas), ck_spinlock_fas_trylock(&fas), ck_spinlock_fas_unlock(&fas),
      ck_spinlock_fas_locked(&fas))
CALLS(fas_eb, ck_spinlock_fas_lock_eb(&fas), ck_spinlock_fas_trylock(&fas),
      ck_spinlock_fas_unlock(&fas), ck_spinlock_fas_locked(&fas))
CALLS(cas, ck_spinlock_cas_lock(&cas), ck_spinlock_cas_trylock(&cas), ck_spinlock_cas_unlock(&cas),
      ck_spinlock_cas_locked(&cas))
CALLS(cas_eb, ck_spinlock_cas_lock_eb(&cas), ck_spinlock_cas_trylock(&cas),
      ck_spinlock_cas_unlock(&cas), ck_spinlock_cas_locked(&cas))
CALLS(dec, ck_spinlock_dec_lock(&dec), ck_spinlock_dec_trylock(&dec), ck_spinlock_dec_unlock(&dec),
      ck_spinlock_dec_locked(&dec))
CALLS(dec_eb, ck_spinlock_dec_lock_eb(&dec), ck_spinlock_dec_trylock(&dec),
      ck_spinlock_dec_unlock(&dec), ck_spinlock_dec_locked(&dec))
#ifdef CK_F_SPINLOCK_TICKET_TRYLOCK
CALLS(ticket, ck_spinlock_ticket_lock(&ticket), ck_spinlock_ticket_trylock(&ticket),
      ck_spinlock_ticket_unlock(&ticket), ck_spinlock_ticket_locked(&ticket))
CALLS(ticket_pb, ck_spinlock_ticket_lock_pb(&ticket, 5), ck_spinlock_ticket_trylock(&ticket),
      ck_spinlock_ticket_unlock(&ticket), ck_spinlock_ticket_locked(&ticket))
#endif
CALLS(mcs, ck_spinlock_mcs_lock(&mcs, &node), ck_spinlock_mcs_trylock(&mcs, &node),
      ck_spinlock_mcs_unlock(&mcs, &node), ck_spinlock_mcs_locked(&mcs))

static void clh_lock(void)
{
	ck_spinlock_clh_lock(&clh, clh_mine());
}

static void clh_unlock(void)
{
	ck_spinlock_clh_unlock(&clh_node);
}

static int clh_locked(void)
{
	return ck_spinlock_clh_locked(&clh);
}

static void anderson_lock(void)
{
	slot = 0;
	ck_spinlock_anderson_lock(&anderson, &slot);
	EXPECT(slot >= slots && slot < slots + 64);
}

static void anderson_unlock(void)
{
	ck_spinlock_anderson_unlock(&anderson, slot);
}

static int anderson_locked(void)
{
	return ck_spinlock_anderson_locked(&anderson);
}

static const struct kind kinds[] = {
	KIND(any, true),
	KIND(any_eb, true),
	KIND(fas, true),
	KIND(fas_eb, true),
	KIND(cas, true),
	KIND(cas_eb, true),
	KIND(dec, true),
	KIND(dec_eb, true),
#ifdef CK_F_SPINLOCK_TICKET_TRYLOCK
	KIND(ticket, true),
	KIND(ticket_pb, true),
#endif
	KIND(mcs, false),
	{ "clh", clh_lock, 0, clh_unlock, clh_locked, false, 0, 0 },
	{ "anderson", anderson_lock, 0, anderson_unlock, anderson_locked, false, 0, 0 },
};

/* As in memory that was used for something else. */
#define INITIALISES(kind)							\
	do {									\
		memset(&(kind), 0xff, sizeof(kind));				\
		ck_spinlock_##kind##_init(&(kind));				\
		EXPECT(!ck_spinlock_##kind##_locked(&(kind)));			\
	} while (0)

int main(int argc, char **argv)
{
	(void)argc;
	begin(argv);
	EXPECT(ck_spinlock_dec_trylock(&dec)); /* before init: by the initialiser alone */
	ck_spinlock_dec_unlock(&dec);
	INITIALISES(fas);
	INITIALISES(cas);
	INITIALISES(dec);
	INITIALISES(ticket);
	INITIALISES(mcs);
	ck_spinlock_init(&any);
	memset(&clh_first, 0xff, sizeof(clh_first));
	ck_spinlock_clh_init(&clh, &clh_first);
	memset(&anderson, 0xff, sizeof(anderson));
	ck_spinlock_anderson_init(&anderson, slots, 64);
	judge(kinds, sizeof(kinds) / sizeof(*kinds), argv);
	return 0;
}
