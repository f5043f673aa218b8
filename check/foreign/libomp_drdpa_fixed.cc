// SPDX-License-Identifier: MIT
// LLVM OpenMP's lock drdpa with a fix of ours: what shrinks is the mask alone, in the same polling area, so that no
// waiter follows an old mask into a new area that is smaller.
// replaces: polls = \(std::atomic<kmp_uint64> \*\)__kmp_allocate\(num_polls \*\s+sizeof\(\*polls\)\);\s+polls\[0\] = ticket; => polls[0] = ticket; old_polls = NULL;
#define OL_KIND	drdpa
#define OL_GROWS
#include "libomp.cc"
