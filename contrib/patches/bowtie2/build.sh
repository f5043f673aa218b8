#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Bowtie 2, whose threads take reads and write alignments behind a queue lock of its own (MCS). The variables
# are in the environment, since the Makefile adds to them.
export CPPFLAGS=$OL_CFLAGS LDLIBS=$OL_LIBS
make -j"$(nproc)" bowtie2-align-s bowtie2-build-s
