// SPDX-License-Identifier: MIT
#include "scenario.h"

#include "table.h"

#include "barriers.h"

#include <check/engine/subjects.h>
#include <check/engine/tuning.h>

#include <algorithm>
#include <string_view>

namespace ol::simulator {

namespace {

constexpr unsigned most_cpus = 4096, most_contexts = 16384;

Costs read_costs(const Json &json) {
    Table t(json, "machine.costs");
    Costs c;

#define COST(name, ...) t.time(#name, ns, c.name);
#include "costs.def"
#undef COST
    t.end();
    return c;
}

Machine read_machine(const Json &json) {
    Table t(json, "machine");
    Machine m;

    t.get("cpus", m.cpus);
    t.get("threads_per_core", m.threads_per_core);
    t.get("cores_per_socket", m.cores_per_socket);
    t.get("smt_percent", m.smt_percent);
    t.get("jitter_percent", m.jitter_percent);
    t.time("tick_jitter_ns", ns, m.tick_jitter);
    if (auto costs = t.take("costs"))
        m.costs = read_costs(*costs);
    t.end();
    at_least_one(m.cpus, "machine.cpus");
    at_most(m.cpus, most_cpus, "machine.cpus");
    at_least_one(m.threads_per_core, "machine.threads_per_core");
    at_most(m.threads_per_core, most_cpus, "machine.threads_per_core");
    at_least_one(m.cores_per_socket, "machine.cores_per_socket");
    at_most(m.cores_per_socket, most_cpus, "machine.cores_per_socket");
    at_least_one(m.smt_percent, "machine.smt_percent");
    if (m.jitter_percent > 99)
        bad("machine.jitter_percent is above 99");
    if (m.tick_jitter > ms)
        bad("machine.tick_jitter_ns is above 1000000");
    return m;
}

bool is_scheduler(const std::string &name) {
    bool found = false;

#define HOST(id, what) found |= name == #id;
#define SETTING(...)
#include "hosts.def"
#undef SETTING
#undef HOST
    return found;
}

// Only the settings of the scheduler that is used.
HostSettings read_scheduler(Table &t, std::string &scheduler) {
    HostSettings s;

    t.get("scheduler", scheduler);
    if (!is_scheduler(scheduler))
        bad("there is no scheduler " + scheduler);
    Table settings(t.take("settings").value_or(Json::object()), scheduler);
    constexpr Time n = 1;
#define HOST(...)
#define SETTING(host, name, unit, ...)                                                             \
    if (scheduler == #host)                                                                        \
        settings.time(#name, unit, s.host##_##name);
#include "hosts.def"
#undef SETTING
#undef HOST
    (void)n;
    settings.end();
    return s;
}

// Those that are named, with their settings.
Features read_features(const Json &json) {
    Table t(json, "host.features");
    Features f;
    constexpr Time n = 1;

#define FEATURE(name, what)                                                                        \
    auto name = t.take(#name);                                                                     \
    f.name = name.has_value();                                                                     \
    Table name##_settings(name.value_or(Json::object()), #name);
#define SETTING(feature, name, unit, ...) feature##_settings.time(#name, unit, f.feature##_##name);
#include "features.def"
#undef SETTING
#undef FEATURE
#define FEATURE(name, what) name##_settings.end();
#define SETTING(...)
#include "features.def"
#undef SETTING
#undef FEATURE
    (void)n;
    t.end();
    return f;
}

Kind kind_of(const std::string &name) {
#define GUEST(id, what)                                                                            \
    if (name == #id)                                                                               \
        return Kind::id;
#include "guests.def"
#undef GUEST
    bad("there is no kind of guest " + name);
}

// true, or a window and a bound.
TracePlan read_trace(const Json &json) {
    TracePlan plan;

    plan.wanted = true;
    if (json.is_boolean()) {
        plan.wanted = json.get<bool>();
        return plan;
    }
    Table t(json, "trace");
    t.time("from_us", us, plan.from);
    t.time("until_us", us, plan.until);
    t.get("most_events", plan.most_events);
    t.end();
    if (plan.until <= plan.from)
        bad("trace.until_us is not after trace.from_us");
    return plan;
}

// The place of the last of the |-separated values.
uint64_t last_of(std::string_view values) {
    return static_cast<uint64_t>(std::ranges::count(values, '|'));
}

// Times as given, a unit of burn being a nanosecond.
workload_params read_params(const Json &json) {
    Table t(json, "parameters");
    workload_params p;
    const std::map<std::string, uint64_t> unit = {{"ns", 1}, {"count", 1}, {"milli", 1000}};

#define PARAM(workload, name, unit_, preset, least, most, ...)                                     \
    {                                                                                              \
        double value = preset;                                                                     \
        if (t.get(#workload "_" #name, value) && !(value >= (least) && value <= (most)))           \
            bad("parameters." #workload "_" #name " is not from " #least " to " #most);            \
        p.workload##_##name = static_cast<uint64_t>(value * static_cast<double>(unit.at(#unit_))); \
    }
#define CHOICE(workload, name, values, what)                                                       \
    p.workload##_##name = 0;                                                                       \
    t.get(#workload "_" #name, p.workload##_##name);                                               \
    at_most(p.workload##_##name, last_of(values), "parameters." #workload "_" #name);
#include <bench/workload/params.def>
#undef CHOICE
#undef PARAM
    t.end();
    return p;
}

// In ticks.
ol_tuning read_tuning(const Json &json) {
    Table t(json, "tunables");
    ol_tuning in_ns = engine::presets(), tuning;

#define OL_TUNABLE(name, unit, preset, least, most, ...)                                           \
    {                                                                                              \
        constexpr std::string_view kind = #unit;                                                   \
        constexpr Time tick = kind == "ns" || kind == "finite" ? ns : 1;                           \
        Time value = in_ns.name == never ? never : in_ns.name * tick;                              \
        t.time(#name, tick, value);                                                                \
        bool inf = value == never && kind == "ns";                                                 \
        if (!inf && (value + 1 < (least) * tick + 1 || value > (most) * tick))                     \
            bad("tunables." #name " is not from " #least " to " #most);                            \
        tuning.name = value;                                                                       \
    }
#include <overlock/tunables.def>
#undef OL_TUNABLE
    t.end();
    return tuning;
}

const ol_lock_ops *lock_of(const std::string &name) {
    const ol_lock_ops *found = engine::find_subject(name);

    if (!found)
        found = find_barrier(name);
    if (!found && name != "none")
        bad("there is no lock " + name);
    return found;
}

GuestPlan read_guest(const Json &json, size_t number) {
    GuestPlan g;
    std::string kind = "threads", lock = "none";

    g.name = "guest" + std::to_string(number + 1);
    Table t(json, g.name);
    t.get("name", g.name);
    t.get("kind", kind);
    g.kind = kind_of(kind);
    t.get("contexts", g.contexts);
    t.get("vcpus", g.vcpus);
    if (auto scheduler = t.take("guest_scheduler")) {
        Table s(*scheduler, g.name + ".guest_scheduler");
        g.settings = read_scheduler(s, g.scheduler);
        s.end();
    }
    t.get("lock", lock);
    g.lock = lock_of(lock);
    g.workload = g.lock ? "sections" : "burn";
    t.get("workload", g.workload);
    if (auto mix = t.take("mix"))
        g.mix = read_mix(*mix, g.name + ".mix");
    g.params = read_params(t.take("parameters").value_or(Json::object()));
    g.tuning = read_tuning(t.take("tunables").value_or(Json::object()));
    t.time("quota_us", us, g.quota);
    t.time("period_us", us, g.period);
    t.get("weight", g.weight);
    t.get("pinned", g.pinned);
    t.get("cap_percent", g.cap_percent);
    t.get("told_slices", g.told_slices);
    t.time("told_delay_us", us, g.told_delay);
    t.time("told_error_us", us, g.told_error);
    t.get("told_preempted", g.told_preempted);
    t.get("told_quota", g.told_quota);
    t.end();
    if ((g.workload == "mix") == g.mix.locks.empty())
        bad(g.name + ".mix is what the workload mix needs, and no other has");
    if (!g.lock && g.workload != "burn")
        bad(g.name + ".lock is missing, which the workload " + g.workload + " takes");
    if (g.lock && is_barrier(*g.lock) != (g.workload == "rounds"))
        bad(g.name + ": the workload rounds is for barriers, and barriers for rounds");
    at_least_one(g.contexts, g.name + ".contexts");
    at_most(g.contexts, most_contexts, g.name + ".contexts");
    at_most(g.vcpus, most_cpus, g.name + ".vcpus");
    at_least_one(g.weight, g.name + ".weight");
    if (g.period < us)
        bad(g.name + ".period_us is below 1");
    if (g.kind == Kind::users)
        at_least_one(g.vcpus, g.name + ".vcpus");
    return g;
}

void check_pins(const Scenario &s) {
    for (const GuestPlan &g : s.guests)
        for (unsigned cpu : g.pinned)
            if (cpu >= s.machine.cpus)
                bad(g.name + " is pinned to CPU " + std::to_string(cpu) + " of " +
                    std::to_string(s.machine.cpus));
}

} // namespace

const char *kind_name(Kind kind) {
    constexpr const char *names[] = {
#define GUEST(name, what) #name,
#include "guests.def"
#undef GUEST
    };

    return names[static_cast<size_t>(kind)];
}

Scenario read_scenario(std::istream &in) {
    Json json = Json::parse(in, nullptr, false);
    if (json.is_discarded())
        bad("the scenario is no JSON");
    Table t(json, "scenario");
    Scenario s;

    if (auto machine = t.take("machine"))
        s.machine = read_machine(*machine);
    if (auto host = t.take("host")) {
        Table h(*host, "host");
        s.settings = read_scheduler(h, s.scheduler);
        if (auto features = h.take("features"))
            s.features = read_features(*features);
        h.end();
    }
    Json guests = t.take("guests").value_or(Json::array());
    if (!guests.is_array())
        bad("guests is no array");
    for (size_t i = 0; i < guests.size(); i++)
        s.guests.push_back(read_guest(guests[i], i));
    if (s.guests.empty())
        bad("there are no guests");
    t.get("seed", s.seed);
    t.time("warm_up_us", us, s.warm_up);
    t.time("time_us", us, s.time);
    if (auto trace = t.take("trace"))
        s.trace = read_trace(*trace);
    t.get("who_for_whom", s.who_for_whom);
    t.end();
    check_pins(s);
    return s;
}

} // namespace ol::simulator
