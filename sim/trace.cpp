// SPDX-License-Identifier: MIT
#include "trace.h"

#include "simulation.h"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace ol::simulator {

using Json = nlohmann::ordered_json;

Trace::Trace(const Simulation &simulation, const TracePlan &plan)
    : simulation_(simulation), plan_(plan), until_(plan.until) {}

// Recording.

void Trace::add(Traced what, uint32_t who, uint32_t other, Lost why) {
    Time now = simulation_.events().now();

    if (now >= until_)
        return;
    if (events_.size() == plan_.most_events) {
        until_ = now;
        return;
    }
    events_.push_back({now, who, other, what, why});
}

void Trace::run(const Entity &e, const Cpu &c) {
    add(Traced::run, e.traced, c.traced);
}

void Trace::lose(const Entity &e, const Cpu &c, Lost why) {
    add(Traced::lose, e.traced, c.traced, why);
}

void Trace::ready(const Entity &e) {
    add(Traced::ready, e.traced);
}

void Trace::lock(Traced what, const Task &t, uint32_t lock) {
    add(what, t.traced, lock);
}

void Trace::park(const Task &t) {
    add(Traced::park, t.traced);
}

void Trace::kick(const Task &by, const Task &woken) {
    add(Traced::kick, by.traced, woken.traced);
}

void Trace::quota(Traced what, const Group &g) {
    add(what, g.traced);
}

// What is so when it begins, as if it happened then; waits and sections since they began.

void Trace::was(Time since, Traced what, uint32_t who, uint32_t other) {
    events_.push_back({since, who, other, what, Lost::slice});
}

void Trace::snapshot(const Entity &e) {
    if (e.runnable)
        add(Traced::ready, e.traced);
    if (e.cpu)
        add(Traced::run, e.traced, e.cpu->traced);
}

void Trace::snapshot(const Task &t) {
    if (t.waiting)
        was(t.wait_from, Traced::wait, t.traced, t.waits_for->number);
    for (const workload_lock *l : t.held) {
        was(l->acquired_at, Traced::wait, t.traced, l->number);
        was(l->acquired_at, Traced::acquire, t.traced, l->number);
    }
}

void Trace::begin() {
    for (auto &g : simulation_.guests())
        for (auto &t : g->tasks)
            snapshot(*t);
    std::stable_sort(events_.begin(), events_.end(),
                     [](const Event &a, const Event &b) { return a.at < b.at; });
    for (auto &g : simulation_.guests()) {
        if (g->group.throttled)
            quota(Traced::throttle, g->group);
        for (auto &c : g->cpus)
            snapshot(static_cast<const Entity &>(*c));
        for (auto &t : g->tasks) {
            snapshot(static_cast<const Entity &>(*t));
            if (t->parked_on)
                park(*t);
        }
    }
}

// Writing.

namespace {

Json kinds() {
    return {
#define TRACE(name, what) #name,
#define LOST(name, what)
#include "trace.def"
#undef LOST
#undef TRACE
    };
}

Json reasons() {
    return {
#define TRACE(name, what)
#define LOST(name, what) #name,
#include "trace.def"
#undef LOST
#undef TRACE
    };
}

Json entity(const Guest &g, unsigned number) {
    return {{"guest", g.group.traced}, {"number", number}};
}

} // namespace

void Trace::write(std::ostream &out) const {
    Time end = simulation_.events().now();
    Json guests = Json::array(), contexts = Json::array(), vcpus = Json::array(),
         locks = Json::array();

    for (auto &g : simulation_.guests()) {
        guests.push_back({{"name", g->plan.name},
                          {"kind", kind_name(g->plan.kind)},
                          {"lock", g->plan.lock ? g->plan.lock->id : "none"}});
        for (auto &t : g->tasks)
            contexts.push_back(entity(*g, t->id));
        for (auto &c : g->cpus)
            vcpus.push_back(entity(*g, c->Cpu::number));
        for (size_t i = 0; i < g->locks.size(); i++)
            locks.push_back(entity(*g, static_cast<unsigned>(i)));
    }
    Json all = {{"from", plan_.from},
                {"until", std::min(until_, end)},
                {"full", until_ < plan_.until},
                {"cpus", simulation_.machine().cpus},
                {"kinds", kinds()},
                {"reasons", reasons()},
                {"guests", guests},
                {"contexts", contexts},
                {"vcpus", vcpus},
                {"locks", locks}};
    std::string head = all.dump();
    head.pop_back();
    out << head << ",\"events\":[";
    const char *comma = "\n";
    for (const Event &e : events_) {
        out << comma << '[' << e.at << ',' << static_cast<unsigned>(e.what) << ',' << e.who << ','
            << e.other;
        if (e.what == Traced::lose)
            out << ',' << static_cast<unsigned>(e.why);
        out << ']';
        comma = ",\n";
    }
    out << "]}";
}

} // namespace ol::simulator
