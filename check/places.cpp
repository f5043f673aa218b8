// SPDX-License-Identifier: MIT
#include "places.h"

#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace ol::check {

Places::Places(const std::string &object, uintptr_t loaded_at) : loaded_at_(loaded_at) {
    int to[2], from[2];
    std::string program = "addr2line", about = "--exe=" + object;
    char addresses[] = "--addresses", inlines[] = "--inlines";
    char *const args[] = {program.data(), addresses, inlines, about.data(), nullptr};
    posix_spawn_file_actions_t files;

    if (pipe2(to, O_CLOEXEC) || pipe2(from, O_CLOEXEC))
        return;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, to[0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&files, from[1], STDOUT_FILENO);
    if (posix_spawnp(&child_, program.c_str(), &files, nullptr, args, environ))
        child_ = -1; // places are nowhere
    posix_spawn_file_actions_destroy(&files);
    close(to[0]);
    close(from[1]);
    questions_ = fdopen(to[1], "w");
    answers_ = fdopen(from[0], "r");
}

Places::~Places() {
    if (questions_)
        fclose(questions_);
    if (answers_)
        fclose(answers_);
    if (child_ > 0)
        waitpid(child_, nullptr, 0);
}

engine::Place Places::of(const void *returns_to) {
    auto [at, is_new] = known_.try_emplace(returns_to);

    if (is_new && child_ > 0)
        at->second = ask(reinterpret_cast<uintptr_t>(returns_to) - 1 - loaded_at_);
    return at->second;
}

// The innermost line that is no header's: inline functions of headers are where they are called.
// Address 0 is asked after it, so that the answer's end shows.
engine::Place Places::ask(uintptr_t address) {
    char line[4096];
    engine::Place found{};
    bool is_source = false;

    fprintf(questions_, "%#zx\n0\n", address);
    fflush(questions_);
    for (int addresses = 0; fgets(line, sizeof line, answers_);) {
        if (strncmp(line, "0x", 2) == 0) {
            addresses++;
            continue;
        }
        if (addresses == 2)
            break;
        char *colon = strrchr(line, ':');
        if (!colon || is_source)
            continue;
        *colon = 0;
        int number = atoi(colon + 1);
        const char *dot = strrchr(line, '.');
        bool header = dot && strcmp(dot, ".h") == 0;
        if (number && (!found.line || !header)) {
            found = {files_.insert(line).first->c_str(), number};
            is_source = !header;
        }
    }
    return found;
}

} // namespace ol::check
