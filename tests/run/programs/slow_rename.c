// SPDX-License-Identifier: MIT
// Preloaded too, makes every report take a second, since reports are written to a temporary file and renamed.
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

int rename(const char *from, const char *to)
{
	sleep(1);
	return (int)syscall(SYS_rename, from, to);
}
