# SPDX-License-Identifier: MIT
"""The programs there are: one line each."""

from overlock_tools.apps.app import App
from overlock_tools.apps.blas import LIBRARIES
from overlock_tools.apps.controls import Ebizzy, Hackbench, Kernbench
from overlock_tools.apps.dns import Knot, Unbound
from overlock_tools.apps.dpdk import Testpmd, TestpmdLockFree, TestpmdStack
from overlock_tools.apps.dvdstore_web import DvdStoreWeb
from overlock_tools.apps.leveldb import LevelDb, LevelDbWriting
from overlock_tools.apps.mariadb import DvdStore, SysbenchOltp
from overlock_tools.apps.memcached import Memcached
from overlock_tools.apps.models import MODELS
from overlock_tools.apps.mpich import Reduction
from overlock_tools.apps.openmp import KERNELS
from overlock_tools.apps.openmp_programs import PROGRAMS
from overlock_tools.apps.pbzip2 import Pbzip2
from overlock_tools.apps.pgbench import Pgbench, PgbenchSelect
from overlock_tools.apps.pyomp import KERNELS as PYOMP_KERNELS
from overlock_tools.apps.redis import Redis
from overlock_tools.apps.rocksdb import RocksDb
from overlock_tools.apps.stencils import PROGRAMS as STENCILS
from overlock_tools.apps.web import HaProxy, Nginx
from overlock_tools.core.model import defs

APPS: dict[str, type[App]] = {
    app.name: app
    for app in (
        Pbzip2,
        LevelDb,
        LevelDbWriting,
        RocksDb,
        Memcached,
        SysbenchOltp,
        DvdStore,
        DvdStoreWeb,
        Pgbench,
        *KERNELS,
        *PROGRAMS,
        *PYOMP_KERNELS,
        PgbenchSelect,
        HaProxy,
        Nginx,
        Unbound,
        Knot,
        Testpmd,
        TestpmdStack,
        TestpmdLockFree,
        *LIBRARIES,
        *STENCILS,
        *MODELS,
        Reduction,
        Redis,
        Ebizzy,
        Hackbench,
        Kernbench,
    )
}


def known(name: str) -> type[App]:
    return defs.known(APPS, name, "program", "`overlock apps list` lists them")
