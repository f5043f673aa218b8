// SPDX-License-Identifier: MIT
// Reads a .litmus file: herd's C syntax, as far as README.md says. Each context becomes a closure
// that the world of the execution runs.
#include "litmus.h"

#include <engine/memory.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <sstream>
#include <stdexcept>

namespace ol::litmus {
namespace {

using engine::Op;
using engine::Order;
using Expr = std::function<uint64_t(Shared &, Reg)>;
using Code = std::function<void(Shared &, Reg)>;

// Contexts have small stacks, and the oracle's sets of events have 64 members.
constexpr size_t most_contexts = 8, most_accesses = 48, most_operators = 32, most_blocks = 8;

constexpr struct {
    const char *name;
    uint8_t width;
} types[] = {{"int", 4},           {"unsigned", 4},    {"uint8_t", 1},      {"uint16_t", 2},
             {"uint32_t", 4},      {"uint64_t", 8},    {"atomic_uchar", 1}, {"atomic_ushort", 2},
             {"atomic_ullong", 8}, {"atomic_uint", 4}, {"atomic_int", 4}};

constexpr struct {
    const char *name;
    Op op;
} calls[] = {{"atomic_load_explicit", Op::load},
             {"atomic_store_explicit", Op::store},
             {"atomic_exchange_explicit", Op::xchg},
             {"atomic_fetch_add_explicit", Op::add},
             {"atomic_fetch_or_explicit", Op::bit_or},
             {"atomic_fetch_and_explicit", Op::bit_and},
             {"atomic_compare_exchange_strong_explicit", Op::cas}};

constexpr struct {
    const char *name;
    Order order;
} orders[] = {{"memory_order_relaxed", Order::relaxed},
              {"memory_order_acquire", Order::acquire},
              {"memory_order_release", Order::release},
              {"memory_order_acq_rel", Order::acq_rel}};

using Number = uint64_t;
constexpr struct {
    const char *name;
    int binds; // as in C
    Number (*of)(Number, Number);
} operators[] = {
    {"||", 1, nullptr}, // the right side is not always computed
    {"&&", 2, nullptr},
    {"|", 3, [](Number a, Number b) { return a | b; }},
    {"&", 4, [](Number a, Number b) { return a & b; }},
    {"==", 5, [](Number a, Number b) { return Number{a == b}; }},
    {"!=", 5, [](Number a, Number b) { return Number{a != b}; }},
    {"<", 6, [](Number a, Number b) { return Number{a < b}; }},
    {"<=", 6, [](Number a, Number b) { return Number{a <= b}; }},
    {">", 6, [](Number a, Number b) { return Number{a > b}; }},
    {">=", 6, [](Number a, Number b) { return Number{a >= b}; }},
    {">>", 7, [](Number a, Number b) { return b < 64 ? a >> b : 0; }},
    {"+", 8, [](Number a, Number b) { return a + b; }},
    {"-", 8, [](Number a, Number b) { return a - b; }},
};

template <class List> auto find(List &list, const std::string &name) {
    auto at = std::ranges::find_if(list, [&](auto &e) { return name == e.name; });
    return at == std::end(list) ? nullptr : &*at;
}

uint64_t cut(uint64_t value, size_t width) {
    return width == 8 ? value : value & ((uint64_t{1} << 8 * width) - 1);
}

struct Token { // a word, a number, a "string", an operator; empty at the end
    std::string is;
    int line;
    bool is_word() const { return isalpha(is[0]) || is[0] == '_'; }
};

class Parser {
public:
    Parser(const std::string &text, const std::string &file) : text_(text), file_(file) {
        test_.has_verdicts = false;
    }
    Litmus parse();

private:
    struct Address {
        size_t variable;
        uint8_t offset, width;
    };

    [[noreturn]] void fail(const std::string &what, int line = 0) const;
    [[noreturn]] void expected(const std::string &what) const;
    void spend(size_t &left, const char *what) const;

    void advance();
    bool skip_blank();
    void verdicts(std::string comment);
    bool is(const char *s) const { return now_.is == s; }
    bool skip(const char *s);
    void need(const char *s);
    std::string word(const char *what);
    uint64_t number();
    uint8_t type();

    Expr expression(int binds = 0);
    Expr parenthesized();
    Expr operand();
    Expr call(Op op);
    Address address();
    Order order(Op op);
    size_t reg(const std::string &context, const std::string &name) const;
    size_t variable(const std::string &name) const;

    Code statement();
    Code simple_statement();
    Code assignment(size_t to);
    Code block();
    void context();
    void initial_values();
    std::string me() const { return std::to_string(test_.contexts.size()); }

