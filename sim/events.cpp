// SPDX-License-Identifier: MIT
#include "events.h"

namespace ol::simulator {

bool Events::next() {
    Timer *t = first();

    if (!t)
        return false;
    begins(*t);
    t->happens_();
    return true;
}

} // namespace ol::simulator
