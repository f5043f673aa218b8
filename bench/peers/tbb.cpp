/* SPDX-License-Identifier: MIT */
#include "lock.h"
#include "node.h"
#include <new>
#include <oneapi/tbb/mutex.h>
#include <oneapi/tbb/queuing_mutex.h>
#include <oneapi/tbb/spin_mutex.h>

#define TBB(id, type) \
	PEER_LOCK(id, type, new (l) type, l->lock(), l->try_lock(), l->unlock())

TBB(tbb_spin_mutex, tbb::spin_mutex)
TBB(tbb_mutex, tbb::mutex)

/* Its nodes are its scoped locks: made anew for every acquisition, in memory that is taken once. */
struct queuing {
	using node = tbb::queuing_mutex::scoped_lock;
	static_assert(sizeof(node) <= NODE_SIZE);

	tbb::queuing_mutex mutex;
	node *holder;

	void lock()
	{
		node *mine = new (node_take()) node;

		mine->acquire(mutex);
		holder = mine;
	}

	bool try_lock()
	{
		node *mine = new (node_take()) node;

		if (!mine->try_acquire(mutex)) {
			node_give(mine);
			return false;
		}
		holder = mine;
		return true;
	}

	void unlock()
	{
		node *mine = holder;

		mine->release();
		node_give(mine);
	}
};
TBB(tbb_queuing_mutex, queuing)

#include "table.h"
