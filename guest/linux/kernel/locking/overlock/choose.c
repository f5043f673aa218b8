// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * Which lock is the kernel's spinlock: chosen once, on the first CPU, before there is another.
 *
 * A word is 0 in every kind of lock until it is first taken, and again when it is free in the
 * kernel's own; but not in all of ours. So the choice is never taken back.
 */
#include <linux/init.h>
#include <linux/jump_label.h>
#include <linux/kobject.h>
#include <linux/printk.h>
#include <linux/spinlock.h>
#include <linux/static_call.h>
#include <linux/string.h>
#include <linux/sysfs.h>
#include <asm/paravirt.h>
#include "counting.h"
#include "menu.h"
#include "overlock.h"

#ifdef CONFIG_OVERLOCK_TEST_LOCKS
#include "busted.h"
#include "impatient.h"
#define EACH_CHOICE(LOCK)	OVERLOCK_EACH(LOCK) LOCK(busted) LOCK(impatient)
#else
#define EACH_CHOICE(LOCK)	OVERLOCK_EACH(LOCK)
#endif

/* Out of line, in .spinlock.text: a profile shows who called. */
#define LOCK(id)									\
	static void __lockfunc id##_lock(arch_spinlock_t *lock)				\
	{										\
		struct overlock_wait wait;						\
											\
		overlock_wait_begin(&wait, lock);					\
		ol_##id##_lock((ol_##id##_t *)lock);					\
		overlock_wait_end(&wait);						\
	}										\
	static bool __lockfunc id##_trylock(arch_spinlock_t *lock)			\
	{										\
		bool taken = ol_##id##_trylock((ol_##id##_t *)lock);			\
											\
		overlock_tried(lock, taken);						\
		return taken;								\
	}										\
	static void __lockfunc id##_unlock(arch_spinlock_t *lock)			\
	{										\
		overlock_let_go(lock);							\
		ol_##id##_unlock((ol_##id##_t *)lock);					\
	}										\
	static bool __lockfunc id##_is_locked(u32 word)					\
	{										\
		return ol_##id##_is_locked((const ol_##id##_t *)&word);			\
	}										\
	static bool __lockfunc id##_is_contended(u32 word)				\
	{										\
		return ol_##id##_is_contended((const ol_##id##_t *)&word);		\
	}										\
	static_assert(sizeof(ol_##id##_t) == sizeof(arch_spinlock_t));
EACH_CHOICE(LOCK)
#undef LOCK

static const struct choice {
	const char *name;
	overlock_lock_t *lock, *unlock;
	overlock_trylock_t *trylock;
	overlock_look_t *is_locked, *is_contended;
} menu[] = {
#define LOCK(id)			\
	{				\
		#id,			\
		id##_lock,		\
		id##_unlock,		\
		id##_trylock,		\
		id##_is_locked,		\
		id##_is_contended,	\
	},
	EACH_CHOICE(LOCK)
#undef LOCK
};

/* Until one is chosen nobody calls these. Modules take locks, too. */
DEFINE_STATIC_KEY_FALSE(overlock_chosen);
EXPORT_SYMBOL(overlock_chosen);
DEFINE_STATIC_CALL(overlock_lock, tas_lock);
EXPORT_STATIC_CALL_TRAMP(overlock_lock);
DEFINE_STATIC_CALL(overlock_trylock, tas_trylock);
EXPORT_STATIC_CALL_TRAMP(overlock_trylock);
DEFINE_STATIC_CALL(overlock_unlock, tas_unlock);
EXPORT_STATIC_CALL_TRAMP(overlock_unlock);
DEFINE_STATIC_CALL(overlock_is_locked, tas_is_locked);
EXPORT_STATIC_CALL_TRAMP(overlock_is_locked);
DEFINE_STATIC_CALL(overlock_is_contended, tas_is_contended);
EXPORT_STATIC_CALL_TRAMP(overlock_is_contended);

static const struct choice *chosen __ro_after_init;

/*
 * The calls first, the key last: while its sites are patched, one after another, nobody may take a
 * spinlock. Nobody does: one CPU, interrupts off, and patching takes mutexes that are free.
 */
static void __init choose(const struct choice *choice)
{
	static_call_update(overlock_lock, choice->lock);
	static_call_update(overlock_trylock, choice->trylock);
	static_call_update(overlock_unlock, choice->unlock);
	static_call_update(overlock_is_locked, choice->is_locked);
	static_call_update(overlock_is_contended, choice->is_contended);
	chosen = choice;
	static_branch_enable(&overlock_chosen);
}

/* Asked for, but not there; said when there is a console to say it on. */
static char unknown[32] __initdata;
static bool again __initdata;
static int renamed __initdata = -1; /* of aliases: the name by which it was asked for */

struct alias {
	const char *former, *present;
};

static const struct alias aliases[] __initconst = {
#define OL_ALIAS(old, id)	{ #old, #id },
#include <overlock/aliases.def>
#undef OL_ALIAS
};

static const char *__init now_called(const char *name)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(aliases); i++) {
		if (strcmp(name, aliases[i].former))
			continue;
		renamed = i;
		return aliases[i].present;
	}
	return name;
}

