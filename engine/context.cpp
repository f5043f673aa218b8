// SPDX-License-Identifier: MIT
#include "context.h"
#include "memory.h"

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
    if (stack_.sp)
        Stack().deallocate(stack_);
}

void Context::begin(std::function<void()> body, Abilities abilities, size_t contexts) {
    body_ = std::move(body);
    able = abilities;
    doing = Doing::runs;
    place = {};
    until = never;
    yields = false;
    parked_on = nullptr;
    late_kicks = 0;
    lingering_kick = false;
    look_afresh();
    clock.assign(contexts, 0);
    clock[index] = 1; // 0 means "never" to everybody else
    acquirable.assign(contexts, 0);
    fenced = Snapshots::none;
    transaction.forget();
    must_not_wait = false;
    slices = 1;
    slice_began = csd = 0;
    std::fill(events.begin(), events.end(), 0);
    if (!stack_.sp)
        stack_ = Stack(stack_bytes).allocate();
    inside_ = boost::context::detail::make_fcontext(stack_.sp, stack_.size, enter);
    resting_ = nullptr;
}

// Its own frame is never left: whoever suspends here is not resumed, but begun again.
void Context::enter(boost::context::detail::transfer_t from) noexcept {
    auto &self = *static_cast<Context *>(from.data);

    self.outside_ = from.fctx;
    try {
        self.body_();
    } catch (const Stop &) {
    }
    self.doing = Doing::done;
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

void Context::saw(const uint8_t *at, uint8_t width, uint64_t read, uint64_t left) {
    for (Seen &s : seen)
        if (s.at == at && s.width == width) {
            saw_change |= s.value != read;
            s.value = left;
            return;
        }
    seen.push_back({at, width, left});
}

void Context::look_afresh() {
    seen.clear();
    saw_change = false;
    asked = never;
}

bool Context::sees_change() const {
    if (saw_change)
        return true;
    for (const Seen &s : seen)
        if (Memory::read(s.at, s.width) != s.value)
            return true;
    return false;
}

} // namespace ol::engine
