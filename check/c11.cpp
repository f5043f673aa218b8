// SPDX-License-Identifier: MIT
// C11's acquire, release and relaxed accesses and sequentially consistent fences, as views of
// messages: the promise-free part of Kang, Hur, Lahav, Vafeiadis, Dreyer (POPL 2017), with C++20's
// release sequences. It admits exactly the executions in which program order and reads-from have no
// cycle: no load buffering, and no value out of thin air.
//
// A store leaves a message in its cell, eight aligned bytes, which has one modification order. A
// view says for every byte of every cell up to which message its owner has come. A load reads for
// each byte a message not before its context's view; an acquire takes over the view that the
// message carries.
//
// Accesses may be of different sizes. Each byte has its own view; the order of the cell's messages
// is theirs extended. A load sees a store of several bytes whole or not at all, but for bytes that
// its own context stored later, which it may see before anybody else does.
//
// A load that passes over a message, or a store that goes before one, does so only if that message
// happened in this execution before it, or before what the load reads: otherwise the same outcome
// is found where the load, or the store, comes first, and the search goes there too. So weak
// behaviour costs only where it is weak. Two stores to halves of one word are in some order all the
// same, for a store to the whole word may come between them: their footprints meet.
#include "graph.h"
#include "model.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <stdexcept>

namespace ol::check {

namespace {

constexpr size_t lanes_of_cell = 8;

// Views know no order of sequentially consistent accesses: see graph.h.
constexpr bool is_sequential(Order o) {
    return o == Order::seq_cst;
}

// The numbers of the bits in a mask of lanes: for (size_t lane : lanes_in(mask)).
class lanes_in {
public:
    explicit lanes_in(int mask) : mask_(static_cast<unsigned>(mask)) {}

    struct Iterator {
        unsigned left;
        size_t operator*() const { return static_cast<size_t>(std::countr_zero(left)); }
        void operator++() { left &= left - 1; }
        bool operator!=(const Iterator &other) const { return left != other.left; }
    };
    Iterator begin() const { return {mask_}; }
    static Iterator end() { return {0}; }

private:
    unsigned mask_;
};

constexpr uint32_t spacing = 1 << 16; // of messages in time, so that one fits between two

using Row = std::vector<uint32_t>; // clocks of the contexts, then times of every lane of every cell

void join(Row &into, const uint32_t *from, size_t size) {
    for (size_t i = 0; i < size; i++)
        into[i] = std::max(into[i], from[i]);
}

// The views that messages carry: never changed, so a message needs only a number.
class Views {
public:
    static constexpr uint32_t none = 0;

    void reset() {
        values_.clear();
        rows_.assign(1, {0, 0});
    }
    uint32_t keep(const Row &row) {
        rows_.push_back({values_.size(), row.size()});
        values_.insert(values_.end(), row.begin(), row.end());
        return static_cast<uint32_t>(rows_.size() - 1);
    }
    uint32_t at(uint32_t view, size_t i) const {
        return i < rows_[view].size ? values_[rows_[view].begin + i] : 0;
    }
    void join_into(Row &into, uint32_t view) const {
        join(into, values_.data() + rows_[view].begin, rows_[view].size);
    }

private:
    struct Span {
        size_t begin, size;
    };
    std::vector<uint32_t> values_;
    std::vector<Span> rows_;
};

struct Message {
    uint32_t time;
    uint8_t lanes; // bit mask
    bool rmw;      // nothing may come between it and what it read
    size_t writer; // SIZE_MAX: was there from the beginning
    Event event;
    uint64_t bytes; // in their lanes
    uint32_t view;
};

// A load of lanes that were not written together, for later stores not to tear.
struct Mixed {
    uint8_t lanes, own; // `own`: forwarded from the context's own stores
    std::array<uint32_t, lanes_of_cell> time;
};

struct Cell {
    std::vector<Message> messages; // in modification order
    std::vector<Mixed> mixed;
};

struct Look { // for Seen, beside it
    size_t cell;
    uint8_t lanes;
    uint32_t time[lanes_of_cell];
};

struct Agent {
    Row now, acquirable, released; // `released`: what its last release fence published
    uint32_t fence = Views::none;  // the same, as a message's view
    std::vector<Seen> seen;
    std::vector<Look> looks;
    bool twice = false; // two looks at a word differed
    Event woken_by;     // the change that ended its last wait
};

// Which message each group of lanes is read from.
struct Group {
    uint8_t lanes;
    std::vector<size_t> candidates; // indices into the cell's messages, newest first
};
using Reading = std::array<size_t, lanes_of_cell>; // a message's index by lane

struct Use { // one way to carry out an access
    Reading from;
    bool writes;
    size_t at; // the index of the message it leaves; 0: none
};

uint8_t mask_of(const Access &a) {
    auto lane = reinterpret_cast<uintptr_t>(a.address()) % lanes_of_cell;
    if (lane + a.width > lanes_of_cell)
        throw std::invalid_argument("an access across two words of eight bytes");
    return static_cast<uint8_t>(((1u << a.width) - 1) << lane);
}

// The lanes of its word: the order of two stores to different halves shows in a store to both.
uint8_t word_of(const Access &a) {
    uint8_t mask = mask_of(a);
    return a.width >= 4 ? mask : mask & 0xf ? 0xf : 0xf0;
}

uint64_t spread(uint8_t lanes) { // a byte of ones for each lane
    uint64_t m = 0;
    for (size_t i = 0; i < lanes_of_cell; i++)
        if (lanes >> i & 1)
            m |= uint64_t(0xff) << 8 * i;
    return m;
}

class C11 final : public MemoryModel {
public:
    C11(Memory &memory, Search *&search, bool sequential) : memory_(memory), search_(search) {
        if (sequential)
            graph_.emplace();
        index_.resize(Memory::usual_size / lanes_of_cell);
    }

