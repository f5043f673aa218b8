/* SPDX-License-Identifier: MIT */
#ifndef MONITOR_WORDS_H
#define MONITOR_WORDS_H
/* A string of JSON, without what would have to be escaped. */
void tell_string(const char *word);
#endif
