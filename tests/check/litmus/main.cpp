// SPDX-License-Identifier: MIT
// Runs litmus tests in the checker. Exit code 0: the checker allows what the verdicts allow, finds
// the same outcomes with reduction and without, and the same as the oracle; every wrong verdict and
// every faulty model would have been noticed. 1: something differs. 2: bad usage, or a bad file.
#include "misread.h"
#include "oracle.h"
#include "tests.h"

#include <check/litmus/judge.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <map>
#include <string>

namespace ol::litmus {
namespace {

struct Options {
    std::vector<std::string> files;
    std::string only;
    uint64_t plain = 100'000, random = 0, seed = 1;
    bool outcomes = false, quiet = false, no_faults = false;
};

check::Limits limits_of(check::SearchKind search, uint64_t executions = UINT64_MAX) {
    check::Limits limits;

    limits.search = search;
    limits.executions = executions;
    return limits;
}

Explored explore(const Litmus &test, Model model) {
    return explore(test, model, limits_of(check::SearchKind::dpor));
}

// What one search found and another did not.
std::string missing(const Litmus &test, const std::set<State> &in, const std::set<State> &of) {
    std::string out;

    for (const State &s : of)
        if (!in.contains(s))
            out += "\n        " + text_of(test, s);
    return out;
}

const char *word(bool allowed) {
    return allowed ? "allowed" : "forbidden";
}

class Suite {
public:
    explicit Suite(const Options &o) : options_(o) {}
    int run();

private:
    void run(const Litmus &test);
    std::string run(const Litmus &test, Model model);
    void compare_all(const Litmus &test, Model model, const Explored &reduced);
    void run_random();
    void complain(const Litmus &test, Model model, const std::string &what);
    void compare(const Litmus &test, Model model, const char *a, const std::set<State> &first,
                 const char *b, const std::set<State> &second);
    void check_faults(const std::vector<Litmus> &tests);
    void check_misreadings(const std::vector<Litmus> &tests);
    void must_be_noticed(const char *name, const char *what,
                         const std::vector<std::string> &noticed_by);
    void check_verdicts_can_fail(const std::vector<Litmus> &tests);

