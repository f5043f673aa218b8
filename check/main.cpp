// SPDX-License-Identifier: MIT
// overlock-check: explores one lock in one scenario, and says in lines of JSON what it found.
#include "call.h"
#include "checker.h"
#include "client.h"
#include "coverage.h"
#include "format.h"
#include "instrumented.h"
#include "native.h"
#include "places.h"
#include "waits/client.h"

#include <check/engine/subjects.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <climits>
#include <csignal>
#include <cstring>
#include <dlfcn.h>
#include <ext/stdio_filebuf.h>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <unistd.h>

using namespace ol;
using namespace ol::check;
using nlohmann::json;

namespace {

enum Exit { holds = 0, fails = 1, bad_usage = 2, not_exhausted = 3 };

volatile sig_atomic_t interrupted = 0;

struct Options {
    std::string lock, object, scenario = "lock", model = "sc", search = "dpor", replay, sites;
    std::string roles, turns = "1";
    std::vector<std::string> budgets, tunes, weaken, claims, own;
    std::optional<Ticks> clock;
    size_t contexts = 2;
    unsigned acquisitions = 2;
    Limits limits;
    bool list = false, about = false, trace = false, traces = false, timeouts = true,
         transactions = true, fresh = false, native = false, polls = false, fifo = false;
};

[[noreturn]] void bad(const std::string &what) {
    std::cerr << "overlock-check: " << what << "\n";
    exit(bad_usage);
}

// NAME=VALUE, the value a number or `inf`.
std::pair<std::string, uint64_t> assignment(const std::string &text) {
    size_t at = text.find('=');
    std::string value = at == std::string::npos ? "" : text.substr(at + 1);
    char *end = nullptr;
    uint64_t n = value == "inf" ? engine::never : strtoull(value.c_str(), &end, 10);

    if (value.empty() || (end && *end))
        bad("expected NAME=NUMBER, got " + text);
    return {text.substr(0, at), n};
}

template <class List> size_t index_of(const List &list, const std::string &name, const char *what) {
    std::string known;
    for (size_t i = 0; i < std::size(list); i++) {
        if (name == list[i].name)
            return i;
        known += std::string(i ? ", " : "") + list[i].name;
    }
    bad("there is no " + std::string(what) + " " + name + "; expected one of " + known);
}

constexpr struct {
    const char *name;
    Model model;
    const char *what;
} models[] = {
    {"sc", Model::sc, "sequential consistency"},
    {"tso", Model::tso, "x86: stores wait in buffers"},
    {"c11", Model::c11, "C11's orders, without load buffering; no transactions"},
};

constexpr struct {
    const char *name;
    SearchKind kind;
} searches[] = {{"dpor", SearchKind::dpor},
                {"plain", SearchKind::plain},
                {"pct", SearchKind::pct},
                {"walk", SearchKind::walk}};

// Times that are far apart: what matters is which are 0 and which never end.
ol_tuning usual_tuning() {
    ol_tuning t = engine::presets();
    t.tau = 100;
    t.spin = 1000;
    t.backoff = 10;
    t.short_line = 0; // two contexts are enough to meet in the queue
    t.near = 1;
    t.near_spin = 2000;
    t.csd = 1;
    t.warning = 1;
    t.tx_retries = 0; // one more is one more of the same
    return t;
}

void tune(ol_tuning &t, const std::string &text) {
    auto [name, value] = assignment(text);
#define OL_TUNABLE(id, ...)                                                                        \
    if (name == #id) {                                                                             \
        t.id = value;                                                                              \
        return;                                                                                    \
    }
#include <overlock/tunables.def>
#undef OL_TUNABLE
    bad("there is no tunable " + name);
}

Weakening weakening(const std::string &text) {
    size_t a = text.find(':'), b = text.rfind(':');
    std::string order = text.substr(b + 1);
    if (a == b || (order != "acquire" && order != "release"))
        bad("--weaken expects FILE:LINE:acquire or FILE:LINE:release, not " + text);
    return {text.substr(0, a), std::atoi(text.substr(a + 1, b - a - 1).c_str()), order == "acquire",
            order == "release"};
}

// N or `all`.
unsigned turns(const std::string &text) {
    unsigned n = 0;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);

