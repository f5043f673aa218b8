// SPDX-License-Identifier: MIT
#include "search.h"

#include <algorithm>
#include <bit>
#include <stdexcept>

namespace ol::check {

namespace {

// For each process, the number of its steps that happen before.
using Clock = std::array<uint16_t, max_processes>;

struct Choice {
    Alternative taken, of;
};

// A step of the present execution, and what is left to explore from the state before it.
struct Node {
    Mask enabled, sleep; // `sleep`: exploring these first would repeat what was explored
    Mask backtrack, done;
    bool forced; // nobody could have run otherwise
    Process who;
    uint16_t index; // among the process's steps
    std::vector<Choice> choices;
    Footprint what;
    Clock clock;

    void restart(Process p) {
        who = p;
        choices.clear();
    }
};

// The next alternative in the last place that has one.
bool advance(std::vector<Choice> &choices) {
    while (!choices.empty() && choices.back().taken + 1u == choices.back().of)
        choices.pop_back();
    if (choices.empty())
        return false;
    choices.back().taken++;
    return true;
}

Process lowest(Mask m) {
    return static_cast<Process>(std::countr_zero(m));
}

std::vector<Alternative> taken(const std::vector<Choice> &choices) {
    std::vector<Alternative> all;
    for (Choice c : choices)
        all.push_back(c.taken);
    return all;
}

class Dpor final : public Search {
public:
    Dpor(Pending &pending, bool reduced) : pending_(pending), reduced_(reduced) {}

    void begin(size_t processes) override {
        processes_ = processes;
        at_ = 0;
        cursor_ = 0;
        making_ = false;
        last_.fill(none);
    }

    int pick(Mask enabled, int current, bool forced) override {
        cursor_ = 0;
        making_ = true;
        if (at_ < size_)
            return nodes_[at_++].who;
        Mask sleep = forced || !reduced_ ? 0 : still_asleep();
        Mask awake = enabled & ~sleep;
        if (!awake)
            return none;
        if (size_ == nodes_.size())
            nodes_.emplace_back();
        Node &n = nodes_[size_++];
        n.enabled = enabled;
        n.sleep = sleep;
        n.forced = forced;
        n.done = 0;
        n.restart(current >= 0 && awake & bit(size_t(current)) ? Process(current) : lowest(awake));
        n.backtrack = reduced_ && !forced ? bit(n.who) : enabled;
        at_++;
        return n.who;
    }

    unsigned choose(unsigned n) override {
        std::vector<Choice> &here = at_ ? nodes_[at_ - 1].choices : first_;

        if (n <= 1)
            return 0;
        if (cursor_ == here.size())
            here.push_back({0, n});
        return here[cursor_++].taken;
    }

    void did(const Footprint &what, int after, bool waited) override {
        Node &n = nodes_[at_ - 1];
        int before = last_[n.who];

        making_ = false;
        last_[n.who] = static_cast<int>(at_ - 1);
        if (at_ < size_)
            return; // as it was last time
        n.index = static_cast<uint16_t>(before < 0 ? 1 : nodes_[size_t(before)].index + 1);
        n.what = what;
        n.clock = clock_after(before);
        if (after != none)
            join(n.clock, nodes_[size_t(after)].clock);
        if (n.forced) // and so all that was done before comes before
            for (int last : last_)
                join_step(n.clock, last);
        else
            n.clock = find_races(n.who, before, what, n.clock, waited, at_ - 1);
        n.clock[n.who] = n.index;
    }

    // Where it waits now, it may not have waited earlier.
    void waits(Process who, const Footprint &what) override {
        if (at_ == size_)
            find_races(who, last_[who], what, clock_after(last_[who]), true, at_);
    }

    bool next() override {
        while (size_) {
            Node &n = nodes_[size_ - 1];
            if (advance(n.choices))
                return true;
            n.done |= bit(n.who);
            if (Mask left = n.backtrack & ~n.done & ~n.sleep) {
                n.restart(lowest(left));
                return true;
            }
            size_--;
        }
        return advance(first_);
    }

    Event last() const override {
        if (!at_)
            return {};
        const Node &n = nodes_[at_ - 1];
        int before = last_[n.who];
        return {n.who, static_cast<uint16_t>(before < 0 ? 1 : nodes_[size_t(before)].index + 1),
                static_cast<int>(at_ - 1)};
    }

    int last_step_of(Process who) const override { return last_[who]; }

    bool ordered(Event e, Process who) const override {
        if (!reduced_ || !e.index || e.who == who)
            return true;
        if (making_ && nodes_[at_ - 1].forced && nodes_[at_ - 1].who == who)
            return true; // all that there was had to come first
        int last = last_[who];
        return last >= 0 && nodes_[size_t(last)].clock[e.who] >= e.index;
    }

