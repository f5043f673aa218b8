// SPDX-License-Identifier: MIT
#ifndef OL_CHECK_WORLD_H
#define OL_CHECK_WORLD_H
// The platform layer in a checked world: contexts that a search schedules, over a memory model,
// against an adversary with budgets.
//
// Steps are accesses of memory, fences, parks, kicks, and what else another context can tell from
// its own: between two of them a context is alone. A relax is no step: it lets the context's next
// step wait until something it has read since the last one has changed, so a spin takes one turn
// for each change, however long it lasts.
//
// Time is what the adversary says. A deadline passes early if it spends from its budget, and in any
// case once nobody can run otherwise; each context's answers keep one order of its deadlines.
#include "budget.h"
#include "cycle.h"
#include "model.h"
#include "polls.h"
#include "search.h"
#include "trace.h"

#include <overlock/port.h> // ol_node and the events

#include <check/engine/context.h>
#include <check/engine/report.h>
#include <check/engine/tuning.h>

#include <functional>
#include <set>
#include <span>
#include <utility>

namespace ol::check {

using engine::Failure;
using engine::never;
using engine::Place;
using engine::Ticks;
using engine::Wrong;

// What the contexts of one execution do.
struct Program {
    size_t contexts = 0;
    std::function<void(Memory &)> set_up = [](Memory &) {};
    std::function<void(size_t me)> body;
    std::function<void()> finish = [] {}; // from outside, when all are done and buffers are empty
    std::function<void(size_t me, Budget kind)> interrupted = [](size_t, Budget) {};
    std::function<bool()> may_stick = [] { return false; }; // nobody can go on, and that is fine
    bool shows_accesses = false; // and nothing else: it may wait by a loop that changes memory
    bool by_clock = false;       // sleepers look again by the clock: none needs to be woken
    std::function<engine::Abilities(size_t me)> able = [](size_t) { return engine::Abilities{}; };
    // Memory for a context's stack that others may use too; nothing: the engine's own.
    std::function<std::span<uint8_t>(size_t me)> stack = [](size_t) {
        return std::span<uint8_t>();
    };
};

// How a sleep on a word ended.
enum class Woke { kicked, differs, without_cause, in_time };

// One line of a source file loses an order.
struct Weakening {
    std::string file; // the last part of its path
    int line = 0;
    bool acquire = false, release = false; // which is lost
};

// How a context came to wait: the first step of its acquisition, the first by which it told the
// others (its ticket, where there are tickets), the last before it first waited, and where its wait
// in line lasted too long. 0: none.
struct Arrival {
    size_t first = 0, joined = 0, told = 0, in_line = 0, waits = 0, tired = 0;
    uint64_t slice = 0, joined_slice = 0; // of its CPU's time, on concrete clocks
    Ticks joined_left = 0;                // and what there was left of it

    void step(size_t n, bool tells, uint64_t now_in, Ticks left) {
        if (!first) {
            first = n;
            slice = now_in;
        }
        if (!tells)
            return;
        if (!joined) {
            joined = n;
            joined_slice = now_in;
            joined_left = left;
        }
        told = n;
    }
    void wait(size_t n) {
        if (!in_line)
            in_line = told;
        if (!waits)
            waits = n;
    }
};

struct Rules {
    Budgets budgets;
    ol_tuning tuning = engine::presets();
    bool timeouts = true;      // when nobody can run, time goes on to the next deadline
    bool shared_nodes = false; // a context without takes another's: this orders unrelated steps
    Ticks clock = 0;           // the length of a slice on concrete clocks; 0: there are none
    std::vector<Weakening> weakened;
    engine::Transaction::Capacity capacity; // in lines; nothing: there are no transactions
    size_t longest = 4000;                  // steps; beyond, it is a livelock
    bool polls = false; // relaxes do not wait, and a loop of them that counts its turns is wrong
    // Of a loop that counts its turns: in so many may the context see a change. The others are
    // taken to be like them.
    unsigned turns = 1;
    bool sequential = false; // there may be sequentially consistent accesses
};

class World final : public engine::World, public Pending {
public:
    World(Model model, const Rules &rules);
    ~World();

