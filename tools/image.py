#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A container image in one file, an OCI archive: docs/throttled.md.

It has `overlock run`, `doctor` and `profile` with the libraries that they preload, this Python with
what they import, glibc, and busybox for a shell and `cp`. No base image and no builder is needed,
and the same files make the same bytes. `podman load`, `ctr image import` and `skopeo copy` read it.
"""

import argparse
import gzip
import hashlib
import io
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Any

import bundle

TOP = bundle.TOP
NAME = "overlock"
MOST_MB = 60
PACKAGES = frozenset({"click", "rich"})  # what these commands import of the dependencies
# Of build/native. What is left out says so when it is asked for.
NATIVE = (
    *("overlock", "defs.json", "overlock-probe", "overlock-profiler", "overlock-symbolizer"),
    *("overlock-loops", "liboverlock-run.so", "liboverlock-run-counted.so"),
    *("liboverlock-run-checked.so", "liboverlock-run-fit.so", "liboverlock-run-spins.so"),
    *("liboverlock-record.so", "libZydis.so.4.0", "libZycore.so.1.4"),
)
# Of the standard library, what these commands do not import, and what would bring large libraries.
UNUSED = re.compile(
    r"/lib-dynload/(_ssl|_hashlib|_sqlite3|_curses|_dbm|_gdbm|readline|nis|ossaudiodev|_crypt|_tkinter)"
    r"|/(sqlite3|curses|dbm|asyncio|multiprocessing|xmlrpc|wsgiref|pydoc\.py|__phello__)"
    r"|/lib/libpython|/pkgconfig/|/pygments/(lexers|styles|formatters)/(?!__init__|_mapping)"
)
SHELL = (
    "sh",
    "cat",
    "cp",
    "env",
    "grep",
    "kill",
    "ls",
    "pidof",
    "ps",
    "sed",
    "sleep",
    "tail",
    "test",
)
OVERLOCK_TOOLS = f"""#!/bin/sh
exec /usr/bin/{bundle.PYTHON} -E -s -m overlock_tools "$@"
"""
USERS = "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/nonexistent:/bin/false\n"
LAST_COMMIT = ("-C", TOP, "log", "-1", "--format=%ct")
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
LAYER = "application/vnd.oci.image.layer.v1.tar+gzip"
MANIFEST = "application/vnd.oci.image.manifest.v1+json"
CONFIG = "application/vnd.oci.image.config.v1+json"


def busybox() -> Path:
    found = Path(shutil.which("busybox") or "/nowhere")
    loads = subprocess.run(["ldd", found], check=False, capture_output=True).returncode == 0
    if loads or not found.exists():
        sys.exit("image.py: a static busybox is missing; run `make image`")
    return found


def fill(root: Path) -> None:
    """The image's files."""
    for name in ("etc", "proc", "sys", "dev", "tmp", "root", "usr/lib/overlock"):
        (root / name).mkdir(parents=True)
    site = bundle.copy_python(root / "usr")
    bundle.copy_package(site, PACKAGES)
    for path in [p for p in root.rglob("*") if UNUSED.search(f"/{p.relative_to(root)}")]:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
    native = Path(os.environ.get("OVERLOCK_NATIVE", TOP / "build/native"))
    for name in NATIVE:
        if (native / name).exists():
            shutil.copy(native / name, root / "usr/lib/overlock")
        elif name.startswith(("liboverlock-run", "overlock-probe", "defs")) or name == "overlock":
            sys.exit(f"image.py: {native} has no {name}; run `make image`")
    bundle.strip(root, root / "none")
    copy_libraries(root)
    shutil.copy(busybox(), root / "usr/bin/busybox")
    for name in SHELL:
        (root / "usr/bin" / name).symlink_to("busybox")
    (root / "usr/bin/overlock").symlink_to("../lib/overlock/overlock")
    bundle.executable(root / "usr/bin/overlock-tools", OVERLOCK_TOOLS)
    for name in ("bin", "lib", "lib64"):
        if name != "lib64" or (root / "usr/lib64").exists():
            (root / name).symlink_to(f"usr/{name}")
    (root / "etc/passwd").write_text(USERS)
    (root / "etc/group").write_text("root:x:0:\nnogroup:x:65534:\n")
    copy_licences(root / "usr/share/doc")


def copy_libraries(root: Path) -> None:
    """Where the loader looks, glibc included."""
    loaded = re.compile(r"(?:=> )?(/\S+) \(0x")
    for path in [p for p in root.rglob("*") if p.is_file() and bundle.is_elf(p)]:
        done = subprocess.run(["ldd", path], capture_output=True, text=True, check=False)
        for found in loaded.findall(done.stdout):
            file = Path(found)
            if file.is_relative_to(root):
                continue
            # What a Python of somewhere else brings lies where ours looks, too.
            folder = "usr" + str(file.parent).removeprefix("/usr")
            if not re.match(r"usr/lib(64)?(/|$)", folder):
                folder = "usr/lib"
            there = root / folder / file.name
            there.parent.mkdir(parents=True, exist_ok=True)
            if not there.exists():
                shutil.copy(file.resolve(), there)
                there.chmod(0o755)


