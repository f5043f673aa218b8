// SPDX-License-Identifier: MIT
// The platform layer: relaxing, yielding, parking, kicking; calls that must not wait.
#include "format.h"
#include "world.h"

#include <algorithm>

namespace ol::check {

void World::relax(Ticks until, Place place) {
    if (!is_inside())
        fail(Wrong::unusable, "waits at " + text(place) + " although the lock is idle");
    cannot_be_inside(place);
    settle(place);
    Agent &a = me();
    a.place = place;
    if (a.must_not_wait)
        fail(Wrong::try_waits, "trylock relaxes at " + text(place));
    if (a.timed && has_passed(a.timed_until) && !has_passed(until))
        fail(Wrong::too_late, "relaxes at " + text(place));
    maybe_interrupt();
    a.arrival.wait(step());
    bool may_expire = rules_.clock || !has_asked(until); // else to ask was the moment
    bool expires = until != never && may_expire && !has_passed(until) && may(Budget::expiry);
    if (expires)
        pass(me(), until);
    a.asked.clear();
    if (has_passed(until) || a.interrupted) {
        a.interrupted = false;
        loads_->look_afresh(self_);
        return;
    }
    if (rules_.polls)
        return polls(place);
    a.watches = true;
    a.watches_until = until;
    say(place, "relaxes");
}

// As if nothing had changed: whether anything has it finds out by itself.
void World::polls(Place place) {
    Footprint f;

    say(place, "polls");
    point({Kind::await}, place);
    made(f);
    me().polls.ends_turn();
    loads_->look_afresh(self_);
}

std::optional<uint64_t> World::finds_again(const Access &a) const {
    if (!is_inside() || in_transaction() || here_->watches)
        return {};
    return loads_->finds_again(self_, a);
}

// What it chooses here is an alternative of its last step. If nothing will change, the execution in
// which it goes on is explored too.
bool World::goes_on(Place place) {
    if (!search_->choose(2))
        return true;
    me().watches = me().may_go_on = true;
    me().watches_until = never;
    say(place, "turns until something changes");
    return false;
}

void World::cut_loop(Place place, unsigned turns) {
    for (auto &[known, most] : cut_loops_)
        if (known.file == place.file && known.line == place.line) {
            most = std::max(most, turns);
            return;
        }
    cut_loops_.emplace_back(place, turns);
}

// From now on, and as if it had always been known.
void World::take_for_endless(const void *site) {
    endless_.insert(site);
    begin_anew();
}

// A loop of yields waits as one of relaxes would; the time ends it too, for it looks at that.
void World::yield(uint32_t, Place place) {
    Ticks until = never;

    if (is_inside())
        for (Ticks t : me().asked)
            until = std::min(until, t);
    yield_until(until, place);
}

// So does one of halts: that a word changes is the cause without which a halt may end.
void World::yield_until(Ticks until, Place place) {
    if (!is_inside())
        fail(Wrong::unusable, "yields at " + text(place) + " although the lock is idle");
    cannot_be_inside(place);
    settle(place);
    Agent &a = me();
    if (a.must_not_wait)
        fail(Wrong::try_waits, "trylock yields at " + text(place));
    a.place = place;
    a.asked.clear();
    if (rules_.clock && until != never && may(Budget::expiry)) {
        pass(a, until);
        loads_->look_afresh(self_);
        return;
    }
    if (a.interrupted) {
        a.interrupted = false;
        loads_->look_afresh(self_);
        return;
    }
    if (rules_.polls)
        return polls(place);
    a.watches = a.yields = true;
    a.watches_until = until;
    say(place, "yields");
}

void World::park(const uint32_t *word, uint32_t seen, uint32_t key, Ticks until, Place place) {
    sleep(word, seen, key, until, place);
}

// The world fences and compares; a spurious return is one that comes at once, for whoever returns
// later has only been slow.
Woke World::sleep(const uint32_t *word, uint32_t seen, uint32_t key, Ticks until, Place place) {
    if (!is_inside())
        fail(Wrong::unusable, "parks at " + text(place) + " although the lock is idle");
    cannot_be_inside(place);
    if (key == 0 || reinterpret_cast<uintptr_t>(word) % 4)
        fail(Wrong::misuse, "park at " + text(place) + " with key 0 or an unaligned word");
    if (me().must_not_wait)
        fail(Wrong::try_waits, "trylock parks at " + text(place));
    if (me().timed && has_passed(me().timed_until) && !has_passed(until))
        fail(Wrong::too_late, "parks at " + text(place));
    Access a{const_cast<uint32_t *>(word), 0, 4, Op::load, Order::relaxed, key, 0, place};
    Footprint f;

    point({Kind::park, a, model_ == Model::tso}, place);
    displace(word, 4, false, f);
    notice(f);
    object_of(a);
    touch_sleepers(a, true, f);
    f.add(mailbox_of(self_), 1, false);
    loads_->fence(self_, f);
    auto now = static_cast<uint32_t>(loads_->access(self_, a, Order::relaxed, f));
    made(f);
    Agent &me_ = me();
    loads_->look_afresh(self_);
    if (me_.lingering) {
        me_.lingering = false;
        say(place, "parks, and a late kick wakes it");
        return Woke::kicked;
    }
    if (now != seen) {
        say(place,
            "does not park: " + memory_.describe(word) + " = " + hex(now) + ", not " + hex(seen));
        return Woke::differs;
    }
    if (may(Budget::spurious)) {
        say(place, "parks, and wakes without cause");
        return Woke::without_cause;
    }
    if (until != never && !has_passed(until) && may(Budget::expiry)) {
        pass(me(), until);
        say(place, "parks, and its deadline passes");
        return Woke::in_time;
    }
    if (has_passed(until))
        return Woke::in_time;
    maybe_interrupt(); // that wakes it
    if (me_.interrupted) {
        me_.interrupted = false;
        return Woke::without_cause;
    }
    return rest(a, key, until, place);
}

// Until it is woken, or its time is over.
Woke World::rest(const Access &a, uint32_t key, Ticks until, Place place) {
    Agent &me_ = me();

    me_.arrival.wait(step());
    me_.doing = Doing::parks;
    me_.parks_until = until;
    me_.parked_on = static_cast<const uint32_t *>(a.object);
    me_.key = key;
    me_.kicked = false;
    me_.clock_polls = 0;
    say(place, "parks");
    point({Kind::wake, a}, place);
    Woke how = me_.kicked ? Woke::kicked : Woke::in_time;
    me_.doing = Doing::runs;
    me_.kicked = false;
    Footprint woken;
    touch_sleepers(me_.next.access, false, woken); // it may have been moved
    woken.add(mailbox_of(self_), 1, false);
    made(woken);
    say(place, "wakes");
    return how;
}

void World::kick(const uint32_t *word, uint32_t key, int n, Place place) {
    wake(word, key, n, place);
}

unsigned World::wake(const uint32_t *word, uint32_t key, int n, Place place) {
    Footprint f;

    if (!is_inside())
        return 0;
    if (key == 0)
        fail(Wrong::misuse, "kick at " + text(place) + " with key 0");
    cannot_be_inside(place);
    Access a{const_cast<uint32_t *>(word), 0, 4, Op::load, Order::relaxed, key, 0, place};
    point({Kind::kick, a, model_ == Model::tso}, place);
    notice(f);
    loads_->fence(self_, f);
    touch_kick(a, f);
    Mask parked = sleepers(word, key);
    unsigned woken = wake_some(a, n, parked);
    made(f);
    if (!woken)
        say(place, "kicks no context");
    return woken;
}

Mask World::sleepers(const void *word, uint32_t key) const {
    Mask parked = 0;

    for (size_t i = 0; i < contexts_; i++)
        if (agents_[i]->doing == Doing::parks && agents_[i]->parked_on == word &&
            agents_[i]->key & key)
            parked |= bit(i);
    return parked;
}

// The next of n to be taken from these.
size_t World::any_of(Mask parked, int n) {
    auto left = static_cast<unsigned>(__builtin_popcountll(parked));

    for (unsigned skip = search_->choose(n >= static_cast<int>(left) ? 1 : left); skip; skip--)
        parked &= parked - 1;
    return static_cast<size_t>(__builtin_ctzll(parked));
}

// Takes them out of `parked`.
unsigned World::wake_some(const Access &word, int n, Mask &parked) {
    unsigned woken = 0;

    for (; n > 0 && parked; n--, woken++) {
        size_t i = any_of(parked, n);
        parked &= ~bit(i);
        if (may(Budget::lost)) {
            lost_kick_ = true;
            say(word.place, "kicks T" + std::to_string(i + 1) + ", which it does not hear");
            continue;
        }
        if (may(Budget::late)) {
            agents_[i]->late++;
            say(word.place, "kicks T" + std::to_string(i + 1) + ", which is delayed");
            continue;
        }
        agents_[i]->kicked = true;
        agents_[i]->parked_on = nullptr;
        say(word.place, "kicks T" + std::to_string(i + 1));
    }
    return woken;
}

bool World::requeue(const uint32_t *from, int wakes, const uint32_t *to, int moves,
                    const uint32_t *seen, unsigned &done, Place place) {
    constexpr uint32_t whoever = ~0u;
    Access a{const_cast<uint32_t *>(from), 0, 4, Op::load, Order::relaxed, whoever, 0, place};
    Access b{const_cast<uint32_t *>(to), 0, 4, Op::load, Order::relaxed, whoever, 0, place};
    Footprint f;

    done = 0;
    if (!is_inside())
        return true;
    point({Kind::kick, a, model_ == Model::tso, to}, place);
    notice(f);
    touch_kick(a, f);
    touch_kick(b, f);
    loads_->fence(self_, f);
    if (seen && static_cast<uint32_t>(loads_->access(self_, a, Order::relaxed, f)) != *seen) {
        made(f);
        say(place, "moves no context: the word has changed");
        return false;
    }
    Mask parked = sleepers(from, whoever);
    done = wake_some(a, wakes, parked);
    for (; moves > 0 && parked; moves--, done++) {
        size_t i = any_of(parked, moves);
        parked &= ~bit(i);
        agents_[i]->parked_on = to;
        agents_[i]->next.access.object = const_cast<uint32_t *>(to);
        say(place, "moves T" + std::to_string(i + 1) + " to " + memory_.describe(to));
    }
    made(f);
    return true;
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

void World::begin_timed(Ticks until, bool strictly) {
    settle(me().place);
    me().timed = strictly;
    me().timed_until = until;
}

bool World::end_timed() {
    me().timed = false;
    return has_passed(me().timed_until);
}

} // namespace ol::check
