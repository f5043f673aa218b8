/* SPDX-License-Identifier: MIT */
/*
 * A child of a fork uses the locks of its parent: one that the thread held that forked, and a critical section
 * that nobody was in. Prints the child's status. libomp itself does not survive this.
 */
#include <omp.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static omp_lock_t lock;
static omp_nest_lock_t nested;

static void pass(void)
{
#pragma omp critical(forked)
	omp_set_lock(&lock);
	omp_unset_lock(&lock);
}

static int child(void)
{
	omp_unset_lock(&lock);
	pass();
	omp_unset_nest_lock(&nested);
	omp_set_lock(&lock);
	return omp_test_lock(&lock) || omp_test_nest_lock(&nested) != 1;
}

int main(void)
{
	int status = -1;
	pid_t pid;

	omp_init_lock(&lock);
	omp_init_nest_lock(&nested);
	pass();
	omp_set_lock(&lock);
	omp_set_nest_lock(&nested);
	pid = fork();
	if (!pid)
		_exit(child());
	waitpid(pid, &status, 0);
	printf("%d\n", status);
	return 0;
}
