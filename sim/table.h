// SPDX-License-Identifier: MIT
#ifndef OL_SIM_TABLE_H
#define OL_SIM_TABLE_H
// A JSON object that is read: what is wrong in it ends in one line that names the place.
#include "host/host.h"
#include "time.h"

#include <nlohmann/json.hpp>

#include <cmath>
#include <limits>
#include <optional>
#include <string>

namespace ol::simulator {

using Json = nlohmann::json;

[[noreturn]] inline void bad(const std::string &what) {
    throw BadScenario(what);
}

template <class N> void at_least_one(N n, const std::string &what) {
    if (n < 1)
        bad(what + " is 0");
}

// What is far above anything that is simulated; more ends in lack of memory, or never.
template <class N> void at_most(N n, N most, const std::string &what) {
    if (n > most)
        bad(what + " is above " + std::to_string(most));
}

// All its members are asked for: what is left is unknown.
class Table {
public:
    Table(const Json &json, std::string name) : left_(json), name_(std::move(name)) {
        if (!json.is_object())
            bad(name_ + " is no table");
    }

    ~Table() = default;
    Table(const Table &) = delete;
    Table &operator=(const Table &) = delete;

    const std::string &name() const { return name_; }

    template <class T> bool get(const char *key, T &value) {
        auto found = take(key);
        if (found)
            value = convert<T>(*found, key);
        return found.has_value();
    }

    void time(const char *key, Time unit, Time &value) {
        if (auto found = take(key)) {
            if (*found == "inf") {
                value = never;
                return;
            }
            auto n = convert<double>(*found, key);
            if (!(n >= 0) || n > 1e15)
                bad(name_ + "." + key + " is no length of time");
            value = static_cast<Time>(std::llround(n * static_cast<double>(unit)));
        }
    }

    std::optional<Json> take(const char *key) {
        auto at = left_.find(key);
        if (at == left_.end())
            return std::nullopt;
        Json value = *at;
        left_.erase(at);
        return value;
    }
    Json need(const char *key) {
        auto found = take(key);
        if (!found)
            bad(name_ + "." + key + " is missing");
        return *found;
    }

    void end() const {
        if (!left_.empty())
            bad("there is no " + name_ + "." + left_.begin().key());
    }

private:
    template <class T> T convert(const Json &json, const char *key) {
        if (std::is_arithmetic_v<T> && !std::is_same_v<T, bool> && json.is_boolean())
            bad(name_ + "." + key + " has a value of another type");
        if constexpr (std::is_unsigned_v<T> && !std::is_same_v<T, bool>)
            if (json.is_number() && !is_whole(json, std::numeric_limits<T>::max()))
                bad(name_ + "." + key + " is no whole number that fits");
        try {
            return json.get<T>();
        } catch (const Json::exception &) {
            bad(name_ + "." + key + " has a value of another type");
        }
    }

    static bool is_whole(const Json &json, uint64_t most) {
        if (json.is_number_unsigned())
            return json.get<uint64_t>() <= most;
        auto n = json.get<double>();
        return n >= 0 && n < 0x1p53 && n <= static_cast<double>(most) && n == std::floor(n);
    }

    Json left_;
    const std::string name_;
};

} // namespace ol::simulator
#endif
