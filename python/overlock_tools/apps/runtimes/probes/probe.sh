#!/bin/sh
# SPDX-License-Identifier: MIT
# probe.sh VERSION COUNT: answers each line of standard input by what that command prints. Each is started anew.
while read -r word; do
	if [ "$word" = version ]; then
		sh -c "$1"
	else
		sh -c "$2"
	fi
done
