// SPDX-License-Identifier: MIT
#ifndef OL_SIM_SCENARIO_H
#define OL_SIM_SCENARIO_H
// One run: a machine, its scheduler, and the guests on it. Read from the JSON that `overlock sim`
// makes of a scenario: every value is there, and checked.
#include "host/host.h"
#include "machine.h"
#include "mix.h"

#include <overlock/ops.h>
#include <bench/workload/workload.h>

#include <istream>
#include <map>
#include <optional>

namespace ol::simulator {

enum class Kind : uint8_t {
#define GUEST(name, what) name,
#include "guests.def"
#undef GUEST
};

struct GuestPlan {
    std::string name;
    Kind kind = Kind::threads;
    bool is_kernel() const { return kind == Kind::kernel || kind == Kind::tasks; }
    unsigned contexts = 1;
    unsigned vcpus = 0;             // of `users`
    std::string scheduler = "fair"; // of `users`
    HostSettings settings;
    const ol_lock_ops *lock = nullptr; // null: it burns CPU time and takes no lock
    std::string workload;
    workload_params params;
    Mix mix; // of the workload mix
    ol_tuning tuning;
    Time quota = never, period = 100 * ms;
    unsigned weight = 1024, cap_percent = 0;
    std::vector<unsigned> pinned;
    // What the host tells it: when its slices end (by a page that is written `delay` after it is
    // decided, and is wrong by up to `error`), which of its virtual CPUs have no CPU, when its
    // quota runs out.
    bool told_slices = false, told_preempted = false, told_quota = false;
    Time told_delay = 0, told_error = 0;
};

struct Scenario {
    Machine machine;
    std::string scheduler = "fair";
    HostSettings settings;
    Features features;
    std::vector<GuestPlan> guests;
    uint64_t seed = 1;
    Time warm_up = 0, time = second;
    TracePlan trace;
    bool who_for_whom = false; // counted, at a cost for each waiter
};

Scenario read_scenario(std::istream &in);
const char *kind_name(Kind kind);

} // namespace ol::simulator
#endif
