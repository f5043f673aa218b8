// SPDX-License-Identifier: MIT
#ifndef OL_CHECK_TURNS_H
#define OL_CHECK_TURNS_H
// Turns of loops, of code whose loops show only by its accesses.
//
// An access that a context has already made at the same site, that would find what it found then
// and change nothing, begins another turn. If the context's own state is what it was, it will turn
// until something changes: it waits. Else something counts the turns, and the loop may end by
// itself: the context sees a change in this turn, or it goes on as if it had looked. Where there
// are many such turns, a change is seen in the first or the last of them: Rules::turns.
// docs/check.md says why nothing else is lost; tests/check/search holds it against plain
// enumeration.
#include "world.h"

#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace ol::check {

class Turns {
public:
    // Memory that the context may change without saying so, by assembler or in a function that was
    // not instrumented, part by part. While a context looks ahead, no other runs.
    using EachPart = void (*)(const std::function<void(std::span<uint8_t>)> &);
    void may_change_unseen(EachPart each) { each_part_ = each; }

    // What the access is to return without being made; nothing: make it, and say so by made().
    // `state` hashes all that the context's next instructions depend on, but for shared memory.
    //
    // The context may come here twice, and return from here twice: before the first turn that is
    // left out it looks how many there are. What owns memory must not be alive in its frames
    // meanwhile.
    std::optional<uint64_t> again(World &world, const void *site, const Access &a, uint64_t state);
    void made(const void *site, const Access &a, uint64_t old, uint64_t state);
    // A pause, a yield or the like. Where a turn changes something it is no turn that was made
    // before, and the loop might go on for ever while others wait for their CPU: it waits.
    void hint(World &world, const void *site, Place place);
    void leave() { hinted_ = nullptr; } // the operation, and its loops
    void begin();                       // an execution

    // The context is about to do more than look: something of its own; or what another can tell.
    void interrupt(World &world);
    void end(World &world);

private:
    // Turns without a change in which a loop's state never repeats: taken to be without end.
    static constexpr unsigned endless = 1'000'000;

    struct Visit {
        const void *site;
        const uint8_t *at;
        uint64_t state;
        uint64_t seen;                    // what it left there
        uint64_t memory = 0;              // hashed, where the state was the same; 0: not known
        unsigned left_out = 0, ahead = 0; // visits since; all that there will be
    };
    Visit *find(const void *site, const uint8_t *at);
    std::optional<uint64_t> known(const World &world, const void *site, const Access &a);
    void look_ahead(World &world);
    void come_back(World &world);
    std::optional<bool> repeats(Visit &v, uint64_t state);
    uint64_t memory() const;
    bool goes_on(World &world, Visit &v, Place place);
    void forget();

    std::vector<Visit> visits_; // since it last learnt something
    std::vector<Visit> kept_;   // before it looked ahead
    EachPart each_part_ = nullptr;
    std::vector<uint8_t> kept_memory_;
    bool counts_unseen_ = false; // what tells one turn from the next lies in that memory
    bool looked_ahead_ = false, looking_ahead_ = false;
    const void *hinted_ = nullptr, *kept_hinted_ = nullptr; // where the last hint was
    bool changes_ = false;                                  // since then
};

} // namespace ol::check
#endif
