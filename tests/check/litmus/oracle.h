// SPDX-License-Identifier: MIT
#ifndef OL_LITMUS_ORACLE_H
#define OL_LITMUS_ORACLE_H
// The three memory models a second time, as plainly as they can be said and by other means than the
// checker's, so that the two can be held against each other outcome by outcome:
//
//      sc      every interleaving over one memory
//      tso     the same, with a FIFO store buffer per context that empties at any moment
//      c11     axioms over execution graphs (RC11 without SC accesses; Lahav et al. 2017, with
//              C++20's release sequences): every event in every order that respects po and rf,
//              every rf, every place in modification order; what breaks an axiom is dropped
//
// All of it is enumerated, with no reduction but that no state is explored twice.
#include <check/litmus/litmus.h>

#include <set>

namespace ol::litmus {

// Ways to get a model wrong. The suite must notice each of them.
enum class Fault : uint8_t {
    none,
#define OL_FAULT(id, model, what) id,
#include "faults.def"
#undef OL_FAULT
};

struct NamedFault {
    Fault fault;
    Model model; // that it breaks
    const char *name, *what;
};
extern const std::vector<NamedFault> faults;

std::set<State> all_outcomes(const Litmus &test, Model model, Fault fault = Fault::none);

} // namespace ol::litmus
#endif
