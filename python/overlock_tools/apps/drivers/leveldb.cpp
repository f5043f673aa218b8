// SPDX-License-Identifier: MIT
/*
 * leveldb fill DIR ENTRIES
 * leveldb read DIR ENTRIES THREADS WRITERS WARM_UP SECONDS SEED
 *
 * LevelDB's db_bench, which Debian does not package: `readrandom` as Dice & Kogan 2019 ran it, for a given time, and with
 * writers `readwhilewriting`. Each thread looks up random keys of those that are there; a value says of
 * which key and which writing it is, and every one that is read is verified.
 *
 * `read` prints "ready", waits for a line, warms up, prints "begin", and after SECONDS a line of JSON.
 */
#include <leveldb/cache.h>
#include <leveldb/db.h>
#include <leveldb/write_batch.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace
{

using Clock = std::chrono::steady_clock;

constexpr std::size_t value_bytes = 100; /* db_bench's */
constexpr std::uint64_t batch = 1000;

[[noreturn]] void fail(const std::string &why)
{
	std::cerr << "leveldb: " << why << '\n';
	std::exit(1);
}

std::string key_of(std::uint64_t n)
{
	char text[17];

	std::snprintf(text, sizeof text, "%016" PRIu64, n);
	return { text, 16 };
}

/* Key and writing, again and again, and what both make. */
std::string value_of(std::uint64_t n, std::uint64_t writing)
{
	std::mt19937_64 draw(n * 0x9e3779b97f4a7c15u + writing);
	std::string value(value_bytes, '\0');

	std::memcpy(value.data(), &n, sizeof n);
	std::memcpy(value.data() + sizeof n, &writing, sizeof writing);
	for (std::size_t i = sizeof n + sizeof writing; i < value_bytes; i++)
		value[i] = static_cast<char>(' ' + draw() % 64);
	return value;
}

bool right(std::uint64_t n, const std::string &value)
{
	std::uint64_t writing = 0;

	if (value.size() != value_bytes)
		return false;
	std::memcpy(&writing, value.data() + sizeof n, sizeof writing);
	return value == value_of(n, writing);
}

std::unique_ptr<leveldb::DB> opened(const char *folder, bool fresh)
{
	leveldb::Options options;
	leveldb::DB *db = nullptr;

	options.create_if_missing = fresh;
	options.error_if_exists = fresh;
	options.compression = leveldb::kNoCompression;
	if (const auto status = leveldb::DB::Open(options, folder, &db); !status.ok())
		fail(status.ToString());
	return std::unique_ptr<leveldb::DB>(db);
}

int fill(const char *folder, std::uint64_t entries)
{
	const auto db = opened(folder, true);

	for (std::uint64_t first = 0; first < entries; first += batch) {
		leveldb::WriteBatch writes;

		for (std::uint64_t n = first; n < std::min(first + batch, entries); n++)
			writes.Put(key_of(n), value_of(n, 0));
		if (const auto status = db->Write({}, &writes); !status.ok())
			fail(status.ToString());
	}
	db->CompactRange(nullptr, nullptr);
	return 0;
}

/* What a thread has done; it alone writes there. */
struct alignas(128) Done {
	std::atomic<std::uint64_t> times{ 0 };
};

struct Work {
	leveldb::DB &db;
	std::uint64_t entries, seed;
	std::vector<Done> done;
	/* Relaxed: they publish nothing but themselves, and join() orders what is read at the end. */
	std::atomic<bool> over{ false };
	std::atomic<std::uint64_t> wrong{ 0 };

	void thread(std::size_t me, bool writes)
	{
		std::mt19937_64 draw(seed * 1000003 + me);
		const leveldb::ReadOptions options;
		std::string value;

		for (std::uint64_t turn = 1; !over.load(std::memory_order_relaxed); turn++) {
			const std::uint64_t n = draw() % entries;

			if (writes ? !db.Put({}, key_of(n), value_of(n, turn)).ok()
				   : !db.Get(options, key_of(n), &value).ok() || !right(n, value))
				wrong.fetch_add(1, std::memory_order_relaxed);
			done[me].times.store(turn, std::memory_order_relaxed);
		}
	}

	std::vector<std::uint64_t> seen() const
	{
		std::vector<std::uint64_t> found;

		for (const auto &one : done)
			found.push_back(one.times.load(std::memory_order_relaxed));
		return found;
	}
};

void nap(double seconds)
{
	std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

int read(char **argv)
{
	const auto db = opened(argv[0], false);
	const std::size_t readers = std::strtoul(argv[2], nullptr, 10);
	const std::size_t all = readers + std::strtoul(argv[3], nullptr, 10);
	Work work{ *db, std::strtoull(argv[1], nullptr, 10), std::strtoull(argv[6], nullptr, 10),
		   std::vector<Done>(all) };
	std::vector<std::thread> threads;
	std::string line;

	std::cout << "ready" << std::endl;
	if (!std::getline(std::cin, line))
		return 1;
	for (std::size_t i = 0; i < all; i++)
		threads.emplace_back([&work, i, readers] { work.thread(i, i >= readers); });
	nap(std::atof(argv[4]));
	std::cout << "begin" << std::endl;

	const auto before = work.seen();
	const auto began = Clock::now();

	nap(std::atof(argv[5]));

	const auto after = work.seen();
	const std::chrono::duration<double> took = Clock::now() - began;

	work.over.store(true, std::memory_order_relaxed);
	std::cout << "{\"seconds\": " << took.count() << ", \"per_thread\": [";
	for (std::size_t i = 0; i < readers; i++)
		std::cout << (i ? ", " : "") << after[i] - before[i];
	std::cout << "], \"written\": ";
	std::uint64_t written = 0;
	for (std::size_t i = readers; i < all; i++)
		written += after[i] - before[i];
	std::cout << written << "}" << std::endl;
	for (auto &thread : threads)
		thread.join();
	std::cout << "{\"wrong\": " << work.wrong.load(std::memory_order_relaxed) << "}"
		  << std::endl;
	return 0;
}

} /* namespace */

int main(int argc, char **argv)
{
	if (argc == 4 && !std::strcmp(argv[1], "fill"))
		return fill(argv[2], std::strtoull(argv[3], nullptr, 10));
	if (argc == 9 && !std::strcmp(argv[1], "read"))
		return read(argv + 2);
	std::cerr << "leveldb: fill DIR ENTRIES, or read DIR ENTRIES THREADS WRITERS WARM_UP "
		     "SECONDS SEED\n";
	return 2;
}