    if (text == "all")
        return UINT_MAX;
    if (error != std::errc() || *end || n == 0)
        bad("--turns expects a number from 1 on, or all; got " + text);
    return n;
}

// Of locks that judge slices: long enough for one section, and too short for two. Longer ones, and
// ones that end between any two looks, multiply what there is to explore; only on request.
constexpr Ticks usual_slice = 2;

Rules rules_of(const Options &o, uint32_t traits, Scenario scenario) {
    Rules r;

    r.tuning = usual_tuning();
    r.timeouts = o.timeouts;
    r.clock = o.clock.value_or(traits & OL_NEEDS_SLICE ? usual_slice : 0);
    if (traits & OL_NEEDS_SLICE)
        r.budgets.left[static_cast<size_t>(Budget::stale)] = 0;
    if (!o.transactions)
        r.capacity = {0, 0};
    prepare(scenario, r);
    r.turns = turns(o.turns);
    for (const std::string &b : o.budgets) {
        auto [name, times] = assignment(b);
        r.budgets.left[index_of(budget_list, name, "budget")] = static_cast<uint32_t>(times);
    }
    for (const std::string &t : o.tunes)
        tune(r.tuning, t);
    for (const std::string &w : o.weaken)
        r.weakened.push_back(weakening(w));
    return r;
}

// An exhaustive search keeps a clock of every process; any search has a mask of them, in which
// contexts come before what they may not have.
size_t most_contexts(bool random, Model model, const Rules &rules) {
    return random && model != Model::tso && !rules.budgets[Budget::late] ? 60 : 15;
}

// NAME, or bypass=N.
Claimed claimed(const std::string &text) {
    auto [name, bound] =
        text.find('=') == std::string::npos ? std::pair(text, uint64_t(0)) : assignment(text);
    return {static_cast<Claim>(index_of(claim_list, name, "claim")), bound};
}

void *open(const std::string &object) {
    void *so = dlopen(object.c_str(), RTLD_NOW | RTLD_LOCAL);
    constexpr std::string_view undefined = "undefined symbol: ";

    if (so)
        return so;
    std::string why = dlerror();
    if (size_t at = why.find(undefined); at != std::string::npos)
        bad(why.substr(at + undefined.size()) +
            " is not defined; include the source file that defines it");
    bad(why);
}

const ol_lock_ops *load(const std::string &object, std::string &lock) {
    void *so = open(object);

    if (lock.empty()) {
        lock = object.substr(object.rfind('/') + 1);
        lock = lock.substr(0, lock.rfind('.'));
    }
    auto *ops = static_cast<const ol_lock_ops *>(dlsym(so, ("ol_sim_" + lock).c_str()));
    if (!ops)
        bad(object + " has no ol_sim_" + lock + ": compile it from check/engine/subject_unit.cpp");
    return ops;
}

// What a lock from outside prints is no part of the result.
void keep_output() {
    // Never destroyed, since std::cout is flushed after all else.
    auto *ours = new __gnu_cxx::stdio_filebuf<char>(dup(STDOUT_FILENO), std::ios::out);

    if (!ours->is_open() || !freopen("/dev/null", "w", stdout))
        bad("standard output cannot be kept apart from the lock's");
    std::cout.rdbuf(ours);
}

// A lock from outside that has a table of its own, or null.
std::unique_ptr<Foreign> foreign_lock(Options &o) {
    if (o.object.empty())
        return nullptr;
    void *so = open(o.object);
    if (!dlsym(so, "overlock_checked"))
        return nullptr;
    keep_output();
    if (o.lock.empty())
        o.lock = o.object.substr(o.object.rfind('/') + 1);
    o.lock = o.lock.substr(0, o.lock.rfind('.'));
    prefer_places(o.own);
    return std::make_unique<Foreign>(so, o.object);
}

