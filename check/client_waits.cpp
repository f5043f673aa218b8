// SPDX-License-Identifier: MIT
// Programs for locks from outside that can be waited on: condition variables and semaphores.
#include "client.h"
#include "instrumented.h"

namespace ol::check {

namespace {

constexpr Place here(int line) {
    return {__FILE__, line};
}
#define HERE here(__LINE__)

} // namespace

char Client::role(size_t me, const char *usual) const {
    return me < setting_.roles.size() ? setting_.roles[me] : usual[me % 2];
}

// From outside. A semaphore that serves as a lock has one unit.
void Client::initialise(void *at) const {
    if (setting_.foreign->init)
        setting_.foreign->init(at);
    if (setting_.foreign->down && setting_.scenario != Scenario::count_)
        setting_.foreign->up(at);
}

// All others are done, and those left wait for units that no context was to add: no failure.
bool Client::is_owed_nothing() const {
    if (setting_.scenario != Scenario::wait_ && setting_.scenario != Scenario::count_)
        return false;
    for (size_t i = 0; i < setting_.contexts; i++)
        if (!world_.is_done(i) && !waits_[i])
            return false;
    return setting_.scenario == Scenario::wait_ ? *tokens_ == 0 : ups_ == downs_;
}

void Client::use_condition(size_t me) {
    char does = role(me, "ws");

    for (unsigned i = 0; i < rounds_; i++)
        does == 'w' ? take_token(locks_[0]) : add_tokens(locks_[0], does);
}

void Client::take_token(Lock &l) {
    uint64_t tokens;

    acquire(l);
    use(l);
    while (!(tokens = world_.plain_read(tokens_, HERE))) {
        give(l, nobody);
        waits_[world_.running()] = true;
        Foreign::call(setting_.foreign->wait, l.at);
        waits_[world_.running()] = false;
        took(l, false);
        use(l);
    }
    world_.plain_write(tokens_, tokens - 1, HERE);
    release(l);
}

void Client::add_tokens(Lock &l, char does) {
    bool one = does == 's' || does == 'S', inside = does == 's' || does == 'b';
    auto tell = [&] {
        Foreign::call(one ? setting_.foreign->signal : setting_.foreign->broadcast, l.at);
    };
    uint64_t waiters = 0;

    for (size_t i = 0; i < setting_.contexts; i++)
        waiters += role(i, "ws") == 'w';
    acquire(l);
    use(l);
    world_.plain_write(tokens_, world_.plain_read(tokens_, HERE) + (one ? 1 : waiters), HERE);
    if (inside)
        tell();
    release(l);
    if (!inside)
        tell();
}

void Client::use_semaphore(size_t me) {
    bool down = role(me, "du") == 'd';

    for (unsigned i = 0; i < rounds_; i++) {
        if (!down) {
            ups_begun_++;
            Foreign::call(setting_.foreign->up, locks_[0].at);
            ups_++;
            continue;
        }
        waits_[me] = true;
        Foreign::call(setting_.foreign->down, locks_[0].at);
        waits_[me] = false;
        if (++downs_ > ups_begun_)
            world_.fail(Wrong::exclusion, std::to_string(downs_) + " went down after " +
                                              std::to_string(ups_begun_) + " began to go up");
    }
}

} // namespace ol::check
