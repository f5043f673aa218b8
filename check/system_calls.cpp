// SPDX-License-Identifier: MIT
// Linux's system calls, as far as locks make them: the futex in all its forms, identity, time.
#include "call.h"

#include <overlock/checked.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdarg>
#include <cstring>
#include <ctime>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

namespace ol::check {

namespace {

using Arguments = std::array<long, 6>;

// Newer than the headers of some systems that this is built on.
constexpr long sys_futex_waitv = 449, sys_futex_wake = 454, sys_futex_wait = 455,
               sys_futex_requeue = 456;
constexpr int lock_pi_2 = 13; // FUTEX_LOCK_PI2
constexpr unsigned futex2_size = 3, futex2_u32 = 2, futex2_private = FUTEX_PRIVATE_FLAG;
constexpr unsigned most_words = 128; // of futex_waitv
constexpr unsigned any_bit = FUTEX_BITSET_MATCH_ANY;

constexpr size_t most_contexts = 60;
std::array<int, most_contexts + 1> errors; // errno, by context; the last is the world outside
bool registered;                           // for membarrier

size_t caller(World &world) {
    return world.is_inside() ? world.running() : most_contexts;
}

[[noreturn]] void refuse(const Call &call, const std::string &what) {
    call.world.fail(Wrong::unsupported,
                    call.world.text(call.place) + " " + what +
                        ", which the checker does not model; replace it by `// replaces:` "
                        "(docs/checking-other-locks.md)");
}

template <class T> T *pointer(long argument) {
    return reinterpret_cast<T *>(argument); // NOLINT(performance-no-int-to-ptr)
}

// What the program passes by its address; -EFAULT instead of a fault of ours.
template <class T> long peek(long from, T &to) {
    iovec here = {&to, sizeof to}, there = {pointer<void>(from), sizeof to};

    return process_vm_readv(getpid(), &here, 1, &there, 1, 0) == sizeof to ? 0 : -EFAULT;
}

// The same, as the memory model has it.
template <class T> long fetch(const Call &call, long from, T &to) {
    if (long error = peek(from, to))
        return error;
    announce(call, pointer<void>(from), sizeof to, Op::load); // memory shows what it may see
    std::memcpy(&to, pointer<void>(from), sizeof to);
    call.world.close();
    return 0;
}

template <class T> void deliver(const Call &call, void *to, const T &from) {
    announce(call, to, sizeof from, Op::store);
    std::memcpy(to, &from, sizeof from);
    call.world.close();
}

// Clocks.

constexpr uint64_t second = 1'000'000'000, since_boot = 1'000 * second,
                   since_epoch = 1'800'000'000 * second;

bool is_valid(const timespec &t) {
    return t.tv_sec >= 0 && t.tv_nsec >= 0 && static_cast<uint64_t>(t.tv_nsec) < second;
}

constexpr long most_seconds = 9'000'000'000; // beyond, ns would overflow: as good as never

uint64_t ns_of(const timespec &t) {
    return static_cast<uint64_t>(std::min(t.tv_sec, most_seconds)) * second +
           static_cast<uint64_t>(t.tv_nsec);
}

struct Deadline {
    Ticks until = never;
    uint64_t ns = 0; // of the world's clock, once it has passed

    // A caller that was told that it has passed finds it so.
    void passed(const Call &call) const {
        if (ns)
            call.world.clock_ns(ns, call.place);
    }
};

// -errno, if there is none and should be.
long deadline(const Call &call, long timeout, bool absolute, bool real_time, Deadline &d) {
    timespec t{};

    if (!timeout)
        return 0;
    if (long error = fetch(call, timeout, t))
        return error;
    if (!is_valid(t))
        return -EINVAL;
    uint64_t ns = ns_of(t), origin = real_time ? since_epoch : since_boot, now = 0;
    if (absolute)
        now = call.world.clock_ns(0, call.place);
    bool is_over = absolute ? ns <= origin + now : !ns;
    if (absolute)
        d.ns = ns > origin ? ns - origin : 0;
    else if (call.world.has_read_clock())
        d.ns = call.world.clock_ns(0, call.place) + ns;
    d.until = call.world.after(is_over ? 0 : 1, 100, call.place);
    return 0;
}

// Futexes.

struct Word {
    const volatile void *at;
    long error; // of a wait or a change: 0, or -errno

