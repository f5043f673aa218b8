// SPDX-License-Identifier: MIT
#include "instrumented.h"

#include "places.h"

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <cstring>
#include <dlfcn.h>
#include <link.h>
#include <linux/futex.h>
#include <stdexcept>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace ol::check {

namespace {

constexpr uintptr_t page = 4096;
constexpr size_t stack_bytes = 16 * page, most_stacks = 60;
constexpr uintptr_t stacks = Memory::base + Memory::usual_size;
constexpr uintptr_t variables = stacks + most_stacks * (stack_bytes + page);

struct Range {
    uintptr_t begin = 0, end = 0;
    bool has(const volatile void *p) const {
        auto at = reinterpret_cast<uintptr_t>(p);
        return at >= begin && at < end;
    }
};

// What a context's loads found.
struct Look {
    const void *pc = nullptr, *at = nullptr;
    uint64_t value = 0;
    bool operator==(const Look &) const = default;
};

// The last of them, of which the same again are a loop that waits: one load, or a few in turn.
class Looks {
public:
    bool repeats(const Look &now) {
        std::shift_right(last_.begin(), last_.end(), 1);
        last_[0] = now;
        known_ = std::min(known_ + 1, last_.size());
        for (size_t turn = 1; 2 * turn <= known_; turn++)
            if (std::equal(last_.begin(), last_.begin() + turn, last_.begin() + turn))
                return true;
        return false;
    }
    void forget() { known_ = 0; }

private:
    static constexpr size_t longest = 4; // loads of a turn
    std::array<Look, 2 * longest> last_;
    size_t known_ = 0;
};

uint8_t *bytes(uintptr_t at) {
    return reinterpret_cast<uint8_t *>(at); // NOLINT(performance-no-int-to-ptr)
}

uint8_t *lowest_of_stack(size_t context) {
    return bytes(stacks + context * (stack_bytes + page) + page);
}

// The one shared object that is loaded, as its calls find it.
struct Here {
    World *world = nullptr;
    Range own;           // its variables, where it sees them
    ptrdiff_t moved = 0; // from there to the world's memory
    std::unique_ptr<Places> places;
    std::array<Looks, most_stacks> looks;
} here;

size_t stack_with(const void *at) {
    return (reinterpret_cast<uintptr_t>(at) - stacks) / (stack_bytes + page);
}

} // namespace

struct Foreign::Parts {
    ol_lock_ops ops{};
    std::vector<uint8_t> first; // its variables before anything ran
    int file = -1;

    ~Parts() {
        if (file >= 0)
            close(file);
    }
};

namespace {

// The writable pages of a shared object.
Range writable(void *shared_object) {
    link_map *map = nullptr;
    Range found;

    dlinfo(shared_object, RTLD_DI_LINKMAP, &map);
    auto look = [](dl_phdr_info *info, size_t, void *arg) {
        auto &[address, range] = *static_cast<std::pair<uintptr_t, Range *> *>(arg);
        if (info->dlpi_addr != address)
            return 0;
        for (size_t i = 0; i < info->dlpi_phnum; i++) {
            const auto &p = info->dlpi_phdr[i];
            if (p.p_type == PT_LOAD && p.p_flags & PF_W)
                *range = {(address + p.p_vaddr) & ~(page - 1),
                          (address + p.p_vaddr + p.p_memsz + page - 1) & ~(page - 1)};
        }
        return 1;
    };
    std::pair<uintptr_t, Range *> asked{map->l_addr, &found};
    dl_iterate_phdr(look, &asked);
    return found;
}

void *mapped(uintptr_t at, size_t size, int file) {
    int kind = file < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
    void *p = mmap(bytes(at), size, PROT_READ | PROT_WRITE, kind | MAP_FIXED, file, 0);

    if (p == MAP_FAILED)
        throw std::bad_alloc();
    return p;
}

// The same pages at both places.
int map_twice(Range own) {
    size_t size = own.end - own.begin;
    int file = memfd_create("variables", 0);

    if (file < 0 || ftruncate(file, static_cast<off_t>(size)))
        throw std::bad_alloc();
    std::memcpy(mapped(variables, size, file), bytes(own.begin), size);
    mapped(own.begin, size, file);
    return file;
}

const ol_checked_lock *the_lock;

constexpr char nothing_such[] = "the file's overlock_checked has neither lock and unlock nor down "
                                "and up";

} // namespace

