// SPDX-License-Identifier: MIT
// LLVM OpenMP's lock drdpa when the threads become more than the CPUs.
// brings: openmp/runtime/src/kmp_lock.h openmp/runtime/src/kmp_lock.cpp
// replaces: (?s)// Do not allocate objects of type union kmp_user_lock.*\Z => } // extern "C"\n#endif
// replaces: (?s)static const ident_t \*__kmp_get_drdpa_lock_location.*\Z =>
#define OL_KIND	drdpa
#define OL_GROWS
#include "libomp.cc"
