// SPDX-License-Identifier: MIT
// Running: which context goes on, and what needs no stack.
#include "format.h"
#include "world.h"

#include <algorithm>
#include <array>
#include <bit>

namespace ol::check {

// Two of other words, or whose keys have no bit in common, have nothing to do with each other.
void World::touch_sleepers(const Access &word, bool changes, Footprint &f) {
    auto key = static_cast<uint32_t>(word.value);
    int lowest = std::countr_zero(key), above = 32 - std::countl_zero(key);

    f.add(sleepers_of(word.object) + static_cast<unsigned>(lowest),
          static_cast<size_t>(above - lowest), changes);
}

namespace {

std::unique_ptr<MemoryModel> make(Model model, Memory &memory, Search *&search, bool sequential) {
    switch (model) {
    case Model::sc:
        return make_sc(memory);
    case Model::tso:
        return make_tso(memory, search);
    case Model::c11:
        return make_c11(memory, search, sequential);
    }
    return nullptr;
}

} // namespace

World::World(Model model, const Rules &rules)
    : model_(model), rules_(rules), loads_(make(model, memory_, search_, rules.sequential)) {
    engine::world_here = this;
}

World::~World() {
    engine::world_here = nullptr;
}

// Running.

bool World::run(const Program &program, Search &search) {
    search_ = &search;
    begin(program);
    start_contexts();
    while (!over_) {
        int who = chosen_ != Search::none ? chosen_ : schedule();
        chosen_ = Search::none;
        if (who != Search::none)
            resume(static_cast<size_t>(who));
    }
    self_ = nobody; // whoever calls now looks on from outside
    here_ = nullptr;
    if (!failure_ && !pruned_)
        finish();
    return !pruned_;
}

void World::begin(const Program &program) {
    program_ = &program;
    contexts_ = program.contexts;
    while (agents_.size() < contexts_)
        agents_.push_back(std::make_unique<Agent>(agents_.size()));
    self_ = nobody;
    over_ = pruned_ = lost_kick_ = false;
    steps_ = looks_ = 0;
    current_ = chosen_ = Search::none;
    cycle_.clear();
    wait_array_ = nullptr;
    nodes_.clear();
    transactions_ = 0;
    clock_ns_ = 0;
    failure_ = {};
    memory_.reset(contexts_);
    search_->begin(3 * contexts_);
    loads_->reset(contexts_);
    program.set_up(memory_);
    for (size_t i = 0; i < contexts_; i++) {
        Agent &a = *agents_[i];
        a.doing = Doing::runs;
        a.able = program.able(i);
        a.place = {};
        a.left = rules_.budgets;
        a.watches = a.may_go_on = a.yields = a.kicked = a.lingering = a.timed = a.must_not_wait =
            a.waited = false;
        a.interruptible = true;
        a.may_stop = a.interrupted = false;
        a.arrival = {};
        a.forced = 0;
        a.late = a.clock_polls = 0;
        a.has_read_clock = false;
        a.present_read = 0;
        a.competes = nullptr;
        a.present = 0;
        a.deadlines = 0;
        a.passed.clear();
        a.asked.clear();
        a.timed_until = never;
        a.slices = 1;
        a.crowd = {};
        a.clock = a.slice_end = 0;
        a.nodes.clear();
        a.counts.fill(0);
        a.doomed = a.unannounced = false;
        a.struck = Budget::count;
        a.undo.clear();
        a.certain.clear();
        a.polls = {};
        a.stores = {};
        a.used_from = nullptr;
        a.context.begin([this, i] { program_->body(i); }, program.stack(i));
    }
}

// Each runs up to its first step.
void World::start_contexts() {
    starting_ = true;
    for (size_t i = 0; i < contexts_ && !over_; i++)
        resume(i);
    starting_ = false;
}

void World::resume(size_t who) {
    Agent &a = *agents_[who];

    self_ = who;
    here_ = &a;
    stack_ = who;
    a.context.resume();
    stack_ = nobody;
    if (!a.context.done() || over_)
        return;
    a.doing = Doing::done;
    if (a.context.transaction.active())
        end(Wrong::misuse, "ends within a transaction");
}

// Who makes the next step: a context, for its caller to switch to, or none when the execution is
// over. What buffers and late kicks do needs no stack and is done here.
int World::schedule() {
    while (!over_) {
        Mask could = enabled();
        bool forced = false;
        if (!could) {
            tell_who_waits();
            could = counting_watchers();
            if (could && !search_->is_random()) {
                pruned_ = over_ = true; // where they go on is another execution
                break;
            }
            if (!could)
                could = timed_watchers();
            if (!could && rules_.timeouts &&
                (program_->by_clock || lost_kick_ || program_->may_stick()))
                could = timed_sleepers();
            forced = could != 0;
            if (!forced) {
                stuck();
                break;
            }
        }
        if (++steps_ > rules_.longest) {
            endless();
            break;
        }
        int who = search_->pick(could, is_long() ? next_after(current_, could) : current_, forced);
        if (is_long())
            cycle_.add(state(), could, who);
        if (who == Search::none) {
            tell_who_waits();
            pruned_ = over_ = true;
            break;
        }
        current_ = who;
        auto p = static_cast<size_t>(who);
        if (p < contexts_) {
            if (forced)
                let_pass(p);
            return who;
        }
        size_t self = self_;
        self_ = p % contexts_;
        here_ = agents_[self_].get();
        p < 2 * contexts_ ? drain(self_) : deliver(self_);
        self_ = self;
        here_ = self == nobody ? nullptr : agents_[self].get();
        if (here_ && here_->unannounced)
            here_->context.go_back();
    }
    return Search::none;
}

void World::tell_who_waits() {
    for (size_t i = 0; i < contexts_; i++) {
        if (agents_[i]->doing != Doing::runs || !agents_[i]->watches || can_go(i))
            continue;
        Footprint f;
        loads_->watched(i, f);
        search_->waits(static_cast<Process>(i), f);
    }
}

// In a long execution all take turns, so that what does not end then is no starvation.
int World::next_after(int who, Mask could) {
    Mask later = who < 0 ? could : could & ~(bit(static_cast<size_t>(who) + 1) - 1);
    return std::countr_zero(later ? later : could);
}

// Memory changes in each turn of a loop, or it would wait.
std::string World::unending() const {
    std::string who;

    for (size_t i = contexts_; i-- > 0;)
        if (can_go(i))
            who = context_name(i) + "'s loop at " + text(agents_[i]->place);
    return "no end of " + who + " within " + std::to_string(rules_.longest) +
           " steps: its turns change memory";
}

void World::endless() {
    if (rules_.polls) { // it has long enough counted nothing
        over_ = true;
        return;
    }
    std::string again = cycle_.told(contexts_);
    if (program_->shows_accesses && again.empty())
        return end_open(left_open_.empty() ? unending() : left_open_.front());
    if (program_->shows_accesses && program_->may_stick()) { // that it waits is all that is known
        over_ = true;
        return;
    }
    end(Wrong::livelock,
        (again.empty() ? "no end within " + std::to_string(rules_.longest) + " steps" : again) +
            ": " + who_waits());
}

// All that decides what can follow, hashed: memory, and every context with its stack.
uint64_t World::state() const {
    const auto *top = static_cast<const uint8_t *>(__builtin_frame_address(0));
    Hash h;

    memory_.each_part([&h](std::span<const uint8_t> part) {
        for (uint8_t byte : part)
            h.add(byte);
    });
    for (size_t i = 0; i < contexts_; i++) {
        const Agent &a = *agents_[i];
        h.add(a.doing), h.add(a.watches), h.add(a.kicked), h.add(a.late), h.add(a.left.left);
        h.add(loads_->buffers(i));
        if (a.doing != Doing::done)
            for (uint8_t byte : a.context.stack(i == self_ ? top : nullptr))
                h.add(byte);
    }
    return h.value();
}

bool World::can_go(size_t i) const {
    const Agent &a = *agents_[i];

    if (a.doing == Doing::parks)
        return a.kicked;
    return a.doing == Doing::runs && !(a.watches && !loads_->sees_change(i)) &&
           !(a.next.needs_empty && loads_->buffers(i));
}

Mask World::enabled() const {
    Mask m = 0;

    for (size_t i = 0; i < contexts_; i++) {
        if (can_go(i))
            m |= bit(i);
        if (loads_->buffers(i))
            m |= bit(process_of_buffer(i));
        if (agents_[i]->late)
            m |= bit(process_of_kicks(i));
    }
    return m;
}

// Contexts that wait for a change or a time, and whose turn it is: time goes on for all alike.
// A context that has looked repeatedly finds nothing new until something changes.
Mask World::timed_watchers() const {
    return whose_turn([](const Agent &a) {
        return a.doing == Doing::runs && a.watches && a.watches_until != never;
    });
}

// Contexts that sleep until a time. It passes only for want of a holder, or if sleepers look again
// by the clock: that it passes in any case must not hide a wake-up that was lost.
Mask World::timed_sleepers() const {
    return whose_turn(
        [](const Agent &a) { return a.doing == Doing::parks && a.parks_until != never; });
}

Mask World::counting_watchers() const {
    Mask m = 0;

    for (size_t i = 0; i < contexts_; i++)
        if (agents_[i]->doing == Doing::runs && agents_[i]->watches && agents_[i]->may_go_on)
            m |= bit(i);
    return m;
}

Mask World::whose_turn(bool (*is_one)(const Agent &)) const {
    constexpr unsigned often = 8;
    unsigned fewest = often;
    Mask m = 0;

    for (size_t i = 0; rules_.timeouts && i < contexts_; i++) {
        const Agent &a = *agents_[i];
        if (!is_one(a) || a.forced > fewest)
            continue;
        if (a.forced < fewest)
            m = 0;
        fewest = a.forced;
        if (fewest < often)
            m |= bit(i);
    }
    return m;
}

void World::changed() {
    for (size_t i = 0; i < contexts_; i++)
        agents_[i]->forced = 0;
}

void World::let_pass(size_t who) {
    Agent &a = *agents_[who];

    if (!a.may_go_on) { // so long that every store has become visible meanwhile
        pass(a, a.doing == Doing::parks ? a.parks_until : a.watches_until);
        loads_->catch_up(who);
    }
    loads_->look_afresh(who);
    if (a.may_go_on)
        loads_->disturb(who);
    a.watches = a.may_go_on = a.yields = false;
    a.parked_on = nullptr;
    a.forced++;
    forced_ |= bit(who);
}

bool World::from_outside(const std::function<bool()> &look) {
    Agent *here = std::exchange(here_, nullptr);
    size_t self = std::exchange(self_, nobody);
    looks_ = 0;
    bool answer = look();

    self_ = self;
    here_ = here;
    return answer;
}

// A timed caller whose wait can end only after its deadline.
bool World::waits_too_long(const Agent &a) {
    bool parks = a.doing == Doing::parks, relaxes = a.doing == Doing::runs && a.watches;

    return a.timed && (parks || relaxes) &&
           (parks ? a.parks_until : a.watches_until) > a.timed_until;
}

void World::stuck() {
    bool all_done = true, parked = false;

    for (size_t i = 0; i < contexts_; i++) {
        Doing d = agents_[i]->doing;
        all_done &= d == Doing::done || d == Doing::off;
        parked |= d == Doing::parks;
    }
    for (size_t i = 0; i < contexts_; i++)
        if (waits_too_long(*agents_[i]))
            return end(Wrong::too_late, who_waits());
    if (all_done || program_->may_stick())
        over_ = true;
    else
        end(parked ? Wrong::lost_wakeup : Wrong::deadlock, who_waits());
}

void World::end(Wrong what, std::string how) {
    over_ = true;
    if (failure_)
        return;
    failure_ = {what, std::move(how)};
    if (is_inside())
        say(here_->place, std::string("FAILURE: ") + name_of(what) + ": " + failure_.how, true);
}

void World::fail(Wrong what, std::string how) {
    end(what, std::move(how));
    if (is_inside())
        leave_forever();
    throw engine::Stop{};
}

void World::end_open(std::string why) {
    pruned_ = over_ = true;
    if (std::find(left_open_.begin(), left_open_.end(), why) == left_open_.end())
        left_open_.push_back(std::move(why));
}

void World::leave_open(std::string why, bool all) {
    ends_search_ = all;
    end_open(std::move(why));
    leave_forever();
}

void World::begin_anew() {
    begin_anew_ = pruned_ = over_ = true;
    leave_forever();
}

void World::leave_forever() {
    for (;;)
        me().context.suspend();
}

void World::finish() {
    looks_ = 0;
    try {
        program_->finish();
    } catch (const engine::Stop &) {
    }
}

namespace {

uint64_t what_it_does(Place place) {
    Hash h;

    for (const char *c = place.file; c && *c; c++)
        h.add(*c);
    h.add(place.line);
    return h.value();
}

// What the search left below this frame, its clocks, is different in each step. It would come into
// the padding of the lock's frames, which state() hashes.
[[gnu::noinline]] void clear_dead_frames() {
    std::array<uint8_t, 4096> dead;

    dead.fill(0);
    asm volatile("" ::"r"(dead.data()) : "memory");
}

} // namespace

// Every step comes here first: the search may let others go ahead.
void World::point(const Next &next, Place place) {
    if (!is_inside())
        return;
    Agent &a = me();
    a.place = place;
    if (rules_.polls && !a.polls.does(what_it_does(place)))
        fail(Wrong::misuse, "a number of polls ends the loop before " + text(place) +
                                ": the checker does not explore that; bound the loop by time "
                                "(ol_passed)");
    a.next = next;
    if (next.kind != Kind::wake)
        maybe_interrupt();
    if (a.may_stop && may(Budget::stop))
        stop();
    if (a.must_not_wait && ++a.tried > try_limit)
        fail(Wrong::try_waits, "trylock made " + std::to_string(try_limit) + " steps");
    announce(next);
}

// Waits for its turn.
void World::announce(const Next &next) {
    Agent &a = me();
    size_t self = self_;

    a.next = next;
    int who = starting_ ? Search::none : schedule();
    if (who != static_cast<int>(self)) {
        chosen_ = who;
        a.context.suspend();
    }
}

// The step was made and touched this.
void World::made(Footprint &f, int after) {
    if (!is_inside())
        return;
    Agent &a = me();

    if (forced_ & bit(self_)) {
        forced_ &= ~bit(self_);
        f.add_all();
    }
    if (after == Search::none && a.next.needs_empty)
        after = search_->last_step_of(process_of_buffer(self_));
    search_->did(f, after, a.waited);
    if (is_long())
        clear_dead_frames();
    a.waited = false;
}

// What a context that waits for a change does when one is there: look again.
void World::notice(Footprint &f) {
    if (!is_inside() || !me().watches)
        return;
    loads_->watched(self_, f);
    loads_->notice(self_);
    loads_->look_afresh(self_);
    if (me().may_go_on) // amid a turn, in which it has looked at other words without a step
        loads_->disturb(self_);
    me().watches = me().may_go_on = me().yields = false;
    me().clock_polls = 0;
    me().waited = true;
}

// A wait that was begun must end before anything that is no step can happen.
void World::settle(Place place) {
    Footprint f;

    if (!is_inside() || !me().watches)
        return;
    point({Kind::await}, place);
    notice(f);
    made(f);
}

// In a transaction they abort it, as a part of its next step: see step_inside().
void World::maybe_interrupt() {
    Agent &a = me();

    if (!a.interruptible || !(a.left[Budget::irq] | a.left[Budget::nmi]) || in_transaction())
        return;
    Next next = a.next;
    for (Budget kind : {Budget::irq, Budget::nmi})
        if (a.left[kind] && may(kind)) {
            interrupt(kind);
            a.next = next;
        }
}

// The handler's looks are its own; the interrupted context does not wait before it has looked
// again.
void World::interrupt(Budget kind) {
    Agent &a = me();
    bool tries = a.must_not_wait, timed = a.timed;
    Arrival arrival = a.arrival;

    a.watches = a.may_go_on = a.must_not_wait = a.timed = false;
    loads_->look_afresh(self_);
    a.interruptible = false;
    say(a.place, "an interrupt", true);
    program_->interrupted(self_, kind);
    say(a.place, "returns from the interrupt", true);
    a.interruptible = true;
    a.must_not_wait = tries;
    a.timed = timed;
    a.arrival = arrival;
    loads_->look_afresh(self_);
    a.interrupted = true;
}

// What needs no stack.

void World::drain(size_t i) {
    Access a = loads_->front(i);
    Footprint f;
    engine::Object *o = memory_.find(a.object);

    if (!o || o->state == engine::Object::freed) {
        end(Wrong::after_free, text(a.place) + " stores to " + memory_.describe(a.address()) +
                                   " after its memory was freed");
        return;
    }
    uint64_t old = Memory::read(a.address(), a.width);
    request(a, f);
    int after = loads_->drain(i, f);
    search_->did(f, after, false);
    if (trace_) {
        TraceEvent t{name_of(process_of_buffer(i), contexts_),
                     a.place,
                     "",
                     "drain",
                     "",
                     memory_.describe(a.address()),
                     a.width,
                     value(old, a.width),
                     value(result_of(a, 0), a.width),
                     {},
                     false};
        t.what = "its store reaches memory: " + t.object + ": " + t.before + " -> " + t.after;
        for (size_t k = 0; k < contexts_; k++)
            t.doing.push_back(doing(k));
        trace_->push_back(t);
    }
}

// A late kick arrives. If it finds no sleeper, it may be kept for the next sleep.
void World::deliver(size_t i) {
    Agent &a = *agents_[i];
    Footprint f;

    a.late = 0; // together with all others that are on their way
    f.add(mailbox_of(i), 1, true);
    if (a.doing == Doing::parks) {
        a.kicked = true;
        a.parked_on = nullptr;
    }
    search_->did(f, Search::none, false);
    if (a.doing != Doing::parks)
        a.lingering = search_->choose(2) == 1;
    say(a.place, "a late kick reaches T" + std::to_string(i + 1));
}

// For clients.

void World::stop() {
    me().may_stop = false;
    if (in_transaction())
        take_back(me());
    me().doing = Doing::off;
    say(me().place, "stops for ever", true);
    point({Kind::await}, me().place);
}

void World::stop_others() {
    Footprint f;

    point({Kind::object, {}, model_ == Model::tso}, me().place);
    f.add_all();
    made(f);
    for (size_t i = 0; i < contexts_; i++) {
        if (i == self_ || agents_[i]->doing == Doing::done)
            continue;
        tell_what_ends(i);
        agents_[i]->doing = Doing::off;
        if (agents_[i]->context.transaction.active())
            take_back(*agents_[i]);
        agents_[i]->late = 0;
        loads_->forget(i);
    }
    loads_->catch_up(self_);
    say(me().place, "all other contexts are gone", true);
}

// It, its buffer and the kicks on their way to it might have been quicker.
void World::tell_what_ends(size_t i) {
    auto undone = [this](Process who) {
        Footprint f;
        pending(who, f);
        search_->waits(who, f);
    };

    undone(static_cast<Process>(i));
    if (loads_->buffers(i))
        undone(process_of_buffer(i));
    if (agents_[i]->late)
        undone(process_of_kicks(i));
}

bool World::is_done(size_t context) const {
    return agents_[context]->doing == Doing::done;
}

bool World::is_off(size_t context) const {
    return agents_[context]->doing == Doing::off;
}

bool World::buffers_are_empty() const {
    for (size_t i = 0; i < contexts_; i++)
        if (loads_->buffers(i))
            return false;
    return true;
}

void World::mark(const char *what) {
    if (is_inside())
        say(me().place, what, true);
}

// What a kick touches, whichever context sleeps there. One that comes late may find its sleeper
// anywhere.
void World::touch_kick(const Access &kicked, Footprint &f) const {
    touch_sleepers(kicked, true, f);
    for (size_t i = 0; rules_.budgets[Budget::late] && i < contexts_; i++)
        f.add(mailbox_of(i), 1, true);
}

// What a process would touch next.
void World::pending(Process who, Footprint &f) {
    if (who >= 2 * contexts_) {
        size_t i = who - 2 * contexts_;
        f.add(mailbox_of(i), 1, true);
        return;
    }
    if (who >= contexts_) {
        Access a = loads_->front(who - contexts_);
        touch(f, a);
        pending_request(who - contexts_, a.address(), a.width, true, f);
        return;
    }
    const Agent &a = *agents_[who];
    if (a.watches)
        loads_->watched(who, f);
    if (a.context.transaction.active())
        pending_inside(who, f);
    else if (a.next.kind == Kind::access)
        loads_->pending(a.next.access, f);
    switch (a.next.kind) {
    case Kind::access:
        pending_request(who, a.next.access.address(), a.next.access.width,
                        a.next.access.op != Op::load, f);
        break;
    case Kind::plain:
        f.add(a.next.access.address(), a.next.access.width, a.next.access.op != Op::load);
        pending_request(who, a.next.access.address(), a.next.access.width,
                        a.next.access.op != Op::load, f);
        break;
    case Kind::fence:
        f.add(fences, 1, model_ == Model::c11);
        break;
    case Kind::await:
        break;
    case Kind::wake:
        touch_sleepers(a.next.access, false, f);
        f.add(mailbox_of(who), 1, false);
        break;
    case Kind::park:
        f.add(fences, 1, model_ == Model::c11);
        touch_sleepers(a.next.access, true, f);
        f.add(mailbox_of(who), 1, false);
        f.add(a.next.access.object, 4, false);
        pending_request(who, a.next.access.object, 4, false, f);
        break;
    case Kind::kick: // it may wake anybody
        f.add(fences, 1, model_ == Model::c11);
        touch_kick(a.next.access, f);
        if (a.next.other) {
            f.add(a.next.access.object, 4, false);
            touch_kick({const_cast<void *>(a.next.other), 0, 4, Op::load, Order::relaxed,
                        a.next.access.value, 0, a.place},
                       f);
            if (a.next.changes_other)
                f.add(a.next.other, 4, true);
        }
        break;
    case Kind::clock:
        f.add(system_clock, 1, true);
        break;
    case Kind::object:
        if (engine::Object *o = memory_.find(a.next.access.object)) {
            f.add(o->at, o->size, true);
            pending_request(who, o->at, o->size, true, f);
        } else {
            f.add_all();
        }
        break;
    case Kind::ends:
        break;
    }
}

} // namespace ol::check
