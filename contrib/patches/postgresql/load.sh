#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# load.sh THREADS SECONDS: pgbench transactions per second from THREADS clients: TPC-B, then reads only.
# Commits are not waited for, so that the server's locks, not the disk, limit it.
threads=$1 seconds=$2 user=nobody
here=$PWD
bin=$here/installed/bin
if [ ! -d "$here/data" ]; then
	install -d -o "$user" data
	setpriv --reuid "$user" --clear-groups "$bin/initdb" -D data -U bench --auth trust -N >init.log
fi
server() { setpriv --reuid "$user" --clear-groups "$bin/pg_ctl" -D data -s -w "$@"; }
server -l /dev/null -o "-k $here/data -c listen_addresses= -c fsync=off -c synchronous_commit=off \
	-c shared_buffers=256MB -c max_connections=200 -c autovacuum=off" start
trap 'server stop -m fast' EXIT
bench() { "$bin/pgbench" -h "$here/data" -U bench "$@" postgres; }
bench -i -q -s 10 >init.log 2>&1
for what in tpcb-like select-only; do
	bench -n -b "$what" -c "$threads" -j "$(nproc)" -T "$seconds" 2>&1 |
		awk -v what="$what" '/^tps = / { print what, $3 }'
done
