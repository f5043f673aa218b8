// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * Slices from a page that the host shares as QEMU's ivshmem-plain: a PCI device whose second memory
 * region is the page. docs/reference/slice-page.md of the Overlock project.
 *
 * Entry n is virtual CPU n's, in the order in which the firmware lists them, which is that of the
 * kernel's numbers.
 */
#include <linux/init.h>
#include <linux/io.h>
#include <linux/pci.h>
#include <linux/percpu.h>
#include <linux/printk.h>
#include <linux/set_memory.h>
#include <linux/smp.h>
#include <overlock/slice_reader.h>
#include "overlock.h"

enum { VENDOR = 0x1af4, DEVICE = 0x1110, REGION = 2 };

static_assert(OL_SLICE_PAGE_LAYOUT, "the ABI of the slice page");

static struct ol_slice_map map __ro_after_init;

/*
 * Each CPU judges by its own clock, which may differ from another's. An interrupt that looks while
 * its CPU does can make it lose a sample, or count one twice.
 */
static DEFINE_PER_CPU(struct ol_slice_clock, clocks);

static bool look_at_page(struct overlock_slice *slice)
{
	unsigned int cpu = raw_smp_processor_id();
	const struct ol_slice_entry *there = ol_slice_entry(&map, cpu);
	struct ol_slice_clock *clock = &per_cpu(clocks, cpu);
	struct ol_slice_entry e;
	u64 now, host_now;
	s64 offset;

	if (!there || !ol_slice_read(there, &e) || e.id == OL_SLICE_UNKNOWN)
		return false;
	now = ol_now(); /* after the look: what was read cannot have been written later */
	ol_slice_clock_learn(clock, now, e.published);
	offset = ol_slice_offset(clock);
	host_now = now - offset;
	if (!ol_slice_told(&map, host_now))
		return false;
	ol_slice_judge(&map, &e, host_now);
	slice->id = e.id;
	if (e.end != OL_SLICE_UNKNOWN && e.end != OL_SLICE_NO_END)
		slice->end = e.end + offset;
	if (e.sure != OL_SLICE_UNKNOWN)
		slice->sure = e.sure + offset;
	slice->age = host_now - e.published;
	return true;
}

static s64 clock_moves(void)
{
	s64 most = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		most = max_t(s64, most, abs(per_cpu(clocks, cpu).moved));
	return most;
}

static const struct overlock_slice_source ivshmem = {
	.name = "ivshmem",
	.look = look_at_page,
	.clock_moves = clock_moves,
};

/*
 * Mapped to be read only: a stray write of ours would be believed by us alone, but for long. The
 * device itself cannot be told to refuse writes.
 */
static bool __init mapped(struct pci_dev *device)
{
	resource_size_t size = pci_resource_len(device, REGION);
	void *memory;

	if (size < PAGE_SIZE || !(pci_resource_flags(device, REGION) & IORESOURCE_MEM) ||
	    pci_enable_device_mem(device))
		return false;
	memory = memremap(pci_resource_start(device, REGION), size, MEMREMAP_WB);
	if (!memory)
		return false;
	if (ol_slice_map_open(&map, memory, size) &&
	    !set_memory_ro((unsigned long)memory, size >> PAGE_SHIFT))
		return true;
	memunmap(memory);
	return false;
}

/* Devices are there, and nothing but the boot has run. The device found is kept. */
static int __init find_page(void)
{
	struct pci_dev *device = NULL;

	while ((device = pci_get_device(VENDOR, DEVICE, device))) {
		if (!mapped(device))
			continue;
		if (map.entries < nr_cpu_ids)
			pr_warn("overlock: the slice page has %u entries for %u CPUs\n",
				map.entries, nr_cpu_ids);
		overlock_slice_from(&ivshmem);
		break;
	}
	return 0;
}
device_initcall(find_page);
