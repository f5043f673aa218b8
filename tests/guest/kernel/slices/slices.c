// SPDX-License-Identifier: MIT
/* What a guest's kernel makes of what its hypervisor says of slices, and of its own waits. */
#include "stubs.h"
#include "overlock.h"

u64 the_time = 50 * NSEC_PER_MSEC;
unsigned int tsc_khz = 2500000;
u64 steal_time_msr;
bool has_feature_31;
struct vcpu_info *xen_vcpu;

static const struct overlock_slice_source *source;
static bool yields;

void overlock_slice_from(const struct overlock_slice_source *found)
{
	source = found;
}

void overlock_host_yields(void)
{
	yields = true;
}

extern int (*const initcall_find_records)(void);
extern int (*const initcall_find_info)(void);
void ol_csd_learn(ol_ticks_t since, unsigned int n);
ol_ticks_t ol_csd(void);

/* As lab/nested/slice.patch lays it out. */
struct told_by_kvm {
	u64 steal;
	u32 version, flags;
	u8 preempted, u8_pad[3];
	u32 slice;
	u64 slice_end, slice_sure;
	u32 pad[6];
} __attribute__((aligned(64)));

static struct told_by_kvm record;

static struct overlock_slice look(bool *known)
{
	struct overlock_slice s = { .end = OL_NEVER, .sure = OL_NEVER };

	*known = source && source->look(&s);
	return s;
}

static u64 tsc_at(u64 ns)
{
	return ns * tsc_khz / 1000000;
}

static void kvm(void)
{
	struct overlock_slice s;
	bool known;

	steal_time_msr = (uintptr_t)&record | KVM_MSR_ENABLED;
	record.slice = 7;
	record.slice_end = tsc_at(the_time + 6 * NSEC_PER_MSEC);
	record.slice_sure = tsc_at(the_time + 2 * NSEC_PER_MSEC);
	record.version = 4;
	initcall_find_records();
	assert(!source && !yields); /* another host's, which means something else by these words */
	has_feature_31 = true;
	initcall_find_records();
	assert(source && yields);
	s = look(&known);
	assert(known && s.id == 8);
	assert(s.end == the_time + 6 * NSEC_PER_MSEC && s.sure == the_time + 2 * NSEC_PER_MSEC);
	record.version = 6; /* told again: the same slice */
	record.slice_end = tsc_at(the_time + 3 * NSEC_PER_MSEC);
	s = look(&known);
	assert(known && s.id == 8 && s.end == the_time + 3 * NSEC_PER_MSEC);
	record.slice = 8;
	s = look(&known);
	assert(known && s.id == 9);
	record.slice = 0; /* known, for it is told an end */
	s = look(&known);
	assert(known && s.id);
	record.slice_sure = 0;
	s = look(&known);
	assert(known && s.sure == OL_NEVER);
	record.slice_sure = tsc_at(the_time + 2 * NSEC_PER_MSEC);
	the_time += 5 * NSEC_PER_MSEC; /* both have passed, by little */
	s = look(&known);
	assert(known && s.end == the_time - 2 * NSEC_PER_MSEC &&
	       s.sure == the_time - 3 * NSEC_PER_MSEC);
	the_time += 10 * NSEC_PER_MSEC;
	s = look(&known);
	assert(known && s.end == OL_NEVER && s.sure == OL_NEVER);
	record.slice_end = 0;
	look(&known);
	assert(!known);
}

static u64 told_by_xen(u64 end, u64 sooner, u16 number)
{
	return end >> 10 << 32 | (sooner + 16383) >> 14 << 16 | number;
}

static void xen(void)
{
	static struct vcpu_info info;
	/* Xen's clock is another one, and the end's 32 bits are about to wrap. */
	u64 now = (1ull << 42) - NSEC_PER_MSEC;
	struct overlock_slice s;
	bool known;

	xen_vcpu = &info;
	info.time.now = now;
	info.arch.pad = told_by_xen(now + 30 * NSEC_PER_MSEC, 29 * NSEC_PER_MSEC, 5);
	has_feature_31 = false;
	initcall_find_info();
	assert(!source);
	has_feature_31 = true;
	initcall_find_info();
	assert(source);
	s = look(&known);
	assert(known && s.id == 5);
	assert(s.end > the_time + 30 * NSEC_PER_MSEC - 2048 &&
	       s.end <= the_time + 30 * NSEC_PER_MSEC);
	assert(s.sure > the_time + NSEC_PER_MSEC - 20000 && s.sure <= the_time + NSEC_PER_MSEC);
	info.time.now = now + 31 * NSEC_PER_MSEC;
	s = look(&known);
	assert(known && s.end <= the_time - NSEC_PER_MSEC && s.end > the_time - 2 * NSEC_PER_MSEC);
	info.arch.pad = 0;
	look(&known);
	assert(!known);
}

static void waited(u64 ns, unsigned int n)
{
	u64 since = the_time;

	the_time += ns;
	ol_csd_learn(since, n);
}

/* What is told outlasts nearly all sections, however long the others are; lost CPUs do not count. */
static void csd(void)
{
	int i;

	assert(!ol_csd()); /* unknown */
	waited(3 * NSEC_PER_MSEC, 1);
	assert(!ol_csd());
	waited(8000, 4);
	assert(ol_csd() == 2 * 2000);
	for (i = 0; i < 20000; i++)
		waited(i % 10 ? 2000 : 10000, i % 10 ? 1 : 0);
	assert(ol_csd() > 10000 && ol_csd() < 2 * 11000);
	for (i = 0; i < 20000; i++)
		waited(i % 200 ? 2000 : 900000, 1);
	assert(ol_csd() > 2 * 1800 && ol_csd() < 2 * 2500);
	for (i = 0; i < 1000; i++)
		waited(5 * NSEC_PER_MSEC, 1);
	assert(ol_csd() < 2 * 2500);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (!strcmp(what, "kvm"))
		kvm();
	else if (!strcmp(what, "xen"))
		xen();
	else if (!strcmp(what, "csd"))
		csd();
	else
		return 2;
	return 0;
}
