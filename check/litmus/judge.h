// SPDX-License-Identifier: MIT
#ifndef OL_LITMUS_JUDGE_H
#define OL_LITMUS_JUDGE_H
// Runs a litmus test in the checker, and says what its condition comes to.
#include "litmus.h"

#include <check/checker.h>

#include <map>

namespace ol::litmus {

struct Explored {
    std::map<State, uint64_t> counts; // executions of each outcome
    uint64_t executions = 0, redundant = 0, cut = 0;
    double seconds = 0;
    bool exhausted = false, has_race = false;
    std::string failure;

    std::set<State> states() const;
};

Explored explore(const Litmus &test, Model model, const check::Limits &limits);

// Of the executions that the filter lets pass.
struct Judgement {
    uint64_t positive = 0, negative = 0; // the proposition holds, or does not
    bool ok = false;                     // what herd says of the condition
    bool found = false;                  // what was asked for: of forall, a counterexample

    const char *observation() const { // herd's word
        return positive == 0 ? "Never" : negative == 0 ? "Always" : "Sometimes";
    }
};

Judgement judge(const Litmus &test, const std::map<State, uint64_t> &counts);
Judgement judge(const Litmus &test, const std::set<State> &states);

// Could an outcome that this model lacks need load buffering, a cycle of program order and
// reads-from? False only if there is no such cycle, or every one is synchronized, which C11
// forbids too.
bool may_buffer_loads(const Litmus &test);

} // namespace ol::litmus
#endif
