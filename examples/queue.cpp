// SPDX-License-Identifier: MIT
// c++ -std=c++20 queue.cpp $(pkg-config --cflags --libs overlock)
#include <overlock/overlock.hpp>

#include <deque>
#include <iostream>
#include <mutex>
#include <thread>

int main()
{
	overlock::mutex lock;
	overlock::condition_variable filled;
	std::deque<int> queue;
	int sum = 0;

	std::thread consumer([&] {
		for (int taken = 0; taken < 1000; taken++) {
			std::unique_lock guard(lock);
			filled.wait(guard, [&] { return !queue.empty(); });
			sum += queue.front();
			queue.pop_front();
		}
	});
	for (int i = 0; i < 1000; i++) {
		std::lock_guard guard(lock);
		queue.push_back(i);
		filled.notify_one();
	}
	consumer.join();
	std::cout << sum << '\n';
}