    void reset(size_t contexts) override {
        contexts_ = contexts;
        cells_in_use_ = 0;
        execution_++;
        views_.reset();
        agents_.resize(contexts);
        for (size_t i = 0; i < contexts; i++) {
            Agent &a = agents_[i];
            for (Row *row : {&a.now, &a.acquirable, &a.released})
                row->assign(contexts, 0);
            a.now[i] = 1; // 0 means "never" to everybody else
            a.fence = Views::none;
            a.woken_by = {};
            look_afresh(i);
        }
        fenced_.assign(contexts, 0);
        if (graph_)
            graph_->reset();
    }

    uint64_t access(size_t me, const Access &a, Order order, Footprint &f) override {
        pending(a, f);
        if (is_sequential(order) && !graph_)
            throw std::logic_error("a sequentially consistent access without a graph");
        if (a.op == Op::store) {
            store(me, a, order);
            return 0;
        }
        size_t c = cell_of(a.address());
        if (a.at_once)
            learn(me, a, c);
        find_uses(me, a, c, order);
        Use use = uses_[search_->choose(static_cast<unsigned>(uses_.size()))];
        uint64_t old = assemble(a, c, use.from);
        if (a.op == Op::cas && !use.writes)
            order = failing_order(a);
        if (graph_)
            graph_->add(event_of(me, a, c, order, use));
        uint32_t carried = read(me, a, c, use.from, order);
        if (!use.writes && group_count_ > 1)
            note_mixed(me, a, c, use.from);
        if (use.writes)
            leave(me, a, c, use.at, result_of(a, old), order, true, carried);
        saw(me, a, c, old, use.writes ? result_of(a, old) : old);
        tick(me);
        return old;
    }

    void pending(const Access &a, Footprint &f) const override {
        f.add(a.address(), a.width, a.op != Op::load || a.at_once);
        if (a.op != Op::load && a.width < 4)
            f.add(halves_of(a.address()), 1, true);
    }

    void fence(size_t me, Footprint &f) override {
        Agent &a = agents_[me];

        f.add(fences, 1, true);
        join(a.now, a.acquirable.data(), a.acquirable.size());
        // The order of fences is no happens-before order, which the graph must know exactly.
        for (size_t i = graph_ ? contexts_ : 0; i < fenced_.size(); i++)
            a.now[i] = std::max(a.now[i], fenced_[i]);
        fenced_ = a.now;
        a.released = a.now;
        a.fence = views_.keep(a.now);
        if (graph_)
            graph_->add(fence_event(me, true));
        a.now[me]++;
    }

    void light_fence(size_t me, Order order) override {
        Agent &a = agents_[me];

        if (acquires(order))
            join(a.now, a.acquirable.data(), a.acquirable.size());
        if (releases(order)) {
            a.released = a.now;
            a.fence = views_.keep(a.now);
        }
        if (graph_)
            graph_->add(fence_event(me, false));
        a.now[me]++;
    }