    explicit Word(long argument) : at(pointer<const volatile void>(argument)), error(0) {
        constexpr uintptr_t page = 4096;
        auto address = reinterpret_cast<uintptr_t>(at);
        if (address % sizeof(uint32_t))
            error = -EINVAL;
        else if (address < page)
            error = -EFAULT;
    }
    bool is_misaligned() const { return error == -EINVAL; }
    uint32_t *in_memory(const Call &call) const {
        uint8_t *found = tracked(call, at);
        return found ? reinterpret_cast<uint32_t *>(found) : sleepers_word(at);
    }
};

long sleep_on(const Call &call, const volatile void *word, unsigned value, unsigned bits,
              const Deadline &d, bool signals) {
    uint8_t *found = tracked(call, word);
    auto *at = found ? reinterpret_cast<uint32_t *>(found) : sleepers_word(word);

    switch (call.world.sleep(at, value, bits, d.until, call.place)) {
    case Woke::differs:
        return -EAGAIN;
    case Woke::in_time:
        d.passed(call);
        return -ETIMEDOUT;
    case Woke::without_cause: // of a signal, or of a wake-up that was for what was here before
        return signals && call.world.draw(2) ? -EINTR : 0;
    case Woke::kicked:
        break;
    }
    return 0;
}

long wait(const Call &call, const Word &word, unsigned value, unsigned bits, const Deadline &d) {
    if (!bits)
        return -EINVAL;
    if (word.error)
        return word.error;
    return sleep_on(call, word.at, value, bits, d, true);
}

// A private word that is not there has no sleepers, and that is no error.
long wake(const Call &call, const Word &word, int n, unsigned bits, bool is_private) {
    if (!bits || word.is_misaligned())
        return -EINVAL;
    if (word.error && !is_private)
        return word.error;
    uint32_t *at = sleepers_word(word.at);
    if (call.world.has_pi_sleepers(at))
        return -EINVAL;
    return call.world.wake(at, bits, n, call.place);
}

long requeue(const Call &call, const volatile void *from, int wakes, const volatile void *to,
             int moves, const unsigned *value) {
    unsigned done;

    if (!call.world.requeue(sleepers_word(from), wakes, sleepers_word(to), moves, value, done,
                            call.place))
        return -EAGAIN;
    return done;
}

long requeue(const Call &call, const Word &from, int wakes, const Word &to, int moves,
             const unsigned *value) {
    if (wakes < 0 || moves < 0 || from.is_misaligned() || to.is_misaligned())
        return -EINVAL;
    if (value && from.error)
        return from.error;
    return requeue(call, from.at, wakes, to.at, moves, value);
}

// FUTEX_OP(): what to do to the second word, and with what its old value is compared.
struct WakeOp {
    unsigned op, compare, change_by, compare_with;

