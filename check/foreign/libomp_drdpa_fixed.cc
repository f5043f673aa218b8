// SPDX-License-Identifier: MIT
// LLVM OpenMP's lock drdpa with a fix of ours: what shrinks is the mask alone, in the same polling area, so that no
// waiter follows an old mask into a new area that is smaller.
// brings: openmp/runtime/src/kmp_lock.h openmp/runtime/src/kmp_lock.cpp
// replaces: (?s)// Do not allocate objects of type union kmp_user_lock.*\Z => } // extern "C"\n#endif
// replaces: (?s)static const ident_t \*__kmp_get_drdpa_lock_location.*\Z =>
// replaces: polls = \(std::atomic<kmp_uint64> \*\)__kmp_allocate\(num_polls \*\s+sizeof\(\*polls\)\);\s+polls\[0\] = ticket; => polls[0] = ticket; old_polls = NULL;
#define OL_KIND	drdpa
#define OL_GROWS
#include "libomp.cc"