    bool has_race() const override { return graph_ && graph_->has_race(); }

    // Data races are looked for by clocks; what is free of them sees the newest value.
    std::string plain(size_t me, const Access &a, uint64_t &value, Footprint &f) override {
        bool writes = a.op != Op::load;
        engine::History &h = memory_.history(a.object);
        const Row &now = agents_[me].now;

        f.add(a.address(), a.width, writes);
        for (uint32_t i = 0; i < contexts_; i++)
            if ((h.writer == i && h.written > now[i]) || (writes && h.read[i] > now[i]))
                return std::string(writes ? "writes data used" : "reads data written") + " by T" +
                       std::to_string(i + 1) + " without a happens-before order";
        if (writes) {
            h.writer = static_cast<uint32_t>(me);
            h.written = now[me];
            Memory::write(a.address(), a.width, a.value);
        } else {
            h.read[me] = now[me];
            value = Memory::read(a.address(), a.width);
        }
        return {};
    }

    std::string unordered_use(size_t me, engine::Object &o) override {
        for (size_t i = 0; i < contexts_; i++)
            if (o.touched[i] > agents_[me].now[i])
                return "T" + std::to_string(i + 1);
        return {};
    }

    void catch_up(size_t me) override {
        for (size_t c = 0; c < cells_in_use_; c++)
            for (const Message &m : cells_[c].messages)
                for (size_t lane : lanes_in(m.lanes))
                    raise(agents_[me].now, c, lane, m.time);
    }

    uint32_t clock(size_t me) const override { return agents_[me].now[me]; }

    bool sees_change(size_t me) const override {
        const Agent &a = agents_[me];
        bool changed = a.twice;

        for (size_t i = 0; i < a.looks.size() && !changed; i++)
            changed = newer(a.seen[i], a.looks[i]);
        return changed;
    }

    void watched(size_t me, Footprint &f) const override {
        for (const Seen &s : agents_[me].seen)
            f.add(s.at, s.width, false);
    }

    // It will see at least the first change of one of the words it watches; if it waited for one.
    void notice(size_t me) override {
        Agent &a = agents_[me];
        std::vector<size_t> changed;

        if (a.twice) // it may have looked again before anything changed
            return;
        for (size_t i = 0; i < a.looks.size(); i++)
            if (newer(a.seen[i], a.looks[i]))
                changed.push_back(i);
        if (changed.empty())
            return;
        size_t i = changed[search_->choose(static_cast<unsigned>(changed.size()))];
        const Look &l = a.looks[i];
        const Message &m = *newer(a.seen[i], l);
        a.woken_by = m.event;
        for (size_t lane : lanes_in(m.lanes & l.lanes))
            raise(a.now, l.cell, lane, m.time);
    }

    void look_afresh(size_t me) override {
        agents_[me].seen.clear();
        agents_[me].looks.clear();
        agents_[me].twice = false;
    }
    void disturb(size_t me) override { agents_[me].twice = true; }
    // The same message, which a context may read for as long as it knows of no later one.
    std::optional<uint64_t> finds_again(size_t me, const Access &a) const override {
        const Agent &agent = agents_[me];

        for (size_t i = 0; i < agent.seen.size(); i++) {
            const Seen &s = agent.seen[i];
            if (s.at != a.address() || s.width != a.width)
                continue;
            bool reads = a.op == Op::load || (a.op == Op::cas && s.value != a.expected);
            if (a.op == Op::store || result_of(a, s.value) != s.value ||
                !is_known(agent, agent.looks[i], !reads))
                return {};
            return s.value;
        }
        return {};
    }
    const std::vector<Seen> &seen(size_t me) const override { return agents_[me].seen; }

private:
    static Order failing_order(const Access &a) {
        return a.failing_sequential ? Order::seq_cst
               : a.failing_acquires ? Order::acquire
                                    : Order::relaxed;
    }

    // With a graph, every event has a clock of its own.
    void tick(size_t me) { agents_[me].now[me] += graph_ ? 1 : 0; }

    GraphEvent fence_event(size_t me, bool sequential) const {
        const Row &now = agents_[me].now;
        GraphEvent e;

        e.who = me;
        e.clocks.assign(now.begin(), now.begin() + static_cast<ptrdiff_t>(contexts_));
        e.is_fence = true;
        e.is_sequential = sequential;
        return e;
    }

