// SPDX-License-Identifier: MIT
#ifndef OL_SIM_ONE_WORLD_H
#define OL_SIM_ONE_WORLD_H
// The simulator's locks and workloads call their world directly, and most of what they ask becomes
// a part of their own code. port/sim.h includes this.
#include "simulation.h"

#define OL_WORLD (::ol::simulator::Simulation::here())
#endif
