// SPDX-License-Identifier: MIT
#include "native.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <csetjmp>
#include <csignal>
#include <cstring>
#include <mutex>
#include <new>
#include <sys/mman.h>
#include <thread>
#include <utility>

namespace ol::check {

using engine::Access;
using engine::Op;
using engine::Place;
using engine::Ticks;

namespace {

constexpr auto patience = std::chrono::seconds(2); // for a thread that is free to go on
constexpr size_t room = 1 << 16;                   // of a lock, in bytes

// What the client does, as its steps begin.
struct OwnStep {
    const char *what;
    Place place;
    bool certain; // the thread does come by
};
constexpr OwnStep reads = {"reads ", {"client.cpp", 1}, true};
constexpr OwnStep writes = {"writes ", {"client.cpp", 2}, true};
constexpr OwnStep frees = {"frees ", {"client.cpp", 3}, false};

const char *base_name(const char *file) {
    const char *slash = file ? strrchr(file, '/') : nullptr;

    return slash ? slash + 1 : file ? file : "";
}

std::string text_of(Place place) {
    return std::string(base_name(place.file)) + ":" + std::to_string(place.line);
}

std::string name_of_thread(size_t me) {
    return "T" + std::to_string(me + 1);
}

struct Step {
    size_t context;
    Place place;
    bool access; // else the thread may or may not come by here
    bool done = false;
};

bool is_by(Place a, Place b) {
    return a.line == b.line && strcmp(base_name(a.file), base_name(b.file)) == 0;
}

bool is_by_client(Place place) {
    return strcmp(base_name(place.file), reads.place.file) == 0;
}

// The threads take their turns as the execution has them. Once it is over, they are free.
class Gate {
    static constexpr size_t none = SIZE_MAX;

public:
    Gate(const ExecutionTrace &trace, size_t contexts) : last_(contexts), in_turn_(contexts, none) {
        for (const TraceEvent &t : trace) {
            char *end;
            size_t n = strtoul(t.context.c_str(), &end, 10);
            if (!*end && n >= 1 && n <= contexts && !t.is_mark && t.place.file)
                steps_.push_back(step(n - 1, t));
        }
        free_ = steps_.empty();
    }

    // Ends this thread's turn, and waits for the next one, to do that. A turn lasts from one call
    // to the next, as in the checker, so that nothing else happens meanwhile.
    void enter(size_t me, Place place, bool access) {
        std::unique_lock hold(mutex_);

        last_[me] = place;
        end_turn(me);
        size_t i = find(me, place, access);
        if (i == none && (has_more(me) || !access)) // it is in no order
            return;
        moved_.wait(hold, [&] { return free_ || (i != none && next_ == i); });
        in_turn_[me] = free_ ? none : i;
    }

    // Sleeps until it is kicked, or the execution has it go on anyhow.
    void sleep(size_t me, const bool &kicked, bool for_ever) {
        std::unique_lock hold(mutex_);

        end_turn(me);
        moved_.wait(hold, [&] { return kicked || (free_ && !for_ever) || is_next(me); });
    }

    template <class F> void change(F what) {
        std::unique_lock hold(mutex_);
        what();
        moved_.notify_all();
    }

    // What it did not do, it will not do.
    void end(size_t me) {
        std::unique_lock hold(mutex_);

        end_turn(me);
        for (size_t i = 0; i < steps_.size() && !free_; i++)
            if (steps_[i].context == me && !steps_[i].done) {
                if (steps_[i].access)
                    leave_it(name_of_thread(me) + " ended, and did not come to " +
                             text_of(steps_[i].place));
                else
                    done(i);
            }
        ended_++;
        moved_.notify_all();
    }

    void fail(const std::string &property, const std::string &how) {
        std::unique_lock hold(mutex_);
        if (run_.property.empty())
            run_.property = property, run_.how = how;
        free_ = true;
        moved_.notify_all();
    }

