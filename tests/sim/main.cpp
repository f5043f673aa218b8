// SPDX-License-Identifier: MIT
// Seeded schedules over every lock. Exit code 0: all went well; 1: a lock failed; 2: bad usage.
#include "client.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

using namespace ol;
using engine::Machine;
using engine::Trace;
using engine::Weakening;

namespace {

constexpr const char *usage =
    "usage: overlock-sim [--lock NAME]... [--schedules N] [--seed N] [--json] [--kind KIND] "
    "[--no-order]\n"
    "                    [--weaken FILE:LINE:ORDER]\n"
    "       overlock-sim --replay NAME@SEED [--kind KIND] [--weaken FILE:LINE:ORDER]\n"
    "       overlock-sim --list | --sites NAME\n"
    "Runs N (100000) seeded schedules over each lock. ORDER is acquire or release, and is dropped\n"
    "from that line. --replay runs one schedule again and tells it step by step: step, time,\n"
    "context, line, what. --sites lists the lines that ask for an order. KIND is one of mixed,\n"
    "hand-over-hand, last-frees, another-unlocks, crowd and nap; without it, all but nap.\n"
    "--no-order leaves happens-before unchecked: then only what goes visibly wrong is caught.\n";

[[noreturn]] void bad(const std::string &what) {
    fprintf(stderr, "overlock-sim: %s\n%s", what.c_str(), usage);
    exit(2);
}

struct Options {
    std::vector<const ol_lock_ops *> locks;
    uint64_t schedules = 100'000, seed = 1;
    std::vector<Weakening> weaken;
    std::string replay, sites, kind;
    bool json = false, order = true;
};

uint64_t number(const std::string &text, const char *what) {
    char *end;
    uint64_t n = strtoull(text.c_str(), &end, 0);

    if (text.empty() || *end)
        bad(std::string(what) + " wants a number, not " + text);
    return n;
}

const ol_lock_ops *lock_named(const std::string &name) {
    if (const ol_lock_ops *ops = engine::find_subject(name))
        return ops;
    bad("there is no lock " + name + "; --list lists them");
}

Weakening weakening(const std::string &text) {
    size_t a = text.find(':'), b = text.rfind(':');
    std::string order = text.substr(b + 1);

    if (a == b || (order != "acquire" && order != "release"))
        bad("--weaken wants FILE:LINE:acquire or FILE:LINE:release, not " + text);
    return {text.substr(0, a), static_cast<int>(number(text.substr(a + 1, b - a - 1), "LINE")),
            order == "acquire", order == "release"};
}

Options parse(int argc, char **argv) {
    Options o;
    auto next = [&](int &i) -> std::string {
        if (i + 1 == argc)
            bad(std::string(argv[i]) + " wants a value");
        return argv[++i];
    };

    for (int i = 1; i < argc; i++) {
        std::string a = argv[i];
        if (a == "--lock")
            o.locks.push_back(lock_named(next(i)));
        else if (a == "--schedules")
            o.schedules = number(next(i), "--schedules");
        else if (a == "--seed")
            o.seed = number(next(i), "--seed");
        else if (a == "--weaken")
            o.weaken.push_back(weakening(next(i)));
        else if (a == "--replay")
            o.replay = next(i);
        else if (a == "--sites")
            o.sites = next(i);
        else if (a == "--kind")
            o.kind = next(i);
        else if (a == "--no-order")
            o.order = false;
        else if (a == "--json")
            o.json = true;
        else if (a == "--list") {
            for (auto *s = engine::subjects; *s; s++)
                puts((*s)->id);
            exit(0);
        } else if (a == "--help") {
            fputs(usage, stdout);
            exit(0);
        } else
            bad("what is " + a + "?");
    }
    if (o.locks.empty())
        for (auto *s = engine::subjects; *s; s++)
            o.locks.push_back(*s);
    return o;
}

test::Client client_for(Machine &machine, const ol_lock_ops &ops, const Options &o) {
    test::Client client(machine, ops);

    if (!o.kind.empty() && !client.only(o.kind))
        bad("there is no kind " + o.kind);
    return client;
}

// Runs one schedule again and tells it.
bool tell(Machine &machine, const ol_lock_ops &ops, uint64_t seed, const Options &o, size_t lines) {
    test::Client client = client_for(machine, ops, o);
    Trace trace;

    machine.trace_to(&trace);
    bool fine = client.run(seed);
    machine.trace_to(nullptr);
    printf("%s\n%s", client.setting().c_str(), trace.text(lines).c_str());
    if (fine)
        puts("nothing failed");
    else
        printf("%s: %s\n", name_of(machine.failure().what), machine.failure().how.c_str());
    return fine;
}

int replay(Machine &machine, const Options &o) {
    const std::string &text = o.replay;
    size_t at = text.find('@');

    if (at == std::string::npos)
        bad("--replay wants NAME@SEED, not " + text);
    const ol_lock_ops *ops = lock_named(text.substr(0, at));
    return !tell(machine, *ops, number(text.substr(at + 1), "--replay"), o, SIZE_MAX);
}

int sites(Machine &machine, const ol_lock_ops &ops, uint64_t schedules) {
    std::vector<engine::Site> found;
    test::Client client(machine, ops);

    machine.collect(&found);
    for (uint64_t seed = 1; seed <= schedules; seed++)
        if (!client.run(seed))
            return 1;
    for (const engine::Site &s : found) {
        const char *slash = strrchr(s.place.file, '/'), *file = slash ? slash + 1 : s.place.file;
        if (strcmp(file, "client.cpp") == 0)
            continue;
        if (acquires(s.order))
            printf("%s:%d:acquire\n", file, s.place.line);
        if (releases(s.order))
            printf("%s:%d:release\n", file, s.place.line);
    }
    return 0;
}

struct Outcome {
    const char *lock;
    uint64_t schedules, seed;
    double seconds, steps; // steps per schedule
    bool fine;
    engine::Failure failure;
    std::string setting;
};

std::string quoted(const std::string &text) {
    std::string s = "\"";
    for (char c : text)
        s += c == '"' || c == '\\' ? std::string("\\") + c : std::string(1, c);
    return s + "\"";
}

void print_json(const Outcome &r) {
    printf("{\"lock\": \"%s\", \"schedules\": %llu, \"seconds\": %.3f, \"steps\": %.1f, "
           "\"caught\": %s, \"how\": %s, \"setting\": %s, \"replay\": \"%s@%llu\"}\n",
           r.lock, static_cast<unsigned long long>(r.schedules), r.seconds, r.steps,
           r.fine ? "null" : quoted(name_of(r.failure.what)).c_str(), quoted(r.failure.how).c_str(),
           quoted(r.setting).c_str(), r.lock, static_cast<unsigned long long>(r.seed));
}

void print_text(const Outcome &r) {
    auto n = static_cast<double>(r.schedules);
    printf("%-24s %9llu schedules %8.0f/s %6.1f steps each %6.2f s  %s\n", r.lock,
           static_cast<unsigned long long>(r.schedules), n / r.seconds, r.steps, r.seconds,
           r.fine ? "fine" : "FAILED");
}

Outcome explore(Machine &machine, const ol_lock_ops &ops, const Options &o) {
    auto begin = std::chrono::steady_clock::now();
    test::Client client = client_for(machine, ops, o);
    uint64_t seed = o.seed;
    bool fine = true;

    for (uint64_t i = 0; i < o.schedules && fine; i++)
        fine = client.run(seed = o.seed + i);
    std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    auto steps = static_cast<double>(client.steps()) / static_cast<double>(client.executions());
    return {
        ops.id,          client.executions(), seed, took.count(), steps, fine, machine.failure(),
        client.setting()};
}

} // namespace

int main(int argc, char **argv) {
    Options o = parse(argc, argv);
    Machine machine;
    bool fine = true;
    uint64_t schedules = 0;
    double seconds = 0;

    machine.weaken(o.weaken);
    machine.check_order(o.order);
    if (!o.replay.empty())
        return replay(machine, o);
    if (!o.sites.empty())
        return sites(machine, *lock_named(o.sites), std::min<uint64_t>(o.schedules, 5000));
    for (const ol_lock_ops *ops : o.locks) {
        Outcome r = explore(machine, *ops, o);
        schedules += r.schedules;
        seconds += r.seconds;
        o.json ? print_json(r) : print_text(r);
        if (!r.fine && !o.json) {
            tell(machine, *ops, r.seed, o, 30);
            printf("all of it: --replay %s@%llu\n", r.lock,
                   static_cast<unsigned long long>(r.seed));
        }
        fflush(stdout);
        fine &= r.fine;
    }
    if (!o.json)
        printf("%-24s %9llu schedules %8.0f/s %26.2f s\n", "in all",
               static_cast<unsigned long long>(schedules), static_cast<double>(schedules) / seconds,
               seconds);
    return !fine;
}
