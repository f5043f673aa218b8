// SPDX-License-Identifier: MIT
// overlock-sim: a scenario as JSON from standard input, its results as JSON to standard output.
#include "results.h"
#include "simulation.h"

#include <csignal>
#include <iostream>
#include <sys/prctl.h>

int main() {
    using namespace ol::simulator;

    prctl(PR_SET_PDEATHSIG, SIGKILL); // nobody reads the answer any more
    try {
        Scenario scenario = read_scenario(std::cin);
        Simulation simulation(scenario);
        simulation.run();
        write_results(simulation, std::cout);
    } catch (const BadScenario &bad) {
        std::cerr << "overlock-sim: " << bad.what() << "\n";
        return 2;
    } catch (const std::bad_alloc &) {
        std::cerr << "overlock-sim: out of memory\n";
        return 1;
    }
    return 0;
}