    // Until all have ended, something is wrong, or nothing moves any more.
    NativeRun wait() {
        std::unique_lock hold(mutex_);
        auto over = [&] { return ended_ == last_.size() || !run_.property.empty(); };

        while (!over() && !free_) {
            size_t before = next_;
            if (!moved_.wait_for(hold, patience,
                                 [&] { return over() || free_ || next_ != before; }))
                leave_it("no thread came to step " + std::to_string(before + 1) + ", " +
                         name_of_thread(steps_[before].context) + " at " +
                         text_of(steps_[before].place));
        }
        if (!moved_.wait_for(hold, patience, over))
            stuck();
        run_.followed = std::count_if(steps_.begin(), steps_.end(), [](auto &s) { return s.done; });
        run_.of = steps_.size();
        return run_;
    }

private:
    static Step step(size_t me, const TraceEvent &t) {
        for (const OwnStep &own : {reads, writes, frees})
            if (t.what.rfind(own.what, 0) == 0 && is_by_client(t.place))
                return {me, own.place, own.certain};
        return {me, t.place, !t.op.empty()};
    }

    bool is_next(size_t me) const {
        return !free_ && next_ < steps_.size() && steps_[next_].context == me;
    }

    bool has_more(size_t me) const {
        return !free_ && std::any_of(steps_.begin(), steps_.end(),
                                     [me](auto &s) { return s.context == me && !s.done; });
    }

    void end_turn(size_t me) {
        if (size_t i = std::exchange(in_turn_[me], none); i != none)
            done(i);
    }

    void done(size_t i) {
        steps_[i].done = true;
        while (next_ < steps_.size() && steps_[next_].done)
            next_++;
        free_ |= next_ == steps_.size();
        moved_.notify_all();
    }

    void leave_it(const std::string &why) {
        if (run_.left.empty())
            run_.left = why;
        free_ = true;
        moved_.notify_all();
    }

    // An access must be its next one; of what else the checker shows, the thread may not come by.
    size_t find(size_t me, Place place, bool access) {
        for (size_t i = 0; i < steps_.size(); i++) {
            Step &s = steps_[i];

            if (s.context != me || s.done)
                continue;
            if (is_by(s.place, place) && s.access == access)
                return i;
            if (s.access && access)
                leave_it(name_of_thread(me) + " came to " + text_of(place) + " instead of " +
                         text_of(s.place));
            if (s.access)
                return none;
            if (access)
                done(i);
        }
        return none;
    }

    void stuck() {
        run_.property = "stuck";
        for (size_t me = 0; me < last_.size(); me++)
            run_.how +=
                (me ? "; " : "") + name_of_thread(me) + " was last at " + text_of(last_[me]);
    }

