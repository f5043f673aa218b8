// SPDX-License-Identifier: MIT
#include "misread.h"

namespace ol::litmus {

const std::vector<NamedMisreading> misreadings = {
#define OL_MISREADING(id, what) {Misreading::id, #id, what},
#include "misreadings.def"
#undef OL_MISREADING
};

Litmus misread(Litmus test, Misreading m) {
    auto take = [&](Quantifier from, Quantifier to) {
        if (test.quantifier == from)
            test.quantifier = to;
    };

    switch (m) {
    case Misreading::filter_ignored:
        test.filter = nullptr;
        break;
    case Misreading::filter_is_inverted:
        if (test.filter)
            test.filter = [right = test.filter](const Shared &s, const uint64_t *r) {
                return !right(s, r);
            };
        break;
    case Misreading::forall_is_exists:
        take(Quantifier::forall, Quantifier::exists);
        break;
    case Misreading::exists_is_forall:
        take(Quantifier::exists, Quantifier::forall);
        break;
    case Misreading::not_exists_is_exists:
        take(Quantifier::not_exists, Quantifier::exists);
        break;
    case Misreading::not_exists_is_forall:
        take(Quantifier::not_exists, Quantifier::forall);
        break;
    }
    return test;
}

} // namespace ol::litmus
