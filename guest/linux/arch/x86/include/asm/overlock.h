/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef _ASM_X86_OVERLOCK_H
#define _ASM_X86_OVERLOCK_H
/*
 * The six operations on a spinlock: those of the lock that was chosen at boot, else the queued
 * spinlock's, which asm/qspinlock.h has defined just before. Not chosen costs a no-op; chosen, each
 * is a direct call. static_call_mod() lets modules call what only the kernel may choose.
 *
 * What only looks gets the word and not its address: lockref and hpet ask about copies.
 */
#ifdef CONFIG_OVERLOCK_SPINLOCKS
#include <linux/jump_label.h>
#include <linux/static_call_types.h>

typedef void overlock_lock_t(arch_spinlock_t *lock);
typedef bool overlock_trylock_t(arch_spinlock_t *lock);
typedef bool overlock_look_t(u32 word);

DECLARE_STATIC_KEY_FALSE(overlock_chosen);
DECLARE_STATIC_CALL(overlock_lock, overlock_lock_t);
DECLARE_STATIC_CALL(overlock_trylock, overlock_trylock_t);
DECLARE_STATIC_CALL(overlock_unlock, overlock_lock_t);
DECLARE_STATIC_CALL(overlock_is_locked, overlock_look_t);
DECLARE_STATIC_CALL(overlock_is_contended, overlock_look_t);

static __always_inline void overlock_spin_lock(arch_spinlock_t *lock)
{
	if (static_branch_unlikely(&overlock_chosen))
		static_call_mod(overlock_lock)(lock);
	else
		queued_spin_lock(lock);
}

static __always_inline int overlock_spin_trylock(arch_spinlock_t *lock)
{
	if (static_branch_unlikely(&overlock_chosen))
		return static_call_mod(overlock_trylock)(lock);
	return queued_spin_trylock(lock);
}

static __always_inline void overlock_spin_unlock(arch_spinlock_t *lock)
{
	if (static_branch_unlikely(&overlock_chosen)) {
		kcsan_release();
		static_call_mod(overlock_unlock)(lock);
	} else {
		queued_spin_unlock(lock);
	}
}

static __always_inline int overlock_spin_is_locked(arch_spinlock_t *lock)
{
	if (static_branch_unlikely(&overlock_chosen))
		return static_call_mod(overlock_is_locked)(atomic_read(&lock->val));
	return queued_spin_is_locked(lock);
}

static __always_inline int overlock_spin_value_unlocked(arch_spinlock_t lock)
{
	if (static_branch_unlikely(&overlock_chosen))
		return !static_call_mod(overlock_is_locked)(lock.val.counter);
	return queued_spin_value_unlocked(lock);
}

static __always_inline int overlock_spin_is_contended(arch_spinlock_t *lock)
{
	if (static_branch_unlikely(&overlock_chosen))
		return static_call_mod(overlock_is_contended)(atomic_read(&lock->val));
	return queued_spin_is_contended(lock);
}

#undef arch_spin_lock
#undef arch_spin_trylock
#undef arch_spin_unlock
#undef arch_spin_is_locked
#undef arch_spin_is_contended
#undef arch_spin_value_unlocked

#define arch_spin_lock(l)		overlock_spin_lock(l)
#define arch_spin_trylock(l)		overlock_spin_trylock(l)
#define arch_spin_unlock(l)		overlock_spin_unlock(l)
#define arch_spin_is_locked(l)		overlock_spin_is_locked(l)
#define arch_spin_is_contended(l)	overlock_spin_is_contended(l)
#define arch_spin_value_unlocked(l)	overlock_spin_value_unlocked(l)

#endif /* CONFIG_OVERLOCK_SPINLOCKS */
#endif /* _ASM_X86_OVERLOCK_H */
