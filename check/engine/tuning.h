// SPDX-License-Identifier: MIT
#ifndef OL_ENGINE_TUNING_H
#define OL_ENGINE_TUNING_H
// What a run is tuned to unless it says otherwise: tunables.def's defaults, a nanosecond being a
// tick.
#include <overlock/port.h>

namespace ol::engine {

inline ol_tuning presets() {
    return {
#define OL_TUNABLE(name, unit, preset, ...) .name = preset,
#include <overlock/tunables.def>
#undef OL_TUNABLE
    };
}

} // namespace ol::engine
#endif
