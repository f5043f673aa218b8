/* SPDX-License-Identifier: MIT */
/* To be included after musl's pthread_impl.h: the thread that its texts ask for. */
static struct __pthread ol_musl_threads[64];

static void *ol_musl_thread(void)
{
	struct __pthread *thread = &ol_musl_threads[ol_checked_self()];

	thread->tid = (int)ol_checked_self();
	return thread;
}

/* No handler of a signal interrupts. */
volatile int __eintr_valid_flag;
