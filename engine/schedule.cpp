// SPDX-License-Identifier: MIT
#include "schedule.h"

#include <algorithm>
#include <stdexcept>

namespace ol::engine {

// Powers of ten and a never: rare and frequent, short and long each get their share of the seeds.
Seeded::Seeded(uint64_t seed, size_t contexts) : random_(seed), away_until_(contexts, 0) {
    static constexpr uint32_t strides[] = {1, 1, 2, 4, 8, 32};
    static constexpr uint32_t absences[] = {0, 4, 8, 32};
    static constexpr uint32_t rudeness[] = {0, 0, 4, 16};
    static constexpr Ticks paces[] = {1, 10, 100, 1000};
    static constexpr uint64_t calm[] = {100, 300, 1000};
    static constexpr uint32_t aborts[] = {0, 0, 32, 8, 1};

    stride_ = random_.of(strides);
    absences_ = random_.of(absences);
    rudeness_ = random_.of(rudeness);
    pace_ = random_.of(paces);
    calm_from_ = random_.of(calm);
    aborts_ = Random(~seed).of(aborts); // apart, so that the other draws of a seed stay
}

size_t Seeded::somebody(std::span<const size_t> ready, uint64_t step) {
    size_t who = ready[random_.below(static_cast<uint32_t>(ready.size()))];

    if (away_until_[who] <= step)
        return who;
    for (size_t other : ready)
        if (away_until_[other] <= step)
            return other;
    away_until_[who] = 0; // nobody else is left: it comes back
    return who;
}

Turn Seeded::next(std::span<const size_t> ready, uint64_t step) {
    static constexpr uint32_t lengths[] = {10, 100, 100000};

    if (step >= calm_from_) {
        calm_ = true;
        auto after = std::find_if(ready.begin(), ready.end(), [&](size_t c) { return c > last_; });
        last_ = after == ready.end() ? ready.front() : *after;
        return {last_, 4, false, 10};
    }
    if (absences_ && random_.one_in(absences_) && away_until_[last_] <= step)
        away_until_[last_] = step + random_.of(lengths); // off its CPU, wherever it was
    last_ = somebody(ready, step);
    return {last_, 1 + random_.below(2 * stride_ - 1), false, random_.below(uint32_t(2 * pace_))};
}

bool Seeded::doubt(Doubt what) {
    if (calm_)
        return what == Doubt::kick_arrives;
    switch (what) {
    case Doubt::relax_returns:
    case Doubt::park_returns:
        return rudeness_ && random_.one_in(rudeness_);
    case Doubt::park_expires:
        return random_.one_in(4);
    case Doubt::kick_is_late:
    case Doubt::kick_arrives:
    case Doubt::kick_lingers:
        return random_.one_in(2);
    case Doubt::transaction_aborts:
        return aborts_ && random_.one_in(aborts_);
    }
    return false;
}

bool Scripted::ended() const {
    return text_.find_first_not_of(' ', at_) == std::string::npos;
}

Turn Scripted::next(std::span<const size_t> ready, uint64_t) {
    if (!ended()) {
        size_t begin = text_.find_first_not_of(' ', at_);
        at_ = std::min(text_.find(' ', begin), text_.size());
        std::string token = text_.substr(begin, at_ - begin);
        if (token[0] == '+')
            return {last_, 0, false, std::stoull(token.substr(1))};
        size_t digits = 0, who = std::stoul(token, &digits) - 1;
        char kind = token.at(digits);
        if (std::find(ready.begin(), ready.end(), who) == ready.end())
            throw std::runtime_error("script: " + token + ": that context cannot run now");
        last_ = who;
        if (kind == '.')
            return {who, 1, false, 0};
        if (kind == '*')
            return {who, static_cast<uint32_t>(std::stoul(token.substr(digits + 1))), false, 0};
        if (kind == 'm' || kind == 'w')
            return {who, Turn::until_it_stops, kind == 'm', 0};
        throw std::runtime_error("script: " + token + ": expected N., N*STEPS, Nm, Nw or +TICKS");
    }
    auto after = std::find_if(ready.begin(), ready.end(), [&](size_t c) { return c > last_; });
    last_ = after == ready.end() ? ready.front() : *after;
    return {last_, 1, false, 0};
}

} // namespace ol::engine
