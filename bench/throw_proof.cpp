// SPDX-License-Identifier: MIT
// overlock-throw: counts what the C++ runtime of this machine calls while it throws and catches, and
// says so in one JSON object. Calls between libraries are bound to the first of that name that the
// loader finds, and that is the executable's; the loader's own lock is not seen itself, but it is
// taken in dl_iterate_phdr() only.
#include <cstdio>
#include <dlfcn.h>
#include <gnu/libc-version.h>
#include <link.h>
#include <pthread.h>

namespace
{
constexpr int throws = 1000;
bool counting;
unsigned long mutex_calls, loader_calls, searches;

template <class F> F *real(const char *name)
{
	return reinterpret_cast<F *>(dlsym(RTLD_NEXT, name));
}

void throw_and_catch()
{
	try {
		throw 20;
	} catch (int) {
	}
}
} // namespace

#define VISIBLE extern "C" __attribute__((visibility("default")))

VISIBLE int pthread_mutex_lock(pthread_mutex_t *mutex) noexcept
{
	static auto *const next = real<int(pthread_mutex_t *)>("pthread_mutex_lock");

	mutex_calls += counting;
	return next(mutex);
}

using Visit = int(dl_phdr_info *info, size_t size, void *data);

VISIBLE int dl_iterate_phdr(Visit *visit, void *data)
{
	static auto *const next = real<int(Visit *, void *)>("dl_iterate_phdr");

	loader_calls += counting;
	return next(visit, data);
}

struct dwarf_eh_bases;

VISIBLE const void *_Unwind_Find_FDE(void *pc, dwarf_eh_bases *bases)
{
	static auto *const next = real<const void *(void *, dwarf_eh_bases *)>("_Unwind_Find_FDE");

	searches += counting;
	return next(pc, bases);
}

int main()
{
	throw_and_catch(); // what is done once is done now
	counting = true;
	for (int i = 0; i < throws; i++)
		throw_and_catch();
	counting = false;
	std::printf("{\"throws\":%d,\"searches\":%lu,\"mutex_calls\":%lu,"
		    "\"loader_calls\":%lu,\"libc\":\"glibc %s\"}\n",
		    throws, searches, mutex_calls, loader_calls, gnu_get_libc_version());
	return 0;
}
