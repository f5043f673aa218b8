// SPDX-License-Identifier: MIT
#ifndef OL_CHECK_GRAPH_H
#define OL_CHECK_GRAPH_H
// One execution under C11 as a graph of events, for what views cannot say: RC11's order of
// sequentially consistent accesses (Lahav, Vafeiadis, Kang, Hur, Dreyer: Repairing sequential
// consistency in C/C++11, PLDI 2017), and data races of plain accesses.
//
// The axiom that psc has no cycle survives whatever is added to a graph, or falls: a graph that
// has a cycle keeps it. So the model drops an alternative as soon as it closes one. The newest
// value, and the last place in modification order, never do: nothing leads from them.
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace ol::check {

struct GraphEvent {
    size_t who = 0;
    std::vector<uint32_t> clocks; // of all contexts, as of this event, which it includes
    bool is_fence = false, is_sequential = false, reads = false, writes = false, is_plain = false;
    size_t cell = 0;
    uint8_t lanes = 0;            // bytes of the cell, as bits
    std::array<size_t, 8> from{}; // by lane: a place in modification order; 0: the initial value
    size_t at = 0;                // the place that it takes

    uint32_t stamp() const { return clocks[who]; }
};

class Graph {
public:
    static constexpr size_t most = 64; // events

    void reset();
    bool allows(const GraphEvent &e) const; // is there no cycle when it is added?
    void add(const GraphEvent &e);
    bool has_race() const { return has_race_; }

private:
    using Set = uint64_t; // of events
    using Relation = std::array<Set, most>;

    struct Node {
        GraphEvent event;
        std::array<int, 8> from; // an event, or none
    };

    void insert(const GraphEvent &e);
    void find_places();
    size_t source(size_t reader, size_t lane) const;
    bool happens_before(size_t a, size_t b) const;
    bool same_place(size_t a, size_t b) const;
    bool reads_before(size_t a, size_t b) const;
    bool communicates(size_t a, size_t b) const;
    bool races(size_t a, size_t b) const;

    Relation happens() const;
    Relation sequential_before(const Relation &hb) const; // RC11's scb
    Relation communication() const;                       // RC11's eco
    Set fences() const;
    bool has_cycle() const;

    std::vector<Node> nodes_;
    std::vector<std::vector<int>> order_; // modification order by cell; the initial value is none
    std::vector<size_t> place_;           // by event
    bool has_race_ = false, is_sequential_ = false;
};

} // namespace ol::check
#endif
