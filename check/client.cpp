// SPDX-License-Identifier: MIT
#include "client.h"

#include <algorithm>
#include <cstring>

namespace ol::check {

namespace {

constexpr Place here(int line) {
    return {__FILE__, line};
}
#define HERE here(__LINE__)

constexpr Ticks usual_patience = 100; // of timed callers; when it ends is up to the adversary
constexpr uint32_t plenty = 1000;     // of adversary events
constexpr size_t long_walk = 50'000;  // steps

} // namespace

namespace {

// What needs more of the platform layer than locks from outside have.
bool applies_to_foreign(Scenario scenario, const ol_checked_lock &l) {
    switch (scenario) {
    case Scenario::lock_:
    case Scenario::frees_:
    case Scenario::holder_:
    case Scenario::waiter_:
    case Scenario::chain_:
    case Scenario::order_:
        return true;
    case Scenario::try_:
        return l.trylock;
    case Scenario::wait_:
        return l.wait && l.lock;
    case Scenario::count_:
        return l.down;
    default:
        return false;
    }
}

} // namespace

bool applies(Scenario scenario, const ol_lock_ops &ops, bool elides,
             const ol_checked_lock *foreign) {
    if (foreign)
        return applies_to_foreign(scenario, *foreign);
    switch (scenario) {
    case Scenario::wait_:
    case Scenario::count_:
        return false;
    case Scenario::timed_:
    case Scenario::leave_:
        return ops.timedlock;
    case Scenario::frees_: // a transaction that has committed has not left the lock yet
    case Scenario::reuse_:
        return !elides;
    case Scenario::handover_:
        return !(ops.traits & OL_ELIDES); // the same context unlocks
    default:
        return true;
    }
}

void prepare(Scenario scenario, Rules &rules) {
    const char *needs = scenario_list[static_cast<size_t>(scenario)].budget;
    Budgets &budgets = rules.budgets;

    if (is_drawn(scenario)) {
        rules.longest = long_walk;
        rules.shared_nodes = true;
        for (Budget b :
             {Budget::expiry, Budget::spurious, Budget::late, Budget::stale, Budget::abort})
            budgets[b] = plenty;
    }
    for (size_t i = 0; i < budget_kinds; i++)
        if (!budgets.left[i] && strcmp(budget_list[i].name, needs) == 0)
            budgets.left[i] = 1;
}

Client::Client(World &world, const ol_lock_ops &ops, const Setting &setting)
    : world_(world), ops_(ops), setting_(setting), usual_(world.rules()) {
    if (!setting_.foreign)
        learn_unit();
}

// A lock whose word has moved on by the same amount in both halves after one acquisition counts
// tickets there, so it is started just before they wrap.
void Client::learn_unit() {
    alignas(128) uint8_t room[256] = {};
    uint32_t word;

    world_.memory().reset(1);
    void *l = world_.memory().allocate("lock", ops_.size).at;
    try {
        ops_.lock(l);
        ops_.unlock(l);
    } catch (const engine::Stop &) {
        return; // it will fail again, where it is reported
    }
    memcpy(room, l, std::min<size_t>(ops_.size, sizeof room));
    memcpy(&word, room, sizeof word);
    if (ops_.size == sizeof word && word >> 16 == (word & 0xffff))
        unit_ = word & 0xffff;
}

Client::Lock Client::make_lock(Memory &memory) {
    Lock l;

    l.at = memory.allocate("lock", ops_.size).at;
    l.datum = reinterpret_cast<uint64_t *>(memory.allocate("datum", sizeof(uint64_t)).at);
    if (setting_.foreign)
        initialise(l.at);
    if (uint32_t word = first_word())
        memcpy(l.at, &word, sizeof word);
    return l;
}

uint32_t Client::first_word() {
    if (!unit_ || setting_.fresh)
        return 0;
    uint32_t first = first_ticket() * unit_ & 0xffff;
    return first << 16 | first;
}

// Just before they wrap, or where a comparison of two might.
uint32_t Client::first_ticket() {
    static constexpr uint32_t firsts[] = {0xffff, 0, 0xfffe, 0x7fff, 0x8000};

    return is_drawn(setting_.scenario) ? any_of(firsts) : firsts[0];
}

Program Client::program() {
    Program p;

    p.contexts = setting_.contexts +
                 (setting_.scenario == Scenario::handover_ || is_drawn(setting_.scenario));
    p.set_up = [this](Memory &memory) { set_up(memory); };
    p.body = [this](size_t me) { body(me); };
    p.finish = [this] { finish(); };
    p.interrupted = [this](size_t, Budget kind) { interrupted(kind); };
    p.may_stick = [this] { return may_stick(); };
    p.by_clock = ops_.traits & OL_BY_CLOCK;
    p.able = [this](size_t me) { return me < able_.size() ? able_[me] : engine::Abilities{}; };
    return p;
}

void Client::set_up(Memory &memory) {
    played_ = setting_.scenario;
    present_ = setting_.contexts;
    rounds_ = setting_.acquisitions;
    able_.clear();
    if (setting_.scenario == Scenario::noid_)
        able_ = {{false, false}};
    if (is_drawn(setting_.scenario))
        draw();
    bool two = played_ == Scenario::chain_ || played_ == Scenario::irq_;

    locks_[0] = make_lock(memory);
    locks_[1] = two ? make_lock(memory) : Lock{};
    mailbox_ = reinterpret_cast<uint32_t *>(memory.allocate("mailbox", sizeof(uint32_t)).at);
    tokens_ = reinterpret_cast<uint64_t *>(memory.allocate("tokens", sizeof(uint64_t)).at);
    waits_.assign(setting_.contexts, false);
    ups_begun_ = ups_ = downs_ = 0;
    turns_.clear();
    forked_ = false;
}

// The parts of each context, with its abilities.
void Client::draw() {
    static constexpr Scenario played[] = {Scenario::any_,   Scenario::any_,   Scenario::any_,
                                          Scenario::chain_, Scenario::frees_, Scenario::handover_};
    Rules &r = world_.rules();

    r = usual_;
    draw_tuning(r);
    setting_.tuned(r.tuning);
    retunes_ = world_.draw(8) == 0;
    played_ = any_of(played);
    if (!applies(played_, ops_, ops_.traits & OL_ELIDES && world_.has_transactions()))
        played_ = Scenario::any_;
    present_ = std::min<size_t>(setting_.contexts, 2 + world_.draw(setting_.contexts));
    rounds_ = 1 + world_.draw(setting_.acquisitions);
    if (world_.draw(4) == 0)
        for (size_t i = 0; i < present_; i++)
            able_.push_back({world_.draw(3) != 0, world_.draw(3) != 0});
}

// Nothing, little, much and no end of everything.
void Client::draw_tuning(Rules &r) {
    static constexpr Ticks spans[] = {0, 1, 50, 400, engine::never}, pauses[] = {0, 10, 100},
                           spins[] = {0, 50, 2000}, sections[] = {0, 1, 3, engine::never},
                           slices[] = {2, 3, 10};
    static constexpr uint64_t slots[] = {1, 2, 4096};
    ol_tuning &t = r.tuning;

    t.tau = any_of(spans);
    t.stale = any_of(spans);
    t.spin = any_of(spins);
    t.near_spin = t.spin * world_.draw(3);
    t.backoff = any_of(pauses);
    t.long_term = 1 + (world_.draw(4) == 0);
    t.short_line = world_.draw(3);
    t.near = world_.draw(3);
    t.tx_retries = world_.draw(3);
    t.wait_slots = any_of(slots);
    t.steal = 1 + world_.draw(50);
    t.steal_first = world_.draw(4) != 0;
    t.barge = world_.draw(100);
    t.csd = any_of(sections);
    t.csd_learned = world_.draw(2);
    t.warning = any_of(sections);
    t.ratelimit = world_.draw(4) == 0;
    if (r.clock || world_.draw(3) == 0)
        r.clock = any_of(slices);
    if (world_.draw(4) == 0)
        r.capacity = {0, 0};
}

void Client::body(size_t me) {
    if (me >= present_ && (me < setting_.contexts || played_ != Scenario::handover_))
        return;
    world_.interrupts(me == 0); // one context with interrupts shows what they can do
    switch (played_) {
    case Scenario::any_:
    case Scenario::lock_:
    case Scenario::noid_:
        return lock_and_unlock();
    case Scenario::try_:
        return try_and_lock();
    case Scenario::timed_:
        return give_up();
    case Scenario::frees_:
        return free_at_last();
    case Scenario::reuse_:
        return reuse_at_last();
    case Scenario::handover_:
        return me < setting_.contexts ? hand_over() : unlock_for_others();
    case Scenario::chain_:
        return chain();
    case Scenario::irq_:
        return share_with_interrupts(me);
    case Scenario::nmi_:
        return lock_and_unlock();
    case Scenario::holder_:
        return stop_holding(me);
    case Scenario::waiter_:
        return stop_acquiring(me);
    case Scenario::fork_:
        return fork(me);
    case Scenario::order_:
        return acquire_often(me);
    case Scenario::leave_:
        return leave_or_stay(me);
    case Scenario::wait_:
        return use_condition(me);
    case Scenario::count_:
        return use_semaphore(me);
    case Scenario::count:
        break;
    }
}

// When all are done.

void Client::finish() {
    bool stopped = false;

    for (size_t i = 0; i < setting_.contexts; i++)
        stopped |= world_.is_off(i);
    if (stopped && !forked_) {
        bool all = true;
        for (size_t i = 0; i < setting_.contexts; i++)
            all &= world_.is_done(i) || world_.is_off(i);
        if (!all && is_held_by_waiter())
            return;
        (all ? notes_.went_on : notes_.stuck)++;
        for (size_t i = 0; i < setting_.contexts; i++)
            if (!world_.is_off(i) && !world_.is_done(i))
                (strcmp(world_.doing(i), "parks") == 0 ? notes_.parked : notes_.spin)++;
        return;
    }
    for (size_t i = 0; i < setting_.contexts; i++)
        if (!world_.is_done(i) && is_owed_nothing())
            return;
    for (Lock &l : locks_) {
        if (!l.at || !l.acquired)
            continue;
        if (!forked_ && *l.datum != l.acquired)
            world_.fail(Wrong::lost_update,
                        std::to_string(l.acquired) + " additions left " + std::to_string(*l.datum));
        if (played_ != Scenario::frees_)
            idle_lock_works(l);
    }
    if (is_fifo() && setting_.scenario != Scenario::noid_ &&
        setting_.scenario != Scenario::timed_ && !is_drawn(setting_.scenario))
        first_come_first_served();
    judge_claim();
}

void Client::judge_claim() {
    Circumstances was{setting_.contexts, 0, world_.tuning().csd};

    if (is_measured())
        notes_.passed.add(turns_);
    for (size_t i = 0; i < setting_.contexts; i++)
        was.timeouts += world_.counted(i, OL_TIMEOUT);
    for (const Claimed &c : setting_.claimed) {
        std::string how = breach(c, turns_, was);
        if (!how.empty())
            world_.fail(Wrong::out_of_order, how);
    }
}

// How often a waiter was passed is asked for.
bool Client::is_measured() const {
    return !setting_.claimed.empty() || (setting_.foreign && setting_.scenario == Scenario::order_);
}

// Always, or with this tuning: a preemptable ticket lock whose patience is endless.
bool Client::is_fifo() const {
    return ops_.traits & OL_FIFO || (unit_ && world_.tuning().tau == engine::never);
}

// Nobody can go on: fine if somebody stopped for ever, but not if it only waited in a lock whose
// waiters may pass it. One in a line of nodes may have the lock, and the line still to mend.
bool Client::may_stick() {
    const bool endless = ops_.traits & OL_PATIENT && world_.tuning().tau == engine::never;
    const bool leaves_reader = ops_.traits & OL_ELIDES && world_.has_transactions();
    bool stopped = false;

    if (is_owed_nothing())
        return true;

    for (size_t i = 0; i < setting_.contexts; i++)
        stopped |= world_.is_off(i);
    return stopped && !forked_ &&
           (setting_.scenario != Scenario::waiter_ || setting_.foreign || is_fifo() || endless ||
            leaves_reader || is_held_by_waiter() || ops_.traits & (OL_LATE_FIFO | OL_NEEDS_NODES));
}

// The context that stopped as it acquired has the lock already. A lock that elides notes its holder
// after the acquiring step, and without transactions it is locked only while somebody is inside.
bool Client::is_held_by_waiter() {
    return setting_.scenario == Scenario::waiter_ && ops_.traits & OL_ELIDES &&
           !world_.has_transactions() &&
           world_.from_outside([this] { return ops_.is_locked(locks_[0].at); });
}

// From outside, with nobody else there: waiting is a failure now.
void Client::idle_lock_works(Lock &l) {
    if (ops_.is_locked && (ops_.is_locked(l.at) || ops_.is_contended(l.at)))
        world_.fail(Wrong::lies, "the idle lock is reported as locked or contended");
    if (ops_.trylock) {
        if (!ops_.trylock(l.at))
            world_.fail(Wrong::unusable, "trylock fails on the idle lock");
        if ((ops_.is_locked && !ops_.is_locked(l.at)) || ops_.trylock(l.at))
            world_.fail(Wrong::lies, "the held lock is reported as free, or is taken twice");
        ops_.unlock(l.at);
    }
    ops_.lock(l.at);
    ops_.unlock(l.at);
}

// Whoever was in line before another began to acquire is served before it.
void Client::first_come_first_served() {
    for (size_t late = 0; late < turns_.size(); late++)
        for (size_t early = 0; early < late; early++)
            if (size_t in_line = turns_[late].arrival.in_line, first = turns_[early].arrival.first;
                turns_[late].queued && turns_[early].queued && in_line && in_line < first)
                world_.fail(Wrong::out_of_order,
                            "acquisition " + std::to_string(late + 1) + " was queued at step " +
                                std::to_string(in_line) + ", before acquisition " +
                                std::to_string(early + 1) + " began at step " +
                                std::to_string(first));
}

// In the contexts. What they decide by is protected by the lock, or their own: the search knows of
// nothing else that they share.

// In a transaction it may never have happened.
template <class T> void Client::add(T &n, int d) {
    n += static_cast<T>(d);
    world_.if_aborted([&n, d] { n -= static_cast<T>(d); });
}

void Client::acquire(Lock &l) {
    if (is_drawn(setting_.scenario) && acquire_otherwise(l))
        return;
    add(l.busy, 1); // until it has released
    add(l.begun, 1);
    world_.arrive();
    ops_.lock(l.at);
    took(l, true);
}

void Client::give(Lock &l, size_t owner) {
    world_.if_aborted([&l, before = l.owner] { l.owner = before; });
    l.owner = owner;
}

// What cannot be taken back is not done in a transaction.
void Client::be_certain() {
    if (ol_htm_active())
        ol_htm_abort();
}

bool Client::try_once(Lock &l) {
    bool alone = l.busy == 0 && world_.buffers_are_empty() && world_.model() != Model::c11;
    add(l.begun, 1);
    uint64_t begun = l.begun;

    add(l.busy, 1);
    world_.begin_try();
    bool got = ops_.trylock(l.at);
    world_.end_try();
    add(l.busy, -1);
    if (!got && alone && l.begun == begun)
        world_.fail(Wrong::try_fails, "no other context held it or waited for it meanwhile");
    return got;
}

// By trylock or with a deadline, if that is drawn and succeeds.
bool Client::acquire_otherwise(Lock &l) {
    static constexpr Ticks taus[] = {0, 50, 400}; // not inf: see ol_set_tunable()
    static constexpr Ticks patience[] = {0, 1, usual_patience, engine::never};
    unsigned how = world_.draw(8);

    if (retunes_ && world_.draw(2)) {
        world_.rules().tuning.tau = any_of(taus);
        setting_.tuned(world_.rules().tuning);
    }
    for (unsigned tries = how < 2 ? 1 + world_.draw(3) : 0; tries; tries--) {
        if (try_to_take(l))
            return true;
        ol_relax();
    }
    for (unsigned tries = how < 5 && ops_.timedlock ? 1 + world_.draw(2) : 0; tries; tries--)
        if (acquire_in_time(l, any_of(patience)))
            return true;
    return false;
}

bool Client::try_to_take(Lock &l) {
    if (!try_once(l))
        return false;
    add(l.busy, 1);
    add(l.begun, 1);
    took(l, false);
    return true;
}

bool Client::acquire_in_time(Lock &l, Ticks patience) {
    Ticks until = ol_after(1, patience);

    add(l.busy, 1);
    add(l.begun, 1);
    world_.arrive();
    // With three others about, mcs_tp's new holder may still wait for its successor's link.
    bool links_late = ops_.traits & OL_PATIENT && ops_.traits & OL_NEEDS_NODES;
    world_.begin_timed(until, !is_drawn(setting_.scenario) || !links_late);
    bool got = ops_.timedlock(l.at, until);
    if (!world_.end_timed() && !got)
        world_.fail(Wrong::lies, "timedlock times out before its deadline");
    if (got)
        took(l, false);
    else
        add(l.busy, -1);
    return got;
}

void Client::took(Lock &l, bool in_line) {
    size_t me = world_.running();

    if (l.owner != nobody)
        world_.fail(Wrong::exclusion, "T" + std::to_string(me + 1) + " entered while T" +
                                          std::to_string(l.owner + 1) + " was inside");
    if (l.readers)
        world_.fail(Wrong::exclusion, "T" + std::to_string(me + 1) + " entered while " +
                                          std::to_string(l.readers) + " readers were inside");
    if (ol_htm_active()) { // others may be here too: memory keeps them apart
        add(l.elided, 1);
    } else {
        if (l.elided)
            world_.fail(Wrong::exclusion, "T" + std::to_string(me + 1) + " entered while " +
                                              std::to_string(l.elided) +
                                              " transactions were inside");
        l.owner = me;
    }
    world_.once_certain([this, &l, turn = turn(in_line)] {
        l.acquired++;
        if (&l == &locks_[0])
            turns_.push_back(turn);
    });
    world_.mark("holds");
}

Turn Client::turn(bool in_line) const {
    return {world_.running(), world_.step(), world_.arrival(), in_line};
}

// What the lock protects, after its use.
uint64_t Client::use(Lock &l) {
    uint64_t v = world_.plain_read(l.datum, HERE);
    uint64_t added = l.acquired - (l.owner == world_.running()); // by others

    if (v != added && !forked_)
        world_.fail(Wrong::lost_update, "the holder reads " + std::to_string(v) + " after " +
                                            std::to_string(added) + " additions");
    world_.plain_write(l.datum, v + 1, HERE);
    if (is_drawn(setting_.scenario) && world_.draw(4) == 0)
        inspect(l);
    return v + 1;
}

// What its holder can see of it.
void Client::inspect(Lock &l) {
    if (ops_.is_locked && !ops_.is_locked(l.at))
        world_.fail(Wrong::lies, "is_locked is false for the holder");
    if (try_once(l))
        world_.fail(Wrong::exclusion, "trylock succeeds while the lock is held");
    if (ops_.traits & OL_ELIDES && ol_self()) { // the same lock nests
        ops_.lock(l.at);
        ops_.unlock(l.at);
    }
    bool alone = l.busy == 1;
    uint64_t begun = l.begun;
    if (ops_.is_contended && ops_.is_contended(l.at) && alone && l.begun == begun)
        world_.fail(Wrong::lies, "is_contended is true although no other context waits");
}

void Client::release(Lock &l) {
    if (l.owner == nobody && ol_htm_active()) // it is over when the transaction is
        world_.once_certain([&l] { l.elided--; });
    else
        give(l, nobody);
    ops_.unlock(l.at);
    world_.once_certain([this, &l] { left(l); });
    world_.mark("released");
}

void Client::lock_and_unlock() {
    for (unsigned i = 0; i < rounds_; i++)
        reads(world_.running()) ? look_shared() : once();
}

// The last context is the one that others may pass.
void Client::acquire_often(size_t me) {
    for (unsigned i = 0; i < (me ? 1 : setting_.acquisitions); i++)
        reads(me) ? look_shared() : once();
}

void Client::leave_or_stay(size_t me) {
    Lock &l = locks_[0];

    if (me == 0 || me + 1 == setting_.contexts)
        return acquire_often(me);
    for (unsigned i = 0; i < setting_.acquisitions; i++)
        if (acquire_in_time(l, usual_patience)) {
            use(l);
            release(l);
        }
}

void Client::once() {
    acquire(locks_[0]);
    use(locks_[0]);
    release(locks_[0]);
}

bool Client::reads(size_t me) const {
    return setting_.shared && me < setting_.roles.size() && setting_.roles[me] == 'r';
}

void Client::look_shared() {
    Lock &l = locks_[0];

    l.busy++;
    world_.arrive();
    setting_.shared->lock(l.at);
    if (l.owner != nobody)
        world_.fail(Wrong::exclusion,
                    "a reader entered while T" + std::to_string(l.owner + 1) + " was inside");
    l.readers++;
    turns_.push_back(turn(true));
    world_.mark("reads");
    uint64_t v = world_.plain_read(l.datum, HERE);
    if (v != l.acquired)
        world_.fail(Wrong::lost_update, "a reader sees " + std::to_string(v) + " after " +
                                            std::to_string(l.acquired) + " additions");
    l.readers--;
    setting_.shared->unlock(l.at);
    left(l);
    world_.mark("released");
}

void Client::try_and_lock() {
    Lock &l = locks_[0];

    for (unsigned i = 0; i < setting_.acquisitions; i++) {
        if (!try_to_take(l))
            acquire(l);
        use(l);
        inspect(l);
        release(l);
    }
}

// Every other context has no deadline, so that somebody stays when all others leave.
void Client::give_up() {
    Lock &l = locks_[0];

    for (unsigned i = 0; i < setting_.acquisitions; i++) {
        if (world_.running() % 2 == 0)
            acquire(l);
        else if (!acquire_in_time(l, usual_patience))
            continue;
        use(l);
        release(l);
    }
}

void Client::free_at_last() {
    Lock &l = locks_[0];

    for (unsigned i = 0; i < rounds_; i++) {
        acquire(l);
        bool last = use(l) == present_ * rounds_;
        release(l);
        if (last)
            world_.free(l.at, HERE);
    }
}

void Client::reuse_at_last() {
    Lock &l = locks_[0];

    for (unsigned i = 0; i < setting_.acquisitions; i++) {
        acquire(l);
        bool last = use(l) == setting_.contexts * setting_.acquisitions;
        release(l);
        if (last) {
            world_.renew(l.at, HERE);
            ol_store_release(mailbox_, 1u);
        }
    }
    while (!ol_load_acquire(mailbox_))
        ol_relax();
    acquire(l);
    use(l);
    release(l);
}

void Client::hand_over() {
    Lock &l = locks_[0];

    for (unsigned i = 0; i < rounds_; i++) {
        acquire(l);
        use(l);
        l.owner = nobody - 1;
        ol_add_release(mailbox_, 1u);
    }
}

void Client::unlock_for_others() {
    Lock &l = locks_[0];

    for (unsigned done = 0; done < present_ * rounds_; done++) {
        while (ol_load_acquire(mailbox_) == done)
            ol_relax();
        release(l);
    }
}

void Client::chain() {
    for (unsigned i = 0; i < rounds_; i++) {
        acquire(locks_[0]);
        use(locks_[0]);
        acquire(locks_[1]);
        release(locks_[0]);
        use(locks_[1]);
        release(locks_[1]);
    }
}

// The second lock is also taken by interrupts, so nobody else takes it with interrupts on.
void Client::share_with_interrupts(size_t me) {
    lock_and_unlock();
    if (me == 0)
        return;
    acquire(locks_[1]);
    use(locks_[1]);
    release(locks_[1]);
}

void Client::interrupted(Budget kind) {
    if (kind == Budget::irq) {
        acquire(locks_[1]);
        use(locks_[1]);
        release(locks_[1]);
    } else if (try_to_take(locks_[0])) {
        use(locks_[0]);
        release(locks_[0]);
    }
}

void Client::stop_holding(size_t me) {
    if (me % 2 && ops_.timedlock)
        return give_up();
    if (me > 0)
        return lock_and_unlock();
    acquire(locks_[0]);
    use(locks_[0]);
    be_certain(); // one that is preempted is aborted
    world_.stop();
}

void Client::stop_acquiring(size_t me) {
    Lock &l = locks_[0];

    if (me > 0)
        return lock_and_unlock();
    world_.may_stop(true);
    l.busy++;
    l.begun++;
    world_.arrive();
    ops_.lock(l.at);
    world_.if_aborted([this] { world_.may_stop(true); });
    world_.may_stop(false);
    took(l, true);
    use(l);
    release(l);
}

// The child of a process that forked with the lock held: its threads are gone, and an unlock there
// makes the lock a new one, as the interposer does.
void Client::fork(size_t me) {
    Lock &l = locks_[0];

    if (me > 0)
        return lock_and_unlock();
    acquire(l);
    be_certain();
    world_.stop_others();
    forked_ = true;
    world_.renew(l.at, HERE);
    l.owner = nobody;
    for (unsigned i = 0; i < setting_.acquisitions; i++) {
        acquire(l);
        use(l);
        release(l);
    }
}

// Others may have been served since: its own is the last of its turns.
void Client::left(Lock &l) {
    auto is_mine = [this](const Turn &t) { return t.context == world_.running(); };
    auto mine = std::find_if(turns_.rbegin(), turns_.rend(), is_mine);

    l.busy--;
    if (&l == &locks_[0] && mine != turns_.rend())
        mine->released = world_.step();
}

} // namespace ol::check
