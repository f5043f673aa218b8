// SPDX-License-Identifier: MIT
#ifndef OL_ENGINE_MACHINE_H
#define OL_ENGINE_MACHINE_H
// The world under an adversary. One Machine is used for many executions, one after another:
//
//      machine.reset(contexts, schedule, tuning);
//      ... machine.memory().allocate(...) ...
//      machine.spawn([] { ... });                  // one per context
//      machine.run();                              // then machine.failure()
//
// Every platform call is a point at which the schedule may switch. Memory is sequentially
// consistent, but happens-before is kept by vector clocks, so an order too weak is seen all the
// same where it leaves critical sections unordered. What only a weaker memory shows (a missing
// fence) is not.
#include <overlock/port.h> // ol_node and the events

#include "context.h"
#include "memory.h"
#include "report.h"
#include "schedule.h"
#include "tuning.h"

#include <deque>
#include <unordered_map>

namespace ol::engine {

// Every platform call at that line loses acquire, release or both.
struct Weakening {
    std::string file; // the last part of its path
    int line = 0;
    bool drop_acquire = false, drop_release = false;
};

// A line that asked for an order.
struct Site {
    Place place;
    Order order;
};

class Machine final : public World {
public:
    Machine();
    ~Machine();

    void reset(size_t contexts, Schedule &schedule, const ol_tuning &tuning);
    void spawn(std::function<void()> body, Abilities abilities = {});
    bool run(); // until all are done, one failed, or the schedule pauses; true if nothing failed

    const Failure &failure() const { return failure_; }
    Memory &memory() { return memory_; }
    const Context &context(size_t i) const { return *contexts_[i]; }
    const Context *running() const { return self_; }
    uint64_t steps() const { return steps_; }
    Ticks time() const { return time_; }
    std::string who_waits() const;

    // For clients. Plain data are read and written in two steps, so that what is not excluded
    // shows, and their happens-before is checked.
    uint64_t plain_read(const uint64_t *datum, Place place);
    void plain_write(uint64_t *datum, uint64_t v, Place place);
    // What is done in a transaction may never have happened: this is done when it commits, or at
    // once outside of one; and this if it is aborted.
    void once_certain(std::function<void()> act);
    void if_aborted(std::function<void()> undo);
    void free(void *object, Place place);
    void mark(const char *what); // a script can run to here
    void begin_try();            // from here to end_try() this context must not wait
    void end_try();
    [[noreturn]] void fail(Wrong what, const std::string &how);

    // Options; they outlive reset().
    void weaken(std::vector<Weakening> w) { weakenings_ = std::move(w); }
    void collect(std::vector<Site> *sites) { sites_ = sites; }
    void limit_steps(uint64_t n) { step_limit_ = n; } // then it is a livelock
    void check_order(bool on) { check_order_ = on; }  // happens-before; on at first
    void trace_to(Trace *trace) { trace_ = trace; }
    void retune(const ol_tuning &t) { tuning_ = t; }
    void slices(Ticks length) { slice_length_ = length; }         // 0: nobody knows when they end
    void transactions(Transaction::Capacity c) { capacity_ = c; } // {0, 0}: there are none

    // The platform layer.
    uint64_t access(const Access &a) override;
    void fence(Place place) override;
    void relax(Ticks until, Place place) override;
    void yield(uint32_t to, Place place) override;
    void park(const uint32_t *word, uint32_t seen, uint32_t key, Ticks until, Place place) override;
    void kick(const uint32_t *word, uint32_t key, int n, Place place) override;
    Ticks now(Place place) override;
    Ticks after(uint64_t n, Ticks d, Place place) override;
    bool passed(Ticks t, Place place) override;
    bool before(Ticks a, Ticks b, Place place) override;
    uint32_t self(Place place) override;
    ol_node *node_get(Place place) override;
    void node_put(ol_node *node, Place place) override;
    uint32_t node_number(const ol_node *node) override;
    ol_node *node_at(uint32_t number, Place place) override;
    uint64_t *wait_slot(size_t i, Place place) override;
    const ol_tuning &tuning() override { return tuning_; }
    void count(unsigned event, Place place) override;
    void defer(bool begins, Place place) override;
    uint64_t slice_id(Place place) override;
    Ticks slice_end(Place place) override;
    Ticks slice_min(Place place) override;
    void csd_learn(Ticks since, unsigned n, Place place) override;
    Ticks csd(Place place) override;
    bool is_preempted(uint32_t id, Place place) override;
    Ticks quota_end(Place place) override;
    bool cpu_idle(Place place) override;
    unsigned htm_begin(Place place) override;
    void htm_commit(Place place) override;
    void htm_abort(Place place) override;
    bool htm_active(Place place) override;
    bool htm_works(Place place) override;
    void htm_set_owner(const void *p, Place place) override;
    const void *htm_owner(Place place) override;

private:
    static constexpr unsigned try_limit = 64;
    static constexpr size_t enough_told = 8; // contexts in a report

