// SPDX-License-Identifier: MIT
// Four threads that wait for work, or for others, in one of C++20's ways: no lock is fought for.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <latch>
#include <semaphore>
#include <thread>
#include <vector>

static void work(int ms)
{
	const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(ms);
	while (std::chrono::steady_clock::now() < end) {
	}
}

static std::counting_semaphore<1000> items{ 0 };
static std::atomic<int> ticket{ 0 };
static std::latch done{ 2 };
static std::atomic<bool> over{ false };

static void by_semaphore()
{
	for (items.acquire(); !over; items.acquire())
		work(1);
}

static void by_atomic()
{
	for (int seen = 0; !over; seen = ticket) {
		ticket.wait(seen);
		work(1);
	}
}

int main(int, char **argv)
{
	std::vector<std::thread> threads;
	const bool latch = !std::strcmp(argv[1], "latch");
	for (int i = 0; i < 4; i++)
		threads.emplace_back(latch				  ? [] { done.wait(); }
				     : !std::strcmp(argv[1], "semaphore") ? by_semaphore
									  : by_atomic);
	for (int i = 0; i < 100; i++) {
		std::this_thread::sleep_for(std::chrono::milliseconds(5));
		items.release();
		ticket++;
		ticket.notify_all();
	}
	over = true;
	done.count_down(2);
	items.release(4);
	ticket++;
	ticket.notify_all();
	for (auto &thread : threads)
		thread.join();
	std::puts("{}");
}
