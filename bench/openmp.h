/* SPDX-License-Identifier: MIT */
#ifndef BENCH_OPENMP_H
#define BENCH_OPENMP_H
/*
 * OpenMP runtimes, to compare their barriers with. Their barriers are for teams, so the contexts are one.
 *
 * A runtime is loaded when a cell needs it, and called by the functions that GCC's code calls: LLVM's has them, too.
 */
#ifdef __cplusplus
extern "C" {
#endif
typedef void ol_context(void *arg, unsigned i);
/* Runs n contexts as one team, and returns null when all have ended; or at once, and says why it cannot. */
typedef const char *ol_team(unsigned n, ol_context *context, void *arg);

void openmp_barrier_gnu(void);
void openmp_barrier_llvm(void);
ol_team openmp_team_gnu, openmp_team_llvm;
#ifdef __cplusplus
}
#endif
#endif
