// SPDX-License-Identifier: MIT
#include "graph.h"

#include <bit>
#include <stdexcept>

namespace ol::check {

namespace {

constexpr int initial = -1;

template <class Act> void each(uint64_t set, Act act) {
    for (; set; set &= set - 1)
        act(static_cast<size_t>(std::countr_zero(set)));
}

constexpr uint64_t bit(size_t i) {
    return uint64_t{1} << i;
}

template <class Relation> uint64_t image(uint64_t of, const Relation &r) {
    uint64_t all = 0;
    each(of, [&](size_t i) { all |= r[i]; });
    return all;
}

template <class Relation> void close(Relation &r, size_t n) {
    for (size_t k = 0; k < n; k++)
        for (size_t i = 0; i < n; i++)
            if (r[i] & bit(k))
                r[i] |= r[k];
}

} // namespace

void Graph::reset() {
    nodes_.clear();
    order_.clear();
    place_.clear();
    has_race_ = is_sequential_ = false;
}

bool Graph::allows(const GraphEvent &e) const {
    if (!is_sequential_ && !(e.is_sequential && !e.is_fence))
        return true; // views order fences
    Graph with = *this;
    with.insert(e);
    return !with.has_cycle();
}

void Graph::add(const GraphEvent &e) {
    insert(e);
    for (size_t i = 0; i + 1 < nodes_.size(); i++)
        has_race_ |= races(i, nodes_.size() - 1);
}

void Graph::insert(const GraphEvent &e) {
    auto index = static_cast<int>(nodes_.size());
    Node node{e, {}};

    if (nodes_.size() == most)
        throw std::length_error("more than 64 accesses and fences in one execution");
    if (order_.size() <= e.cell)
        order_.resize(e.cell + 1);
    std::vector<int> &order = order_[e.cell];
    for (size_t lane = 0; lane < 8; lane++)
        node.from[lane] = e.from[lane] ? order[e.from[lane] - 1] : initial;
    nodes_.push_back(node);
    is_sequential_ |= e.is_sequential && !e.is_fence;
    if (e.writes)
        order.insert(order.begin() + static_cast<ptrdiff_t>(e.at) - 1, index);
    find_places();
}

void Graph::find_places() {
    place_.assign(nodes_.size(), 0);
    for (const std::vector<int> &order : order_)
        for (size_t i = 0; i < order.size(); i++)
            place_[static_cast<size_t>(order[i])] = i + 1;
}

size_t Graph::source(size_t reader, size_t lane) const {
    int from = nodes_[reader].from[lane];
    return from == initial ? 0 : place_[static_cast<size_t>(from)];
}

bool Graph::happens_before(size_t a, size_t b) const {
    const GraphEvent &first = nodes_[a].event;
    return a != b && nodes_[b].event.clocks[first.who] >= first.stamp();
}

bool Graph::same_place(size_t a, size_t b) const {
    const GraphEvent &e = nodes_[a].event, &f = nodes_[b].event;
    return !e.is_fence && !f.is_fence && e.cell == f.cell && (e.lanes & f.lanes);
}

bool Graph::reads_before(size_t a, size_t b) const {
    bool before = false;

    if (a == b || !same_place(a, b) || !nodes_[a].event.reads || !nodes_[b].event.writes)
        return false;
    each(nodes_[a].event.lanes & nodes_[b].event.lanes,
         [&](size_t lane) { before |= source(a, lane) < place_[b]; });
    return before;
}

bool Graph::races(size_t a, size_t b) const {
    const GraphEvent &e = nodes_[a].event, &f = nodes_[b].event;
    return same_place(a, b) && e.who != f.who && (e.writes || f.writes) &&
           (e.is_plain || f.is_plain) && !happens_before(a, b);
}

Graph::Relation Graph::happens() const {
    Relation hb{};

    for (size_t a = 0; a < nodes_.size(); a++)
        for (size_t b = 0; b < nodes_.size(); b++)
            if (happens_before(a, b))
                hb[a] |= bit(b);
    return hb;
}

Graph::Relation Graph::sequential_before(const Relation &hb) const {
    size_t n = nodes_.size();
    Relation elsewhere{}, all{}; // program order to another place

    for (size_t a = 0; a < n; a++)
        for (size_t b = 0; b < n; b++) {
            bool here = same_place(a, b);
            if (hb[a] & bit(b) && nodes_[a].event.who == nodes_[b].event.who) {
                all[a] |= bit(b);
                elsewhere[a] |= here ? 0 : bit(b);
            }
            if (here &&
                (hb[a] & bit(b) || reads_before(a, b) ||
                 (nodes_[a].event.writes && nodes_[b].event.writes && place_[a] < place_[b])))
                all[a] |= bit(b);
        }
    for (size_t a = 0; a < n; a++)
        all[a] |= image(image(elsewhere[a], hb), elsewhere);
    return all;
}

// By byte: what a wider access has to do with two others does not join them.
bool Graph::communicates(size_t a, size_t b) const {
    const GraphEvent &e = nodes_[a].event, &f = nodes_[b].event;
    bool found = false;

    if (a == b || !same_place(a, b))
        return false;
    each(e.lanes & f.lanes, [&](size_t lane) {
        found |= e.writes && f.writes && place_[a] < place_[b];
        found |= e.writes && f.reads && place_[a] <= source(b, lane);
        found |= e.reads && f.writes && source(a, lane) < place_[b];
        found |= e.reads && f.reads && source(a, lane) < source(b, lane);
    });
    return found;
}

Graph::Relation Graph::communication() const {
    size_t n = nodes_.size();
    Relation eco{};

    for (size_t a = 0; a < n; a++)
        for (size_t b = 0; b < n; b++)
            eco[a] |= communicates(a, b) ? bit(b) : 0;
    return eco;
}

Graph::Set Graph::fences() const {
    Set all = 0;

    for (size_t i = 0; i < nodes_.size(); i++)
        all |= nodes_[i].event.is_fence && nodes_[i].event.is_sequential ? bit(i) : 0;
    return all;
}

bool Graph::has_cycle() const {
    size_t n = nodes_.size();
    Relation hb = happens(), scb = sequential_before(hb), eco = communication(), psc{};
    Set fence = fences();

    for (size_t a = 0; a < n; a++) {
        if (!nodes_[a].event.is_sequential)
            continue;
        Set reached = image(bit(a) | (fence & bit(a) ? hb[a] : 0), scb);
        each(reached, [&](size_t b) {
            psc[a] |= nodes_[b].event.is_sequential ? bit(b) : 0;
            psc[a] |= hb[b] & fence;
        });
        if (fence & bit(a))
            psc[a] |= (hb[a] | image(image(hb[a], eco), hb)) & fence;
    }
    close(psc, n);
    for (size_t a = 0; a < n; a++)
        if (psc[a] & bit(a))
            return true;
    return false;
}

} // namespace ol::check