    std::mutex mutex_;
    std::condition_variable moved_;
    std::vector<Step> steps_;
    std::vector<Place> last_;
    std::vector<size_t> in_turn_; // the step that each is at
    size_t next_ = 0, ended_ = 0;
    bool free_ = false;
    NativeRun run_;
};

// Real operations.

template <class T> uint64_t operate(T *p, const Access &a) {
    T value = static_cast<T>(a.value), expected = static_cast<T>(a.expected);

    switch (a.op) {
    case Op::load:
        return __atomic_load_n(p, __ATOMIC_SEQ_CST);
    case Op::store:
        return __atomic_exchange_n(p, value, __ATOMIC_SEQ_CST);
    case Op::xchg:
        return __atomic_exchange_n(p, value, __ATOMIC_SEQ_CST);
    case Op::cas:
        __atomic_compare_exchange_n(p, &expected, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
        return expected;
    case Op::add:
        return __atomic_fetch_add(p, value, __ATOMIC_SEQ_CST);
    case Op::bit_or:
        return __atomic_fetch_or(p, value, __ATOMIC_SEQ_CST);
    case Op::bit_and:
        return __atomic_fetch_and(p, value, __ATOMIC_SEQ_CST);
    case Op::bit_xor:
        return __atomic_fetch_xor(p, value, __ATOMIC_SEQ_CST);
    }
    return 0;
}

uint64_t operate(const Access &a) {
    uint8_t *p = a.address();

    switch (a.width) {
    case 1:
        return operate(p, a);
    case 2:
        return operate(reinterpret_cast<uint16_t *>(p), a);
    case 4:
        return operate(reinterpret_cast<uint32_t *>(p), a);
    default:
        return operate(reinterpret_cast<uint64_t *>(p), a);
    }
}

thread_local size_t me_here;
thread_local sigjmp_buf out_of_here;
thread_local volatile bool may_jump;
thread_local Place place_here;

void left_memory(int) {
    if (may_jump)
        siglongjmp(out_of_here, 1);
    signal(SIGSEGV, SIG_DFL);
}

// The platform layer of real threads. Time, slices and transactions have no place in the order.
class NativeWorld : public engine::World {
public:
    NativeWorld(Gate &gate, size_t contexts, const ol_tuning &tuning)
        : gate_(gate),
          tuning_(tuning),
          nodes_(contexts * nodes_each),
          used_(contexts),
          slots_(slots),
          parked_(contexts),
          competes_(contexts) {}

    uint64_t access(const Access &a) override {
        place_here = a.place;
        gate_.enter(me_here, a.place, true);
        return operate(a);
    }
    void fence(Place place) override {
        pass(place);
        __atomic_thread_fence(__ATOMIC_SEQ_CST);
    }

    void relax(Ticks, Place place) override {
        pass(place);
        std::this_thread::yield();
    }
    void yield(uint32_t, Place place) override { relax(0, place); }
    void yield_until(Ticks t, Place place) override { relax(t, place); }

    void park(const uint32_t *word, uint32_t seen, uint32_t key, Ticks until,
              Place place) override {
        Parked &mine = parked_[me_here];
        bool sleeps;

        gate_.enter(me_here, place, false);
        gate_.change([&] {
            sleeps = __atomic_load_n(word, __ATOMIC_SEQ_CST) == seen;
            if (sleeps)
                mine = {word, key, false};
        });
        if (sleeps)
            gate_.sleep(me_here, mine.kicked, until == engine::never);
        gate_.change([&] { mine = {}; });
    }
    void kick(const uint32_t *word, uint32_t key, int n, Place place) override {
        gate_.enter(me_here, place, false);
        gate_.change([&] {
            for (Parked &p : parked_)
                if (n > 0 && p.word == word && !p.kicked && (p.key & key))
                    p.kicked = true, n--;
        });
    }

    uint32_t **competes() override { return &competes_[me_here]; }

    Ticks now(Place) override {
        auto t = std::chrono::steady_clock::now().time_since_epoch();
        return static_cast<Ticks>(std::chrono::nanoseconds(t).count());
    }
    Ticks after(uint64_t n, Ticks d, Place place) override {
        return later(now(place), n, d, place);
    }
    Ticks later(Ticks t, uint64_t n, Ticks d, Place) override {
        Ticks span, sum;
        return d == engine::never || __builtin_mul_overflow(n, d, &span) ||
                       __builtin_add_overflow(t, span, &sum)
                   ? engine::never
                   : sum;
    }
    bool passed(Ticks t, Place place) override { return t != engine::never && now(place) >= t; }
    bool before(Ticks a, Ticks b, Place) override { return a < b; }

    uint32_t self(Place) override { return static_cast<uint32_t>(me_here + 1); }
    ol_node *node_get(Place) override {
        size_t i = used_[me_here]++;
        return i < nodes_each ? &nodes_[me_here * nodes_each + i] : nullptr;
    }
    void node_put(ol_node *, Place) override { used_[me_here]--; }
    uint32_t node_number(const ol_node *node) override {
        return node ? static_cast<uint32_t>(node - nodes_.data()) + 1 : 0;
    }
    ol_node *node_at(uint32_t number, Place) override {
        return number ? &nodes_[number - 1] : nullptr;
    }
    uint64_t *wait_slot(size_t i, Place) override { return &slots_[i % slots]; }
    const ol_tuning &tuning() override { return tuning_; }
    void count(unsigned, Place) override {}

    void defer(bool, Place) override {}
    uint64_t slice_id(Place) override { return 0; }
    Ticks slice_end(Place) override { return engine::never; }
    Ticks slice_min(Place) override { return engine::never; }
    bool is_preempted(uint32_t, Place) override { return false; }
    Ticks quota_end(Place) override { return engine::never; }
    uint32_t cpu(Place) override { return static_cast<uint32_t>(me_here); }

    unsigned htm_begin(Place) override { return 0; }
    void htm_commit(Place) override {}
    void htm_abort(Place) override {}
    bool htm_active(Place) override { return false; }
    bool htm_works(Place) override { return false; }
    void htm_set_owner(const void *, Place) override {}
    const void *htm_owner(Place) override { return nullptr; }

private:
    struct Parked {
        const uint32_t *word = nullptr;
        uint32_t key = 0;
        bool kicked = false;
    };
    static constexpr size_t nodes_each = 8, slots = 4096;

    void pass(Place place) { gate_.enter(me_here, place, false); }

    Gate &gate_;
    const ol_tuning tuning_;
    std::vector<ol_node> nodes_; // of each context, as many as it is deep
    std::vector<size_t> used_;
    std::vector<uint64_t> slots_;
    std::vector<Parked> parked_;
    std::vector<uint32_t *> competes_;
};

// The clients of client.cpp that are needed, with what they check as they go.
class NativeClient {
public:
    NativeClient(Gate &gate, const ol_lock_ops &ops, const Setting &setting, uint32_t first)
        : gate_(gate), ops_(ops), setting_(setting) {
        for (Lock &l : locks_) {
            l.at = mmap(nullptr, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            if (l.at == MAP_FAILED)
                throw std::bad_alloc();
            if (first)
                memcpy(l.at, &first, sizeof first);
        }
    }

    void body(size_t me) {
        const bool often = setting_.scenario != Scenario::order_ || !me;

        for (unsigned i = 0; i < (often ? setting_.acquisitions : 1); i++)
            setting_.scenario == Scenario::chain_ ? hand_over_hand(me) : once(me);
    }

private:
    struct Lock {
        void *at = nullptr;
        std::atomic<size_t> owner = 0; // from 1
        uint64_t datum = 0;            // not atomic: the lock protects it
    };

    void acquire(Lock &l, size_t me) {
        ops_.lock(l.at);
        if (size_t other = l.owner.exchange(me + 1))
            gate_.fail("exclusion", name_of_thread(me) + " entered while " +
                                        name_of_thread(other - 1) + " was inside");
    }
    void use(Lock &l, size_t me) {
        gate_.enter(me, reads.place, reads.certain);
        uint64_t seen = l.datum;
        gate_.enter(me, writes.place, writes.certain);
        l.datum = seen + 1;
    }
    void release(Lock &l) {
        l.owner = 0;
        ops_.unlock(l.at);
    }
    void once(size_t me) {
        Lock &l = locks_[0];

        acquire(l, me);
        use(l, me);
        bool last = l.datum == setting_.contexts * setting_.acquisitions;
        release(l);
        if (last && setting_.scenario == Scenario::frees_)
            free(l, me);
    }
    // Who comes to it later has a fault.
    void free(Lock &l, size_t me);
    void hand_over_hand(size_t me) {
        acquire(locks_[0], me);
        use(locks_[0], me);
        acquire(locks_[1], me);
        release(locks_[0]);
        use(locks_[1], me);
        release(locks_[1]);
    }

    Gate &gate_;
    const ol_lock_ops &ops_;
    const Setting &setting_;
    Lock locks_[2];
};

void NativeClient::free(Lock &l, size_t me) {
    gate_.enter(me, frees.place, frees.certain);
    mprotect(l.at, room, PROT_NONE);
}

} // namespace

bool runs_natively(Scenario scenario) {
    return scenario == Scenario::lock_ || scenario == Scenario::order_ ||
           scenario == Scenario::chain_ || scenario == Scenario::frees_;
}

NativeRun run_natively(const ol_lock_ops &ops, const Setting &setting, const ol_tuning &tuning,
                       uint32_t first_word, const ExecutionTrace &trace) {
    // Threads that are stuck use them for ever.
    auto &gate = *new Gate(trace, setting.contexts);
    auto &world = *new NativeWorld(gate, setting.contexts, tuning);
    auto &client = *new NativeClient(gate, ops, setting, first_word);

    signal(SIGSEGV, left_memory);
    for (size_t i = 0; i < setting.contexts; i++)
        std::thread([&gate, &world, &client, i] {
            me_here = i;
            engine::world_here = &world;
            may_jump = true;
            if (sigsetjmp(out_of_here, 1))
                gate.fail("use after release",
                          name_of_thread(i) + " used the freed lock at " + text_of(place_here));
            else
                client.body(i);
            may_jump = false;
            gate.end(i);
        }).detach();
    return gate.wait();
}

} // namespace ol::check