Foreign::Foreign(void *shared_object, const std::string &path)
    : table_(static_cast<const ol_checked_lock *>(dlsym(shared_object, "overlock_checked"))),
      parts_(std::make_unique<Parts>()) {
    if (!table_ || !(table_->down                     ? table_->up
                     : table_->lock && table_->unlock ? table_->lock
                                                      : nullptr))
        throw std::invalid_argument(nothing_such);
    the_lock = table_;
    link_map *map = nullptr;
    dlinfo(shared_object, RTLD_DI_LINKMAP, &map);
    here.places = std::make_unique<Places>(path, map->l_addr);
    here.own = writable(shared_object);
    if (here.own.end) {
        parts_->first.assign(bytes(here.own.begin), bytes(here.own.end));
        parts_->file = map_twice(here.own);
        here.moved = static_cast<ptrdiff_t>(variables - here.own.begin);
    }
    ol_lock_ops &ops = parts_->ops;
    ops = {table_->name, "", table_->name, OL_ABI, table_->size, 8,  0, {},
           {},           {}, {},           {},     {},           {}, {}};
    ops.lock = [](void *l) { call(the_lock->down ? the_lock->down : the_lock->lock, l); };
    ops.unlock = [](void *l) { call(the_lock->up ? the_lock->up : the_lock->unlock, l); };
    ops.traits = table_->by_clock ? OL_BY_CLOCK : 0;
    if (table_->trylock)
        ops.trylock = [](void *l) { return call(the_lock->trylock, l); };
}

Foreign::~Foreign() = default;

const SharedOps *Foreign::shared() const {
    static constexpr SharedOps side = {[](void *l) { call(the_lock->read_lock, l); },
                                       [](void *l) { call(the_lock->read_unlock, l); }};
    return table_->read_lock ? &side : nullptr;
}

const ol_lock_ops &Foreign::ops() const {
    return parts_->ops;
}

void Foreign::join(World &world) {
    here.world = &world;
    mapped(stacks, most_stacks * (stack_bytes + page), -1);
    for (size_t i = 0; i < most_stacks; i++) {
        mprotect(lowest_of_stack(i) - page, page, PROT_NONE);
        world.memory().adopt("stack", lowest_of_stack(i), stack_bytes);
    }
    if (here.own.end)
        world.memory().adopt("variables", bytes(variables), here.own.end - here.own.begin);
}

Program Foreign::prepared(Program program) const {
    auto set_up = program.set_up;

    program.set_up = [this, set_up](Memory &memory) {
        if (here.own.end)
            std::memcpy(bytes(variables), parts_->first.data(), parts_->first.size());
        here.looks.fill({});
        set_up(memory);
    };
    program.stack = [](size_t me) { return std::span(lowest_of_stack(me), stack_bytes); };
    return program;
}

namespace {

// It returned: nothing of its own is left on the stack.
void leave() {
    here.world->close();
    if (here.world->is_inside())
        here.world->uses_stack_from(nullptr);
}

} // namespace

void Foreign::call(void (*operation)(void *), void *o) {
    operation(o);
    leave();
}

bool Foreign::call(bool (*operation)(void *), void *o) {
    bool answer = operation(o);
    leave();
    return answer;
}

namespace {

// A call of the code: where it comes from, and what the code did before is over.
struct Call {
    World &world = *here.world;
    const void *pc;
    Place place;

