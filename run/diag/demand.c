/* SPDX-License-Identifier: MIT */
/*
 * A report whenever the process gets a signal. The counted library only.
 *
 *	OVERLOCK_SIGNAL		its number
 *
 * The handler does no more than sem_post(), which POSIX lets it; a thread of ours, which is there for
 * nothing else and holds no lock of the program's, writes. That thread alone never blocks the signal, so
 * that it arrives even where the program blocks it everywhere.
 *
 * A program with a handler of its own keeps it, whether it was there before or comes later: then it
 * gets no report, and the report at the end says so.
 */
#include "internal.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>

static sem_t wanted;
static int number;

/* A forked child has no thread for it, and no report. */
static void on_signal(int unused)
{
	int saved = errno;

	(void)unused;
	if (!ol_run_epoch)
		sem_post(&wanted);
	errno = saved;
}

static void *reporter(void *unused)
{
	sigset_t ours;

	(void)unused;
	sigemptyset(&ours);
	sigaddset(&ours, number);
	pthread_sigmask(SIG_UNBLOCK, &ours, 0);
	for (;;) {
		while (sem_wait(&wanted)) /* EINTR: by the signal itself */
			;
		while (!sem_trywait(&wanted)) /* who asked twice gets the later one */
			;
		ol_run_report_on_demand();
	}
	return 0;
}

static bool start_reporter(void)
{
	sigset_t all, old;
	pthread_t thread;
	bool fine;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	fine = !pthread_create(&thread, 0, reporter, 0);
	pthread_sigmask(SIG_SETMASK, &old, 0);
	if (fine)
		pthread_detach(thread);
	return fine;
}

int ol_run_demand_number(void)
{
	return number;
}

bool ol_run_demand_is_taken(void)
{
	struct sigaction now;

	return number && !sigaction(number, 0, &now) && now.sa_handler != on_signal;
}

/* 0: none that a program can handle. */
static int handled(const char *text)
{
	char *end;
	long n = strtol(text, &end, 10);

	return *end || n < 1 || n > SIGRTMAX || n == SIGKILL || n == SIGSTOP ? 0 : (int)n;
}

void ol_run_demand_start(void)
{
	const char *text = secure_getenv("OVERLOCK_SIGNAL");
	struct sigaction ours = { .sa_handler = on_signal, .sa_flags = SA_RESTART }, now;

	if (!text || !*text || !ol_run_report_is_wanted())
		return;
	number = handled(text);
	if (!number || sigaction(number, 0, &now)) {
		ol_run_ignore("OVERLOCK_SIGNAL", text,
			      "expected the number of a signal that can be handled");
		number = 0;
		return;
	}
	if (now.sa_handler != SIG_DFL && now.sa_handler != SIG_IGN)
		return; /* another library's */
	ol_run_need_futexes();
	sem_init(&wanted, 0, 0);
	if (!start_reporter())
		ol_run_refuse("OVERLOCK_SIGNAL",
			      "cannot create a thread to write reports; run without "
			      "--counters-signal");
	sigaction(number, &ours, 0);
}
