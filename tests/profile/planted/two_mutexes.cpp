// SPDX-License-Identifier: MIT
// As two_mutexes.c, by the locks of libraries: -DMUTEX=absl::Mutex -DHEADER='<absl/...>', for one.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <thread>
#include <vector>
#include HEADER

namespace
{

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;

#ifdef ATOMIC
class Mutex
{
      public:
	void lock()
	{
		while (_taken.exchange(1))
			_taken.wait(1);
	}
	void unlock()
	{
		_taken = 0;
		_taken.notify_one();
	}

      private:
	std::atomic<int> _taken{ 0 };
};
#elif defined(ABSEIL)
class Mutex : public absl::Mutex
{
      public:
	__attribute__((always_inline)) void lock()
	{
		Lock();
	}
	__attribute__((always_inline)) void unlock()
	{
		Unlock();
	}
};
#elif defined(SEMAPHORE)
class Mutex
{
      public:
	void lock()
	{
		_one.acquire();
	}
	void unlock()
	{
		_one.release();
	}

      private:
	std::counting_semaphore<4> _one{ 1 };
};
#else
using Mutex = MUTEX;
#endif

Mutex first, second;

inline nanoseconds in(Mutex &mutex, milliseconds rest) __attribute__((always_inline));
inline nanoseconds in(Mutex &mutex, milliseconds rest)
{
	const auto before = Clock::now();
	mutex.lock();
	const auto after = Clock::now();
	std::this_thread::sleep_for(rest);
	mutex.unlock();
	return after - before;
}

} // namespace

__attribute__((noinline)) nanoseconds first_section()
{
	return in(first, milliseconds(2));
}
__attribute__((noinline)) nanoseconds second_section()
{
	return in(second, milliseconds(4));
}

int main()
{
	std::vector<nanoseconds> waited(4);
	std::vector<std::thread> threads;
	for (int me = 0; me < 4; me++)
		threads.emplace_back([&waited, me] {
			for (int i = 0; i < 50; i++) {
				waited[me] += me < 2 ? first_section() : second_section();
				std::this_thread::sleep_for(milliseconds(1));
			}
		});
	for (auto &thread : threads)
		thread.join();
	std::printf("{\"first_section\": %lld, \"second_section\": %lld}\n",
		    static_cast<long long>((waited[0] + waited[1]).count()),
		    static_cast<long long>((waited[2] + waited[3]).count()));
}
