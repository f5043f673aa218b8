// SPDX-License-Identifier: MIT
// overlock-litmus: runs litmus tests in the model checker, for `overlock check FILE.litmus`.
#include "judge.h"

#include <check/engine/memory.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

namespace ol::litmus {
namespace {

using Json = nlohmann::ordered_json;

enum Code { fine = 0, violated = 1, bad_usage = 2, unfinished = 3 };

struct Options {
    std::vector<std::string> files, models;
    double seconds = 60;
};

std::string shown(const Litmus &test, const Named &n, uint64_t value) {
    constexpr uint64_t base = first_address;
    uint64_t at = (value - base) / 8;

    if (n.is_pointer && value >= base && value % 8 == 0 && at < test.variables.size())
        return test.variables[at].name;
    unsigned unused = 64 - 8 * n.width;
    if (n.is_signed)
        return std::to_string(static_cast<int64_t>(value << unused) >> unused);
    return std::to_string(value << unused >> unused);
}

// What the file observes of an outcome, in herd's words.
std::string text_of_observed(const Litmus &test, const State &state) {
    std::string text;

    for (const Location &l : test.observed) {
        const Named &n = (l.is_register ? test.registers : test.variables)[l.index];
        std::string name = l.is_register ? n.name : "[" + n.name + "]";
        uint64_t value = (l.is_register ? state.r[l.index] : state.memory[l.index]);
        text += (text.empty() ? "" : " ") + name + "=" + shown(test, n, value) + ";";
    }
    return text;
}

// Outcomes that differ only in values that are not observed are one.
Json states_of(const Litmus &test, const Explored &found) {
    struct Seen {
        uint64_t executions = 0;
        bool holds = false;
    };
    std::map<std::string, Seen> all;
    Json list = Json::array();

    for (auto &[state, count] : found.counts)
        if (passes(test, state)) {
            Seen &s = all[text_of_observed(test, state)];
            s.executions += count;
            s.holds |= shows(test, state);
        }
    for (auto &[text, s] : all)
        list.push_back({{"state", text}, {"executions", s.executions}, {"holds", s.holds}});
    return list;
}

// "allowed" and "forbidden" are about the proposition, "holds" and "violated" about a forall.
const char *verdict(const Litmus &test, Model model, const Judgement &j, const Explored &found) {
    bool for_all = test.quantifier == Quantifier::forall;

    if (j.found)
        return for_all ? "violated" : "allowed";
    if (!found.exhausted || found.cut || (model == Model::c11 && may_buffer_loads(test)))
        return "not found";
    return for_all ? "holds" : "forbidden";
}

Json limits_of(const Litmus &test, Model model, const Judgement &j, const Explored &found) {
    Json limits = Json::array();

    if (!found.exhausted)
        limits.push_back("not exhausted: time was up");
    if (!j.found && model == Model::c11 && may_buffer_loads(test))
        limits.push_back("this model has no load buffering");
    if (found.cut)
        limits.push_back("executions with more than " + std::to_string(most_rounds) +
                         " rounds of a loop are left out");
    if (found.has_race)
        limits.push_back("a data race of plain accesses: undefined behaviour in C");
    return limits;
}

Json result_of(const Litmus &test, Model model, const Options &o, Code &code) {
    check::Limits limits;
    Json result{{"model", model_names[static_cast<size_t>(model)]}};

    if (o.seconds > 0)
        limits.seconds = o.seconds;
    Explored found = explore(test, model, limits);
    if (!found.failure.empty())
        throw std::invalid_argument(found.failure);
    Judgement j = judge(test, found.counts);
    bool settled = j.found || found.exhausted;
    result["verdict"] = verdict(test, model, j, found);
    result["ok"] = j.ok;
    result["observation"] = j.observation();
    result["positive"] = j.positive;
    result["negative"] = j.negative;
    result["executions"] = found.executions;
    result["exhausted"] = found.exhausted;
    result["data_race"] = found.has_race;
    result["limits"] = limits_of(test, model, j, found);
    result["states"] = states_of(test, found);
    bool wanted =
        !test.has_verdicts || test.verdicts[static_cast<size_t>(model)] == Verdict::allowed;
    result["expected"] = wanted;
    if (!settled)
        code = std::max(code, unfinished);
    else if (j.ok != wanted && code != bad_usage)
        code = violated;
    return result;
}

constexpr const char *quantifier_names[] = {"exists", "~exists", "forall"};

bool is_chosen(const Options &o, Model m) {
    return o.models.empty() ||
           std::ranges::find(o.models, model_names[static_cast<size_t>(m)]) != o.models.end();
}

void run(const std::string &file, const Options &o, Code &code) {
    Json line{{"file", file}};

    try {
        Litmus test = read_file(file);
        line["test"] = test.name;
        line["about"] = test.source;
        line["quantifier"] = quantifier_names[static_cast<size_t>(test.quantifier)];
        line["states_verdicts"] = test.has_verdicts;
        line["results"] = Json::array();
        for (Model m : models)
            if (is_chosen(o, m)) {
                try {
                    line["results"].push_back(result_of(test, m, o, code));
                } catch (const std::exception &e) {
                    throw std::invalid_argument(file + ":" + e.what());
                }
            }
    } catch (const std::exception &e) {
        line = {{"file", file}, {"error", e.what()}};
        code = bad_usage;
    }
    printf("%s\n", line.dump(-1, ' ', false, Json::error_handler_t::replace).c_str());
    fflush(stdout);
}

int run(const Options &o) {
    Code code = fine;

    for (const std::string &file : o.files)
        run(file, o, code);
    return code;
}

} // namespace
} // namespace ol::litmus

int main(int argc, char **argv) {
    using namespace ol::litmus;
    Options o;
    CLI::App app{"Runs litmus tests in herd's C syntax. Prints one line of JSON for each file.\n"
                 "Exit code 0: each condition holds, or is as the file says; 1: one is not;\n"
                 "2: bad usage, or a file that cannot be read; 3: not exhausted.",
                 "overlock-litmus"};

    app.add_option("FILE", o.files, "litmus test")->required();
    app.add_option("--model", o.models, "memory model: sc, tso or c11; repeatable; default: all")
        ->allow_extra_args(false)
        ->check(CLI::IsMember(std::vector<std::string>(model_names.begin(), model_names.end())));
    app.add_option("--seconds", o.seconds, "time limit of each test and model; 0: none")
        ->capture_default_str();
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError &e) {
        return app.exit(e) ? bad_usage : fine;
    }
    return run(o);
}
