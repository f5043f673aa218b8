/* SPDX-License-Identifier: MIT */
#include "number.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

const char *number_parse(double *out, const char *name, const char *text, bool whole, double least,
			 double most)
{
	static char wrong[256];
	char *end;

	*out = strtod(text, &end);
	if (end != text && !*end && *out >= least && *out <= most &&
	    (!whole || *out == floor(*out)))
		return NULL;
	snprintf(wrong, sizeof(wrong), "%s=%s is not a %s from %g to %g", name, text,
		 whole ? "whole number" : "number", least, most);
	return wrong;
}
