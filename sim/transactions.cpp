// SPDX-License-Identifier: MIT
// The platform layer: hardware transactions, as RTM has them, where the host's feature says so.
//
// A transaction logs what it writes, and asks for lines as plain accesses do. An access of another
// context that conflicts aborts it at once, and so does the loss of its CPU: its stack is put back,
// to rest in htm_begin(), and goes on there with the cause. Beginning and committing cost an atomic
// operation each, and an abort another one: an estimate.
#include "simulation.h"

#include <algorithm>

namespace ol::simulator {

using engine::Access;
using engine::Memory;
using engine::Op;
using engine::Place;
using engine::Transaction;

bool Simulation::htm_works(Place) {
    return self_ && scenario_.features.transactions;
}

bool Simulation::htm_active(Place) {
    return self_ && self_->in_transaction();
}

unsigned Simulation::htm_begin(Place place) {
    if (!htm_works(place))
        return Transaction::unknown;
    Task &t = *self_;
    Transaction &x = t.transaction;
    size_t lines = scenario_.features.transactions_lines;
    x.begin({lines, lines});
    if (x.is_nested())
        return OL_HTM_STARTED;
    in_transactions_.push_back(&t);
    events_.set(t.step, events_.now() + machine().costs.atomic);
    keep_or_put_back(t);
    return x.active() ? OL_HTM_STARTED : x.status(); // it may have been long ago, too
}

// Its stack, as it rests here. Both are done from outside.
void Simulation::keep_or_put_back(Task &t) {
    wishes_ = &t;
    t.coroutine.suspend();
}

void Simulation::grant(Task &t) {
    if (t.in_transaction())
        t.coroutine.keep();
    else
        t.coroutine.put_back();
}

// After all of its stores, as a locked instruction.
void Simulation::htm_commit(Place place) {
    Task &t = *self_;
    Transaction &x = t.transaction;

    if (!x.is_nested()) {
        fence(place);
        if (t.waits_for && t.waits_for->holder)
            failure_ =
                t.guest.plan.name + ": a transaction commits while another context holds its lock";
    }
    if (!x.commit())
        return;
    std::erase(in_transactions_, &t);
    x.publish();
    progress_++;
    for (const Transaction::Line &l : x.lines())
        if (l.written)
            notice(line_of(l.at));
}

void Simulation::htm_abort(Place) {
    abort_self(Transaction::explicitly);
}

void Simulation::htm_set_owner(const void *p, Place) {
    self_->transaction.set_owner(p);
}

const void *Simulation::htm_owner(Place place) {
    return htm_active(place) ? self_->transaction.owner() : nullptr;
}

// Aborts.

void Simulation::forget_transaction(Task &t, unsigned cause) {
    t.transaction.abort(cause);
    std::erase(in_transactions_, &t);
    forget(t);
    t.elided.reset();
    t.in_order = events_.now();
}

// Of one that rests.
void Simulation::abort(Task &t, unsigned cause) {
    if (!t.in_transaction())
        return;
    forget_transaction(t, cause);
    t.coroutine.put_back();
    if (t.on_cpu())
        events_.set(t.step, events_.now() + machine().costs.atomic);
    else
        t.left = machine().costs.atomic;
}

// Does not return.
void Simulation::abort_self(unsigned cause) {
    Task &t = *self_;

    forget_transaction(t, cause);
    events_.set(t.step, events_.now() + machine().costs.atomic);
    keep_or_put_back(t);
    std::terminate();
}

void Simulation::interrupted(Task &t) {
    if (&t == self_)
        cannot_be_inside();
    else
        abort(t, Transaction::unknown);
}

// PAUSE, system calls, interrupts.
void Simulation::cannot_be_inside() {
    if (htm_active({}))
        abort_self(Transaction::unknown);
}

// Memory.

// Whoever asks for a line wins.
void Simulation::displace(const Access &a) {
    for (size_t i = in_transactions_.size(); i-- > 0;) {
        Task &t = *in_transactions_[i];
        if (&t != self_ && t.transaction.conflicts(a.address(), a.width, a.op != Op::load))
            abort(t, Transaction::conflict | Transaction::retry);
    }
}

// Its lines are asked for as by a load, and by a store that changes nothing: what it writes is in
// the log. It may be aborted meanwhile, and then does not return.
uint64_t Simulation::access_inside(const Access &a) {
    Transaction &x = self_->transaction;
    const uint8_t *p = a.address();
    bool reads = a.op != Op::store, writes = a.op != Op::load;
    uint64_t old = 0;

    if ((reads && !x.read(p, a.width)) || (writes && !x.write(p, a.width)))
        abort_self(Transaction::capacity);
    if (reads) {
        Access asks = a;
        asks.op = Op::load;
        old = x.merged(p, a.width, access_memory(asks));
    }
    if (!writes)
        return old;
    Access asks = a;
    asks.op = Op::store;
    asks.value = Memory::read(p, a.width);
    access_memory(asks);
    x.store(p, a.width, truncated(result_of(a, old), a.width));
    return old;
}

} // namespace ol::simulator
