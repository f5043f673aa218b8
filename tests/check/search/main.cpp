// SPDX-License-Identifier: MIT
// Holds the checker's reduced search against plain enumeration on random programs that wait and on
// the locks. Exit code 0: wherever plain enumeration ended, both found the same, and wherever it
// did not, the reduced search found all that it had found. 1: an outcome was lost, or one found
// that there is not. 2: bad usage.
#include "locks.h"
#include "program.h"

#include <chrono>
#include <climits>
#include <cstdio>
#include <cstdlib>

namespace ol::search {
namespace {

using check::Model;
using check::SearchKind;

constexpr const char *usage =
    "usage: search-fuzz [--programs N] [--seed N] [--plain N] [--locks N] [--model "
    "sc|tso|c11]\n"
    "                   [--first]\n"
    "Compares the outcomes that the reduced search and plain enumeration, up to --plain "
    "executions\n"
    "(3000), find of N random programs (1000) from --seed (1) on, and of every lock in every\n"
    "scenario up to N plain executions (0: leaves the locks out).\n"
    "--first ends at the first difference.\n";

struct Options {
    uint64_t programs = 1000, seed = 1, plain = 3000, locks = 0;
    std::string model;
    bool first = false;
};

constexpr Model models[] = {Model::sc, Model::tso, Model::c11};

struct Totals {
    uint64_t compared = 0, unfinished = 0, failing = 0, endless = 0, too_much = 0;
    uint64_t plain = 0, reduced = 0, redundant = 0, different = 0;
    uint64_t cut = 0;
};

using Outcomes = std::map<std::string, std::string>;

std::string only(const Outcomes &in, const Outcomes &not_in) {
    std::string t;
    unsigned n = 0;

    for (auto &[outcome, path] : in)
        if (!not_in.contains(outcome) && ++n <= 3)
            t += "\n      " + outcome + " by " + path;
    return n ? std::to_string(n) + ":" + t : t;
}

// What one found and the other did not, in words; nothing if they agree. A failure ends a search,
// so that all that is known is that there is one.
std::string difference(const Found &reduced, const Found &plain) {
    bool fails = reduced.failure.what != engine::Wrong::none;
    std::string t;

    if (plain.failure && !fails)
        return "plain enumeration fails: " + plain.failure.how;
    if (fails)
        return plain.exhausted ? "the reduced search fails: " + reduced.failure.how : t;
    if (!reduced.exhausted)
        return t;
    if (std::string lost = only(plain.outcomes, reduced.outcomes); !lost.empty())
        t += "lost " + lost;
    if (!plain.exhausted)
        return t;
    if (std::string made = only(reduced.outcomes, plain.outcomes); !made.empty())
        t += "made up " + made;
    return t;
}

class Suite {
public:
    explicit Suite(const Options &o) : options_(o) {}
    int run();

private:
    void programs(Model model, const Adversary &adversary, size_t which);
    void locks(Model model);
    std::string compare(Runner &runner, const Code &code, Totals &totals);
    void minimise(Runner &runner, Code &code);
    bool shrink(Runner &runner, Code &code, std::vector<Statement> &in);
    void count(const Found &reduced, const Found &plain, Totals &totals);
    void report(const char *what, const Totals &t) const;
    bool ended() const { return options_.first && different_; }

