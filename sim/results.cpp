// SPDX-License-Identifier: MIT
#include "results.h"

#include <nlohmann/json.hpp>

namespace ol::simulator
{

namespace
{

using Json = nlohmann::ordered_json;

double in_ns(Time t)
{
	return static_cast<double>(t) / static_cast<double>(ns);
}

Json lengths(const Lengths &l)
{
	Json counts = Json::array();

	for (size_t i = 0; i < l.counts().size(); i++)
		if (l.counts()[i])
			counts.push_back({ in_ns(Lengths::least(i)), l.counts()[i] });
	return { { "number", l.number },
		 { "total_ns", in_ns(l.total) },
		 { "longest_ns", in_ns(l.longest) },
		 { "counts", counts } };
}

Json context(const Task &t)
{
	const Counts &c = t.counts;

	return { { "turns", c.turns },
		 { "ran_ns", in_ns(c.ran) },
		 { "waited_ns", in_ns(c.waited) },
		 { "spun_ns", in_ns(c.spun) },
		 { "holder_preempted", c.holder_preempted },
		 { "waiter_preempted", c.waiter_preempted },
		 { "preempted_holding", c.preempted_inside },
		 { "preempted_waiting", c.preempted_waiting },
		 { "parks", c.parks },
		 { "kicks", c.kicks },
		 { "yields", c.yields } };
}

Json events_of(const Guest &g)
{
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

Json guest(const Guest &g)
{
	Json contexts = Json::array(), locks = Json::array();

	for (auto &t : g.tasks)
		contexts.push_back(context(*t));
	for (const workload_lock &l : g.locks)
		locks.push_back({ { "held_running_ns", in_ns(l.held_running) },
				  { "held_off_cpu_ns", in_ns(l.held_off_cpu) },
				  { "free_ns", in_ns(l.free) } });
	return { { "name", g.plan.name },	{ "contexts", contexts },
		 { "waits", lengths(g.waits) }, { "holds", lengths(g.holds) },
		 { "contended", locks },	{ "throttled_ns", in_ns(g.group.throttled_for) },
		 { "events", events_of(g) } };
}

} // namespace

void write_results(const Simulation &simulation, std::ostream &out)
{
	Json guests = Json::array();
	const Traffic &traffic = const_cast<Simulation &>(simulation).lines().traffic;

	for (auto &g : simulation.guests())
		guests.push_back(guest(*g));
	Json all = { { "time_ns", in_ns(simulation.scenario().time) },
		     { "guests", guests },
		     { "transfers", traffic.transfers },
		     { "invalidations", traffic.invalidations },
		     { "stores_to_shared", traffic.stores_to_shared },
		     { "steps", simulation.events().happened() },
		     { "failure", simulation.failure() } };
	out << all.dump(1) << "\n";
}

} // namespace ol::simulator