    explicit WakeOp(unsigned code)
        : op(code >> 28 & 7),
          compare(code >> 24 & 15),
          change_by(extended(code >> 12)),
          compare_with(extended(code)) {
        if (code >> 28 & FUTEX_OP_OPARG_SHIFT)
            change_by = 1u << (change_by & 31);
    }
    bool is_known() const { return op <= FUTEX_OP_XOR && compare <= FUTEX_OP_CMP_GE; }
    uint32_t changed(uint32_t old) const {
        switch (op) {
        case FUTEX_OP_SET:
            return change_by;
        case FUTEX_OP_ADD:
            return old + change_by;
        case FUTEX_OP_OR:
            return old | change_by;
        case FUTEX_OP_ANDN:
            return old & ~change_by;
        default:
            return old ^ change_by;
        }
    }
    bool holds(uint32_t old) const {
        auto a = static_cast<int>(old), b = static_cast<int>(compare_with);
        switch (compare) {
        case FUTEX_OP_CMP_EQ:
            return a == b;
        case FUTEX_OP_CMP_NE:
            return a != b;
        case FUTEX_OP_CMP_LT:
            return a < b;
        case FUTEX_OP_CMP_LE:
            return a <= b;
        case FUTEX_OP_CMP_GT:
            return a > b;
        default:
            return a >= b;
        }
    }

private:
    static unsigned extended(unsigned bits) { // of 12 bits with a sign
        return ((bits & 0xfff) ^ 0x800) - 0x800;
    }
};

long wake_op(const Call &call, const Word &word, int wakes, const Word &other, int more,
             unsigned code) {
    WakeOp what(code);

    if (word.is_misaligned() || other.is_misaligned())
        return -EINVAL;
    if (!what.is_known())
        return -ENOSYS;
    if (other.error)
        return other.error;
    return call.world.wake_op(
        sleepers_word(word.at), wakes, other.in_memory(call), more,
        [&what](uint32_t old) { return what.changed(old); },
        [&what](uint32_t old) { return what.holds(old); }, call.place);
}

long pi_lock(const Call &call, const Word &word, bool tries, const Deadline &d) {
    if (word.error)
        return word.error;
    int answer = call.world.pi_lock(word.in_memory(call), tries, d.until, call.place);
    if (answer == -ETIMEDOUT)
        d.passed(call);
    return answer;
}

bool has_deadline(int op) {
    return op == FUTEX_WAIT || op == FUTEX_WAIT_BITSET || op == FUTEX_LOCK_PI || op == lock_pi_2 ||
           op == FUTEX_WAIT_REQUEUE_PI;
}

bool may_have_real_time(int op) {
    return op == FUTEX_WAIT_BITSET || op == FUTEX_WAIT_REQUEUE_PI || op == lock_pi_2;
}

// Of wake-ups by the older calls the kernel counts after the first.
int at_least_one(long n) {
    return std::max(static_cast<int>(n), 1);
}

long futex(const Call &call, const Arguments &a) {
    Word word(a[0]), other(a[4]);
    int op = static_cast<int>(a[1]) & FUTEX_CMD_MASK;
    bool is_private = a[1] & FUTEX_PRIVATE_FLAG, real_time = a[1] & FUTEX_CLOCK_REALTIME;
    auto value = static_cast<unsigned>(a[2]), last = static_cast<unsigned>(a[5]);
    auto second_value = static_cast<int>(a[3]);
    Deadline d;

    if (has_deadline(op))
        if (long error =
                deadline(call, a[3], op != FUTEX_WAIT, real_time || op == FUTEX_LOCK_PI, d))
            return error;
    if (real_time && !may_have_real_time(op))
        return -ENOSYS;
    switch (op) {
    case FUTEX_WAIT:
        return wait(call, word, value, any_bit, d);
    case FUTEX_WAIT_BITSET:
        return wait(call, word, value, last, d);
    case FUTEX_WAKE:
        return wake(call, word, at_least_one(a[2]), any_bit, is_private);
    case FUTEX_WAKE_BITSET:
        return wake(call, word, at_least_one(a[2]), last, is_private);
    case FUTEX_REQUEUE:
        return requeue(call, word, static_cast<int>(value), other, second_value, nullptr);
    case FUTEX_CMP_REQUEUE:
        return requeue(call, word, static_cast<int>(value), other, second_value, &last);
    case FUTEX_WAKE_OP:
        return wake_op(call, word, at_least_one(a[2]), other, at_least_one(a[3]), last);
    case FUTEX_LOCK_PI:
    case lock_pi_2:
        return pi_lock(call, word, false, d);
    case FUTEX_TRYLOCK_PI:
        return pi_lock(call, word, true, d);
    case FUTEX_UNLOCK_PI:
        return word.error ? word.error : call.world.pi_unlock(word.in_memory(call), call.place);
    case FUTEX_WAIT_REQUEUE_PI:
    case FUTEX_CMP_REQUEUE_PI:
        refuse(call, "moves sleepers to a lock with priority inheritance (futex operation " +
                         std::to_string(op) + ")");
    default:
        return -ENOSYS;
    }
}

// The futex calls of Linux 6.7 and later: all words have four bytes, as there are no others yet.
bool is_futex2(unsigned flags) {
    return (flags & futex2_size) == futex2_u32 && !(flags & ~(futex2_size | futex2_private));
}

bool is_one_word(long value) {
    return !(static_cast<uint64_t>(value) >> 32);
}

bool is_clock_of_futex(long clock) {
    return clock == CLOCK_MONOTONIC || clock == CLOCK_REALTIME;
}

long futex2_wake(const Call &call, const Arguments &a) {
    auto flags = static_cast<unsigned>(a[3]);

    if (!is_futex2(flags) || !is_one_word(a[1]))
        return -EINVAL;
    return wake(call, Word(a[0]), static_cast<int>(a[2]), static_cast<unsigned>(a[1]),
                flags & futex2_private);
}

long futex2_wait(const Call &call, const Arguments &a) {
    Deadline d;

    if (!is_futex2(static_cast<unsigned>(a[3])) || !is_one_word(a[1]) || !is_one_word(a[2]))
        return -EINVAL;
    if (a[4] && !is_clock_of_futex(a[5]))
        return -EINVAL;
    if (long error = deadline(call, a[4], true, a[5] == CLOCK_REALTIME, d))
        return error;
    return wait(call, Word(a[0]), static_cast<unsigned>(a[1]), static_cast<unsigned>(a[2]), d);
}

struct Waiter { // struct futex_waitv
    uint64_t value, address;
    uint32_t flags, reserved;

