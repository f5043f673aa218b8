// SPDX-License-Identifier: MIT
// Linux, for code from outside: a clock, and futexes whose words the kernel changes.
#include "world.h"

#include <algorithm>
#include <cerrno>

namespace ol::check {

// Every reading is ordered with every other, so that no context finds an earlier time than what it
// has heard of. Between two of a context little time passes, or an hour: if a deadline of it has
// passed, if the adversary spends from `expiry`, and more and more if it does nothing but look.
uint64_t World::clock_ns(uint64_t at_least, Place place) {
    constexpr uint64_t little = 1'000, an_hour = 3'600'000'000'000;
    constexpr unsigned few = 2, bits_each = 4, most = 10, patience = 16;
    Footprint f;

    if (!is_inside())
        return clock_ns_;
    if (me().clock_polls >= patience) { // nothing but a change can help now
        cut_loop(place, patience);
        relax(after(1, 1, place), place);
    }
    point({Kind::clock}, place);
    notice(f);
    f.add(system_clock, 1, true);
    made(f);
    Agent &a = me();
    unsigned beyond = a.clock_polls < few ? 0 : std::min(a.clock_polls - few, most);
    bool leaps = std::exchange(a.present_read, a.present) != a.present || may(Budget::expiry);
    clock_ns_ += (little << bits_each * beyond) + (leaps ? an_hour : 0);
    clock_ns_ = std::max(clock_ns_, at_least);
    a.has_read_clock = true;
    a.clock_polls++;
    say(place, "reads the clock: " + std::to_string(clock_ns_) + " ns");
    return clock_ns_;
}

// A step that may change `other`, and the sleepers at either word.
Footprint World::begin_change(const Access &word, const void *other, Place place) {
    Access beside = word;
    Footprint f;

    cannot_be_inside(place);
    point({Kind::kick, word, model_ == Model::tso, other, true}, place);
    beside.object = const_cast<void *>(other);
    object_of(beside);
    if (!is_inside())
        return f;
    notice(f);
    touch_kick(word, f);
    touch_kick(beside, f);
    loads_->fence(self_, f);
    return f;
}

uint32_t World::change_word(const void *word, const std::function<uint32_t(uint32_t)> &to,
                            Footprint &f, Place place) {
    struct Called final : engine::Change {
        explicit Called(const std::function<uint32_t(uint32_t)> &f) : f(f) {}
        uint32_t of(uint32_t old) const override { return f(old); }
        const std::function<uint32_t(uint32_t)> &f;
    } called(to);
    Access a{const_cast<void *>(word), 0, 4, Op::xchg, Order::acq_rel, 0, 0, place};

    a.changes = &called;
    if (!is_inside())
        return static_cast<uint32_t>(access(a));
    auto old = static_cast<uint32_t>(loads_->access(self_, a, a.order, f));
    loads_->fence(self_, f); // the kernel's lock shows it to all that sleep or wake later
    if (to(old) != old)
        changed();
    arrives(to(old) != old);
    if (trace_)
        say_access(a, a.order, old, to(old));
    return old;
}

namespace {

constexpr uint32_t any_key = ~0u;

Access word_of(const uint32_t *word, Place place) {
    return {const_cast<uint32_t *>(word), 0, 4, Op::load, Order::relaxed, any_key, 0, place};
}

} // namespace

unsigned World::wake_op(const uint32_t *word, int wakes, const uint32_t *other, int more,
                        const std::function<uint32_t(uint32_t)> &to,
                        const std::function<bool(uint32_t)> &also, Place place) {
    Access first = word_of(word, place), second = word_of(other, place);
    Footprint f = begin_change(first, other, place);
    uint32_t old = change_word(other, to, f, place);
    Mask parked = sleepers(word, any_key);
    unsigned woken = wake_some(first, wakes, parked);

    if (also(old)) {
        parked = sleepers(other, any_key);
        woken += wake_some(second, more, parked);
    }
    made(f);
    return woken;
}

// Waiters for the lock whose owner is in the word; only its release wakes them.
Mask World::pi_sleepers(const void *word) const {
    Mask parked = 0;

    for (size_t i = 0; i < contexts_; i++)
        if (agents_[i]->doing == Doing::parks && agents_[i]->parked_on == word && !agents_[i]->key)
            parked |= bit(i);
    return parked;
}

int World::pi_lock(const uint32_t *word, bool tries, Ticks until, Place place) {
    Access a = word_of(word, place);
    Footprint f = begin_change(a, word, place);
    uint32_t self = id_here();
    uint32_t old = change_word(
        word,
        [self](uint32_t now) {
            bool is_free = !(now & pi_owner);
            return is_free ? now | self : (now & pi_owner) == self ? now : now | pi_waiters;
        },
        f, place);

    made(f);
    if (!(old & pi_owner))
        return 0;
    if ((old & pi_owner) == self)
        return -EDEADLK;
    if ((old & pi_owner) > contexts_ && (old & pi_owner) != outside_id)
        return -ESRCH;
    if (tries)
        return -EAGAIN;
    if (!is_inside())
        fail(Wrong::unusable, "parks at " + text(place) + " although the lock is idle");
    loads_->look_afresh(self_);
    if (me().must_not_wait)
        fail(Wrong::try_waits, "trylock parks at " + text(place));
    if (until != never && !has_passed(until) && may(Budget::expiry))
        pass(me(), until);
    if (has_passed(until))
        return -ETIMEDOUT;
    if (rest(a, 0, until, place) != Woke::kicked)
        return -ETIMEDOUT;
    if (model_ == Model::c11) // the kernel orders its release with this
        fence(place);
    return 0;
}

int World::pi_unlock(const uint32_t *word, Place place) {
    Access a = word_of(word, place);
    Footprint f = begin_change(a, word, place);
    Mask parked = pi_sleepers(word);
    size_t next = parked ? any_of(parked, 1) : nobody;
    uint32_t self = id_here();
    uint32_t old = change_word(
        word,
        [&](uint32_t now) {
            if ((now & pi_owner) != self)
                return now;
            return next == nobody ? 0 : static_cast<uint32_t>(next + 1) | pi_waiters;
        },
        f, place);

    if ((old & pi_owner) == self && next != nobody) {
        agents_[next]->kicked = true;
        agents_[next]->parked_on = nullptr;
        say(place, "hands the lock to T" + std::to_string(next + 1));
    }
    made(f);
    return (old & pi_owner) == self ? 0 : -EPERM;
}

} // namespace ol::check
