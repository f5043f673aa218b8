// SPDX-License-Identifier: MIT
#include "axioms.h"

#include <algorithm>

namespace ol::litmus {

using engine::Op;

void Axioms::begin(const Litmus &test, Choices &choices) {
    choices_ = &choices;
    initial_ = test.initial;
    events_.clear();
    of_context_.assign(test.contexts.size(), {});
    of_cell_.assign(cells, {});
}

Axioms::Event Axioms::event_of(const Touch &t) const {
    Event e{};

    e.who = t.who;
    e.number = of_context_[t.who].size();
    e.at = t.at;
    e.width = t.width;
    e.reads = t.reads();
    e.is_rmw = t.is_rmw();
    e.is_sc = t.order == engine::Order::seq_cst;
    e.is_plain = t.is_plain;
    e.acquires = (acquires(t.order) || has_fault(Fault::c11_all_acquire)) && e.reads &&
                 !has_fault(Fault::c11_no_acquire);
    e.releases = (releases(t.order) || has_fault(Fault::c11_all_release)) &&
                 !has_fault(Fault::c11_no_release);
    return e;
}

std::optional<uint64_t> Axioms::access(const Touch &t) {
    Event e = event_of(t);
    uint64_t old = 0;

    if (e.reads) {
        choose_sources(e);
        old = value_read(e);
    }
    e.writes = t.writes(old);
    if (t.op == Op::cas && !e.writes) { // a load
        bool may = acquires(t.failing) && !has_fault(Fault::c11_failed_cas_relaxed) &&
                   !has_fault(Fault::c11_no_acquire);
        e.is_rmw = false;
        e.acquires = may || (e.acquires && has_fault(Fault::c11_failed_cas_acquires));
        e.is_sc = t.failing == engine::Order::seq_cst && !has_fault(Fault::c11_failed_cas_no_sc);
    }
    if (e.writes) {
        e.value = t.result(old);
        choose_place(e);
    } else {
        e.releases = false;
    }
    bool stale = false;
    for (size_t g = e.first(); g < e.first() + e.count() && t.op == Op::cas; g++)
        for (const Event &o : events_)
            stale |= o.wrote(g) && o.place > source_place(e, g);
    if (!e.writes && stale && has_fault(Fault::c11_failed_cas_newest))
        return std::nullopt;
    return add(e) ? std::optional(old) : std::nullopt;
}

bool Axioms::add_fence(size_t who, engine::Order order) {
    Event e{};

    e.who = who;
    e.number = of_context_[who].size();
    e.is_fence = true;
    e.acquires = engine::acquires(order);
    e.releases = engine::releases(order);
    e.is_sc = order == engine::Order::seq_cst;
    return add(e);
}

bool Axioms::fence(size_t who) {
    return add_fence(who, engine::Order::seq_cst);
}

bool Axioms::light_fence(size_t who, engine::Order order) {
    if (has_fault(Fault::c11_light_fence_none))
        return true;
    if (has_fault(Fault::c11_light_fence_full))
        return fence(who);
    if ((has_fault(Fault::c11_release_fence_acquires) && releases(order)) ||
        (has_fault(Fault::c11_acquire_fence_releases) && acquires(order)))
        order = engine::Order::acq_rel;
    return add_fence(who, order);
}

// Granules that the same stores have written choose together: no tearing leaves no other choice.
void Axioms::choose_sources(Event &e) {
    std::vector<int> before;

    for (size_t k = 0; k < e.count(); k++) {
        std::vector<int> writes{init};
        for (size_t i = 0; i < events_.size(); i++)
            if (events_[i].wrote(e.first() + k))
                writes.push_back(static_cast<int>(i));
        if (k && writes == before && !has_fault(Fault::c11_torn_load))
            e.from[k] = e.from[k - 1];
        else
            e.from[k] = writes[choices_->pick(writes.size())];
        before = writes;
    }
}

void Axioms::choose_place(Event &e) {
    std::vector<int> &order = of_cell_[e.at / 8];
    size_t n = order.size();
    size_t at = has_fault(Fault::c11_mo_is_execution) ? n : n - choices_->pick(n + 1);

    for (size_t i = at; i < n; i++)
        events_[static_cast<size_t>(order[i])].place++;
    order.insert(order.begin() + static_cast<ptrdiff_t>(at), static_cast<int>(events_.size()));
    e.place = static_cast<int>(at);
}

uint64_t Axioms::value_read(const Event &e) const {
    Shared view = initial_;

    for (size_t k = 0; k < e.count(); k++) {
        if (e.from[k] == init)
            continue;
        const Event &w = event(e.from[k]);
        size_t at = (e.first() + k) * 2;
        write_bytes(view, at, std::min<size_t>(2, w.width), w.value >> 8 * (at - w.at));
    }
    return read_bytes(view, e.at, e.width);
}

bool Axioms::add(Event &e) {
    e.before = happened_before(e);
    int index = static_cast<int>(events_.size());
    events_.push_back(e);
    of_context_[e.who].push_back(index);
    return coherent(e, index) && atomic() && whole(e) && sequential();
}

// Happens-before.

Axioms::Set Axioms::happened_before(const Event &e) const {
    Set before = 0;

    if (!of_context_[e.who].empty()) {
        int last = of_context_[e.who].back();
        before |= event(last).before | Set{1} << last;
    }
    if (e.acquires && !e.is_fence)
        before |= synchronized(e);
    if (e.is_fence && e.acquires && !has_fault(Fault::c11_fence_no_acquire))
        for (int i : of_context_[e.who])
            if (event(i).reads && (!event(i).is_plain || has_fault(Fault::c11_plain_acquires)))
                before |= synchronized(event(i));
    return before;
}

// All that is before the releases of what `reader` reads.
Axioms::Set Axioms::synchronized(const Event &reader) const {
    Set heads = 0, before = 0;

    for (size_t k = 0; k < reader.count(); k++)
        if (reader.from[k] != init)
            add_heads(reader.from[k], heads);
    for (size_t i = 0; i < events_.size(); i++)
        if (heads >> i & 1)
            before |= releases_of(events_[i], static_cast<int>(i));
    return before;
}

// The writes whose release sequences contain this one.
void Axioms::add_heads(int write, Set &heads) const {
    const Event &w = event(write);

    if (heads >> write & 1)
        return;
    heads |= Set{1} << write;
    for (size_t k = 0; k < w.count() && w.is_rmw && !has_fault(Fault::c11_rmw_ends); k++)
        if (w.from[k] != init)
            add_heads(w.from[k], heads);
    bool any = has_fault(Fault::c11_store_continues);
    if (!any && !has_fault(Fault::c11_own_store_continues))
        return;
    for (int i : of_cell_[w.at / 8])
        if (event(i).place < w.place && (any || event(i).who == w.who))
            add_heads(i, heads);
}

Axioms::Set Axioms::releases_of(const Event &head, int index) const {
    if (head.releases)
        return head.before | Set{1} << index;
    if (has_fault(Fault::c11_fence_no_release) ||
        (head.is_plain && !has_fault(Fault::c11_plain_releases)) ||
        (head.is_rmw && has_fault(Fault::c11_fence_no_rmw)))
        return 0;
    Set before = 0;
    for (int i : of_context_[head.who])
        if (i < index && event(i).is_fence && event(i).releases)
            before |= event(i).before | Set{1} << i;
    return before;
}

// The axioms.

bool Axioms::coherent(const Event &later, int index) const {
    for (size_t i = 0; i < static_cast<size_t>(index); i++) {
        const Event &a = events_[i];
        if (!(later.before >> i & 1) || a.is_fence || later.is_fence || a.at / 8 != later.at / 8)
            continue;
        for (size_t g = a.at / 8 * 4; g < a.at / 8 * 4 + 4; g++) {
            bool one = has_fault(Fault::c11_halves_are_one);
            size_t ga = one ? a.first() : g, gb = one ? later.first() : g;
            if (!a.touches(ga) || !later.touches(gb))
                continue;
            bool wrong = false;
            if (a.writes && later.writes && !has_fault(Fault::c11_no_coww))
                wrong |= later.place < a.place;
            if (a.reads && later.writes && !has_fault(Fault::c11_no_corw))
                wrong |= later.place <= source_place(a, ga);
            if (a.writes && later.reads && !has_fault(Fault::c11_no_cowr))
                wrong |= source_place(later, gb) < a.place;
            if (a.reads && later.reads && !has_fault(Fault::c11_no_corr))
                wrong |= source_place(later, gb) < source_place(a, ga);
            if (wrong)
                return false;
        }
    }
    return true;
}

bool Axioms::atomic() const {
    if (has_fault(Fault::c11_stale_rmw))
        return true;
    for (const Event &e : events_) {
        if (!e.is_rmw)
            continue;
        for (size_t g = e.first(); g < e.first() + e.count(); g++) {
            int from = source_place(e, g);
            if (from >= e.place)
                return false;
            for (const Event &o : events_)
                if (o.wrote(g) && o.place > from && o.place < e.place)
                    return false;
        }
    }
    return true;
}

// Does the load see a part of the store and miss another?
bool Axioms::torn(const Event &load, const Event &store) const {
    bool seen = false, missed = false;

    for (size_t g = load.first(); g < load.first() + load.count(); g++) {
        if (!store.wrote(g))
            continue;
        int from = load.from[g - load.first()];
        bool own = from != init && event(from).who == load.who && !event(from).is_rmw &&
                   place(from) > store.place;
        missed |= place(from) < store.place;
        seen |= place(from) >= store.place && !own;
    }
    return seen && missed;
}

bool Axioms::whole(const Event &added) const {
    if (added.is_fence || has_fault(Fault::c11_torn_load))
        return true;
    for (const Event &load : events_)
        for (const Event &store : events_)
            if (load.reads && !load.writes && load.at / 8 == added.at / 8 && torn(load, store))
                return false;
    return true;
}

// (rf | mo | rb)+ on some granule.
bool Axioms::eco(const Event &a, const Event &b) const {
    bool writes = !has_fault(Fault::c11_fences_no_writes);

    if (a.is_fence || b.is_fence || a.at / 8 != b.at / 8)
        return false;
    for (size_t g = a.at / 8 * 4; g < a.at / 8 * 4 + 4; g++) {
        if (!a.touches(g) || !b.touches(g))
            continue;
        if ((writes && a.writes && b.writes && a.place < b.place) ||
            (a.writes && b.reads && a.place <= source_place(b, g)) ||
            (a.reads && b.writes && source_place(a, g) < b.place) ||
            (a.reads && b.reads && source_place(a, g) < source_place(b, g)))
            return true;
    }
    return false;
}

// They access the same bytes.
bool Axioms::meet(const Event &a, const Event &b) const {
    bool any = false;

    for (size_t g = 0; g < granules; g++)
        any |= a.touches(g) && b.touches(g);
    return any;
}

// sb | sb to elsewhere; hb; sb to elsewhere | hb on one place | mo | rb
bool Axioms::scb(const Event &a, const Event &b) const {
    if (&a == &b)
        return false;
    if (hb(a, b) && (a.who == b.who || meet(a, b) || has_fault(Fault::c11_sc_with_hb)))
        return true;
    for (const Event &c : events_)
        for (const Event &d : events_)
            if (hb(a, c) && a.who == c.who && !meet(a, c) && hb(c, d) && hb(d, b) &&
                d.who == b.who && !meet(d, b))
                return true;
    for (size_t g = 0; g < granules; g++) {
        if (!a.touches(g) || !b.wrote(g))
            continue;
        if ((a.writes && a.place < b.place) ||
            (a.reads && source_place(a, g) < b.place && !has_fault(Fault::c11_sc_no_reads)))
            return true;
    }
    return false;
}

std::vector<Axioms::Set> Axioms::relation(bool (Axioms::*r)(const Event &, const Event &)
                                              const) const {
    std::vector<Set> all(events_.size(), 0);

    for (const Event &a : events_)
        for (const Event &b : events_)
            if (&a != &b && (this->*r)(a, b))
                all[index(a)] |= Set{1} << index(b);
    return all;
}

// The edges of psc from one event; the closure of its own ends, and where fences have more of them.
Axioms::Set Axioms::psc_from(const Event &e, const std::vector<Set> &hb,
                             const std::vector<Set> &scb, const std::vector<Set> &eco) const {
    auto after = [](Set of, const std::vector<Set> &r) {
        Set all = 0;
        for (size_t i = 0; i < r.size(); i++)
            all |= of >> i & 1 ? r[i] : 0;
        return all;
    };
    bool mixed = !has_fault(Fault::c11_sc_ignores_fences);
    Set own = Set{1} << index(e), to = 0;
    Set accesses = after(own | (e.is_fence ? hb[index(e)] : 0), scb), more = after(accesses, hb);
    Set fences = hb[index(e)] | after(after(hb[index(e)], eco), hb);

    for (const Event &f : events_) {
        bool both = e.is_fence && f.is_fence;
        Set reached = both         ? has_fault(Fault::c11_fences_unordered) ? 0 : fences
                      : f.is_fence ? accesses | more
                                   : accesses;
        if (f.is_sc && (mixed || e.is_fence == f.is_fence))
            to |= reached & Set{1} << index(f);
    }
    return to;
}

bool Axioms::sequential() const {
    size_t n = events_.size();
    bool any = std::ranges::any_of(events_, [](auto &e) { return e.is_sc; });
    bool orders = std::ranges::any_of(events_, [](auto &e) { return e.is_sc && !e.is_fence; }) &&
                  !has_fault(Fault::c11_sc_is_acq_rel);

    if (!any)
        return true;
    std::vector<Set> before = relation(&Axioms::hb), psc(n, 0),
                     scb = orders ? relation(&Axioms::scb) : psc, eco = relation(&Axioms::eco);
    for (const Event &e : events_)
        if (e.is_sc)
            psc[index(e)] = psc_from(e, before, scb, eco);
    for (size_t k = 0; k < n; k++)
        for (size_t i = 0; i < n; i++)
            if (psc[i] >> k & 1)
                psc[i] |= psc[k];
    for (size_t e = 0; e < n; e++)
        if (psc[e] >> e & 1)
            return false;
    return true;
}

Shared Axioms::memory() {
    Shared s = initial_;

    for (const std::vector<int> &order : of_cell_)
        for (int i : order)
            write_bytes(s, event(i).at, event(i).width, event(i).value);
    return s;
}

void Axioms::key(std::string &into) {
    auto name = [&](int i) {
        into += static_cast<char>(i == init ? 255 : event(i).who);
        into += static_cast<char>(i == init ? 255 : event(i).number);
    };

    for (const std::vector<int> &own : of_context_)
        for (int i : own) {
            into += event(i).reads ? 'r' : '-';
            for (size_t k = 0; event(i).reads && k < event(i).count(); k++)
                name(event(i).from[k]);
        }
    for (const std::vector<int> &order : of_cell_) {
        into += '|';
        for (int i : order)
            name(i);
    }
}

} // namespace ol::litmus
