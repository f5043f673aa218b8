// SPDX-License-Identifier: MIT
#ifndef OL_SIM_PAGES_H
#define OL_SIM_PAGES_H
// An array of which most is never touched: a part is made when it is first asked for, so that short
// runs do not pay for all memory.
#include <cstddef>
#include <memory>
#include <vector>

namespace ol::simulator {

template <class T> class Pages {
public:
    explicit Pages(size_t size) : size_(size), pages_((size + length - 1) / length) {}

    size_t size() const { return size_; }
    T &operator[](size_t i) {
        auto &page = pages_[i / length];
        if (!page)
            make(page);
        return page[i % length];
    }

private:
    static constexpr size_t length = 256;

    [[gnu::cold]] void make(std::unique_ptr<T[]> &page) { page = std::make_unique<T[]>(length); }

    const size_t size_;
    std::vector<std::unique_ptr<T[]>> pages_;
};

} // namespace ol::simulator
#endif