    Call(const void *pc, const void *frame) : pc(pc), place(here.places->of(pc)) {
        world.close();
        if (world.is_inside())
            world.uses_stack_from(static_cast<const uint8_t *>(frame));
    }
};
#define OL_CALL Call(__builtin_return_address(0), __builtin_frame_address(0))
// Constructors of a file run before there is a world: what they do is how its variables begin.
#define OL_ANNOUNCE(...) (here.world ? announce(OL_CALL, __VA_ARGS__) : void())

// Where the world has it; null if it is nobody else's.
uint8_t *tracked(const Call &call, const volatile void *p) {
    auto *at = reinterpret_cast<uint8_t *>(const_cast<void *>(p));

    if (here.own.has(p))
        return at + here.moved;
    if (reinterpret_cast<uintptr_t>(p) < page)
        call.world.fail(Wrong::wild, call.world.text(call.place) + " follows a null pointer");
    size_t context = stack_with(at);
    bool on_stack = reinterpret_cast<uintptr_t>(p) >= stacks && context < most_stacks;
    if (on_stack && call.world.is_inside() && context != call.world.running() &&
        context < call.world.contexts()) {
        const uint8_t *used = call.world.stack_of(context);
        if (!used || at < used)
            call.world.fail(Wrong::after_free,
                            call.world.text(call.place) + " touches a variable of T" +
                                std::to_string(context + 1) + " whose function has returned");
    }
    return on_stack || call.world.memory().find(at) ? at : nullptr;
}

// Under TSO a store to the context's own stack skips the buffer: the code stores there without
// saying so too, and would find what leaves the buffer later.
bool is_at_once(const Call &call, const void *at) {
    return call.world.is_inside() && stack_with(at) == call.world.running();
}

// In pieces of one cell each.
std::vector<Access> pieces(const Call &call, uint8_t *at, size_t size, Op op) {
    std::vector<Access> all;

    while (size) {
        size_t lane = reinterpret_cast<uintptr_t>(at) % 8, width = 8;
        while (lane % width || width > size)
            width /= 2;
        all.push_back({at, 0, static_cast<uint8_t>(width), op, Order::relaxed, 0, 0, call.place,
                       false, is_at_once(call, at)});
        at += width;
        size -= width;
    }
    return all;
}

void announce(const Call &call, void *p, size_t size, Op op) {
    uint8_t *at = tracked(call, p);

    if (!at || !size)
        return;
    std::vector<Access> parts = pieces(call, at, size, op);
    op == Op::load ? call.world.show(parts) : call.world.begin_stores(parts);
}

constexpr Order orders[] = {Order::relaxed, Order::acquire, Order::acquire,
                            Order::release, Order::acq_rel, Order::acq_rel};

// A loop that looks again and finds the same waits.
void note_look(const Call &call, const void *at, uint64_t value) {
    if (!call.world.is_inside())
        return;
    Looks &looks = here.looks[call.world.running()];
    if (!looks.repeats({call.pc, at, value}))
        return;
    looks.forget();
    call.world.relax(call.world.after(1, 100, call.place), call.place);
}

// C11's sequentially consistent accesses are a fence before them; x86's, one after stores.
uint64_t access(const Call &call, const volatile void *p, uint8_t width, Op op, int order,
                uint64_t value, uint64_t expected = 0, int failing = __ATOMIC_RELAXED) {
    constexpr int sequential = __ATOMIC_SEQ_CST, all = 7;
    bool fences = (order & all) == sequential;
    uint8_t *at = tracked(call, p);

    bool callers = !at && !call.world.is_inside(); // on the stack of whoever looks from outside
    if (callers)
        at = static_cast<uint8_t *>(const_cast<void *>(p));
    if (!at)
        call.world.fail(Wrong::wild, call.world.text(call.place) + " touches " +
                                         call.world.memory().describe(const_cast<void *>(p)));
    if (fences && call.world.model() == Model::c11)
        call.world.fence(call.place);
    uint64_t mask = width == 8 ? ~uint64_t(0) : (uint64_t(1) << 8 * width) - 1;
    uint64_t old = call.world.access({at, 0, width, op, orders[order & all], value & mask,
                                      expected & mask, call.place, callers, is_at_once(call, at),
                                      (failing & all) != __ATOMIC_RELAXED});
    if (fences && op == Op::store && call.world.model() == Model::tso)
        call.world.fence(call.place);
    if (op == Op::load || (op == Op::cas && old != (expected & mask)))
        note_look(call, at, old);
    else if (call.world.is_inside())
        here.looks[call.world.running()].forget();
    return old;
}

// By compare-exchanges, until one succeeds.
template <class Change>
uint64_t change(const Call &call, const volatile void *p, uint8_t width, int order, Change to) {
    for (;;) {
        uint64_t old = access(call, p, width, Op::load, __ATOMIC_RELAXED, 0);
        if (access(call, p, width, Op::cas, order, to(old), old) == old)
            return old;
    }
}

// What was expected is a variable like any other. One of the own stack may be the compiler's, which
// does not say that it stores there: memory is right.
template <class T>
bool exchange_if(const Call &call, volatile T *p, T *expected, T v, int order, int failing) {
    uint8_t *at = tracked(call, expected);
    auto here_is = [&](Op op, T value) {
        return static_cast<T>(call.world.access({at, 0, sizeof(T), op, Order::relaxed, value, 0,
                                                 call.place, false, is_at_once(call, at)}));
    };
    T wanted = at && !is_at_once(call, at) ? here_is(Op::load, 0) : *expected;
    auto old = static_cast<T>(access(call, p, sizeof(T), Op::cas, order, v, wanted, failing));

    if (old == wanted)
        return true;
    at ? static_cast<void>(here_is(Op::store, old)) : static_cast<void>(*expected = old);
    return false;
}

int sleep_on(const Call &call, const volatile void *word, unsigned value, unsigned bits,
             bool timed) {
    World &w = call.world;
    Ticks until = timed ? w.after(1, 100, call.place) : never;
    uint8_t *at = tracked(call, word);

    if (!at)
        return -EFAULT;
    switch (w.sleep(reinterpret_cast<uint32_t *>(at), value, bits, until, call.place)) {
    case Woke::differs:
        return -EAGAIN;
    case Woke::in_time:
        return -ETIMEDOUT;
    case Woke::kicked:
    case Woke::without_cause:
        break;
    }
    return 0;
}

// Waking touches no memory: it may be gone.
uint32_t *sleepers_word(const volatile void *word) {
    auto *at = reinterpret_cast<uint8_t *>(const_cast<void *>(word));
    return reinterpret_cast<uint32_t *>(here.own.has(word) ? at + here.moved : at);
}

int wake_on(const Call &call, const volatile void *word, int n, unsigned bits) {
    return static_cast<int>(call.world.wake(sleepers_word(word), bits, n, call.place));
}

int requeue(const Call &call, const volatile void *from, int wakes, const volatile void *to,
            int moves, const unsigned *value) {
    unsigned done;

    if (!call.world.requeue(sleepers_word(from), wakes, sleepers_word(to), moves, value, done,
                            call.place))
        return -EAGAIN;
    return static_cast<int>(done);
}

long futex(const Call &call, va_list args) {
    auto *word = va_arg(args, const volatile void *);
    int op = va_arg(args, int) & FUTEX_CMD_MASK;
    auto value = va_arg(args, unsigned);
    auto timeout = va_arg(args, uintptr_t);
    auto *other = va_arg(args, const volatile void *);
    auto last = va_arg(args, unsigned);
    constexpr unsigned whoever = FUTEX_BITSET_MATCH_ANY;

    switch (op) {
    case FUTEX_WAIT:
        return sleep_on(call, word, value, whoever, timeout);
    case FUTEX_WAIT_BITSET:
        return sleep_on(call, word, value, last, timeout);
    case FUTEX_WAKE:
        return wake_on(call, word, static_cast<int>(value), whoever);
    case FUTEX_WAKE_BITSET:
        return wake_on(call, word, static_cast<int>(value), last);
    case FUTEX_REQUEUE:
        return requeue(call, word, static_cast<int>(value), other, static_cast<int>(timeout),
                       nullptr);
    case FUTEX_CMP_REQUEUE:
        return requeue(call, word, static_cast<int>(value), other, static_cast<int>(timeout),
                       &last);
    default:
        call.world.fail(Wrong::misuse, "the checker has no futex operation " + std::to_string(op));
    }
}

} // namespace
} // namespace ol::check

