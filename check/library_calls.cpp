// SPDX-License-Identifier: MIT
// Functions of the C and C++ libraries by name, in place of the real ones: identity, time, memory,
// and how a program ends. A file's constructors run before there is a world, and get the real ones.
#include "call.h"

#include <overlock/checked.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <cxxabi.h>
#include <poll.h>
#include <sched.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

namespace ol::check {

namespace {

constexpr size_t usual_alignment = 16;

// As a function of the C library: -1, and why in errno.
long told(long answer) {
    if (answer >= 0)
        return answer;
    error_of_caller() = static_cast<int>(-answer);
    return -1;
}

Call acting(Call call) {
    end_turns();
    return call;
}

template <class... Types> long asked(const Call &call, long number, Types... arguments) {
    return system_call(call, number, {(long)arguments...}); // NOLINT: numbers and pointers alike
}

// Memory. What malloc() returns has no value.

void *allocate(const Call &call, size_t size, size_t alignment, int fill) {
    constexpr size_t outside = 60;
    World &w = call.world;
    size_t lane = w.is_inside() ? w.running() : outside;
    engine::Object *o = w.memory().allocate_in(lane, std::max<size_t>(size, 1), alignment);

    if (!o)
        w.fail(Wrong::unsupported, w.text(call.place) + " allocates " + std::to_string(size) +
                                       " bytes; one context may allocate " +
                                       std::to_string(Memory::lane_bytes) +
                                       " in an execution, whatever it frees");
    std::memset(o->at, fill, o->size);
    return o->at;
}

constexpr int rubbish = 0xa5;

void *allocate(const Call &call, size_t size, size_t alignment = usual_alignment) {
    return allocate(call, size, alignment, rubbish);
}

engine::Object &allocated(const Call &call, void *p) {
    World &w = call.world;
    engine::Object *o = w.memory().find(p);

    if (!o || !w.memory().is_in_lane(p) || o->at != p)
        w.fail(Wrong::wild, w.text(call.place) + " frees " + w.memory().describe(p) +
                                ", which malloc() has not returned");
    if (o->state == engine::Object::freed)
        w.fail(Wrong::after_free,
               w.text(call.place) + " frees " + w.memory().describe(p) + " again");
    return *o;
}

void release(const Call &call, void *p) {
    if (!p)
        return;
    engine::Object &o = allocated(call, p);
    if (call.world.is_inside())
        call.world.free(p, call.place);
    else
        o.state = engine::Object::freed;
}

void copy(const Call &call, void *to, const void *from, size_t size) {
    announce(call, const_cast<void *>(from), size, Op::load);
    std::vector<uint8_t> found(size);
    std::memcpy(found.data(), from, size);
    call.world.close();
    announce(call, to, size, Op::store);
    std::memcpy(to, found.data(), size);
    call.world.close();
}

// Initialisation of a function's static variable. Its first byte is its compiler's: 1 is done.
constexpr uint64_t begun = 0x100, done = 1;

uint64_t change_guard(const Call &call, void *guard, Op op, Order order, uint64_t value) {
    uint8_t *at = tracked(call, guard);
    return call.world.access({at ? at : static_cast<uint8_t *>(guard), 0, 2, op, order, value, 0,
                              call.place, false, false, true});
}

} // namespace

std::span<const char *const> library_calls() {
    static constexpr const char *names[] = {
#define OL_LIBRARY_CALL(name) #name,
#include "library_calls.def"
#undef OL_LIBRARY_CALL
    };
    return names;
}

} // namespace ol::check

// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming)
using namespace ol::check;

struct ThreadLocal { // the ABI's
    unsigned long module, offset;
};
extern "C" void *__tls_get_addr(ThreadLocal *);

#define OL_WRAP(name) __wrap_##name
// Before there is a world, the real one.
#define OL_OR(real)                                                                                \
    if (!is_under_way())                                                                           \
    return real

#define OL_HINT hint(OL_CALL)
// A call that does more than look.
#define OL_ACT acting(OL_CALL)

