// SPDX-License-Identifier: MIT
#ifndef OL_ENGINE_MEMORY_H
#define OL_ENGINE_MEMORY_H
// The memory that locks and clients live in: real bytes in one arena. Freed memory is never reused
// within an execution, so a use after free is seen.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

namespace ol::engine {

using Clock = std::vector<uint32_t>; // a vector clock, by context

struct Object {
    const char *name;
    unsigned number; // among those of its name
    uint8_t *at;
    size_t size;
    enum State : uint8_t { live, pooled, freed } state = live;
    Clock touched; // each context's clock when it last looked at or wrote the object
};

// Who last read and wrote a plain datum.
struct History {
    uint32_t writer = 0, written = 0; // context and its clock; 0: nobody yet
    Clock read;
};

class Memory {
public:
    // Far from everything else and always the same, for TWA hashes addresses: a seed must replay.
    static constexpr uintptr_t base = 0x6f6c'0000'0000;

    static constexpr size_t usual_size = 1 << 20; // bytes

    explicit Memory(size_t bytes = usual_size);
    ~Memory();
    Memory(const Memory &) = delete;
    Memory &operator=(const Memory &) = delete;

    void reset(size_t contexts);
    Object &allocate(const char *name, size_t size);
    // What contexts allocate while they run: each in a lane of its own, so that where it is does
    // not depend on what others allocate. Null: the lane is full.
    static constexpr size_t lanes = 64, lane_bytes = 8192;
    Object *allocate_in(size_t lane, size_t size, size_t alignment);
    bool is_in_lane(const void *address) const;
    // Bytes that are somebody else's, beyond the arena, and outlast every execution: a context's
    // stack, a loaded program's variables.
    void adopt(const char *name, uint8_t *at, size_t size, bool is_stack = false);
    // All that is in use, but for the stacks.
    template <class Look> void each_part(Look look) const {
        look(std::span<const uint8_t>(arena_, used_));
        for (size_t i = 0; lanes_used_ >> i; i++)
            look(std::span<const uint8_t>(lane_at(i), lane_used_[i]));
        for (auto [at, size] : parts_)
            look(std::span<const uint8_t>(at, size));
    }
    Object *find(const void *address); // null if it is in no object
    std::string describe(const void *address);
    std::span<const uint8_t> used() const { return {arena_, used_}; }
    std::span<uint8_t> used() { return {arena_, used_}; }
    std::span<uint8_t> used_of_lane(size_t lane) { return {lane_at(lane), lane_used_[lane]}; }

    static uint64_t read(const uint8_t *p, size_t width);
    static void write(uint8_t *p, size_t width, uint64_t v);

    History &history(const void *datum);

private:
    static constexpr size_t line = 128;

    Object &add(const char *name, uint8_t *at, size_t size);
    void clear_lanes();
    // The upper part of the arena; nothing is there unless a context allocates.
    uint8_t *lane_at(size_t lane) const { return arena_ + size_ - (lanes - lane) * lane_bytes; }

    uint8_t *arena_;
    size_t size_, used_ = 0;
    size_t contexts_ = 0;
    std::vector<Object> objects_; // reused from execution to execution; the first count_ are valid
    size_t count_ = 0;
    std::vector<uint32_t> object_of_line_;
    std::array<size_t, lanes> lane_used_{};
    uint64_t lanes_used_ = 0; // a bit for each
    std::vector<Object> adopted_;
    std::vector<std::pair<const uint8_t *, size_t>> parts_; // of those, that are no stacks
    std::vector<std::pair<const void *, History>> histories_;
    size_t history_count_ = 0;
};

inline uint64_t Memory::read(const uint8_t *p, size_t width) {
    switch (width) { // fixed sizes become single moves
    case 1:
        return *p;
    case 2: {
        uint16_t v;
        memcpy(&v, p, 2);
        return v;
    }
    case 4: {
        uint32_t v;
        memcpy(&v, p, 4);
        return v;
    }
    default: {
        uint64_t v;
        memcpy(&v, p, 8);
        return v;
    }
    }
}

inline void Memory::write(uint8_t *p, size_t width, uint64_t v) {
    auto v32 = static_cast<uint32_t>(v);
    auto v16 = static_cast<uint16_t>(v);

    switch (width) {
    case 1:
        *p = static_cast<uint8_t>(v);
        break;
    case 2:
        memcpy(p, &v16, 2);
        break;
    case 4:
        memcpy(p, &v32, 4);
        break;
    default:
        memcpy(p, &v, 8);
    }
}

} // namespace ol::engine
#endif
