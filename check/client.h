// SPDX-License-Identifier: MIT
#ifndef OL_CHECK_CLIENT_H
#define OL_CHECK_CLIENT_H
// What the contexts of a scenario do with a lock, and what must then hold.
#include "claims.h"

#include <overlock/checked.h>
#include <overlock/ops.h>

namespace ol::check {

enum class Scenario : size_t {
#define OL_SCENARIO(name, budget, what) name##_,
#include "scenarios.def"
#undef OL_SCENARIO
    count
};

struct ScenarioKind {
    const char *name, *budget, *what;
};
constexpr ScenarioKind scenario_list[] = {
#define OL_SCENARIO(name, budget, what) {#name, #budget, what},
#include "scenarios.def"
#undef OL_SCENARIO
};

struct Setting {
    Scenario scenario = Scenario::lock_;
    size_t contexts = 2;
    unsigned acquisitions = 2; // by each
    std::vector<Claimed> claimed = {};
    // For each context. r: shared, others are writers; in `wait` w: waits, s, b: signal, broadcast
    // with the lock held, S, B: after its release; in `count` d, u: down, up.
    std::string roles = {};
    const ol_checked_lock *foreign = nullptr; // where the lock has a table of its own
    const SharedOps *shared = nullptr;
    bool fresh = false; // tickets begin at 0, not just before they wrap
    // Of `any`: tunables that are not drawn.
    std::function<void(ol_tuning &)> tuned = [](ol_tuning &) {};
};

// Too much to explore: what its contexts do is drawn, by a random search.
constexpr bool is_drawn(Scenario scenario) {
    return scenario == Scenario::any_;
}
bool applies(Scenario scenario, const ol_lock_ops &ops, bool elides,
             const ol_checked_lock *foreign = nullptr);
// What a scenario cannot do without is there.
void prepare(Scenario scenario, Rules &rules);

// What an execution left undone, by the kind of wait: for the scenarios in which somebody stops.
struct Notes {
    uint64_t went_on = 0, stuck = 0; // executions in which somebody had stopped
    uint64_t spin = 0, parked = 0,
             returned = 0; // contexts left waiting, and timed callers that left
    Passed passed;
};

class Client {
public:
    Client(World &world, const ol_lock_ops &ops, const Setting &setting);

    Program program();
    const Notes &notes() const { return notes_; }
    // Of a lock whose word is two tickets, where they begin; else 0.
    uint32_t first_word();

private:
    struct Lock {
        void *at = nullptr;
        uint64_t *datum = nullptr;
        size_t owner = nobody; // whoever is between lock and unlock
        uint64_t acquired = 0;
        unsigned busy = 0;                // contexts in an operation on it or holding it
        uint64_t begun = 0;               // operations
        unsigned readers = 0, elided = 0; // within, beside the owner
    };
    static constexpr size_t nobody = SIZE_MAX;

    void learn_unit();
    void set_up(Memory &memory);
    void draw();
    void draw_tuning(Rules &r);
    uint32_t first_ticket();
    template <class T, size_t N> const T &any_of(const T (&list)[N]) {
        return list[world_.draw(N)];
    }
    Lock make_lock(Memory &memory);
    void body(size_t me);
    void finish();
    bool may_stick();
    bool is_held_by_waiter();
    bool is_fifo() const;
    bool is_measured() const;
    void idle_lock_works(Lock &l);
    void first_come_first_served();
    void judge_claim();

    void acquire(Lock &l);
    bool acquire_otherwise(Lock &l);
    bool try_once(Lock &l);
    bool try_to_take(Lock &l);
    bool acquire_in_time(Lock &l, Ticks patience);
    void took(Lock &l, bool in_line);
    Turn turn(bool in_line) const;
    template <class T> void add(T &n, int d);
    void give(Lock &l, size_t owner);
    static void be_certain();
    uint64_t use(Lock &l);
    void inspect(Lock &l);
    void release(Lock &l);
    void left(Lock &l);

    void lock_and_unlock();
    void acquire_often(size_t me);
    void leave_or_stay(size_t me);
    bool reads(size_t me) const;
    void look_shared();
    void once();
    void try_and_lock();
    void give_up();
    void free_at_last();
    void reuse_at_last();
    void hand_over();
    void unlock_for_others();
    void chain();
    void interrupted(Budget kind);
    void share_with_interrupts(size_t me);
    void stop_holding(size_t me);
    void stop_acquiring(size_t me);
    void fork(size_t me);
    char role(size_t me, const char *usual) const;
    void initialise(void *at) const;
    void use_condition(size_t me);
    void take_token(Lock &l);
    void add_tokens(Lock &l, char role);
    void use_semaphore(size_t me);
    bool is_owed_nothing() const;

    World &world_;
    const ol_lock_ops &ops_;
    const Setting setting_;
    const Rules usual_;
    uint32_t unit_ = 0; // what one acquisition adds to head and tail of a 4-byte ticket lock
    // Of this execution.
    Scenario played_ = Scenario::lock_;
    size_t present_ = 0; // contexts that take part
    unsigned rounds_ = 0;
    bool retunes_ = false;
    std::vector<engine::Abilities> able_;
    Lock locks_[2];
    uint32_t *mailbox_ = nullptr;
    uint64_t *tokens_ = nullptr;
    std::vector<bool> waits_; // in wait() or down()
    uint64_t ups_begun_ = 0, ups_ = 0, downs_ = 0;
    std::vector<Turn> turns_;
    bool forked_ = false;
    Notes notes_;
};

} // namespace ol::check
#endif