    const Options options_;
    std::vector<std::string> complaints_;
    std::set<State> weaker_; // what the model before allowed of the same test
    size_t tests_ = 0, unfinished_ = 0;
    uint64_t executions_ = 0, plain_executions_ = 0, reduced_executions_ = 0;
};

void Suite::complain(const Litmus &test, Model model, const std::string &what) {
    complaints_.push_back(test.name + ", " + model_names[static_cast<size_t>(model)] + ": " + what);
}

// The verdict is the only thing that knows what is right: everything goes through here.
bool agrees(const Litmus &test, Model model, const std::set<State> &states) {
    return judge(test, states).ok ==
           (test.verdicts[static_cast<size_t>(model)] == Verdict::allowed);
}

void Suite::compare(const Litmus &test, Model model, const char *a, const std::set<State> &first,
                    const char *b, const std::set<State> &second) {
    if (std::string s = missing(test, first, second); !s.empty())
        complain(test, model, std::string(a) + " misses outcomes of " + b + ":" + s);
    if (std::string s = missing(test, second, first); !s.empty())
        complain(test, model, std::string(a) + " has outcomes that " + b + " has not:" + s);
}

// The checker, reduced and not, and the oracle; and what a stronger model allows, a weaker one
// does.
void Suite::compare_all(const Litmus &test, Model model, const Explored &reduced) {
    Explored plain = explore(test, model, limits_of(check::SearchKind::plain, options_.plain));

    std::set<State> plain_states = plain.states();

    if (!reduced.exhausted)
        complain(test, model, "not exhausted: " + reduced.failure);
    compare(test, model, "the checker", reduced.states(), "the oracle", all_outcomes(test, model));
    unfinished_ += !plain.exhausted;
    if (plain.exhausted) {
        plain_executions_ += plain.executions;
        reduced_executions_ += reduced.executions;
    } else {
        plain_states.merge(reduced.states());
    }
    compare(test, model, "reduction", reduced.states(), "plain enumeration", plain_states);
    if (std::string s = missing(test, reduced.states(), weaker_); !s.empty())
        complain(test, model, "outcomes of the stronger model are missing:" + s);
    weaker_ = reduced.states();
    executions_ += reduced.executions;
}

std::string Suite::run(const Litmus &test, Model model) {
    Explored reduced = explore(test, model);
    bool expected = test.verdicts[static_cast<size_t>(model)] == Verdict::allowed;
    bool found = judge(test, reduced.states()).ok;
    char line[64];

    if (!agrees(test, model, reduced.states()))
        complain(test, model, std::string(word(found)) + ", but by the verdict " + word(expected));
    compare_all(test, model, reduced);
    if (options_.outcomes)
        for (const State &s : reduced.states())
            printf("    %s %s%s\n", model_names[static_cast<size_t>(model)],
                   text_of(test, s).c_str(), shows(test, s) ? " *" : "");
    snprintf(line, sizeof line, " %-9s %c %5llu %3zu", word(found), found == expected ? ' ' : '!',
             static_cast<unsigned long long>(reduced.executions), reduced.states().size());
    return line;
}

void Suite::run_random() {
    for (uint64_t seed = options_.seed; seed < options_.seed + options_.random; seed++) {
        Litmus test = random_test(seed);
        weaker_.clear();
        for (Model m : models)
            compare_all(test, m, explore(test, m));
    }
}

void Suite::run(const Litmus &test) {
    std::string row;

    weaker_.clear();
    for (Model m : models)
        row += run(test, m);
    if (!options_.quiet)
        printf("%-30s%s\n", test.name.c_str(), row.c_str());
    tests_++;
}

void Suite::must_be_noticed(const char *name, const char *what,
                            const std::vector<std::string> &noticed_by) {
    std::string first;

    for (size_t i = 0; i < noticed_by.size() && i < 3; i++)
        first += (i ? ", " : "") + noticed_by[i];
    if (noticed_by.empty())
        complaints_.push_back(std::string("no test notices that ") + what);
    if (!options_.quiet)
        printf("%-26s noticed by %2zu: %s\n", name, noticed_by.size(), first.c_str());
}

// A faulty model must differ from some verdict. The oracle has the faults; the checker equals it.
void Suite::check_faults(const std::vector<Litmus> &tests) {
    for (const NamedFault &f : faults) {
        std::vector<std::string> noticed_by;
        for (const Litmus &test : tests)
            if (!agrees(test, f.model, all_outcomes(test, f.model, f.fault)))
                noticed_by.push_back(test.name);
        must_be_noticed(f.name, f.what, noticed_by);
    }
}

void Suite::check_misreadings(const std::vector<Litmus> &tests) {
    for (const NamedMisreading &m : misreadings) {
        std::vector<std::string> noticed_by;
        for (const Litmus &test : tests)
            if (!agrees(misread(test, m.misreading), Model::c11, all_outcomes(test, Model::c11)))
                noticed_by.push_back(test.name);
        must_be_noticed(m.name, m.what, noticed_by);
    }
}

void Suite::check_verdicts_can_fail(const std::vector<Litmus> &tests) {
    for (Litmus test : tests)
        for (Model m : models) {
            Verdict &v = test.verdicts[static_cast<size_t>(m)];
            Explored found = explore(test, m);
            bool agreed = agrees(test, m, found.states());
            v = v == Verdict::allowed ? Verdict::forbidden : Verdict::allowed;
            if (agreed == agrees(test, m, found.states()))
                complain(test, m, "right and wrong verdicts are the same");
            v = v == Verdict::allowed ? Verdict::forbidden : Verdict::allowed;
        }
}

int Suite::run() {
    std::vector<Litmus> tests;

    for (const Litmus &test : all_tests())
        if (options_.only.empty() || options_.only == test.name)
            tests.push_back(test);
    if (!options_.quiet)
        printf("%-30s %-21s %-21s %s\n%-30s %s\n", "", "sc", "tso", "c11", "test",
               "verdict, executions, outcomes");
    for (const Litmus &test : tests)
        run(test);
    check_verdicts_can_fail(tests);
    if (!options_.no_faults && options_.only.empty()) {
        check_faults(tests);
        check_misreadings(tests);
    }
    run_random();
    for (const std::string &c : complaints_)
        printf("%s\n", c.c_str());
    printf("%zu tests, %llu executions; where plain enumeration ended (all but %zu), %.1f times "
           "fewer than it\n",
           tests_, static_cast<unsigned long long>(executions_), unfinished_,
           static_cast<double>(plain_executions_) / static_cast<double>(reduced_executions_));
    printf("%zu passed, %zu failed\n", tests_, complaints_.size());
    return tests_ == 0 ? 2 : !complaints_.empty();
}

// What a user asks of a file: the outcomes under each model, and whether the condition holds.
int show(const std::string &file) {
    Litmus test = read_file(file);
    bool wrong = false;

    printf("%s%s%s\n", test.name.c_str(), test.source.empty() ? "" : ": ", test.source.c_str());
    for (Model m : models) {
        Explored found = explore(test, m);
        bool differs = test.has_verdicts && !agrees(test, m, found.states());
        if (!found.failure.empty())
            throw std::runtime_error(file + ":" + found.failure);
        printf("%s: %s%s, %zu outcomes in %llu executions\n", model_names[static_cast<size_t>(m)],
               word(judge(test, found.states()).ok), differs ? ", but the file says otherwise" : "",
               found.states().size(), static_cast<unsigned long long>(found.executions));
        for (auto &[state, count] : found.counts)
            printf("%8llu %c %s\n", static_cast<unsigned long long>(count),
                   shows(test, state) ? '*' : ' ', text_of(test, state).c_str());
        wrong |= differs;
    }
    return wrong;
}

int run(const Options &o) {
    int code = 0;

    for (const std::string &file : o.files)
        code |= show(file);
    return o.files.empty() ? Suite(o).run() : code;
}

} // namespace
} // namespace ol::litmus

