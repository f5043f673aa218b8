// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * What is known of the time slice of this virtual CPU: the platform layer's three questions, put to
 * the source that there is. Before there is one, and without one, a question is a no-op.
 *
 *	ivshmem		a page shared with the host: slice_page.c
 *	kvm		KVM's steal-time record: slice_kvm.c
 *	xen		Xen's vcpu_info: slice_xen.c
 *
 * Locks ask while they hold or want spinlocks, so nothing here takes one.
 */
#include <linux/cache.h>
#include <linux/init.h>
#include <linux/moduleparam.h>
#include <linux/printk.h>
#include <linux/static_call.h>
#include <linux/string.h>
#include "overlock.h"

static bool nobody(struct overlock_slice *slice)
{
	return false;
}

/* Is there anybody to ask? */
bool ol_slices_told __read_mostly;
EXPORT_SYMBOL(ol_slices_told);
DEFINE_STATIC_CALL(overlock_slice_look, nobody);

static const struct overlock_slice_source *source;

static bool look(struct overlock_slice *slice)
{
	*slice = (struct overlock_slice){ .end = OL_NEVER, .sure = OL_NEVER };
	if (!static_call(overlock_slice_look)(slice)) {
		if (IS_ENABLED(CONFIG_OVERLOCK_COUNT))
			overlock_slice_unknown();
		return false;
	}
	if (IS_ENABLED(CONFIG_OVERLOCK_COUNT))
		overlock_slice_seen(slice);
	return true;
}

u64 ol_slice_id_told(void)
{
	struct overlock_slice slice;

	return look(&slice) ? slice.id : 0;
}
EXPORT_SYMBOL_GPL(ol_slice_id_told);

ol_ticks_t ol_slice_end_told(void)
{
	struct overlock_slice slice;

	return look(&slice) ? slice.end : OL_NEVER;
}
EXPORT_SYMBOL_GPL(ol_slice_end_told);

ol_ticks_t ol_slice_min_told(void)
{
	struct overlock_slice slice;

	return look(&slice) ? slice.sure : OL_NEVER;
}
EXPORT_SYMBOL_GPL(ol_slice_min_told);

/* Which source: by `auto` the first that comes. */

static char wanted[16] = "auto";

static bool is_wanted(const char *name)
{
	return !strcmp(wanted, "auto") || !strcmp(wanted, name);
}

/*
 * The call first: patching it is a full barrier on all CPUs. So a plain store suffices to say that
 * there is one: a CPU that sees the store sees the call and its data. A CPU that asks meanwhile is
 * told nothing, as before.
 */
void overlock_slice_from(const struct overlock_slice_source *found)
{
	if (source || !is_wanted(found->name))
		return;
	source = found;
	static_call_update(overlock_slice_look, found->look);
	WRITE_ONCE(ol_slices_told, true);
	pr_info("overlock: slices: %s\n", found->name);
}

const struct overlock_slice_source *overlock_slice_source(void)
{
	return source;
}

const char *overlock_slices(void)
{
	if (source)
		return source->name;
	return strcmp(wanted, "off") ? "none" : "off";
}

static int __init say_what_is_lacking(void)
{
	if (!source && strcmp(wanted, "off") && strcmp(wanted, "auto"))
		pr_warn("overlock: slice=%s cannot be had here: slices are unknown\n", wanted);
	return 0;
}
late_initcall(say_what_is_lacking);

module_param_string(slice, wanted, sizeof(wanted), 0444);
