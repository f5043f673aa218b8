/* SPDX-License-Identifier: MIT */
#ifndef BENCH_PEER_H
#define BENCH_PEER_H
/*
 * Other people's locks as overlock-bench takes them: built in those of glibc and rtm, one plug-in
 * overlock-peers-FAMILY.so for each other family of peers.def, loaded with --peers.
 */
#include <overlock/ops.h>

struct ol_peer {
	const struct ol_lock_ops *ops;
	void (*init)(void *lock); /* makes a free lock of raw memory; null: all zero is one */
};

#ifdef __cplusplus
extern "C" {
#endif
/* Ended by null ops. Visible, for dlsym(). */
extern const struct ol_peer ol_peers[] __attribute__((visibility("default")));

/* Built in beside glibc's: what the library's platform layer makes of transactions. */
extern const struct ol_peer ol_peers_rtm[];
#ifdef __cplusplus
}
#endif
#endif
