// SPDX-License-Identifier: MIT
#ifndef OL_ENGINE_WORLD_H
#define OL_ENGINE_WORLD_H
// What a lock's world must answer, one virtual call per operation of the platform layer. port/sim.h
// turns the platform layer into these calls, and each world answers them in its own way.
#include <cstdint>
#include <cstddef>
#include <utility>

struct ol_crowd;
struct ol_node;
struct ol_tuning;

namespace ol::engine {

using Ticks = uint64_t;
constexpr Ticks never = UINT64_MAX;

enum class Op : uint8_t { load, store, xchg, cas, add, bit_or, bit_and, bit_xor };
enum class Order : uint8_t { relaxed, acquire, release, acq_rel, seq_cst };

constexpr bool acquires(Order o) {
    return o == Order::acquire || o == Order::acq_rel || o == Order::seq_cst;
}
constexpr bool releases(Order o) {
    return o == Order::release || o == Order::acq_rel || o == Order::seq_cst;
}

struct Place { // in a source file
    const char *file;
    int line;
};

// Every lock and mutant is compiled with this file: <functional> would take as long again.
class Change {
public:
    virtual uint32_t of(uint32_t old) const = 0;

protected:
    ~Change() = default;
};

// A half of a word is the word's object with a width of 2 at its offset.
struct Access {
    void *object;
    uint8_t offset, width; // in bytes
    Op op;
    Order order;
    uint64_t value;    // to store, add, ...
    uint64_t expected; // by cas
    Place place;
    bool is_callers = false;       // memory: of one that looks on from outside a world
    bool at_once = false;          // a store that no buffer keeps
    bool failing_acquires = false; // a cas that does not store
    bool failing_sequential = false;
    bool is_plain = false;    // no atomic: a data race where it conflicts without order
    bool *spurious = nullptr; // of a weak cas, which says here that it failed without cause
    // An exchange by what this makes of the old value; null: by `value`.
    const Change *changes = nullptr;

    uint8_t *address() const { return static_cast<uint8_t *>(object) + offset; }
};

class World {
public:
    virtual uint64_t access(const Access &a) = 0; // the old value
    virtual void fence(Place place) = 0;
    // One that is not sequentially consistent. A world may make it stronger.
    virtual void light_fence(Order, Place place) { fence(place); }

    virtual void relax(Ticks until, Place place) = 0;
    virtual void yield(uint32_t to, Place place) = 0; // 0: to nobody in particular
    virtual void yield_until(Ticks t, Place place) = 0;
    virtual void park(const uint32_t *word, uint32_t seen, uint32_t key, Ticks until,
                      Place place) = 0;
    virtual void kick(const uint32_t *word, uint32_t key, int n, Place place) = 0;
    void compete(uint32_t *word, Place) {
        if (uint32_t **mine = competes())
            *mine = word;
    }
    void leave(Place place) {
        uint32_t **mine = competes(), *word = mine ? std::exchange(*mine, nullptr) : nullptr;

        if (!word)
            return;
        access({word, 0, sizeof(*word), Op::add, Order::relaxed, 1, 0, place});
        kick(word, ~0u, 1, place);
    }
    virtual uint32_t **competes() { return nullptr; } // where the running context keeps it

    virtual Ticks now(Place place) = 0;
    virtual Ticks after(uint64_t n, Ticks d, Place place) = 0;
    virtual Ticks later(Ticks t, uint64_t n, Ticks d, Place place) = 0;
    virtual bool passed(Ticks t, Place place) = 0;
    virtual bool before(Ticks a, Ticks b, Place place) = 0;

    virtual uint32_t self(Place place) = 0;
    virtual ol_node *node_get(Place place) = 0;
    virtual void node_put(ol_node *node, Place place) = 0;
    virtual uint32_t node_number(const ol_node *node) = 0;
    virtual ol_node *node_at(uint32_t number, Place place) = 0;
    virtual uint64_t *wait_slot(size_t i, Place place) = 0;
    virtual const ol_tuning &tuning() = 0;
    virtual void count(unsigned event, Place place) = 0;
    virtual void count_at(unsigned event, unsigned n, Place place) {
        (void)n;
        count(event, place);
    }

    virtual void defer(bool begins, Place place) = 0;
    virtual uint64_t slice_id(Place place) = 0;
    virtual Ticks slice_end(Place place) = 0;
    virtual Ticks slice_min(Place place) = 0;
    virtual void csd_learn(Ticks, unsigned, Place) {}
    virtual Ticks csd(Place) { return 0; }
    virtual ol_crowd *crowd(Place) { return nullptr; }
    virtual bool is_preempted(uint32_t id, Place place) = 0;
    virtual Ticks quota_end(Place place) = 0;
    virtual uint32_t cpu(Place place) = 0;

    // Transactions: see transaction.h.
    virtual unsigned htm_begin(Place place) = 0;
    virtual void htm_commit(Place place) = 0;
    virtual void htm_abort(Place place) = 0;
    virtual bool htm_active(Place place) = 0;
    virtual bool htm_works(Place place) = 0;
    virtual void htm_set_owner(const void *p, Place place) = 0;
    virtual const void *htm_owner(Place place) = 0;

protected:
    ~World() = default;
};

// The world of the execution that this thread is in.
inline thread_local World *world_here = nullptr;
inline World &current() {
    return *world_here;
}

} // namespace ol::engine
#endif
