/* SPDX-License-Identifier: MIT */
#ifndef OL_SPINS_CACHE_H
#define OL_SPINS_CACHE_H
/*
 * What was found in an object, kept for the next process that has it: $XDG_CACHE_HOME/overlock/loops/KEY, or
 * below ~/.cache, by ol_image_key(). A file that is not wholly ours, or that another version wrote, is none.
 */
#include "find.h"

#include <stdio.h>

/* Tells of each loop that is kept by that key; false: nothing is kept. */
bool ol_spins_kept(const char *key, ol_loop_found *found, void *context);

/* A file to be, for ol_spins_keep_loop; null: there is none. */
FILE *ol_spins_keep_begin(const char *key);
void ol_spins_keep_loop(FILE *file, const struct ol_loop *loop);
void ol_spins_keep_end(FILE *file, const char *key);
#endif
