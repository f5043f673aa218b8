// SPDX-License-Identifier: MIT
#include "coroutine.h"

#include <boost/context/detail/fcontext.hpp>
#include <boost/context/protected_fixedsize_stack.hpp>
#include <exception>

namespace ol::simulator {

namespace {

using Place = Coroutine::Place;
using Stack = boost::context::protected_fixedsize_stack; // mapped, with a guard page below
constexpr size_t stack_bytes = 64 * 1024;

} // namespace

#ifdef __x86_64__

// As Boost's, but it returns instead of jumping. A CPU predicts a return by the calls before it,
// and coroutines that all rest in the same loop have the same calls: nothing is mispredicted,
// where Boost's jump spoils the prediction of every return after it. Nor are the settings of
// floating point exchanged, which nobody here changes.
extern "C" void overlock_sim_jump(Coroutine *arrives, Place *rests, Place to);
asm(R"(
	.text
	.type overlock_sim_jump, @function
overlock_sim_jump:
	pushq %rbp
	pushq %rbx
	pushq %r12
	pushq %r13
	pushq %r14
	pushq %r15
	movq %rsp, (%rsi)
	movq %rdx, %rsp
	popq %r15
	popq %r14
	popq %r13
	popq %r12
	popq %rbx
	popq %rbp
	ret
	.size overlock_sim_jump, . - overlock_sim_jump
)");

static void jump(Coroutine *arrives, Place *rests, Place to) {
    overlock_sim_jump(arrives, rests, to);
}

static void enter(Coroutine *self) {
    self->first();
}

// What the first jump to it takes from the stack: six registers, and where it returns to.
static Place beginning(const boost::context::stack_context &stack) {
    auto *top = static_cast<Place *>(stack.sp); // of a page: aligned
    constexpr int registers = 6;

    top[-2] = reinterpret_cast<Place>(enter);
    return top - 2 - registers;
}

#else

using boost::context::detail::transfer_t;

struct Jump {
    Coroutine *arrives;
    Place *rests; // of whoever left
};

static void jump(Coroutine *arrives, Place *rests, Place to) {
    Jump left{arrives, rests};
    transfer_t back = boost::context::detail::jump_fcontext(to, &left);

    *static_cast<Jump *>(back.data)->rests = back.fctx;
}

static void enter(transfer_t from) noexcept {
    Jump left = *static_cast<Jump *>(from.data);

    *left.rests = from.fctx;
    left.arrives->first();
}

static Place beginning(const boost::context::stack_context &stack) {
    return boost::context::detail::make_fcontext(stack.sp, stack.size, enter);
}

#endif

// What it has on its stack is left as it is.
Coroutine::~Coroutine() {
    if (stack_.sp)
        Stack().deallocate(stack_);
}

void Coroutine::begin(std::function<void()> body) {
    body_ = std::move(body);
    stack_ = Stack(stack_bytes).allocate();
    rests_ = beginning(stack_);
}

void Coroutine::first() {
    body_();
    std::terminate();
}

void Coroutine::resume() {
    jump(this, &outside_.rests, rests_);
}

void Coroutine::suspend() {
    jump(nullptr, &rests_, outside_.rests);
}

void Coroutine::hand_over(Coroutine &to) {
    jump(&to, &rests_, to.rests_);
}

} // namespace ol::simulator
