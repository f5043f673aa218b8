// SPDX-License-Identifier: MIT
// Reads a .litmus file: herd's C syntax, as far as README.md says. Each context becomes a closure
// that the world of the execution runs.
#include "litmus.h"

#include <check/engine/memory.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>
#include <set>
#include <sstream>
#include <stdexcept>

namespace ol::litmus {
namespace {

using engine::Op;
using engine::Order;
using Number = int64_t;
using Expr = std::function<Number(Shared &, Reg)>;
using Code = std::function<void(Shared &, Reg)>;

// Contexts have small stacks, and the oracle's sets of events have 64 members.
constexpr size_t most_contexts = 8, most_accesses = 48, most_operands = 32, most_blocks = 8;
constexpr size_t most_in_condition = 512;

struct CutOff {}; // thrown to end a context whose execution does not count
struct Trouble {  // thrown where C leaves undefined what a context does
    int line;
    const char *what;
};
using Layout = std::shared_ptr<std::vector<Named>>; // all shared variables, once they are known

struct Type {
    uint8_t width = 4;
    bool is_signed = true;
    unsigned stars = 0;

    Named named(const std::string &name) const {
        return stars ? Named{name, 8, false, true} : Named{name, width, is_signed};
    }
};

constexpr struct {
    const char *name;
    uint8_t width;
    bool is_signed;
} types[] = {
    {"int", 4, true},          {"unsigned", 4, false},      {"char", 1, true},
    {"short", 2, true},        {"long", 8, true},           {"int8_t", 1, true},
    {"int16_t", 2, true},      {"int32_t", 4, true},        {"int64_t", 8, true},
    {"intptr_t", 8, true},     {"uint8_t", 1, false},       {"uint16_t", 2, false},
    {"uint32_t", 4, false},    {"uint64_t", 8, false},      {"uintptr_t", 8, false},
    {"void", 1, false},        {"atomic_char", 1, true},    {"atomic_uchar", 1, false},
    {"atomic_short", 2, true}, {"atomic_ushort", 2, false}, {"atomic_int", 4, true},
    {"atomic_uint", 4, false}, {"atomic_long", 8, true},    {"atomic_ulong", 8, false},
    {"atomic_llong", 8, true}, {"atomic_ullong", 8, false},
};

// With an order as the last argument, their names end in _explicit.
constexpr struct {
    const char *name;
    Op op;
    bool negates = false, is_weak = false;
} calls[] = {{"atomic_load", Op::load},
             {"atomic_store", Op::store},
             {"atomic_exchange", Op::xchg},
             {"atomic_fetch_add", Op::add},
             {"atomic_fetch_sub", Op::add, true},
             {"atomic_fetch_or", Op::bit_or},
             {"atomic_fetch_and", Op::bit_and},
             {"atomic_fetch_xor", Op::bit_xor},
             {"atomic_compare_exchange_strong", Op::cas},
             {"atomic_compare_exchange_weak", Op::cas, false, true}};
using Call = std::remove_reference_t<decltype(calls[0])>;

constexpr struct {
    const char *name;
    Order order;
} orders[] = {{"memory_order_relaxed", Order::relaxed},
              {"memory_order_acquire", Order::acquire},
              {"memory_order_release", Order::release},
              {"memory_order_acq_rel", Order::acq_rel},
              {"memory_order_seq_cst", Order::seq_cst}};

// Two's complement, without the overflow that C leaves undefined.
template <class Act> Number wrapping(Number a, Number b, Act act) {
    return static_cast<Number>(act(static_cast<uint64_t>(a), static_cast<uint64_t>(b)));
}

constexpr int comparison = 6; // binds weaker than arithmetic, and tighter than bitwise operators
constexpr struct {
    const char *name;
    int binds; // as in C
    Number (*of)(Number, Number);
} operators[] = {
    {"||", 1, nullptr}, // the right side is not always computed
    {"&&", 2, nullptr},
    {"|", 3, [](Number a, Number b) { return a | b; }},
    {"^", 4, [](Number a, Number b) { return a ^ b; }},
    {"&", 5, [](Number a, Number b) { return a & b; }},
    {"==", comparison, [](Number a, Number b) { return Number{a == b}; }},
    {"!=", comparison, [](Number a, Number b) { return Number{a != b}; }},
    {"<", 7, [](Number a, Number b) { return Number{a < b}; }},
    {"<=", 7, [](Number a, Number b) { return Number{a <= b}; }},
    {">", 7, [](Number a, Number b) { return Number{a > b}; }},
    {">=", 7, [](Number a, Number b) { return Number{a >= b}; }},
    {">>", 8, [](Number a, Number b) { return b >= 0 && b < 64 ? a >> b : 0; }},
    {"<<", 8,
     [](Number a, Number b) {
         return b >= 0 && b < 64 ? static_cast<Number>(static_cast<uint64_t>(a) << b) : 0;
     }},
    {"+", 9, [](Number a, Number b) { return wrapping(a, b, std::plus<>()); }},
    {"-", 9, [](Number a, Number b) { return wrapping(a, b, std::minus<>()); }},
    {"*", 10, [](Number a, Number b) { return wrapping(a, b, std::multiplies<>()); }},
    {"/", 10, [](Number a, Number b) { return b == -1 ? wrapping(0, a, std::minus<>()) : a / b; }},
    {"%", 10, [](Number a, Number b) { return b == -1 ? 0 : a % b; }},
};

bool divides(const auto &o) {
    return o.name[0] == '/' || o.name[0] == '%';
}

template <class List> auto find(List &list, const std::string &name) {
    auto at = std::ranges::find_if(list, [&](auto &e) { return name == e.name; });
    return at == std::end(list) ? nullptr : &*at;
}

uint64_t cut(uint64_t value, size_t width) {
    return width == 8 ? value : value & ((uint64_t{1} << 8 * width) - 1);
}

Number extend(uint64_t value, size_t width, bool is_signed) {
    unsigned unused = 64 - 8 * static_cast<unsigned>(width);
    return is_signed ? static_cast<Number>(value << unused) >> unused
                     : static_cast<Number>(cut(value, width));
}

Number value_of(const Named &n, uint64_t value) {
    return extend(value, n.width, n.is_signed);
}

Number address_of(size_t variable) {
    return first_address + 8 * static_cast<Number>(variable);
}

struct Address {
    Expr to;
    int variable = -1;             // if the text says which
    uint8_t offset = 0, width = 0; // of a half; width 0: all of it
};

// How an access is made, and what it finds.
struct Way {
    Op op;
    Order order, failing = Order::relaxed;
    bool is_plain = false, is_weak = false;
};

struct Found {
    Number value;
    bool failed_for_no_cause;
};

Found access(const Layout &layout, const Address &a, Number to, Shared &s, const Way &way,
             Number value, Number expected, engine::Place place) {
    auto variable = static_cast<size_t>((to - first_address) / 8);
    bool spurious = false;

    if (to < first_address || to % 8 || variable >= layout->size())
        throw Trouble{place.line, "a pointer that is followed points to no variable"};
    const Named &n = (*layout)[variable];
    uint8_t width = a.width ? a.width : n.width;
    engine::Access made{reinterpret_cast<uint8_t *>(&s) + 8 * variable,
                        a.offset,
                        width,
                        way.op,
                        way.order,
                        cut(static_cast<uint64_t>(value), width),
                        cut(static_cast<uint64_t>(expected), width),
                        place};
    made.failing_acquires = engine::acquires(way.failing);
    made.failing_sequential = way.failing == Order::seq_cst;
    made.is_plain = way.is_plain;
    made.spurious = way.is_weak ? &spurious : nullptr;
    uint64_t was = engine::current().access(made);
    return {extend(was, width, n.is_signed && !a.width), spurious};
}

// P0, as herd writes it: the number, or nothing.
std::string context_of(const std::string &word) {
    bool names = word.size() > 1 && word[0] == 'P' &&
                 std::ranges::all_of(word.substr(1), [](char c) { return c >= '0' && c <= '9'; });
    return names ? word.substr(1) : "";
}

struct Token { // a word, a number, a "string", an operator; empty at the end
    std::string is;
    int line, column;
    bool is_word() const { return isalpha(is[0]) || is[0] == '_' || is[0] == '$'; }
};

class Parser {
public:
    Parser(const std::string &text, const std::string &file) : text_(text), file_(file) {
        test_.has_verdicts = false;
        test_.trouble = std::make_shared<std::string>();
    }
    Litmus parse();

private:
    struct Mark {
        size_t at, line_begin;
        int line;
        Token now;
    };
    struct Initial {
        std::string context; // of a variable of a context; else nothing
        Token name;
        std::optional<Number> value;
        Token pointee; // if there is no value
        std::optional<Type> type;
    };