    const Options options_;
    uint64_t different_ = 0;
    Totals programs_, locks_;
};

void Suite::count(const Found &reduced, const Found &plain, Totals &t) {
    if (plain.failure || reduced.failure) {
        bool endless = plain.failure.what == engine::Wrong::livelock ||
                       reduced.failure.what == engine::Wrong::livelock;
        (endless ? t.endless : t.failing)++;
    } else if (!reduced.exhausted) {
        t.too_much++;
    } else if (!plain.exhausted) {
        t.unfinished++;
    } else {
        t.compared++;
        t.plain += plain.executions;
        t.reduced += reduced.executions;
        t.redundant += reduced.redundant;
    }
}

std::string Suite::compare(Runner &runner, const Code &code, Totals &totals) {
    Found plain = runner.explore(code, SearchKind::plain, options_.plain);
    std::string d;

    for (unsigned turns : {1u, UINT_MAX}) {
        Found reduced = runner.explore(code, SearchKind::dpor, options_.plain * 2, turns);
        count(reduced, plain, totals);
        totals.cut += reduced.cuts;
        if (reduced.cuts && counts_turns(code)) // it says that something may be lost
            continue;
        d += difference(reduced, plain);
    }
    return d;
}

bool Suite::shrink(Runner &runner, Code &code, std::vector<Statement> &in) {
    Totals unused;

    for (size_t i = 0; i < in.size(); i++) {
        Statement s = in[i];
        in.erase(in.begin() + static_cast<ptrdiff_t>(i));
        if (!compare(runner, code, unused).empty())
            return true;
        in.insert(in.begin() + static_cast<ptrdiff_t>(i), s);
    }
    return false;
}

// Without every statement that the difference does not need.
void Suite::minimise(Runner &runner, Code &code) {
    bool smaller = true;

    while (smaller) {
        smaller = shrink(runner, code, code.handler);
        for (auto &c : code.contexts)
            smaller |= shrink(runner, code, c);
    }
}

void Suite::programs(Model model, const Adversary &adversary, size_t which) {
    Runner runner(model, adversary.budgets);

    for (uint64_t n = which; n < options_.programs && !ended(); n += adversaries().size()) {
        engine::Random random(options_.seed + n);
        Code code = random_code(random);
        if (adversary.budgets[check::Budget::irq] == 0)
            code.handler.clear();
        if (compare(runner, code, programs_).empty())
            continue;
        different_++;
        Totals unused;
        minimise(runner, code);
        printf("program %llu, %s, %s:\n%s    %s\n",
               static_cast<unsigned long long>(options_.seed + n), name_of(model), adversary.name,
               text(code).c_str(), compare(runner, code, unused).c_str());
        fflush(stdout);
    }
}

void Suite::locks(Model model) {
    for_each_case(model, [&](LockCase &c) {
        if (ended())
            return;
        Found reduced = c.explore(SearchKind::dpor, options_.locks * 10);
        Found plain = c.explore(SearchKind::plain, options_.locks);
        count(reduced, plain, locks_);
        std::string d = difference(reduced, plain);
        if (d.empty())
            return;
        different_++;
        printf("%s, %s: %s\n", c.name().c_str(), name_of(model), d.c_str());
        fflush(stdout);
    });
}

void Suite::report(const char *what, const Totals &t) const {
    auto n = [](uint64_t v) { return static_cast<unsigned long long>(v); };

    printf("%s: %llu compared (%llu executions plain, %llu reduced and %llu cut short: %.1f "
           "times "
           "fewer); of %llu more plain enumeration did not end, of %llu neither; %llu fail in "
           "both "
           "searches, %llu without end; %llu cut loops\n",
           what, n(t.compared), n(t.plain), n(t.reduced), n(t.redundant),
           t.reduced ? static_cast<double>(t.plain) / static_cast<double>(t.reduced) : 0,
           n(t.unfinished), n(t.too_much), n(t.failing), n(t.endless), n(t.cut));
}

int Suite::run() {
    for (Model m : models) {
        if (!options_.model.empty() && options_.model != name_of(m))
            continue;
        for (size_t i = 0; i < adversaries().size() && options_.programs; i++)
            programs(m, adversaries()[i], i);
        if (options_.locks)
            locks(m);
    }
    if (options_.programs)
        report("programs", programs_);
    if (options_.locks)
        report("locks", locks_);
    printf("%llu different\n", static_cast<unsigned long long>(different_));
    return different_ != 0;
}

[[noreturn]] void bad(const std::string &what) {
    fprintf(stderr, "search-fuzz: %s\n%s", what.c_str(), usage);
    exit(2);
}

Options parse(int argc, char **argv) {
    Options o;

    for (int i = 1; i < argc; i++) {
        std::string a = argv[i];
        if (a == "--first") {
            o.first = true;
            continue;
        }
        uint64_t *number = a == "--programs" ? &o.programs
                           : a == "--seed"   ? &o.seed
                           : a == "--plain"  ? &o.plain
                           : a == "--locks"  ? &o.locks
                                             : nullptr;
        if (!number && a != "--model")
            bad("what is " + a + "?");
        if (++i == argc)
            bad(a + " wants a value");
        if (number)
            *number = strtoull(argv[i], nullptr, 10);
        else
            o.model = argv[i];
    }
    return o;
}

} // namespace
} // namespace ol::search

int main(int argc, char **argv) {
    return ol::search::Suite(ol::search::parse(argc, argv)).run();
}