    bool ordered(Event a, Event b) const override {
        if (!reduced_ || !a.index)
            return true;
        return b.step >= 0 && nodes_[static_cast<size_t>(b.step)].clock[a.who] >= a.index;
    }

    Path path() const override {
        Path p{taken(first_), {}};
        for (size_t i = 0; i < at_; i++)
            p.steps.push_back({nodes_[i].who, taken(nodes_[i].choices)});
        return p;
    }

private:
    Clock clock_after(int step) const {
        return step == none ? Clock{} : nodes_[static_cast<size_t>(step)].clock;
    }

    void join(Clock &into, const Clock &from) const {
        for (size_t i = 0; i < processes_; i++)
            into[i] = std::max(into[i], from[i]);
    }

    void join_step(Clock &into, int step) const {
        if (step != none && static_cast<size_t>(step) + 1 != at_)
            join(into, nodes_[size_t(step)].clock);
    }

    // Those that would only repeat, after the last step, what was explored before it.
    Mask still_asleep() {
        if (!size_)
            return 0;
        const Node &parent = nodes_[size_ - 1];
        Mask sleep = 0;

        for (Mask left = parent.sleep | parent.done; left; left &= left - 1) {
            Footprint f;
            pending_.pending(lowest(left), f);
            if (!f.conflicts(parent.what))
                sleep |= left & -left;
        }
        return sleep;
    }

    // The steps before `end` that are dependent with a step of `who`, the next, and not ordered
    // before it otherwise: each must also be seen after it. `ordered` is what is ordered before it
    // so far, `before` its last step.
    //
    // A step that waited for a change is not ordered after that change for good: before the change,
    // others may have made and unmade one that it could have seen (Jonsson, Lang, Sagonas: Awaiting
    // for Godot, TACAS 2022, has the same for awaits).
    Clock find_races(Process who, int before, const Footprint &what, Clock ordered, bool waited,
                     size_t end) {
        Clock all = ordered;

        for (size_t i = end; i-- > 0;) {
            Node &e = nodes_[i];
            if (e.who == who || ordered[e.who] >= e.index || !e.what.conflicts(what))
                continue;
            if (reduced_)
                reverse(e, i, end, who, ordered);
            join(all, e.clock);
            bool waited_for_it = waited && static_cast<int>(i) > before && !(e.enabled & bit(who));
            if (!waited_for_it)
                join(ordered, e.clock);
        }
        return all;
    }

    // From the state before step i somebody else must begin: one of those that can begin what does
    // not depend on that step, and `who`.
    void reverse(Node &e, size_t i, size_t end, Process who, const Clock &ordered) {
        Mask begin = initials(e, i, end, who, ordered);

        if (begin & (e.backtrack | e.sleep))
            return;
        // None: `who` waited for step i. Or it was about to commit when step i aborted that, and
        // waited for nothing but its buffer.
        Mask able = begin & e.enabled;
        if (!able)
            able = begin << processes_ / 3 & e.enabled;
        if (able && !(able & (e.backtrack | e.sleep)))
            e.backtrack |= bit(lowest(able));
    }

    // The processes whose first step among those after i that do not depend on it, and a last one
    // of `who`, has no other of these before it.
    Mask initials(const Node &e, size_t i, size_t end, Process who, const Clock &ordered) const {
        Mask seen = 0, begin = 0;
        Clock first;
        auto is_initial = [&](const Clock &clock) {
            for (Mask left = seen; left; left &= left - 1)
                if (clock[lowest(left)] >= first[lowest(left)])
                    return false;
            return true;
        };

        for (size_t k = i + 1; k < end; k++) {
            const Node &x = nodes_[k];
            if (x.clock[e.who] >= e.index || seen & bit(x.who))
                continue;
            if (is_initial(x.clock))
                begin |= bit(x.who);
            seen |= bit(x.who);
            first[x.who] = x.index;
        }
        if (!(seen & bit(who)) && is_initial(ordered))
            begin |= bit(who);
        return begin;
    }

    Pending &pending_;
    const bool reduced_;
    size_t processes_ = 0;
    std::vector<Node> nodes_; // the first size_ are in use; kept for their memory
    size_t size_ = 0, at_ = 0, cursor_ = 0;
    bool making_ = false; // the step that was picked last
    std::vector<Choice> first_;
    std::array<int, max_processes> last_{}; // each process's last step
};

} // namespace

std::unique_ptr<Search> make_dpor(Pending &pending, bool reduced) {
    return std::make_unique<Dpor>(pending, reduced);
}

} // namespace ol::check
