// SPDX-License-Identifier: MIT
#ifndef OL_LITMUS_STAGE_H
#define OL_LITMUS_STAGE_H
// Runs a litmus test again and again, once for every sequence of choices that its rules leave open.
#include <check/litmus/litmus.h>
#include <check/engine/context.h>

#include <deque>
#include <optional>
#include <set>
#include <string>
#include <unordered_set>

namespace ol::litmus {

// The choices of one execution; the next one differs in the last choice that has alternatives left.
class Choices {
public:
    size_t pick(size_t n);
    bool next(); // false when all have been made
    void rewind() { at_ = 0; }
    bool on_new_ground() const { return at_ >= path_.size(); }

private:
    struct Choice {
        size_t taken, of;
    };
    std::vector<Choice> path_;
    size_t at_ = 0;
};

// What an access is to memory: where, how wide, what it does.
struct Touch {
    size_t who, at, width; // `at`: an offset into Shared
    engine::Op op;
    engine::Order order;
    uint64_t value, expected;
    engine::Order failing = engine::Order::relaxed;
    bool is_plain = false, is_weak = false;

    bool reads() const { return op != engine::Op::store; }
    bool is_rmw() const { return op != engine::Op::load && op != engine::Op::store; }
    bool writes(uint64_t old) const {
        return op == engine::Op::cas ? old == expected : op != engine::Op::load;
    }
    uint64_t result(uint64_t old) const;
};

// A memory model.
class Rules {
public:
    virtual ~Rules() = default;
    virtual void begin(const Litmus &test, Choices &choices) = 0;
    virtual bool may_run(size_t who, bool drains) = 0; // `drains`: a fence or read-modify-write
    virtual std::vector<size_t> own_moves() = 0;       // steps that memory can take by itself
    virtual void own_move(size_t which) = 0;
    virtual std::optional<uint64_t> access(const Touch &t) = 0; // none: there is no such execution
    virtual bool fence(size_t who) = 0;
    virtual bool light_fence(size_t, engine::Order) { return true; } // not sequentially consistent
    virtual bool may_fail() { return true; } // a weak compare-exchange, without cause
    virtual Shared memory() = 0;
    virtual void key(std::string &into) = 0; // all that the future depends on
};

uint64_t read_bytes(const Shared &s, size_t at, size_t width);
void write_bytes(Shared &s, size_t at, size_t width, uint64_t v);

class Stage final : engine::World {
public:
    Stage(const Litmus &test, Rules &rules) : test_(test), rules_(rules) {}
    std::set<State> explore();

private:
    struct Actor {
        explicit Actor(size_t i) : context(i) {}
        engine::Context context;
        bool drains = false;         // at its next access
        std::vector<uint64_t> heard; // from memory, one entry per access
    };

    bool execute();
    void begin();
    bool one_move();
    void resume(Actor &a);
    void wait(bool drains);
    void unwind();
    bool is_new();
    uint64_t hear(uint64_t value);
    [[noreturn]] void impossible();

    uint64_t access(const engine::Access &a) override;
    void fence(engine::Place place) override;
    void light_fence(engine::Order order, engine::Place place) override;
    void relax(engine::Ticks until, engine::Place place) override;

    // No litmus test uses these.
    void yield(uint32_t, engine::Place) override { unused(); }
    void yield_until(engine::Ticks, engine::Place) override { unused(); }
    void park(const uint32_t *, uint32_t, uint32_t, engine::Ticks, engine::Place) override {
        unused();
    }
    void kick(const uint32_t *, uint32_t, int, engine::Place) override { unused(); }
    engine::Ticks now(engine::Place) override { unused(); }
    engine::Ticks after(uint64_t, engine::Ticks, engine::Place) override { unused(); }
    engine::Ticks later(engine::Ticks, uint64_t, engine::Ticks, engine::Place) override {
        unused();
    }
    bool passed(engine::Ticks, engine::Place) override { unused(); }
    bool before(engine::Ticks, engine::Ticks, engine::Place) override { unused(); }
    uint32_t self(engine::Place) override { unused(); }
    ol_node *node_get(engine::Place) override { unused(); }
    void node_put(ol_node *, engine::Place) override { unused(); }
    uint32_t node_number(const ol_node *) override { unused(); }
    ol_node *node_at(uint32_t, engine::Place) override { unused(); }
    uint64_t *wait_slot(size_t, engine::Place) override { unused(); }
    const ol_tuning &tuning() override { unused(); }
    void count(unsigned, engine::Place) override { unused(); }
    void defer(bool, engine::Place) override { unused(); }
    uint64_t slice_id(engine::Place) override { unused(); }
    engine::Ticks slice_end(engine::Place) override { unused(); }
    engine::Ticks slice_min(engine::Place) override { unused(); }
    bool is_preempted(uint32_t, engine::Place) override { unused(); }
    engine::Ticks quota_end(engine::Place) override { unused(); }
    uint32_t cpu(engine::Place) override { unused(); }
    unsigned htm_begin(engine::Place) override { unused(); }
    void htm_commit(engine::Place) override { unused(); }
    void htm_abort(engine::Place) override { unused(); }
    bool htm_active(engine::Place) override { unused(); }
    bool htm_works(engine::Place) override { unused(); }
    void htm_set_owner(const void *, engine::Place) override { unused(); }
    const void *htm_owner(engine::Place) override { unused(); }
    [[noreturn]] static void unused();

    const Litmus &test_;
    Rules &rules_;
    Choices choices_;
    std::deque<Actor> actors_;
    Actor *self_ = nullptr;
    bool stopping_ = false, pruned_ = false;
    Shared place_{}; // whose addresses the contexts use; its bytes mean nothing
    std::array<uint64_t, registers + 1> r_{};
    std::unordered_set<std::string> seen_;
};

} // namespace ol::litmus
#endif
