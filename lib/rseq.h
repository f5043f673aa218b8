/* SPDX-License-Identifier: MIT */
#ifndef OL_RSEQ_H
#define OL_RSEQ_H
/* rseq(2): what the kernel leaves in a word of each thread. Never exported. */
#include <overlock/port.h>

#pragma GCC visibility push(hidden)
#ifdef __cplusplus
extern "C" {
#endif
/* What a thread shares with the kernel since Linux 7.0, behind what <sys/rseq.h> may know. */
struct ol_rseq_area {
	uint32_t cpu_id_start, cpu_id;
	uint64_t section;
	uint32_t flags, node_id, mm_cid;
	uint8_t request, granted; /* of the slice extension */
	uint16_t reserved;
};

/* What of the kernel the extension needs; tests put a fake in its place. */
struct ol_rseq_kernel {
	bool (*has)(void);    /* the extension, for the calling thread; else errno says why */
	bool (*enable)(void); /* for the calling thread */
	void (*yield)(void);  /* gives back what was granted */
	struct ol_rseq_area *(*area)(void);
};
extern struct ol_rseq_kernel ol_rseq_kernel;

bool ol_rseq_start(void);     /* false: glibc or the kernel has none */
bool ol_rseq_was_away(void);  /* since the last look of this thread */
void ol_rseq_note_away(void); /* it gave its CPU away */
const uint64_t *
ol_rseq_word(uint64_t *mark); /* holds `mark` until the thread was away; null: none */

bool ol_rseq_can_defer(void);
bool ol_rseq_defer_begin(void); /* false: it is not enabled for this thread, and cannot be */
void ol_rseq_defer_end(void);
#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
