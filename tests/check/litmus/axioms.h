// SPDX-License-Identifier: MIT
#ifndef OL_LITMUS_AXIOMS_H
#define OL_LITMUS_AXIOMS_H
// C11 as axioms over execution graphs. A graph grows by one event at a time, in every order that
// respects po and rf; each event chooses whom it reads from and its place in modification order.
//
// Every axiom is about one granule, two bytes, since no access is to less of a word:
//
//      coherence   no two events on a granule are in hb one way and in eco the other
//      atomicity   a read-modify-write comes right after what it reads
//      psc         RC11's order of seq_cst accesses and fences has no cycle
//      po u rf     has no cycle: by construction, hence no load buffering
//
// and two are about whole accesses (reasoned: the papers' C11 has no mixed sizes):
//
//      stores      to one cell have one modification order, even where they do not overlap
//      no tearing  what a load reads lies, in all granules that a store wrote, before that store
//                  or, in all of them, not before it
//
// A granule that the load's own context stored later says nothing about that: the context may see
// its own half, with an older other half, before anybody sees it.
#include "oracle.h"
#include "stage.h"

namespace ol::litmus {

class Axioms final : public Rules {
public:
    explicit Axioms(Fault fault) : fault_(fault) {}

    void begin(const Litmus &test, Choices &choices) override;
    bool may_run(size_t, bool) override { return true; }
    std::vector<size_t> own_moves() override { return {}; }
    void own_move(size_t) override {}
    std::optional<uint64_t> access(const Touch &t) override;
    bool fence(size_t who) override;
    bool light_fence(size_t who, engine::Order order) override;
    bool may_fail() override { return !has_fault(Fault::c11_weak_is_strong); }
    Shared memory() override;
    void key(std::string &into) override;

private:
    static constexpr size_t granules = sizeof(Shared) / 2, most = 4; // of one access
    static constexpr int init = -1; // the event that wrote the initial values
    using Set = uint64_t;           // of events

    struct Event {
        size_t who, number; // in its context
        bool is_fence, reads, writes, is_rmw, acquires, releases;
        bool is_sc, is_plain;
        size_t at, width;
        uint64_t value;      // written
        int from[most] = {}; // by granule: the event read from
        int place = 0;       // in its cell's modification order
        Set before = 0;      // in happens-before

        size_t first() const { return at / 2; }
        size_t count() const { return (width + 1) / 2; }
        bool touches(size_t g) const { return !is_fence && g >= first() && g < first() + count(); }
        bool wrote(size_t g) const { return writes && touches(g); }
        bool read(size_t g) const { return reads && touches(g); }
    };

    Event event_of(const Touch &t) const;
    bool add(Event &e);
    void choose_sources(Event &e);
    void choose_place(Event &e);
    uint64_t value_read(const Event &e) const;

    Set happened_before(const Event &e) const;
    Set synchronized(const Event &reader) const;
    void add_heads(int write, Set &heads) const;
    Set releases_of(const Event &head, int index) const;

    bool coherent(const Event &later, int index) const;
    bool atomic() const;
    bool torn(const Event &load, const Event &store) const;
    bool whole(const Event &added) const;
    bool add_fence(size_t who, engine::Order order);
    bool sequential() const;
    std::vector<Set> relation(bool (Axioms::*r)(const Event &, const Event &) const) const;
    Set psc_from(const Event &e, const std::vector<Set> &hb, const std::vector<Set> &scb,
                 const std::vector<Set> &eco) const;
    bool scb(const Event &a, const Event &b) const;
    bool eco(const Event &a, const Event &b) const;
    bool meet(const Event &a, const Event &b) const;
    bool hb(const Event &a, const Event &b) const { return b.before >> index(a) & 1; }
    size_t index(const Event &e) const { return static_cast<size_t>(&e - events_.data()); }

    const Event &event(int i) const { return events_[static_cast<size_t>(i)]; }
    int place(int write) const { return write == init ? init : event(write).place; }
    int source_place(const Event &e, size_t g) const { return place(e.from[g - e.first()]); }
    bool has_fault(Fault f) const { return fault_ == f; }

    Fault fault_;
    Shared initial_{};
    Choices *choices_ = nullptr;
    std::vector<Event> events_;                          // in the order of execution
    std::vector<std::vector<int>> of_context_, of_cell_; // po; modification order
};

} // namespace ol::litmus
#endif
