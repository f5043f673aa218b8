// SPDX-License-Identifier: MIT
// Waits whose callers are known, through wrappers that hide them.
//
//	stacks WHAT...		in this order; then "ended"
//	  one, two, loud	wait by that function; loud's is by far the longest
//	  recursive		by 300 functions more
//	  FILE.so		by wait_in_library() of a library that is loaded, and unloaded again
//	  fork			in a child, which says nothing of it
//	  busy			hold it often, a little, by often(), and for long by at_length()
//	  full			from now on files may not grow
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <dlfcn.h>
#include <pthread.h>
#include <string>
#include <sys/resource.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#define APART	__attribute__((noinline, noclone))
#define INLINED __attribute__((always_inline)) inline

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static std::atomic<bool> comes;
static volatile int sections;

// What programs hide a mutex behind: an inlined call in a function apart.
struct Port {
	INLINED void lock()
	{
		pthread_mutex_lock(&mutex);
	}
	void unlock()
	{
		pthread_mutex_unlock(&mutex);
	}
};

struct Guard {
	APART Guard()
	{
		comes = true;
		port.lock();
		sections = sections + 1;
	}
	APART ~Guard()
	{
		port.unlock();
		sections = sections + 1;
	}
	Port port;
};

APART static void one()
{
	Guard guard;
	sections = sections + 1;
}

APART static void two()
{
	Guard guard;
	sections = sections + 2;
}

APART static void loud()
{
	Guard guard;
	sections = sections + 3;
}

APART static void in_child()
{
	Guard guard;
	sections = sections + 4;
}

APART static void deeper(int n)
{
	if (n)
		deeper(n - 1);
	else
		one();
	sections = sections + 5;
}

static void sleep_ms(int ms)
{
	std::this_thread::sleep_for(std::chrono::milliseconds(ms));
}

// Another thread waits there, and ends, while we hold the mutex.
template <class F> static void waits(F there, int ms)
{
	comes = false;
	pthread_mutex_lock(&mutex);
	std::thread waiter(there);
	while (!comes)
		sleep_ms(1);
	sleep_ms(ms);
	pthread_mutex_unlock(&mutex);
	waiter.join();
}

static void in_library(const char *path)
{
	void *library = dlopen(path, RTLD_NOW);
	void (*wait_there)(pthread_mutex_t *, std::atomic<bool> *);
	void *found;

	if (!library) {
		puts(dlerror());
		return;
	}
	found = dlsym(library, "wait_in_library");
	memcpy(&wait_there, &found, sizeof(found));
	waits([=] { wait_there(&mutex, &comes); }, 50);
	dlclose(library);
}

APART static void often()
{
	Guard guard;
	sections = sections + 6;
}

APART static void at_length()
{
	Guard guard;
	sleep_ms(2);
}

static void busy()
{
	for (int i = 0; i < 20; i++) {
		at_length();
		for (int k = 0; k < 500; k++)
			often();
	}
}

static void in_a_child()
{
	if (!fork()) {
		waits(in_child, 50);
		exit(0);
	}
	wait(nullptr);
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		std::string what = argv[i];

		if (what == "one")
			waits(one, 50);
		else if (what == "two")
			waits(two, 50);
		else if (what == "loud")
			waits(loud, 1000);
		else if (what == "recursive")
			waits([] { deeper(300); }, 50);
		else if (what == "fork")
			in_a_child();
		else if (what == "busy")
			busy();
		else if (what == "full") {
			struct rlimit none = { 300, 300 };

			setrlimit(RLIMIT_FSIZE, &none);
		} else
			in_library(argv[i]);
	}
	puts("ended");
}