    GraphEvent event_of(size_t me, const Access &a, size_t c, Order order, const Use &use) const {
        GraphEvent e = fence_event(me, is_sequential(order));

        e.is_fence = false;
        e.is_plain = a.is_plain;
        e.reads = a.op != Op::store;
        e.writes = use.writes;
        e.cell = c;
        e.lanes = mask_of(a);
        e.at = use.at;
        for (size_t lane : lanes_in(e.reads ? e.lanes : 0)) {
            e.from[lane] = use.from[lane];
            uint32_t view = cells_[c].messages[use.from[lane]].view;
            for (size_t i = 0; i < contexts_ && acquires(order); i++)
                e.clocks[i] = std::max(e.clocks[i], views_.at(view, i));
        }
        return e;
    }

    size_t row(size_t cell, size_t lane) const { return contexts_ + cell * lanes_of_cell + lane; }

    void raise(Row &view, size_t cell, size_t lane, uint32_t time) const {
        uint32_t &t = view[row(cell, lane)];
        t = std::max(t, time);
    }

    // It knows of no later message. Nothing may have been exchanged for one that is to be
    // exchanged.
    bool is_known(const Agent &agent, const Look &l, bool exchanges) const {
        for (size_t lane : lanes_in(l.lanes)) {
            if (agent.now[row(l.cell, lane)] != l.time[lane])
                return false;
            for (const Message &m : cells_[l.cell].messages) {
                if (!exchanges || !(m.lanes >> lane & 1) || m.time <= l.time[lane])
                    continue;
                if (m.rmw)
                    return false;
                break;
            }
        }
        return true;
    }

    // Cells come into being when they are first accessed, with what memory holds.
    size_t cell_of(const uint8_t *at) {
        size_t offset = reinterpret_cast<uintptr_t>(at) - Memory::base;
        if (offset / lanes_of_cell >= index_.size()) // adopted memory lies beyond the arena
            index_.resize(offset / lanes_of_cell + 1);
        auto &[execution, cell] = index_[offset / lanes_of_cell];

        if (execution == execution_)
            return cell;
        execution = execution_;
        cell = static_cast<uint32_t>(cells_in_use_++);
        if (cells_.size() < cells_in_use_)
            cells_.emplace_back();
        const auto *begin = reinterpret_cast<const uint8_t *>(
            Memory::base + offset / lanes_of_cell * lanes_of_cell);
        cells_[cell].messages.assign(
            1, {0, 0xff, false, SIZE_MAX, {}, Memory::read(begin, lanes_of_cell), Views::none});
        cells_[cell].mixed.clear();
        for (Agent &a : agents_)
            for (Row *row : {&a.now, &a.acquirable, &a.released})
                row->resize(contexts_ + cells_in_use_ * lanes_of_cell, 0);
        fenced_.resize(contexts_ + cells_in_use_ * lanes_of_cell, 0);
        return cell;
    }

    // What happened before a change that it waited for happened before this step, too.
    bool must_see(const Message &m, size_t me) const {
        const Event &woken_by = agents_[me].woken_by;
        return !search_->ordered(m.event, static_cast<Process>(me)) &&
               !(woken_by.index && search_->ordered(m.event, woken_by));
    }

    // Lanes that every message covers all or none of are read together.
    void find_groups(size_t me, uint8_t mask, size_t c) {
        const auto &messages = cells_[c].messages;

        group_count_ = 0;
        heads_ = 0;
        for (size_t lane : lanes_in(mask)) {
            auto here = static_cast<uint8_t>(1 << lane);
            bool same = group_count_ > 0;
            for (size_t i = 0; same && i < messages.size(); i++)
                same = !(messages[i].lanes & here) == !(messages[i].lanes & here >> 1);
            if (same) {
                groups_[group_count_ - 1].lanes |= here;
                continue;
            }
            heads_ |= here;
            groups_[group_count_].lanes = here;
            groups_[group_count_++].candidates.clear();
        }
        for (size_t g = 0; g < group_count_; g++)
            find_candidates(me, groups_[g], c);
    }

