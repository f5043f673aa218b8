// SPDX-License-Identifier: MIT
#include "machine.h"

#include <algorithm>
#include <cstring>

namespace ol::engine {

namespace {

const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

std::string text(Place p) {
    return p.file ? std::string(base_name(p.file)) + ":" + std::to_string(p.line) : "nowhere";
}

std::string hex(uint64_t v) {
    char s[32];
    snprintf(s, sizeof s, "0x%llx", static_cast<unsigned long long>(v));
    return s;
}

std::string name(const Context &c) {
    return "T" + std::to_string(c.index + 1);
}

// The value an operation leaves, cut to the width by the store.
uint64_t result(const Access &a, uint64_t old) {
    switch (a.op) {
    case Op::load:
        return old;
    case Op::store:
    case Op::xchg:
        return a.value;
    case Op::cas:
        return old == a.expected ? a.value : old;
    case Op::add:
        return old + a.value;
    case Op::bit_or:
        return old | a.value;
    case Op::bit_and:
        return old & a.value;
    }
    return old;
}

} // namespace

Machine::Machine() {
    world_here = this;
}

Machine::~Machine() {
    stop();
    world_here = nullptr;
}

void Machine::reset(size_t contexts, Schedule &schedule, const ol_tuning &tuning) {
    stop(); // whoever a pause left behind
    memory_.reset(contexts);
    while (contexts_.size() < contexts) {
        contexts_.push_back(std::make_unique<Context>(contexts_.size()));
        contexts_.back()->events.resize(OL_EVENTS);
        begun_.emplace_back();
    }
    count_ = contexts;
    spawned_ = 0;
    self_ = nullptr;
    schedule_ = &schedule;
    tuning_ = tuning;
    nodes_.clear();
    free_nodes_.clear();
    wait_array_ = nullptr;
    in_transactions_ = 0;
    committed_.clear();
    steps_ = 0;
    turn_left_ = 0;
    to_mark_ = false;
    sleepers_ = late_kicks_ = 0;
    time_ = 1;
    failure_ = {};
}

void Machine::spawn(std::function<void()> body, Abilities abilities) {
    contexts_[spawned_++]->begin(std::move(body), abilities, count_);
}

// Running.

bool Machine::run() {
    bool pending = true;

    while (pending && !failure_) {
        pending = false;
        ready_.clear();
        for (size_t i = 0; i < spawned_; i++) {
            pending |= contexts_[i]->doing != Doing::done;
            if (contexts_[i]->doing == Doing::runs)
                ready_.push_back(i);
        }
        if (!pending || (schedule_->pauses() && !failure_))
            break;
        if (!ready_.empty())
            give_turn();
        else if (!unstick())
            stuck();
    }
    self_ = nullptr; // whoever calls now looks on from outside
    if (failure_)
        stop();
    return !failure_;
}

void Machine::give_turn() {
    Turn t = schedule_->next(ready_, steps_);
    Context &c = *contexts_[t.who];

    if (t.passing) {
        time_ += t.passing;
        expire();
    }
    if (t.steps == 0)
        return;
    if (late_kicks_)
        for (size_t i = 0; i < spawned_; i++)
            if (contexts_[i]->late_kicks && schedule_->doubt(Doubt::kick_arrives))
                deliver(*contexts_[i]);
    if (self_ != &c)
        c.slices++, c.slice_began = time_;
    self_ = &c;
    turn_left_ = t.steps;
    to_mark_ = t.to_mark;
    c.resume();
    if (c.doing == Doing::done && c.transaction.active() && !failure_)
        failure_ = {Wrong::misuse, name(c) + " ends in a transaction, begun at " + text(c.place)};
}

// Every platform call comes here first: the only place where contexts switch involuntarily.
void Machine::point(Place place) {
    if (!self_)
        return; // the client looks at an idle world from outside
    if (turn_left_ == 0) {
        self_->suspend();
        if (stopping_)
            throw Stop{};
    }
    turn_left_--;
    self_->place = place;
    if (++steps_ > step_limit_)
        fail(Wrong::livelock, "after " + std::to_string(steps_) + " steps: " + who_waits());
    if (self_->must_not_wait && ++self_->steps_in_try > try_limit)
        fail(Wrong::try_waits, "trylock made " + std::to_string(try_limit) + " calls");
    if (in_transaction() && schedule_->doubt(Doubt::transaction_aborts)) {
        using T = Transaction;
        static constexpr unsigned causes[] = {T::unknown, T::retry, T::conflict | T::retry,
                                              T::capacity};
        abort_self(causes[schedule_->pick(std::size(causes))]);
    }
}

// Ends every context that is not done, by unwinding its stack.
void Machine::stop() {
    stopping_ = true;
    for (size_t i = 0; i < spawned_; i++)
        while (contexts_[i]->doing != Doing::done) {
            self_ = contexts_[i].get();
            if (!self_->place.file) { // it never ran: nothing to unwind
                self_->doing = Doing::done;
                break;
            }
            self_->resume();
        }
    stopping_ = false;
    self_ = nullptr;
}

void Machine::fail(Wrong what, const std::string &how) {
    if (!failure_) {
        failure_ = {what, how};
        if (self_)
            say(self_->place, std::string("FAILURE: ") + name_of(what) + ": " + how);
    }
    throw Stop{};
}

void Machine::mark(const char *what) {
    if (!self_)
        return;
    if (trace_)
        say(self_->place, std::string("-- ") + what);
    self_->place = {what, 0};
    if (to_mark_)
        turn_left_ = 0;
}

// Sleeping and waking.

void Machine::sleep(Doing how, Ticks until, Place place) {
    if (!self_)
        fail(Wrong::unusable, "waits at " + text(place) + " while nobody else is there");
    self_->until = until;
    self_->doing = how;
    sleepers_++;
    self_->suspend();
    if (stopping_)
        throw Stop{};
}

void Machine::wake(Context &c) {
    if (!c.asleep())
        return;
    c.doing = Doing::runs;
    c.parked_on = nullptr;
    sleepers_--;
}

void Machine::wake_watchers() {
    for (size_t i = 0; i < spawned_; i++) {
        Context &c = *contexts_[i];
        if (c.doing == Doing::relaxes && c.sees_change())
            wake(c);
    }
}

bool Machine::expire() {
    bool woke = false;

    if (!sleepers_)
        return false;
    for (size_t i = 0; i < spawned_; i++) {
        Context &c = *contexts_[i];
        if (!c.asleep() || time_ < c.until)
            continue;
        if (c.doing == Doing::parks && !schedule_->doubt(Doubt::park_expires))
            continue;
        wake(c);
        woke = true;
    }
    return woke;
}

// A kick that was under way reaches its context, parked or not.
void Machine::deliver(Context &c) {
    c.late_kicks--;
    late_kicks_--;
    if (c.doing == Doing::parks)
        wake(c);
    else
        c.lingering_kick = schedule_->doubt(Doubt::kick_lingers);
}

// Nobody can run. Kicks under way arrive, and time passes for those who look at it; but no park
// ends by itself, for that would hide a wake-up that was lost.
bool Machine::unstick() {
    bool woke = false;
    Ticks earliest = never;

    for (size_t i = 0; i < spawned_; i++) {
        Context &c = *contexts_[i];
        while (c.late_kicks) {
            woke |= c.doing == Doing::parks;
            deliver(c);
        }
        if (c.doing == Doing::relaxes)
            earliest = std::min(earliest, c.until);
    }
    if (woke)
        return true;
    if (earliest == never)
        return false;
    time_ = std::max(time_, earliest);
    for (size_t i = 0; i < spawned_; i++)
        if (contexts_[i]->doing == Doing::relaxes && contexts_[i]->until <= time_) {
            wake(*contexts_[i]);
            woke = true;
        }
    return woke;
}

void Machine::stuck() {
    bool parked = false;

    for (size_t i = 0; i < spawned_; i++)
        parked |= contexts_[i]->doing == Doing::parks;
    failure_ = {parked ? Wrong::lost_wakeup : Wrong::deadlock, who_waits()};
    if (trace_)
        trace_->add(std::string("FAILURE: ") + name_of(failure_.what) + ": " + failure_.how);
}

std::string Machine::who_waits() const {
    auto &memory = const_cast<Memory &>(memory_);
    std::string all;

    for (size_t i = 0; i < spawned_; i++) {
        const Context &c = *contexts_[i];
        if (i == enough_told)
            return all + "; ...";
        all += all.empty() ? "" : "; ";
        all += name(c);
        if (c.doing == Doing::done)
            all += " done";
        else if (c.doing == Doing::runs)
            all += " can run at " + text(c.place);
        else if (c.doing == Doing::parks)
            all += " parked at " + text(c.place) + " on " + memory.describe(c.parked_on) +
                   " with key " + hex(c.key);
        else
            all += std::string(c.yields ? " yields" : " relaxes") + " at " + text(c.place);
        if (c.doing != Doing::relaxes)
            continue;
        for (const Seen &s : c.seen)
            all += ", saw " + memory.describe(s.at) + " = " + hex(s.value);
        if (c.until == never && c.asked != never && !c.yields)
            all += ", asked for the time: a loop that ends on time must use ol_relax_until";
    }
    return all;
}

// Memory.

Object &Machine::object_of(const Access &a) {
    Object *o = memory_.find(a.object);

    if (!o)
        fail(Wrong::wild, text(a.place) + " touches " + memory_.describe(a.object));
    if (o->state == Object::freed)
        fail(Wrong::after_free, text(a.place) + " touches " + memory_.describe(a.object) +
                                    " after its memory was freed");
    if (o->state == Object::pooled && a.op != Op::load)
        fail(Wrong::after_free,
             text(a.place) + " changes " + memory_.describe(a.object) + " after it was given back");
    return *o;
}

Order Machine::order_of(const Access &a) {
    bool acquire = acquires(a.order), release = releases(a.order);

    if (sites_ && a.order != Order::relaxed) {
        bool known = false;
        for (const Site &s : *sites_)
            known |= s.place.line == a.place.line && s.order == a.order &&
                     strcmp(s.place.file, a.place.file) == 0;
        if (!known)
            sites_->push_back({a.place, a.order});
    }
    for (const Weakening &w : weakenings_)
        if (w.line == a.place.line && w.file == base_name(a.place.file)) {
            acquire &= !w.drop_acquire;
            release &= !w.drop_release;
        }
    return acquire   ? release ? Order::acq_rel : Order::acquire
           : release ? Order::release
                     : Order::relaxed;
}

void Machine::happens(const Access &a, Order order, bool reads, bool writes) {
    const uint8_t *p = a.address();
    Snapshots &s = memory_.snapshots();

    if (reads)
        memory_.acquire_from(p, a.width, acquires(order) ? self_->clock : self_->acquirable);
    if (!writes)
        return;
    for (size_t i = 0; !committed_.empty() && i < a.width; i++)
        if (auto c = committed_.find(p + i); c != committed_.end())
            join(acquires(order) ? self_->clock : self_->acquirable, s[c->second.readers]);
    if (!releases(order) && a.op != Op::store)
        return; // a read-modify-write continues the release sequence it found
    if (!releases(order)) {
        memory_.set_released(p, a.width, self_->fenced);
        return;
    }
    Clock published = self_->clock;
    if (a.op != Op::store)
        memory_.acquire_from(p, a.width, published);
    memory_.set_released(p, a.width, s.take(published));
    tick();
}

uint64_t Machine::access(const Access &a) {
    point(a.place);
    if (in_transaction())
        return access_inside(a);
    Object &o = object_of(a);
    uint8_t *p = a.address();
    displace(p, a.width, a.op != Op::load);
    uint64_t old = Memory::read(p, a.width);
    bool succeeds = a.op != Op::cas || old == a.expected;
    bool writes = a.op != Op::load && succeeds;

    if (self_) {
        Order order = order_of(a);
        if (!succeeds)
            order = Order::relaxed;
        o.touched[self_->index] = self_->clock[self_->index];
        happens(a, order, a.op != Op::store, writes);
    }
    if (writes)
        Memory::write(p, a.width, result(a, old));
    if (self_) {
        self_->saw(p, a.width, old, Memory::read(p, a.width));
        if (writes && sleepers_)
            wake_watchers();
        if (trace_)
            say(a.place, told(a, old));
    }
    return old;
}

void Machine::fence(Place place) {
    point(place);
    if (!self_)
        return;
    join(self_->clock, self_->acquirable.data());
    self_->fenced = memory_.snapshots().take(self_->clock);
    tick();
    say(place, "fence");
}

uint64_t Machine::plain_read(const uint64_t *datum, Place place) {
    auto *p = reinterpret_cast<const uint8_t *>(datum);
    uint64_t v;

    point(place);
    if (!self_)
        return *datum;
    if (in_transaction()) {
        plain_inside(datum, false, place);
        v = read_inside(p, sizeof v);
    } else {
        displace(datum, sizeof v, false);
        read_plain(datum);
        v = *datum;
    }
    if (trace_)
        say(place, "reads " + memory_.describe(datum) + " = " + hex(v));
    return v;
}

void Machine::plain_write(uint64_t *datum, uint64_t v, Place place) {
    point(place);
    if (self_ && trace_)
        say(place, "writes " + memory_.describe(datum) + " = " + hex(v));
    if (in_transaction()) {
        auto *p = reinterpret_cast<uint8_t *>(datum);
        plain_inside(datum, true, place);
        write_inside(p, sizeof v);
        self_->transaction.store(p, sizeof v, v);
        return;
    }
    displace(datum, sizeof v, true);
    if (self_)
        write_plain(datum);
    *datum = v;
}

void Machine::read_plain(const uint64_t *datum) {
    History &h = memory_.history(datum);

    if (check_order_ && !ordered(h.writer, h.written))
        fail(Wrong::unordered,
             "reads what T" + std::to_string(h.writer + 1) + " wrote, and nothing orders the two");
    h.read[self_->index] = self_->clock[self_->index];
}

void Machine::write_plain(const uint64_t *datum) {
    History &h = memory_.history(datum);

    for (uint32_t i = 0; i < count_; i++)
        if (check_order_ && (!ordered(i, h.read[i]) || (h.writer == i && !ordered(i, h.written))))
            fail(Wrong::unordered,
                 "writes what T" + std::to_string(i + 1) + " used, and nothing orders the two");
    h.writer = static_cast<uint32_t>(self_->index);
    h.written = self_->clock[self_->index];
}

void Machine::free(void *object, Place place) {
    cannot_be_inside(place);
    point(place);
    Object *o = memory_.find(object);

    displace(o->at, o->size, true); // as its next owner's writes would
    for (uint32_t i = 0; self_ && check_order_ && i < count_; i++)
        if (!ordered(i, o->touched[i]))
            fail(Wrong::unordered, "frees " + memory_.describe(object) + ", which T" +
                                       std::to_string(i + 1) +
                                       " touched, and nothing orders the two");
    o->state = Object::freed;
    if (trace_)
        say(place, "frees " + memory_.describe(object));
}

// Waiting.

void Machine::relax(Ticks until, Place place) {
    cannot_be_inside(place); // PAUSE aborts
    point(place);
    if (self_ && self_->must_not_wait)
        fail(Wrong::try_waits, "trylock relaxes at " + text(place));
    if (self_ && !self_->sees_change() && until > time_ &&
        !schedule_->doubt(Doubt::relax_returns)) {
        if (trace_)
            say(place, "relaxes");
        self_->yields = false;
        sleep(Doing::relaxes, until, place);
    } else if (!self_) {
        sleep(Doing::relaxes, until, place);
    }
    self_->look_afresh();
}

// A loop of yields sleeps as one of relaxes would; it looks at the time, so that ends it too.
void Machine::yield(uint32_t, Place place) {
    cannot_be_inside(place);
    point(place);
    if (self_ && self_->must_not_wait)
        fail(Wrong::try_waits, "trylock yields at " + text(place));
    if (!self_) {
        sleep(Doing::relaxes, never, place);
    } else if (!self_->sees_change() && self_->asked > time_) {
        if (trace_)
            say(place, "yields");
        self_->yields = true;
        sleep(Doing::relaxes, self_->asked, place);
    } else {
        turn_left_ = 0;
    }
    self_->look_afresh();
}

void Machine::doze(const uint32_t *word, uint32_t seen, uint32_t key, Ticks until, Place place) {
    cannot_be_inside(place);
    uint32_t now = static_cast<uint32_t>(
        access({const_cast<uint32_t *>(word), 0, 4, Op::load, Order::relaxed, 0, 0, place}));

    if (key == 0 || reinterpret_cast<uintptr_t>(word) % 4)
        fail(Wrong::misuse, "park at " + text(place) + " with key 0 or an unaligned word");
    if (!self_)
        sleep(Doing::parks, until, place);
    if (self_->must_not_wait)
        fail(Wrong::try_waits, "trylock parks at " + text(place));
    if (self_->lingering_kick) {
        self_->lingering_kick = false;
        return;
    }
    if (now != seen || schedule_->doubt(Doubt::park_returns))
        return;
    self_->parked_on = word;
    self_->key = key;
    if (trace_)
        say(place, "parks");
    sleep(Doing::parks, until, place);
}

void Machine::park(const uint32_t *word, uint32_t seen, uint32_t key, Ticks until, Place place) {
    doze(word, seen, key, until, place);
    if (*word == seen)
        count(OL_SPURIOUS, place);
}

void Machine::kick(const uint32_t *word, uint32_t key, int n, Place place) {
    cannot_be_inside(place);
    point(place);
    std::vector<Context *> parked;
    if (key == 0)
        fail(Wrong::misuse, "kick at " + text(place) + " with key 0");
    for (size_t i = 0; i < spawned_; i++) {
        Context &c = *contexts_[i];
        if (c.doing == Doing::parks && c.parked_on == word && (c.key & key))
            parked.push_back(&c);
    }
    for (; n > 0 && !parked.empty(); n--) {
        size_t i = schedule_->pick(static_cast<uint32_t>(parked.size()));
        Context &c = *parked[i];
        parked.erase(parked.begin() + static_cast<ptrdiff_t>(i));
        if (schedule_->doubt(Doubt::kick_is_late)) {
            c.late_kicks++;
            late_kicks_++;
        } else {
            wake(c);
        }
        if (trace_)
            say(place, "kicks " + name(c) + (c.late_kicks ? ", late" : ""));
    }
}

void Machine::begin_try() {
    if (self_) {
        self_->must_not_wait = true;
        self_->steps_in_try = 0;
    }
}

void Machine::end_try() {
    if (self_)
        self_->must_not_wait = false;
}

// Time. Every look lets a tick go by: a loop on time alone would otherwise never end.

Ticks Machine::now(Place place) {
    point(place);
    return time_++;
}

Ticks Machine::after(uint64_t n, Ticks d, Place place) {
    Ticks span, t;

    point(place);
    if (d == never || __builtin_mul_overflow(n, d, &span) ||
        __builtin_add_overflow(time_, span, &t))
        return never;
    return t;
}

bool Machine::passed(Ticks t, Place place) {
    point(place);
    if (t == never)
        return false;
    time_++;
    if (t <= time_)
        return true;
    if (self_)
        self_->asked = std::min(self_->asked, t);
    return false;
}

bool Machine::before(Ticks a, Ticks b, Place) {
    return a < b;
}

// Identity.

uint32_t Machine::self(Place place) {
    point(place);
    return !self_ ? OL_ID_MAX : self_->able.has_id ? static_cast<uint32_t>(self_->index + 1) : 0;
}

// The node given back last is handed out first: whoever still uses it meets its new owner.
ol_node *Machine::node_get(Place place) {
    point(place);
    if (self_ && !self_->able.has_nodes)
        return nullptr;
    if (free_nodes_.empty()) {
        Object &o = memory_.allocate("node", sizeof(ol_node));
        free_nodes_.push_back(reinterpret_cast<ol_node *>(o.at));
        nodes_.push_back(free_nodes_.back());
    }
    ol_node *node = free_nodes_.back();
    free_nodes_.pop_back();
    memory_.find(node)->state = Object::live;
    if (in_transaction())
        begun_[self_->index].got.push_back(node);
    std::memset(node, 0xad, sizeof *node); // rubbish, as the platform layer says
    return node;
}

void Machine::node_put(ol_node *node, Place place) {
    point(place);
    Object *o = memory_.find(node);

    if (!o || o->state != Object::live)
        fail(Wrong::misuse, text(place) + " gives back a node that was not handed out");
    if (in_transaction()) {
        begun_[self_->index].put.push_back(node); // others may have it when this has committed
        return;
    }
    pool(node);
}

uint32_t Machine::node_number(const ol_node *node) {
    auto at = std::find(nodes_.begin(), nodes_.end(), node);

    return static_cast<uint32_t>(at - nodes_.begin()) + 1;
}

ol_node *Machine::node_at(uint32_t number, Place place) {
    if (!number || number > nodes_.size())
        fail(Wrong::misuse, text(place) + " asks for node " + std::to_string(number));
    return nodes_[number - 1];
}

void Machine::pool(ol_node *node) {
    memory_.find(node)->state = Object::pooled;
    free_nodes_.push_back(node);
}

uint64_t *Machine::wait_slot(size_t i, Place) {
    if (!wait_array_)
        wait_array_ = reinterpret_cast<uint64_t *>(
            memory_.allocate("wait array", OL_WAIT_SLOTS * sizeof(uint64_t)).at);
    return &wait_array_[i & (tuning().wait_slots - 1)];
}

void Machine::count(unsigned event, Place) {
    if (self_)
        self_->events[event]++;
}

// Knowledge: what this machine could tell, it tells; the rest is unknown.

void Machine::defer(bool, Place place) {
    point(place);
}

uint64_t Machine::slice_id(Place place) {
    point(place);
    return self_ ? self_->slices : 0;
}

// As it is expected: the schedule may take the CPU before, or leave it for another slice.
Ticks Machine::slice_end(Place place) {
    point(place);
    if (!self_ || !slice_length_)
        return never;
    Ticks over = (time_ - self_->slice_began) / slice_length_;
    return self_->slice_began + (over + 1) * slice_length_;
}

Ticks Machine::slice_min(Place place) {
    Ticks end = slice_end(place);
    return end == never ? never : end - slice_length_ / 2;
}

void Machine::csd_learn(Ticks since, unsigned n, Place place) {
    point(place);
    if (self_)
        self_->csd = (time_ - since) / n;
}

Ticks Machine::csd(Place place) {
    point(place);
    return self_ ? self_->csd : 0;
}

bool Machine::is_preempted(uint32_t id, Place place) {
    point(place);
    return id > 0 && id <= spawned_ && contexts_[id - 1]->doing == Doing::runs &&
           contexts_[id - 1].get() != self_;
}

Ticks Machine::quota_end(Place place) {
    point(place);
    return never;
}

bool Machine::cpu_idle(Place place) {
    point(place);
    return false;
}

unsigned Machine::htm_begin(Place place) {
    point(place);
    if (!self_ || capacity_.read + capacity_.written == 0)
        return Transaction::unknown;
    Context &c = *self_;
    c.transaction.begin(capacity_);
    if (c.transaction.is_nested())
        return OL_HTM_STARTED;
    begun_[c.index] = {
        c.clock, c.acquirable, c.fenced, c.must_not_wait, c.steps_in_try, c.events, {}, {},
        {},      {},           {}};
    in_transactions_++;
    say(place, "begins a transaction");
    if (c.mark())
        return OL_HTM_STARTED;
    if (stopping_)
        throw Stop{};
    return c.transaction.status();
}

// What it changed in memory nobody has seen; the rest is put back here.
void Machine::abort(Context &c, unsigned cause) {
    Begun &b = begun_[c.index];

    c.transaction.abort(cause);
    in_transactions_--;
    if (trace_)
        say(self_->place, name(c) + "'s transaction aborts: " + hex(c.transaction.status()));
    c.clock = b.clock;
    c.acquirable = b.acquirable;
    c.fenced = b.fenced;
    c.must_not_wait = b.must_not_wait;
    c.steps_in_try = b.steps_in_try;
    c.events = b.events;
    for (ol_node *node : b.got)
        pool(node);
    for (auto undo = b.undo.rbegin(); undo != b.undo.rend(); ++undo)
        (*undo)();
    if (&c != self_)
        c.rollback();
}

void Machine::abort_self(unsigned cause) {
    abort(*self_, cause);
    self_->go_back();
}

void Machine::cannot_be_inside(Place place) {
    if (!in_transaction())
        return;
    point(place);
    abort_self(Transaction::unknown);
}

// An access takes out every other transaction that it conflicts with.
void Machine::displace(const void *p, size_t width, bool writes) {
    if (!in_transactions_ || !self_)
        return;
    for (size_t i = 0; i < spawned_; i++) {
        Context &c = *contexts_[i];
        if (&c != self_ && c.transaction.active() &&
            c.transaction.conflicts(static_cast<const uint8_t *>(p), width, writes))
            abort(c, Transaction::conflict | Transaction::retry);
    }
}

uint64_t Machine::read_inside(const uint8_t *p, size_t width) {
    displace(p, width, false);
    if (!self_->transaction.read(p, width))
        abort_self(Transaction::capacity);
    return self_->transaction.merged(p, width, Memory::read(p, width));
}

void Machine::write_inside(const uint8_t *p, size_t width) {
    displace(p, width, true);
    if (!self_->transaction.write(p, width))
        abort_self(Transaction::capacity);
}

void Machine::plain_inside(const uint64_t *datum, bool writes, Place place) {
    if (!memory_.find(datum))
        fail(Wrong::wild, text(place) + " uses " + memory_.describe(datum));
    begun_[self_->index].plain.push_back({datum, writes, place});
}

// Orders count for nothing here: a transaction is as a critical section to those it conflicts with.
uint64_t Machine::access_inside(const Access &a) {
    const uint8_t *p = a.address();
    uint64_t old = 0;

    object_of(a);
    order_of(a);
    if (a.op != Op::store)
        old = read_inside(p, a.width);
    if (a.op != Op::load)
        write_inside(p, a.width);
    if (a.op != Op::load && (a.op != Op::cas || old == a.expected))
        self_->transaction.store(p, a.width, result(a, old));
    uint64_t memory = Memory::read(p, a.width);
    self_->saw(p, a.width, memory, memory);
    if (trace_)
        say(a.place, told(a, old));
    return old;
}

void Machine::htm_commit(Place place) {
    point(place);
    if (!in_transaction())
        fail(Wrong::misuse, "commit at " + text(place) + " in no transaction");
    Transaction &t = self_->transaction;
    if (!t.commit())
        return;
    in_transactions_--;
    order_commit();
    t.publish();
    for (ol_node *node : begun_[self_->index].put)
        pool(node);
    for (Seen &s : self_->seen)
        if (t.wrote(s.at, s.width))
            s.value = Memory::read(s.at, s.width);
    if (sleepers_)
        wake_watchers();
    say(place, "commits");
    for (auto &act : begun_[self_->index].certain)
        act();
}

void Machine::once_certain(std::function<void()> act) {
    if (in_transaction())
        begun_[self_->index].certain.push_back(std::move(act));
    else
        act();
}

void Machine::if_aborted(std::function<void()> undo) {
    if (in_transaction())
        begun_[self_->index].undo.push_back(std::move(undo));
}

// After all that wrote what it read, and after transactions that used what it wrote; before whoever
// uses what it wrote, or writes what it read. It is in this order that its plain data must be used.
void Machine::order_commit() {
    Snapshots &s = memory_.snapshots();
    Clock &clock = self_->clock;
    const auto &lines = self_->transaction.lines();
    auto each = [&](uint64_t Transaction::Line::*which, auto &&act) {
        for (const Transaction::Line &l : lines)
            for (size_t i = 0; i < Transaction::line_bytes; i++)
                if (l.*which >> i & 1)
                    act(l.at + i);
    };

    each(&Transaction::Line::read, [&](uint8_t *b) { memory_.acquire_from(b, 1, clock); });
    each(&Transaction::Line::written, [&](uint8_t *b) {
        if (auto c = committed_.find(b); c != committed_.end()) {
            join(clock, s[c->second.readers]);
            join(clock, s[c->second.writers]);
        }
    });
    for (const Transaction::Line &l : lines)
        memory_.find(l.at)->touched[self_->index] = clock[self_->index];
    for (const Begun::Plain &plain : begun_[self_->index].plain) {
        self_->place = plain.place;
        if (plain.writes)
            write_plain(plain.datum);
        else
            read_plain(plain.datum);
    }
    Snapshots::Number mine = s.take(clock);
    each(&Transaction::Line::read, [&](uint8_t *b) {
        Committed &c = committed_[b];
        Clock readers = clock;
        if (c.readers != Snapshots::none)
            join(readers, s[c.readers]);
        c.readers = c.readers == Snapshots::none ? mine : s.take(readers);
    });
    each(&Transaction::Line::written, [&](uint8_t *b) {
        committed_[b] = {Snapshots::none, mine};
        memory_.set_released(b, 1, mine);
    });
    tick();
}

void Machine::htm_abort(Place place) {
    point(place);
    if (!in_transaction())
        fail(Wrong::misuse, "abort at " + text(place) + " in no transaction");
    abort_self(Transaction::explicitly);
}

bool Machine::htm_active(Place place) {
    point(place);
    return in_transaction();
}

bool Machine::htm_works(Place place) {
    point(place);
    return self_ && capacity_.read + capacity_.written > 0;
}

void Machine::htm_set_owner(const void *p, Place place) {
    point(place);
    if (self_)
        self_->transaction.set_owner(p);
}

const void *Machine::htm_owner(Place place) {
    point(place);
    return in_transaction() ? self_->transaction.owner() : nullptr;
}

// Telling.

void Machine::say(Place place, const std::string &what) {
    if (trace_ && self_)
        trace_->add(std::to_string(steps_) + "\t" + std::to_string(time_) + "\t" + name(*self_) +
                    "\t" + text(place) + "\t" + what);
}

std::string Machine::told(const Access &a, uint64_t old) const {
    static constexpr const char *ops[] = {"load", "store", "xchg", "cas", "add", "or", "and"};
    static constexpr const char *orders[] = {"relaxed", "acquire", "release", "acq_rel"};
    auto &memory = const_cast<Memory &>(memory_);
    std::string s = std::string(ops[int(a.op)]) + (a.width == 2 ? "_half_" : "_") +
                    orders[int(a.order)] + " " + memory.describe(a.address());

    if (a.op == Op::load)
        return s + " = " + hex(old);
    s += ": " + hex(old);
    if (a.op == Op::cas && old != a.expected)
        return s + ", expected " + hex(a.expected) + ": fails";
    uint64_t left = Memory::read(a.address(), a.width);
    if (in_transaction())
        left = self_->transaction.merged(a.address(), a.width, left);
    return s + " -> " + hex(left);
}

} // namespace ol::engine
