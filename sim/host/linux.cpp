// SPDX-License-Identifier: MIT
#include "linux.h"

#include <algorithm>
#include <bit>
#include <tuple>

namespace ol::simulator {

Linux::Linux(Level &level, Time tick, Time balance, bool groups)
    : level_(level),
      factor_(static_cast<int64_t>(std::bit_width(std::min<size_t>(level.cpus.size(), 8)))),
      tick_(std::max<Time>(tick, 1)),
      balance_every_(std::max<uint64_t>(1, balance * level.cpus.size() / tick_)),
      groups_(groups),
      queues_(level.cpus.size()),
      ticker_([this] { this->tick(); }) {}

Linux::~Linux() {
    level_.events.cancel(ticker_);
}

void Linux::begin() {
    level_.events.set(ticker_, tick_);
}

// A group's share is divided among those of it that can run.
int64_t Linux::weight(const Entity &e) const {
    if (!groups_)
        return e.weight;
    return std::max<int64_t>(2, e.group.weight / std::max(1U, e.group.runnable));
}

int64_t Linux::virtually(Time time, const Entity &e) const {
    return static_cast<int64_t>(time) * usual_weight / weight(e);
}

// All CPUs have their ticks at the same times, each a little late.
Time Linux::until_tick(const Cpu &c, Time least) const {
    Time now = level_.events.now(), at = now + std::max<Time>(least, 1);
    Time number = (at + tick_ - 1) / tick_;
    Time late = level_.part_of(level_.tick_jitter, number * level_.cpus.size() + c.number);

    return number * tick_ + late - now;
}

// Where it queues.

size_t Linux::load(const Cpu &c) const {
    return queue(c).waiting.size() + !c.is_idle();
}

// Of the core or socket of so many CPUs.
size_t Linux::load_around(const Cpu &c, size_t together) const {
    size_t first = c.number / together * together, all = 0;

    for (size_t i = first; i < std::min(first + together, level_.cpus.size()); i++)
        all += load(*level_.cpus[i]);
    return all;
}

// For a new one: Linux begins with the socket that has the least to do, and looks for a core there.
bool Linux::is_better(const Cpu &a, const Cpu &b) const {
    size_t socket = std::min<size_t>(level_.cpus_per_socket, level_.cpus.size());
    auto rank = [&](const Cpu &c) {
        return std::tuple(load(c), load_around(c, socket), load_around(c, level_.cpus_per_core));
    };

    return rank(a) < rank(b);
}

// Linux looks for an idle CPU where caches are shared, from the next one on.
Cpu *Linux::idle_near(const Entity &e, const Cpu &c) const {
    size_t n = level_.cpus.size();

    for (size_t i = 0; i < n; i++) {
        Cpu *other = level_.cpus[(c.number + i) % n];
        if (level_.socket_of(*other) == level_.socket_of(c) && load(*other) == 0 &&
            e.may_run_on(*other))
            return other;
    }
    return nullptr;
}

Cpu &Linux::place(Entity &e, Why why) {
    bool stays = e.last && e.may_run_on(*e.last);

    if (why != Why::woke && e.last)
        return *e.last;
    if (e.last)
        if (Cpu *idle = idle_near(e, *e.last))
            return *idle;
    if (stays)
        return *e.last;
    Cpu *best = nullptr;
    for (Cpu *c : level_.cpus)
        if (e.may_run_on(*c) && (!best || is_better(*c, *best)))
            best = c;
    return *best;
}

// Virtual times are relative to those of the queue.
void Linux::rebase(Entity &e, Cpu &c) {
    if (e.home && e.home != &c)
        e.virtual_time += queue(c).least - queue(*e.home).least;
    e.home = &c;
}

void Linux::insert(Queue &q, Entity &e) {
    auto before = [](const Entity *a, const Entity *b) {
        return a->virtual_time < b->virtual_time;
    };
    q.waiting.insert(std::upper_bound(q.waiting.begin(), q.waiting.end(), &e, before), &e);
}

void Linux::put(Entity &e, Cpu &c, Why why) {
    Queue &q = queue(c);

    rebase(e, c);
    join(q, e, c, why);
    insert(q, e);
}

void Linux::remove(Entity &e) {
    Queue &q = queue(*e.home);

    std::erase(q.waiting, &e);
    if (q.next == &e)
        q.next = nullptr;
    if (q.skip == &e)
        q.skip = nullptr;
}

Entity *Linux::take(Cpu &c) {
    Queue &q = queue(c);

    if (q.waiting.empty() && !pull(c, false))
        return nullptr;
    Entity *e = pick(q, c);
    std::erase(q.waiting, e);
    q.next = q.skip = nullptr;
    q.request_ends = e->deadline;
    advance(q, *e);
    return e;
}

bool Linux::anyone_waits(const Cpu &c) const {
    return !queue(c).waiting.empty();
}

void Linux::advance(Queue &q, const Entity &e) {
    int64_t least = e.virtual_time;

    if (!q.waiting.empty())
        least = std::min(least, q.waiting.front()->virtual_time);
    q.least = std::max(q.least, least);
}

void Linux::ran(Entity &e, Time time) {
    rebase(e, *e.cpu);
    e.virtual_time += virtually(time, e);
    advance(queue(*e.cpu), e);
}

// Moving.

bool Linux::move_one(Cpu &from, Cpu &to) {
    auto &waiting = queue(from).waiting;
    auto last = std::find_if(waiting.rbegin(), waiting.rend(),
                             [&to](const Entity *e) { return e->may_run_on(to); });

    if (last == waiting.rend())
        return false;
    Entity &e = **last;
    remove(e);
    rebase(e, to);
    e.last = &to;
    insert(queue(to), e);
    level_.reslice(from);
    return true;
}

// One that may run there, from the longest queue that has such.
bool Linux::pull(Cpu &to, bool from_busy_only) {
    std::vector<bool> tried(queues_.size());

    tried[to.number] = true;
    for (;;) {
        Cpu *busiest = nullptr;
        for (Cpu *c : level_.cpus)
            if (!tried[c->number] && anyone_waits(*c) && !(from_busy_only && c->is_idle()) &&
                (!busiest || load(*c) > load(*busiest)))
                busiest = c;
        if (!busiest)
            return false;
        if (move_one(*busiest, to))
            return true;
        tried[busiest->number] = true;
    }
}

void Linux::tick() {
    level_.events.set(ticker_, level_.events.now() + tick_);
    for (Cpu *c : level_.cpus)
        if (c->is_idle()) {
            if (!anyone_waits(*c))
                pull(*c, true);
            level_.attend(*c);
        }
    if (++ticks_ % balance_every_ == 0)
        level_queues();
}

// A difference of two is levelled. One of one goes to and fro, as Linux does when it could level
// none the last time: so three run on two CPUs in turns.
void Linux::level_queues() {
    auto less = [this](const Cpu *a, const Cpu *b) { return load(*a) < load(*b); };
    auto [least, most] = std::minmax_element(level_.cpus.begin(), level_.cpus.end(), less);
    size_t difference = load(**most) - load(**least);

    if (difference >= 2 || (difference == 1 && load(**most) >= 2 && failed_)) {
        failed_ = !move_one(**most, **least);
        if (!failed_) {
            level_.attend(**least);
            level_.reslice(**least);
        }
    } else {
        failed_ = difference == 1;
    }
}

} // namespace ol::simulator