// What instrumented code calls. Its names are the compiler's.
// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming)
using namespace ol::check;
using ol::engine::Op;

extern "C" {

void __tsan_init() {}
void __tsan_func_entry(void *) {}
// While its frame is still there: what it stored last may be in it.
void __tsan_func_exit() {
    if (here.world)
        here.world->close();
}
void __tsan_vptr_update(void **p, void *) {
    OL_ANNOUNCE(p, sizeof *p, Op::store);
}
void __tsan_vptr_read(void **p) {
    OL_ANNOUNCE(p, sizeof *p, Op::load);
}
void __tsan_read_range(void *p, size_t size) {
    OL_ANNOUNCE(p, size, Op::load);
}
void __tsan_write_range(void *p, size_t size) {
    OL_ANNOUNCE(p, size, Op::store);
}

// LLVM's, for what the compiler copies itself.
void *__tsan_memset(void *to, int byte, size_t size) {
    OL_ANNOUNCE(to, size, Op::store);
    return std::memset(to, byte, size);
}
#define OL_COPY(name)                                                                              \
    void *name(void *to, const void *from, size_t size) {                                          \
        OL_ANNOUNCE(const_cast<void *>(from), size, Op::load);                                     \
        std::vector<uint8_t> found(size);                                                          \
        std::memcpy(found.data(), from, size);                                                     \
        OL_ANNOUNCE(to, size, Op::store);                                                          \
        return std::memcpy(to, found.data(), size);                                                \
    }
OL_COPY(__tsan_memcpy)
OL_COPY(__tsan_memmove)

#define OL_PLAIN(size)                                                                             \
    void __tsan_read##size(void *p) {                                                              \
        OL_ANNOUNCE(p, size, Op::load);                                                            \
    }                                                                                              \
    void __tsan_write##size(void *p) {                                                             \
        OL_ANNOUNCE(p, size, Op::store);                                                           \
    }                                                                                              \
    void __tsan_unaligned_read##size(void *p) {                                                    \
        OL_ANNOUNCE(p, size, Op::load);                                                            \
    }                                                                                              \
    void __tsan_unaligned_write##size(void *p) {                                                   \
        OL_ANNOUNCE(p, size, Op::store);                                                           \
    }                                                                                              \
    void __tsan_volatile_read##size(void *p) {                                                     \
        OL_ANNOUNCE(p, size, Op::load);                                                            \
    }                                                                                              \
    void __tsan_volatile_write##size(void *p) {                                                    \
        OL_ANNOUNCE(p, size, Op::store);                                                           \
    }
