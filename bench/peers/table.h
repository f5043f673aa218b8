/* SPDX-License-Identifier: MIT */
/*
 * The last line of a family's file: the table that peer.h describes, made of the family's lines of
 * peers.def. The build defines PEERS_OF_family as PEERS_YES.
 *
 * All locks, ours and others', are called through such a table, so that the indirect call costs all
 * alike; what a peer offers inline is inlined into the function that the table points to.
 */
#include "peer.h"
#include <stdalign.h>

/* Of all lines, keep those of the family that was asked for: PEERS_HERE says what becomes of them. */
#define PEERS_JOIN_(a, b)	 a##b
#define PEERS_JOIN(a, b)	 PEERS_JOIN_(a, b)
#define PEERS_SECOND_(a, b, ...) b
#define PEERS_SECOND(...)	 PEERS_SECOND_(__VA_ARGS__)
#define PEERS_NOTHING(...)
#define PEERS_YES	 ~, PEERS_HERE
#define PEERS_IF(family) PEERS_SECOND(PEERS_JOIN(PEERS_OF_, family), PEERS_NOTHING, )

#define PEERS_HERE(source) static const char peers_source[] = source;
#define PEER_FAMILY(family, package, source) PEERS_IF(family)(source)
#define PEER(id, family, what)
#include "peers.def"
#undef PEERS_HERE
#undef PEER_FAMILY
#undef PEER
#define PEER_FAMILY(family, package, source)
#define PEER(id, family, what) PEERS_IF(family)(id, what)

#define PEERS_HERE(id, what)								\
	static const struct ol_lock_ops id##_ops = {					\
		#id, peers_source, what, OL_ABI, sizeof(id##_type), alignof(id##_type),	\
		0, id##_do_lock, id##_do_trylock, 0, id##_do_unlock, 0, 0, 0, 0,	\
	};
#include "peers.def"
#undef PEERS_HERE

#define PEERS_HERE(id, what) { &id##_ops, id##_do_init },
const struct ol_peer ol_peers[] = {
#include "peers.def"
	{ 0, 0 }
};
