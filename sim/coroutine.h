// SPDX-License-Identifier: MIT
#ifndef OL_SIM_COROUTINE_H
#define OL_SIM_COROUTINE_H
// What a context does, between its waits. One of them can hand over to another directly: most
// events are looks of one waiter after another, at the same place of the same loop. The engine's
// Context has checkpoints instead, and lacks this.
#include <boost/context/stack_context.hpp>
#include <cstdint>
#include <functional>
#include <vector>

namespace ol::simulator {

class Coroutine {
public:
    using Place = void *; // where one rests: a stack pointer

    // Where the resumer of one of them rests: one for all that hand over to each other.
    struct Outside {
        Place rests = nullptr;
    };

    Coroutine(Outside &outside, size_t number);
    ~Coroutine();
    Coroutine(const Coroutine &) = delete;
    Coroutine &operator=(const Coroutine &) = delete;

    void begin(std::function<void()> body); // which does not end
    void resume();                          // from outside, until one suspends itself
    void suspend();                         // from within
    void hand_over(Coroutine &to);          // from within: to another one
    void first();                           // of the stack, once

    // From outside, while it rests: its stack, and where it rests. What is constructed on it
    // between the two is forgotten, not destroyed.
    void keep();
    void put_back(); // any number of times

private:
    Outside &outside_;
    const size_t colour_;
    boost::context::stack_context stack_;
    std::function<void()> body_;
    Place rests_ = nullptr, kept_at_ = nullptr;
    std::vector<uint8_t> kept_;
};

} // namespace ol::simulator
#endif