OL_PLAIN(1)
OL_PLAIN(2)
OL_PLAIN(4)
OL_PLAIN(8)
OL_PLAIN(16)

#define OL_ATOMIC(bits, T)                                                                         \
    T __tsan_atomic##bits##_load(const volatile T *p, int order) {                                 \
        return static_cast<T>(access(OL_CALL, p, sizeof(T), Op::load, order, 0));                  \
    }                                                                                              \
    void __tsan_atomic##bits##_store(volatile T *p, T v, int order) {                              \
        access(OL_CALL, p, sizeof(T), Op::store, order, v);                                        \
    }                                                                                              \
    T __tsan_atomic##bits##_exchange(volatile T *p, T v, int order) {                              \
        return static_cast<T>(access(OL_CALL, p, sizeof(T), Op::xchg, order, v));                  \
    }                                                                                              \
    T __tsan_atomic##bits##_fetch_add(volatile T *p, T v, int order) {                             \
        return static_cast<T>(access(OL_CALL, p, sizeof(T), Op::add, order, v));                   \
    }                                                                                              \
    T __tsan_atomic##bits##_fetch_sub(volatile T *p, T v, int order) {                             \
        return static_cast<T>(access(OL_CALL, p, sizeof(T), Op::add, order, uint64_t(0) - v));     \
    }                                                                                              \
    T __tsan_atomic##bits##_fetch_or(volatile T *p, T v, int order) {                              \
        return static_cast<T>(access(OL_CALL, p, sizeof(T), Op::bit_or, order, v));                \
    }                                                                                              \
    T __tsan_atomic##bits##_fetch_and(volatile T *p, T v, int order) {                             \
        return static_cast<T>(access(OL_CALL, p, sizeof(T), Op::bit_and, order, v));               \
    }                                                                                              \
    T __tsan_atomic##bits##_fetch_xor(volatile T *p, T v, int order) {                             \
        return static_cast<T>(                                                                     \
            change(OL_CALL, p, sizeof(T), order, [v](uint64_t old) { return old ^ v; }));          \
    }                                                                                              \
    T __tsan_atomic##bits##_fetch_nand(volatile T *p, T v, int order) {                            \
        return static_cast<T>(                                                                     \
            change(OL_CALL, p, sizeof(T), order, [v](uint64_t old) { return ~(old & v); }));       \
    }                                                                                              \
    bool __tsan_atomic##bits##_compare_exchange_strong(volatile T *p, T *expected, T v, int order, \
                                                       int failing) {                              \
        return exchange_if(OL_CALL, p, expected, v, order, failing);                               \
    }                                                                                              \
    bool __tsan_atomic##bits##_compare_exchange_weak(volatile T *p, T *expected, T v, int order,   \
                                                     int failing) {                                \
        return exchange_if(OL_CALL, p, expected, v, order, failing);                               \
    }                                                                                              \
    T __tsan_atomic##bits##_compare_exchange_val(volatile T *p, T expected, T v, int order,        \
                                                 int failing) {                                    \
        return static_cast<T>(                                                                     \
            access(OL_CALL, p, sizeof(T), Op::cas, order, v, expected, failing));                  \
    }
