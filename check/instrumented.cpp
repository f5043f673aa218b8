// SPDX-License-Identifier: MIT
#include "instrumented.h"

#include "call.h"
#include "coverage.h"
#include "format.h"
#include "places.h"
#include "turns.h"

#include <algorithm>
#include <csignal>
#include <cstring>
#include <ctime>
#include <dlfcn.h>
#include <exception>
#include <link.h>
#include <stdexcept>
#include <sys/mman.h>
#include <unistd.h>

namespace ol::check {

namespace {

constexpr uintptr_t page = 4096;
constexpr size_t stack_bytes = 16 * page, most_stacks = 61;
constexpr size_t outside = most_stacks - 1; // for calls from outside the contexts; it has no stack
constexpr uintptr_t stacks = Memory::base + Memory::usual_size;
constexpr uintptr_t variables = stacks + most_stacks * (stack_bytes + page);

constexpr size_t cells_of_stack = stack_bytes / 8;

struct Range {
    uintptr_t begin = 0, end = 0;
    bool has(const volatile void *p) const {
        auto at = reinterpret_cast<uintptr_t>(p);
        return at >= begin && at < end;
    }
};

uint8_t *bytes(uintptr_t at) {
    return reinterpret_cast<uint8_t *>(at); // NOLINT(performance-no-int-to-ptr)
}

uint8_t *lowest_of_stack(size_t context) {
    return bytes(stacks + context * (stack_bytes + page) + page);
}

uint8_t *top_of_stack(size_t context) {
    return lowest_of_stack(context) + stack_bytes;
}

// The one shared object that is loaded, as its calls find it.
struct Here {
    World *world = nullptr;
    Range own;                          // the pages of its variables, where it sees them
    Range variables;                    // these alone
    ptrdiff_t moved = 0;                // from there to the world's memory
    std::vector<uint8_t> thread_local_; // its thread-local variables, as they are at first
    std::unique_ptr<Places> places;
    const void *code = nullptr; // where it is loaded
    std::array<Turns, most_stacks> turns;
    std::vector<bool> shared = std::vector<bool>(most_stacks * cells_of_stack); // see share()
    uint64_t unseen = 0; // stores to memory that is not the world's
    uint64_t calls = 0;  // by which the code says what it does, but for its own stack
} here;

size_t stack_with(const void *at) {
    return (reinterpret_cast<uintptr_t>(at) - stacks) / (stack_bytes + page);
}

bool is_on_stack(const void *at) {
    return reinterpret_cast<uintptr_t>(at) >= stacks && stack_with(at) < most_stacks;
}

// A context's own are above its stack, and like that: its own until another uses them.
uint8_t *thread_locals(size_t context) {
    return top_of_stack(context) - here.thread_local_.size();
}

bool is_thread_local(const uint8_t *at) {
    return is_on_stack(at) && at >= thread_locals(stack_with(at));
}

// All memory that is not a context's stack: what code changes there need not be announced.
void each_part(const std::function<void(std::span<uint8_t>)> &look) {
    engine::Memory &memory = here.world->memory();

    look(memory.used());
    for (size_t lane = 0; lane < engine::Memory::lanes; lane++)
        look(memory.used_of_lane(lane));
    constexpr uintptr_t word = sizeof(uint64_t);
    uint8_t *first = bytes(here.variables.begin & ~(word - 1));
    look({first, bytes((here.variables.end + word - 1) & ~(word - 1))});
    look({thread_locals(here.world->running()), here.thread_local_.size()});
}

// Of eight bytes of a stack: whether others may use them too.
std::vector<bool>::reference shared_cell(const uint8_t *at) {
    size_t context = stack_with(at), offset = static_cast<size_t>(at - lowest_of_stack(context));
    return here.shared[context * cells_of_stack + offset / 8];
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

// What a shared object can change, and how its thread-local variables begin.
struct Segments {
    Range writable;
    std::vector<uint8_t> thread_local_;

    void add(uintptr_t address, const ElfW(Phdr) & p) {
        const uint8_t *at = bytes(address + p.p_vaddr);
        if (p.p_type == PT_LOAD && p.p_flags & PF_W)
            writable = {address + p.p_vaddr, address + p.p_vaddr + p.p_memsz};
        if (p.p_type != PT_TLS)
            return;
        size_t unit = std::max<size_t>(p.p_align, sizeof(uint64_t));
        thread_local_.assign(at, at + p.p_filesz);
        thread_local_.resize((p.p_memsz + unit - 1) / unit * unit);
    }
};

Segments segments_of(void *shared_object) {
    link_map *map = nullptr;
    Segments found;

    dlinfo(shared_object, RTLD_DI_LINKMAP, &map);
    auto look = [](dl_phdr_info *info, size_t, void *arg) {
        auto &[address, segments] = *static_cast<std::pair<uintptr_t, Segments *> *>(arg);
        if (info->dlpi_addr != address)
            return 0;
        for (size_t i = 0; i < info->dlpi_phnum; i++)
            segments->add(address, info->dlpi_phdr[i]);
        return 1;
    };
    std::pair<uintptr_t, Segments *> asked{map->l_addr, &found};
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
    here.code = bytes(map->l_addr);
    Segments segments = segments_of(shared_object);
    if (segments.thread_local_.size() > stack_bytes / 2)
        throw std::invalid_argument("the file's thread-local variables take " +
                                    std::to_string(segments.thread_local_.size()) +
                                    " bytes; the checker has " + std::to_string(stack_bytes / 2) +
                                    " for each context");
    here.thread_local_ = segments.thread_local_;
    here.variables = segments.writable;
    here.own = {segments.writable.begin & ~(page - 1),
                (segments.writable.end + page - 1) & ~(page - 1)};
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
    if (table_->fifo)
        declare_fifo();
    if (table_->trylock)
        ops.trylock = [](void *l) { return call(the_lock->trylock, l); };
}

Foreign::~Foreign() = default;

void Foreign::declare_fifo() {
    parts_->ops.traits |= OL_FIFO;
}

const SharedOps *Foreign::shared() const {
    static constexpr SharedOps side = {[](void *l) { call(the_lock->read_lock, l); },
                                       [](void *l) { call(the_lock->read_unlock, l); }};
    return table_->read_lock ? &side : nullptr;
}

const ol_lock_ops &Foreign::ops() const {
    return parts_->ops;
}

namespace {

// An exception that nothing catches, or that leaves a function that is noexcept.
[[noreturn]] void terminated() {
    std::string what = "std::terminate() was called";

    try {
        if (std::current_exception())
            std::rethrow_exception(std::current_exception());
    } catch (const BeyondModel &e) { // ours; the code that it has passed through is the lock's
        here.world->leave_open(e.what());
    } catch (const std::exception &e) {
        what = std::string("an exception is not caught: ") + e.what();
    } catch (...) {
        what = "an exception is not caught";
    }
    here.world->close();
    here.world->fail(Wrong::aborts, what);
}

} // namespace

namespace {

std::string running_context() {
    return "T" + std::to_string(here.world->running() + 1);
}

std::string place_of(uintptr_t pc) {
    return here.world->text(here.places->of(bytes(pc + 1)));
}

double seconds_used() {
    timespec t{};

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) / 1e9;
}

// Called now and then amid the code. A loop without a call of the checker's has no end that others
// could bring about.
void find_silent_loop(uintptr_t pc) {
    constexpr double long_enough = 1; // second of CPU time: any other way takes far less
    static std::pair<uint64_t, size_t> heard;
    static double since;
    std::pair now = {here.calls, here.world->step()}; // code for the platform layer makes no calls

    if (!here.world->is_inside())
        return;
    if (std::exchange(heard, now) != now)
        since = seconds_used();
    else if (seconds_used() - since > long_enough)
        here.world->leave_open(running_context() + " loops at " + place_of(pc) +
                                   " without an access that the checker sees",
                               true);
}

struct Fault {
    uintptr_t address, pc;
    bool is_below_stack, is_in_code;
} fault;

// On a stack of its own, in place of the code that cannot go on.
[[noreturn]] void tell_fault() {
    World &world = *here.world;
    std::string place = fault.is_in_code ? place_of(fault.pc) : world.text(world.place());

    if (fault.is_below_stack)
        world.leave_open(running_context() + ": stack of " + std::to_string(stack_bytes / 1024) +
                             " KiB exhausted at " + place,
                         true);
    world.fail(Wrong::wild, place + " touches " + hex(fault.address));
}

void on_fault(int signal, siginfo_t *info, void *context) {
    alignas(16) static std::array<uint8_t, 256 * 1024> stack;
    auto &registers = static_cast<ucontext_t *>(context)->uc_mcontext;
    auto top = reinterpret_cast<uintptr_t>(stack.data() + stack.size());

#if defined(__x86_64__)
    auto &pc = registers.gregs[REG_RIP], &sp = registers.gregs[REG_RSP];
    constexpr uintptr_t return_address = 8;
#elif defined(__aarch64__)
    auto &pc = registers.pc, &sp = registers.sp;
    constexpr uintptr_t return_address = 0;
#endif
    auto *at = static_cast<uint8_t *>(info->si_addr);
    Dl_info found{};
    fault = {reinterpret_cast<uintptr_t>(at), static_cast<uintptr_t>(pc),
             is_on_stack(at) && at < lowest_of_stack(stack_with(at)),
             dladdr(bytes(static_cast<uintptr_t>(pc)), &found) && found.dli_fbase == here.code};
    if (!here.world->is_inside() || !(fault.is_below_stack || fault.is_in_code)) {
        ::signal(signal, SIG_DFL); // the checker's own, and again
        return;
    }
    pc =
        static_cast<std::remove_reference_t<decltype(pc)>>(reinterpret_cast<uintptr_t>(tell_fault));
    sp = static_cast<std::remove_reference_t<decltype(sp)>>(top - return_address);
}

// The context's stack may be what is missing.
void catch_faults() {
    static std::array<uint8_t, 64 * 1024> stack;
    stack_t other{stack.data(), 0, stack.size()};
    struct sigaction action{};

    sigaltstack(&other, nullptr);
    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    for (int signal : {SIGSEGV, SIGBUS})
        sigaction(signal, &action, nullptr);
}

} // namespace

void Foreign::join(World &world) {
    here.world = &world;
    std::set_terminate(terminated);
    mapped(stacks, most_stacks * (stack_bytes + page), -1);
    for (size_t i = 0; i < most_stacks; i++) {
        mprotect(lowest_of_stack(i) - page, page, PROT_NONE);
        size_t above = here.thread_local_.size();
        if (above)
            world.memory().adopt("thread-local variables", thread_locals(i), above);
        if (i != outside)
            world.memory().adopt("stack", lowest_of_stack(i), stack_bytes - above, true);
    }
    for (Turns &turns : here.turns)
        turns.may_change_unseen(each_part);
    watch_code(find_silent_loop);
    catch_faults();
    if (here.own.end)
        world.memory().adopt("variables", bytes(variables), here.own.end - here.own.begin);
}

namespace {

void renew_thread_locals(size_t context) {
    std::copy(here.thread_local_.begin(), here.thread_local_.end(), thread_locals(context));
}

} // namespace

Program Foreign::prepared(Program program) const {
    auto set_up = program.set_up;
    size_t contexts = program.contexts;

    program.set_up = [this, set_up, contexts](Memory &memory) {
        if (here.own.end)
            std::memcpy(bytes(variables), parts_->first.data(), parts_->first.size());
        for (size_t i = 0; i < contexts; i++)
            renew_thread_locals(i);
        renew_thread_locals(outside);
        begin_system_calls();
        for (Turns &turns : here.turns)
            turns.begin();
        here.unseen = 0;
        set_up(memory);
    };
    program.shows_accesses = true;
    program.stack = [](size_t me) {
        return std::span(lowest_of_stack(me), stack_bytes - here.thread_local_.size());
    };
    return program;
}

// The code has done more than look.
void end_turns() {
    if (here.world->is_inside())
        here.turns[here.world->running()].end(*here.world);
}

namespace {

void close_stores() {
    if (here.world->close())
        end_turns();
}

// It returned: nothing of its own is left on the stack.
void leave() {
    close_stores();
    end_turns();
    if (!here.world->is_inside())
        return;
    here.turns[here.world->running()].leave();
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

Call::Call(const void *pc, const void *frame)
    : world(*here.world),
      pc(pc),
      frame(static_cast<const uint64_t *>(frame)),
      place(here.places->of(pc)) {
    here.calls++;
    close_stores();
    if (world.is_inside())
        world.uses_stack_from(static_cast<const uint8_t *>(frame));
}

bool is_under_way() {
    return here.world;
}

namespace {

#ifdef OL_REGISTERS_ARE_THE_CALLERS
// This file is compiled to leave alone the registers that outlive a call: they are the caller's.
#if defined(__x86_64__)
#define OL_EACH_REGISTER OL_R(rbx) OL_R(r12) OL_R(r13) OL_R(r14) OL_R(r15)
#define OL_R(name)                                                                                 \
    asm volatile("mov %%" #name ", %0" : "=r"(value));                                             \
    h.add_word(value);
#elif defined(__aarch64__)
#define OL_EACH_REGISTER                                                                           \
    OL_R(x19)                                                                                      \
    OL_R(x20) OL_R(x21) OL_R(x22) OL_R(x23) OL_R(x24) OL_R(x25) OL_R(x26) OL_R(x27) OL_R(x28)
#define OL_R(name)                                                                                 \
    asm volatile("mov %0, " #name : "=r"(value));                                                  \
    h.add_word(value);
#endif
#endif

// All that the code's next instructions depend on, hashed: its registers, of which a call leaves
// some as they are, and its stack. Where the registers are not known no state is like another.
uint64_t state_of(const Call &call) {
    Hash h;
#ifdef OL_EACH_REGISTER
    uint64_t value;
    OL_EACH_REGISTER
#else
    static uint64_t unknown;
    h.add_word(++unknown);
#endif
    h.add_word(here.unseen);
    const uint8_t *top = top_of_stack(call.world.running());
    for (const uint64_t *at = call.frame; reinterpret_cast<const uint8_t *>(at) < top; at++)
        h.add_word(*at);
    return h.value();
}
// Constructors of a file run before there is a world: what they do is how its variables begin.
#define OL_ANNOUNCE(...) (here.world ? announce(OL_CALL, __VA_ARGS__) : void())

void interrupt_turns(const Call &call) {
    if (call.world.is_inside())
        here.turns[call.world.running()].interrupt(call.world);
}

} // namespace

void hint(const Call &call) {
    if (call.world.is_inside())
        here.turns[call.world.running()].hint(call.world, call.pc, call.place);
}

// Where the world has it; null if it belongs to no other.
uint8_t *tracked(const Call &call, const volatile void *p) {
    auto *at = reinterpret_cast<uint8_t *>(const_cast<void *>(p));

    if (here.own.has(p))
        return at + here.moved;
    if (reinterpret_cast<uintptr_t>(p) < page)
        call.world.fail(Wrong::wild, call.world.text(call.place) + " follows a null pointer");
    size_t context = stack_with(at);
    bool on_stack = is_on_stack(at);
    if (on_stack && call.world.is_inside() && context != call.world.running() &&
        context < call.world.contexts()) {
        const uint8_t *used = call.world.stack_of(context);
        if (!is_thread_local(at) && (!used || at < used))
            call.world.fail(Wrong::after_free,
                            call.world.text(call.place) + " touches a variable of T" +
                                std::to_string(context + 1) + " whose function has returned");
    }
    return on_stack || call.world.memory().find(at) ? at : nullptr;
}

namespace {

// Under TSO a store to the context's own stack skips the buffer: the code stores there without
// saying so too, and would find what leaves the buffer later.
bool is_at_once(const Call &call, const void *at) {
    return call.world.is_inside() && stack_with(at) == call.world.running();
}

Access plain(const Call &call, uint8_t *at, size_t width, Op op) {
    return {at,         0,     static_cast<uint8_t>(width), op, Order::relaxed, 0, 0,
            call.place, false, is_at_once(call, at)};
}

bool is_piece(const uint8_t *at, size_t size) {
    return size <= 8 && !(size & (size - 1)) && reinterpret_cast<uintptr_t>(at) % size == 0;
}

// One that was made already need not be made again. The code makes it itself, and finds what is in
// memory.
void load_again(const Call &call, uint8_t *at, size_t size) {
    Turns &turns = here.turns[call.world.running()];
    uint64_t state = state_of(call);
    const Access a = plain(call, at, size, Op::load);

    if (Memory::read(at, a.width) == call.world.finds_again(a) &&
        turns.again(call.world, call.pc, a, state))
        return;
    interrupt_turns(call);
    turns.made(call.pc, a, call.world.show(std::span(&a, 1)), state);
}

// A variable on the context's own stack is its own, as are its registers, until another context
// uses it, or an atomic does.
bool is_private(const Call &call, const uint8_t *at, size_t size) {
    if (!is_on_stack(at) || !is_at_once(call, at))
        return false;
    for (size_t i = 0; i < size; i += 8)
        if (shared_cell(at + i))
            return false;
    return !shared_cell(at + size - 1);
}

void share(const Call &call, const uint8_t *at, size_t size) {
    bool is_new = false;

    if (!call.world.is_inside() || !is_on_stack(at))
        return;
    for (size_t i = 0; i < size; i++) {
        is_new |= !shared_cell(at + i);
        shared_cell(at + i) = true;
    }
    if (is_new)
        call.world.begin_anew();
}

// In pieces of one cell each.
std::vector<Access> pieces(const Call &call, uint8_t *at, size_t size, Op op) {
    std::vector<Access> all;

    while (size) {
        size_t lane = reinterpret_cast<uintptr_t>(at) % 8, width = 8;
        while (lane % width || width > size)
            width /= 2;
        all.push_back(plain(call, at, width, op));
        at += width;
        size -= width;
    }
    return all;
}

} // namespace

void announce(const Call &call, void *p, size_t size, Op op) {
    uint8_t *at = tracked(call, p);

    if (!at && op != Op::load) {
        interrupt_turns(call);
        here.unseen++;
    }
    if (!at || !size)
        return;
    if (is_private(call, at, size)) {
        here.calls--;
        return;
    }
    share(call, at, size);
    if (op == Op::load && call.world.is_inside() && is_piece(at, size))
        return load_again(call, at, size);
    interrupt_turns(call);
    std::vector<Access> parts = pieces(call, at, size, op);
    op == Op::load ? (void)call.world.show(parts) : call.world.begin_stores(parts);
}

namespace {

constexpr Order orders[] = {Order::relaxed, Order::acquire, Order::acquire,
                            Order::release, Order::acq_rel, Order::acq_rel};

// C11's sequentially consistent accesses are a fence before them; x86's, one after stores.
uint64_t access(const Call &call, const volatile void *p, uint8_t width, Op op, int order,
                uint64_t value, uint64_t expected = 0, int failing = __ATOMIC_RELAXED) {
    constexpr int sequential = __ATOMIC_SEQ_CST, all = 7;
    bool fences = (order & all) == sequential;
    uint8_t *at = tracked(call, p);
    share(call, at, width);

    bool callers = !at && !call.world.is_inside(); // on the stack of whoever looks from outside
    if (callers)
        at = static_cast<uint8_t *>(const_cast<void *>(p));
    if (!at)
        call.world.fail(Wrong::wild, call.world.text(call.place) + " touches " +
                                         call.world.memory().describe(const_cast<void *>(p)));
    uint64_t mask = width == 8 ? ~uint64_t(0) : (uint64_t(1) << 8 * width) - 1;
    Access a{at,
             0,
             width,
             op,
             orders[order & all],
             value & mask,
             expected & mask,
             call.place,
             callers,
             is_at_once(call, at),
             (failing & all) != __ATOMIC_RELAXED};
    Turns *turns = call.world.is_inside() ? &here.turns[call.world.running()] : nullptr;
    uint64_t state = turns ? state_of(call) : 0;
    if (turns)
        if (std::optional<uint64_t> known = turns->again(call.world, call.pc, a, state))
            return *known;
    if (fences && call.world.model() == Model::c11)
        call.world.fence(call.place);
    uint64_t old = call.world.access(a);
    if (fences && op == Op::store && call.world.model() == Model::tso)
        call.world.fence(call.place);
    if (turns)
        turns->made(call.pc, a, old, state);
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
    bool own = at && is_at_once(call, at), hidden = at && is_private(call, at, sizeof(T));
    if (!hidden)
        interrupt_turns(call);
    T wanted = at && !own ? here_is(Op::load, 0) : *expected;
    auto old = static_cast<T>(access(call, p, sizeof(T), Op::cas, order, v, wanted, failing));

    if (old == wanted)
        return true;
    if (!hidden)
        interrupt_turns(call);
    if (at && !hidden)
        here_is(Op::store, old);
    else
        *expected = old;
    return false;
}

} // namespace

uint8_t *thread_local_at(size_t offset) {
    return thread_locals(here.world->is_inside() ? here.world->running() : outside) + offset;
}

// Waking touches no memory: it may be gone.
uint32_t *sleepers_word(const volatile void *word) {
    auto *at = static_cast<uint8_t *>(const_cast<void *>(word));
    return reinterpret_cast<uint32_t *>(here.own.has(word) ? at + here.moved : at);
}

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
        close_stores();
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
        void *found = __builtin_alloca(size); /* own nothing: Turns::again() */                    \
        std::memcpy(found, from, size);                                                            \
        OL_ANNOUNCE(to, size, Op::store);                                                          \
        return std::memcpy(to, found, size);                                                       \
    }
OL_COPY(__tsan_memcpy)
OL_COPY(__tsan_memmove)
// The libraries', as library_calls.def names them.
OL_COPY(__wrap_memcpy)
OL_COPY(__wrap_memmove)
void *__wrap_memset(void *to, int byte, size_t size) {
    OL_ANNOUNCE(to, size, Op::store);
    return std::memset(to, byte, size);
}
// Nothing that owns memory is alive where it looks: see Turns::again().
int __wrap_memcmp(const void *a, const void *b, size_t size) {
    OL_ANNOUNCE(const_cast<void *>(a), size, Op::load);
    void *first = std::memcpy(alloca(size), a, size);
    OL_ANNOUNCE(const_cast<void *>(b), size, Op::load);
    return std::memcmp(first, b, size);
}

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
    interrupt_turns(call);
    call.world.fence(call.place);
}
void __tsan_atomic_signal_fence(int) {}

unsigned ol_checked_self() {
    return here.world->is_inside() ? static_cast<unsigned>(here.world->running() + 1) : 0;
}

void ol_checked_spin() {
    hint(OL_CALL);
}

void ol_checked_spin_endlessly() {
    Call call = OL_CALL;
    end_turns();
    call.world.relax(ol::engine::never, call.place);
}

void ol_checked_fail(const char *why) {
    Call call = OL_CALL;
    call.world.fail(Wrong::misuse, call.world.text(call.place) + ": " + why);
}

void ol_checked_assert_fail(const char *expression, const char *file, unsigned line, const char *) {
    close_stores();
    here.world->fail(Wrong::aborts, std::string("assertion ") + expression + " failed at " +
                                        base_name(file) + ":" + std::to_string(line));
}

} // extern "C"
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)