    void find_candidates(size_t me, Group &g, size_t c) {
        const auto &messages = cells_[c].messages;
        uint32_t floor = 0;

        for (size_t lane : lanes_in(g.lanes))
            floor = std::max(floor, agents_[me].now[row(c, lane)]);
        for (size_t i = messages.size(); i-- > 0;) {
            if (!(messages[i].lanes & g.lanes))
                continue;
            g.candidates.push_back(i);
            if (messages[i].time <= floor)
                return;
        }
    }

    // All ways to carry out an access that reads.
    void find_uses(size_t me, const Access &a, size_t c, Order order) {
        std::array<size_t, lanes_of_cell> chosen{};

        find_groups(me, mask_of(a), c);
        uses_.clear();
        for (;;) {
            consider(me, a, c, order, chosen);
            size_t g = 0; // the next combination
            while (g < group_count_ && ++chosen[g] == groups_[g].candidates.size())
                chosen[g++] = 0;
            if (g == group_count_)
                break;
        }
        if (uses_.empty())
            throw std::logic_error("an access that can read nothing");
    }

    void consider(size_t me, const Access &a, size_t c, Order order,
                  const std::array<size_t, 8> &chosen) {
        Use use{{}, a.op != Op::load, 0};

        for (size_t g = 0; g < group_count_; g++)
            for (size_t lane : lanes_in(groups_[g].lanes))
                use.from[lane] = groups_[g].candidates[chosen[g]];
        if (a.op == Op::cas)
            use.writes = assemble(a, c, use.from) == a.expected;
        if (!is_whole(me, a, c, use.from, !use.writes) || !needs_this_order(me, c, use.from) ||
            !is_coherent(a, c, use.from,
                         acquires(a.op == Op::cas && !use.writes ? failing_order(a) : order)))
            return;
        if (use.writes && !find_room(a, c, use))
            return;
        if (graph_ && !graph_->allows(event_of(
                          me, a, c, use.writes || a.op != Op::cas ? order : failing_order(a), use)))
            return;
        uses_.push_back(use);
    }

    // Whatever it passes over happened before it, or before what it reads: else the same is found
    // where it comes first.
    bool needs_this_order(size_t me, size_t c, const Reading &from) const {
        const auto &messages = cells_[c].messages;

        for (size_t lane : lanes_in(heads_))
            for (size_t i = from[lane] + 1; i < messages.size(); i++)
                if (messages[i].lanes >> lane & 1 && must_see(messages[i], me) &&
                    !is_before(messages[i], c, from))
                    return false;
        return true;
    }

    bool is_before(const Message &m, size_t c, const Reading &from) const {
        for (size_t lane : lanes_in(heads_))
            if (search_->ordered(m.event, cells_[c].messages[from[lane]].event))
                return true;
        return false;
    }

    // What it acquires may say that what it reads is too old: one half of a word that of the other,
    // or, where a word continued the release of one half, that of both.
    bool is_coherent(const Access &a, size_t c, const Reading &from, bool acquires) const {
        uint8_t mask = mask_of(a);

        for (size_t lane : lanes_in(acquires ? heads_ : 0))
            for (size_t k : lanes_in(mask))
                if (views_.at(cells_[c].messages[from[lane]].view, row(c, k)) >
                    cells_[c].messages[from[k]].time)
                    return false;
        return true;
    }

    // No store is seen in part, but for what the context itself stored over it.
    bool is_whole(size_t me, const Access &a, size_t c, const Reading &from, bool forwards) const {
        if (group_count_ == 1)
            return true;
        const auto &messages = cells_[c].messages;
        uint8_t mask = mask_of(a);

        for (size_t s = 0; s < messages.size(); s++) {
            bool seen = false, missed = false;
            for (size_t lane : lanes_in(messages[s].lanes & mask)) {
                const Message &read = messages[from[lane]];
                bool hidden = forwards && from[lane] > s && read.writer == me && !read.rmw;
                missed |= from[lane] < s;
                seen |= from[lane] >= s && !hidden;
            }
            if (seen && missed)
                return false;
        }
        return true;
    }

    // A read-modify-write comes right after what it read.
    bool find_room(const Access &a, size_t c, Use &use) const {
        const auto &messages = cells_[c].messages;
        uint8_t mask = mask_of(a);
        size_t last = 0;

        for (size_t lane : lanes_in(mask))
            last = std::max(last, use.from[lane]);
        for (size_t lane : lanes_in(heads_))
            for (size_t i = use.from[lane] + 1; i <= last; i++)
                if (messages[i].lanes >> lane & 1)
                    return false;
        use.at = last + 1;
        while (is_full(c, use.at) && !(messages[use.at].lanes & mask))
            use.at++; // past stores to other lanes
        return may_insert(c, mask, use.at) &&
               (use.at == messages.size() || !tears(c, mask, use.at));
    }

