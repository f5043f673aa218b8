// SPDX-License-Identifier: MIT
#include "places.h"

#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace ol::check {

namespace {

std::vector<std::string> own_folders;

// What is hidden there is a toolchain's or a package manager's.
bool is_own(std::string_view file) {
    for (std::string_view folder : own_folders)
        if (file.starts_with(folder) &&
            file.find("/.", folder.size() - 1) == std::string_view::npos)
            return true;
    return false;
}

// Functions of headers are inlined: they are where they are called.
bool is_header(const char *file) {
    const char *dot = strrchr(file, '.');
    return dot && strcmp(dot, ".h") == 0;
}

// 2: the user's own; 1: no header.
int rank_of(const std::string &file) {
    return is_own(file) ? 2 : !is_header(file.c_str());
}

} // namespace

void prefer_places(const std::vector<std::string> &folders) {
    own_folders.clear();
    for (const std::string &folder : folders)
        own_folders.push_back(folder.ends_with('/') ? folder : folder + "/");
}

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

// The innermost line of the user's own files, else of a file that is no header, else of any.
// Address 0 is asked after it, so that the answer's end shows.
engine::Place Places::ask(uintptr_t address) {
    char line[4096];
    engine::Place found{};
    int rank = -1;

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
        if (!colon)
            continue;
        *colon = 0;
        int number = atoi(colon + 1);
        std::string file = std::filesystem::path(line).lexically_normal();
        if (number && rank_of(file) > rank) {
            rank = rank_of(file);
            found = {files_.insert(file).first->c_str(), number};
        }
    }
    return found;
}

} // namespace ol::check
