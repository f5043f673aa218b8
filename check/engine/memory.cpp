// SPDX-License-Identifier: MIT
#include "memory.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <sys/mman.h>

namespace ol::engine {

Memory::Memory(size_t bytes) : size_(bytes), object_of_line_(bytes / line) {
    void *p = mmap(reinterpret_cast<void *>(base), bytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

    if (p == MAP_FAILED)
        throw std::bad_alloc();
    arena_ = static_cast<uint8_t *>(p);
}

Memory::~Memory() {
    munmap(arena_, size_);
}

void Memory::reset(size_t contexts) {
    memset(arena_, 0, used_);
    clear_lanes();
    used_ = 0;
    count_ = 0;
    history_count_ = 0;
    contexts_ = contexts;
    for (Object &o : adopted_)
        o.touched.assign(contexts_, 0);
}

Object &Memory::allocate(const char *name, size_t size) {
    uint8_t *end = lanes_used_ ? lane_at(0) : arena_ + size_;

    if (arena_ + used_ + size + line > end)
        throw std::bad_alloc();
    Object &o = add(name, arena_ + used_, size);
    used_ += (size + line - 1) / line * line;
    return o;
}

Object &Memory::add(const char *name, uint8_t *at, size_t size) {
    unsigned number = 0;

    for (size_t i = 0; i < count_; i++)
        number += strcmp(objects_[i].name, name) == 0;
    if (count_ == objects_.size())
        objects_.emplace_back();
    Object &o = objects_[count_++];
    o.name = name;
    o.number = number;
    o.at = at;
    o.size = size;
    o.state = Object::live;
    o.touched.assign(contexts_, 0);
    size_t first = static_cast<size_t>(at - arena_) / line;
    for (size_t i = 0; i * line < size; i++)
        object_of_line_[first + i] = static_cast<uint32_t>(count_ - 1);
    return o;
}

void Memory::clear_lanes() {
    for (size_t i = 0; lanes_used_; i++, lanes_used_ >>= 1) {
        memset(lane_at(i), 0, lane_used_[i]);
        lane_used_[i] = 0;
    }
}

bool Memory::is_in_lane(const void *address) const {
    auto *at = static_cast<const uint8_t *>(address);
    if (!lanes_used_ || at < lane_at(0) || at >= arena_ + size_)
        return false;
    auto lane = static_cast<size_t>(at - lane_at(0)) / lane_bytes;
    return at < lane_at(lane) + lane_used_[lane];
}

Object *Memory::allocate_in(size_t lane, size_t size, size_t alignment) {
    size_t unit = std::max(alignment, line);
    size_t before = lane_used_[lane], from = (before + unit - 1) / unit * unit;

    if (size > lane_bytes || from + size > lane_bytes || arena_ + used_ > lane_at(0))
        return nullptr;
    lanes_used_ |= uint64_t(1) << lane;
    lane_used_[lane] = from + (size + line - 1) / line * line;
    Object &o = add("allocated memory", lane_at(lane) + from, size);
    for (size_t gap = before; gap < from; gap += line)
        object_of_line_[static_cast<size_t>(lane_at(lane) + gap - arena_) / line] =
            static_cast<uint32_t>(count_ - 1);
    return &o;
}

void Memory::adopt(const char *name, uint8_t *at, size_t size, bool is_stack) {
    unsigned number = 0;

    for (Object &o : adopted_)
        number += strcmp(o.name, name) == 0;
    adopted_.push_back({name, number, at, size, Object::live, Clock(contexts_, 0)});
    if (!is_stack)
        parts_.emplace_back(at, size);
}

Object *Memory::find(const void *address) {
    size_t at = reinterpret_cast<uintptr_t>(address) - base;

    for (Object &o : adopted_)
        if (static_cast<size_t>(static_cast<const uint8_t *>(address) - o.at) < o.size)
            return &o;
    if (at >= used_ && !is_in_lane(address))
        return nullptr;
    Object &o = objects_[object_of_line_[at / line]];
    return arena_ + at >= o.at && arena_ + at < o.at + o.size ? &o : nullptr;
}

std::string Memory::describe(const void *address) {
    char text[64];
    Object *o = find(address);

    if (!o) {
        snprintf(text, sizeof text, "%p", address);
        return text;
    }
    size_t at = static_cast<size_t>(static_cast<const uint8_t *>(address) - o->at);
    snprintf(text, sizeof text, o->number ? "%s %u" : "%s", o->name, o->number + 1);
    std::string s = text;
    if (at) {
        snprintf(text, sizeof text, "+%zu", at);
        s += text;
    }
    return s;
}

History &Memory::history(const void *datum) {
    for (size_t i = 0; i < history_count_; i++)
        if (histories_[i].first == datum)
            return histories_[i].second;
    if (history_count_ == histories_.size())
        histories_.emplace_back();
    auto &[at, h] = histories_[history_count_++];
    at = datum;
    h.writer = h.written = 0;
    h.read.assign(contexts_, 0);
    return h;
}

} // namespace ol::engine