OL_ATOMIC(8, uint8_t)
OL_ATOMIC(16, uint16_t)
OL_ATOMIC(32, uint32_t)
OL_ATOMIC(64, uint64_t)

void __tsan_atomic_thread_fence(int) {
    Call call = OL_CALL;
    call.world.fence(call.place);
}
void __tsan_atomic_signal_fence(int) {}

unsigned ol_checked_self() {
    return here.world->is_inside() ? static_cast<unsigned>(here.world->running() + 1) : 0;
}

void ol_checked_spin() {
    Call call = OL_CALL;
    if (call.world.is_inside())
        here.looks[call.world.running()].forget();
    call.world.relax(call.world.after(1, 100, call.place), call.place);
}

void ol_checked_spin_endlessly() {
    Call call = OL_CALL;
    if (call.world.is_inside())
        here.looks[call.world.running()].forget();
    call.world.relax(ol::engine::never, call.place);
}

int ol_checked_futex_wait(const volatile void *word, unsigned value, unsigned bits, bool timed) {
    return sleep_on(OL_CALL, word, value, bits, timed);
}

int ol_checked_futex_wake(const volatile void *word, int wakes, unsigned bits) {
    return wake_on(OL_CALL, word, wakes, bits);
}

int ol_checked_futex_requeue(const volatile void *from, int wakes, const volatile void *to,
                             int moves, const unsigned *value) {
    return requeue(OL_CALL, from, wakes, to, moves, value);
}

long ol_checked_syscall(long number, ...) {
    Call call = OL_CALL;
    long answer = 0;
    va_list args;

    va_start(args, number);
    switch (number) {
    case SYS_futex:
        answer = futex(call, args);
        break;
    case SYS_gettid:
        answer = ol_checked_self();
        break;
    case SYS_sched_yield:
        call.world.yield(0, call.place);
        break;
    default:
        call.world.fail(Wrong::misuse, "the checker has no system call " + std::to_string(number));
    }
    va_end(args);
    return answer;
}

void ol_checked_fail(const char *why) {
    Call call = OL_CALL;
    call.world.fail(Wrong::misuse, call.world.text(call.place) + ": " + why);
}

void ol_checked_assert_fail(const char *expression, const char *file, unsigned line, const char *) {
    here.world->close();
    here.world->fail(Wrong::misuse,
                     std::string(strrchr(file, '/') ? strrchr(file, '/') + 1 : file) + ":" +
                         std::to_string(line) + " asserts " + expression);
}

} // extern "C"
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)
