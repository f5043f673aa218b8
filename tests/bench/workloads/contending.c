/* SPDX-License-Identifier: MIT */
/*
 * Preloaded, it makes the C++ runtime what it was: the search for exception tables takes a mutex,
 * and visits the loaded objects, for which the loader takes a lock.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>

struct dwarf_eh_bases;
const void *_Unwind_Find_FDE(void *pc, struct dwarf_eh_bases *bases);

typedef const void *find(void *pc, struct dwarf_eh_bases *bases);

static int pass_by(struct dl_phdr_info *info, size_t size, void *data) {
    (void)info, (void)size, (void)data;
    return 1;
}

__attribute__((visibility("default"))) const void *_Unwind_Find_FDE(void *pc,
                                                                    struct dwarf_eh_bases *bases) {
    static pthread_mutex_t objects = PTHREAD_MUTEX_INITIALIZER;
    find *next;
    const void *found;

    *(void **)&next = dlsym(RTLD_NEXT, "_Unwind_Find_FDE");
    pthread_mutex_lock(&objects);
    dl_iterate_phdr(pass_by, NULL);
    found = next(pc, bases);
    pthread_mutex_unlock(&objects);
    return found;
}