    // No time is left there, and a random search can do without it.
    bool is_full(size_t c, size_t at) const {
        const auto &messages = cells_[c].messages;

        return at < messages.size() && search_->is_random() &&
               messages[at].time - messages[at - 1].time < 2;
    }

    bool may_insert(size_t c, uint8_t mask, size_t at) const {
        const auto &messages = cells_[c].messages;

        if (is_full(c, at))
            return false;
        for (size_t i = at; mask && i < messages.size(); i++) {
            if (messages[i].lanes & mask && messages[i].rmw)
                return false;
            mask &= static_cast<uint8_t>(~messages[i].lanes);
        }
        return true;
    }

    void note_mixed(size_t me, const Access &a, size_t c, const Reading &from) {
        Mixed m{mask_of(a), 0, {}};

        for (size_t lane : lanes_in(m.lanes)) {
            const Message &read = cells_[c].messages[from[lane]];
            m.time[lane] = read.time;
            if (read.writer == me && !read.rmw)
                m.own |= static_cast<uint8_t>(1 << lane);
        }
        cells_[c].mixed.push_back(m);
    }

    // Would a store before message `at` have been seen in part?
    bool tears(size_t c, uint8_t mask, size_t at) const {
        uint32_t next = cells_[c].messages[at].time;

        for (const Mixed &m : cells_[c].mixed) {
            bool seen = false, missed = false;
            for (size_t lane : lanes_in(m.lanes & mask)) {
                missed |= m.time[lane] < next;
                seen |= m.time[lane] >= next && !(m.own >> lane & 1);
            }
            if (seen && missed)
                return true;
        }
        return false;
    }

    uint64_t assemble(const Access &a, size_t c, const Reading &from) const {
        auto first = reinterpret_cast<uintptr_t>(a.address()) % lanes_of_cell;
        uint64_t value = 0;

        for (size_t i = 0; i < a.width; i++)
            value |= (cells_[c].messages[from[first + i]].bytes >> 8 * (first + i) & 0xff) << 8 * i;
        return value;
    }

    // Takes the messages in; the view they carry, for a release sequence to go on.
    uint32_t read(size_t me, const Access &a, size_t c, const Reading &from, Order order) {
        Agent &agent = agents_[me];
        uint8_t mask = mask_of(a);
        uint32_t carried = Views::none;
        size_t last = SIZE_MAX;

        for (size_t lane : lanes_in(mask)) {
            const Message &m = cells_[c].messages[from[lane]];
            raise(agent.now, c, lane, m.time);
            if (from[lane] == last)
                continue;
            last = from[lane];
            if (m.view == Views::none || a.is_plain)
                continue;
            views_.join_into(acquires(order) ? agent.now : agent.acquirable, m.view);
            carried = carried == Views::none ? m.view : both(carried, m.view);
        }
        return carried;
    }

    uint32_t both(uint32_t a, uint32_t b) {
        sum_.assign(agents_[0].now.size(), 0);
        views_.join_into(sum_, a);
        views_.join_into(sum_, b);
        return views_.keep(sum_);
    }

    // Where a store can go: last, or before messages that it need not have seen.
    void store(size_t me, const Access &a, Order order) {
        size_t c = cell_of(a.address());
        const auto &messages = cells_[c].messages;
        const Row &now = agents_[me].now;
        uint8_t mask = mask_of(a);
        std::vector<size_t> places{messages.size()};

        for (size_t i = messages.size(); i-- > 0;) {
            const Message &m = messages[i];
            if (!(m.lanes & word_of(a)))
                continue;
            bool seen = must_see(m, me);
            for (size_t lane : lanes_in(m.lanes & mask))
                seen |= m.time <= now[row(c, lane)];
            if (seen)
                break;
            if (may_insert(c, mask, i) && !tears(c, mask, i) &&
                (!graph_ || graph_->allows(event_of(me, a, c, order, {{}, true, i}))))
                places.push_back(i);
        }
        size_t at = places[search_->choose(static_cast<unsigned>(places.size()))];
        if (graph_)
            graph_->add(event_of(me, a, c, order, {{}, true, at}));
        leave(me, a, c, at, result_of(a, 0), order, false, Views::none);
        saw(me, a, c, result_of(a, 0), result_of(a, 0));
        tick(me);
    }