    // One execution of the program, as the search says. False if it was cut short, since all that
    // could follow has been explored.
    bool run(const Program &program, Search &search);
    // Programs may change them in set_up().
    Rules &rules() { return rules_; }
    const Rules &rules() const { return rules_; }
    const Failure &failure() const { return failure_; }
    uint64_t steps() const { return steps_; }
    void tell_to(ExecutionTrace *trace) { trace_ = trace; }
    void collect(std::vector<std::pair<Place, Order>> *sites) { sites_ = sites; }

    // For clients, from within a context.
    uint64_t plain_read(const uint64_t *datum, Place place);
    void plain_write(uint64_t *datum, uint64_t v, Place place);
    void free(void *object, Place place);
    void renew(void *object, Place place); // its memory serves something else now, all zero
    void mark(const char *what);
    // The running context returns from here again each time that it goes back.
    void mark() { me().context.mark(); }
    [[noreturn]] void go_back() { me().context.go_back(); }
    void stop();           // it loses its CPU for ever
    void stop_others();    // everybody else does
    bool may(Budget kind); // spends one, if there is one left and the adversary wants to
    unsigned draw(unsigned n) { return search_->draw(n); } // 0 ... n - 1, for the client's program
    void interrupts(bool on) { me().interruptible = on; }
    void may_stop(bool on) { me().may_stop = on; } // for ever, before any step
    void arrive() { me().arrival = {}; }
    const Arrival &arrival() const { return here_->arrival; }
    void begin_try(); // from here to end_try() this context must not wait
    void end_try();
    // From here to end_timed() it must not wait beyond, if `strictly`.
    void begin_timed(Ticks until, bool strictly = true);
    bool end_timed(); // did its deadline pass?
    [[noreturn]] void fail(Wrong what, std::string how);

    // What is done in a transaction may never have happened: this is done when it commits, or at
    // once outside of one; and this if it is aborted.
    void once_certain(std::function<void()> act);
    void if_aborted(std::function<void()> undo);
    // What was explored rests on an assumption that an execution has just refuted: that there are
    // no transactions, or that no other context uses a variable. All must be explored again.
    bool must_begin_anew() { return std::exchange(begin_anew_, false); }
    [[noreturn]] void begin_anew(); // likewise; ends the execution

    // What a call answers to one that looks on from outside, while an execution is under way.
    bool from_outside(const std::function<bool()> &look);
    bool has_transactions() const;

    size_t running() const { return self_; }
    size_t step() const { return steps_; } // the number of the last one in this execution
    Memory &memory() { return memory_; }
    unsigned counted(size_t context, unsigned event) const {
        return agents_[context]->counts[event];
    }
    size_t contexts() const { return contexts_; }
    bool has_race() const { return loads_->has_race(); }
    bool is_done(size_t context) const;
    bool is_off(size_t context) const;
    const char *doing(size_t context) const;
    bool buffers_are_empty() const;
    Model model() const { return model_; }
    std::string who_waits() const;
    std::string text(Place place) const;
    std::string value(uint64_t v, unsigned width) const;
    bool is_inside() const { return self_ != nobody; }

    // For a search that plays a script.
    void let_pass(size_t who);           // the deadline that it waits for
    Ticks wait_of(size_t context) const; // until that, by its own clock
    const std::vector<Seen> &seen(size_t context) const { return loads_->seen(context); }

    // For code whose loops show only by its accesses (turns.h).
    std::optional<uint64_t> finds_again(const Access &a) const;
    bool goes_on(Place place); // else it waits for a change
    void cut_loop(Place place, unsigned turns);
    [[noreturn]] void take_for_endless(const void *site);
    bool is_taken_for_endless(const void *site) const { return endless_.contains(site); }
    // Loops of which not every turn was explored, and how many were.
    const std::vector<std::pair<Place, unsigned>> &cut_loops() const { return cut_loops_; }
    void forget_loops() {
        cut_loops_.clear();
        left_open_.clear();
    }
    // Ends the execution, of which it is not known how it goes on; and all of the search, if others
    // would end likewise.
    [[noreturn]] void leave_open(std::string why, bool all = false);
    const std::vector<std::string> &left_open() const { return left_open_; }
    bool ends_search() const { return ends_search_; }
    Place place() const { return here_->place; }

