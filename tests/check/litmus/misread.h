// SPDX-License-Identifier: MIT
#ifndef OL_LITMUS_MISREAD_H
#define OL_LITMUS_MISREAD_H
// Tests whose conditions are taken for others.
#include <check/litmus/litmus.h>

namespace ol::litmus {

enum class Misreading : uint8_t {
#define OL_MISREADING(id, what) id,
#include "misreadings.def"
#undef OL_MISREADING
};

struct NamedMisreading {
    Misreading misreading;
    const char *name, *what;
};
extern const std::vector<NamedMisreading> misreadings;

Litmus misread(Litmus test, Misreading m);

} // namespace ol::litmus
#endif