const ol_lock_ops &find_lock(Options &o) {
    if (!o.object.empty())
        return *load(o.object, o.lock);
    if (o.lock.empty())
        bad("no lock; give --lock NAME or --load FILE.so");
    if (const ol_lock_ops *ops = engine::find_subject(o.lock))
        return *ops;
    bad("there is no lock " + o.lock + "; --list lists them");
}

// What waits and is no lock, or null.
const WaitSubject *find_wait(Options &o) {
    if (o.object.empty())
        return check::find_wait(o.lock);
    std::string name = o.object.substr(o.object.rfind('/') + 1);
    name = "ol_waits_" + (o.lock.empty() ? name.substr(0, name.rfind('.')) : o.lock);
    return static_cast<const WaitSubject *>(dlsym(open(o.object), name.c_str()));
}

// The readers' side of a lock from outside.
const SharedOps *shared_side(const Options &o) {
    std::string name = "ol_sim_" + o.lock + "_shared";

    if (o.roles.find('r') == std::string::npos)
        return nullptr;
    void *found = o.object.empty() ? nullptr : dlsym(open(o.object), name.c_str());
    if (!found)
        bad("--roles needs a loaded lock that has " + name);
    return static_cast<const SharedOps *>(found);
}

// Does it, where there are transactions?
bool elides(const ol_lock_ops &ops) {
    return ops.traits & OL_ELIDES;
}

json about(const WaitSubject &w) {
    json said = {{"id", w.id}, {"scenarios", json::array()}};

    for (const WaitScenario &s : w.scenarios)
        said["scenarios"].push_back({{"id", s.name}, {"what", s.what}});
    return said;
}

int list() {
    json all;

    for (auto *s = engine::subjects; *s; s++) {
        json lock = {{"id", (*s)->id}, {"scenarios", json::array()}};
        for (size_t i = 0; i < std::size(scenario_list); i++)
            if (auto scenario = static_cast<Scenario>(i);
                !is_drawn(scenario) && applies(scenario, **s, elides(**s)))
                lock["scenarios"].push_back(scenario_list[i].name);
        all["locks"].push_back(lock);
    }
    for (const WaitSubject *w : waits())
        all["waits"].push_back(about(*w));
    for (size_t i = 0; i < std::size(scenario_list); i++)
        all["scenarios"].push_back({{"id", scenario_list[i].name},
                                    {"what", scenario_list[i].what},
                                    {"drawn", is_drawn(static_cast<Scenario>(i))}});
    Budgets usual;
    for (size_t i = 0; i < budget_kinds; i++)
        all["budgets"].push_back(
            {{"id", budget_list[i].name}, {"what", budget_list[i].what}, {"times", usual.left[i]}});
    for (auto &c : claim_list)
        all["claims"].push_back({{"id", c.name}, {"source", c.source}, {"what", c.what}});
    for (auto &m : models)
        all["models"].push_back({{"id", m.name}, {"what", m.what}});
    all["library_calls"] = library_calls();
    std::cout << all << "\n";
    return holds;
}

// What of it can be checked.
int print_about(const ol_lock_ops &ops, const Foreign *foreign) {
    const ol_checked_lock *table = foreign ? &foreign->table() : nullptr;
    json lock = {{"scenarios", json::array()},
                 {"readers", table && table->read_lock},
                 {"broadcasts", table && table->broadcast}};

    for (size_t i = 0; i < std::size(scenario_list); i++)
        if (auto scenario = static_cast<Scenario>(i);
            !is_drawn(scenario) && applies(scenario, ops, elides(ops), table))
            lock["scenarios"].push_back(scenario_list[i].name);
    std::cout << lock << "\n";
    return holds;
}

json told(const ExecutionTrace &trace) {
    json events = json::array();

    for (const TraceEvent &t : trace) {
        const char *slash = t.place.file ? strrchr(t.place.file, '/') : nullptr;
        json e = {{"n", events.size() + 1},
                  {"context", t.context},
                  {"file", slash          ? slash + 1
                           : t.place.file ? t.place.file
                                          : ""},
                  {"line", t.place.line},
                  {"what", t.what},
                  {"state", t.doing},
                  {"mark", t.is_mark ? json(t.what) : json()}};
        if (!t.op.empty())
            e.update({{"op", t.op},
                      {"order", t.order},
                      {"object", t.object},
                      {"width", t.width},
                      {"old", t.before},
                      {"new", t.after}});
        events.push_back(e);
    }
    return events;
}

