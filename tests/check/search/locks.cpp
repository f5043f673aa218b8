// SPDX-License-Identifier: MIT
#include "locks.h"

#include <check/engine/subjects.h>

#include <map>

namespace ol::search {

namespace {

// Who acquired each lock, in order, and what every context's tries were answered.
struct Log {
    const ol_lock_ops *ops = nullptr;
    check::World *world = nullptr;
    std::map<const void *, std::string> served;
    std::map<size_t, std::string> tries;
} log;

bool took(void *l, bool got, bool tried) {
    if (!log.world->is_inside())
        return got;
    size_t me = log.world->running();
    if (got)
        log.served[l] += std::to_string(me + 1);
    if (tried)
        log.tries[me] += got ? '+' : '-';
    return got;
}

ol_lock_ops logging(const ol_lock_ops &ops) {
    ol_lock_ops o = ops;

    o.lock = [](void *l) {
        log.ops->lock(l);
        took(l, true, false);
    };
    o.trylock = [](void *l) { return took(l, log.ops->trylock(l), true); };
    if (ops.timedlock)
        o.timedlock = [](void *l, ol_ticks_t until) {
            return took(l, log.ops->timedlock(l, until), true);
        };
    return o;
}

check::World &log_to(check::World &world, const ol_lock_ops &ops) {
    log.ops = &ops;
    log.world = &world;
    return world;
}

check::Rules rules(check::Scenario scenario) {
    check::Rules r;

    r.tuning.tau = 100; // as overlock-check's
    r.tuning.spin = 1000;
    r.tuning.backoff = 10;
    r.tuning.near = 1;
    r.tuning.near_spin = 2000;
    check::prepare(scenario, r);
    return r;
}

} // namespace

LockCase::LockCase(check::Model model, const ol_lock_ops &ops, check::Scenario scenario)
    : lock_(ops),
      ops_(logging(ops)),
      scenario_(scenario),
      world_(model, rules(scenario)),
      client_(log_to(world_, lock_), ops_, {scenario_, 2, 1}) {}

std::string LockCase::name() const {
    return std::string(lock_.id) + ", " + check::scenario_list[static_cast<size_t>(scenario_)].name;
}

std::string LockCase::outcome(const check::Program &program) {
    std::string t;

    for (size_t i = 0; i < program.contexts; i++) {
        t += std::string(world_.doing(i)) + " tried " + log.tries[i] + " counted";
        for (unsigned e = 0; e < OL_EVENTS; e++)
            t += " " + std::to_string(world_.counted(i, e));
        t += "; ";
    }
    for (auto &[lock, who] : log.served)
        t += "served " + who + "; ";
    for (uint8_t byte : world_.memory().used())
        if (byte)
            t += std::to_string(byte) + " ";
    return t;
}

Found LockCase::explore(check::SearchKind search, uint64_t executions) {
    check::Program program = client_.program();
    auto set_up = program.set_up;
    program.set_up = [&](engine::Memory &memory) {
        log.served.clear();
        log.tries.clear();
        set_up(memory);
    };
    return search::explore(world_, program, search, executions, [&] { return outcome(program); });
}

void for_each_case(check::Model model, const std::function<void(LockCase &)> &use) {
    for (auto *s = engine::subjects; *s; s++)
        for (size_t i = 0; i < static_cast<size_t>(check::Scenario::count); i++) {
            auto scenario = static_cast<check::Scenario>(i);
            if (check::is_drawn(scenario) ||
                !check::applies(scenario, **s, (*s)->traits & OL_ELIDES))
                continue;
            LockCase c(model, **s, scenario);
            use(c);
        }
}

} // namespace ol::search
