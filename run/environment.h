/* SPDX-License-Identifier: MIT */
#ifndef OL_ENVIRONMENT_H
#define OL_ENVIRONMENT_H
/* What `overlock run` leaves in the environment, taken out again: environment.c. */

#define LIBRARIES "liboverlock-run" /* how the plain one, the counted and the checked one begin */

/* What was preloaded beside our libraries, behind `first` if that is not null; to be freed. */
char *ol_run_preloaded_beside(const char *first, const char *list);

/* All that variables.def lists, and the preloaded libraries, all of them. */
void ol_run_remove_told(void);
#endif