json told(const NativeRun &run) {
    return {{"property", run.property},
            {"how", run.how},
            {"followed", run.followed},
            {"of", run.of},
            {"left", run.left}};
}

// Of the schedule's own steps only: what a store buffer or a choice does, no thread can be made to
// do.
void check_native(const Options &o, const Setting &setting) {
    if (o.replay.empty())
        bad("--native needs --replay");
    if (o.model != "sc")
        bad("--native is for the model sc: no thread can be told to delay a store");
    if (setting.foreign || !runs_natively(setting.scenario))
        bad("--native is for locks with a header, in the scenarios lock, order, chain and frees");
}

json result(const Options &o, const Setting &setting, const Rules &rules, const Outcome &out,
            const Notes &notes, const ExecutionTrace &trace, size_t contexts,
            const std::vector<std::pair<Place, unsigned>> &loops) {
    json r = {{"lock", o.lock},
              {"model", o.model},
              {"scenario", o.scenario},
              {"contexts", setting.contexts},
              {"acquisitions", setting.acquisitions},
              {"search", o.search},
              {"executions", out.executions},
              {"redundant", out.redundant},
              {"steps", out.steps},
              {"seconds", out.seconds},
              {"transactions", o.transactions && o.model != "c11"},
              {"exhausted", out.exhausted},
              {"ended", out.ended},
              {"verdict", out.failure ? "fails" : "holds"},
              {"failure", nullptr},
              {"notes", json::object()}};

    for (size_t i = 0; i < budget_kinds; i++)
        r["budgets"][budget_list[i].name] = rules.budgets.left[i];
    if (rules.clock)
        r["clock"] = rules.clock;
    for (const std::string &t : o.tunes) {
        auto [name, value] = assignment(t);
        r["tune"][name] = value == engine::never ? json("inf") : json(value);
    }
    for (auto &[place, turns] : loops)
        r["loops"].push_back(
            {{"file", base_name(place.file)}, {"line", place.line}, {"turns", turns}});
    if (notes.went_on || notes.stuck)
        r["notes"] = {{"went_on", notes.went_on},
                      {"stuck", notes.stuck},
                      {"spin", notes.spin},
                      {"parked", notes.parked}};
    if (setting.foreign && setting.scenario == Scenario::order_)
        r["notes"]["passed_waiting"] = notes.passed.waiting;
    if (!o.claims.empty()) {
        r["claims"] = o.claims;
        r["notes"]["passed"] = notes.passed.most;
        r["notes"]["passed_untired"] = notes.passed.untired;
    }
    if (out.failure || !trace.empty())
        r["failure"] = {{"property", name_of(out.failure.what)},
                        {"how", out.failure.how},
                        {"replay", text_of(out.path, contexts)},
                        {"events", told(trace)}};
    return r;
}

bool report(const Progress &p) {
    static double last = 0;

    if (p.seconds - last >= 0.5) {
        last = p.seconds;
        json line = {{"executions", p.executions},
                     {"redundant", p.redundant},
                     {"steps", p.steps},
                     {"seconds", p.seconds}};
        std::cout << json{{"progress", line}} << std::endl;
    }
    return !interrupted;
}

int print_sites(World &world, const Program &program, const Options &o) {
    std::vector<std::pair<Place, Order>> sites;
    Limits limits;

    world.collect(&sites);
    limits.search = SearchKind::pct; // enough to come to every line
    limits.executions = 5000;
    Outcome out = explore(world, program, limits);
    world.collect(nullptr);
    if (out.failure)
        bad(o.lock + " fails: " + out.failure.how);
    for (auto &[place, order] : sites) {
        const char *slash = strrchr(place.file, '/'), *file = slash ? slash + 1 : place.file;
        if (strcmp(file, "client.cpp") == 0)
            continue;
        if (acquires(order))
            std::cout << file << ":" << place.line << ":acquire\n";
        if (releases(order))
            std::cout << file << ":" << place.line << ":release\n";
    }
    return holds;
}

