// SPDX-License-Identifier: MIT
// Sequential consistency: one memory, every access at once.
#include "model.h"

namespace ol::check {

namespace {

class Sc final : public MemoryModel {
public:
    void reset(size_t contexts) override { watch_.reset(contexts); }

    uint64_t access(size_t me, const Access &a, Order, Footprint &f) override {
        uint64_t old = Memory::read(a.address(), a.width), left = result_of(a, old);

        touch(f, a);
        if (left != old)
            Memory::write(a.address(), a.width, left);
        watch_.saw(me, a, old, left);
        return old;
    }

    void pending(const Access &a, Footprint &f) const override { touch(f, a); }

    void fence(size_t, Footprint &) override {}

    std::string plain(size_t me, const Access &a, uint64_t &value, Footprint &f) override {
        value = access(me, a, Order::relaxed, f);
        return {};
    }

    bool sees_change(size_t me) const override {
        return watch_.changed(me, [](const Seen &s) { return Memory::read(s.at, s.width); });
    }
    void watched(size_t me, Footprint &f) const override { watch_.add_to(f, me); }
    void look_afresh(size_t me) override { watch_.clear(me); }
    void disturb(size_t me) override { watch_.disturb(me); }
    std::optional<uint64_t> finds_again(size_t me, const Access &a) const override {
        if (a.op == Op::store)
            return {};
        return watch_.found(me, a, [](const Seen &s) { return Memory::read(s.at, s.width); });
    }
    const std::vector<Seen> &seen(size_t me) const override { return watch_.seen(me); }
    Watch *watch() override { return &watch_; }
    uint64_t look(size_t, const uint8_t *at, size_t width) const override {
        return Memory::read(at, width);
    }

private:
    Watch watch_;
};

} // namespace

std::unique_ptr<MemoryModel> make_sc(Memory &) {
    return std::make_unique<Sc>();
}

} // namespace ol::check
