// SPDX-License-Identifier: MIT
#include "task.h"

#include "guest.h"
#include "simulation.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace ol::simulator {

Time Lengths::least(size_t bucket) {
    Time log = bucket / parts, part = bucket % parts;

    return log >= 3 ? ((parts + part) << (log - 3)) * ns : (Time(1) << log) * ns;
}

Task::Task(Simulation &simulation, Guest &guest, Level &level, Group &group, uint32_t index)
    : Entity(level, group),
      guest(guest),
      index(index),
      id(index + 1),
      coroutine(simulation.outside(), index),
      step([this] { simulation_.resume(*this); }, this),
      alarm([this] { simulation_.unpark(*this); }),
      simulation_(simulation) {}

void Task::start(Time delay) {
    Time now = level.events.now();

    settle();
    spins_from = in_order = now + delay;
    core_ = static_cast<int>(simulation_.machine().core_of(cpu->physical()));
    if (was_preempted_)
        runs_again();
    if (doing == Doing::polls) {
        polls(true);
        looks = true;
    }
    level.events.set(step, now + delay + (doing == Doing::polls ? poll_period : left));
}

// By the host, which takes that long. A waiter looks at its words when it goes on.
void Task::interrupt(Time time) {
    Time now = level.events.now();

    counts.exits++;
    simulation_.interrupted(*this);
    spins_from = now + time;
    if (doing == Doing::polls) {
        looks = true;
        level.events.set(step, std::max(step.is_set() ? step.at() : 0, now + time));
    } else if (step.is_set()) {
        level.events.set(step, step.at() + time);
    }
}

Entity *Task::on_host() {
    return guest.level ? static_cast<VirtualCpu *>(cpu) : static_cast<Entity *>(this);
}

// The holder, or, if nobody holds the lock, the one that has waited longest.
Entity *Task::waits_on() {
    if (!waits_for)
        return nullptr;
    Task *other = waits_for->holder;
    for (auto &t : guest.tasks)
        if (!waits_for->holder && t->waits_for == waits_for &&
            (!other || t->wait_from < other->wait_from))
            other = t.get();
    return other->on_cpu() ? nullptr : other->on_host();
}

void Task::stop() {
    Time now = level.events.now();

    if (doing == Doing::polls)
        polls(false);
    else if (step.is_set())
        left = step.at() - now;
    level.events.cancel(step);
    settle();
    core_ = -1;
    lost.all++;
    if (doing != Doing::parked && !gives_up)
        preempted();
    simulation_.interrupted(*this);
}

void Task::preempted() {
    lost.to_others++;
    counts.preempted_inside += holds > 0;
    counts.preempted_waiting += waiting;
    counts.preempted_queued += queue_lost.has_value();
    if (waiting && !was_preempted_) {
        was_preempted_ = true;
        waits_for->waiters_preempted++;
    }
}

void Task::runs_again() {
    was_preempted_ = false;
    runs_again_ = true;
    rivals = waits_for->waiters_preempted--;
    runs_again_at = waits_for->acquisitions;
}

// By the last word that it changed, which it may have lost its CPU after.
void Task::takes_ticket() {
    if (!waiting || queue_lost)
        return;
    queue_lost = changed_lost;
    counts.preempted_queued += lost.to_others - changed_lost.to_others;
}

// Whoever waits for it, waited until now for one that ran, or did not.
void Task::settle() {
    for (workload_lock *l : held)
        simulation_.settle(*l);
}

void Task::polls(bool begins) {
    for (unsigned i = 0; i < watched; i++)
        if (watches[i].look.writes())
            simulation_.lines().hammer(watches[i].line, begins ? 1 : -1, poll_period);
        else
            simulation_.lines().poll(watches[i].line, begins ? 1 : -1);
}

} // namespace ol::simulator