    [[noreturn]] void fail(const std::string &what, const Token &at) const;
    [[noreturn]] void fail(const std::string &what) const { fail(what, now_); }
    [[noreturn]] void expected(const std::string &what) const;
    void spend(size_t &left, const char *what, size_t n = 1) const;

    void advance();
    Mark mark() const { return {at_, line_begin_, line_, now_}; }
    void go_back(const Mark &m);
    Token here() const { return {"", line_, static_cast<int>(at_ - line_begin_) + 1}; }
    void pass(size_t end);
    bool skip_blank();
    bool skip_comment(const char *opens, const char *closes, bool nests);
    void verdicts(std::string comment);
    void resolve_verdicts();
    bool is(const char *s) const { return now_.is == s; }
    bool skip(const char *s);
    void need(const char *s);
    std::string word(const char *what);
    Number number();
    Number signed_number();

    bool is_type() const;
    void refuse_wide() const;
    Type type();
    Type type_name();

    Expr expression(int binds = 0);
    Expr parenthesized();
    Expr operand();
    static Expr binary(Expr left, const char *name, int line, Expr right);
    Expr register_value(size_t i) const;
    Expr half(unsigned by);
    const Call *call_here() const;
    Expr call(const Call &c);
    Expr compare_exchange(const Call &c, const Address &a, bool has_orders, engine::Place place);
    Expr plain_load(const Address &a, engine::Place place);
    Code plain_store();
    Address address();
    std::optional<size_t> parameter_here();
    Order order();
    Order order_for(Op op);
    Order any_order(const char *which);
    void site(const Address &a, Op op, Order order);
    size_t reg(const std::string &context, const std::string &name) const;
    size_t reg_for_writing(const std::string &name);
    size_t declare(const std::string &name, const Type &type);
    size_t variable(const Token &name) const;

    Code statement();
    Code control();
    Code loop();
    Code simple_statement();
    Code declaration();
    Code fence();
    Code assignment(size_t to);
    Code block();
    void context();
    void parameters();
    void share(const Named &n, const Token &at);

    Expr proposition(int binds = 0);
    Expr proposition_operand();
    Expr atom();
    Expr right_side();
    Expr condition_operand();
    Expr location_value(const Location &l);
    Location location();
    Condition condition();
    void locations();
    void quantifier();
    void constraints();

    void header();
    void initial_values();
    Initial initial_value();
    void assume(const Initial &i);
    void apply(const Initial &i);
    std::string me() const { return std::to_string(test_.contexts.size()); }

