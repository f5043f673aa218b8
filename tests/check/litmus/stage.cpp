// SPDX-License-Identifier: MIT
#include "stage.h"

#include <check/engine/memory.h>

#include <algorithm>
#include <stdexcept>

namespace ol::litmus {

using engine::Op;

size_t Choices::pick(size_t n) {
    if (at_ == path_.size())
        path_.push_back({0, n});
    if (path_[at_].of != n)
        throw std::logic_error("the litmus test does not repeat itself");
    return path_[at_++].taken;
}

bool Choices::next() {
    path_.resize(at_);
    while (!path_.empty() && path_.back().taken + 1 == path_.back().of)
        path_.pop_back();
    if (path_.empty())
        return false;
    path_.back().taken++;
    return true;
}

uint64_t Touch::result(uint64_t old) const {
    switch (op) {
    case Op::add:
        return old + value;
    case Op::bit_or:
        return old | value;
    case Op::bit_and:
        return old & value;
    case Op::bit_xor:
        return old ^ value;
    default:
        return value;
    }
}

uint64_t read_bytes(const Shared &s, size_t at, size_t width) {
    return engine::Memory::read(reinterpret_cast<const uint8_t *>(&s) + at, width);
}

void write_bytes(Shared &s, size_t at, size_t width, uint64_t v) {
    engine::Memory::write(reinterpret_cast<uint8_t *>(&s) + at, width, v);
}

std::set<State> Stage::explore() {
    std::set<State> found;

    for (size_t i = 0; i < test_.contexts.size(); i++)
        actors_.emplace_back(i);
    engine::world_here = this;
    do {
        if (execute() && r_[registers] == nothing)
            found.insert(state_of(rules_.memory(), r_.data()));
        unwind();
    } while (choices_.next());
    engine::world_here = nullptr;
    return found;
}

bool Stage::execute() {
    begin();
    while (one_move()) {
        if (pruned_ || (choices_.on_new_ground() && !is_new()))
            return false;
    }
    return !pruned_;
}

void Stage::begin() {
    choices_.rewind();
    stopping_ = pruned_ = false;
    r_.fill(0);
    std::ranges::copy(test_.initial_r, r_.begin());
    rules_.begin(test_, choices_);
    for (Actor &a : actors_) {
        a.heard.clear();
        a.context.begin(
            [this, body = test_.contexts[a.context.index]] { body(place_, r_.data()); });
        resume(a); // to its first access
    }
}

bool Stage::one_move() {
    std::vector<size_t> own = rules_.own_moves();
    std::vector<Actor *> able;

    for (Actor &a : actors_)
        if (!a.context.done() && rules_.may_run(a.context.index, a.drains))
            able.push_back(&a);
    if (own.empty() && able.empty())
        return false;
    size_t which = choices_.pick(able.size() + own.size());
    if (which < able.size())
        resume(*able[which]);
    else
        rules_.own_move(own[which - able.size()]);
    return true;
}

void Stage::resume(Actor &a) {
    self_ = &a;
    a.context.resume();
    self_ = nullptr;
}

void Stage::unwind() {
    stopping_ = true;
    for (Actor &a : actors_)
        if (!a.context.done())
            resume(a);
}

// Whoever has heard the same has done the same, so that this and memory are all of a state.
bool Stage::is_new() {
    std::string key;

    for (const Actor &a : actors_) {
        key.append(reinterpret_cast<const char *>(a.heard.data()), a.heard.size() * 8);
        key += '|';
    }
    rules_.key(key);
    return seen_.insert(key).second;
}

void Stage::wait(bool drains) {
    self_->drains = drains;
    self_->context.suspend();
    if (stopping_)
        throw engine::Stop();
}

void Stage::impossible() {
    pruned_ = true;
    self_->context.suspend();
    throw engine::Stop();
}

uint64_t Stage::hear(uint64_t value) {
    self_->heard.push_back(value);
    return value;
}

uint64_t Stage::access(const engine::Access &a) {
    size_t at = static_cast<size_t>(a.address() - reinterpret_cast<uint8_t *>(&place_));
    Touch t{self_->context.index, at, a.width, a.op, a.order, a.value, a.expected};

    t.failing = a.failing_sequential ? engine::Order::seq_cst
                : a.failing_acquires ? engine::Order::acquire
                                     : engine::Order::relaxed;
    t.is_plain = a.is_plain;
    wait(t.is_rmw() || (t.order == engine::Order::seq_cst && t.op == Op::store));
    if (a.spurious && rules_.may_fail() && choices_.pick(2)) {
        *a.spurious = true;
        t.op = Op::load;
        t.order = t.failing;
    }
    std::optional<uint64_t> old = rules_.access(t);
    if (!old)
        impossible();
    if (a.spurious)
        hear(*a.spurious);
    return hear(*old);
}

void Stage::fence(engine::Place) {
    wait(true);
    if (!rules_.fence(self_->context.index))
        impossible();
    hear(0);
}

void Stage::light_fence(engine::Order order, engine::Place) {
    wait(false);
    if (!rules_.light_fence(self_->context.index, order))
        impossible();
    hear(0);
}

// Whoever polls in vain is not followed: another execution looks later, and loops have no effect.
void Stage::relax(engine::Ticks, engine::Place) {
    impossible();
}

void Stage::unused() {
    throw std::logic_error("litmus tests consist of accesses, fences and relax");
}

} // namespace ol::litmus
