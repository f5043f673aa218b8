// SPDX-License-Identifier: MIT
#include "client.h"
#include "nap.h"

#include <cstring>

namespace ol::test {

using namespace engine;

namespace {
constexpr Place here(int line) {
    return {"client.cpp", line};
}
#define HERE here(__LINE__)
} // namespace

Client::Client(Machine &machine, const ol_lock_ops &ops)
    : machine_(machine), ops_(ops), events_(OL_EVENTS) {
    learn_unit();
}

// A lock whose word has moved on by the same amount in both halves after one acquisition counts
// tickets there, so it can be started near the wrap.
void Client::learn_unit() {
    Seeded schedule(0, 1);
    uint32_t word;

    machine_.reset(1, schedule, tuning_);
    void *l = machine_.memory().allocate("lock", ops_.size).at;
    try {
        ops_.lock(l);
        ops_.unlock(l);
    } catch (const Stop &) {
        return; // it will fail again, where it is reported
    }
    memcpy(&word, l, sizeof word);
    if (ops_.size == sizeof word && word >> 16 == (word & 0xffff))
        unit_ = word & 0xffff;
}

bool Client::only(const std::string &kind) {
    for (size_t i = 0; i < std::size(kinds); i++)
        if (kind == kinds[i])
            only_ = static_cast<Kind>(i);
    return only_.has_value();
}

void Client::draw(uint64_t seed) {
    static constexpr size_t contexts[] = {2, 2, 3, 3, 4, 5};
    static constexpr unsigned rounds[] = {1, 1, 2, 3};
    static constexpr Ticks taus[] = {0, 1, 50, 400, never}, spins[] = {0, 0, 50, 2000};
    static constexpr Ticks backoffs[] = {0, 10, 100};
    static constexpr uint64_t slots[] = {1, 2, 4096};
    static constexpr uint32_t starts[] = {0, 0xffff, 0xfffe, 0x7fff, 0x8000};
    static constexpr Kind often[] = {Kind::mixed,          Kind::mixed,      Kind::mixed,
                                     Kind::hand_over_hand, Kind::last_frees, Kind::another_unlocks};
    Random random(seed);

    seed_ = seed;
    kind_ = only_ ? *only_ : random.one_in(256) ? Kind::crowd : random.of(often);
    elides_ = ops_.traits & OL_ELIDES && !random.one_in(4);
    if (ops_.traits & OL_ELIDES && // where the same context unlocks, before the lock may be freed
        (kind_ == Kind::another_unlocks || (elides_ && kind_ == Kind::last_frees)))
        kind_ = Kind::mixed;
    contexts_ = random.of(contexts);
    rounds_ = random.of(rounds);
    start_ = random.of(starts) * unit_ & 0xffff;
    retunes_ = random.one_in(8);
    tuning_ = engine::presets();
    tuning_.tau = random.of(taus);
    tuning_.spin = random.of(spins);
    tuning_.backoff = random.of(backoffs);
    tuning_.long_term = 1 + random.one_in(4);
    tuning_.short_line = random.below(3);
    if (elides_)
        tuning_.tx_retries = random.below(3);
    tuning_.wait_slots = slots[seed % std::size(slots)];
    tuning_.steal = 1 + seed % 50;
    tuning_.steal_first = seed % 4 != 0;
    tuning_.stale = taus[seed % std::size(taus)];
    tuning_.barge = seed % 100;
    if (kind_ == Kind::crowd) { // more than the 32 tickets after which keys repeat
        contexts_ = 36;
        rounds_ = 1;
        tuning_.spin = 0;
    }
    if (kind_ == Kind::nap) { // some lengths around half the range of tickets and the whole
        static constexpr unsigned lengths[] = {1,     8191,  8192,  8193,  16383, 16384,
                                               16385, 24000, 32767, 32768, 32769, 40000};
        contexts_ = 2;
        rounds_ = lengths[seed % std::size(lengths)];
        tuning_.tau = 50;
        tuning_.backoff = 100;
        retunes_ = false;
    }
    if (fixed_tau_) {
        tuning_.tau = *fixed_tau_;
        retunes_ = false;
    }
    draw_slices(random);
    able_.assign(contexts_, {});
    if (random.one_in(4) && !only_)
        for (Abilities &a : able_)
            a = {!random.one_in(3), !random.one_in(3)};
}

// Apart, so that the other draws of a seed stay.
void Client::draw_slices(const Random &from) {
    static constexpr Ticks lengths[] = {0, 0, 30, 300, 3000}, sections[] = {0, 10, 100, never};
    Random random = from;

    machine_.slices(random.of(lengths));
    tuning_.csd = random.of(sections);
    tuning_.warning = random.of(sections);
    tuning_.csd_learned = random.one_in(2);
    tuning_.ratelimit = random.one_in(4);
    tuning_.near = random.below(3);
    tuning_.near_spin = tuning_.spin * random.below(3);
}

std::string Client::setting() const {
    return std::string(kinds[static_cast<size_t>(kind_)]) + ", " + std::to_string(contexts_) +
           " contexts, " + std::to_string(rounds_) + " rounds, first ticket " +
           std::to_string(unit_ ? start_ / unit_ : 0);
}

Client::Lock Client::make_lock() {
    Lock l;

    l.at = machine_.memory().allocate("lock", ops_.size).at;
    l.datum =
        reinterpret_cast<uint64_t *>(machine_.memory().allocate("datum", sizeof(uint64_t)).at);
    if (unit_) {
        uint32_t word = start_ << 16 | start_;
        memcpy(l.at, &word, sizeof word);
    }
    return l;
}

void Client::set_up() {
    locks_[0] = make_lock();
    if (kind_ == Kind::hand_over_hand)
        locks_[1] = make_lock();
    users_left_ = static_cast<unsigned>(contexts_) * rounds_;
    if (kind_ == Kind::nap) {
        machine_.spawn([this] { nap(); });
        machine_.spawn([this] { overtake(); });
        return;
    }
    for (size_t i = 0; i < contexts_; i++)
        machine_.spawn([this, i] { participate(i); }, able_[i]);
    if (kind_ != Kind::another_unlocks)
        return;
    handed_over_ =
        reinterpret_cast<uint32_t *>(machine_.memory().allocate("mailbox", sizeof(uint32_t)).at);
    machine_.spawn([this] { close(users_left_); });
}

bool Client::run(uint64_t seed) {
    draw(seed);
    Seeded seeded(~seed, contexts_ + 1);
    Nap nap(tuning_.tau);
    Schedule &schedule = kind_ == Kind::nap ? static_cast<Schedule &>(nap) : seeded;
    machine_.limit_steps(kind_ == Kind::nap ? 10'000'000 : 50'000);
    machine_.transactions(elides_ ? Transaction::Capacity{} : Transaction::Capacity{0, 0});
    machine_.reset(contexts_ + (kind_ == Kind::another_unlocks), schedule, tuning_);
    set_up();
    if (machine_.run()) {
        try {
            finish();
        } catch (const Stop &) {
        }
    }
    executions_++;
    steps_ += machine_.steps();
    for (size_t i = 0; i < contexts_; i++)
        for (size_t e = 0; e < OL_EVENTS; e++)
            events_[e] += machine_.context(i).events[e];
    return !machine_.failure();
}

void Client::finish() {
    for (Lock &l : locks_) {
        if (!l.at || (&l == &locks_[1] && kind_ != Kind::hand_over_hand))
            continue;
        if (kind_ != Kind::nap && *l.datum != l.acquired)
            machine_.fail(Wrong::lost_update, std::to_string(l.acquired) + " additions left " +
                                                  std::to_string(*l.datum));
        if (kind_ != Kind::last_frees)
            idle_lock_works(l);
    }
    if (kind_ == Kind::nap)
        nap_was_noticed();
}

void Client::nap_was_noticed() {
    if (machine_.context(0).events[OL_TIMEOUT])
        machine_.fail(Wrong::unnoticed, "overtaken " + std::to_string(rounds_) +
                                            " times in its sleep, it waits on in line");
}

// From outside, with nobody else there: waiting is a failure now.
void Client::idle_lock_works(Lock &l) {
    if (ops_.is_locked(l.at) || ops_.is_contended(l.at))
        machine_.fail(Wrong::lies, "the lock is idle and said to be locked or contended");
    if (!ops_.trylock(l.at))
        machine_.fail(Wrong::unusable, "trylock fails on the idle lock");
    if (!ops_.is_locked(l.at) || ops_.trylock(l.at))
        machine_.fail(Wrong::lies, "the lock is held and said to be free, or taken twice");
    ops_.unlock(l.at);
    ops_.lock(l.at);
    ops_.unlock(l.at);
}

// In the contexts.

// In a transaction it may never have happened.
template <class T> void Client::add(T &n, int d) {
    n += static_cast<T>(d);
    machine_.if_aborted([&n, d] { n -= static_cast<T>(d); });
}

void Client::participate(size_t me) {
    Random random(seed_ + 0x1000 * (me + 1));
    Lock &a = locks_[0], &b = locks_[1];

    for (unsigned round = 0; round < rounds_; round++) {
        maybe_retune(random);
        acquire(a, random);
        use(a, random);
        if (kind_ == Kind::another_unlocks) {
            hand_over(a);
            continue;
        }
        if (kind_ == Kind::hand_over_hand) { // hand over hand: not the order of a stack
            acquire(b, random);
            release(a);
            use(b, random);
            release(b);
            continue;
        }
        add(users_left_, -1);
        bool last = users_left_ == 0 && kind_ == Kind::last_frees;
        release(a);
        if (last)
            machine_.free(a.at, HERE);
    }
}

// The two of kind `nap`: schedule Nap puts the one to sleep in line, while the other comes and
// goes.
void Client::nap() {
    Lock &l = locks_[0];

    ops_.lock(l.at);
    took(l);
    release(l);
}

void Client::overtake() {
    Lock &l = locks_[0];

    for (unsigned round = 0; round < rounds_; round++) {
        ops_.lock(l.at);
        took(l);
        release(l);
    }
}

// Somebody else's unlock.
void Client::close(uint32_t expected) {
    for (uint32_t done = 0; done < expected; done++) {
        while (ol_load_acquire(handed_over_) == done)
            ol_relax();
        locks_[0].owner = nobody;
        ops_.unlock(locks_[0].at);
        locks_[0].busy--;
        machine_.mark("released for another");
    }
}

void Client::hand_over(Lock &l) {
    l.owner = nobody - 1;
    ol_add_release(handed_over_, 1u);
}

void Client::maybe_retune(Random &random) {
    static constexpr Ticks taus[] = {0, 50, 400}; // not inf: see ol_set_tunable()

    if (!retunes_ || !random.one_in(2))
        return;
    tuning_.tau = random.of(taus);
    machine_.retune(tuning_);
}

void Client::acquire(Lock &l, Random &random) {
    uint32_t how = random.below(8);
    bool got = how < 2 && try_for_a_while(l, random);

    add(l.busy, 1); // until it has released
    add(l.begun, 1);
    if (!got && how < 5 && ops_.timedlock && deadlines_)
        got = try_until(l, random);
    if (!got)
        ops_.lock(l.at);
    took(l);
}

bool Client::try_for_a_while(Lock &l, Random &random) {
    for (unsigned tries = 1 + random.below(3); tries > 0; tries--) {
        if (try_once(l))
            return true;
        ol_relax();
    }
    return false;
}

bool Client::try_once(Lock &l) {
    bool alone = l.busy == 0;
    add(l.begun, 1);
    uint64_t begun = l.begun;

    add(l.busy, 1);
    machine_.begin_try();
    bool got = ops_.trylock(l.at);
    machine_.end_try();
    add(l.busy, -1);
    if (!got && alone && l.begun == begun)
        machine_.fail(Wrong::try_fails, "nobody else held it or wanted it meanwhile");
    return got;
}

bool Client::try_until(Lock &l, Random &random) {
    static constexpr Ticks patience[] = {0, 5, 30, 300, 3000, 30000, never};

    for (unsigned tries = 1 + random.below(2); tries > 0; tries--) {
        Ticks until = ol_after(1, random.of(patience));
        if (ops_.timedlock(l.at, until))
            return true;
        if (machine_.time() < until)
            machine_.fail(Wrong::lies, "timedlock gives up before its deadline");
    }
    return false;
}

void Client::took(Lock &l) {
    size_t me = machine_.running()->index;

    if (l.owner != nobody)
        machine_.fail(Wrong::exclusion, "T" + std::to_string(me + 1) + " came in while T" +
                                            std::to_string(l.owner + 1) + " was there");
    if (ol_htm_active()) { // others may be here too: memory keeps them apart
        add(l.elided, 1);
    } else {
        if (l.elided)
            machine_.fail(Wrong::exclusion, "T" + std::to_string(me + 1) + " came in while " +
                                                std::to_string(l.elided) +
                                                " in transactions were there");
        l.owner = me;
    }
    machine_.once_certain([&l] { l.acquired++; });
    machine_.mark("holds");
}

void Client::use(Lock &l, Random &random) {
    uint64_t v = machine_.plain_read(l.datum, HERE);

    if (!ops_.is_locked(l.at))
        machine_.fail(Wrong::lies, "is_locked is false for the holder");
    if (random.one_in(4) && try_once(l))
        machine_.fail(Wrong::exclusion, "trylock succeeds while the lock is held");
    if (ops_.traits & OL_ELIDES && random.one_in(4) && ol_self()) { // the same lock nests
        ops_.lock(l.at);
        ops_.unlock(l.at);
    }
    if (random.one_in(4)) {
        bool alone = l.busy == 1;
        uint64_t begun = l.begun;
        if (ops_.is_contended(l.at) && alone && l.begun == begun)
            machine_.fail(Wrong::lies, "is_contended is true though nobody else wants the lock");
    }
    machine_.plain_write(l.datum, v + 1, HERE);
}

void Client::release(Lock &l) {
    if (l.owner == nobody && ol_htm_active()) { // it is over when the transaction is
        machine_.once_certain([&l] { l.elided--; });
    } else {
        machine_.if_aborted([&l, before = l.owner] { l.owner = before; });
        l.owner = nobody;
    }
    ops_.unlock(l.at);
    machine_.once_certain([&l] { l.busy--; });
    machine_.mark("released");
}

} // namespace ol::test
