// SPDX-License-Identifier: MIT
/* plan_file FILE kernel|user: what is wrong with the file of a replay; prints nothing if nothing is. */
#include <replay_format.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* In memory of just that size, so that the sanitizer sees a read beyond. */
static char *whole(FILE *file, size_t *size)
{
	char *read;

	fseek(file, 0, SEEK_END);
	*size = (size_t)ftell(file);
	rewind(file);
	read = malloc(*size);
	if (read && fread(read, 1, *size, file) != *size)
		exit(2);
	return read;
}

int main(int argc, char **argv)
{
	FILE *file = argc == 3 ? fopen(argv[1], "rb") : NULL;
	const char *wrong;
	size_t size;
	char *read;

	if (!file)
		return 2;
	read = whole(file, &size);
	if (!read)
		return 2;
	wrong = replay_check_file((struct replay_head *)read, size, strcmp(argv[2], "kernel") != 0);
	if (wrong)
		puts(wrong);
	free(read);
	fclose(file);
	return 0;
}
