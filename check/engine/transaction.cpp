// SPDX-License-Identifier: MIT
#include "transaction.h"
#include "memory.h"

namespace ol::engine {

namespace {

size_t place_in_line(const uint8_t *p) {
    return reinterpret_cast<uintptr_t>(p) % Transaction::line_bytes;
}

uint64_t bit(const uint8_t *p) {
    return uint64_t(1) << place_in_line(p);
}

} // namespace

void Transaction::forget() {
    depth_ = 0;
    lines_.clear();
}

void Transaction::begin(Capacity capacity) {
    if (depth_++ > 0)
        return;
    capacity_ = capacity;
    owner_ = nullptr;
    read_ = owned_ = 0;
    lines_.clear();
}

bool Transaction::commit() {
    return --depth_ == 0;
}

void Transaction::publish() const {
    for (const Line &l : lines_)
        for (size_t i = 0; i < line_bytes; i++)
            if (l.written >> i & 1)
                l.at[i] = l.bytes[i];
}

void Transaction::abort(unsigned cause) {
    status_ = cause | (is_nested() ? nested : 0);
    depth_ = 0;
    lines_.clear();
}

const Transaction::Line *Transaction::find(const uint8_t *p) const {
    const uint8_t *at = p - place_in_line(p);

    for (const Line &l : lines_)
        if (l.at == at)
            return &l;
    return nullptr;
}

Transaction::Line &Transaction::line_of(const uint8_t *p) {
    if (const Line *l = find(p))
        return const_cast<Line &>(*l);
    lines_.push_back({const_cast<uint8_t *>(p - place_in_line(p)), 0, 0, false, false, {}});
    return lines_.back();
}

bool Transaction::read(const uint8_t *p, size_t width) {
    for (const uint8_t *b = p; b < p + width; b++) {
        Line &l = line_of(b);
        read_ += !l.is_read;
        l.is_read = true;
        l.read |= bit(b) & ~l.written;
    }
    return read_ <= capacity_.read;
}

bool Transaction::write(const uint8_t *p, size_t width) {
    for (const uint8_t *b = p; b < p + width; b++) {
        Line &l = line_of(b);
        owned_ += !l.is_owned;
        l.is_owned = true;
    }
    return owned_ <= capacity_.written;
}

uint64_t Transaction::merged(const uint8_t *p, size_t width, uint64_t memory) const {
    uint8_t bytes[sizeof memory];

    Memory::write(bytes, width, memory);
    for (size_t i = 0; i < width; i++) {
        const Line *l = find(p + i);
        if (l && l->written & bit(p + i))
            bytes[i] = l->bytes[place_in_line(p + i)];
    }
    return Memory::read(bytes, width);
}

void Transaction::store(const uint8_t *p, size_t width, uint64_t v) {
    uint8_t bytes[sizeof v];

    Memory::write(bytes, width, v);
    for (size_t i = 0; i < width; i++) {
        Line &l = line_of(p + i);
        l.bytes[place_in_line(p + i)] = bytes[i];
        l.written |= bit(p + i);
    }
}

bool Transaction::wrote(const uint8_t *p, size_t width) const {
    for (const uint8_t *b = p; b < p + width; b++) {
        const Line *l = find(b);
        if (!l || !(l->written & bit(b)))
            return false;
    }
    return true;
}

bool Transaction::conflicts(const uint8_t *p, size_t width, bool writes) const {
    const uint8_t *first = p - place_in_line(p);

    for (const Line &l : lines_)
        if (l.at >= first && l.at < p + width && (writes || l.is_owned))
            return true;
    return false;
}

} // namespace ol::engine
