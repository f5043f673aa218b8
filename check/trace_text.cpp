// SPDX-License-Identifier: MIT
// Text for people: states of contexts, values, and the steps of a trace.
#include "format.h"
#include "world.h"

namespace ol::check {

namespace {

constexpr const char *ops[] = {"load", "store", "xchg", "cas", "add", "or", "and"};
constexpr const char *orders[] = {"relaxed", "acquire", "release", "acq_rel"};

} // namespace

const char *World::doing(size_t context) const {
    const Agent &a = *agents_[context];

    switch (a.doing) {
    case Doing::parks:
        return a.kicked ? "runs" : "parks";
    case Doing::off:
        return "off";
    case Doing::done:
        return "done";
    case Doing::runs:
        return a.watches && !loads_->sees_change(context) ? "relaxes" : "runs";
    }
    return "?";
}

std::string World::text(Place p) const {
    return p.file ? std::string(base_name(p.file)) + ":" + std::to_string(p.line) : "nowhere";
}

// A pointer is told by what it points to.
std::string World::value(uint64_t v, unsigned width) const {
    auto &memory = const_cast<Memory &>(memory_);
    auto *pointer = reinterpret_cast<const void *>(v); // NOLINT(performance-no-int-to-ptr)

    return width == sizeof pointer && memory.find(pointer) ? "&" + memory.describe(pointer)
                                                           : hex(v);
}

std::string World::who_waits() const {
    auto &memory = const_cast<Memory &>(memory_);
    std::string all;

    for (size_t i = 0; i < contexts_; i++) {
        const Agent &a = *agents_[i];
        all += (all.empty() ? "" : "; ") + context_name(i);
        switch (a.doing) {
        case Doing::done:
            all += " done";
            break;
        case Doing::off:
            all += " off its CPU for ever, at " + text(a.place);
            break;
        case Doing::parks:
            all += " parked at " + text(a.place);
            if (a.parked_on)
                all += (a.key ? " on " : " for the release of ") + memory.describe(a.parked_on) +
                       (a.key ? " with key " + hex(a.key) : "");
            break;
        case Doing::runs:
            if (!a.watches) {
                all += " can run at " + text(a.place);
                break;
            }
            all += std::string(a.yields ? " yields" : " relaxes") + " at " + text(a.place);
            for (const Seen &s : loads_->seen(i))
                all += ", saw " + memory.describe(s.at) + " = " + value(s.value, s.width);
        }
    }
    return all;
}

void World::say(Place place, std::string what, bool is_mark) {
    if (!trace_ || !is_inside())
        return;
    TraceEvent t;
    t.context = name_of(static_cast<Process>(self_), contexts_);
    t.place = place;
    t.what = std::move(what);
    t.is_mark = is_mark;
    for (size_t i = 0; i < contexts_; i++)
        t.doing.push_back(doing(i));
    trace_->push_back(std::move(t));
}

void World::say_access(const Access &a, Order order, uint64_t old, uint64_t left) {
    if (!trace_)
        return;
    std::string where = memory_.describe(a.address());
    bool buffered = loads_->is_silent(a), failed = a.op == Op::cas && old != a.expected;
    std::string what = std::string(ops[int(a.op)]) + (a.width == 2 ? "_half_" : "_") +
                       orders[int(order)] + " " + where;

    std::string before = value(old, a.width), after = value(left, a.width);
    if (a.op == Op::load)
        what += " = " + before;
    else if (a.op == Op::store)
        what += " = " + after + (buffered ? ", into its store buffer" : "");
    else if (failed)
        what += ": " + before + ", expected " + value(a.expected, a.width) + ": fails";
    else
        what += ": " + before + " -> " + after;
    say(a.place, std::move(what));
    TraceEvent &t = trace_->back();
    t.op = ops[int(a.op)];
    t.order = orders[int(order)];
    t.object = where;
    t.width = a.width;
    t.before = before;
    t.after = a.op == Op::load || failed ? before : after;
}

} // namespace ol::check
