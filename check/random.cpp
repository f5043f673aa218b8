// SPDX-License-Identifier: MIT
#include "search.h"

#include <check/engine/random.h>

#include <algorithm>
#include <bit>
#include <string>

namespace ol::check {

namespace {

// A search that remembers what it answered.
class Recording : public Search {
public:
    void begin(size_t) override { path_ = {}; }
    void did(const Footprint &, int, bool) override {}
    bool is_random() const override { return true; }
    Path path() const override { return path_; }

protected:
    unsigned note(unsigned choice) {
        (path_.steps.empty() ? path_.first : path_.steps.back().choices).push_back(choice);
        return choice;
    }

    Path path_;
};

class Pct final : public Recording {
public:
    explicit Pct(uint64_t seed) : random_(seed) {}

    void begin(size_t processes) override {
        static constexpr uint32_t changes[] = {0, 1, 2, 3, 5, 8};
        static constexpr uint32_t rudeness[] = {2, 4, 16};

        Recording::begin(processes);
        longest_ = std::max(longest_, steps_);
        steps_ = 0;
        rudeness_ = random_.of(rudeness);
        priority_.resize(processes);
        for (size_t i = 0; i < processes; i++) { // a random order of the processes
            size_t k = random_.below(static_cast<uint32_t>(i + 1));
            priority_[i] = priority_[k];
            priority_[k] = static_cast<int>(i);
        }
        change_at_.clear();
        for (uint32_t i = random_.of(changes); i > 0; i--)
            change_at_.push_back(random_.below(longest_));
        lowest_ = 0;
    }

    int pick(Mask enabled, int, bool) override {
        size_t best = first_of(enabled);
        if (std::find(change_at_.begin(), change_at_.end(), steps_++) != change_at_.end()) {
            priority_[best] = --lowest_;
            best = first_of(enabled);
        }
        path_.steps.push_back({static_cast<Process>(best), {}});
        return static_cast<int>(best);
    }

    unsigned choose(unsigned n) override {
        if (n <= 1)
            return 0;
        return note(random_.one_in(rudeness_) ? random_.below(n) : 0);
    }

    unsigned draw(unsigned n) override { return n <= 1 ? 0 : note(random_.below(n)); }

    bool next() override { return true; }

private:
    size_t first_of(Mask enabled) const {
        size_t best = static_cast<size_t>(std::countr_zero(enabled));
        for (; enabled; enabled &= enabled - 1) {
            auto p = static_cast<size_t>(std::countr_zero(enabled));
            if (priority_[p] > priority_[best])
                best = p;
        }
        return best;
    }

    engine::Random random_;
    std::vector<int> priority_;
    std::vector<uint32_t> change_at_;
    uint32_t steps_ = 0, longest_ = 16, rudeness_ = 2;
    int lowest_ = 0;
};

// An adversary drawn from a seed: bursts, absences and adversary events, each at its own rate; then
// a fair scheduler without events, so that only the lock can still keep a context waiting.
// Execution n depends on seed + n alone.
class Walk final : public Recording {
public:
    explicit Walk(uint64_t seed) : seed_(seed) {}

    void begin(size_t processes) override {
        static constexpr uint32_t strides[] = {1, 1, 2, 4, 8, 32};
        static constexpr uint32_t absences[] = {0, 4, 8, 32};
        static constexpr uint32_t rudeness[] = {0, 2, 4, 16};
        static constexpr uint32_t calm[] = {100, 300, 1000};

        Recording::begin(processes);
        random_ = engine::Random(engine::Random(seed_++).next());
        stride_ = random_.of(strides);
        absences_ = random_.of(absences);
        rudeness_ = random_.of(rudeness);
        calm_from_ = random_.of(calm);
        away_until_.assign(processes, 0);
        step_ = left_ = 0;
        last_ = 0;
    }

    int pick(Mask enabled, int, bool) override {
        if (step_ >= calm_from_)
            last_ = after_last(enabled);
        else if (!left_ || !(enabled & bit(static_cast<Process>(last_))))
            start_burst(enabled);
        left_ -= left_ > 0;
        step_++;
        path_.steps.push_back({static_cast<Process>(last_), {}});
        return static_cast<int>(last_);
    }

    unsigned choose(unsigned n) override {
        if (n <= 1)
            return 0;
        bool adverse = step_ < calm_from_ && rudeness_ && random_.one_in(rudeness_);
        return note(adverse ? random_.below(n) : 0);
    }

    unsigned draw(unsigned n) override { return n <= 1 ? 0 : note(random_.below(n)); }

    bool next() override { return true; }

private:
    void start_burst(Mask enabled) {
        static constexpr uint32_t lengths[] = {10, 100, 100'000};

        if (absences_ && random_.one_in(absences_))
            away_until_[last_] = step_ + random_.of(lengths);
        Mask present = 0;
        for (Mask rest = enabled; rest; rest &= rest - 1) {
            auto p = static_cast<size_t>(std::countr_zero(rest));
            if (away_until_[p] <= step_)
                present |= bit(static_cast<Process>(p));
        }
        if (!present)
            present = enabled; // only absent processes can run: one of them returns
        for (uint32_t skip = random_.below(static_cast<uint32_t>(std::popcount(present))); skip;
             skip--)
            present &= present - 1;
        last_ = static_cast<size_t>(std::countr_zero(present));
        left_ = 1 + random_.below(2 * stride_ - 1);
    }

    size_t after_last(Mask enabled) const {
        Mask later = enabled & ~((bit(static_cast<Process>(last_)) << 1) - 1);
        return static_cast<size_t>(std::countr_zero(later ? later : enabled));
    }

    uint64_t seed_;
    engine::Random random_{0};
    std::vector<uint32_t> away_until_; // by process: the step at which it can be picked again
    uint32_t stride_ = 1, absences_ = 0, rudeness_ = 0, calm_from_ = 0, step_ = 0, left_ = 0;
    size_t last_ = 0;
};

// What does not fit ends it, and is told afterwards: it is asked from within the lock, whose code
// need not be able to unwind.
class Replay final : public Recording {
public:
    explicit Replay(Path given) : given_(std::move(given)) {}

    int pick(Mask enabled, int, bool) override {
        size_t at = path_.steps.size();
        cursor_ = 0;
        if (at == given_.steps.size() || !misfit_.empty())
            return none;
        Process who = given_.steps[at].who;
        if (!(enabled & bit(who))) {
            misfit_ = "step " + std::to_string(at + 1) + " cannot be made here";
            return none;
        }
        path_.steps.push_back({who, {}});
        return who;
    }

    unsigned choose(unsigned n) override {
        size_t at = path_.steps.size();
        const auto &here = at ? given_.steps[at - 1].choices : given_.first;
        if (n <= 1)
            return 0;
        unsigned choice = cursor_ < here.size() ? here[cursor_] : 0;
        cursor_++;
        if (choice >= n) {
            misfit_ = (at ? "step " + std::to_string(at) : "the start") + " has only " +
                      std::to_string(n) + " alternatives here";
            choice = 0;
        }
        return note(choice);
    }

    bool next() override { return false; }
    std::string misfit() const override { return misfit_; }

private:
    const Path given_;
    size_t cursor_ = 0;
    std::string misfit_;
};

} // namespace

std::unique_ptr<Search> make_pct(uint64_t seed) {
    return std::make_unique<Pct>(seed);
}

std::unique_ptr<Search> make_walk(uint64_t seed) {
    return std::make_unique<Walk>(seed);
}

std::unique_ptr<Search> make_replay(Path path) {
    return std::make_unique<Replay>(std::move(path));
}

} // namespace ol::check
