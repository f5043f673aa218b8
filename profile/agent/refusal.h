/* SPDX-License-Identifier: MIT */
#ifndef MONITOR_REFUSAL_H
#define MONITOR_REFUSAL_H
/* Why libbpf or the kernel refuses a BPF program. OVERLOCK_BPF_DEBUG=1 prints all that libbpf says. */

/* Forgets what was said, and listens from now on. */
void refusal_begin(void);

/* The first warning of libbpf since then, which is the cause; without one, that error in words, "" for 0. */
const char *refusal(int error);
#endif