// Whether a loop of relaxes counts its turns, which the search would not explore (polls.h): in some
// executions in which no relax waits. The failure says which.
Outcome find_counted_polls(const ol_lock_ops &ops, Rules rules, ExecutionTrace &trace) {
    Limits limits;
    Outcome out;

    limits.search = SearchKind::walk;
    limits.executions = 6;
    rules.polls = true;
    rules.clock = 0;
    rules.longest = 20'000;            // a loop may count to some thousands
    rules.budgets[Budget::expiry] = 0; // so that no time ends a loop
    for (Scenario scenario : {Scenario::holder_, Scenario::lock_}) {
        World world(Model::sc, rules);
        Client client(world, ops, {.scenario = scenario, .contexts = 3});
        Program program = client.program();
        out = explore(world, program, limits);
        if (out.failure.what != Wrong::misuse)
            continue;
        replay(world, program, out.path, trace);
        out.path = {};
        return out;
    }
    return {};
}

// What is explored.
struct Task {
    const Setting &setting;
    const Rules &rules;
    Client *client = nullptr; // of a lock
    const ol_lock_ops *ops = nullptr;
};

int explore_and_tell(Options &o, World &world, const Program &program, Outcome out,
                     ExecutionTrace &trace, const Task &task) {
    const Setting &setting = task.setting;
    Coverage coverage(o.object.empty() ? nullptr : open(o.object));
    if (out.failure) {
        // A search would explore too little of it.
    } else if (o.replay.empty()) {
        o.limits.progress = report;
        if (o.traces)
            o.limits.tell = [](const ExecutionTrace &t) {
                std::cout << json{{"execution", told(t)}} << "\n";
            };
        out = explore(world, program, o.limits);
    } else {
        out.path = path_of(o.replay, program.contexts);
    }
    if (out.failure.what == engine::Wrong::unsupported)
        bad(out.failure.how);
    Notes notes = task.client ? task.client->notes() : Notes{};
    if ((out.failure && trace.empty()) || !o.replay.empty()) {
        Outcome again = replay(world, program, out.path, trace);
        if (o.replay.empty() && again.failure.what != out.failure.what)
            throw std::logic_error("the execution that failed does not repeat: " +
                                   std::string(name_of(out.failure.what)) + ": " + out.failure.how +
                                   " " + text_of(out.path, program.contexts));
        if (!o.replay.empty())
            out = again;
    }
    if (!o.replay.empty() && !world.left_open().empty())
        out.ended = "open";
    json said =
        result(o, setting, task.rules, out, notes, trace, program.contexts, world.cut_loops());
    if (!world.left_open().empty())
        said["open"] = world.left_open();
    said["coverage"] = {{"addresses", coverage.reached()}};
    if (setting.foreign && setting.scenario == Scenario::waiter_)
        said["notes"]["fifo"] = (task.ops->traits & OL_FIFO) != 0;
    if (o.native)
        said["native"] = told(
            run_natively(*task.ops, setting, task.rules.tuning, task.client->first_word(), trace));
    std::cout << json{{"result", said}} << std::endl;
    if (o.native) // threads of it may wait for ever
        _Exit(out.failure ? fails : holds);
    return out.failure ? fails : out.exhausted || !o.replay.empty() ? holds : not_exhausted;
}

// Of the options, what any subject has.
SearchKind search_of(const Options &o) {
    SearchKind kind = searches[index_of(searches, o.search, "search")].kind;
    bool random = kind == SearchKind::pct || kind == SearchKind::walk;

    if (random && o.limits.seconds > 1e17 && o.limits.executions == UINT64_MAX)
        bad("a random search ends only at a limit: --seconds or --executions");
    return kind;
}

Model model_of(const Options &o) {
    return models[index_of(models, o.model, "model")].model;
}

