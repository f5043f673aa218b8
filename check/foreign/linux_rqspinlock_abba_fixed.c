// SPDX-License-Identifier: MIT
// Linux's resilient qspinlock in a deadlock, with a fix of ours: the head of the queue that leaves it ends the queue
// if nobody follows, as one that times out does.
// replaces: (?s)if \(ret == -EDEADLK\) \{\n(\t\tif \(!next\)\n.*?;\n.*?;\n)\t\tgoto err_release_node; => if (ret == -EDEADLK) {\n\t\tif (try_cmpxchg_tail(lock, tail, 0))\n\t\t\tgoto err_release_node;\n\1\t\tgoto err_release_node;
#include "linux_rqspinlock_abba.c"
