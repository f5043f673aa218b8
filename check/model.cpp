// SPDX-License-Identifier: MIT
#include "model.h"

#include <bit>

namespace ol::check {

const char *name_of(Model model) {
    switch (model) {
    case Model::sc:
        return "sc";
    case Model::tso:
        return "tso";
    case Model::c11:
        return "c11";
    }
    return "?";
}

uint64_t result_of(const Access &a, uint64_t old) {
    uint64_t mask = a.width == 8 ? ~uint64_t(0) : (uint64_t(1) << 8 * a.width) - 1;

    switch (a.op) {
    case Op::load:
        return old;
    case Op::xchg:
        return (a.changes ? a.changes->of(static_cast<uint32_t>(old)) : a.value) & mask;
    case Op::store:
        return a.value & mask;
    case Op::cas:
        return old == a.expected ? a.value & mask : old;
    case Op::add:
        return (old + a.value) & mask;
    case Op::bit_or:
        return old | (a.value & mask);
    case Op::bit_and:
        return old & a.value;
    case Op::bit_xor:
        return old ^ (a.value & mask);
    }
    return old;
}

namespace {

// The bytes that an operation can change, whatever it finds, as bits.
uint64_t can_change(const Access &a) {
    switch (a.op) {
    case Op::load:
        return 0;
    case Op::cas:
        return a.expected ^ a.value;
    case Op::add: // and the carry
        return a.value ? ~uint64_t(0) << std::countr_zero(a.value) : 0;
    case Op::bit_or:
    case Op::bit_xor:
        return a.value;
    case Op::bit_and:
        return ~a.value;
    case Op::store:
    case Op::xchg:
        break;
    }
    return ~uint64_t(0);
}

} // namespace

void touch(Footprint &f, const Access &a) {
    uint64_t changes = can_change(a) & ~uint64_t(0) >> (64 - 8 * a.width);

    if (a.op != Op::store)
        f.add(a.address(), a.width, false);
    if (!changes)
        return;
    int first = std::countr_zero(changes) / 8, last = (63 - std::countl_zero(changes)) / 8;
    f.add(a.address() + first, static_cast<size_t>(last - first + 1), true);
}

void MemoryModel::pending(const Access &a, Footprint &f) const {
    f.add(a.address(), a.width, a.op != Op::load);
}

Access MemoryModel::front(size_t) const {
    return {};
}

int MemoryModel::drain(size_t, Footprint &) {
    return Search::none;
}

void Watch::reset(size_t contexts) {
    seen_.resize(contexts);
    for (auto &s : seen_)
        s.clear();
    twice_.assign(contexts, false);
}

void Watch::saw(size_t me, const Access &a, uint64_t read, uint64_t left) {
    const uint8_t *at = a.address();

    for (Seen &s : seen_[me])
        if (s.at == at && s.width == a.width) {
            if (a.op != Op::store && s.value != read)
                twice_[me] = true;
            s.value = left;
            return;
        }
    seen_[me].push_back({at, a.width, left});
}

void Watch::add_to(Footprint &f, size_t me) const {
    for (const Seen &s : seen_[me])
        f.add(s.at, s.width, false);
}

const Seen *Watch::last(size_t me, const Access &a) const {
    for (const Seen &s : seen_[me])
        if (s.at == a.address() && s.width == a.width)
            return &s;
    return nullptr;
}

void Watch::clear(size_t me) {
    seen_[me].clear();
    twice_[me] = false;
}

} // namespace ol::check
