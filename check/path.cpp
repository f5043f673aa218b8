// SPDX-License-Identifier: MIT
#include "path.h"

#include <charconv>
#include <stdexcept>

namespace ol::check {

namespace {

constexpr char letters[] = {0, 'b', 'k'};
constexpr unsigned longest = 1'000'000; // far above `Rules::longest`; `*` makes long from short

std::string told(std::vector<Alternative> choices) {
    while (!choices.empty() && choices.back() == 0)
        choices.pop_back();
    std::string s;
    for (Alternative c : choices)
        s += (s.empty() ? ":" : ",") + std::to_string(c);
    return s;
}

// Reads one token after another.
class Reader {
public:
    explicit Reader(const std::string &text)
        : begin_(text.data()), at_(begin_), end_(begin_ + text.size()) {}

    bool ended() const { return at_ == end_; }
    bool skip(char c) {
        if (ended() || *at_ != c)
            return false;
        at_++;
        return true;
    }
    unsigned number(unsigned most) {
        unsigned n = 0;
        auto [after, error] = std::from_chars(at_, end_, n);
        if (error != std::errc() || n > most)
            bad("expected a number up to " + std::to_string(most));
        at_ = after;
        return n;
    }
    std::vector<Alternative> choices() {
        std::vector<Alternative> all;
        if (skip(':'))
            do
                all.push_back(number(UINT32_MAX));
            while (skip(','));
        return all;
    }
    [[noreturn]] void bad(const std::string &why) const {
        throw std::invalid_argument("replay: " + why + " at character " +
                                    std::to_string(at_ - begin_ + 1));
    }

private:
    const char *const begin_, *at_, *const end_;
};

} // namespace

std::string name_of(Process who, size_t contexts) {
    std::string number = std::to_string(who % contexts + 1);
    char letter = letters[who / contexts];
    return letter ? letter + number : number;
}

std::string text_of(const Path &path, size_t contexts) {
    std::string all = told(path.first), last;
    size_t repeated = 0;
    auto flush = [&] {
        if (!repeated)
            return;
        all += (all.empty() ? "" : ".") + last;
        if (repeated > 1)
            all += "*" + std::to_string(repeated);
    };

    for (const Step &s : path.steps) {
        std::string token = name_of(s.who, contexts) + told(s.choices);
        if (token != last) {
            flush();
            last = token;
            repeated = 0;
        }
        repeated++;
    }
    flush();
    return all;
}

Path path_of(const std::string &text, size_t contexts) {
    Reader in(text);
    Path path;
    size_t length = 0;

    path.first = in.choices();
    if (!path.first.empty() && !in.ended() && !in.skip('.'))
        in.bad("expected a dot");
    while (!in.ended()) {
        size_t kind = in.skip('b') ? 1 : in.skip('k') ? 2 : 0;
        unsigned number = in.number(static_cast<unsigned>(contexts));
        if (number == 0)
            in.bad("contexts are counted from 1");
        Step s{static_cast<Process>(kind * contexts + number - 1), in.choices()};
        size_t times = in.skip('*') ? in.number(longest) : 1;
        if ((length += times * (1 + s.choices.size())) > longest)
            in.bad("expected at most " + std::to_string(longest) + " steps and choices");
        path.steps.insert(path.steps.end(), times, s);
        if (!in.ended() && !in.skip('.'))
            in.bad("expected a dot");
    }
    return path;
}

} // namespace ol::check
