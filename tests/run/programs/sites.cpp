// SPDX-License-Identifier: MIT
// Mutexes in every place that a rule can name. Each is locked three times by one thread, and
// contended by four; says how often the sections ran.
#include <dlfcn.h>
#include <mutex>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <thread>
#include <vector>

#define APART __attribute__((noinline, noclone))

pthread_mutex_t global_one = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t hidden = PTHREAD_MUTEX_INITIALIZER;
namespace stock
{
std::mutex shelf;
pthread_mutex_t many[64];
} // namespace stock

namespace leveldb::port
{
class Mutex
{
      public:
	APART Mutex()
	{
		pthread_mutex_init(&mutex, nullptr);
	}
	APART ~Mutex()
	{
		pthread_mutex_destroy(&mutex);
	}
	pthread_mutex_t mutex;
};

template <class T> struct Box {
	APART void lock(pthread_mutex_t *m, const T &)
	{
		pthread_mutex_lock(m);
		pthread_mutex_unlock(m);
	}
};
} // namespace leveldb::port

static int sections;

APART static void turns(pthread_mutex_t *m)
{
	for (int i = 0; i < 100; i++) {
		pthread_mutex_lock(m);
		sections++;
		pthread_mutex_unlock(m);
	}
}

static void use(pthread_mutex_t *m)
{
	std::vector<std::thread> threads;

	for (int t = 0; t < 4; t++)
		threads.emplace_back(turns, m);
	for (auto &thread : threads)
		thread.join();
}

// The first to lock it is a function of that name.
APART static void opens_hidden(void)
{
	pthread_mutex_lock(&hidden);
	pthread_mutex_unlock(&hidden);
}

extern "C" {
APART void plain_c_init(pthread_mutex_t *m)
{
	pthread_mutex_init(m, nullptr);
}

APART void recursive_init(pthread_mutex_t *m)
{
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
	pthread_mutex_init(m, &attr);
	pthread_mutexattr_destroy(&attr);
}
}

// Two threads meet at the first use of a mutex, from functions that different rules fit.
static pthread_mutex_t meeting[2000];
static pthread_barrier_t both;

template <int who> APART static void meet(void)
{
	for (auto &m : meeting) {
		pthread_barrier_wait(&both);
		pthread_mutex_lock(&m);
		sections++;
		pthread_mutex_unlock(&m);
	}
}

static void race(void)
{
	pthread_barrier_init(&both, nullptr, 2);
	std::thread other(meet<1>);
	meet<2>();
	other.join();
}

int main(int argc, char **argv)
{
	leveldb::port::Mutex in_object;
	pthread_mutex_t c, recursive, boxed = PTHREAD_MUTEX_INITIALIZER;

	opens_hidden();
	plain_c_init(&c);
	recursive_init(&recursive);
	leveldb::port::Box<int>().lock(&boxed, 1);
	pthread_mutex_lock(&recursive);
	pthread_mutex_lock(&recursive);
	pthread_mutex_unlock(&recursive);
	pthread_mutex_unlock(&recursive);
	for (auto *m : { &global_one, &hidden, &in_object.mutex, &c, &recursive, &boxed,
			 stock::shelf.native_handle(), &stock::many[7], &stock::many[63] })
		use(m);
	race();
	if (argc > 1) {
		void *library = dlopen(argv[1], RTLD_NOW);
		auto by_library = (pthread_mutex_t * (*)(void)) dlsym(library, "by_library");

		use(by_library());
	}
	printf("%d\n", sections);
}
