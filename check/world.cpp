// SPDX-License-Identifier: MIT
#include "world.h"

#include <algorithm>
#include <cstring>

namespace ol::check {

using engine::never;

namespace {

const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

std::string hex(uint64_t v) {
    char s[32];
    snprintf(s, sizeof s, "0x%llx", static_cast<unsigned long long>(v));
    return s;
}

constexpr const char *ops[] = {"load", "store", "xchg", "cas", "add", "or", "and"};
constexpr const char *orders[] = {"relaxed", "acquire", "release", "acq_rel"};

// A deadline: how far off, and when it was set, so that two are compared only where their order is
// certain.
constexpr unsigned serial_bits = 20;
constexpr Ticks far_off(Ticks t) {
    return t >> serial_bits;
}
constexpr Ticks serial(Ticks t) {
    return t & ((Ticks(1) << serial_bits) - 1);
}

std::unique_ptr<MemoryModel> make(Model model, Memory &memory, Search *&search) {
    switch (model) {
    case Model::sc:
        return make_sc(memory);
    case Model::tso:
        return make_tso(memory, search);
    case Model::c11:
        return make_c11(memory, search);
    }
    return nullptr;
}

} // namespace

World::World(Model model, const Rules &rules)
    : model_(model), rules_(rules), loads_(make(model, memory_, search_)) {
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
        agents_.emplace_back(agents_.size());
    self_ = nobody;
    over_ = pruned_ = false;
    steps_ = 0;
    current_ = chosen_ = Search::none;
    wait_array_ = nullptr;
    has_nodes_ = false;
    failure_ = {};
    memory_.reset(contexts_);
    search_->begin(3 * contexts_);
    loads_->reset(contexts_);
    program.set_up(memory_);
    for (size_t i = 0; i < contexts_; i++) {
        Agent &a = agents_[i];
        a.doing = Doing::runs;
        a.able = i < program.able.size() ? program.able[i] : engine::Abilities{};
        a.place = {};
        a.left = rules_.budgets;
        a.watches = a.yields = a.kicked = a.lingering = a.timed = a.must_not_wait = false;
        a.interruptible = true;
        a.may_stop = a.interrupted = false;
        a.arrival = {};
        a.forced = 0;
        a.late = 0;
        a.present = 0;
        a.deadlines = 0;
        a.passed.clear();
        a.asked.clear();
        a.timed_until = never;
        a.slices = 1;
        a.nodes.clear();
        a.counts.fill(0);
        a.context.begin([this, i] { program_->body(i); }, a.able, contexts_);
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
    Agent &a = agents_[who];

    self_ = who;
    here_ = &a;
    a.context.resume();
    if (a.context.doing == engine::Doing::done && !over_)
        a.doing = Doing::done;
}

// Who makes the next step: a context, for its caller to switch to, or none when the execution is
// over. What buffers and late kicks do needs no stack and is done here.
int World::schedule() {
    while (!over_) {
        Mask could = enabled();
        bool forced = false;
        if (!could) {
            could = timed_watchers();
            forced = could != 0;
            if (!forced) {
                stuck();
                break;
            }
        }
        if (++steps_ > rules_.longest) {
            end(Wrong::livelock,
                "no end after " + std::to_string(rules_.longest) + " steps: " + who_waits());
            break;
        }
        int who = search_->pick(could, current_, forced);
        if (who == Search::none) {
            pruned_ = over_ = true;
            break;
        }
        current_ = who;
        auto p = static_cast<size_t>(who);
        if (p < contexts_) {
            if (forced)
                force(p);
            return who;
        }
        size_t self = self_;
        self_ = p % contexts_;
        here_ = &agents_[self_];
        p < 2 * contexts_ ? drain(self_) : deliver(self_);
        self_ = self;
        here_ = self == nobody ? nullptr : &agents_[self];
    }
    return Search::none;
}

bool World::can_go(size_t i) const {
    const Agent &a = agents_[i];

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
        if (agents_[i].late)
            m |= bit(process_of_kicks(i));
    }
    return m;
}

// Those who wait for a change or a time, and whose turn it is: time goes on for all alike. Whoever
// has looked again and again without anything having changed will not find anything.
Mask World::timed_watchers() const {
    constexpr unsigned often = 8;
    unsigned fewest = often;
    Mask m = 0;

    for (size_t i = 0; rules_.timeouts && i < contexts_; i++) {
        const Agent &a = agents_[i];
        if (a.doing != Doing::runs || !a.watches || a.watches_until == never || a.forced > fewest)
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
        agents_[i].forced = 0;
}

void World::force(size_t who) {
    Agent &a = agents_[who];

    pass(a, a.watches_until);
    loads_->look_afresh(who);
    a.watches = a.yields = false;
    a.forced++;
    forced_ |= bit(who);
}

void World::stuck() {
    bool all_done = true, parked = false;

    for (size_t i = 0; i < contexts_; i++) {
        Doing d = agents_[i].doing;
        all_done &= d == Doing::done || d == Doing::off;
        parked |= d == Doing::parks;
    }
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

void World::leave_forever() {
    for (;;)
        me().context.suspend();
}

void World::finish() {
    try {
        program_->finish();
    } catch (const engine::Stop &) {
    }
}

// Every step comes here first: the search may let others go ahead.
void World::point(const Next &next, Place place) {
    if (!is_inside())
        return;
    Agent &a = me();
    size_t self = self_;
    a.place = place;
    a.next = next;
    if (next.kind != Kind::wake)
        maybe_interrupt();
    if (a.may_stop && may(Budget::stop))
        stop();
    if (a.must_not_wait && ++a.tried > try_limit)
        fail(Wrong::try_waits, "trylock made " + std::to_string(try_limit) + " steps");
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
    search_->did(f, after);
}

// What a context that waits for a change does when one is there: look again.
void World::notice(Footprint &f) {
    if (!is_inside() || !me().watches)
        return;
    loads_->watched(self_, f);
    loads_->notice(self_);
    loads_->look_afresh(self_);
    me().watches = me().yields = false;
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

void World::maybe_interrupt() {
    Agent &a = me();
    Next next = a.next;

    if (!a.interruptible)
        return;
    for (Budget kind : {Budget::irq, Budget::nmi}) {
        if (!a.left[kind] || !may(kind))
            continue;
        bool tries = a.must_not_wait, timed = a.timed;
        Arrival arrival = a.arrival;
        // The handler's looks are its own; whoever was interrupted does not wait before it has
        // looked again.
        a.watches = a.must_not_wait = a.timed = false;
        loads_->look_afresh(self_);
        a.interruptible = false;
        say(a.place, "an interrupt", true);
        program_->interrupted(self_, kind);
        say(a.place, "back from the interrupt", true);
        a.interruptible = true;
        a.must_not_wait = tries;
        a.timed = timed;
        a.arrival = arrival;
        a.next = next;
        loads_->look_afresh(self_);
        a.interrupted = true;
    }
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
    int after = loads_->drain(i, f);
    search_->did(f, after);
    if (story_) {
        Telling t{name_of(process_of_buffer(i), contexts_),
                  a.place,
                  "",
                  "drain",
                  "",
                  memory_.describe(a.address()),
                  a.width,
                  old,
                  result_of(a, 0),
                  {},
                  false};
        t.what =
            "its store reaches memory: " + t.object + ": " + hex(t.before) + " -> " + hex(t.after);
        for (size_t k = 0; k < contexts_; k++)
            t.doing.push_back(doing(k));
        story_->push_back(t);
    }
}

// A late kick arrives. If it finds nobody asleep, it may be kept for the next sleep.
void World::deliver(size_t i) {
    Agent &a = agents_[i];
    Footprint f;

    a.late = 0; // together with all others that are on their way
    f.add(mailbox_of(i), 1, true);
    if (a.doing == Doing::parks) {
        f.add(sleepers_of(a.parked_on), 1, true);
        a.kicked = true;
        a.parked_on = nullptr;
    }
    search_->did(f, Search::none);
    if (a.doing != Doing::parks)
        a.lingering = search_->choose(2) == 1;
    say(a.place, "a late kick reaches T" + std::to_string(i + 1));
}

// Memory.

engine::Object &World::object_of(const Access &a) {
    engine::Object *o = memory_.find(a.object);

    if (!o)
        fail(Wrong::wild, text(a.place) + " touches " + memory_.describe(a.object));
    if (o->state == engine::Object::freed)
        fail(Wrong::after_free, text(a.place) + " touches " + memory_.describe(a.object) +
                                    " after its memory was freed");
    if (o->state == engine::Object::pooled && a.op != Op::load)
        fail(Wrong::after_free,
             text(a.place) + " changes " + memory_.describe(a.object) + " after it was given back");
    return *o;
}

Order World::order_of(const Access &a) {
    bool acquire = acquires(a.order), release = releases(a.order);

    if (a.order == Order::relaxed)
        return a.order;
    if (sites_) {
        bool known = false;
        for (auto &[place, order] : *sites_)
            known |= place.line == a.place.line && order == a.order &&
                     strcmp(place.file, a.place.file) == 0;
        if (!known)
            sites_->push_back({a.place, a.order});
    }
    for (const Weakening &w : rules_.weakened)
        if (w.line == a.place.line && w.file == base_name(a.place.file)) {
            acquire &= !w.acquire;
            release &= !w.release;
        }
    return acquire   ? release ? Order::acq_rel : Order::acquire
           : release ? Order::release
                     : Order::relaxed;
}

uint64_t World::access(const Access &a) {
    if (!is_inside()) { // an idle world, looked at from outside
        uint64_t old = Memory::read(a.address(), a.width);
        object_of(a);
        Memory::write(a.address(), a.width, result_of(a, old));
        return old;
    }
    bool silent = loads_->is_silent(a);
    Footprint f;
    if (silent) {
        settle(a.place);
        me().place = a.place;
        if (me().left[Budget::irq] || me().left[Budget::nmi])
            maybe_interrupt();
    } else {
        point({Kind::access, a, model_ == Model::tso && is_rmw(a.op)}, a.place);
    }
    object_of(a).touched[self_] = loads_->clock(self_);
    notice(f);
    Order order = order_of(a);
    uint64_t old = loads_->access(self_, a, order, f);
    if (!silent)
        made(f);
    if (result_of(a, old) != old)
        changed();
    me().arrival.step(steps_, is_rmw(a.op) && result_of(a, old) != old);
    if (story_)
        say_access(a, order, old, result_of(a, old));
    return old;
}

void World::fence(Place place) {
    Footprint f;

    if (!is_inside())
        return;
    point({Kind::fence, {}, model_ == Model::tso}, place);
    notice(f);
    loads_->fence(self_, f);
    made(f);
    say(place, "fence");
}

uint64_t World::plain_read(const uint64_t *datum, Place place) {
    Access a{const_cast<uint64_t *>(datum), 0, 8, Op::load, Order::relaxed, 0, 0, place};
    uint64_t value = 0;
    Footprint f;

    point({Kind::plain, a}, place);
    notice(f);
    std::string wrong = loads_->plain(self_, a, value, f);
    made(f);
    if (!wrong.empty())
        fail(Wrong::unordered, wrong);
    if (story_)
        say(place, "reads " + memory_.describe(datum) + " = " + hex(value));
    return value;
}

void World::plain_write(uint64_t *datum, uint64_t v, Place place) {
    Access a{datum, 0, 8, Op::store, Order::relaxed, v, 0, place};
    Footprint f;
    bool silent = loads_->is_silent(a);

    silent ? settle(place) : point({Kind::plain, a}, place);
    notice(f);
    std::string wrong = loads_->plain(self_, a, v, f);
    if (!silent)
        made(f);
    if (!wrong.empty())
        fail(Wrong::unordered, wrong);
    if (story_)
        say(place, "writes " + memory_.describe(datum) + " = " + hex(v));
}

// Its bytes become zero, whoever had them before.
void World::renew(void *object, Place place) {
    engine::Object *o = memory_.find(object);

    touch_object(object, place, "renews");
    for (size_t at = 0; at < o->size; at += 4)
        access({o->at + at, 0, 4, Op::store, Order::relaxed, 0, 0, place});
}

// A step that touches the whole object: nobody may use it on the other side of it.
void World::touch_object(void *object, Place place, const char *what) {
    engine::Object *o = memory_.find(object);
    Footprint f;

    point(
        {Kind::object, {o->at, 0, 0, Op::store, Order::relaxed, 0, 0, place}, model_ == Model::tso},
        place);
    notice(f);
    f.add(o->at, o->size, true);
    made(f);
    if (story_)
        say(place, std::string(what) + " " + memory_.describe(object));
}

void World::free(void *object, Place place) {
    engine::Object *o = memory_.find(object);

    touch_object(object, place, "frees");
    std::string who = loads_->unordered_use(self_, *o);
    if (!who.empty())
        fail(Wrong::unordered, "frees " + memory_.describe(object) + ", which " + who +
                                   " used, and nothing orders the two");
    o->state = engine::Object::freed;
}

// Waiting.

void World::relax(Ticks until, Place place) {
    if (!is_inside())
        fail(Wrong::unusable, "waits at " + text(place) + " while nobody else is there");
    settle(place);
    Agent &a = me();
    a.place = place;
    if (a.must_not_wait)
        fail(Wrong::try_waits, "trylock relaxes at " + text(place));
    if (a.timed && has_passed(a.timed_until) && !has_passed(until))
        fail(Wrong::too_late, "relaxes at " + text(place));
    maybe_interrupt();
    a.arrival.wait();
    bool expires = until != never && !has_asked(until) && !has_passed(until) && may(Budget::expiry);
    if (expires)
        pass(me(), until);
    a.asked.clear();
    if (has_passed(until) || a.interrupted) {
        a.interrupted = false;
        loads_->look_afresh(self_);
        return;
    }
    a.watches = true;
    a.watches_until = until;
    say(place, "relaxes");
}

// A loop of yields waits as one of relaxes would; the time ends it too, for it looks at that.
void World::yield(uint32_t, Place place) {
    if (!is_inside())
        fail(Wrong::unusable, "yields at " + text(place) + " while nobody else is there");
    settle(place);
    Agent &a = me();
    if (a.must_not_wait)
        fail(Wrong::try_waits, "trylock yields at " + text(place));
    Ticks until = never;
    for (Ticks t : a.asked)
        until = std::min(until, t);
    a.place = place;
    a.asked.clear();
    if (a.interrupted) {
        a.interrupted = false;
        loads_->look_afresh(self_);
        return;
    }
    a.watches = a.yields = true;
    a.watches_until = until;
    say(place, "yields");
}

// The world fences and compares; a spurious return is one that comes at once, for whoever returns
// later has only been slow.
void World::park(const uint32_t *word, uint32_t seen, uint32_t key, Ticks until, Place place) {
    if (!is_inside())
        fail(Wrong::unusable, "parks at " + text(place) + " while nobody else is there");
    if (key == 0 || reinterpret_cast<uintptr_t>(word) % 4)
        fail(Wrong::misuse, "park at " + text(place) + " with key 0 or an unaligned word");
    if (me().must_not_wait)
        fail(Wrong::try_waits, "trylock parks at " + text(place));
    if (me().timed && has_passed(me().timed_until))
        fail(Wrong::too_late, "parks at " + text(place));
    Access a{const_cast<uint32_t *>(word), 0, 4, Op::load, Order::relaxed, 0, 0, place};
    Footprint f;

    point({Kind::park, a, model_ == Model::tso}, place);
    notice(f);
    object_of(a);
    f.add(sleepers_of(word), 1, true);
    f.add(mailbox_of(self_), 1, false);
    loads_->fence(self_, f);
    auto now = static_cast<uint32_t>(loads_->access(self_, a, Order::relaxed, f));
    made(f);
    Agent &me_ = me();
    loads_->look_afresh(self_);
    if (me_.lingering) {
        me_.lingering = false;
        say(place, "parks, and a late kick ends that");
        return;
    }
    if (now != seen) {
        say(place,
            "does not park: " + memory_.describe(word) + " = " + hex(now) + ", not " + hex(seen));
        return;
    }
    if (may(Budget::spurious)) {
        say(place, "parks, and wakes without cause");
        return;
    }
    if (until != never && !has_passed(until) && may(Budget::expiry)) {
        pass(me(), until);
        say(place, "parks, and its time is up");
        return;
    }
    if (has_passed(until))
        return;
    maybe_interrupt(); // that wakes it
    if (me_.interrupted) {
        me_.interrupted = false;
        return;
    }
    me_.arrival.wait();
    me_.doing = Doing::parks;
    me_.parked_on = word;
    me_.key = key;
    me_.kicked = false;
    say(place, "parks");
    point({Kind::wake}, place);
    me_.doing = Doing::runs;
    me_.kicked = false;
    Footprint woken;
    woken.add(mailbox_of(self_), 1, false);
    made(woken);
    say(place, "wakes");
}

void World::kick(const uint32_t *word, uint32_t key, int n, Place place) {
    Footprint f;

    if (!is_inside())
        return;
    if (key == 0)
        fail(Wrong::misuse, "kick at " + text(place) + " with key 0");
    point({Kind::kick,
           {const_cast<uint32_t *>(word), 0, 4, Op::load, Order::relaxed, 0, 0, place},
           model_ == Model::tso},
          place);
    notice(f);
    loads_->fence(self_, f);
    Mask parked = 0;
    for (size_t i = 0; i < contexts_; i++)
        if (agents_[i].doing == Doing::parks && agents_[i].parked_on == word &&
            agents_[i].key & key)
            parked |= bit(i);
    f.add(sleepers_of(word), 1, parked != 0);
    Mask woken = 0;
    for (; n > 0 && parked; n--) {
        auto left = static_cast<unsigned>(__builtin_popcountll(parked));
        Mask m = parked;
        for (unsigned skip = search_->choose(n >= static_cast<int>(left) ? 1 : left); skip; skip--)
            m &= m - 1;
        auto i = static_cast<size_t>(__builtin_ctzll(m));
        parked &= ~bit(i);
        woken |= bit(i);
        f.add(mailbox_of(i), 1, true);
        if (may(Budget::late)) {
            agents_[i].late++;
            say(place, "kicks T" + std::to_string(i + 1) + ", which takes time");
            continue;
        }
        agents_[i].kicked = true;
        agents_[i].parked_on = nullptr;
        say(place, "kicks T" + std::to_string(i + 1));
    }
    made(f);
    if (!woken)
        say(place, "kicks nobody");
}

void World::begin_try() {
    if (is_inside()) {
        settle(me().place);
        me().must_not_wait = true;
        me().tried = 0;
    }
}

void World::end_try() {
    if (is_inside())
        me().must_not_wait = false;
}

void World::begin_timed(Ticks until) {
    settle(me().place);
    me().timed = true;
    me().timed_until = until;
}

bool World::end_timed() {
    me().timed = false;
    return has_passed(me().timed_until);
}

// Time.

bool World::has_passed(Ticks t) {
    if (t == never)
        return false;
    Agent &a = me();
    if (far_off(t) <= far_off(a.present))
        return serial(t) <= serial(a.present) || far_off(t) == 0 ||
               std::find(a.passed.begin(), a.passed.end(), t) != a.passed.end();
    return std::find(a.passed.begin(), a.passed.end(), t) != a.passed.end();
}

void World::pass(Agent &a, Ticks t) {
    a.passed.push_back(t);
    if (far_off(t) > far_off(a.present))
        a.present = far_off(t) << serial_bits | serial(t);
}

bool World::has_asked(Ticks t) const {
    const auto &asked = here_->asked;
    return std::find(asked.begin(), asked.end(), t) != asked.end();
}

Ticks World::now(Place place) {
    if (!is_inside())
        return 0;
    settle(place);
    return far_off(me().present) << serial_bits | ++me().deadlines;
}

Ticks World::after(uint64_t n, Ticks d, Place) {
    Ticks span, t;

    if (!is_inside())
        return d == never ? never : n * d;
    Agent &a = me();
    if (d == never || __builtin_mul_overflow(n, d, &span) ||
        __builtin_add_overflow(far_off(a.present), span, &t) || t >> (64 - serial_bits))
        return never;
    t = t << serial_bits | ++a.deadlines;
    if (span == 0)
        a.passed.push_back(t); // at once
    return t;
}

bool World::passed(Ticks t, Place place) {
    if (!is_inside() || t == never)
        return false;
    settle(place);
    if (has_passed(t))
        return true;
    if (!may(Budget::expiry)) {
        me().asked.push_back(t);
        return false;
    }
    pass(me(), t);
    say(place, "finds that its time is up");
    return true;
}

bool World::before(Ticks a, Ticks b, Place) {
    return a < b;
}

bool World::may(Budget kind) {
    if (!is_inside() || !me().left[kind])
        return false;
    if (!search_->choose(2))
        return false;
    me().left[kind]--;
    return true;
}

// Identity.

uint32_t World::self(Place) {
    return !is_inside() ? OL_ID_MAX : me().able.has_id ? static_cast<uint32_t>(self_ + 1) : 0;
}

// Nodes are at the same addresses whoever asks first.
ol_node *World::fresh_nodes() {
    if (!has_nodes_)
        for (size_t i = 0; i < contexts_; i++)
            for (unsigned k = 0; k < nodes_each; k++) {
                engine::Object &o = memory_.allocate("node", sizeof(ol_node));
                auto *node = reinterpret_cast<ol_node *>(o.at);
                node->next = reinterpret_cast<ol_node *>(uintptr_t(0xdead)); // rubbish
                agents_[i].nodes.insert(agents_[i].nodes.begin(), node);
            }
    has_nodes_ = true;
    if (me().nodes.empty())
        fail(Wrong::misuse, "more nodes in use than a context can need");
    return me().nodes.back();
}

// The node given back last is handed out first: whoever still uses it meets its new owner.
ol_node *World::node_get(Place place) {
    if (!is_inside())
        fail(Wrong::unusable, "queues at " + text(place) + " while nobody else is there");
    if (!me().able.has_nodes)
        return nullptr;
    ol_node *node = fresh_nodes();
    engine::Object *o = memory_.find(node);
    me().nodes.pop_back();
    if (o->state == engine::Object::pooled)
        touch_object(node, place, "takes again");
    o->state = engine::Object::live;
    return node;
}

void World::node_put(ol_node *node, Place place) {
    engine::Object *o = memory_.find(node);

    if (!o || o->state != engine::Object::live)
        fail(Wrong::misuse, text(place) + " gives back a node that was not handed out");
    touch_object(node, place, "gives back");
    o->state = engine::Object::pooled;
    me().nodes.push_back(node);
}

uint64_t *World::wait_slot(size_t i, Place) {
    if (!wait_array_)
        wait_array_ = reinterpret_cast<uint64_t *>(
            memory_.allocate("wait array", OL_WAIT_SLOTS * sizeof(uint64_t)).at);
    return &wait_array_[i % OL_WAIT_SLOTS];
}

void World::count(unsigned event, Place) {
    if (is_inside())
        me().counts[event]++;
}

// Knowledge, which may be wrong or stale.

void World::defer(bool, Place) {}

uint64_t World::slice_id(Place place) {
    if (!is_inside())
        return 0;
    settle(place);
    if (may(Budget::stale))
        me().slices++;
    return me().slices;
}

Ticks World::slice_end(Place) {
    return never;
}

Ticks World::slice_min(Place) {
    return 0;
}

bool World::is_preempted(uint32_t, Place place) {
    settle(place);
    return may(Budget::stale);
}

Ticks World::quota_end(Place) {
    return never;
}

bool World::cpu_idle(Place place) {
    settle(place);
    return may(Budget::stale);
}

unsigned World::htm_begin(Place) {
    return 0;
}

void World::htm_commit(Place place) {
    fail(Wrong::misuse, "commit at " + text(place));
}

void World::htm_abort(Place place) {
    fail(Wrong::misuse, "abort at " + text(place));
}

bool World::htm_active(Place) {
    return false;
}

// For clients.

void World::stop() {
    me().may_stop = false;
    me().doing = Doing::off;
    say(me().place, "loses its CPU for ever", true);
    point({Kind::await}, me().place);
}

void World::stop_others() {
    Footprint f;

    point({Kind::object, {}, model_ == Model::tso}, me().place);
    f.add_all();
    made(f);
    for (size_t i = 0; i < contexts_; i++) {
        if (i == self_ || agents_[i].doing == Doing::done)
            continue;
        agents_[i].doing = Doing::off;
        agents_[i].late = 0;
        loads_->forget(i);
    }
    say(me().place, "everybody else is gone", true);
}

bool World::is_done(size_t context) const {
    return agents_[context].doing == Doing::done;
}

bool World::is_off(size_t context) const {
    return agents_[context].doing == Doing::off;
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

// Telling.

void World::pending(Process who, Footprint &f) {
    if (who >= 2 * contexts_) {
        size_t i = who - 2 * contexts_;
        f.add(mailbox_of(i), 1, true);
        if (agents_[i].parked_on)
            f.add(sleepers_of(agents_[i].parked_on), 1, true);
        return;
    }
    if (who >= contexts_) {
        Access a = loads_->front(who - contexts_);
        touch(f, a, Memory::read(a.address(), a.width), result_of(a, 0));
        return;
    }
    const Agent &a = agents_[who];
    if (a.watches)
        loads_->watched(who, f);
    switch (a.next.kind) {
    case Kind::access:
        loads_->pending(a.next.access, f);
        break;
    case Kind::plain:
        f.add(a.next.access.address(), a.next.access.width, a.next.access.op != Op::load);
        break;
    case Kind::fence:
        f.add(fences, 1, model_ == Model::c11);
        break;
    case Kind::await:
        break;
    case Kind::wake:
        f.add(mailbox_of(who), 1, false);
        break;
    case Kind::park:
        f.add(fences, 1, model_ == Model::c11);
        f.add(sleepers_of(a.next.access.object), 1, true);
        f.add(mailbox_of(who), 1, false);
        f.add(a.next.access.object, 4, false);
        break;
    case Kind::kick: // it may wake anybody
        f.add(fences, 1, model_ == Model::c11);
        f.add(sleepers_of(a.next.access.object), 1, true);
        for (size_t i = 0; i < contexts_; i++)
            f.add(mailbox_of(i), 1, true);
        break;
    case Kind::object:
        if (engine::Object *o = memory_.find(a.next.access.object))
            f.add(o->at, o->size, true);
        else
            f.add_all();
        break;
    }
}

const char *World::doing(size_t context) const {
    const Agent &a = agents_[context];

    switch (a.doing) {
    case Doing::parks:
        return a.kicked ? "runs" : "parks";
    case Doing::off:
        return "off";
    case Doing::done:
        return "done";
    case Doing::runs:
        return a.watches && !loads_->sees_change(context) ? "relaxes" : "runs";
    }
    return "?";
}

std::string World::text(Place p) const {
    return p.file ? std::string(base_name(p.file)) + ":" + std::to_string(p.line) : "nowhere";
}

std::string World::who_waits() const {
    auto &memory = const_cast<Memory &>(memory_);
    std::string all;

    for (size_t i = 0; i < contexts_; i++) {
        const Agent &a = agents_[i];
        all += (all.empty() ? "" : "; ") + context_name(i);
        switch (a.doing) {
        case Doing::done:
            all += " done";
            break;
        case Doing::off:
            all += " off its CPU for ever, at " + text(a.place);
            break;
        case Doing::parks:
            all += " parked at " + text(a.place);
            if (a.parked_on)
                all += " on " + memory.describe(a.parked_on) + " with key " + hex(a.key);
            break;
        case Doing::runs:
            if (!a.watches) {
                all += " can run at " + text(a.place);
                break;
            }
            all += std::string(a.yields ? " yields" : " relaxes") + " at " + text(a.place);
            for (const Seen &s : loads_->seen(i))
                all += ", saw " + memory.describe(s.at) + " = " + hex(s.value);
        }
    }
    return all;
}

void World::say(Place place, std::string what, bool is_mark) {
    if (!story_ || !is_inside())
        return;
    Telling t;
    t.context = name_of(static_cast<Process>(self_), contexts_);
    t.place = place;
    t.what = std::move(what);
    t.is_mark = is_mark;
    for (size_t i = 0; i < contexts_; i++)
        t.doing.push_back(doing(i));
    story_->push_back(std::move(t));
}

void World::say_access(const Access &a, Order order, uint64_t old, uint64_t left) {
    if (!story_)
        return;
    std::string where = memory_.describe(a.address());
    bool buffered = loads_->is_silent(a), failed = a.op == Op::cas && old != a.expected;
    std::string what = std::string(ops[int(a.op)]) + (a.width == 2 ? "_half_" : "_") +
                       orders[int(order)] + " " + where;

    if (a.op == Op::load)
        what += " = " + hex(old);
    else if (a.op == Op::store)
        what += " = " + hex(left) + (buffered ? ", into its store buffer" : "");
    else if (failed)
        what += ": " + hex(old) + ", expected " + hex(a.expected) + ": fails";
    else
        what += ": " + hex(old) + " -> " + hex(left);
    say(a.place, std::move(what));
    Telling &t = story_->back();
    t.op = ops[int(a.op)];
    t.order = orders[int(order)];
    t.object = where;
    t.width = a.width;
    t.before = old;
    t.after = a.op == Op::load || failed ? old : left;
}

} // namespace ol::check
