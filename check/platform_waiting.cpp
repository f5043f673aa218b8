// SPDX-License-Identifier: MIT
// The platform layer: relaxing, yielding, parking, kicking; calls that must not wait.
#include "format.h"
#include "world.h"

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
    a.arrival.wait();
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
    a.watches = true;
    a.watches_until = until;
    say(place, "relaxes");
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
    a.watches = a.yields = true;
    a.watches_until = until;
    say(place, "yields");
}

// The world fences and compares; a spurious return is one that comes at once, for whoever returns
// later has only been slow.
void World::park(const uint32_t *word, uint32_t seen, uint32_t key, Ticks until, Place place) {
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
        say(place, "parks, and its deadline passes");
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
    me_.parks_until = until;
    me_.parked_on = word;
    me_.key = key;
    me_.kicked = false;
    say(place, "parks");
    point({Kind::wake, a}, place);
    me_.doing = Doing::runs;
    me_.kicked = false;
    Footprint woken;
    touch_sleepers(a, false, woken);
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
    cannot_be_inside(place);
    Access a{const_cast<uint32_t *>(word), 0, 4, Op::load, Order::relaxed, key, 0, place};
    point({Kind::kick, a, model_ == Model::tso}, place);
    notice(f);
    loads_->fence(self_, f);
    Mask parked = 0;
    for (size_t i = 0; i < contexts_; i++)
        if (agents_[i]->doing == Doing::parks && agents_[i]->parked_on == word &&
            agents_[i]->key & key)
            parked |= bit(i);
    touch_kick(a, f);
    Mask woken = 0;
    for (; n > 0 && parked; n--) {
        auto left = static_cast<unsigned>(__builtin_popcountll(parked));
        Mask m = parked;
        for (unsigned skip = search_->choose(n >= static_cast<int>(left) ? 1 : left); skip; skip--)
            m &= m - 1;
        auto i = static_cast<size_t>(__builtin_ctzll(m));
        parked &= ~bit(i);
        woken |= bit(i);
        if (may(Budget::late)) {
            agents_[i]->late++;
            say(place, "kicks T" + std::to_string(i + 1) + ", which is delayed");
            continue;
        }
        agents_[i]->kicked = true;
        agents_[i]->parked_on = nullptr;
        say(place, "kicks T" + std::to_string(i + 1));
    }
    made(f);
    if (!woken)
        say(place, "kicks no context");
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
