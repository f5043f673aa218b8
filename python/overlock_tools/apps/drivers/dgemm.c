// SPDX-License-Identifier: MIT
/*
 * dgemm LIBRARY SIZE: multiplies two matrices by the BLAS of that library, as often as asked. How
 * many threads work on it, the library's own variables say.
 */
#include <dlfcn.h>
#include <math.h>
#include <string.h>

#include "asked.h"

enum { ROW_MAJOR = 101, PLAIN = 111 };

typedef void dgemm_f(int order, int a_is, int b_is, int m, int n, int k, double alpha,
		     const double *a, int lda, const double *b, int ldb, double beta, double *c,
		     int ldc);

static dgemm_f *dgemm;
static int size;
static double *left, *right, *product, *expected;

static double *matrix(void)
{
	double *made = calloc((size_t)size * (size_t)size, sizeof(*made));

	if (!made) {
		fputs("no memory\n", stderr);
		exit(1);
	}
	return made;
}

static void draw(double *m)
{
	for (int i = 0; i < size * size; i++)
		m[i] = (double)rand() / RAND_MAX;
}

static void multiply(void)
{
	dgemm(ROW_MAJOR, PLAIN, PLAIN, size, size, size, 1.0, left, size, right, size, 0.0, product,
	      size);
}

static void multiply_by_the_book(void)
{
	for (int i = 0; i < size; i++)
		for (int k = 0; k < size; k++)
			for (int j = 0; j < size; j++)
				expected[i * size + j] += left[i * size + k] * right[k * size + j];
}

/* And the product is forgotten: what is right was computed since. */
static const char *wrong(void)
{
	const char *found = "";

	for (int i = 0; i < size * size; i++)
		if (!(fabs(product[i] - expected[i]) <= 1e-9 * expected[i]))
			found = "the product is another";
	memset(product, 0, (size_t)size * (size_t)size * sizeof(*product));
	return found;
}

int main(int argc, char **argv)
{
	void *library = argc == 3 ? dlopen(argv[1], RTLD_NOW) : NULL;

	if (!library || (size = atoi(argv[2])) < 1 ||
	    !(dgemm = (dgemm_f *)dlsym(library, "cblas_dgemm"))) {
		fprintf(stderr, "usage: dgemm LIBRARY SIZE: %s\n", library ? "" : dlerror());
		return 2;
	}
	left = matrix(), right = matrix(), product = matrix(), expected = matrix();
	draw(left);
	draw(right);
	multiply_by_the_book();
	asked_serve(multiply, wrong);
	return 0;
}
