// SPDX-License-Identifier: MIT
// C++'s mutexes and condition variables stand on the pthread ones.
#include <chrono>
#include <condition_variable>
#include <iostream>
#include <mutex>
#include <queue>
#include <thread>
#include <vector>

using namespace std::chrono_literals;

namespace
{

std::mutex queueMutex;
std::condition_variable queueChanged;
std::queue<int> jobs;
long done = 0;

void work()
{
	for (;;) {
		std::unique_lock hold(queueMutex);
		while (!queueChanged.wait_for(hold, 50ms, [] { return !jobs.empty(); })) {
		}
		int job = jobs.front();
		jobs.pop();
		if (job < 0)
			return;
		done += job;
	}
}

bool queueWorks(int items)
{
	std::vector<std::thread> workers;
	long expected = 0;
	for (int i = 0; i < 4; i++)
		workers.emplace_back(work);
	for (int i = 0; i < items; i++) {
		std::lock_guard hold(queueMutex);
		jobs.push(i);
		expected += i;
		queueChanged.notify_one();
	}
	{
		std::lock_guard hold(queueMutex);
		for (int i = 0; i < 4; i++)
			jobs.push(-1);
	}
	queueChanged.notify_all();
	for (auto &worker : workers)
		worker.join();
	return done == expected;
}

bool timedMutexWorks()
{
	std::timed_mutex mutex;
	std::recursive_timed_mutex recursive;
	bool early = false, late = false;
	std::unique_lock hold(mutex);
	std::scoped_lock both(recursive);
	std::thread([&] { early = mutex.try_lock_for(5ms) || recursive.try_lock_for(5ms); }).join();
	hold.unlock();
	std::thread([&] {
		late = mutex.try_lock_until(std::chrono::system_clock::now() + 60s);
		if (late)
			mutex.unlock();
	}).join();
	return !early && late && recursive.try_lock_for(1ms) && (recursive.unlock(), true);
}

bool conditionAnyWorks()
{
	std::recursive_mutex mutex;
	std::condition_variable_any changed;
	bool ready = false;
	std::thread other([&] {
		std::lock_guard hold(mutex);
		ready = true;
		changed.notify_all();
	});
	{
		std::unique_lock hold(mutex);
		changed.wait(hold, [&] { return ready; });
	}
	other.join();
	return ready;
}

// Locked by a constructor that runs before main, and by a destructor that runs after it.
struct Global {
	std::mutex mutex;
	Global()
	{
		std::lock_guard hold(mutex);
	}
	~Global()
	{
		std::lock_guard hold(mutex);
	}
} global;

} // namespace

int main(int argc, char **argv)
{
	std::cout << queueWorks(argc > 1 ? std::stoi(argv[1]) : 100) << timedMutexWorks()
		  << conditionAnyWorks() << "\n";
}