def copy_licences(folder: Path) -> None:
    """Of what is not ours, where this machine keeps them."""
    (folder / "overlock").mkdir(parents=True)
    shutil.copy(TOP / "LICENSE", folder / "overlock/copyright")
    for name in ("busybox-static", "libc6", "libpython3.11-stdlib", "libdw1", "libzydis4.0"):
        if (source := Path("/usr/share/doc", name, "copyright")).exists():
            (folder / name).mkdir()
            shutil.copy(source, folder / name)


def packed(root: Path, epoch: int) -> bytes:
    """One layer; the same bytes of the same files."""
    tar = io.BytesIO()
    with tarfile.open(fileobj=tar, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for path in sorted(root.rglob("*")):
            entry = archive.gettarinfo(path, str(path.relative_to(root)))
            entry.uid = entry.gid = 0
            entry.uname = entry.gname = ""
            entry.mtime = epoch
            if entry.isfile():
                entry.mode = 0o755 if entry.mode & 0o100 else 0o644
                entry.type, entry.linkname = tarfile.REGTYPE, ""
                entry.size = path.stat().st_size
                archive.addfile(entry, io.BytesIO(path.read_bytes()))
            else:
                entry.mode = 0o1777 if entry.name == "tmp" else 0o755
                archive.addfile(entry)
    return tar.getvalue()


def config(layer: bytes, epoch: int) -> dict[str, Any]:
    created = subprocess.check_output(["date", "-u", "-d", f"@{epoch}", "+%FT%TZ"], text=True)
    return {
        "created": created.strip(),
        "architecture": ARCHITECTURES[platform.machine()],
        "os": "linux",
        "config": {
            "Env": ["PATH=/usr/bin:/bin", "OVERLOCK_NATIVE=/usr/lib/overlock", "LANG=C.UTF-8"],
            "Entrypoint": ["/usr/bin/overlock"],
            "Cmd": ["--help"],
            "Labels": {
                "org.opencontainers.image.title": NAME,
                "org.opencontainers.image.version": version(),
                "org.opencontainers.image.licenses": "MIT",
            },
        },
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{hashlib.sha256(layer).hexdigest()}"]},
    }


def version() -> str:
    found = re.search(
        r"VERSION ([\d.]+)", (TOP / "CMakeLists.txt").read_text().split("project(")[1]
    )
    assert found
    return found[1]


def written(layer: bytes, epoch: int, out: Path) -> None:
    """An image layout in a tar."""
    blobs: dict[str, bytes] = {}

    def put(kind: str, data: bytes, **more: Any) -> dict[str, Any]:
        digest = hashlib.sha256(data).hexdigest()
        blobs[f"blobs/sha256/{digest}"] = data
        return {"mediaType": kind, "digest": f"sha256:{digest}", "size": len(data), **more}

    def text(value: Any) -> bytes:
        return json.dumps(value, indent=1, sort_keys=True).encode()

    described = put(CONFIG, text(config(layer, epoch)))
    layers = [put(LAYER, gzip.compress(layer, 9, mtime=0))]
    made = {"schemaVersion": 2, "mediaType": MANIFEST, "config": described, "layers": layers}
    # containerd takes the whole name, podman the part behind localhost/.
    named = {"org.opencontainers.image.ref.name": f"localhost/{NAME}:{version()}"}
    index = {"schemaVersion": 2, "manifests": [put(MANIFEST, text(made), annotations=named)]}
    blobs["index.json"] = text(index)
    blobs["oci-layout"] = text({"imageLayoutVersion": "1.0.0"})
    beside = out.with_name(out.name + ".part")
    with tarfile.open(beside, "w", format=tarfile.GNU_FORMAT) as archive:
        for name in sorted(blobs):
            entry = tarfile.TarInfo(name)
            entry.size, entry.mtime, entry.mode = len(blobs[name]), epoch, 0o644
            archive.addfile(entry, io.BytesIO(blobs[name]))
    beside.rename(out)


def main() -> int:
    parser = argparse.ArgumentParser(prog="image.py", description=__doc__.split("\n")[0])
    default = TOP / f"build/{NAME}-image-{platform.machine()}.tar"
    parser.add_argument("file", nargs="?", type=Path, default=default, help=f"default: {default}")
    out: Path = parser.parse_args().file
    if not os.access(out.parent, os.W_OK) or out.is_dir():
        sys.exit(f"image.py: {out} cannot be written; give a file in a folder that is there")
    epoch = int(os.environ.get("SOURCE_DATE_EPOCH") or bundle.ran("git", *LAST_COMMIT))
    with tempfile.TemporaryDirectory(prefix="overlock-image-") as name:
        root = Path(name)
        fill(root)
        layer = packed(root, epoch)
    written(layer, epoch, out)
    size, unpacked = out.stat().st_size / 1e6, len(layer) / 1e6
    print(f"{out}: {size:.1f} MB, {unpacked:.1f} MB unpacked")
    if unpacked > MOST_MB:
        sys.exit(f"image.py: more than {MOST_MB} MB unpacked")
    return 0


if __name__ == "__main__":
    sys.exit(main())
