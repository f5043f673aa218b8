// SPDX-License-Identifier: MIT
#include "coroutine.h"

#include <algorithm>
#include <boost/context/detail/fcontext.hpp>
#include <boost/context/protected_fixedsize_stack.hpp>
#include <exception>

namespace ol::simulator {

namespace {

using Place = Coroutine::Place;
using Stack = boost::context::protected_fixedsize_stack; // mapped, with a guard page below
constexpr size_t stack_bytes = 64 * 1024;
constexpr size_t page = 4096, frames = 9 * 64; // what a look uses of a stack

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
static Place beginning(Place sp, size_t) {
    auto *top = static_cast<Place *>(sp); // aligned to a line
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

static Place beginning(Place top, size_t size) {
    return boost::context::detail::make_fcontext(top, size, enter);
}

#endif

// Stacks begin at different lines of a page: a cache of the first level places a line by its
// address modulo 4096, and would have room for those of a few contexts only.
Coroutine::Coroutine(Outside &outside, size_t number)
    : outside_(outside), colour_(number * frames % page) {}

// What it has on its stack is left as it is.
Coroutine::~Coroutine() {
    if (stack_.sp)
        Stack().deallocate(stack_);
}

void Coroutine::begin(std::function<void()> body) {
    body_ = std::move(body);
    stack_ = Stack(stack_bytes).allocate();
    rests_ = beginning(static_cast<char *>(stack_.sp) - colour_, stack_.size - colour_);
}

void Coroutine::first() {
    body_();
    std::terminate();
}

// Nothing below its stack pointer is of use to anybody.
void Coroutine::keep() {
    kept_at_ = rests_;
    kept_.assign(static_cast<uint8_t *>(rests_), static_cast<uint8_t *>(stack_.sp));
}

void Coroutine::put_back() {
    rests_ = kept_at_;
    std::copy(kept_.begin(), kept_.end(), static_cast<uint8_t *>(rests_));
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
