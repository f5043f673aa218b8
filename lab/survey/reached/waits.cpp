// SPDX-License-Identifier: MIT
// C++20: a semaphore, a latch and an atomic wait of libstdc++, which sleep by futexes of their own.
#include <atomic>
#include <semaphore>
#include <thread>
#include <vector>

int main()
{
	std::counting_semaphore<8> free(1);
	std::atomic<int> turn{ 0 };
	long count = 0;
	std::vector<std::jthread> all;
	for (int me = 0; me < 4; me++)
		all.emplace_back([&, me] {
			for (int n = 0; n < 20000; n++) {
				free.acquire();
				count++;
				free.release();
			}
			for (int n = 0; n < 500; n++) {
				for (int now; (now = turn.load()) % 4 != me;)
					turn.wait(now);
				turn++;
				turn.notify_all();
			}
		});
	all.clear();
	return count == 80000 ? 0 : 1;
}