    // For code from outside, whose compiler says what it is about to access but not with which
    // value (instrumented.cpp). From begin_stores() to close() the stores are under way: the code
    // makes them itself, and close() takes them from memory. show() lets it load what the model
    // says.
    void begin_stores(std::span<const Access> stores);
    uint64_t show(std::span<const Access> loads); // what the first of them found
    bool close();                                 // has it changed anything beside its own stack?
    Woke sleep(const uint32_t *word, uint32_t seen, uint32_t key, Ticks until, Place place);
    unsigned wake(const uint32_t *word, uint32_t key, int n, Place place); // how many
    // Wakes some, and has others sleep on another word. False: the word is not `seen`, if given.
    bool requeue(const uint32_t *from, int wakes, const uint32_t *to, int moves,
                 const uint32_t *seen, unsigned &done, Place place);
    const uint8_t *stack_of(size_t context) const { return agents_[context]->used_from; }

    // Linux, for the same code (platform_linux.cpp).
    static constexpr uint32_t outside_id = 100; // of the thread that is none of the contexts
    static constexpr uint32_t pi_waiters = 0x8000'0000, pi_owner = 0x3fff'ffff; // as FUTEX_WAITERS
    uint64_t clock_ns(uint64_t at_least, Place place); // the clock of all contexts, which goes on
    bool has_read_clock() const { return here_ && here_->has_read_clock; }
    // Changes the other word and wakes its sleepers too, if what it was says so.
    unsigned wake_op(const uint32_t *word, int wakes, const uint32_t *other, int more,
                     const std::function<uint32_t(uint32_t)> &change,
                     const std::function<bool(uint32_t)> &also, Place place);
    // Words that hold their owner. 0, or -errno.
    int pi_lock(const uint32_t *word, bool tries, Ticks until, Place place);
    int pi_unlock(const uint32_t *word, Place place);
    bool has_pi_sleepers(const uint32_t *word) const { return pi_sleepers(word); }
    void uses_stack_from(const uint8_t *at) { me().used_from = at; }

    // The platform layer.
    uint64_t access(const Access &a) override;
    void fence(Place place) override;
    void light_fence(Order order, Place place) override;
    void relax(Ticks until, Place place) override;
    void yield(uint32_t to, Place place) override;
    void yield_until(Ticks t, Place place) override;
    void park(const uint32_t *word, uint32_t seen, uint32_t key, Ticks until, Place place) override;
    void kick(const uint32_t *word, uint32_t key, int n, Place place) override;
    uint32_t **competes() override {
        return here_ ? &here_->competes : nullptr; // after all contexts nobody is here
    }
    Ticks now(Place place) override;
    Ticks after(uint64_t n, Ticks d, Place place) override;
    Ticks later(Ticks t, uint64_t n, Ticks d, Place place) override;
    bool passed(Ticks t, Place place) override;
    bool before(Ticks a, Ticks b, Place place) override;
    uint32_t self(Place place) override;
    ol_node *node_get(Place place) override;
    void node_put(ol_node *node, Place place) override;
    uint32_t node_number(const ol_node *node) override;
    ol_node *node_at(uint32_t number, Place place) override;
    uint64_t *wait_slot(size_t i, Place place) override;
    const ol_tuning &tuning() override { return rules_.tuning; }
    void count(unsigned event, Place place) override;
    ol_crowd *crowd(Place) override { return is_inside() ? &me().crowd : nullptr; }
    void defer(bool begins, Place place) override;
    uint64_t slice_id(Place place) override;
    Ticks slice_end(Place place) override;
    Ticks slice_min(Place place) override;
    bool is_preempted(uint32_t id, Place place) override;
    Ticks quota_end(Place place) override;
    uint32_t cpu(Place place) override;
    unsigned htm_begin(Place place) override;
    void htm_commit(Place place) override;
    void htm_abort(Place place) override;
    bool htm_active(Place place) override;
    bool htm_works(Place place) override;
    void htm_set_owner(const void *p, Place place) override;
    const void *htm_owner(Place place) override;

