// SPDX-License-Identifier: MIT
#ifndef OL_SIM_RESULTS_H
#define OL_SIM_RESULTS_H
#include "simulation.h"

#include <ostream>

namespace ol::simulator {

// As JSON: times in ns, lengths as [least, number] pairs.
void write_results(const Simulation &simulation, std::ostream &out);

} // namespace ol::simulator
#endif
