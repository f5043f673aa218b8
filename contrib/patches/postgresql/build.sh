#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The server, and what measuring it needs, without optional libraries.
./configure --prefix="$PWD/installed" --without-readline --without-zlib --without-icu \
	--with-system-tzdata=/usr/share/zoneinfo CPPFLAGS="$OL_CFLAGS" LIBS="$OL_LIBS" --quiet
make -s -C src/backend generated-headers
for part in port common backend; do
	make -s -j"$(nproc)" -C "src/$part" all
done
for part in backend timezone backend/snowball backend/utils/mb/conversion_procs pl/plpgsql/src \
	interfaces/libpq bin/initdb bin/pg_ctl bin/psql bin/pgbench; do
	make -s -j"$(nproc)" -C "src/$part" install
done