    void point(Place place);
    void sleep(Doing how, Ticks until, Place place);
    void doze(const uint32_t *word, uint32_t seen, uint32_t key, Ticks until, Place place);
    void wake(Context &c);
    void wake_watchers();
    void deliver(Context &c);
    bool expire(); // sleepers whose time has come; true if one woke
    bool unstick();
    void give_turn();
    void stuck();
    void stop();

    // Transactions. What a context had when it began one, and what waits for the commit.
    struct Begun {
        Clock clock, acquirable;
        Snapshots::Number fenced;
        bool must_not_wait;
        unsigned steps_in_try;
        std::vector<unsigned> events;
        std::vector<ol_node *> got, put;
        struct Plain {
            const uint64_t *datum;
            bool writes;
            Place place;
        };
        std::vector<Plain> plain;
        std::vector<std::function<void()>> undo, certain;
    };
    struct Committed { // by the last ones that read or wrote a byte
        Snapshots::Number readers = Snapshots::none, writers = Snapshots::none;
    };
    bool in_transaction() const { return in_transactions_ && self_ && self_->transaction.active(); }
    uint64_t access_inside(const Access &a);
    uint64_t read_inside(const uint8_t *p, size_t width);
    void write_inside(const uint8_t *p, size_t width);
    void plain_inside(const uint64_t *datum, bool writes, Place place);
    void displace(const void *p, size_t width, bool writes);
    void cannot_be_inside(Place place);
    void abort(Context &c, unsigned cause);
    [[noreturn]] void abort_self(unsigned cause);
    void order_commit();
    void pool(ol_node *node);

    void read_plain(const uint64_t *datum);
    void write_plain(const uint64_t *datum);
    Object &object_of(const Access &a);
    Order order_of(const Access &a);
    void happens(const Access &a, Order order, bool reads, bool writes);
    void tick() { self_->clock[self_->index]++; }
    bool ordered(uint32_t context, uint32_t clock) const { return clock <= self_->clock[context]; }
    void say(Place place, const std::string &what);
    std::string told(const Access &a, uint64_t old) const;

    Memory memory_;
    std::deque<std::unique_ptr<Context>> contexts_; // grows; the first count_ are this execution's
    size_t count_ = 0, spawned_ = 0;
    Context *self_ = nullptr;
    Schedule *schedule_ = nullptr;
    ol_tuning tuning_ = presets();
    std::vector<size_t> ready_;
    std::vector<ol_node *> nodes_, free_nodes_; // all, by number; those not handed out
    uint64_t *wait_array_ = nullptr;
    std::deque<Begun> begun_; // by context
    size_t in_transactions_ = 0;
    std::unordered_map<const uint8_t *, Committed> committed_;
    Transaction::Capacity capacity_;
    Ticks slice_length_ = 0;
    std::vector<Weakening> weakenings_;
    std::vector<Site> *sites_ = nullptr;
    Trace *trace_ = nullptr;

    uint64_t steps_ = 0, step_limit_ = 50'000;
    bool check_order_ = true;
    uint32_t turn_left_ = 0;
    bool to_mark_ = false, stopping_ = false;
    size_t sleepers_ = 0, late_kicks_ = 0;
    Ticks time_ = 0;
    Failure failure_;
};

} // namespace ol::engine
#endif
