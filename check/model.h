// SPDX-License-Identifier: MIT
#ifndef OL_CHECK_MODEL_H
#define OL_CHECK_MODEL_H
// What loads may see: a memory model.
#include "search.h"

#include <check/engine/memory.h>
#include <check/engine/world.h>

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>

namespace ol::check {

enum class Model { sc, tso, c11 };
const char *name_of(Model model);

// An execution that the model has no room for: it is told as not explored.
struct BeyondModel : std::runtime_error {
    using std::runtime_error::runtime_error;
};

using engine::Access;
using engine::Memory;
using engine::Op;
using engine::Order;

// The value that an operation leaves where it found `old`.
uint64_t result_of(const Access &a, uint64_t old);
constexpr bool is_rmw(Op op) {
    return op != Op::load && op != Op::store;
}

// A word, and the value in it when a context last looked.
struct Seen {
    const uint8_t *at;
    uint8_t width;
    uint64_t value;
};

// Where memory has one value, an access commutes with loads of bytes that it cannot change: tickets
// are taken in one half and served in the other. What it does change in this state is no help: a
// compare-exchange that fails here would succeed elsewhere, and the search must know it for the
// same step (a random litmus program showed what is lost otherwise).
void touch(Footprint &f, const Access &a);

class Watch;

class MemoryModel {
public:
    virtual ~MemoryModel() = default;

    virtual void reset(size_t contexts) = 0; // a new execution begins

    // The access itself, and what it touched; the old value.
    virtual uint64_t access(size_t me, const Access &a, Order order, Footprint &f) = 0;
    virtual void fence(size_t me, Footprint &f) = 0;
    virtual void light_fence(size_t, Order) {} // of a context's own accesses only
    // What it would touch now, at most.
    virtual void pending(const Access &a, Footprint &f) const;
    // Nobody else can tell when it happens, so it needs no step of its own.
    virtual bool is_silent(const Access &) const { return false; }

    // Data that the lock protects: no atomics. What is wrong with the access, or nothing.
    virtual std::string plain(size_t me, const Access &a, uint64_t &value, Footprint &f) = 0;
    // The object's memory goes: a context whose access did not happen before, or none.
    virtual uint32_t clock(size_t) const { return 0; } // to note in Object::touched
    virtual std::string unordered_use(size_t, engine::Object &) { return {}; }
    // A data race of plain accesses, if there was one in this execution.
    virtual bool has_race() const { return false; }

    // Stores that wait in a context's buffer. Some events must wait until it is empty.
    virtual bool buffers(size_t) const { return false; }
    virtual Access front(size_t me) const;
    virtual int drain(size_t me, Footprint &f); // the step that issued the store
    virtual void catch_up(size_t) {}            // it sees all that memory holds, as after fork
    virtual void forget(size_t) {}              // the context is gone, and its buffer with it

    // Waiting: all that a context has seen since it last looked afresh.
    virtual bool sees_change(size_t me) const = 0;
    virtual void watched(size_t me, Footprint &f) const = 0; // what it waits for
    virtual void notice(size_t) {}                           // it looks again and will see a change
    virtual void look_afresh(size_t me) = 0;
    // Something that it knew may have changed: where it waits next, it first looks again.
    virtual void disturb(size_t me) = 0;
    // What this access finds if the context learns nothing by it and changes nothing: what it saw
    // there last.
    virtual std::optional<uint64_t> finds_again(size_t me, const Access &a) const = 0;
    virtual const std::vector<Seen> &seen(size_t me) const = 0;

    // Where memory has one value at a time, there are transactions: what a load returns now.
    virtual Watch *watch() { return nullptr; }
    virtual uint64_t look(size_t, const uint8_t *, size_t) const { return 0; }
};

std::unique_ptr<MemoryModel> make_sc(Memory &memory);
std::unique_ptr<MemoryModel> make_tso(Memory &memory, Search *&search);
// `sequential`: with sequentially consistent accesses and data races, for which it keeps a graph.
std::unique_ptr<MemoryModel> make_c11(Memory &memory, Search *&search, bool sequential);

// Looks at values: for models in which what a context sees next is one value.
class Watch {
public:
    void reset(size_t contexts);
    // It found one value, which a store does not look at, and left another, or the same.
    void saw(size_t me, const Access &a, uint64_t read, uint64_t left);
    void disturb(size_t me) { twice_[me] = true; } // something else that it saw has changed
    template <class Look> bool changed(size_t me, Look look) const {
        if (twice_[me])
            return true;
        for (const Seen &s : seen_[me])
            if (look(s) != s.value)
                return true;
        return false;
    }
    void add_to(Footprint &f, size_t me) const;
    void clear(size_t me);
    const Seen *last(size_t me, const Access &a) const; // of the same bytes
    // If it is still there, and stays.
    template <class Look>
    std::optional<uint64_t> found(size_t me, const Access &a, Look look) const {
        const Seen *s = last(me, a);
        return s && look(*s) == s->value && result_of(a, s->value) == s->value
                   ? std::optional(s->value)
                   : std::nullopt;
    }
    const std::vector<Seen> &seen(size_t me) const { return seen_[me]; }

private:
    std::vector<std::vector<Seen>> seen_;
    std::vector<bool> twice_; // two looks at a word differed, or the like
};

} // namespace ol::check
#endif
