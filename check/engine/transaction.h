// SPDX-License-Identifier: MIT
#ifndef OL_ENGINE_TRANSACTION_H
#define OL_ENGINE_TRANSACTION_H
// One context's hardware transaction, as RTM has them: what it read and what it wrote, by lines of
// 64 bytes, and a log of its writes, which nobody else sees before it commits. It knows no world.
// Of every access of any context the world asks all other transactions whether it conflicts, and
// aborts those at once: the later access wins, so that what a transaction has read is always one
// state of memory. The way back to ol_htm_begin() is Context::mark().
//
//      if (!t.read(p, width)) ... no room: abort
//      old = t.merged(p, width, what memory holds)
//      if (!t.write(p, width)) ... no room: abort
//      t.store(p, width, v)
//      if (t.commit()) t.publish()
#include <cstddef>
#include <cstdint>
#include <vector>

namespace ol::engine {

class Transaction {
public:
    static constexpr size_t line_bytes = 64;

    // Why one was aborted: RTM's bits, of which ol_htm_begin() returns several. None of them
    // stands for an interrupt, a fault or an instruction that cannot be taken back.
    static constexpr unsigned unknown = 0;
    static constexpr unsigned explicitly = 1 | 255u << 24; // as port/user.h has it
    static constexpr unsigned retry = 1 << 1;              // it may succeed next time
    static constexpr unsigned conflict = 1 << 2;
    static constexpr unsigned capacity = 1 << 3;
    static constexpr unsigned nested = 1 << 5; // in one within another

    // Lines that fit; nothing does where transactions are absent. First the level-1 cache of most
    // CPUs that had RTM: 32 KiB.
    struct Capacity {
        size_t read = 512, written = 512;
    };

    struct Line {
        uint8_t *at;
        uint64_t read, written;    // a bit for each byte: of memory's, and of its own
        bool is_read, is_owned;    // in the read set, in the write set
        uint8_t bytes[line_bytes]; // the written ones
    };

    void forget();                 // for another execution
    void begin(Capacity capacity); // within another one it is part of that
    bool commit();                 // true: it was the outermost, and is over
    void publish() const;          // after that: all that it wrote, into memory
    void abort(unsigned cause);    // all of it is forgotten, however deep
    bool active() const { return depth_ > 0; }
    bool is_nested() const { return depth_ > 1; }
    unsigned status() const { return status_; }   // of the last abort
    void set_owner(const void *p) { owner_ = p; } // its context's; in no set
    const void *owner() const { return owner_; }

    // Of the context itself. Takes these bytes into a set; false if it is full.
    [[nodiscard]] bool read(const uint8_t *p, size_t width);
    [[nodiscard]] bool write(const uint8_t *p, size_t width);
    uint64_t merged(const uint8_t *p, size_t width, uint64_t memory) const;
    void store(const uint8_t *p, size_t width, uint64_t v); // what write() took

    // Of another context: must this one give way?
    bool conflicts(const uint8_t *p, size_t width, bool writes) const;

    // Also after commit().
    const std::vector<Line> &lines() const { return lines_; }
    bool wrote(const uint8_t *p, size_t width) const; // all of these bytes

private:
    Line &line_of(const uint8_t *p);
    const Line *find(const uint8_t *p) const;

    unsigned depth_ = 0, status_ = unknown;
    const void *owner_ = nullptr;
    Capacity capacity_;
    size_t read_ = 0, owned_ = 0; // lines
    std::vector<Line> lines_;
};

} // namespace ol::engine
#endif
