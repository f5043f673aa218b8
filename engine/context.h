// SPDX-License-Identifier: MIT
#ifndef OL_ENGINE_CONTEXT_H
#define OL_ENGINE_CONTEXT_H
// One of the contexts that contend: a coroutine and all that the machine knows of it. Its stack is
// kept from execution to execution.
#include "clocks.h"
#include "schedule.h"
#include "world.h"

#include <boost/context/fiber.hpp>
#include <functional>

namespace ol::engine {

struct Stop {}; // thrown through a context to end it early

// A word and the value in it when the context last looked.
struct Seen {
    const uint8_t *at;
    uint8_t width;
    uint64_t value;
};

struct Abilities {
    bool has_id = true, has_nodes = true;
};

class Context {
public:
    explicit Context(size_t index) : index(index) {}

    void begin(std::function<void()> body, Abilities abilities, size_t contexts);
    void resume();  // from the machine, until suspend() or the end
    void suspend(); // from within

    // It read one value and left another, or the same.
    void saw(const uint8_t *at, uint8_t width, uint64_t read, uint64_t left);
    bool sees_change() const; // by others, in what it has seen since look_afresh()
    void look_afresh();
    bool asleep() const { return doing == Doing::relaxes || doing == Doing::parks; }

    const size_t index;
    Abilities able;
    Doing doing = Doing::runs;
    Place place{};

    // Asleep: until when, on what.
    Ticks until = never, asked = never; // `asked`: the earliest time it found not to have passed
    bool yields = false;
    const uint32_t *parked_on = nullptr;
    uint32_t key = 0;
    unsigned late_kicks = 0;
    bool lingering_kick = false;
    std::vector<Seen> seen;  // since it last relaxed
    bool saw_change = false; // two looks at a word differed

    Clock clock, acquirable; // `acquirable`: what relaxed loads read, for a fence to acquire
    Snapshots::Number fenced = Snapshots::none; // what a fence released, for relaxed stores

    bool must_not_wait = false; // in a trylock
    unsigned steps_in_try = 0;
    uint64_t slices = 1;
    std::vector<unsigned> events; // counted by ol_count

private:
    std::function<void()> body_;
    boost::context::fiber inside_, outside_;
};

} // namespace ol::engine
#endif