static int __init parse_spinlock(char *text)
{
	const struct choice *choice;
	const char *name = text;

	if (!name || !strcmp(name, "native"))
		return 0;
	name = now_called(name);
	if (chosen) {
		again = true;
		return 0;
	}
	for (choice = menu; choice < menu + ARRAY_SIZE(menu); choice++) {
		if (!strcmp(name, choice->name)) {
			choose(choice);
			return 0;
		}
	}
	strscpy(unknown, name, sizeof(unknown));
	return 0;
}
early_param("spinlock", parse_spinlock);

static bool own_parks(void)
{
	return IS_ENABLED(CONFIG_PARAVIRT_SPINLOCKS) && !pv_is_native_spin_unlock();
}

/* What the kernel's own spinlock really is here. */
static const char *own_lock(void)
{
	if (own_parks())
		return "native pv_qspinlock";
	if (static_key_enabled(&virt_spin_lock_key))
		return "native test-and-set";
	return "native qspinlock";
}

static const char *in_force(void)
{
	return chosen ? chosen->name : own_lock();
}

/* The kernel's PV spinlock parks by itself. */
static const char *parking(void)
{
	if (chosen)
		return overlock_parking();
	return own_parks() ? "pv" : "spin";
}

static ssize_t lock_show(struct kobject *kobj, struct kobj_attribute *attr, char *text)
{
	return sysfs_emit(text, "%s\n", in_force());
}

static ssize_t parking_show(struct kobject *kobj, struct kobj_attribute *attr, char *text)
{
	return sysfs_emit(text, "%s\n", parking());
}

/* Of those who wait as in <overlock/wait/>, whatever the spinlock is. */
static ssize_t waits_show(struct kobject *kobj, struct kobj_attribute *attr, char *text)
{
	return sysfs_emit(text, "%s\n", overlock_parking());
}

static ssize_t slice_show(struct kobject *kobj, struct kobj_attribute *attr, char *text)
{
	return sysfs_emit(text, "%s\n", overlock_slices());
}

static ssize_t available_show(struct kobject *kobj, struct kobj_attribute *attr, char *text)
{
	ssize_t at = sysfs_emit(text, "native");
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(menu); i++)
		at += sysfs_emit_at(text, at, " %s", menu[i].name);
	return at + sysfs_emit_at(text, at, "\n");
}

static ssize_t yielding_show(struct kobject *kobj, struct kobj_attribute *attr, char *text)
{
	return sysfs_emit(text, "%s\n", overlock_yielding());
}

static struct kobj_attribute lock_attribute = __ATTR_RO(lock);
static struct kobj_attribute parking_attribute = __ATTR_RO(parking);
static struct kobj_attribute waits_attribute = __ATTR_RO(waits);
static struct kobj_attribute yielding_attribute = __ATTR_RO(yielding);
static struct kobj_attribute slice_attribute = __ATTR_RO(slice);
static struct kobj_attribute available_attribute = __ATTR_RO(available);

static const struct attribute *const attributes[] = {
	&lock_attribute.attr,
	&parking_attribute.attr,
	&waits_attribute.attr,
	&yielding_attribute.attr,
	&slice_attribute.attr,
	&available_attribute.attr,
	NULL,
};

static int __init say(void)
{
	struct kobject *folder = kobject_create_and_add("overlock", kernel_kobj);

	if (unknown[0])
		pr_err("overlock: no spinlock=%s here; see /sys/kernel/overlock/available\n",
		       unknown);
	if (again)
		pr_warn("overlock: spinlock= was given twice; the first counts\n");
	if (renamed >= 0)
		pr_warn("overlock: the lock %s is called %s now; use the new name\n",
			aliases[renamed].former, aliases[renamed].present);
	pr_info("overlock: spinlocks: %s (%s)\n", in_force(), parking());
	if (!folder)
		return -ENOMEM;
	return sysfs_create_files(folder, (const struct attribute **)attributes);
}
postcore_initcall(say);
