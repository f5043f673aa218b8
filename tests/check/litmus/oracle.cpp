// SPDX-License-Identifier: MIT
// SC and TSO; and what each fault is called.
#include "oracle.h"
#include "axioms.h"
#include "stage.h"

#include <deque>

namespace ol::litmus {

using engine::Op;

namespace {

class Sc : public Rules {
public:
    void begin(const Litmus &test, Choices &) override { memory_ = test.initial; }
    bool may_run(size_t, bool) override { return true; }
    std::vector<size_t> own_moves() override { return {}; }
    void own_move(size_t) override {}
    std::optional<uint64_t> access(const Touch &t) override {
        uint64_t old = read_bytes(memory_, t.at, t.width);
        if (t.writes(old))
            write_bytes(memory_, t.at, t.width, t.result(old));
        return old;
    }
    bool fence(size_t) override { return true; }
    Shared memory() override { return memory_; }
    void key(std::string &into) override {
        into.append(reinterpret_cast<const char *>(&memory_), sizeof memory_);
    }

protected:
    Shared memory_;
};

// Owens, Sarkar and Sewell 2009, section 3: the abstract machine. A locked instruction waits until
// its context's buffer is empty, which is the same as emptying it.
class Tso final : public Sc {
public:
    explicit Tso(Fault fault) : fault_(fault) {}

    void begin(const Litmus &test, Choices &choices) override {
        Sc::begin(test, choices);
        buffers_.assign(test.contexts.size(), {});
    }
    bool may_run(size_t who, bool drains) override {
        return !drains || buffers_[who].empty() || fault_ == Fault::tso_rmw_buffered ||
               fault_ == Fault::tso_fence_buffered || fault_ == Fault::tso_sc_store_buffered;
    }
    std::vector<size_t> own_moves() override;
    void own_move(size_t which) override;
    std::optional<uint64_t> access(const Touch &t) override;
    bool fence(size_t who) override {
        return fault_ == Fault::tso_fence_buffered || buffers_[who].empty();
    }
    void key(std::string &into) override;

private:
    struct Store {
        size_t at, width;
        uint64_t value;

        bool overlaps(size_t a, size_t w) const { return at < a + w && a < at + width; }
        bool same_cell(const Store &o) const { return at / 8 == o.at / 8; }
    };
    using Buffer = std::deque<Store>;

    bool may_leave(const Buffer &b, size_t i) const;
    bool must_wait(const Touch &t) const;
    uint64_t load(const Touch &t) const;

    Fault fault_;
    std::vector<Buffer> buffers_;
};

bool Tso::may_leave(const Buffer &b, size_t i) const {
    for (size_t k = 0; k < i; k++) {
        bool passes =
            !b[i].overlaps(b[k].at, b[k].width) &&
            fault_ == (b[i].same_cell(b[k]) ? Fault::tso_halves_reorder : Fault::tso_words_reorder);
        if (!passes)
            return false;
    }
    return true;
}

std::vector<size_t> Tso::own_moves() {
    std::vector<size_t> moves; // context and index in its buffer

    for (size_t who = 0; who < buffers_.size(); who++)
        for (size_t i = 0; i < buffers_[who].size(); i++)
            if (may_leave(buffers_[who], i))
                moves.push_back(who << 8 | i);
    return moves;
}

void Tso::own_move(size_t which) {
    Buffer &b = buffers_[which >> 8];
    auto i = b.begin() + static_cast<ptrdiff_t>(which & 255);

    write_bytes(memory_, i->at, i->width, i->value);
    b.erase(i);
}

uint64_t Tso::load(const Touch &t) const {
    Shared view = memory_;

    for (const Store &s : buffers_[t.who]) {
        bool whole = s.at <= t.at && s.at + s.width >= t.at + t.width;
        if (fault_ == Fault::tso_no_forwarding || (fault_ == Fault::tso_forwards_whole && !whole))
            continue;
        write_bytes(view, s.at, s.width, s.value);
    }
    return read_bytes(view, t.at, t.width);
}

bool Tso::must_wait(const Touch &t) const {
    if (fault_ != Fault::tso_half_drains)
        return false;
    for (const Store &s : buffers_[t.who])
        if (s.overlaps(t.at, t.width) && s.width < t.width)
            return true;
    return false;
}

std::optional<uint64_t> Tso::access(const Touch &t) {
    if (t.op == Op::load)
        return must_wait(t) ? std::nullopt : std::optional(load(t));
    bool is_locked = t.order == engine::Order::seq_cst && fault_ != Fault::tso_sc_store_buffered;
    if (t.op != Op::store || is_locked) {
        if (fault_ != Fault::tso_rmw_buffered && !buffers_[t.who].empty())
            return std::nullopt;
        return Sc::access(t);
    }
    if (fault_ == Fault::tso_torn_store && t.width == 4) {
        buffers_[t.who].push_back({t.at, 2, t.value & 0xffff});
        buffers_[t.who].push_back({t.at + 2, 2, t.value >> 16});
    } else {
        buffers_[t.who].push_back({t.at, t.width, t.value});
    }
    return 0;
}

void Tso::key(std::string &into) {
    Sc::key(into);
    for (const Buffer &b : buffers_) {
        for (const Store &s : b) {
            into += static_cast<char>(s.at);
            into += static_cast<char>(s.width);
            into.append(reinterpret_cast<const char *>(&s.value), 8);
        }
        into += '|';
    }
}

} // namespace

const std::vector<NamedFault> faults = {
#define OL_FAULT(id, model, what) {Fault::id, Model::model, #id, what},
#include "faults.def"
#undef OL_FAULT
};

std::set<State> all_outcomes(const Litmus &test, Model model, Fault fault) {
    Sc sc;
    Tso tso(fault);
    Axioms c11(fault);
    bool buffers = model == Model::tso ? fault != Fault::tso_no_buffer : fault == Fault::sc_buffers;
    Rules &rules = model == Model::c11 ? static_cast<Rules &>(c11) : buffers ? tso : sc;

    return Stage(test, rules).explore();
}

} // namespace ol::litmus
