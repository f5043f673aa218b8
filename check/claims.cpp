// SPDX-License-Identifier: MIT
#include "claims.h"

#include <algorithm>

namespace ol::check {

namespace {

std::string ordinal(size_t turn) {
    return "acquisition " + std::to_string(turn + 1);
}

std::string told(const std::vector<Turn> &turns, size_t i) {
    const Turn &t = turns[i];
    return ordinal(i) + " (T" + std::to_string(t.context + 1) + ", ticket at step " +
           std::to_string(t.arrival.joined) +
           (t.arrival.tired ? ", timed out at step " + std::to_string(t.arrival.tired)
                            : std::string(", never timed out")) +
           ")";
}

// Those served before it with a later ticket.
template <class Which> size_t passers(const std::vector<Turn> &turns, size_t i, Which which) {
    return static_cast<size_t>(
        std::count_if(turns.begin(), turns.begin() + static_cast<long>(i), [&](const Turn &t) {
            return t.arrival.joined > turns[i].arrival.joined && which(t);
        }));
}

size_t passers(const std::vector<Turn> &turns, size_t i) {
    return passers(turns, i, [](const Turn &) { return true; });
}

// A pair served in the wrong order, of the kind that `wrong` names.
template <class Wrong> std::string pair(const std::vector<Turn> &turns, Wrong wrong) {
    for (size_t late = 0; late < turns.size(); late++)
        for (size_t early = 0; early < late; early++)
            if (wrong(turns[early], turns[late]))
                return told(turns, early) + " was served before " + told(turns, late);
    return {};
}

bool passes(const Turn &early, const Turn &late) {
    return early.arrival.joined > late.arrival.joined;
}

std::string over(const std::vector<Turn> &turns, size_t bound) {
    for (size_t i = 0; i < turns.size(); i++)
        if (passers(turns, i) > bound)
            return std::to_string(passers(turns, i)) + " later tickets were served before " +
                   told(turns, i) + "; the claim is at most " + std::to_string(bound);
    return {};
}

// Earlier tickets are those of contexts that were served in the end: one that gave up left none.
std::string outside(const std::vector<Turn> &turns) {
    for (size_t i = 0; i < turns.size(); i++) {
        auto ahead =
            static_cast<size_t>(std::count_if(turns.begin(), turns.end(), [&](const Turn &t) {
                return t.arrival.joined < turns[i].arrival.joined;
            }));
        if (!turns[i].arrival.tired && i < ahead)
            return told(turns, i) + " was served after " + std::to_string(i) + " grants, behind " +
                   std::to_string(ahead) + " earlier tickets";
    }
    return {};
}

std::string bypassed(const std::vector<Turn> &turns, size_t last, size_t bound) {
    for (size_t i = 0; i < turns.size(); i++) {
        size_t in_line = turns[i].arrival.in_line;
        if (turns[i].context != last || !in_line)
            continue;
        auto later = static_cast<size_t>(
            std::count_if(turns.begin(), turns.begin() + static_cast<long>(i),
                          [=](const Turn &t) { return t.arrival.first > in_line; }));
        if (later > bound)
            return std::to_string(later) + " that arrived after step " + std::to_string(in_line) +
                   " were served before " + ordinal(i) + " (T" + std::to_string(last + 1) +
                   "), which was queued since; the claim is at most " + std::to_string(bound);
    }
    return {};
}

std::string too_many_slices(const std::vector<Turn> &turns) {
    for (size_t i = 0; i < turns.size(); i++) {
        const Arrival &a = turns[i].arrival;
        if (a.joined_slice > a.slice + 1)
            return ordinal(i) + " (T" + std::to_string(turns[i].context + 1) +
                   ") first looked in its slice " + std::to_string(a.slice) +
                   " and took its ticket in slice " + std::to_string(a.joined_slice);
    }
    return {};
}

// Between its look at the line and its ticket others may have joined.
std::string too_few_ahead(const std::vector<Turn> &turns, Ticks csd) {
    for (size_t i = 0; i < turns.size(); i++) {
        const Arrival &a = turns[i].arrival;
        auto ahead =
            static_cast<size_t>(std::count_if(turns.begin(), turns.end(), [&](const Turn &t) {
                return t.arrival.joined < a.joined && a.joined < t.released;
            }));
        if (a.joined_slice == a.slice && (ahead + 1) * csd >= a.joined_left)
            return told(turns, i) + " had " + std::to_string(ahead) + " ahead of it and " +
                   std::to_string(a.joined_left) + " ticks of its slice left";
    }
    return {};
}

} // namespace

void Passed::add(const std::vector<Turn> &turns) {
    for (size_t i = 0; i < turns.size(); i++) {
        most = std::max(most, passers(turns, i));
        if (size_t since = turns[i].arrival.waits)
            waiting =
                std::max(waiting, static_cast<size_t>(std::count_if(
                                      turns.begin(), turns.begin() + static_cast<long>(i),
                                      [=](const Turn &t) { return t.arrival.first > since; })));
        untired = std::max(untired,
                           passers(turns, i, [](const Turn &t) { return t.arrival.tired == 0; }));
    }
}

std::string breach(const Claimed &claimed, const std::vector<Turn> &turns,
                   const Circumstances &was) {
    switch (claimed.claim) {
    case Claim::fifo_:
        return over(turns, 0);
    case Claim::order_:
        return pair(turns, [](const Turn &early, const Turn &late) {
            return passes(early, late) && !early.arrival.tired && !late.arrival.tired;
        });
    case Claim::priority_:
        return pair(turns, [](const Turn &early, const Turn &late) {
            return !early.arrival.tired && late.arrival.tired && late.arrival.tired < early.granted;
        });
    case Claim::window_:
        return outside(turns);
    case Claim::vcpus_:
        return over(turns, was.contexts);
    case Claim::timeouts_:
        return over(turns, was.timeouts * (was.contexts - 1));
    case Claim::bypass_:
        return bypassed(turns, was.contexts - 1, claimed.bound);
    case Claim::next_slice_:
        return too_many_slices(turns);
    case Claim::capable_:
        return too_few_ahead(turns, was.csd);
    case Claim::count:
        break;
    }
    return {};
}

} // namespace ol::check
