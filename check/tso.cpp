// SPDX-License-Identifier: MIT
// x86-TSO (Sewell, Sarkar, Owens, Zappa Nardelli, Myreen: CACM 53(7), 2010), byte by byte: stores
// wait in a first-in first-out buffer of their context, whose loads see them there and the other
// bytes in memory; locked instructions and fences wait until it is empty.
#include "model.h"

#include <deque>

namespace ol::check {

namespace {

struct Store {
    Access access;
    int step; // that issued it
};

class Tso final : public MemoryModel {
public:
    explicit Tso(Search *&search) : search_(search) {}

    void reset(size_t contexts) override {
        watch_.reset(contexts);
        buffers_.resize(contexts);
        for (auto &b : buffers_)
            b.clear();
    }

    uint64_t access(size_t me, const Access &a, Order, Footprint &f) override {
        if (is_silent(a)) {
            buffers_[me].push_back({a, search_->last_step_of(static_cast<Process>(me))});
            watch_.saw(me, a, result_of(a, 0), result_of(a, 0));
            return 0;
        }
        uint64_t old = look(me, a.address(), a.width), left = result_of(a, old);
        touch(f, a);
        if (left != old)
            Memory::write(a.address(), a.width, left);
        watch_.saw(me, a, old, left);
        return old;
    }

    void fence(size_t, Footprint &) override {}

    void pending(const Access &a, Footprint &f) const override {
        if (!is_silent(a))
            touch(f, a);
    }

    // A sequentially consistent store is a locked instruction.
    bool is_silent(const Access &a) const override {
        return a.op == Op::store && !a.at_once && a.order != Order::seq_cst;
    }

    std::string plain(size_t me, const Access &a, uint64_t &value, Footprint &f) override {
        value = access(me, a, Order::relaxed, f);
        return {};
    }

    bool buffers(size_t me) const override { return !buffers_[me].empty(); }
    Access front(size_t me) const override { return buffers_[me].front().access; }

    int drain(size_t me, Footprint &f) override {
        Store s = buffers_[me].front();
        uint8_t *at = s.access.address();
        uint64_t left = result_of(s.access, 0);

        buffers_[me].pop_front();
        touch(f, s.access);
        Memory::write(at, s.access.width, left);
        return s.step;
    }

    void forget(size_t me) override { buffers_[me].clear(); }

    bool sees_change(size_t me) const override {
        return watch_.changed(me, [&](const Seen &s) { return look(me, s.at, s.width); });
    }
    void watched(size_t me, Footprint &f) const override { watch_.add_to(f, me); }
    void look_afresh(size_t me) override { watch_.clear(me); }
    void disturb(size_t me) override { watch_.disturb(me); }
    // A locked instruction also empties the buffer.
    std::optional<uint64_t> finds_again(size_t me, const Access &a) const override {
        if (a.op == Op::store || (is_rmw(a.op) && buffers(me)))
            return {};
        return watch_.found(me, a, [&](const Seen &s) { return look(me, s.at, s.width); });
    }
    const std::vector<Seen> &seen(size_t me) const override { return watch_.seen(me); }
    Watch *watch() override { return &watch_; }

    // Its own buffered bytes, newest first, over those in memory.
    uint64_t look(size_t me, const uint8_t *at, size_t width) const override {
        uint64_t value = Memory::read(at, width);

        for (const Store &s : buffers_[me]) {
            const uint8_t *stored = s.access.address();
            for (size_t i = 0; i < s.access.width; i++) {
                auto lane = static_cast<size_t>(stored + i - at);
                if (stored + i < at || lane >= width)
                    continue;
                value &= ~(uint64_t(0xff) << 8 * lane);
                value |= (s.access.value >> 8 * i & 0xff) << 8 * lane;
            }
        }
        return value;
    }

private:
    Search *&search_;
    Watch watch_;
    std::vector<std::deque<Store>> buffers_;
};

} // namespace

std::unique_ptr<MemoryModel> make_tso(Memory &, Search *&search) {
    return std::make_unique<Tso>(search);
}

} // namespace ol::check
