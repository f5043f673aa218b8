#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Bowtie 2, whose threads take reads and write alignments behind a queue lock of its own (MCS). Its Makefile can
# have std::mutex instead: that, and the condition variables of its reader, are what `overlock run` replaces.
rm -f under
if [ -n "$OL_CFLAGS" ]; then
	mutex="NO_QUEUELOCK=1 NO_SPINLOCK=1"
	echo "$(pkg-config --variable=prefix overlock)/bin/overlock run --" >under
fi
# shellcheck disable=SC2086 # a list of options, or none
make -j"$(nproc)" ${mutex:-} bowtie2-align-s bowtie2-build-s
