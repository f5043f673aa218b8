// SPDX-License-Identifier: MIT
#include "results.h"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace ol::simulator {

namespace {

using Json = nlohmann::ordered_json;

double in_ns(Time t) {
    return static_cast<double>(t) / static_cast<double>(ns);
}

Json lengths(const Lengths &l) {
    Json counts = Json::array();

    for (size_t i = 0; i < l.counts().size(); i++)
        if (l.counts()[i])
            counts.push_back({in_ns(Lengths::least(i)), l.counts()[i]});
    return {{"number", l.number},
            {"total_ns", in_ns(l.total)},
            {"longest_ns", in_ns(l.longest)},
            {"counts", counts}};
}

// Whether the guest's lock counts tickets as they are taken.
bool has_tickets(const Guest &g) {
    return std::any_of(g.tasks.begin(), g.tasks.end(),
                       [](auto &t) { return t->counts.events[OL_QUEUE]; });
}

Json context(const Task &t, bool tickets) {
    const Counts &c = t.counts;

    return {{"turns", c.turns},
            {"ran_ns", in_ns(c.ran)},
            {"waited_ns", in_ns(c.waited)},
            {"spun_ns", in_ns(c.spun)},
            {"stalls_held_running", c.stalls_running},
            {"stalls_held_off_cpu", c.stalls_off_cpu},
            {"stalls_free", c.stalls_free},
            {"holder_preempted", c.holder_preempted},
            {"waiter_preempted", tickets ? c.queued_preempted : c.waiter_preempted},
            {"waiter_preempted_since_call", c.waiter_preempted},
            {"holder_changed_slice", c.holder_changed},
            {"waiter_changed_slice", tickets ? c.queued_changed : c.waiter_changed},
            {"preempted_holding", c.preempted_inside},
            {"preempted_waiting", tickets ? c.preempted_queued : c.preempted_waiting},
            {"preempted_since_call", c.preempted_waiting},
            {"sleeps", c.sleeps},
            {"interrupts", c.interrupts},
            {"interrupts_holding", c.interrupts_inside},
            {"parks", c.parks},
            {"kicks", c.kicks},
            {"yields", c.yields},
            {"directed_yields", c.directed},
            {"exits", c.exits}};
}

Json events_of(const Guest &g) {
    Json all = Json::object();

#define OL_EVENT(name, what)                                                                       \
    {                                                                                              \
        uint64_t n = 0;                                                                            \
        for (auto &t : g.tasks)                                                                    \
            n += t->counts.events[OL_##name];                                                      \
        if (n)                                                                                     \
            all[#name] = n;                                                                        \
    }
#include <overlock/events.def>
#undef OL_EVENT
    return all;
}

// What the library counts natively, here exactly.
Json counted(const Guest &g) {
    Json all = events_of(g);
    bool tickets = has_tickets(g);
    uint64_t running = 0, off_cpu = 0, free = 0, holders = 0, waiters = 0;

    for (auto &t : g.tasks) {
        const Counts &c = t->counts;
        running += c.stalls_running;
        off_cpu += c.stalls_off_cpu;
        free += c.stalls_free;
        holders += c.holder_preempted;
        waiters += tickets ? c.queued_preempted : c.waiter_preempted;
    }
    all["ACQUIRE"] = g.waits.number;
    all["STALL"] = running + off_cpu + free;
    all["STALL_HELD"] = running + off_cpu;
    all["STALL_FREE"] = free;
    all["LHP"] = holders;
    all["LWP"] = waiters;
    all["HANDOVER"] = g.handovers.number;
    return all;
}

// [n, how often] of each event with a position, such as the contexts ahead at a ticket's taking.
Json positions(const Guest &g) {
    Json all = Json::object();

#define OL_EVENT(name, what)
#define OL_EVENT_AT(name, what)                                                                    \
    {                                                                                              \
        const auto &counts = g.positions[OL_##name];                                               \
        for (size_t n = 0; n < counts.size(); n++)                                                 \
            if (counts[n])                                                                         \
                all[#name].push_back({n, counts[n]});                                              \
    }
#include <overlock/events.def>
#undef OL_EVENT
    return all;
}

Json overtakers(const Guest &g) {
    Json all = Json::array();

    for (auto &[what, number] : g.overtakers)
        all.push_back({what.first, what.second, number});
    return all;
}

Json who_for_whom(const Blame &b) {
    Json held = Json::array(), free = Json::array();

    for (auto &[who, time] : b.held)
        held.push_back({who.first + 1, who.second + 1, in_ns(time.running), in_ns(time.off_cpu)});
    for (auto &[who, time] : b.free)
        free.push_back({who + 1, in_ns(time)});
    return {{"held", held}, {"free", free}};
}

uint64_t halts(const Guest &g) {
    uint64_t n = 0;

    for (auto &c : g.cpus)
        n += c->halts;
    for (auto &t : g.tasks)
        n += g.plan.kind == Kind::kernel ? t->counts.parks + t->counts.sleeps : 0;
    return n;
}

Json guest(const Guest &g) {
    bool tickets = has_tickets(g);
    Json contexts = Json::array(), locks = Json::array();

    for (auto &t : g.tasks)
        contexts.push_back(context(*t, tickets));
    for (const workload_lock &l : g.locks)
        locks.push_back({{"held_running_ns", in_ns(l.held_running)},
                         {"held_off_cpu_ns", in_ns(l.held_off_cpu)},
                         {"free_ns", in_ns(l.free)}});
    Json all = {{"name", g.plan.name},
                {"contexts", contexts},
                {"waits", lengths(g.waits)},
                {"holds", lengths(g.holds)},
                {"handovers", lengths(g.handovers)},
                {"contended", locks},
                {"throttled_ns", in_ns(g.group.throttled_for)},
                {"halts", halts(g)},
                {"events", counted(g)},
                {"positions", positions(g)},
                {"overtakers", overtakers(g)}};
    if (g.blame)
        all["who_for_whom"] = who_for_whom(*g.blame);
    return all;
}

} // namespace

void write_results(const Simulation &simulation, std::ostream &out) {
    Json guests = Json::array();
    const Traffic &traffic = const_cast<Simulation &>(simulation).lines().traffic;

    for (auto &g : simulation.guests())
        guests.push_back(guest(*g));
    Json all = {{"time_ns", in_ns(simulation.scenario().time)},
                {"guests", guests},
                {"idle_ns", in_ns(simulation.host().idle)},
                {"idle_while_waited_for_ns", in_ns(simulation.host().stranded)},
                {"transfers", traffic.transfers},
                {"invalidations", traffic.invalidations},
                {"stores_to_shared", traffic.stores_to_shared},
                {"steps", simulation.events().happened()},
                {"failure", simulation.failure()}};
    std::string text = all.dump(1);
    if (const Trace *trace = simulation.trace()) {
        text.erase(text.rfind('\n')); // and the bracket after it
        out << text << ",\n \"trace\": ";
        trace->write(out);
        text = "\n}";
    }
    out << text << "\n";
}

} // namespace ol::simulator