void check_size(const Options &o, const Rules &rules) {
    bool random = o.limits.search == SearchKind::pct || o.limits.search == SearchKind::walk;
    size_t most = most_contexts(random || !o.replay.empty(), model_of(o), rules);

    if (o.contexts > most)
        bad("at most " + std::to_string(most) +
            " contexts; more, up to 60, in a random search "
            "without store buffers (tso) and late kicks");
}

// What waits comes to sleep in few contexts only if it does not poll before. The result says so.
void wait_at_once(Options &o) {
    if (std::none_of(o.tunes.begin(), o.tunes.end(),
                     [](const std::string &t) { return t.starts_with("spin="); }))
        o.tunes.emplace_back("spin=0");
}

int run_wait(Options &o, const WaitSubject &subject) {
    const WaitScenario *scenario = nullptr;
    Setting setting;
    ExecutionTrace trace;

    for (const WaitScenario &s : subject.scenarios)
        if (o.scenario == s.name)
            scenario = &s;
    if (!scenario)
        bad("scenario " + o.scenario + " is not for " + subject.id);
    if (o.about) {
        std::cout << about(subject) << "\n";
        return holds;
    }
    if (!o.sites.empty() || o.native || !o.roles.empty() || !o.claims.empty() || o.fifo)
        bad(std::string(subject.id) +
            " is no lock: --sites, --native, --roles, --claim and --fifo are for locks");
    if (o.contexts < 2)
        bad(std::string(subject.id) + " needs 2 contexts: one of them waits for the other");
    setting.contexts = o.contexts;
    setting.acquisitions = o.acquisitions;
    o.lock = subject.id;
    o.limits.search = search_of(o);
    wait_at_once(o);
    Rules rules = rules_of(o, 0, Scenario::lock_);
    check_size(o, rules);
    World world(model_of(o), rules);
    WaitClient client(world, subject, *scenario, o.contexts, o.acquisitions);
    return explore_and_tell(o, world, client.program(), {}, trace, {setting, rules});
}

int run(Options &o) {
    if (o.list)
        return list();
    if (!o.sites.empty())
        o.lock = o.sites;
    if (const WaitSubject *subject = find_wait(o))
        return run_wait(o, *subject);
    std::unique_ptr<Foreign> foreign = foreign_lock(o);
    if (foreign && o.fifo)
        foreign->declare_fifo();
    const ol_lock_ops &ops = foreign ? foreign->ops() : find_lock(o);
    if (o.about)
        return print_about(ops, foreign.get());
    o.polls = (o.polls || !o.object.empty()) && !foreign && o.replay.empty() && o.sites.empty();
    Setting setting;
    setting.scenario = static_cast<Scenario>(index_of(scenario_list, o.scenario, "scenario"));
    setting.contexts = o.contexts;
    setting.acquisitions = o.acquisitions;
    if (!o.sites.empty()) // some lines only see whoever waits far from its turn
        setting.contexts = std::max<size_t>(setting.contexts, 4);
    for (const std::string &c : o.claims)
        setting.claimed.push_back(claimed(c));
    setting.roles = o.roles;
    setting.fresh = o.fresh;
    setting.shared = foreign ? foreign->shared() : shared_side(o);
    setting.foreign = foreign ? &foreign->table() : nullptr;
    setting.tuned = [&o](ol_tuning &t) {
        for (const std::string &text : o.tunes)
            tune(t, text);
    };
    if (!applies(setting.scenario, ops, elides(ops) && o.transactions && o.model != "c11",
                 setting.foreign))
        bad("scenario " + o.scenario + " is not for " + o.lock);
    o.limits.search = search_of(o);
    bool random = o.limits.search == SearchKind::pct || o.limits.search == SearchKind::walk;
    if (is_drawn(setting.scenario) && !random && o.replay.empty())
        bad("scenario any is for random searches: --search walk or pct");
    Rules rules = rules_of(o, ops.traits, setting.scenario);
    check_size(o, rules);
    if (o.native)
        check_native(o, setting);
    ExecutionTrace trace;
    Outcome out;
    if (o.polls)
        out = find_counted_polls(ops, rules, trace);
    World world(model_of(o), rules);
    if (foreign)
        foreign->join(world);
    Client client(world, ops, setting);
    Program program = client.program();
    if (foreign)
        program = foreign->prepared(program);
    if (!o.sites.empty())
        return print_sites(world, program, o);

    return explore_and_tell(o, world, program, out, trace, {setting, rules, &client, &ops});
}

} // namespace

