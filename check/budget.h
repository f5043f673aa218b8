// SPDX-License-Identifier: MIT
#ifndef OL_CHECK_BUDGET_H
#define OL_CHECK_BUDGET_H
// How often the adversary may do something to a context. Each kind and each context has its own
// account, so that spending from it depends on nobody else, and the bounded program is explored
// whole.
#include <array>
#include <cstddef>
#include <cstdint>

namespace ol::check {

enum class Budget : size_t {
#define OL_BUDGET(name, times, what) name,
#include "budgets.def"
#undef OL_BUDGET
    count
};
constexpr size_t budget_kinds = static_cast<size_t>(Budget::count);

struct Budgets {
    std::array<uint32_t, budget_kinds> left = {
#define OL_BUDGET(name, times, what) times,
#include "budgets.def"
#undef OL_BUDGET
    };
    uint32_t &operator[](Budget b) { return left[static_cast<size_t>(b)]; }
    uint32_t operator[](Budget b) const { return left[static_cast<size_t>(b)]; }
};

struct BudgetKind {
    const char *name, *what;
};
constexpr BudgetKind budget_list[] = {
#define OL_BUDGET(name, times, what) {#name, what},
#include "budgets.def"
#undef OL_BUDGET
};

} // namespace ol::check
#endif