    void pending(Process who, Footprint &f) override;

private:
    static constexpr size_t nobody = SIZE_MAX;
    static constexpr unsigned try_limit = 64, nodes_each = 4;

    enum class Doing : uint8_t { runs, parks, off, done };
    enum class Kind : uint8_t {
        access,
        plain,
        fence,
        await,
        park,
        wake,
        kick,
        clock,
        object,
        ends
    };

    struct Next { // the step that a context is about to make
        Kind kind;
        Access access{};             // its memory, or the word parked on, and `value` the key
        bool needs_empty = false;    // its store buffer
        const void *other = nullptr; // the word that sleepers are moved to
        bool changes_other = false;  // which this step stores to
    };

    struct Stores {                                      // of code from outside, under way
        std::vector<std::pair<Access, uint64_t>> pieces; // and what was there
        std::vector<std::pair<Access, uint64_t>> shown;  // the same for loads
        Footprint touched;
        bool silent = false;
    };

    struct Begun { // what an abort puts back
        bool must_not_wait = false, timed = false, interruptible = true;
        unsigned tried = 0;
        Ticks timed_until = never;
        Arrival arrival;
        std::array<unsigned, OL_EVENTS> counts{};
    };

    struct Agent {
        explicit Agent(size_t index) : context(index) {}

        engine::Context context;
        Doing doing = Doing::done;
        engine::Abilities able;
        Place place{};
        Next next{};
        Budgets left;

        bool waited = false;    // so did the step it is making
        bool watches = false;   // its next step waits for a change in what it has seen
        bool may_go_on = false; // its loop may also end without one
        Ticks watches_until = engine::never;
        bool yields = false;

        const uint32_t *parked_on = nullptr;
        uint32_t key = 0;
        bool kicked = false, lingering = false;
        Ticks parks_until = engine::never;
        unsigned late = 0; // kicks on their way
        bool has_read_clock = false;
        unsigned clock_polls = 0; // readings since it last waited
        Ticks present_read = 0;   // its deadlines that had passed when it last read the clock
        uint32_t *competes = nullptr;

        Ticks present = 0; // the latest deadline that has passed
        uint64_t deadlines = 0;
        std::vector<Ticks> passed; // in order
        std::vector<Ticks> asked;  // found not to have passed since it last waited

        bool must_not_wait = false, interruptible = true;
        unsigned tried = 0;
        bool may_stop = false, interrupted = false;
        unsigned forced = 0; // times its deadline passed since anything changed
        Arrival arrival;
        Ticks timed_until = engine::never;
        bool timed = false;
        uint64_t slices = 1;
        ol_crowd crowd{};
        Ticks clock = 0, slice_end = 0; // its own, on concrete clocks
        std::vector<ol_node *> nodes;
        std::array<unsigned, OL_EVENTS> counts{};
        Polls polls;
        Stores stores;
        const uint8_t *used_from = nullptr; // its stack, by code from outside; null: none of it

        Begun begun;
        bool doomed = false, unannounced = false; // others aborted it, and it has not noticed
        Budget struck = Budget::count;            // the interrupt that aborted it
        std::vector<std::function<void()>> undo, certain;
    };

    Agent &me() { return *here_; }
    Process process_of_buffer(size_t i) const { return static_cast<Process>(contexts_ + i); }
    Process process_of_kicks(size_t i) const { return static_cast<Process>(2 * contexts_ + i); }

    void begin(const Program &program);
    void start_contexts();
    void resume(size_t who);
    int schedule();
    void tell_who_waits();
    void tell_what_ends(size_t i);
    static int next_after(int who, Mask could);
    void endless();
    std::string unending() const;
    uint64_t state() const;
    Mask enabled() const;
    bool is_long() const { return steps_ > rules_.longest / 2; }
    bool can_go(size_t i) const;
    Mask timed_watchers() const;
    Mask timed_sleepers() const;
    Mask counting_watchers() const;
    Mask whose_turn(bool (*is_one)(const Agent &)) const;
    void changed();
    static bool waits_too_long(const Agent &a);
    void stuck();
    void drain(size_t i);
    void deliver(size_t i);
    void finish();
    void end(Wrong what, std::string how);
    void end_open(std::string why);

