// SPDX-License-Identifier: MIT
// C++'s shared mutexes stand on the pthread rwlocks. Usage: shared USES
#include <atomic>
#include <chrono>
#include <iostream>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <thread>
#include <vector>

using namespace std::chrono_literals;

namespace
{

bool countsRight(int uses)
{
	std::shared_mutex mutex;
	std::vector<std::thread> threads;
	std::atomic<int> inside = 0, wrong = 0;
	long count = 0;
	for (int me = 0; me < 4; me++)
		threads.emplace_back([&] {
			for (int i = 0; i < uses; i++) {
				if (i % 4) {
					std::shared_lock hold(mutex);
					wrong += inside != 0;
				} else {
					std::unique_lock hold(mutex);
					wrong += inside++ != 0;
					count++;
					inside--;
				}
			}
		});
	for (auto &thread : threads)
		thread.join();
	return !wrong && count == 4L * ((uses + 3) / 4);
}

bool deadlinesHold()
{
	std::shared_timed_mutex mutex;
	bool read = false, early = true, late = false;
	std::unique_lock writing(mutex);
	std::thread([&] {
		early = mutex.try_lock_shared_for(2ms) || mutex.try_lock_for(2ms);
	}).join();
	writing.unlock();
	std::shared_lock reading(mutex);
	std::thread([&] {
		read = mutex.try_lock_shared();
		if (read)
			mutex.unlock_shared();
		late = !mutex.try_lock_until(std::chrono::system_clock::now() + 2ms);
	}).join();
	return !early && read && late;
}

} // namespace

int main(int argc, char **argv)
{
	std::cout << countsRight(argc > 1 ? std::stoi(argv[1]) : 100) << deadlinesHold() << "\n";
}