int main(int argc, char **argv) {
    ol::litmus::Options o;
    CLI::App app{
        "Runs litmus tests in the model checker under SC, TSO and C11.\n"
        "With files: prints their outcomes, with the number of executions that the reduced\n"
        "search ran for each; * marks those in which the condition holds.\n"
        "Without: runs every test below tests/check/litmus, and compares the reduced search with\n"
        "the verdicts, with plain enumeration and with the oracle.",
        "litmus-tests"};

    app.footer("Example:\n"
               "  litmus-tests tests/check/litmus/classic/MP+rel+acq.litmus\n"
               "Exit code 0: all as the verdicts say; 1: something differs; 2: bad usage or file.");
    app.add_option("FILE", o.files, "test to run; syntax: tests/check/litmus/README.md");
    app.add_option("--only", o.only, "name of the one test to run and compare");
    app.add_option("--plain", o.plain, "limit of executions of plain enumeration")
        ->capture_default_str();
    app.add_option("--random", o.random, "number of random tests to compare, too");
    app.add_option("--seed", o.seed, "seed of the first random test")->capture_default_str();
    app.add_flag("--outcomes", o.outcomes, "print all outcomes");
    app.add_flag("--quiet", o.quiet, "print failures and totals only");
    app.add_flag("--no-faults", o.no_faults, "leave out the faulty models");
    try {
        app.parse(argc, argv);
        return ol::litmus::run(o);
    } catch (const CLI::ParseError &e) {
        return app.exit(e) ? 2 : 0;
    } catch (const std::exception &e) {
        fprintf(stderr, "litmus-tests: %s\n", e.what());
        return 2;
    }
}