    void polls(Place place);
    void point(const Next &next, Place place);
    void announce(const Next &next);
    void made(Footprint &f, int after = Search::none);
    void notice(Footprint &f);
    static void touch_sleepers(const Access &word, bool changes, Footprint &f);
    void touch_kick(const Access &kicked, Footprint &f) const;
    unsigned wake_some(const Access &word, int n, Mask &parked);
    size_t any_of(Mask parked, int n);
    Mask sleepers(const void *word, uint32_t key) const;
    Mask pi_sleepers(const void *word) const;
    Woke rest(const Access &word, uint32_t key, Ticks until, Place place);
    Footprint begin_change(const Access &word, const void *other, Place place);
    uint32_t id_here() const { return is_inside() ? static_cast<uint32_t>(self_ + 1) : outside_id; }
    uint32_t change_word(const void *word, const std::function<uint32_t(uint32_t)> &change,
                         Footprint &f, Place place);
    void settle(Place place);
    void maybe_interrupt();
    void interrupt(Budget kind);
    [[noreturn]] void leave_forever();

    bool in_transaction() const;
    unsigned aborted();
    void over(Agent &a, unsigned cause);
    static void take_back(Agent &a);
    [[noreturn]] void abort_self(unsigned cause, Footprint &f);
    bool publish(const engine::Transaction &t);
    void cannot_be_inside(Place place);
    void step_inside(const Next &next, Place place, Footprint &f);
    uint64_t access_inside(const Access &a);
    void touch_inside(const engine::Object &o, const Next &next, Place place);
    void displace(const void *at, size_t width, bool writes, Footprint &f);
    void doom(size_t i);
    bool conflicts(size_t i, const void *at, size_t width, bool writes) const;
    void request(const Access &a, Footprint &f);
    void pending_request(size_t who, const void *at, size_t width, bool writes, Footprint &f) const;
    void pending_inside(size_t who, Footprint &f) const;

    engine::Object &object_of(const Access &a);
    Order order_of(const Access &a);
    void touch_object(void *object, Place place, const char *what);
    void arrives(bool tells);
    bool has_passed(Ticks t);
    void pass(Agent &a, Ticks t);
    void elapse();
    unsigned lie(unsigned n, Place place);
    void advance(Agent &a, Ticks t) const;
    bool has_asked(Ticks t) const;
    void make_nodes();
    std::vector<ol_node *> &free_nodes();

    void say(Place place, std::string what, bool is_mark = false);
    void say_access(const Access &a, Order order, uint64_t old, uint64_t left);
    std::string context_name(size_t i) const { return "T" + std::to_string(i + 1); }

    const Model model_;
    Rules rules_;
    Memory memory_;
    Search *search_ = nullptr;
    std::unique_ptr<MemoryModel> loads_;
    std::vector<std::unique_ptr<Agent>> agents_;
    size_t contexts_ = 0;
    const Program *program_ = nullptr;

    size_t self_ = nobody;
    Agent *here_ = nullptr;
    size_t stack_ = nobody; // the context whose stack this is
    size_t transactions_ = 0;
    bool speculative_ = false; // there are transactions
    bool begin_anew_ = false;
    int chosen_ = Search::none; // by schedule(), on another context's stack
    bool starting_ = false, over_ = false, pruned_ = false;
    bool lost_kick_ = false; // so far: then sleepers with a deadline wait for that
    bool interrupting_ = false;
    uint64_t clock_ns_ = 0;
    size_t steps_ = 0;
    size_t looks_ = 0;           // accesses from outside, in a row
    int current_ = Search::none; // the process that made the last step
    Mask forced_ = 0;
    Cycle cycle_; // of an execution that becomes long
    uint64_t *wait_array_ = nullptr;
    std::vector<ol_node *> nodes_; // all, by number
    Failure failure_;
    ExecutionTrace *trace_ = nullptr;
    std::vector<std::pair<Place, Order>> *sites_ = nullptr;
    std::vector<std::pair<Place, unsigned>> cut_loops_;
    std::vector<std::string> left_open_; // why
    bool ends_search_ = false;
    std::set<const void *> endless_; // sites of loops whose state never repeats
};

} // namespace ol::check
#endif