    bool is_valid() const {
        return is_futex2(flags) && !reserved && is_one_word(static_cast<long>(value));
    }
    Word word() const { return Word(static_cast<long>(address)); }
};

long futex_waitv(const Call &call, const Arguments &a) {
    auto words = static_cast<unsigned>(a[1]);
    Waiter first{};
    Deadline d;

    if (a[2] || !words || words > most_words || !a[0])
        return -EINVAL;
    if (a[3] && !is_clock_of_futex(a[4]))
        return -EINVAL;
    if (long error = deadline(call, a[3], true, a[4] == CLOCK_REALTIME, d))
        return error;
    if (words > 1)
        refuse(call, "waits for " + std::to_string(words) + " futexes at once");
    if (long error = fetch(call, a[0], first))
        return error;
    if (!first.is_valid())
        return -EINVAL;
    return wait(call, first.word(), static_cast<unsigned>(first.value), any_bit, d);
}

long futex2_requeue(const Call &call, const Arguments &a) {
    std::array<Waiter, 2> both{};

    if (a[1] || !a[0])
        return -EINVAL;
    if (long error = fetch(call, a[0], both))
        return error;
    if (!both[0].is_valid() || !both[1].is_valid())
        return -EINVAL;
    auto value = static_cast<unsigned>(both[0].value);
    return requeue(call, both[0].word(), static_cast<int>(a[2]), both[1].word(),
                   static_cast<int>(a[3]), &value);
}

// Others.

// A fence of every thread. With one memory and no buffers there is nothing that it could change.
long membarrier(const Call &call, long command) {
    constexpr long registrations = MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED |
                                   MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED,
                   barriers = MEMBARRIER_CMD_GLOBAL | MEMBARRIER_CMD_GLOBAL_EXPEDITED |
                              MEMBARRIER_CMD_PRIVATE_EXPEDITED;

    if (command == MEMBARRIER_CMD_QUERY)
        return registrations | barriers;
    if (command & (command - 1) || !(command & (registrations | barriers)))
        return -EINVAL;
    if (command & registrations) {
        if (call.world.is_inside())
            refuse(call, "registers for membarrier() elsewhere than in init");
        registered = true;
        return 0;
    }
    if (command == MEMBARRIER_CMD_PRIVATE_EXPEDITED && !registered)
        return -EPERM;
    if (call.world.model() != Model::sc)
        refuse(call, std::string("calls membarrier() under ") + name_of(call.world.model()));
    return 0;
}

long get_cpu(const Call &call, long cpu, long node) {
    if (cpu)
        deliver(call, pointer<void>(cpu), static_cast<unsigned>(call.world.cpu(call.place)));
    if (node)
        deliver(call, pointer<void>(node), 0u);
    return 0;
}

// How long it takes means nothing here: it may end at any time, as a hint.
long delay(long time) {
    timespec t{};

    if (long error = peek(time, t))
        return error;
    return is_valid(t) ? 0 : -EINVAL;
}

} // namespace

void begin_system_calls() {
    errors.fill(0);
    registered = false;
}

int &error_of_caller() {
    return errors[caller(static_cast<World &>(engine::current()))];
}

uint32_t id_of_caller() {
    auto &world = static_cast<World &>(engine::current());
    return world.is_inside() ? static_cast<uint32_t>(world.running() + 1) : process_id;
}

uint64_t now_ns(const Call &call, bool real_time) {
    return (real_time ? since_epoch : since_boot) + call.world.clock_ns(0, call.place);
}

long read_clock(const Call &call, long clock, void *to) {
    bool real_time = clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE;

    if (clock < 0 || clock > CLOCK_TAI)
        return -EINVAL;
    auto ns = static_cast<long>(now_ns(call, real_time));
    deliver(call, to, timespec{ns / static_cast<long>(second), ns % static_cast<long>(second)});
    return 0;
}

long system_call(const Call &call, long number, const Arguments &a) {
    switch (number) {
    case SYS_gettid:
        return id_of_caller();
    case SYS_getpid:
        return process_id;
    case SYS_sched_yield:
        hint(call);
        return 0;
    case SYS_nanosleep:
        hint(call);
        return delay(a[0]);
    case SYS_clock_nanosleep:
        hint(call);
        return delay(a[2]);
    default:
        end_turns();
    }
    switch (number) {
    case SYS_futex:
        return futex(call, a);
    case sys_futex_waitv:
        return futex_waitv(call, a);
    case sys_futex_wake:
        return futex2_wake(call, a);
    case sys_futex_wait:
        return futex2_wait(call, a);
    case sys_futex_requeue:
        return futex2_requeue(call, a);
    case SYS_clock_gettime:
        return read_clock(call, a[0], pointer<void>(a[1]));
    case SYS_getcpu:
        return get_cpu(call, a[0], a[1]);
    case SYS_membarrier:
        return membarrier(call, a[0]);
    default:
        refuse(call, "makes system call " + std::to_string(number));
    }
}

} // namespace ol::check

