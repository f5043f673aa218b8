/* SPDX-License-Identifier: MIT */
#ifndef BENCH_THROWING_H
#define BENCH_THROWING_H
/* A C++ exception, for workloads that are C. */
#ifdef __cplusplus
extern "C" {
#endif
/* What is to be done around each search for the exception table of a frame. */
struct throwing_search {
	void (*before)(void *arg);
	void (*after)(void *arg);
	void *arg;
};

/* Throws and catches once. `search` may be null. */
void throwing_once(const struct throwing_search *search);
#ifdef __cplusplus
}
#endif
#endif
