// SPDX-License-Identifier: MIT
#include "coroutine.h"

#include <boost/context/protected_fixedsize_stack.hpp>
#include <exception>

namespace ol::simulator {

namespace {

using Stack = boost::context::protected_fixedsize_stack; // mapped, with a guard page below
constexpr size_t stack_bytes = 64 * 1024;

} // namespace

// What it has on its stack is left as it is.
Coroutine::~Coroutine() {
    if (stack_.sp)
        Stack().deallocate(stack_);
}

void Coroutine::begin(std::function<void()> body) {
    body_ = std::move(body);
    if (!stack_.sp)
        stack_ = Stack(stack_bytes).allocate();
    rests_ = boost::context::detail::make_fcontext(stack_.sp, stack_.size, enter);
}

// Each jump says whose it is, so that those who arrive know who rests where: {from, to}.
struct Jump {
    Coroutine *from, *to; // from null: from outside
};

void Coroutine::enter(boost::context::detail::transfer_t from) noexcept {
    Coroutine &self = *static_cast<Jump *>(from.data)->to;

    self.arrived(from);
    self.body_();
    std::terminate();
}

void Coroutine::arrived(boost::context::detail::transfer_t from) {
    auto *by = static_cast<Jump *>(from.data)->from;

    (by ? by->rests_ : outside_.rests) = from.fctx;
}

[[gnu::noinline]] void Coroutine::resume() {
    Jump jump{nullptr, this};
    auto back = boost::context::detail::jump_fcontext(rests_, &jump);

    static_cast<Jump *>(back.data)->from->rests_ = back.fctx;
}

[[gnu::noinline]] void Coroutine::suspend() {
    Jump jump{this, nullptr};
    arrived(boost::context::detail::jump_fcontext(outside_.rests, &jump));
}

[[gnu::noinline]] void Coroutine::hand_over(Coroutine &to) {
    Jump jump{this, &to};
    arrived(boost::context::detail::jump_fcontext(to.rests_, &jump));
}

} // namespace ol::simulator
