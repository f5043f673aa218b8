// SPDX-License-Identifier: MIT
#include "context.h"

#include <boost/context/protected_fixedsize_stack.hpp>
#include <cassert>
#include <cstring>
#include <exception>

namespace ol::engine {

namespace {

using Stack = boost::context::protected_fixedsize_stack; // mapped, with a guard page below
constexpr size_t stack_bytes = 64 * 1024;

} // namespace

Context::~Context() {
    if (stack_.sp && !lent_)
        Stack().deallocate(stack_);
}

void Context::begin(std::function<void()> body, std::span<uint8_t> stack) {
    body_ = std::move(body);
    done_ = false;
    transaction.forget();
    if (!stack.empty()) {
        lent_ = true;
        stack_.sp = stack.data() + stack.size();
        stack_.size = stack.size();
    }
    if (!stack_.sp)
        stack_ = Stack(stack_bytes).allocate();
    inside_ = boost::context::detail::make_fcontext(stack_.sp, stack_.size, enter);
    resting_ = nullptr;
}

// Its own frame is never left: a context that suspends here is not resumed, but begun again.
void Context::enter(boost::context::detail::transfer_t from) noexcept {
    auto &self = *static_cast<Context *>(from.data);

    self.outside_ = from.fctx;
    try {
        self.body_();
    } catch (const Stop &) {
    }
    self.done_ = true;
    self.suspend();
    std::terminate();
}

// Inlining these makes them five times slower: without their returns a CPU of 2021 mispredicts both
// jumps of a pair.
[[gnu::noinline]] void Context::resume() {
    for (;;) {
        auto left = boost::context::detail::jump_fcontext(inside_, this);
        inside_ = left.fctx;
        if (!left.data)
            return;
        grant(static_cast<Wish>(reinterpret_cast<uintptr_t>(left.data)));
    }
}

[[gnu::noinline]] void Context::suspend() {
    leave(Wish::none);
}

void Context::leave(Wish wish) {
    void *wishes = reinterpret_cast<void *>(static_cast<uintptr_t>(wish));
    outside_ = boost::context::detail::jump_fcontext(outside_, wishes).fctx;
}

// Where a context rests is its stack pointer, and nothing below it is of use to anybody.
void Context::checkpoint() {
    auto *from = static_cast<uint8_t *>(inside_), *top = static_cast<uint8_t *>(stack_.sp);

    resting_ = inside_;
    kept_.assign(from, top);
}

void Context::rollback() {
    assert(resting_);
    memcpy(resting_, kept_.data(), kept_.size());
    inside_ = resting_;
    marked_ = false;
}

bool Context::mark() {
    marked_ = true;
    leave(Wish::checkpoint);
    return marked_;
}

void Context::go_back() {
    leave(Wish::rollback);
    std::terminate();
}

void Context::grant(Wish wish) {
    if (wish == Wish::checkpoint)
        checkpoint();
    else
        rollback();
}

} // namespace ol::engine
