/* SPDX-License-Identifier: MIT */
/* An OMPT tool that counts how often it is told that a lock was acquired, and says so at the end. */
#include <omp-tools.h>
#include <stdio.h>

static long acquired;

static void on_acquired(ompt_mutex_t kind, ompt_wait_id_t lock, const void *site)
{
	(void)kind;
	(void)lock;
	(void)site;
	__atomic_fetch_add(&acquired, 1, __ATOMIC_RELAXED);
}

static int start(ompt_function_lookup_t lookup, int device, ompt_data_t *data)
{
	ompt_set_callback_t set = (ompt_set_callback_t)lookup("ompt_set_callback");

	(void)device;
	(void)data;
	set(ompt_callback_mutex_acquired, (ompt_callback_t)on_acquired);
	return 1;
}

static void end(ompt_data_t *data)
{
	(void)data;
	printf("tool: %ld\n", acquired);
	fflush(stdout);
}

ompt_start_tool_result_t *ompt_start_tool(unsigned version, const char *runtime);
ompt_start_tool_result_t *ompt_start_tool(unsigned version, const char *runtime)
{
	static ompt_start_tool_result_t result = { start, end, { 0 } };

	(void)version;
	(void)runtime;
	return &result;
}
