// SPDX-License-Identifier: MIT
#include "checker.h"

#include <ctime>
#include <stdexcept>

namespace ol::check {

namespace {

// CPU time: a search is as long on a machine that has other work.
double seconds_used() {
    timespec t{};

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return double(t.tv_sec) + double(t.tv_nsec) / 1e9;
}

std::unique_ptr<Search> make(const Limits &limits, World &world) {
    switch (limits.search) {
    case SearchKind::pct:
        return make_pct(limits.seed);
    case SearchKind::walk:
        return make_walk(limits.seed);
    case SearchKind::dpor:
    case SearchKind::plain:
        break;
    }
    return make_dpor(world, limits.search == SearchKind::dpor);
}

} // namespace

Outcome explore(World &world, const Program &program, const Limits &limits) {
    constexpr uint64_t between_looks = 256, steps_between = 16'384; // at the clock
    uint64_t looked = 0;
    double begin = seconds_used();
    auto search = make(limits, world);
    ExecutionTrace trace;
    Outcome o;

    if (limits.tell)
        world.tell_to(&trace);
    for (uint64_t n = 1;; n++) {
        trace.clear();
        bool whole = world.run(program, *search);
        if (limits.tell && whole)
            limits.tell(trace);
        (whole ? o.executions : o.redundant)++;
        o.steps += world.steps();
        if (world.failure()) {
            o.failure = world.failure();
            o.path = search->path();
            o.ended = "failed";
            break;
        }
        if (world.ends_search()) {
            o.ended = "open";
            break;
        }
        if (world.must_begin_anew()) {
            search = make(limits, world);
            world.forget_loops();
            o = {};
            looked = 0;
            continue;
        }
        if (!search->next()) {
            o.exhausted = world.left_open().empty();
            o.ended = o.exhausted ? o.ended : "open";
            break;
        }
        if (o.executions >= limits.executions) {
            o.ended = "executions";
            break;
        }
        if (n % between_looks && o.steps - looked < steps_between)
            continue;
        looked = o.steps;
        o.seconds = seconds_used() - begin;
        if (o.seconds >= limits.seconds) {
            o.ended = "time";
            break;
        }
        if (!limits.progress({o.executions, o.redundant, o.steps, o.seconds})) {
            o.ended = "interrupted";
            break;
        }
    }
    world.tell_to(nullptr);
    o.seconds = seconds_used() - begin;
    return o;
}

Outcome explore(const Program &program, Model model, const Limits &limits) {
    World world(model, {});
    return explore(world, program, limits);
}

Outcome replay(World &world, const Program &program, const Path &path, ExecutionTrace &trace) {
    auto search = make_replay(path);
    Outcome o;

    trace.clear();
    world.tell_to(&trace);
    while (world.run(program, *search), world.must_begin_anew()) {
        search = make_replay(path);
        trace.clear();
    }
    world.tell_to(nullptr);
    if (std::string why = search->misfit(); !why.empty())
        throw std::invalid_argument(
            "replay: " + why +
            "; give the lock, size, scenario, model and budgets of the check that printed the "
            "schedule");
    o.executions = 1;
    o.steps = world.steps();
    o.failure = world.failure();
    o.path = path;
    o.ended = o.failure ? "failed" : "executions";
    return o;
}

} // namespace ol::check
