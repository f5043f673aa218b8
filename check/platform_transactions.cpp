// SPDX-License-Identifier: MIT
// The platform layer: transactions, as RTM has them, where memory has one value at a time.
//
// Accesses inside are steps that ask for lines of 64 bytes; the later access wins. A transaction
// keeps its sets until a step ends it: the commit, its own abort, or the one in which it finds that
// another has aborted it. Every such step touches all its lines; every access of others that
// conflicts with them writes the transaction itself, which each of its steps reads. So two steps
// that do not conflict commute, whichever way the transaction ends.
#include "format.h"
#include "world.h"

#include <check/engine/transaction.h>

#include <tuple>
#include <utility>

namespace ol::check {

namespace {

using engine::Transaction;

constexpr unsigned by_conflict = Transaction::conflict | Transaction::retry;
constexpr unsigned without_cause[] = {Transaction::unknown, Transaction::retry, by_conflict,
                                      Transaction::capacity};

void add_lines(Footprint &f, const Transaction &t) {
    for (const Transaction::Line &l : t.lines())
        f.add(l.at, Transaction::line_bytes, l.is_owned);
}

void add_lines_of(Footprint &f, const Access &a) {
    auto first = reinterpret_cast<uint64_t>(a.address()) & ~(Transaction::line_bytes - 1);
    auto end = reinterpret_cast<uint64_t>(a.address()) + a.width;

    f.add(first,
          end - first > Transaction::line_bytes ? 2 * Transaction::line_bytes
                                                : Transaction::line_bytes,
          a.op != Op::load);
}

} // namespace

bool World::in_transaction() const {
    return transactions_ && is_inside() && here_->context.transaction.active();
}

// Beginning and ending.

// No step: nobody can tell. Stores that wait in the buffer may reach memory while it runs; XEND is
// ordered as a locked instruction is, so it waits for them.
unsigned World::htm_begin(Place place) {
    if (!htm_works(place))
        return Transaction::unknown;
    settle(place);
    Agent &a = me();
    a.place = place;
    a.context.transaction.begin(rules_.capacity);
    if (a.context.transaction.is_nested())
        return OL_HTM_STARTED;
    begin_anew_ |= !speculative_;
    speculative_ = true;
    transactions_++;
    a.begun = {a.must_not_wait, a.timed,   a.interruptible, a.tried,
               a.timed_until,   a.arrival, a.counts};
    say(place, "begins a transaction");
    if (a.context.mark())
        return OL_HTM_STARTED;
    return aborted();
}

// Back where it began, having made the step that aborted it; or if others did, about to notice.
unsigned World::aborted() {
    Agent &a = me();

    if (a.doomed) {
        Footprint f;
        if (std::exchange(a.unannounced, false))
            announce({Kind::ends});
        f.add(transaction_of(self_), 1, false);
        add_lines(f, a.context.transaction);
        made(f);
        over(a, by_conflict);
    }
    unsigned status = a.context.transaction.status();
    if (a.struck != Budget::count)
        interrupt(std::exchange(a.struck, Budget::count));
    return status;
}

// Whoever was aborted by something from outside has seen a change, and does not wait for one.
void World::over(Agent &a, unsigned cause) {
    a.context.transaction.abort(cause);
    transactions_--;
    a.doomed = false;
    if (cause != Transaction::explicitly)
        loads_->watch()->disturb(a.context.index);
    if (trace_)
        say(a.place, "its transaction is aborted: " + hex(a.context.transaction.status()), true);
}

// What it changed in memory nobody has seen. Time does not go back, and what was spent is spent.
void World::take_back(Agent &a) {
    const Begun &b = a.begun;

    for (; !a.undo.empty(); a.undo.pop_back())
        a.undo.back()();
    a.certain.clear();
    a.must_not_wait = b.must_not_wait;
    a.timed = b.timed;
    a.interruptible = b.interruptible;
    a.tried = b.tried;
    a.timed_until = b.timed_until;
    std::tie(a.arrival.joined, a.arrival.joined_slice, a.arrival.told, a.arrival.tired) =
        std::tie(b.arrival.joined, b.arrival.joined_slice, b.arrival.told, b.arrival.tired);
    a.counts = b.counts;
}

void World::abort_self(unsigned cause, Footprint &f) {
    Agent &a = me();

    add_lines(f, a.context.transaction);
    made(f);
    take_back(a);
    over(a, cause);
    a.context.go_back();
}

void World::htm_commit(Place place) {
    if (!in_transaction())
        fail(Wrong::misuse, "commit at " + text(place) + " in no transaction");
    Transaction &t = me().context.transaction;
    if (t.is_nested()) {
        t.commit();
        return;
    }
    Footprint f;
    step_inside({Kind::ends, {}, model_ == Model::tso}, place, f);
    add_lines(f, t);
    t.commit();
    transactions_--;
    bool wrote = publish(t);
    arrives(wrote);
    made(f);
    say(place, "commits");
    me().undo.clear();
    for (auto &act : std::exchange(me().certain, {}))
        act();
}

// All at once. What it has seen, it has seen as it left it.
bool World::publish(const Transaction &t) {
    const std::vector<Seen> &seen = loads_->seen(self_);
    std::vector<uint64_t> before;
    bool wrote = false;

    for (const Seen &s : seen)
        before.push_back(Memory::read(s.at, s.width));
    t.publish();
    for (size_t i = 0; i < seen.size(); i++) {
        const Seen &s = seen[i];
        Access a{const_cast<uint8_t *>(s.at), 0, s.width, Op::load, Order::relaxed, 0, 0, {}};
        loads_->watch()->saw(self_, a, before[i], Memory::read(s.at, s.width));
    }
    for (const Transaction::Line &l : t.lines())
        wrote |= l.written != 0;
    if (wrote)
        changed();
    return wrote;
}

void World::htm_abort(Place place) {
    if (!in_transaction())
        fail(Wrong::misuse, "abort at " + text(place) + " in no transaction");
    Footprint f;
    step_inside({Kind::ends}, place, f);
    abort_self(Transaction::explicitly, f);
}

bool World::htm_active(Place) {
    return in_transaction();
}

bool World::htm_works(Place) {
    return is_inside() && has_transactions();
}

bool World::has_transactions() const {
    return loads_->watch() && rules_.capacity.read + rules_.capacity.written > 0;
}

void World::htm_set_owner(const void *p, Place) {
    if (is_inside())
        me().context.transaction.set_owner(p);
}

const void *World::htm_owner(Place) {
    return in_transaction() ? me().context.transaction.owner() : nullptr;
}

// PAUSE, system calls: they abort, and are not made.
void World::cannot_be_inside(Place place) {
    if (!in_transaction())
        return;
    Footprint f;
    step_inside({Kind::ends}, place, f);
    abort_self(Transaction::unknown, f);
}

// Steps inside.

// The adversary may abort it at each, in place of the step; so do interrupts.
void World::step_inside(const Next &next, Place place, Footprint &f) {
    point(next, place);
    Agent &a = me();
    f.add(transaction_of(self_), 1, false);
    for (Budget kind : {Budget::irq, Budget::nmi})
        if (a.interruptible && may(kind)) {
            a.struck = kind;
            abort_self(Transaction::unknown, f);
        }
    if (!a.left[Budget::abort])
        return;
    unsigned why = search_->choose(static_cast<unsigned>(1 + std::size(without_cause)));
    if (!why)
        return;
    a.left[Budget::abort]--;
    abort_self(without_cause[why - 1], f);
}

// Orders count for nothing here: all happens at the commit.
uint64_t World::access_inside(const Access &a) {
    bool reads = a.op != Op::store, writes = a.op != Op::load;
    const uint8_t *p = a.address();
    Footprint f;

    step_inside({Kind::access, a, model_ == Model::tso && is_rmw(a.op)}, a.place, f);
    Transaction &t = me().context.transaction;
    displace(p, a.width, writes, f);
    object_of(a);
    Order order = order_of(a);
    add_lines_of(f, a);
    if ((reads && !t.read(p, a.width)) || (writes && !t.write(p, a.width)))
        abort_self(Transaction::capacity, f);
    uint64_t outside = loads_->look(self_, p, a.width);
    uint64_t old = reads ? t.merged(p, a.width, outside) : 0, left = result_of(a, old);
    if (writes && (a.op != Op::cas || old == a.expected))
        t.store(p, a.width, left);
    loads_->watch()->saw(self_, a, outside, outside);
    made(f);
    arrives(false);
    if (trace_)
        say_access(a, order, old, left);
    return old;
}

void World::touch_inside(const engine::Object &o, const Next &next, Place place) {
    Footprint f;

    step_inside(next, place, f);
    displace(o.at, o.size, true, f);
    if (!me().context.transaction.write(o.at, o.size))
        abort_self(Transaction::capacity, f);
    f.add(o.at, o.size, true);
    made(f);
}

// What others' accesses do to transactions.

// An access aborts every other transaction that it conflicts with. One that is doomed already, but
// has not noticed, conflicts still: which of two aborts it must not matter.
void World::displace(const void *at, size_t width, bool writes, Footprint &f) {
    if (!transactions_ || !is_inside())
        return;
    for (size_t i = 0; i < contexts_; i++)
        if (i != self_ && conflicts(i, at, width, writes)) {
            f.add(transaction_of(i), 1, true);
            doom(i);
        }
}

void World::doom(size_t i) {
    Agent &a = *agents_[i];

    if (a.doomed || a.doing != Doing::runs)
        return;
    a.doomed = true;
    take_back(a);
    a.next = {Kind::ends};
    if (i == stack_) // it is on its stack that its own wait for a turn is ended: see schedule()
        a.unannounced = true;
    else
        a.context.rollback();
}

bool World::conflicts(size_t i, const void *at, size_t width, bool writes) const {
    const Transaction &t = agents_[i]->context.transaction;

    return t.active() && t.conflicts(static_cast<const uint8_t *>(at), width, writes);
}

// A request for a line, beyond what memory's values tell: a store that changes nothing and a
// compare-exchange that fails ask for it as well.
void World::request(const Access &a, Footprint &f) {
    if (!speculative_)
        return;
    f.add(a.address(), a.width, a.op != Op::load);
    displace(a.address(), a.width, a.op != Op::load, f);
}

void World::pending_request(size_t who, const void *at, size_t width, bool writes,
                            Footprint &f) const {
    if (!speculative_)
        return;
    f.add(at, width, writes);
    for (size_t i = 0; i < contexts_; i++)
        if (i != who && conflicts(i, at, width, writes))
            f.add(transaction_of(i), 1, true);
}

// What one in a transaction would touch next, apart from conflicts with others'.
void World::pending_inside(size_t who, Footprint &f) const {
    const Agent &a = *agents_[who];

    f.add(transaction_of(who), 1, false);
    if (a.next.kind == Kind::ends)
        add_lines(f, a.context.transaction);
    else if (a.next.kind == Kind::access)
        add_lines_of(f, a.next.access);
}

// For clients.

void World::once_certain(std::function<void()> act) {
    if (in_transaction())
        me().certain.push_back(std::move(act));
    else
        act();
}

void World::if_aborted(std::function<void()> undo) {
    if (in_transaction())
        me().undo.push_back(std::move(undo));
}

} // namespace ol::check