    const std::string &text_, &file_;
    size_t at_ = 0;
    int line_ = 1;
    Token now_;
    Litmus test_;
    std::vector<std::pair<Token, uint64_t>> initial_;
    std::vector<std::string> parameters_; // of this context
    bool in_condition_ = false;
    size_t accesses_left_ = most_accesses, operators_left_ = 0, blocks_left_ = most_blocks;
};

void Parser::fail(const std::string &what, int line) const {
    std::string shown = what.substr(0, 120); // it quotes the file, which may hold anything

    std::ranges::replace_if(shown, [](char c) { return c < ' ' || c > '~'; }, '?');
    throw std::invalid_argument(file_ + ":" + std::to_string(line ? line : now_.line) + ": " +
                                shown);
}

void Parser::expected(const std::string &what) const {
    fail("expected " + what + ", got " + (now_.is.empty() ? "the end" : now_.is));
}

void Parser::spend(size_t &left, const char *what) const {
    if (left == 0)
        fail(std::string("expected at most ") + what);
    left--;
}

// Tokens.

bool Parser::skip_blank() {
    if (text_.compare(at_, 2, "(*") == 0) {
        size_t end = text_.find("*)", at_ + 2);
        if (end == std::string::npos)
            fail("this comment has no end", line_);
        std::string inside = text_.substr(at_ + 2, end - at_ - 2);
        verdicts(inside);
        line_ += static_cast<int>(std::ranges::count(inside, '\n'));
        at_ = end + 2;
    } else if (text_.compare(at_, 2, "//") == 0) {
        at_ = std::min(text_.find('\n', at_), text_.size());
    } else if (at_ < text_.size() && isspace(static_cast<unsigned char>(text_[at_]))) {
        line_ += text_[at_++] == '\n';
    } else {
        return false;
    }
    return true;
}

void Parser::advance() {
    static const std::string letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"
                                       "0123456789";
    while (skip_blank())
        ;
    now_ = {"", line_};
    if (at_ == text_.size())
        return;
    size_t end = std::min(text_.find_first_not_of(letters, at_), text_.size());
    if (text_[at_] == '"') {
        if ((end = text_.find('"', at_ + 1) + 1) == 0)
            fail("this string has no end");
    } else if (end == at_) {
        end++;
        for (const char *two : {"/\\", "\\/", "&&", "||", "==", "!=", "<=", ">=", ">>"})
            if (text_.compare(at_, 2, two) == 0)
                end = at_ + 2;
    }
    now_.is = text_.substr(at_, end - at_);
    if (now_.is[0] < '!' || now_.is[0] > '~')
        fail("expected ASCII text");
    line_ += static_cast<int>(std::ranges::count(now_.is, '\n'));
    at_ = end;
}

// A comment that begins with the first model states the verdicts.
void Parser::verdicts(std::string comment) {
    std::ranges::transform(comment, comment.begin(), [](char c) {
        return c == ':' || c == ';' ? ' '
                                    : static_cast<char>(tolower(static_cast<unsigned char>(c)));
    });
    std::istringstream words(comment);
    std::string model, verdict;
    bool good = !test_.has_verdicts;
    for (Model m : models) {
        model = verdict = "";
        words >> model >> verdict;
        if (m == Model::sc && model != "sc")
            return;
        good &= model == model_names[static_cast<size_t>(m)];
        good &= verdict == "allowed" || verdict == "forbidden";
        test_.verdicts[static_cast<size_t>(m)] =
            verdict == "allowed" ? Verdict::allowed : Verdict::forbidden;
    }
    if (!good || words >> model)
        fail("expected one (* sc: V; tso: V; c11: V *), where V is allowed or forbidden", line_);
    test_.has_verdicts = true;
}

bool Parser::skip(const char *s) {
    bool there = is(s);
    if (there)
        advance();
    return there;
}

void Parser::need(const char *s) {
    if (!skip(s))
        expected("'" + std::string(s) + "'");
}

std::string Parser::word(const char *what) {
    std::string s = now_.is;
    if (!now_.is_word())
        expected(what);
    advance();
    return s;
}

uint64_t Parser::number() {
    int base = now_.is.starts_with("0x") ? 16 : 10;
    const char *begin = now_.is.data() + (base == 16 ? 2 : 0),
               *end = now_.is.data() + now_.is.size();
    uint64_t n = 0;

    auto [after, error] = std::from_chars(begin, end, n, base);
    if (error != std::errc() || after != end)
        expected("a number of at most 64 bits");
    advance();
    return n;
}

uint8_t Parser::type() {
    auto *t = find(types, now_.is);
    if (!t)
        expected("a type such as atomic_int");
    advance();
    return t->width;
}

// Expressions.

Expr Parser::expression(int binds) {
    Expr left = operand();

    for (;;) {
        auto *o = find(operators, is("\\/")                  ? "||"
                                  : is("/\\")                ? "&&"
                                  : is("=") && in_condition_ ? "=="
                                                             : now_.is);
        if (!o || o->binds <= binds)
            return left;
        advance();
        Expr right = expression(o->binds);
        left = [left, right, o](Shared &s, Reg r) {
            Number a = left(s, r);
            if (!o->of)
                return Number{o->binds == 1 ? a || right(s, r) : a && right(s, r)};
            return o->of(a, right(s, r));
        };
    }
}

Expr Parser::parenthesized() {
    need("(");
    Expr inside = expression();
    need(")");
    return inside;
}

Expr Parser::operand() {
    spend(operators_left_, "32 operands in an expression");
    if (is("("))
        return parenthesized();
    if (skip("!") || (in_condition_ && (skip("not") || skip("~"))))
        return [e = operand()](Shared &s, Reg r) { return Number{!e(s, r)}; };
    for (unsigned by : {0, 16})
        if (skip(by ? "hi" : "lo"))
            return [e = parenthesized(), by](Shared &s, Reg r) { return e(s, r) >> by & 0xffff; };
    if (isdigit(now_.is[0])) {
        std::string digits = now_.is;
        Number n = number();
        if (!in_condition_ || !skip(":"))
            return [n](Shared &, Reg) { return n; };
        size_t i = reg(digits, now_.is);
        advance();
        return [i](Shared &, Reg r) { return r[i]; };
    }
    bool bracketed = in_condition_ && skip("["); // herd writes [x] as well as x
    if (!now_.is_word())
        expected("an expression");
    if (in_condition_) {
        size_t v = variable(now_.is);
        advance();
        if (bracketed)
            need("]");
        return [v, width = test_.variables[v].width](Shared &s, Reg) {
            return engine::Memory::read(reinterpret_cast<uint8_t *>(&s) + 8 * v, width);
        };
    }
    if (auto *c = find(calls, now_.is); c && c->op != Op::store)
        return call(c->op);
    size_t i = reg(me(), now_.is);
    advance();
    return [i](Shared &, Reg r) { return r[i]; };
}

Expr Parser::call(Op op) {
    Expr value = [](Shared &, Reg) { return Number{0}; };
    size_t expected = 0;
    engine::Place place{"litmus", now_.line};

    spend(accesses_left_, "48 accesses");
    advance();
    need("(");
    Address a = address();
    need(",");
    if (op == Op::cas) {
        need("&");
        expected = reg(me(), now_.is);
        advance();
        need(",");
    }
    if (op != Op::load) {
        value = expression();
        need(",");
    }
    Order how = order(op);
    if (op == Op::cas) {
        need(",");
        need("memory_order_relaxed"); // the platform layer has no other
    }
    need(")");
    return [=](Shared &s, Reg r) {
        Number v = cut(value(s, r), a.width), old = cut(r[expected], a.width);
        Number was = engine::current().access({reinterpret_cast<uint8_t *>(&s) + 8 * a.variable,
                                               a.offset, a.width, op, how, v, old, place});
        if (op != Op::cas)
            return was;
        r[expected] = was;
        return Number{was == old};
    };
}

Parser::Address Parser::address() {
    bool lo = skip("lo"), half = lo || skip("hi");

    if (half)
        need("(");
    if (std::ranges::find(parameters_, now_.is) == parameters_.end())
        expected("a parameter of P" + me());
    size_t v = variable(now_.is);
    uint8_t width = test_.variables[v].width;
    if (half && width != 4)
        fail("only variables of 32 bits have halves");
    advance();
    if (!half)
        return {v, 0, width};
    need(")");
    return {v, static_cast<uint8_t>(lo ? sim::low : sim::high), 2};
}

Order Parser::order(Op op) {
    auto *o = find(orders, now_.is);

    if (!o)
        expected("memory_order_relaxed, _acquire, _release or _acq_rel");
    if ((op == Op::load && engine::releases(o->order)) ||
        (op == Op::store && engine::acquires(o->order)))
        fail(std::string(op == Op::load ? "a load" : "a store") + " cannot be " + o->name);
    advance();
    return o->order;
}

size_t Parser::reg(const std::string &context, const std::string &name) const {
    auto *found = find(test_.registers, context + ":" + name);
    if (!found)
        fail("P" + context + " has no variable or operation " + name);
    return static_cast<size_t>(found - test_.registers.data());
}

size_t Parser::variable(const std::string &name) const {
    auto *found = find(test_.variables, name);
    if (!found)
        fail("no context has a variable " + name);
    return static_cast<size_t>(found - test_.variables.data());
}

// Statements.

Code Parser::statement() {
    operators_left_ = most_operators;
    if (!is("{") && !is("if")) {
        Code simple = simple_statement();
        need(";");
        return simple;
    }
    spend(blocks_left_, "8 blocks in each other");
    Code all;
    if (skip("if")) {
        Expr condition = parenthesized();
        Code then = statement(), otherwise = [](Shared &, Reg) {};
        if (skip("else"))
            otherwise = statement();
        all = [=](Shared &s, Reg r) { condition(s, r) ? then(s, r) : otherwise(s, r); };
    } else {
        all = block();
    }
    blocks_left_++;
    return all;
}

Code Parser::simple_statement() {
    engine::Place place{"litmus", now_.line};

    if (skip("atomic_thread_fence")) {
        spend(accesses_left_, "48 accesses");
        need("(");
        need("memory_order_seq_cst"); // the platform layer has no other
        need(")");
        return [place](Shared &, Reg) { engine::current().fence(place); };
    }
    if (skip("await"))
        return [condition = parenthesized(), place](Shared &s, Reg r) {
            while (!condition(s, r))
                engine::current().relax(engine::never, place);
        };
    if (auto *c = find(calls, now_.is))
        return call(c->op);
    if (!now_.is_word())
        expected("a statement");
    if (!find(types, now_.is)) {
        size_t to = reg(me(), now_.is);
        advance();
        return assignment(to);
    }
    uint8_t width = type();
    std::string name = me() + ":" + now_.is;
    if (find(test_.registers, name))
        fail(now_.is + " is declared twice");
    word("a name");
    if (test_.registers.size() == registers)
        fail("expected at most 8 variables of contexts");
    test_.registers.push_back({name, width});
    return is(";") ? [](Shared &, Reg) {} : assignment(test_.registers.size() - 1);
}

Code Parser::assignment(size_t to) {
    need("=");
    return [to, e = expression(), width = test_.registers[to].width](Shared &s, Reg r) {
        r[to] = cut(e(s, r), width);
    };
}

Code Parser::block() {
    std::vector<Code> all;

    need("{");
    while (!skip("}"))
        all.push_back(statement());
    return [all](Shared &s, Reg r) {
        for (const Code &c : all)
            c(s, r);
    };
}

void Parser::context() {
    if (test_.contexts.size() == most_contexts)
        fail("expected at most 8 contexts");
    need(("P" + me()).c_str());
    need("(");
    parameters_.clear();
    while (!skip(")")) {
        if (!parameters_.empty())
            need(",");
        uint8_t width = type();
        need("*");
        Token t = now_;
        parameters_.push_back(word("a parameter"));
        auto *v = find(test_.variables, t.is);
        if (v && v->width != width)
            fail(t.is + " has another type before", t.line);
        if (!v && test_.variables.size() == cells)
            fail("expected at most 6 shared variables", t.line);
        if (!v)
            test_.variables.push_back({t.is, width});
    }
    test_.contexts.push_back(block());
}

void Parser::initial_values() {
    need("{");
    while (!skip("}")) {
        if (find(types, now_.is))
            type();
        bool bracketed = skip("[");
        Token t = now_;
        word("a variable or '}'");
        if (bracketed)
            need("]");
        need("=");
        initial_.emplace_back(t, number());
        if (!is("}"))
            need(";");
    }
}

Litmus Parser::parse() {
    size_t end = std::min(text_.find_first_of("\r\n"), text_.size());

    if (!text_.starts_with("C ") || end == 2)
        fail("expected 'C NAME'", 1);
    test_.name = text_.substr(2, end - 2);
    if (!std::ranges::all_of(test_.name, [](char c) { return c >= ' ' && c <= '~'; }))
        fail("expected a name in ASCII", 1);
    at_ = end;
    advance();
    if (now_.is[0] == '"') { // herd's documentation string: here the source of the verdicts
        test_.source = now_.is.substr(1, now_.is.size() - 2);
        advance();
    }
    initial_values();
    do
        context();
    while (!skip("exists"));
    for (auto &[token, value] : initial_) {
        auto *v = find(test_.variables, token.is);
        if (!v)
            fail("no context has a variable " + token.is, token.line);
        engine::Memory::write(reinterpret_cast<uint8_t *>(&test_.initial) +
                                  8 * static_cast<size_t>(v - test_.variables.data()),
                              v->width, value);
    }
    in_condition_ = true;
    operators_left_ = most_operators;
    Expr holds = parenthesized();
    if (!now_.is.empty())
        expected("the end");
    test_.outcome = [holds](const Shared &s, const uint64_t *r) {
        Shared memory = s;
        std::array<uint64_t, registers> copy;
        std::copy_n(r, registers, copy.begin());
        return holds(memory, copy.data()) != 0;
    };
    return std::move(test_);
}

} // namespace

Litmus parse(const std::string &text, const std::string &file) {
    return Parser(text, file).parse();
}

} // namespace ol::litmus
