// SPDX-License-Identifier: MIT
// The hapax lock with our fix of its orders: between what a thread writes and what it looks at then there is a
// sequentially consistent fence, in the waiter as in the release.
// replaces: std::atomic_thread_fence\(std::memory_order_acq_rel\) => std::atomic_thread_fence(std::memory_order_seq_cst)
// replaces: else if \(Depart\.load => else if (StoreLoadFence(), Depart.load
#include "hapax.cc"
