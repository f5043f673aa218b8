// SPDX-License-Identifier: MIT
// Plain accesses of code from outside: its compiler calls before each, and the code itself makes
// them, in the bytes of the world's memory.
#include "format.h"
#include "world.h"

namespace ol::check {

namespace {

uint64_t in_memory(const Access &a) {
    return Memory::read(a.address(), a.width);
}

} // namespace

// Several are parts of one: they are one step.
void World::begin_stores(std::span<const Access> stores) {
    const Access &first = stores.front();

    if (!is_inside())
        return;
    Stores &under_way = me().stores;
    under_way.silent = loads_->is_silent(first);
    under_way.touched.clear();
    if (under_way.silent) {
        settle(first.place);
        me().place = first.place;
        if (me().may_stop && may(Budget::stop))
            stop();
    } else {
        point({stores.size() == 1 ? Kind::access : Kind::object, first}, first.place);
    }
    notice(under_way.touched);
    for (const Access &a : stores) {
        object_of(a).touched[self_] = loads_->clock(self_);
        under_way.pieces.emplace_back(a, in_memory(a));
    }
}

// Loads of several pieces are several steps, and what they find is put together.
uint64_t World::show(std::span<const Access> loads) {
    std::vector<uint64_t> found;

    for (const Access &a : loads)
        found.push_back(access(a));
    for (size_t i = 0; is_inside() && i < loads.size(); i++) {
        uint64_t there = in_memory(loads[i]);
        if (found[i] == there)
            continue;
        me().stores.shown.emplace_back(loads[i], there);
        Memory::write(loads[i].address(), loads[i].width, found[i]);
    }
    return found.front();
}

bool World::close() {
    bool changes = false, shows = false;

    if (!is_inside())
        return false;
    Stores &s = me().stores;
    for (auto &[a, was] : s.shown)
        Memory::write(a.address(), a.width, was);
    s.shown.clear();
    if (s.pieces.empty())
        return false;
    for (auto &[a, was] : s.pieces) {
        a.value = in_memory(a);
        Memory::write(a.address(), a.width, was);
    }
    for (auto &[a, was] : s.pieces) {
        changes |= a.value != was;
        shows |= a.value != was && !a.at_once;
        loads_->access(self_, a, Order::relaxed, s.touched);
    }
    if (!s.silent)
        made(s.touched);
    if (changes)
        changed();
    arrives(false);
    if (trace_)
        for (auto &[a, was] : s.pieces)
            say_access(a, Order::relaxed, was, a.value);
    s.pieces.clear();
    return shows;
}

} // namespace ol::check
