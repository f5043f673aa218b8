// SPDX-License-Identifier: MIT
// The workloads' random numbers against C++'s and against theory. Seeds are fixed: no test here can
// fail by chance. Each measure is first shown a planted fault, which it must see.
#include <mt19937.h>
#include <random.h>
extern "C" {
#include <zipf.h>
}

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <vector>

namespace {

using Draw = std::function<uint64_t()>;

bool same_numbers(const std::function<uint32_t()> &ours, uint32_t seed) {
    std::mt19937 theirs(seed);

    for (int i = 0; i < 10 * MT19937_N; i++)
        if (ours() != theirs())
            return false;
    return true;
}

TEST(Mt19937, IsThatOfCpp) {
    for (uint32_t seed : {5489u, 0u, 1u, 0xffffffffu}) {
        mt19937 mt{};

        mt19937_seed(&mt, seed);
        EXPECT_FALSE(same_numbers([&] { return mt19937_next(&mt) ^ (mt.next == 623); }, seed));
        mt19937_seed(&mt, seed);
        EXPECT_TRUE(same_numbers([&] { return mt19937_next(&mt); }, seed)) << seed;
    }
}

TEST(Mt19937, AdvancesByThatManySteps) {
    mt19937 a{}, b{};

    mt19937_seed(&a, 7);
    mt19937_seed(&b, 7);
    for (uint32_t steps : {0u, 1u, 4u, 200u, 2000u}) {
        mt19937_advance(&a, steps);
        for (uint32_t i = 0; i < steps; i++)
            mt19937_next(&b);
        EXPECT_EQ(mt19937_next(&a), mt19937_next(&b)) << steps;
    }
}

constexpr int draws = 4'000'000;

// Drawn frequencies, in standard deviations of what is expected: the largest distance.
double distance(const Draw &draw, const std::vector<double> &chances) {
    std::vector<double> seen(chances.size());
    double most = 0;

    for (int i = 0; i < draws; i++)
        seen.at(draw())++;
    for (size_t k = 0; k < chances.size(); k++) {
        const double expected = draws * chances[k];
        if (expected >= 100)
            most = std::max(most, std::abs(seen[k] - expected) / std::sqrt(expected));
    }
    return most;
}

constexpr double credible = 4.5; // of some hundred frequencies, with these seeds

TEST(Mt19937, BelowIsUniform) {
    mt19937 mt{};
    const std::vector<double> chances(200, 1. / 200);

    mt19937_seed(&mt, 1);
    // Without 0, as a loop written from 1 would have it.
    EXPECT_GT(distance([&] { return mt19937_below(&mt, 199) + 1; }, chances), credible);
    EXPECT_LT(distance([&] { return mt19937_below(&mt, 200); }, chances), credible);
}

TEST(Random, NeighbouringSeedsAreUnrelated) {
    int ones = 0;

    for (uint64_t seed = 0; seed < 1000; seed++) {
        workload_random a{}, b{};
        workload_random_seed(&a, seed);
        workload_random_seed(&b, seed + 1);
        ones += __builtin_popcount(workload_random_next(&a) ^ workload_random_next(&b));
    }
    EXPECT_NEAR(ones / 32000., 0.5, 0.01);
}

struct Theory {
    workload_shape shape;
    const char *name;
    double (*beyond)(double x); // the chance of a length longer than x means
};

const Theory theories[] = {
    {WORKLOAD_FIXED, "fixed", [](double x) { return x < 1 ? 1. : 0.; }},
    {WORKLOAD_UNIFORM, "uniform", [](double x) { return std::max(0., 1 - x / 2); }},
    {WORKLOAD_EXPONENTIAL, "exponential", [](double x) { return std::exp(-x); }},
    {WORKLOAD_PARETO, "pareto",
     [](double x) {
         const double least = .999 / std::log(1000.), l = least / x;
         return x <= least ? 1. : x >= 1000 * least ? 0. : (l - .001) / .999;
     }},
};

constexpr uint32_t mean = 100'000;

// How far mean and tail are from theory, in standard deviations, and as a part of the mean.
struct Fit {
    double tail, mean;
};

Fit fit(const Draw &draw, const Theory &theory) {
    const std::vector<double> points = {.1, .2, .5, .9, 1.5, 1.9, 3, 5, 7, 10, 30, 100};
    std::vector<int> beyond(points.size());
    Fit result{0, 0};

    for (int i = 0; i < draws; i++) {
        const double length = static_cast<double>(draw()) / mean;
        result.mean += length / draws;
        for (size_t k = 0; k < points.size(); k++)
            beyond[k] += length > points[k];
    }
    for (size_t k = 0; k < points.size(); k++) {
        const double chance = theory.beyond(points[k]);
        const double sd = std::sqrt(draws * chance * (1 - chance)) + 1;
        result.tail = std::max(result.tail, std::abs(beyond[k] - draws * chance) / sd);
    }
    result.mean = std::abs(result.mean - 1);
    return result;
}

TEST(Length, HasTheMeanAndTheTailOfItsShape) {
    for (const Theory &theory : theories) {
        workload_random r{};
        workload_random_seed(&r, 1);
        const Draw draw = [&] { return workload_random_length(&r, theory.shape, mean); };
        const Fit cut = fit([&] { return std::min<uint64_t>(draw(), 9 * mean / 5); }, theory);
        const Fit longer = fit([&] { return draw() * 51 / 50; }, theory);
        const Fit whole = fit(draw, theory);

        if (theory.shape != WORKLOAD_FIXED) {
            EXPECT_GT(cut.tail, credible) << theory.name;
        }
        EXPECT_GT(longer.mean, .01) << theory.name;
        EXPECT_LT(whole.tail, credible) << theory.name;
        EXPECT_LT(whole.mean, .01) << theory.name;
    }
}

TEST(Length, OfNothingIsNothing) {
    workload_random r{};

    workload_random_seed(&r, 1);
    for (const Theory &theory : theories)
        for (int i = 0; i < 1000; i++)
            EXPECT_EQ(workload_random_length(&r, theory.shape, 0), 0u) << theory.name;
}

std::vector<double> zipf_chances(double s, uint32_t n) {
    std::vector<double> chances(n);
    double sum = 0;

    for (uint32_t k = 0; k < n; k++)
        sum += chances[k] = std::pow(k + 1., -s);
    for (double &chance : chances)
        chance /= sum;
    return chances;
}

TEST(Zipf, FrequenciesAreThoseOfTheLaw) {
    workload_random r{};

    workload_random_seed(&r, 1);
    for (uint32_t n : {1u, 2u, 3u, 64u, 10'000u})
        for (double s : {0., .5, .99, 1., 2.}) {
            std::vector<workload_choice> table(n);
            ASSERT_TRUE(zipf_fill(table.data(), n, s));
            const Draw draw = [&] {
                return static_cast<uint64_t>(workload_random_choice(&r, table.data(), n));
            };
            if (n > 1) {
                EXPECT_GT(distance(draw, zipf_chances(s + .05, n)), credible) << n << ' ' << s;
            }
            EXPECT_LT(distance(draw, zipf_chances(s, n)), credible) << n << ' ' << s;
        }
}

} // namespace
