// SPDX-License-Identifier: MIT
// The platform layer: time, identity, and what a context may know.
#include "world.h"

#include <algorithm>
#include <cstring>

namespace ol::check {

namespace {

// A deadline: how far off, and when it was set, so that two are compared only where their order is
// certain.
constexpr unsigned serial_bits = 20;
constexpr Ticks far_off(Ticks t) {
    return t >> serial_bits;
}
constexpr Ticks serial(Ticks t) {
    return t & ((Ticks(1) << serial_bits) - 1);
}

// Nearly always the last.
void insert(std::vector<Ticks> &sorted, Ticks t) {
    sorted.insert(std::upper_bound(sorted.begin(), sorted.end(), t), t);
}

} // namespace

// Time.

bool World::has_passed(Ticks t) {
    if (t == never)
        return false;
    Agent &a = me();
    if (rules_.clock)
        return t <= a.clock;
    if (far_off(t) <= far_off(a.present) && (serial(t) <= serial(a.present) || far_off(t) == 0))
        return true;
    return std::binary_search(a.passed.begin(), a.passed.end(), t);
}

void World::pass(Agent &a, Ticks t) {
    if (rules_.clock)
        return advance(a, t);
    insert(a.passed, t);
    if (far_off(t) > far_off(a.present))
        a.present = far_off(t) << serial_bits | serial(t);
}

Ticks World::wait_of(size_t context) const {
    const Agent &a = *agents_[context];

    if (a.watches_until == never)
        return never;
    return rules_.clock ? a.watches_until - a.clock : far_off(a.watches_until) - far_off(a.present);
}

bool World::has_asked(Ticks t) const {
    const auto &asked = here_->asked;
    return std::find(asked.begin(), asked.end(), t) != asked.end();
}

Ticks World::now(Place place) {
    if (!is_inside())
        return 0;
    settle(place);
    if (rules_.clock) {
        elapse();
        return me().clock;
    }
    return far_off(me().present) << serial_bits | ++me().deadlines;
}

// The present is not looked up without a clock: what comes after it is all that matters.
Ticks World::after(uint64_t n, Ticks d, Place place) {
    if (!is_inside() || d == never)
        return later(0, n, d, place);
    return later(rules_.clock ? now(place) : me().present, n, d, place);
}

Ticks World::later(Ticks t, uint64_t n, Ticks d, Place) {
    Ticks span, end;

    if (d == never || __builtin_mul_overflow(n, d, &span))
        return never;
    if (!is_inside() || rules_.clock)
        return __builtin_add_overflow(t, span, &end) ? never : end;
    if (__builtin_add_overflow(far_off(t), span, &end) || end >> (64 - serial_bits))
        return never;
    end = end << serial_bits | ++me().deadlines;
    if (span == 0 && has_passed(t))
        insert(me().passed, end); // at once
    return end;
}

bool World::passed(Ticks t, Place place) {
    if (!is_inside() || t == never)
        return false;
    settle(place);
    if (rules_.clock)
        elapse();
    if (rules_.polls)
        me().polls.hears(has_passed(t));
    if (has_passed(t))
        return true;
    if (rules_.clock || !may(Budget::expiry)) {
        me().asked.push_back(t);
        return false;
    }
    pass(me(), t);
    say(place, "finds its deadline passed");
    return true;
}

bool World::before(Ticks a, Ticks b, Place) {
    return a < b;
}

bool World::may(Budget kind) {
    if (!is_inside())
        return false;
    bool happens = me().left[kind] && search_->choose(2);
    if (happens)
        me().left[kind]--;
    me().polls.hears(happens);
    return happens;
}

// Identity.

uint32_t World::self(Place) {
    return !is_inside() ? OL_ID_MAX : me().able.has_id ? static_cast<uint32_t>(self_ + 1) : 0;
}

// Nodes are at the same addresses, whichever context asks first.
void World::make_nodes() {
    for (size_t i = 0; i < contexts_; i++)
        for (unsigned k = 0; k < nodes_each; k++) {
            engine::Object &o = memory_.allocate("node", sizeof(ol_node));
            auto *node = reinterpret_cast<ol_node *>(o.at);
            std::memset(node, 0xad, sizeof *node); // rubbish
            nodes_.push_back(node);
            agents_[i]->nodes.insert(agents_[i]->nodes.begin(), node);
        }
}

// A lock may give back the node of another context, which then has one less.
std::vector<ol_node *> &World::free_nodes() {
    if (nodes_.empty())
        make_nodes();
    for (size_t i = 0; rules_.shared_nodes && i < contexts_ && me().nodes.empty(); i++)
        if (!agents_[i]->nodes.empty())
            return agents_[i]->nodes;
    if (me().nodes.empty())
        fail(Wrong::misuse, "uses more nodes than a context can need");
    return me().nodes;
}

// The node given back last is handed out first: a context that still uses it meets its new owner.
ol_node *World::node_get(Place place) {
    if (!is_inside())
        fail(Wrong::unusable, "queues at " + text(place) + " although the lock is idle");
    if (!me().able.has_nodes)
        return nullptr;
    std::vector<ol_node *> &nodes = free_nodes();
    ol_node *node = nodes.back();
    engine::Object *o = memory_.find(node);
    if (o->state == engine::Object::pooled)
        touch_object(node, place, "takes again");
    if_aborted([this, &nodes, node, was = o->state] {
        memory_.find(node)->state = was;
        nodes.push_back(node);
    });
    nodes.pop_back();
    o->state = engine::Object::live;
    return node;
}

void World::node_put(ol_node *node, Place place) {
    engine::Object *o = memory_.find(node);

    if (!o || o->state != engine::Object::live)
        fail(Wrong::misuse, text(place) + " returns a node that was not taken");
    touch_object(node, place, "gives back");
    Agent &a = me();
    if_aborted([this, &a, node] {
        memory_.find(node)->state = engine::Object::live;
        a.nodes.pop_back();
    });
    o->state = engine::Object::pooled;
    a.nodes.push_back(node);
}

uint32_t World::node_number(const ol_node *node) {
    auto at = std::find(nodes_.begin(), nodes_.end(), node);

    return static_cast<uint32_t>(at - nodes_.begin()) + 1;
}

ol_node *World::node_at(uint32_t number, Place place) {
    if (!number || number > nodes_.size())
        fail(Wrong::misuse, text(place) + " asks for node " + std::to_string(number));
    return nodes_[number - 1];
}

uint64_t *World::wait_slot(size_t i, Place) {
    if (!wait_array_)
        wait_array_ = reinterpret_cast<uint64_t *>(
            memory_.allocate("wait array", OL_WAIT_SLOTS * sizeof(uint64_t)).at);
    return &wait_array_[i & (tuning().wait_slots - 1)];
}

void World::count(unsigned event, Place) {
    if (!is_inside())
        return;
    me().counts[event]++;
    if (event == OL_TIMEOUT && !me().arrival.tired)
        me().arrival.tired = steps_;
}

// Knowledge, which may be wrong or stale. A false slice differs in its last bits.

constexpr uint64_t other_slice = 3;

void World::defer(bool, Place) {}

// 0: the truth; else one of n - 1 lies.
unsigned World::lie(unsigned n, Place place) {
    if (!me().left[Budget::lies])
        return 0;
    unsigned which = search_->choose(n);
    if (which) {
        me().left[Budget::lies]--;
        say(place, "is told something untrue");
    }
    me().polls.hears(which);
    return which;
}

uint64_t World::slice_id(Place place) {
    if (!is_inside())
        return 0;
    settle(place);
    if (rules_.clock)
        elapse();
    else if (may(Budget::stale))
        me().slices++;
    return me().slices + lie(3, place) * other_slice;
}

// Over, about to be, or never.
Ticks World::slice_end(Place place) {
    if (!is_inside() || (!rules_.clock && !me().left[Budget::lies]))
        return never;
    settle(place);
    if (rules_.clock)
        elapse();
    switch (lie(4, place)) {
    case 1:
        return 0;
    case 2:
        return rules_.clock ? me().clock + 1 : later(me().present, 1, 1, place);
    case 3:
        return never;
    default:
        return rules_.clock ? me().slice_end : never;
    }
}

// All of the slice is guaranteed.
Ticks World::slice_min(Place place) {
    return slice_end(place);
}

// Concrete clocks: small numbers, for locks that calculate with times. Each context has a clock of
// its own, since nobody compares the times of two: how fast one goes is nobody else's step. It is
// somewhere in a slice at first; every other slice has its whole length. Time goes on between two
// looks if the adversary spends from `stale`, at most to the end of the slice; to a deadline that
// somebody waits for, from `expiry`; and when nobody can run.
void World::elapse() {
    Agent &a = me();
    if (!a.slice_end)
        a.slice_end = rules_.clock - search_->choose(static_cast<unsigned>(rules_.clock));
    if (!a.left[Budget::stale])
        return;
    if (unsigned by = search_->choose(static_cast<unsigned>(a.slice_end - a.clock) + 1)) {
        a.left[Budget::stale]--;
        advance(a, a.clock + by);
        say(a.place, "time goes on to " + std::to_string(a.clock) + ", in its slice " +
                         std::to_string(a.slices));
    }
}

// Whoever reaches the end of its slice is off its CPU, and back at the beginning of the next.
void World::advance(Agent &a, Ticks t) const {
    a.clock = std::max(a.clock, t);
    if (a.clock < a.slice_end)
        return;
    a.slice_end = a.clock + rules_.clock;
    a.slices++;
}

void World::arrives(bool tells) {
    Agent &a = me();
    a.arrival.step(steps_, tells, a.slices, a.slice_end - a.clock);
}

bool World::is_preempted(uint32_t id, Place place) {
    settle(place);
    return id && (may(Budget::stale) || may(Budget::lies));
}

// Used up, or without end.
Ticks World::quota_end(Place place) {
    if (!is_inside() || !me().left[Budget::lies])
        return never;
    settle(place);
    return may(Budget::lies) ? 0 : never;
}

// Each has its own.
uint32_t World::cpu(Place place) {
    auto own = static_cast<uint32_t>(self_);

    if (!is_inside() || !me().left[Budget::lies])
        return own;
    settle(place);
    return own + may(Budget::lies);
}

} // namespace ol::check
