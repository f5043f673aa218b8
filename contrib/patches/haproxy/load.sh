#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# load.sh THREADS SECONDS: requests per second that HAProxy answers by itself, from 64 connections on this
# machine. Each request looks up and updates one entry of a stick table, whose lock is an rwlock.
threads=$1 seconds=$2
folder=$(mktemp -d)
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
cat >"$folder/cfg" <<CFG
global
	nbthread $threads
	maxconn 1000
defaults
	mode http
	timeout connect 60s
	timeout client 60s
	timeout server 60s
frontend web
	bind 127.0.0.1:$port
	http-request track-sc0 path table seen
	http-request return status 200 content-type text/plain string ok
backend seen
	stick-table type string len 16 size 1k expire 1h store http_req_cnt,http_req_rate(10s)
CFG
./haproxy -D -f "$folder/cfg" -p "$folder/pid"
trap 'kill "$(cat "$folder/pid")"; rm -r "$folder"' EXIT
wrk -t 1 -c 64 -d "${seconds}s" "http://127.0.0.1:$port/" >"$folder/out"
grep -q 'Non-2xx\|Socket errors' "$folder/out" && cat "$folder/out" >&2
awk '/^Requests\/sec:/ { print "requests/s", $2 }' "$folder/out"
