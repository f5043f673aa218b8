// SPDX-License-Identifier: MIT
#include "report.h"

namespace ol::engine {

const char *name_of(Wrong what) {
    switch (what) {
    case Wrong::none:
        return "none";
    case Wrong::exclusion:
        return "exclusion";
    case Wrong::lost_update:
        return "lost update";
    case Wrong::unordered:
        return "not ordered by happens-before";
    case Wrong::after_free:
        return "use after release";
    case Wrong::wild:
        return "wild access";
    case Wrong::deadlock:
        return "deadlock";
    case Wrong::lost_wakeup:
        return "lost wake-up";
    case Wrong::livelock:
        return "livelock";
    case Wrong::try_waits:
        return "trylock waits";
    case Wrong::try_fails:
        return "trylock fails on a free lock";
    case Wrong::lies:
        return "is_locked lies";
    case Wrong::misuse:
        return "misuse of the platform layer";
    case Wrong::unnoticed:
        return "overtaken unnoticed";
    case Wrong::unusable:
        return "idle lock unusable";
    case Wrong::out_of_order:
        return "out of order";
    case Wrong::too_late:
        return "waits past its deadline";
    case Wrong::aborts:
        return "abort";
    case Wrong::unsupported:
        return "not supported by the checker";
    }
    return "?";
}

} // namespace ol::engine
