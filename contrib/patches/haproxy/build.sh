#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# HAProxy without the libraries that have nothing to do with its locks.
make -j"$(nproc)" TARGET=linux-glibc USE_LUA= USE_OPENSSL= USE_PCRE= USE_SYSTEMD= \
	DEFINE="$OL_CFLAGS" ADDLIB="$OL_LIBS"