int main(int argc, char **argv) {
    Options o;
    CLI::App app{"Explores one lock in one scenario. Prints lines of JSON: progress, then the\n"
                 "result. Exit code 0: holds in all executions; 1: fails; 2: bad usage;\n"
                 "3: holds so far, but not all executions were explored.",
                 "overlock-check"};

    app.add_option("--lock", o.lock, "lock from locks.def");
    app.add_option("--load", o.object,
                   "shared object with a lock, from check/engine/subject_unit.cpp");
    app.add_option("--contexts", o.contexts, "number of contexts")
        ->check(CLI::Range(1, 60))
        ->capture_default_str();
    app.add_option("--acquisitions", o.acquisitions, "acquisitions per context")
        ->check(CLI::Range(1, 1000))
        ->capture_default_str();
    app.add_option("--model", o.model, "memory model")->capture_default_str();
    app.add_option("--scenario", o.scenario, "client program")->capture_default_str();
    app.add_option("--budget", o.budgets, "KIND=N: adversary events per context")
        ->allow_extra_args(false);
    app.add_option("--claim", o.claims, "a paper's claim about the order, or bypass=N; see --list")
        ->allow_extra_args(false);
    app.add_option("--roles", o.roles, "r (reader) or w (writer) for each context");
    app.add_option("--clock", o.clock,
                   "slice length in ticks of a concrete clock; 0: no clock. Default: 2 for locks "
                   "that read their slice")
        ->check(CLI::Range(0, 100));
    app.add_option("--tune", o.tunes, "tunable: NAME=N or NAME=inf")->allow_extra_args(false);
    app.add_option("--turns", o.turns,
                   "turns of a loop that counts them in which a context may see a change: N or all")
        ->capture_default_str();
    app.add_option("--search", o.search, "search strategy: dpor, plain, pct or walk")
        ->capture_default_str();
    app.add_option("--seed", o.limits.seed, "seed of pct or walk")->capture_default_str();
    app.add_option("--seconds", o.limits.seconds, "time limit");
    app.add_option("--executions", o.limits.executions, "limit of executions");
    app.add_option("--weaken", o.weaken, "memory order to relax: FILE:LINE:acquire or :release")
        ->allow_extra_args(false);
    app.add_option("--replay", o.replay, "schedule of an execution to replay, with a trace");
    app.add_flag("--native", o.native, "with --replay: also on real threads, in the same order");
    app.add_option("--sites", o.sites, "list the memory orders of a lock");
    app.add_option("--own", o.own, "folder of the loaded lock's source: traces point to its lines")
        ->allow_extra_args(false);
    app.add_flag("--fifo", o.fifo, "the loaded lock grants in the order of arrival");
    app.add_flag("--polls", o.polls,
                 "first look for a loop of relaxes that counts its turns; always on with --load");
    app.add_flag("--list", o.list, "list locks, scenarios, budgets and models");
    app.add_flag("--about", o.about, "list the scenarios that apply to the lock");
    app.add_flag("--trace", o.trace, "trace the replayed execution (always on)");
    app.add_flag("--traces", o.traces, "print the steps of every execution, a line of JSON each");
    app.add_flag("--fresh", o.fresh, "start tickets far from their wrap-around");
    app.add_flag("!--no-transactions", o.transactions, "model a CPU without transactions");
    app.add_flag("!--no-timeouts", o.timeouts,
                 "let no deadline pass merely because no context can run");
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError &e) {
        return app.exit(e) ? bad_usage : holds;
    }
    signal(SIGINT, [](int) { interrupted = 1; });
    signal(SIGTERM, [](int) { interrupted = 1; });
    try {
        return run(o);
    } catch (const std::exception &e) {
        bad(e.what());
    }
}
