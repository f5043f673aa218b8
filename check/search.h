// SPDX-License-Identifier: MIT
#ifndef OL_CHECK_SEARCH_H
#define OL_CHECK_SEARCH_H
// Which execution comes next. A search answers two questions: which context makes the next step,
// and which of several alternatives a step takes; the world asks them, executes, and says what the
// step touched.
//
// Between two steps of a context it is alone, so whatever it chooses there belongs to the step that
// came before.
#include "footprint.h"
#include "path.h"

#include <memory>
#include <string>

namespace ol::check {

// What a process would touch in its next step, at most.
class Pending {
public:
    virtual void pending(Process who, Footprint &f) = 0;

protected:
    ~Pending() = default;
};

// A step, known by its process and its number among that process's steps, from 1.
struct Event {
    Process who = 0;
    uint16_t index = 0; // 0: before all steps
    int step = -1;      // its number in this execution
};

class Search {
public:
    virtual ~Search() = default;

    virtual void begin(size_t processes) = 0; // an execution
    // One of `enabled`, or none when all that could follow has been explored. `current` made the
    // last step. `forced`: nobody could have run, so these may only because time must go on.
    static constexpr int none = -1;
    virtual int pick(Mask enabled, int current, bool forced) = 0;
    virtual unsigned choose(unsigned n) = 0; // 0 ... n - 1; 0 is the most ordinary
    // The same where no alternative is more ordinary than another.
    virtual unsigned draw(unsigned n) { return choose(n); }
    // The step that was picked last touched this; it could not come before `after`, a step's number
    // in this execution, if that is not none. `waited`: until something of it had changed.
    virtual void did(const Footprint &what, int after, bool waited) = 0;
    // The step that this process would make next: it waits for a change and nobody goes on, or the
    // step made last is its end.
    virtual void waits(Process, const Footprint &) {}
    virtual bool next() = 0;                         // is there an execution left?
    virtual bool is_random() const { return false; } // it need not see all that there is

    virtual Event last() const { return {}; }                // the step that was picked last
    virtual int last_step_of(Process) const { return none; } // its number in this execution
    // Did the event happen before all that `who` does next, whatever that is?
    virtual bool ordered(Event, Process) const { return true; }
    // Did the first happen before the second?
    virtual bool ordered(Event, Event) const { return true; }
    virtual Path path() const = 0;                    // of this execution
    virtual std::string misfit() const { return {}; } // why a given execution is none of these
};

// Everything, one representative of each set of executions that differ only in the order of
// independent steps: source-DPOR with sleep sets (Abdulla, Aronis, Jonsson, Sagonas: Optimal
// dynamic partial order reduction, POPL 2014, Algorithm 1). Not reduced: every interleaving there
// is.
std::unique_ptr<Search> make_dpor(Pending &pending, bool reduced);

// Random priorities that change at a few random places (Burckhardt, Kothari, Musuvathi,
// Nagarakatte: A randomized scheduler with probabilistic guarantees of finding bugs, ASPLOS 2010),
// without end.
std::unique_ptr<Search> make_pct(uint64_t seed);

// Seeded random walks under an adversary that turns fair after some hundred steps, without end.
// Execution n is a function of seed + n alone, so memory does not grow with their number.
std::unique_ptr<Search> make_walk(uint64_t seed);

// One execution again.
std::unique_ptr<Search> make_replay(Path path);

} // namespace ol::check
#endif