    const std::string &text_, &file_;
    size_t at_ = 0, line_begin_ = 0, comments_end_ = 0;
    int line_ = 1;
    Token now_;
    Litmus test_;
    Layout layout_ = std::make_shared<std::vector<Named>>();
    std::vector<Initial> initial_;
    std::vector<std::string> stated_; // verdicts, in words
    Token stated_at_;
    std::vector<std::string> parameters_;            // of this context
    std::vector<std::vector<std::string>> declared_; // by block
    std::set<std::string> assumed_; // what the initial values say of types, before the contexts do
    bool in_body_ = false, in_condition_ = false;
    std::optional<Named> location_; // that the last operand of a condition was
    size_t loops_ = 0, loop_depth_ = 0;
    size_t accesses_left_ = most_accesses, operands_left_ = 0, blocks_left_ = most_blocks;
};

void Parser::fail(const std::string &what, const Token &at) const {
    std::string shown = what.substr(0, 120); // it quotes the file, which may hold anything

    std::ranges::replace_if(shown, [](char c) { return c < ' ' || c > '~'; }, '?');
    throw std::invalid_argument(file_ + ":" + std::to_string(at.line) + ":" +
                                std::to_string(at.column) + ": " + shown);
}

void Parser::expected(const std::string &what) const {
    fail("expected " + what + ", got " + (now_.is.empty() ? "the end" : now_.is));
}

void Parser::spend(size_t &left, const char *what, size_t n) const {
    if (left < n)
        fail(std::string("expected at most ") + what);
    left -= n;
}

// Tokens.

void Parser::go_back(const Mark &m) {
    at_ = m.at;
    line_begin_ = m.line_begin;
    line_ = m.line;
    now_ = m.now;
}

// Counts the lines on the way.
void Parser::pass(size_t end) {
    for (; at_ < end; at_++)
        if (text_[at_] == '\n') {
            line_++;
            line_begin_ = at_ + 1;
        }
}

bool Parser::skip_comment(const char *opens, const char *closes, bool nests) {
    if (text_.compare(at_, 2, opens) != 0)
        return false;
    size_t end = at_ + 2, depth = 1;
    while (depth) {
        size_t close = text_.find(closes, end), open = text_.find(opens, end);
        if (close == std::string::npos)
            fail("this comment has no end", here());
        bool deeper = nests && open < close;
        depth += deeper ? 1 : static_cast<size_t>(-1);
        end = (deeper ? open : close) + 2;
    }
    if (nests && at_ >= comments_end_) { // else it is read a second time
        comments_end_ = end;
        verdicts(text_.substr(at_ + 2, end - at_ - 4));
    }
    pass(end);
    return true;
}

// In a context's body, (* is a pointer that is followed.
bool Parser::skip_blank() {
    if ((!in_body_ && skip_comment("(*", "*)", true)) || skip_comment("/*", "*/", false))
        return true;
    if (text_.compare(at_, 2, "//") == 0)
        pass(std::min(text_.find('\n', at_), text_.size()));
    else if (at_ < text_.size() && isspace(static_cast<unsigned char>(text_[at_])))
        pass(at_ + 1);
    else
        return false;
    return true;
}

void Parser::advance() {
    static const std::string letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_$"
                                       "0123456789";
    while (skip_blank())
        ;
    now_ = here();
    if (at_ == text_.size())
        return;
    size_t end = std::min(text_.find_first_not_of(letters, at_), text_.size());
    if (text_[at_] == '"') {
        if ((end = text_.find('"', at_ + 1) + 1) == 0)
            fail("this string has no end");
    } else if (end == at_) {
        end++;
        for (const char *two :
             {"/\\", "\\/", "&&", "||", "==", "!=", "<>", "<=", ">=", ">>", "<<", "=>"})
            if (text_.compare(at_, 2, two) == 0)
                end = at_ + 2;
    }
    now_.is = text_.substr(at_, end - at_);
    if (now_.is[0] < '!' || now_.is[0] > '~')
        fail("expected ASCII text");
    pass(end);
}

// A comment that begins with the first model states the verdicts.
void Parser::verdicts(std::string comment) {
    std::ranges::transform(comment, comment.begin(), [](char c) {
        return c == ':' || c == ';' ? ' '
                                    : static_cast<char>(tolower(static_cast<unsigned char>(c)));
    });
    std::istringstream words(comment);
    std::string model, verdict;
    bool good = stated_.empty();
    for (Model m : models) {
        model = verdict = "";
        words >> model >> verdict;
        if (m == Model::sc && model != "sc")
            return;
        good &= model == model_names[static_cast<size_t>(m)];
        good &=
            verdict == "allowed" || verdict == "forbidden" || verdict == "ok" || verdict == "no";
        stated_.push_back(verdict);
    }
    stated_at_ = here();
    if (!good || words >> model)
        fail("expected one (* sc: V; tso: V; c11: V *), where V is allowed, forbidden, ok or no",
             stated_at_);
}

// Allowed and forbidden are about the proposition, ok and no about the condition.
void Parser::resolve_verdicts() {
    test_.has_verdicts = !stated_.empty();
    for (size_t m = 0; m < stated_.size(); m++) {
        const std::string &v = stated_[m];
        bool holds = v == "ok" || v == "allowed";
        if ((v == "allowed" || v == "forbidden") && test_.quantifier == Quantifier::forall)
            fail("of forall, expected the verdicts ok or no", stated_at_);
        if ((v == "allowed" || v == "forbidden") && test_.quantifier == Quantifier::not_exists)
            holds = !holds;
        test_.verdicts[m] = holds ? Verdict::allowed : Verdict::forbidden;
    }
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

Number Parser::number() {
    int base = now_.is.starts_with("0x") || now_.is.starts_with("0X") ? 16 : 10;
    const char *begin = now_.is.data() + (base == 16 ? 2 : 0),
               *end = now_.is.data() + now_.is.size();
    uint64_t n = 0;

    auto [after, error] = std::from_chars(begin, end, n, base);
    if (error != std::errc() || after != end)
        expected("a number of at most 64 bits");
    advance();
    return static_cast<Number>(n);
}

Number Parser::signed_number() {
    bool negative = skip("-");
    Number n = number();
    return negative ? wrapping(0, n, std::minus<>()) : n;
}

// Types.

bool Parser::is_type() const {
    for (const char *other : {"volatile", "const", "_Atomic", "atomic", "signed"})
        if (is(other))
            return true;
    return find(types, now_.is) != nullptr;
}

void Parser::refuse_wide() const {
    if (is("__int128") || is("__int128_t") || is("__uint128") || is("__uint128_t"))
        expected("a type of at most 64 bits");
}

// What stands before the stars.
Type Parser::type_name() {
    std::optional<Type> found;
    bool is_unsigned = false, is_wrapped = false;

    refuse_wide();
    while (is_type()) {
        if (skip("volatile") || skip("const"))
            continue;
        if (is("_Atomic") || is("atomic")) {
            advance();
            const char *closes = skip("(") ? ")" : skip("<") ? ">" : nullptr;
            if (closes) {
                spend(blocks_left_, "8 types in each other");
                found = type();
                blocks_left_++;
                is_wrapped = true;
                need(closes);
            }
            continue;
        }
        is_unsigned |= is("unsigned");
        bool says_sign = is("unsigned") || is("signed");
        auto *t = find(types, now_.is);
        bool is_int = is("int") && found; // as in long int
        if (found && !is_int && !says_sign && !is("long") && !is("short") && !is("char"))
            break;
        if (t && !(says_sign && found) && !is_int)
            found = Type{t->width, t->is_signed};
        else if (!found)
            found = Type{};
        advance();
    }
    if (!found)
        expected("a type such as atomic_int");
    found->is_signed &= !is_unsigned || is_wrapped;
    return *found;
}

Type Parser::type() {
    Type t = type_name();

    while (skip("*")) {
        t.stars++;
        while (skip("volatile") || skip("const"))
            ;
    }
    return t;
}

// Expressions.

Expr Parser::binary(Expr left, const char *name, int line, Expr right) {
    auto *o = find(operators, name);
    bool may_fail = divides(*o);

    return [=](Shared &s, Reg r) {
        Number a = left(s, r);
        if (!o->of)
            return Number{o->binds == 1 ? a || right(s, r) : a && right(s, r)};
        Number b = right(s, r);
        if (may_fail && b == 0)
            throw Trouble{line, "a division by zero"};
        return o->of(a, b);
    };
}

Expr Parser::expression(int binds) {
    Expr left = operand();

    for (;;) {
        auto *o = find(operators, is("=") && in_condition_ ? "==" : now_.is);
        if (!o || o->binds <= binds || (in_condition_ && divides(*o)))
            return left;
        int line = now_.line;
        advance();
        left = binary(left, o->name, line, expression(o->binds));
    }
}

Expr Parser::parenthesized() {
    need("(");
    Expr inside = expression();
    need(")");
    return inside;
}

Expr Parser::register_value(size_t i) const {
    return [i, n = test_.registers[i]](Shared &, Reg r) { return value_of(n, r[i]); };
}

Expr Parser::half(unsigned by) {
    return [e = parenthesized(), by](Shared &s, Reg r) { return e(s, r) >> by & 0xffff; };
}

Expr Parser::operand() {
    engine::Place place{"litmus", now_.line};

    spend(operands_left_,
          in_condition_ ? "512 operands in a condition" : "32 operands in an expression");
    location_.reset();
    if (skip("lo"))
        return half(0);
    if (skip("hi"))
        return half(16);
    if (skip("-"))
        return [e = operand()](Shared &s, Reg r) { return wrapping(0, e(s, r), std::minus<>()); };
    if (in_condition_ && !is("("))
        return condition_operand();
    if (skip("!"))
        return [e = operand()](Shared &s, Reg r) { return Number{!e(s, r)}; };
    if (skip("~"))
        return [e = operand()](Shared &s, Reg r) { return ~e(s, r); };
    if (skip("*")) {
        std::optional<size_t> known = parameter_here();
        return plain_load({operand(), known ? static_cast<int>(*known) : -1}, place);
    }
    if (is("(")) {
        Mark before = mark();
        advance();
        if (!is_type()) {
            go_back(before);
            return parenthesized();
        }
        Named to = type().named("");
        need(")");
        return [e = operand(), to](Shared &s, Reg r) {
            return value_of(to, static_cast<uint64_t>(e(s, r)));
        };
    }
    if (isdigit(now_.is[0]))
        return [n = number()](Shared &, Reg) { return n; };
    if (!now_.is_word())
        expected("an expression");
    if (const Call *c = call_here(); c && c->op != Op::store)
        return call(*c);
    if (std::ranges::find(parameters_, now_.is) != parameters_.end()) {
        Number to = address_of(variable(now_));
        advance();
        return [to](Shared &, Reg) { return to; };
    }
    size_t i = reg(me(), now_.is);
    advance();
    return register_value(i);
}

// Calls.

const Call *Parser::call_here() const {
    std::string name = now_.is;

    if (name.ends_with("_explicit"))
        name.resize(name.size() - strlen("_explicit"));
    return find(calls, name);
}

void Parser::site(const Address &a, Op op, Order order) {
    size_t factor = 1;

    for (size_t i = 0; i < loop_depth_; i++)
        factor *= most_rounds + 1;
    spend(accesses_left_, "48 accesses, those in a loop counted three times", factor);
    bool reads = op != Op::store, writes = op != Op::load;
    test_.sites.push_back({test_.contexts.size(), loop_depth_ ? loops_ : 0, false, reads, writes,
                           reads && engine::acquires(order), writes && engine::releases(order),
                           a.variable});
}

// The variable, if the text names it here and does nothing else with it.
std::optional<size_t> Parser::parameter_here() {
    if (std::ranges::find(parameters_, now_.is) == parameters_.end())
        return {};
    return variable(now_);
}

Address Parser::address() {
    bool lo = skip("lo"), half = lo || skip("hi");
    Address a;

    if (half)
        need("(");
    Mark before = mark();
    if (auto known = parameter_here()) {
        advance();
        if (is(",") || is(")"))
            a.variable = static_cast<int>(*known);
        go_back(before);
    }
    if (half && a.variable < 0)
        expected("a parameter of P" + me());
    if (half && test_.variables[static_cast<size_t>(a.variable)].width != 4)
        fail("only variables of 32 bits have halves");
    a.to = expression();
    if (half) {
        need(")");
        a.offset = static_cast<uint8_t>(lo ? sim::low : sim::high);
        a.width = 2;
    }
    return a;
}

Expr Parser::plain_load(const Address &a, engine::Place place) {
    site(a, Op::load, Order::relaxed);
    return [=, layout = layout_](Shared &s, Reg r) {
        Way way{Op::load, Order::relaxed, Order::relaxed, true};
        return access(layout, a, a.to(s, r), s, way, 0, 0, place).value;
    };
}

Expr Parser::call(const Call &c) {
    engine::Place place{"litmus", now_.line};
    bool has_orders = now_.is.ends_with("_explicit");
    Expr value = [](Shared &, Reg) { return Number{0}; };

    advance();
    need("(");
    Address a = address();
    if (c.op == Op::cas)
        return compare_exchange(c, a, has_orders, place);
    if (c.op != Op::load) {
        need(",");
        value = expression();
    }
    Way way{c.op, Order::seq_cst};
    if (has_orders) {
        need(",");
        way.order = order_for(c.op);
    }
    need(")");
    site(a, way.op, way.order);
    return [=, layout = layout_, negates = c.negates](Shared &s, Reg r) {
        Number to = a.to(s, r), v = value(s, r);
        if (negates)
            v = wrapping(0, v, std::minus<>());
        return access(layout, a, to, s, way, v, 0, place).value;
    };
}

// What is expected is a variable of the context, or, as in herd, one that a pointer leads to.
Expr Parser::compare_exchange(const Call &c, const Address &a, bool has_orders,
                              engine::Place place) {
    Way way{Op::cas, Order::seq_cst, Order::seq_cst, false, c.is_weak};
    Address expected{};
    size_t own = 0;

    need(",");
    bool is_own = skip("&");
    if (is_own) {
        own = reg(me(), now_.is);
        advance();
    } else {
        expected = address();
    }
    need(",");
    Expr desired = expression();
    if (has_orders) {
        need(",");
        way.order = order_for(Op::cas);
        need(",");
        way.failing = order();
        if (engine::releases(way.failing) && way.failing != Order::seq_cst)
            fail("a failed compare-exchange is a load: expected memory_order_relaxed, _acquire or "
                 "_seq_cst");
        advance();
    }
    need(")");
    if (!is_own)
        site(expected, Op::load, Order::relaxed);
    site(a, Op::cas, way.order);
    test_.sites.back().acquires &= engine::acquires(way.failing);
    if (!is_own)
        site(expected, Op::store, Order::relaxed);
    uint8_t own_width = is_own ? test_.registers[own].width : 0;
    return [=, layout = layout_](Shared &s, Reg r) {
        constexpr Way load{Op::load, Order::relaxed, Order::relaxed, true},
            store{Op::store, Order::relaxed, Order::relaxed, true};
        Number other = is_own ? 0 : expected.to(s, r), to = a.to(s, r);
        Number wanted = is_own ? static_cast<Number>(r[own])
                               : access(layout, expected, other, s, load, 0, 0, place).value;
        Found found = access(layout, a, to, s, way, desired(s, r), wanted, place);
        bool equal = is_own ? cut(static_cast<uint64_t>(found.value), own_width) == r[own]
                            : found.value == wanted;
        if (found.failed_for_no_cause && !equal)
            r[registers] = std::max<uint64_t>(r[registers], duplicate);
        if (equal && !found.failed_for_no_cause)
            return Number{1};
        if (is_own)
            r[own] = cut(static_cast<uint64_t>(found.value), own_width);
        else
            access(layout, expected, other, s, store, found.value, 0, place);
        return Number{0};
    };
}

// The order here, which remains the token.
Order Parser::order() {
    auto *o = find(orders, now_.is);

    if (is("memory_order_consume"))
        fail("memory_order_consume is not modelled: expected memory_order_acquire");
    if (!o)
        expected("memory_order_relaxed, _acquire, _release, _acq_rel or _seq_cst");
    return o->order;
}

Order Parser::order_for(Op op) {
    Order o = order();

    if (o != Order::seq_cst &&
        ((op == Op::load && engine::releases(o)) || (op == Op::store && engine::acquires(o))))
        fail(std::string(op == Op::load ? "a load" : "a store") + " cannot be " + now_.is);
    advance();
    return o;
}

size_t Parser::reg(const std::string &context, const std::string &name) const {
    auto *found = find(test_.registers, context + ":" + name);
    if (!found)
        fail("P" + context + " has no variable, parameter or operation " + name);
    return static_cast<size_t>(found - test_.registers.data());
}

size_t Parser::declare(const std::string &name, const Type &type) {
    if (auto *found = find(test_.registers, name))
        return static_cast<size_t>(found - test_.registers.data());
    if (test_.registers.size() == registers)
        fail("expected at most 24 variables of contexts");
    test_.registers.push_back(type.named(name));
    return test_.registers.size() - 1;
}

// Herd declares what is assigned.
size_t Parser::reg_for_writing(const std::string &name) {
    return declare(me() + ":" + name, Type{8, true});
}

size_t Parser::variable(const Token &name) const {
    auto *found = find(test_.variables, name.is);
    if (!found)
        fail("no context has a variable " + name.is, name);
    return static_cast<size_t>(found - test_.variables.data());
}

// Statements.

Code Parser::statement() {
    operands_left_ = most_operands;
    if (!is("{") && !is("if") && !is("while")) {
        Code simple = simple_statement();
        need(";");
        return simple;
    }
    spend(blocks_left_, "8 blocks in each other");
    Code all = is("{") ? block() : is("while") ? loop() : control();
    blocks_left_++;
    return all;
}

Code Parser::control() {
    need("if");
    Expr condition = parenthesized();
    Code then = statement(), otherwise = [](Shared &, Reg) {};

    if (skip("else"))
        otherwise = statement();
    return [=](Shared &s, Reg r) { condition(s, r) ? then(s, r) : otherwise(s, r); };
}

Code Parser::loop() {
    need("while");
    loops_ += loop_depth_++ == 0;
    Expr condition = parenthesized();
    Code body = statement();
    loop_depth_--;
    test_.has_loops = true;
    return [=](Shared &s, Reg r) {
        for (size_t rounds = 0; condition(s, r); rounds++) {
            if (rounds == most_rounds)
                throw CutOff();
            body(s, r);
        }
    };
}

Code Parser::fence() {
    engine::Place place{"litmus", now_.line};

    advance();
    need("(");
    Order o = order();
    advance();
    need(")");
    if (o == Order::relaxed) // it has no effect
        return [](Shared &, Reg) {};
    site({}, Op::load, o);
    Site &s = test_.sites.back();
    s.reads = false;
    s.is_fence = true;
    s.acquires = engine::acquires(o);
    s.releases = engine::releases(o);
    return [place, o](Shared &, Reg) {
        o == Order::seq_cst ? engine::current().fence(place)
                            : engine::current().light_fence(o, place);
    };
}

Code Parser::simple_statement() {
    engine::Place place{"litmus", now_.line};

    if (is(";"))
        return [](Shared &, Reg) {};
    if (is("atomic_thread_fence"))
        return fence();
    if (skip("await"))
        return [condition = parenthesized(), place](Shared &s, Reg r) {
            while (!condition(s, r))
                engine::current().relax(engine::never, place);
        };
    if (is_type())
        return declaration();
    if (is("*"))
        return plain_store();
    Mark before = mark();
    if (const Call *c = call_here(); c && c->op == Op::store)
        return [e = call(*c)](Shared &s, Reg r) { e(s, r); };
    if (now_.is_word()) {
        std::string name = word("a statement");
        if (is("="))
            return assignment(reg_for_writing(name));
        go_back(before);
    }
    if (!now_.is_word() && !is("("))
        expected("a statement");
    return [e = expression()](Shared &s, Reg r) { e(s, r); };
}

Code Parser::plain_store() {
    engine::Place place{"litmus", now_.line};

    need("*");
    Address a;
    if (auto known = parameter_here())
        a.variable = static_cast<int>(*known);
    a.to = operand();
    need("=");
    Expr value = expression();
    site(a, Op::store, Order::relaxed);
    return [=, layout = layout_](Shared &s, Reg r) {
        Way way{Op::store, Order::relaxed, Order::relaxed, true};
        Number to = a.to(s, r);
        access(layout, a, to, s, way, value(s, r), 0, place);
    };
}

// One variable may be declared in several blocks: it is the same, as in herd.
Code Parser::declaration() {
    Type t = type();
    std::string plain = now_.is, name = me() + ":" + plain;
    auto &here_too = declared_.back();

    if (std::ranges::find(here_too, plain) != here_too.end())
        fail(plain + " is declared twice");
    if (auto *before = find(test_.registers, name)) {
        if (assumed_.erase(name))
            *before = t.named(name);
        if (before->width != t.named("").width)
            fail(plain + " has another type before");
    }
    word("a name");
    size_t to = declare(name, t);
    here_too.push_back(plain);
    return is(";") ? [](Shared &, Reg) {} : assignment(to);
}

Code Parser::assignment(size_t to) {
    need("=");
    return [to, e = expression(), width = test_.registers[to].width](Shared &s, Reg r) {
        r[to] = cut(static_cast<uint64_t>(e(s, r)), width);
    };
}

Code Parser::block() {
    std::vector<Code> all;

    need("{");
    declared_.emplace_back();
    while (!is("}")) {
        if (now_.is.empty())
            expected("'}'");
        all.push_back(statement());
    }
    declared_.pop_back();
    in_body_ &= !declared_.empty(); // before the next token, which may be a comment of herd's
    advance();
    return [all](Shared &s, Reg r) {
        for (const Code &c : all)
            c(s, r);
    };
}

void Parser::parameters() {
    parameters_.clear();
    need("(");
    while (!is(")")) {
        if (!parameters_.empty())
            need(",");
        Token begin = now_;
        Type t = type();
        if (t.stars == 0)
            expected("'*'");
        t.stars--;
        Token at = now_;
        parameters_.push_back(word("a parameter"));
        Named n = t.named(at.is);
        auto *v = find(test_.variables, at.is);
        if (v && assumed_.erase(at.is))
            *v = n;
        if (v && v->width != n.width)
            fail(at.is + " has another type before", at);
        share(n, at);
    }
}

void Parser::share(const Named &n, const Token &at) {
    if (find(test_.variables, n.name))
        return;
    if (test_.variables.size() == cells)
        fail("expected at most 12 shared variables", at);
    test_.variables.push_back(n);
}

void Parser::context() {
    if (test_.contexts.size() == most_contexts)
        fail("expected at most 8 contexts");
    if (skip("void"))
        skip("*");
    need(("P" + me()).c_str());
    parameters();
    in_body_ = true; // from the token after the brace on
    advance();
    if (!is("{"))
        expected("'{'");
    test_.contexts.push_back([code = block(), trouble = test_.trouble](Shared &s, Reg r) {
        try {
            code(s, r);
        } catch (const CutOff &) {
            r[registers] = cut_off;
        } catch (const Trouble &t) {
            *trouble = std::to_string(t.line) + ": " + t.what;
        } catch (const std::length_error &e) { // of the model
            *trouble = std::string(" ") + e.what();
        }
    });
}

// The condition.

// As in herd, => binds tighter than /\, and /\ tighter than \/.
Expr Parser::proposition(int binds) {
    Expr left = proposition_operand();

    for (;;) {
        int now = is("\\/") || is("||") ? 1 : is("/\\") || is("&&") ? 2 : is("=>") ? 3 : 0;
        if (now == 0 || now <= binds)
            return left;
        advance();
        Expr right = proposition(now == 3 ? 2 : now);
        left = [=](Shared &s, Reg r) {
            bool a = left(s, r) != 0;
            return Number{now == 1   ? a || right(s, r)
                          : now == 2 ? a && right(s, r)
                                     : !a || right(s, r)};
        };
    }
}

Expr Parser::proposition_operand() {
    if (skip("not") || skip("~") || skip("!"))
        return [e = proposition_operand()](Shared &s, Reg r) { return Number{!e(s, r)}; };
    for (bool constant : {true, false})
        if (skip(constant ? "true" : "false"))
            return [constant](Shared &, Reg) { return Number{constant}; };
    if (!is("("))
        return atom();
    Mark before = mark();
    spend(operands_left_, "512 operands in a condition");
    advance();
    Expr inside = proposition();
    need(")");
    if (!find(operators, is("=") || is("<>") ? "==" : now_.is) || is("&&") || is("||"))
        return inside;
    go_back(before); // an operand in parentheses
    return atom();
}

Expr Parser::atom() {
    size_t before = operands_left_;
    Expr left = expression(7);
    std::optional<Named> of = before - operands_left_ == 1 ? location_ : std::nullopt;
    std::string o = is("=") ? "==" : is("<>") ? "!=" : now_.is;
    auto *compares = find(operators, o);

    if (!compares || (compares->binds != comparison && compares->binds != comparison + 1))
        return left;
    int line = now_.line;
    advance();
    Expr right = compares->binds == comparison ? right_side() : expression(7);
    if (of && compares->binds == comparison) // -1 and 0xffffffff are the same in 32 bits
        right = [right, n = *of](Shared &s, Reg r) {
            return value_of(n, static_cast<uint64_t>(right(s, r)));
        };
    return binary(left, compares->name, line, right);
}

// A name alone is an address there, as in herd.
Expr Parser::right_side() {
    Mark before = mark();

    skip("&");
    if (now_.is_word() && !is("lo") && !is("hi")) {
        Token name = now_;
        advance();
        if (!is(":") && (!find(operators, now_.is) || is("&&") || is("||"))) {
            Number to = address_of(variable(name));
            spend(operands_left_, "512 operands in a condition");
            return [to](Shared &, Reg) { return to; };
        }
    }
    go_back(before);
    return expression(7);
}

// Where a number or P0 and a colon stand, a variable of a context; else a shared one.
Location Parser::location() {
    bool bracketed = skip("[");
    std::string context = isdigit(now_.is[0]) ? now_.is : context_of(now_.is);

    if (!bracketed && !context.empty()) {
        advance();
        need(":");
        size_t i = reg(context, now_.is);
        advance();
        return {true, i};
    }
    if (!bracketed)
        skip("*"); // herd writes *x as well as x
    if (!now_.is_word())
        expected("an expression");
    size_t v = variable(now_);
    advance();
    if (bracketed)
        need("]");
    return {false, v};
}

Expr Parser::location_value(const Location &l) {
    test_.observed.push_back(l);
    location_ = (l.is_register ? test_.registers : test_.variables)[l.index];
    return [l, n = *location_](Shared &s, Reg r) {
        if (l.is_register)
            return value_of(n, r[l.index]);
        return value_of(
            n, engine::Memory::read(reinterpret_cast<uint8_t *>(&s) + 8 * l.index, n.width));
    };
}

Expr Parser::condition_operand() {
    if (isdigit(now_.is[0])) {
        Mark before = mark();
        advance();
        bool is_context = is(":");
        go_back(before);
        if (!is_context)
            return [n = number()](Shared &, Reg) { return n; };
    }
    return location_value(location());
}

Condition Parser::condition() {
    in_condition_ = true;
    operands_left_ = most_in_condition;
    return [holds = proposition()](const Shared &s, const uint64_t *r) {
        Shared memory = s;
        std::array<uint64_t, registers> copy;
        std::copy_n(r, registers, copy.begin());
        return holds(memory, copy.data()) != 0;
    };
}

void Parser::locations() {
    need("[");
    while (!skip("]")) {
        test_.observed.push_back(location());
        if (now_.is_word()) { // its type
            type();
        } else {
            skip("*");
        }
        if (!is("]"))
            need(";");
    }
}

void Parser::quantifier() {
    if (skip("forall")) {
        test_.quantifier = Quantifier::forall;
    } else if (skip("~") || skip("not")) {
        need("exists");
        test_.quantifier = Quantifier::not_exists;
    } else if (!skip("exists") && !skip("final") && !is("(")) {
        expected("exists, ~exists or forall");
    }
}

void Parser::constraints() {
    for (;;) {
        if (skip("locations"))
            locations();
        else if (skip("filter"))
            test_.filter = condition();
        else
            break;
    }
    if (now_.is.empty()) { // as forall (true)
        test_.quantifier = Quantifier::forall;
        test_.outcome = [](const Shared &, const uint64_t *) { return true; };
        return;
    }
    quantifier();
    test_.outcome = condition();
    skip(";");
    if (!now_.is.empty())
        expected("the end");
}

// Before the contexts.

Parser::Initial Parser::initial_value() {
    Initial i{};

    refuse_wide();
    if (is_type()) {
        i.type = type();
    } else if (skip("*")) {
        i.type = Type{8, false, 1};
    }
    bool bracketed = skip("[");
    if (!bracketed && isdigit(now_.is[0])) {
        i.context = std::to_string(number());
        need(":");
    } else if (!bracketed && !context_of(now_.is).empty()) {
        i.context = context_of(now_.is);
        advance();
        need(":");
    }
    i.name = now_;
    word("a variable or '}'");
    if (is("["))
        fail("arrays are not supported: expected one variable for each element");
    if (bracketed)
        need("]");
    i.value = 0;
    if (!skip("="))
        return i;
    bool wrapped = skip("ATOMIC_INIT");
    if (wrapped)
        need("(");
    skip("&");
    if (now_.is_word()) {
        i.value.reset();
        i.pointee = now_;
        advance();
    } else {
        i.value = signed_number();
    }
    if (wrapped)
        need(")");
    return i;
}

void Parser::initial_values() {
    need("{");
    while (!skip("}")) {
        if (skip(";"))
            continue;
        initial_.push_back(initial_value());
        if (!is("}"))
            need(";");
    }
}

// The contexts may know better.
void Parser::assume(const Initial &i) {
    Type t = i.type.value_or(Type{8, true, i.value ? 0u : 1u});

    if (!i.context.empty()) {
        std::string name = i.context + ":" + i.name.is;
        declare(name, t);
        assumed_.insert(name);
    } else if (i.type) {
        share(t.named(i.name.is), i.name);
        assumed_.insert(i.name.is);
    }
}

void Parser::apply(const Initial &i) {
    uint64_t value = static_cast<uint64_t>(i.value ? *i.value : address_of(variable(i.pointee)));

    if (!i.context.empty()) {
        auto *r = find(test_.registers, i.context + ":" + i.name.is);
        if (!r)
            fail("P" + i.context + " has no variable " + i.name.is, i.name);
        test_.initial_r[static_cast<size_t>(r - test_.registers.data())] = cut(value, r->width);
        return;
    }
    size_t v = variable(i.name);
    Named &n = test_.variables[v];
    n.is_pointer |= !i.value;
    if (!i.value && n.width != 8)
        fail(i.name.is + " is too narrow for a pointer: expected a parameter such as int **" +
                 i.name.is,
             i.name);
    engine::Memory::write(reinterpret_cast<uint8_t *>(&test_.initial) + 8 * v, n.width, value);
}

// The name; herd's documentation string, here the source of the verdicts; other lines of its head.
void Parser::header() {
    size_t end = std::min(text_.find_first_of("\r\n"), text_.size());

    if (!text_.starts_with("C ") || end == 2)
        fail("expected 'C NAME'", here());
    test_.name = text_.substr(2, end - 2);
    while (test_.name.ends_with(' '))
        test_.name.pop_back();
    if (!std::ranges::all_of(test_.name, [](char c) { return c >= ' ' && c <= '~'; }))
        fail("expected a name in ASCII", here());
    at_ = end;
    advance();
    if (now_.is[0] == '"') {
        test_.source = now_.is.substr(1, now_.is.size() - 2);
        advance();
    }
    while (now_.is_word()) { // such as Cycle=Rfe PodRR Fre PodWW
        size_t line_end = std::min(text_.find('\n', at_), text_.size());
        if (text_.substr(at_, line_end - at_).find('=') == std::string::npos)
            expected("'{'");
        pass(line_end);
        advance();
    }
}

Litmus Parser::parse() {
    header();
    initial_values();
    for (const Initial &i : initial_)
        assume(i);
    do
        context();
    while (is("void") || !context_of(now_.is).empty());
    for (const Initial &i : initial_) { // herd knows variables of which no context has heard
        if (i.context.empty())
            share({i.name.is, 4, true}, i.name);
        if (!i.value)
            share({i.pointee.is, 4, true}, i.pointee);
    }
    for (const Initial &i : initial_)
        apply(i);
    *layout_ = test_.variables;
    constraints();
    resolve_verdicts();
    std::ranges::sort(test_.observed, {},
                      [](const Location &l) { return std::pair(!l.is_register, l.index); });
    auto twice = std::unique(test_.observed.begin(), test_.observed.end());
    test_.observed.erase(twice, test_.observed.end());
    return std::move(test_);
}

} // namespace

Litmus parse(const std::string &text, const std::string &file) {
    return Parser(text, file).parse();
}

} // namespace ol::litmus