extern "C" {

int *OL_WRAP(__errno_location)() {
    OL_OR(&errno);
    return &error_of_caller();
}

int OL_WRAP(gettid)() {
    OL_OR(gettid());
    return static_cast<int>(id_of_caller());
}

int OL_WRAP(getpid)() {
    OL_OR(getpid());
    return process_id;
}

// Where the context has the thread-local variables of the file.
void *OL_WRAP(__tls_get_addr)(ThreadLocal *variable) {
    OL_OR(__tls_get_addr(variable));
    return thread_local_at(variable->offset);
}

// Contexts end without destroying these.
int OL_WRAP(__cxa_thread_atexit)(void (*)(void *), void *, void *) {
    return 0;
}

int OL_WRAP(__cxa_thread_atexit_impl)(void (*)(void *), void *, void *) {
    return 0;
}

unsigned long OL_WRAP(pthread_self)() {
    OL_OR(pthread_self());
    return id_of_caller();
}

int OL_WRAP(sched_getcpu)() {
    OL_OR(sched_getcpu());
    Call call = OL_ACT;
    return static_cast<int>(call.world.cpu(call.place));
}

// Delays end at any time: they are hints, and no more.
int OL_WRAP(sched_yield)() {
    OL_OR(sched_yield());
    OL_HINT;
    return 0;
}

unsigned OL_WRAP(sleep)(unsigned seconds) {
    OL_OR(sleep(seconds));
    OL_HINT;
    return 0;
}

int OL_WRAP(usleep)(unsigned us) {
    OL_OR(usleep(us));
    OL_HINT;
    return 0;
}

int OL_WRAP(nanosleep)(const timespec *time, timespec *left) {
    OL_OR(nanosleep(time, left));
    return static_cast<int>(told(asked(OL_CALL, SYS_nanosleep, time, left)));
}

// Unlike others it returns the error.
int OL_WRAP(clock_nanosleep)(clockid_t clock, int flags, const timespec *time, timespec *left) {
    OL_OR(clock_nanosleep(clock, flags, time, left));
    return static_cast<int>(-asked(OL_CALL, SYS_clock_nanosleep, clock, flags, time, left));
}

int OL_WRAP(poll)(pollfd *files, nfds_t n, int ms) {
    OL_OR(poll(files, n, ms));
    Call call = OL_ACT;
    if (!n && ms >= 0)
        return 0;
    call.world.fail(Wrong::unsupported, call.world.text(call.place) +
                                            " polls files, which the checker does not have; "
                                            "expected poll(0, 0, ms), a delay");
}

int OL_WRAP(clock_gettime)(clockid_t clock, timespec *to) {
    OL_OR(clock_gettime(clock, to));
    return static_cast<int>(told(read_clock(OL_ACT, clock, to)));
}

time_t OL_WRAP(time)(time_t *to) {
    OL_OR(time(to));
    Call call = OL_ACT;
    auto now = static_cast<time_t>(now_ns(call, true) / 1'000'000'000);
    if (to)
        copy(call, to, &now, sizeof now);
    return now;
}

int OL_WRAP(gettimeofday)(timeval *to, void *zone) {
    OL_OR(gettimeofday(to, zone));
    Call call = OL_ACT;
    auto us = static_cast<long>(now_ns(call, true) / 1'000);
    timeval now = {us / 1'000'000, us % 1'000'000};
    if (to)
        copy(call, to, &now, sizeof now);
    return 0;
}

// std::chrono's, in ns.
long OL_WRAP(_ZNSt6chrono3_V212steady_clock3nowEv)() {
    OL_OR(std::chrono::steady_clock::now().time_since_epoch().count());
    return static_cast<long>(now_ns(OL_ACT, false));
}

long OL_WRAP(_ZNSt6chrono3_V212system_clock3nowEv)() {
    OL_OR(std::chrono::system_clock::now().time_since_epoch().count());
    return static_cast<long>(now_ns(OL_ACT, true));
}

void OL_WRAP(abort)() {
    OL_OR(abort());
    Call call = OL_ACT;
    call.world.fail(Wrong::aborts, "the lock called abort() at " + call.world.text(call.place));
}

void OL_WRAP(__assert_fail)(const char *expression, const char *file, unsigned line,
                            const char *function) {
    ol_checked_assert_fail(expression, file, line, function);
}

void OL_WRAP(_ZSt20__throw_system_errori)(int error) {
    Call call = OL_ACT;
    call.world.fail(Wrong::aborts, call.world.text(call.place) +
                                       " throws std::system_error: " + strerrorname_np(error));
}

void *OL_WRAP(malloc)(size_t size) {
    OL_OR(malloc(size));
    return allocate(OL_ACT, size);
}

void *OL_WRAP(calloc)(size_t n, size_t size) {
    OL_OR(calloc(n, size));
    return allocate(OL_ACT, n * size, usual_alignment, 0);
}

void *OL_WRAP(realloc)(void *p, size_t size) {
    OL_OR(realloc(p, size));
    Call call = OL_ACT;
    void *now = allocate(call, size);
    if (p) {
        copy(call, now, p, std::min(size, allocated(call, p).size));
        release(call, p);
    }
    return now;
}

void *OL_WRAP(aligned_alloc)(size_t alignment, size_t size) {
    OL_OR(aligned_alloc(alignment, size));
    return allocate(OL_ACT, size, alignment);
}

int OL_WRAP(posix_memalign)(void **to, size_t alignment, size_t size) {
    OL_OR(posix_memalign(to, alignment, size));
    Call call = OL_ACT;
    void *p = allocate(call, size, alignment);
    copy(call, to, &p, sizeof p);
    return 0;
}

void OL_WRAP(free)(void *p) {
    OL_OR(free(p));
    release(OL_ACT, p);
}

#define OL_NEW(name, ...) void *OL_WRAP(name)(size_t size __VA_OPT__(, ) __VA_ARGS__)
#define OL_DELETE(name, ...)                                                                       \
    void OL_WRAP(name)(void *p __VA_OPT__(, ) __VA_ARGS__) {                                       \
        OL_OR(free(p));                                                                            \
        release(OL_ACT, p);                                                                        \
    }

OL_NEW(_Znwm) {
    OL_OR(malloc(size));
    return allocate(OL_ACT, size);
}
OL_NEW(_Znam) {
    OL_OR(malloc(size));
    return allocate(OL_ACT, size);
}
OL_NEW(_ZnwmRKSt9nothrow_t, const void *) {
    OL_OR(malloc(size));
    return allocate(OL_ACT, size);
}
OL_NEW(_ZnwmSt11align_val_t, size_t alignment) {
    OL_OR(aligned_alloc(alignment, size));
    return allocate(OL_ACT, size, alignment);
}
OL_NEW(_ZnamSt11align_val_t, size_t alignment) {
    OL_OR(aligned_alloc(alignment, size));
    return allocate(OL_ACT, size, alignment);
}
OL_DELETE(_ZdlPv)
OL_DELETE(_ZdaPv)
OL_DELETE(_ZdlPvm, size_t)
OL_DELETE(_ZdaPvm, size_t)
OL_DELETE(_ZdlPvSt11align_val_t, size_t)
OL_DELETE(_ZdaPvSt11align_val_t, size_t)
OL_DELETE(_ZdlPvmSt11align_val_t, size_t, size_t)
OL_DELETE(_ZdaPvmSt11align_val_t, size_t, size_t)

int OL_WRAP(__cxa_guard_acquire)(uint64_t *guard) {
    OL_OR(abi::__cxa_guard_acquire(reinterpret_cast<abi::__guard *>(guard)));
    Call call = OL_ACT;
    for (;;) {
        uint64_t old = change_guard(call, guard, Op::cas, Order::acq_rel, begun);
        if (!old)
            return 1;
        if (old & done)
            return 0;
        call.world.relax(never, call.place);
    }
}

void OL_WRAP(__cxa_guard_release)(uint64_t *guard) {
    OL_OR(abi::__cxa_guard_release(reinterpret_cast<abi::__guard *>(guard)));
    change_guard(OL_ACT, guard, Op::xchg, Order::release, done);
}

void OL_WRAP(__cxa_guard_abort)(uint64_t *guard) {
    OL_OR(abi::__cxa_guard_abort(reinterpret_cast<abi::__guard *>(guard)));
    change_guard(OL_ACT, guard, Op::xchg, Order::release, 0);
}

} // extern "C"
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)
