// SPDX-License-Identifier: MIT
// LLVM OpenMP's lock drdpa when the threads become more than the CPUs.
#define OL_KIND	drdpa
#define OL_GROWS
#include "libomp.cc"
