// SPDX-License-Identifier: MIT
#ifndef OL_CHECK_STAGE_H
#define OL_CHECK_STAGE_H
// A way of waiting as a subject: its header's functions, and scenarios in which contexts use them.
#include <check/world.h>

#include <memory>
#include <numeric>

namespace ol::check {

// What the contexts of one execution share. A scenario is a class made from it.
class Stage {
public:
    Stage(World &world, size_t contexts, unsigned rounds, void *object, size_t size)
        : contexts(contexts), rounds(rounds), world_(world), object_(object), size_(size) {}
    virtual ~Stage() = default;

    virtual void set_up() {}
    virtual void play(size_t me) = 0; // each context
    virtual void finish() {}          // from outside, when all are done

protected:
    template <class T> T *object() const {
        if (sizeof(T) > size_)
            throw std::logic_error("the object is larger than its subject says");
        return static_cast<T *>(object_);
    }
    // Plain memory, in which unordered accesses are failures.
    uint64_t read(size_t i, int line = __builtin_LINE()) {
        return world_.plain_read(datum(i), {__builtin_FILE(), line});
    }
    void write(size_t i, uint64_t v, int line = __builtin_LINE()) {
        world_.plain_write(datum(i), v, {__builtin_FILE(), line});
    }
    uint64_t *datum(size_t i) { return data_ + i; }
    // Atomic words of the program itself, zero at first.
    uint32_t *word(size_t i) { return words_ + i; }
    void free_object(int line = __builtin_LINE()) {
        world_.free(object_, {__builtin_FILE(), line});
    }
    void expect(bool holds, Wrong what, const char *otherwise) {
        if (!holds)
            world_.fail(what, otherwise);
    }
    ol_ticks_t soon() { return ol_after(1, 100); } // when that is, is up to the adversary
    // Calls `wait` with deadlines until it says that it did not time out. `strictly`: it must not
    // wait beyond one.
    template <class Wait> void insist(Wait wait, bool strictly = true) {
        for (;;) {
            ol_ticks_t until = soon();
            world_.begin_timed(until, strictly);
            bool got = wait(until);
            if (!world_.end_timed() && !got)
                world_.fail(Wrong::lies, "it times out before its deadline");
            if (got)
                return;
        }
    }

    const size_t contexts;
    const unsigned rounds;

private:
    friend class WaitClient;
    World &world_;
    void *object_;
    size_t size_;
    uint64_t *data_ = nullptr;
    uint32_t *words_ = nullptr;
};

struct WaitScenario {
    const char *name, *what;
    std::unique_ptr<Stage> (*make)(World &, size_t contexts, unsigned rounds, void *, size_t);
    bool by_clock; // a deadline ends a sleep; elsewhere one that nothing else ends is a failure
};

template <class S>
constexpr WaitScenario scenario(const char *name, const char *what, bool by_clock = false) {
    return {name, what,
            [](World &w, size_t contexts, unsigned rounds, void *o, size_t size) {
                return std::unique_ptr<Stage>(new S(w, contexts, rounds, o, size));
            },
            by_clock};
}

struct WaitSubject {
    const char *id;
    size_t size;
    std::span<const WaitScenario> scenarios;
};

} // namespace ol::check

// What the file of one subject exports: OL_WAIT_SUBJECT(id, size of its object, scenarios...).
#define OL_WAIT_SUBJECT(id, size, ...)                                                             \
    static constexpr ::ol::check::WaitScenario scenarios_of_##id[] = {__VA_ARGS__};                \
    extern "C" const ::ol::check::WaitSubject ol_waits_##id;                                       \
    const ::ol::check::WaitSubject ol_waits_##id = {#id, size, scenarios_of_##id}
#endif
