// SPDX-License-Identifier: MIT
#ifndef OL_ENGINE_CONTEXT_H
#define OL_ENGINE_CONTEXT_H
// One of the contexts that contend: a coroutine and its transaction. Its stack is kept from
// execution to execution. Boost's coroutine classes unwind a stack that is left, and none of them
// can return to where it was before; so this stands on the layer below them.
#include "transaction.h"

#include <boost/context/detail/fcontext.hpp>
#include <boost/context/stack_context.hpp>
#include <functional>
#include <span>

namespace ol::engine {

struct Stop {}; // thrown through a context to end it early

struct Abilities {
    bool has_id = true, has_nodes = true;
};

class Context {
public:
    explicit Context(size_t index) : index(index) {}
    ~Context();
    Context(const Context &) = delete;
    Context &operator=(const Context &) = delete;

    // A context that was left in the midst of its body begins again too. Nothing unwinds what it
    // left: throw Stop through it for that.
    void begin(std::function<void()> body, std::span<uint8_t> stack = {}); // else one of its own
    void resume();  // from outside, until suspend() or the end
    void suspend(); // from within

    // From outside, while it is suspended: keeps its stack, and puts it back, so that resume()
    // returns from the same suspend() again. Only the stack: what it changed on the heap or in the
    // fields below stays changed, and what it constructed since is forgotten, not destroyed. A
    // checkpoint serves any number of times, until the next one or begin().
    void checkpoint();
    void rollback();

    // What lies on it now: from `from`, or, of one that is suspended, from where it rests.
    std::span<const uint8_t> stack(const uint8_t *from = nullptr) const {
        from = from ? from : static_cast<const uint8_t *>(inside_);
        return {from, static_cast<const uint8_t *>(stack_.sp)};
    }

    // The same from within: mark() is true, and false each time that go_back() or rollback()
    // returns to it. Neither ends the resume() that it runs under.
    bool mark();
    [[noreturn]] void go_back();

    bool done() const { return done_; }

    const size_t index;
    Transaction transaction;

private:
    using Resting = boost::context::detail::fcontext_t; // where to go on: a stack pointer

    enum class Wish : uintptr_t { none, checkpoint, rollback }; // of one that suspends itself

    static void enter(boost::context::detail::transfer_t from) noexcept;
    void leave(Wish wish);
    void grant(Wish wish);

    std::function<void()> body_;
    bool done_ = false;
    boost::context::stack_context stack_;
    bool lent_ = false; // the stack is somebody else's
    Resting inside_ = nullptr, outside_ = nullptr, resting_ = nullptr; // `resting_`: in kept_
    std::vector<uint8_t> kept_; // the stack from there to its top
    bool marked_ = false;       // not gone back since
};

} // namespace ol::engine
#endif
