/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef OL_SLICE_PAGE_H
#define OL_SLICE_PAGE_H
/*
 * The slice page: what a hypervisor tells its guest of the time slices of the guest's vCPUs. The ABI,
 * for both sides; docs/reference/slice-page.md says what may be concluded from it and what not.
 *
 * A header, and an entry for each vCPU in the order of their numbers. All times are ns of one clock of
 * the *host's*, which runs as its CLOCK_MONOTONIC does and may have begun at any time. The host writes,
 * the guest reads, and no answer of the host depends on what a guest writes. Little-endian.
 *
 * An entry is written between two changes of `seq`, which is odd meanwhile: a reader whose two looks at
 * it differ, or are odd, has read nothing.
 */
#include <linux/types.h>

#define OL_SLICE_PAGE_MAGIC	0x65636c734b4c564fULL	/* the bytes "OVLKslce" */
#define OL_SLICE_PAGE_VERSION	1u

/* Of the page. A reader that does not know the number treats it as OL_SLICE_PAGE_OVER. */
enum { OL_SLICE_PAGE_MADE = 0, OL_SLICE_PAGE_TOLD = 1, OL_SLICE_PAGE_OVER = 2 };

/* Of a vCPU, in `running`. */
enum { OL_SLICE_OFF = 0, OL_SLICE_ON = 1 };

/* What the kernel sets in a robust futex whose owner died; `teller` is one where the writer is a process. */
#define OL_SLICE_TELLER_GONE	0x40000000u

#define OL_SLICE_UNKNOWN	0ULL	/* for an id or a time */
#define OL_SLICE_NO_END		(~0ULL)	/* for `end`: nobody else wants this CPU */

struct ol_slice_page {
	__u64 magic;   /* written last when a page is made */
	__u32 version; /* another one is laid out otherwise */
	__u32 state;
	__u32 size;   /* of all of it, in bytes */
	__u32 first;  /* from here to the first entry, in bytes */
	__u32 stride; /* from an entry to the next, in bytes; at least an entry of this version */
	__u32 entries;
	__u64 beat;    /* the host lived then */
	__u64 lasting; /* ns: so long after `beat` nothing here means anything any more */
	__u64 late;    /* ns: an end that has passed by more means nothing any more */
	__u32 teller;  /* OL_SLICE_TELLER_GONE in it: who wrote this is no more */
	__u32 reserved;
};

struct ol_slice_entry {
	__u32 seq;
	__u32 running;
	__u64 id;    /* another one whenever the vCPU has been off its CPU */
	__u64 begin; /* of this slice */
	__u64 end;   /* expected */
	__u64 sure; /* until then the scheduler does not mean to end it for another ordinary thread */
	__u64 published; /* when this was written */
	__u32 thread;	 /* whose id this is, where the entries are threads; else 0 */
	__u32 reserved[3];
};

/*
 * What a thread tells its scheduler (overlock sched). They follow its entry, if the stride has room for
 * both and the page is of threads. Nobody has to believe them.
 */
struct ol_slice_words {
	__u32 defer;	 /* not 0: put the end of my slice off */
	__u32 granted;	 /* set by the scheduler when it did: yield when you no longer need it */
	__u32 waits_for; /* the thread that I wait for; 0: none */
	__u32 reserved[13];
};

/* For either side to assert. */
#define OL_SLICE_PAGE_AT(type, field, at) (__builtin_offsetof(struct type, field) == (at))
#define OL_SLICE_PAGE_LAYOUT                               \
	(sizeof(struct ol_slice_page) == 64 &&             \
	 sizeof(struct ol_slice_entry) == 64 &&            \
	 OL_SLICE_PAGE_AT(ol_slice_page, state, 12) &&     \
	 OL_SLICE_PAGE_AT(ol_slice_page, beat, 32) &&      \
	 OL_SLICE_PAGE_AT(ol_slice_page, late, 48) &&      \
	 OL_SLICE_PAGE_AT(ol_slice_page, teller, 56) &&    \
	 OL_SLICE_PAGE_AT(ol_slice_entry, id, 8) &&        \
	 OL_SLICE_PAGE_AT(ol_slice_entry, published, 40) && \
	 OL_SLICE_PAGE_AT(ol_slice_entry, thread, 48) &&   \
	 sizeof(struct ol_slice_words) == 64)
#endif
