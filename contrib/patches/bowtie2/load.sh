#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# load.sh THREADS SECONDS: reads per second that Bowtie 2 aligns to a random genome, by so many threads. Each
# read is a piece of the genome: all have to be aligned, and each has to be written once.
threads=$1 seconds=$2 reads=60000
if [ ! -e genome.rev.2.bt2 ]; then
	awk -v reads=$reads 'BEGIN {
		srand(1)
		for (i = 0; i < 500000; i++) genome = genome substr("ACGT", 1 + int(4 * rand()), 1)
		print ">genome\n" genome >"genome.fa"
		quality = sprintf("%50s", ""); gsub(" ", "I", quality)
		for (i = 0; i < reads; i++)
			print "@" i "\n" substr(genome, 1 + int(499950 * rand()), 50) "\n+\n" quality >"reads.fq"
	}'
	./bowtie2-build-s -q genome.fa genome
fi
under=$(cat under 2>/dev/null || true)
done=0 began=$(date +%s%N)
while [ $(($(date +%s%N) - began)) -lt $((seconds * 1000000000)) ]; do
	# shellcheck disable=SC2086 # a command and its options, or nothing
	$under ./bowtie2-align-s -x genome -U reads.fq -p "$threads" -S out.sam 2>said
	done=$((done + reads))
done
took=$(($(date +%s%N) - began))
grep -q '^100.00% overall alignment rate' said
[ "$(grep -v '^@' out.sam | cut -f1 | sort -u | wc -l)" -eq $reads ]
[ "$(grep -vc '^@' out.sam)" -eq $reads ]
awk -v n=$done -v took=$took 'BEGIN { printf "reads %.6g\n", n * 1e9 / took }'