    void leave(size_t me, const Access &a, size_t c, size_t at, uint64_t value, Order order,
               bool rmw, uint32_t carried) {
        auto &messages = cells_[c].messages;
        Agent &agent = agents_[me];
        uint8_t mask = mask_of(a);
        auto first = reinterpret_cast<uintptr_t>(a.address()) % lanes_of_cell;
        uint32_t before = messages[at - 1].time, time = before + spacing;
        uint32_t view = a.is_plain ? Views::none : agent.fence;

        if (at < messages.size()) {
            time = before + (messages[at].time - before) / 2;
            if (time == before)
                throw BeyondModel("too many stores between two others, in the order of one word");
        }
        for (size_t lane : lanes_in(mask))
            raise(agent.now, c, lane, time);
        if (releases(order)) {
            view = views_.keep(agent.now);
            agent.now[me]++;
        }
        if (carried != Views::none)
            view = view == Views::none ? carried : both(view, carried);
        messages.insert(messages.begin() + static_cast<ptrdiff_t>(at),
                        {time, mask, rmw, me, search_->last(), value << 8 * first, view});
        settle(a, c);
    }

    // A compiler may store to the context's own stack without saying so: memory has it then.
    void learn(size_t me, const Access &a, size_t c) {
        uint64_t there = Memory::read(a.address(), a.width);

        if (there == assemble(a, c, newest(a, c)))
            return;
        leave(me, a, c, cells_[c].messages.size(), there, Order::relaxed, false, Views::none);
    }

    // Memory holds what comes last in modification order, for a reader from outside.
    void settle(const Access &a, size_t c) {
        Memory::write(a.address(), a.width, assemble(a, c, newest(a, c)));
    }

    Reading newest(const Access &a, size_t c) const {
        uint8_t mask = mask_of(a);
        Reading found{};

        for (size_t i = 0; i < cells_[c].messages.size(); i++)
            for (size_t lane : lanes_in(cells_[c].messages[i].lanes & mask))
                found[lane] = i;
        return found;
    }

    void saw(size_t me, const Access &a, size_t c, uint64_t read, uint64_t left) {
        Agent &agent = agents_[me];
        Look look{c, mask_of(a), {}};

        for (size_t lane : lanes_in(look.lanes))
            look.time[lane] = agent.now[row(c, lane)];
        for (size_t i = 0; i < agent.seen.size(); i++)
            if (agent.seen[i].at == a.address() && agent.seen[i].width == a.width) {
                agent.twice |= a.op != Op::store && agent.seen[i].value != read;
                agent.seen[i].value = left;
                agent.looks[i] = look;
                return;
            }
        agent.seen.push_back({a.address(), a.width, left});
        agent.looks.push_back(look);
    }

    // The first message after a look that changes what it saw.
    const Message *newer(const Seen &s, const Look &l) const {
        auto first = reinterpret_cast<uintptr_t>(s.at) % lanes_of_cell;

        for (const Message &m : cells_[l.cell].messages) {
            uint8_t fresh = 0;
            for (size_t lane : lanes_in(m.lanes & l.lanes))
                if (m.time > l.time[lane])
                    fresh |= static_cast<uint8_t>(1 << lane);
            if (fresh && (m.bytes ^ s.value << 8 * first) & spread(fresh))
                return &m;
        }
        return nullptr;
    }

    Memory &memory_;
    Search *&search_;
    size_t contexts_ = 0, cells_in_use_ = 0;
    uint32_t execution_ = 0;
    std::vector<std::pair<uint32_t, uint32_t>> index_; // execution and cell, by word
    std::vector<Cell> cells_;
    Views views_;
    std::vector<Agent> agents_;
    Row sum_;
    Row fenced_; // what fences have published, in their order
    std::array<Group, lanes_of_cell> groups_;
    size_t group_count_ = 0;
    uint8_t heads_ = 0; // the first lane of each
    std::vector<Use> uses_;
    std::optional<Graph> graph_;
};

} // namespace

std::unique_ptr<MemoryModel> make_c11(Memory &memory, Search *&search, bool sequential) {
    return std::make_unique<C11>(memory, search, sequential);
}

} // namespace ol::check
