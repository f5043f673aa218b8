// SPDX-License-Identifier: MIT
#include "judge.h"

#include <algorithm>
#include <stdexcept>

namespace ol::litmus {

std::set<State> Explored::states() const {
    std::set<State> all;

    for (auto &[state, count] : counts)
        all.insert(state);
    return all;
}

Explored explore(const Litmus &test, Model model, const check::Limits &limits) {
    constexpr check::Model of_checker[] = {check::Model::sc, check::Model::tso, check::Model::c11};
    Explored found;
    Shared *shared = nullptr;
    uint64_t r[registers + 1];
    check::Program program;
    check::Rules rules;

    rules.sequential = true;
    check::World world(of_checker[static_cast<size_t>(model)], rules);
    program.contexts = test.contexts.size();
    program.set_up = [&](engine::Memory &memory) {
        shared = reinterpret_cast<Shared *>(memory.allocate("shared", sizeof(Shared)).at);
        *shared = test.initial;
        std::ranges::copy(test.initial_r, r);
        r[registers] = nothing;
        if (test.trouble)
            test.trouble->clear();
    };
    program.body = [&](size_t me) { test.contexts[me](*shared, r); };
    program.finish = [&] {
        if (test.trouble && !test.trouble->empty())
            throw std::invalid_argument(*test.trouble);
        found.cut += r[registers] == cut_off;
        if (r[registers] != nothing)
            return;
        found.has_race |= world.has_race();
        found.counts[state_of(*shared, r)]++;
    };
    check::Outcome o;
    try {
        o = check::explore(world, program, limits);
    } catch (const std::invalid_argument &e) {
        found.failure = e.what();
        return found;
    }
    for (auto &[state, count] : found.counts)
        found.executions += count;
    found.redundant = o.redundant;
    found.seconds = o.seconds;
    found.exhausted = o.exhausted;
    if (o.failure)
        found.failure = " " + std::string(engine::name_of(o.failure.what)) + ": " + o.failure.how;
    return found;
}

Judgement judge(const Litmus &test, const std::map<State, uint64_t> &counts) {
    Judgement j;

    for (auto &[state, count] : counts)
        if (passes(test, state))
            (shows(test, state) ? j.positive : j.negative) += count;
    switch (test.quantifier) {
    case Quantifier::exists:
    case Quantifier::not_exists:
        j.found = j.positive > 0;
        j.ok = j.found == (test.quantifier == Quantifier::exists);
        break;
    case Quantifier::forall:
        j.found = j.negative > 0;
        j.ok = !j.found;
    }
    return j;
}

Judgement judge(const Litmus &test, const std::set<State> &states) {
    std::map<State, uint64_t> counts;

    for (const State &s : states)
        counts[s] = 1;
    return judge(test, counts);
}

namespace {

// A context as a part of a cycle: in by a load, out by a store that is not before it.
struct Passage {
    size_t context;
    int loads, stores; // variables
    bool acquires, releases;
    auto operator<=>(const Passage &) const = default;

    bool feeds(const Passage &o) const {
        return context != o.context && (stores == o.loads || stores < 0 || o.loads < 0);
    }
    bool changes_variable() const { return loads != stores || loads < 0; }
};

std::vector<Passage> passages(const std::vector<Site> &sites) {
    std::set<Passage> all;

    for (size_t l = 0; l < sites.size(); l++)
        for (size_t s = 0; s < sites.size(); s++) {
            const Site &load = sites[l], &store = sites[s];
            bool again = load.loop && load.loop == store.loop; // the store of an earlier round
            if (!load.reads || !store.writes || load.context != store.context || (s < l && !again))
                continue;
            Passage p{load.context, load.variable, store.variable, load.acquires, store.releases};
            for (size_t f = l; f < s && !again; f++)
                if (sites[f].is_fence) { // a release counts after the acquire
                    p.acquires |= sites[f].acquires;
                    p.releases |= sites[f].releases && p.acquires;
                }
            all.insert(p);
        }
    return {all.begin(), all.end()};
}

} // namespace

bool may_buffer_loads(const Litmus &test) {
    std::vector<Passage> all = passages(test.sites);
    size_t n = all.size();
    std::vector<std::vector<bool>> reaches(n, std::vector<bool>(n));

    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            reaches[i][j] = all[i].feeds(all[j]);
    for (size_t k = 0; k < n; k++)
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < n && reaches[i][k]; j++)
                reaches[i][j] = reaches[i][j] || reaches[k][j];
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            bool synchronizes = all[i].releases && all[j].acquires;
            if (!all[i].feeds(all[j]) || synchronizes || !reaches[j][i])
                continue;
            for (size_t k = 0; k < n; k++) // coherence forbids a cycle on one variable
                if (all[k].changes_variable() && reaches[i][k] && reaches[k][i])
                    return true;
        }
    return false;
}

} // namespace ol::litmus