using namespace ol::check;

extern "C" {

int ol_checked_futex_wait(const volatile void *word, unsigned value, unsigned bits, bool timed) {
    Call call = OL_CALL;
    Deadline d;

    end_turns();
    if (timed)
        d.until = call.world.after(1, 100, call.place);
    return static_cast<int>(sleep_on(call, word, value, bits, d, false));
}

int ol_checked_futex_wake(const volatile void *word, int wakes, unsigned bits) {
    Call call = OL_CALL;
    end_turns();
    return static_cast<int>(call.world.wake(sleepers_word(word), bits, wakes, call.place));
}

int ol_checked_futex_requeue(const volatile void *from, int wakes, const volatile void *to,
                             int moves, const unsigned *value) {
    Call call = OL_CALL;
    end_turns();
    return static_cast<int>(requeue(call, from, wakes, to, moves, value));
}

// A call that has fewer arguments reads registers that mean nothing, as the kernel does.
#define OL_ARGUMENTS(last)                                                                         \
    Arguments a;                                                                                   \
    va_list rest;                                                                                  \
    va_start(rest, last);                                                                          \
    for (long &argument : a)                                                                       \
        argument = va_arg(rest, long);                                                             \
    va_end(rest)

long ol_checked_raw_syscall(long number, ...) {
    Call call = OL_CALL;
    OL_ARGUMENTS(number);
    return system_call(call, number, a);
}

long ol_checked_syscall(long number, ...) {
    Call call = OL_CALL;
    OL_ARGUMENTS(number);
    long answer = system_call(call, number, a);

    if (answer >= 0)
        return answer;
    error_of_caller() = static_cast<int>(-answer);
    return -1;
}

// NOLINTNEXTLINE(bugprone-reserved-identifier,readability-identifier-naming)
long __wrap_syscall(long number, ...) __attribute__((alias("ol_checked_syscall")));

} // extern "C"
