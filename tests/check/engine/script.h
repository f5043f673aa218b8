// SPDX-License-Identifier: MIT
#ifndef OL_TESTS_SIM_SCRIPT_H
#define OL_TESTS_SIM_SCRIPT_H
// A schedule written down, for the checker's world: tokens apart by spaces, contexts counted
// from 1.
//      2*30    thirty steps of context 2     2m      up to its next mark
//      2w      until it waits or ends        2t      the deadline that it waits for passes
//      !       what the script's owner changes in the midst of an execution
#include <check/world.h>

#include <algorithm>
#include <functional>
#include <stdexcept>
#include <string>

namespace ol::test {

using check::bit;
using check::Mask;

// When the text ends the execution is cut, for a test to look at what it left; or another search
// goes on.
class Script final : public check::Search {
public:
    Script(check::World &world, std::string text, const std::vector<unsigned> &marks)
        : world_(world), text_(std::move(text)), marks_(marks) {}
    void then(check::Search *rest) { rest_ = rest; }
    void on_change(std::function<void()> change) { change_ = std::move(change); }

    void begin(size_t processes) override {
        at_ = left_ = 0;
        passed_ = 0;
        kind_ = 0;
        if (rest_)
            rest_->begin(processes);
    }
    int pick(Mask enabled, int current, bool forced) override {
        while (is_over(enabled, forced))
            if (!read())
                return rest_ ? rest_->pick(enabled, current, forced) : none;
        if (!((enabled | passed_) & bit(who_)))
            throw std::runtime_error("script: " + token_ + ": that context cannot run now");
        passed_ = 0;
        left_--;
        return static_cast<int>(who_);
    }
    unsigned choose(unsigned n) override { return rest_ && ended() ? rest_->choose(n) : 0; }
    unsigned draw(unsigned n) override { return rest_ && ended() ? rest_->draw(n) : 0; }
    void did(const check::Footprint &, int, bool) override {}
    bool next() override { return false; }
    bool is_random() const override { return true; }
    check::Path path() const override { return {}; }

private:
    bool ended() const { return !kind_ && text_.find_first_not_of(' ', at_) == std::string::npos; }

    // The token that is being played.
    bool is_over(Mask enabled, bool forced) {
        bool over = !kind_ || (kind_ == '*' && !left_) ||
                    (kind_ == 'm' && marks_[who_] != marks_before_) ||
                    (kind_ == 'w' && (forced || !((enabled | passed_) & bit(who_))));
        if (over)
            kind_ = 0;
        return over;
    }

    bool read() {
        size_t first = text_.find_first_not_of(' ', at_), digits = 0;

        if (first == std::string::npos)
            return false;
        at_ = std::min(text_.find(' ', first), text_.size());
        token_ = text_.substr(first, at_ - first);
        if (token_ == "!") {
            change_();
            return true;
        }
        who_ = std::stoul(token_, &digits) - 1;
        kind_ = token_.at(digits);
        left_ = kind_ == '*' ? std::stoul(token_.substr(digits + 1)) : SIZE_MAX;
        marks_before_ = marks_.at(who_);
        if (kind_ == 't') {
            world_.let_pass(who_);
            passed_ = bit(who_);
            kind_ = 0;
        } else if (kind_ != '*' && kind_ != 'm' && kind_ != 'w') {
            throw std::runtime_error("script: " + token_ + ": expected N*STEPS, Nm, Nw, Nt or !");
        }
        return true;
    }

    check::World &world_;
    const std::string text_;
    const std::vector<unsigned> &marks_; // how many each context has made
    check::Search *rest_ = nullptr;
    std::function<void()> change_ = [] {};
    std::string token_;
    size_t at_ = 0, who_ = 0, left_ = 0;
    unsigned marks_before_ = 0;
    char kind_ = 0;
    Mask passed_ = 0; // woken by the script: the world has not noticed yet
};

// All that are left, in turn, to their ends.
class InTurn final : public check::Search {
public:
    void begin(size_t) override { last_ = 0; }
    int pick(Mask enabled, int, bool) override {
        Mask later = enabled & ~((bit(last_) << 1) - 1);
        last_ = static_cast<size_t>(__builtin_ctzll(later ? later : enabled));
        return static_cast<int>(last_);
    }
    unsigned choose(unsigned) override { return 0; }
    void did(const check::Footprint &, int, bool) override {}
    bool next() override { return false; }
    check::Path path() const override { return {}; }

private:
    size_t last_ = 0;
};

} // namespace ol::test
#endif
