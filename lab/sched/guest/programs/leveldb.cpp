// SPDX-License-Identifier: MIT
// measured-leveldb THREADS SECONDS: random reads, as db_bench's readrandom.
#include "counted.h"

#include <leveldb/db.h>
#include <leveldb/write_batch.h>

#include <atomic>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace
{

constexpr const char *folder = "/tmp/leveldb";
constexpr unsigned entries = 20000;

std::string key_of(unsigned n)
{
	char text[17];

	std::snprintf(text, sizeof text, "%016u", n);
	return text;
}

std::unique_ptr<leveldb::DB> filled()
{
	leveldb::Options options;
	leveldb::WriteBatch writes;
	leveldb::DB *db = nullptr;

	leveldb::DestroyDB(folder, options);
	options.create_if_missing = true;
	options.compression = leveldb::kNoCompression;
	if (!leveldb::DB::Open(options, folder, &db).ok())
		std::exit(1);
	for (unsigned n = 0; n < entries; n++)
		writes.Put(key_of(n), std::string(100, 'v')); // db_bench's size
	if (!db->Write({}, &writes).ok())
		std::exit(1);
	db->CompactRange(nullptr, nullptr);
	return std::unique_ptr<leveldb::DB>(db);
}

void read(leveldb::DB &db, unsigned me, std::uint64_t until, counted &mine)
{
	std::mt19937 draw(me);
	std::string value;

	for (std::uint64_t began = now_ns(), t; began < until; began = t) {
		if (!db.Get({}, key_of(draw() % entries), &value).ok())
			std::exit(1);
		t = now_ns();
		count(&mine, t - began);
	}
}

} // namespace

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	const unsigned n = std::strtoul(argv[1], nullptr, 10);
	const auto db = filled();
	std::vector<counted> all(n);
	std::vector<std::thread> threads;
	const std::uint64_t begun = now_ns();
	const std::uint64_t until = begun + static_cast<std::uint64_t>(std::atof(argv[2]) * 1e9);

	for (unsigned i = 0; i < n; i++)
		threads.emplace_back([&, i] { read(*db, i, until, all[i]); });
	for (auto &thread : threads)
		thread.join();
	tell("leveldb", all.data(), n, static_cast<double>(now_ns() - begun) / 1e9);
	return 0;
}
