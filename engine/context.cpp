// SPDX-License-Identifier: MIT
#include "context.h"
#include "memory.h"

#include <boost/context/fixedsize_stack.hpp>

namespace ol::engine {

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
    must_not_wait = false;
    slices = 1;
    std::fill(events.begin(), events.end(), 0);
    if (inside_)
        return;
    inside_ = boost::context::fiber(std::allocator_arg, boost::context::fixedsize_stack(64 * 1024),
                                    [this](boost::context::fiber &&outside) {
                                        outside_ = std::move(outside);
                                        for (;;) { // one body per execution
                                            try {
                                                body_();
                                            } catch (const Stop &) {
                                            }
                                            doing = Doing::done;
                                            suspend();
                                        }
                                        return std::move(outside_);
                                    });
}

void Context::resume() {
    inside_ = std::move(inside_).resume();
}

void Context::suspend() {
    outside_ = std::move(outside_).resume();
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
