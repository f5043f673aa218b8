#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""sbom.py FILE: what the artefacts of a release carry of others, as CycloneDX 1.6 in JSON.

Python packages as this .venv has them, and Debian packages as this machine has them; of a
package that is not installed the entry is left out, and said.
"""

import argparse
import os
import subprocess
import sys
import uuid
from datetime import UTC, datetime
from pathlib import Path

from cyclonedx.contrib.license.factories import LicenseFactory
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.output.json import JsonV1Dot6
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from packageurl import PackageURL

import bundle
import image

# Of Debian, by what of ours has it inside: linked in statically, or copied beside.
DEBIAN = {
    "libbpf-dev": ("LGPL-2.1-only OR BSD-2-Clause", "the profiler, hostd, monitord"),
    "libdw-dev": ("GPL-2.0-or-later OR LGPL-3.0-or-later", "the profiler, the symbolizer"),
    "libelf-dev": ("GPL-2.0-or-later OR LGPL-3.0-or-later", "as libdw"),
    "zlib1g-dev": ("Zlib", "as libdw"),
    "liblzma-dev": ("0BSD", "as libdw"),
    "libbz2-dev": ("bzip2-1.0.6", "as libdw"),
    "libzydis4.0": ("MIT", "wheel, bundle, image: beside overlock-loops"),
    "libzycore1.4": ("MIT", "as libzydis4.0"),
    "libboost-context-dev": ("BSL-1.0", "the model checker, the simulator"),
    "libcli11-dev": ("BSD-3-Clause", "the model checker, the simulator"),
    "nlohmann-json3-dev": ("MIT", "the model checker, the simulator"),
    "libstdc++-12-dev": ("GPL-3.0-or-later WITH GCC-exception-3.1", "the interposer's demangler"),
    "python3.11": ("PSF-2.0", "bundle, image: Python"),
    "libc6": ("LGPL-2.1-or-later", "image: the C library"),
    "busybox-static": ("GPL-2.0-only", "image: a shell"),
}


def debian() -> list[Component]:
    found, licences = [], LicenseFactory()
    for name, (licence, where) in DEBIAN.items():
        asked = ["dpkg-query", "-W", "-f", "${Version}", name]
        done = subprocess.run(asked, capture_output=True, text=True, check=False)
        if not done.stdout:
            print(f"sbom.py: {name} is not installed: left out", file=sys.stderr)
            continue
        purl = PackageURL("deb", "debian", name, done.stdout, {"distro": "bookworm"})
        part = Component(name=name, version=done.stdout, type=ComponentType.LIBRARY, purl=purl)
        part.bom_ref.value = purl.to_string()
        part.description = where
        part.licenses.add(licences.make_with_expression(licence))
        found.append(part)
    return found


def python() -> list[Component]:
    found = []
    for one in bundle.dependencies():
        purl = PackageURL("pypi", None, one.name.lower(), one.version)
        part = Component(name=one.name, version=one.version, type=ComponentType.LIBRARY, purl=purl)
        part.bom_ref.value = purl.to_string()
        part.description = "wheel: depended on; bundle and, some, image: copied"
        found.append(part)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(prog="sbom.py", description=__doc__.split("\n")[0])
    parser.add_argument("file", type=Path)
    out: Path = parser.parse_args().file
    epoch = int(os.environ.get("SOURCE_DATE_EPOCH") or bundle.ran("git", *image.LAST_COMMIT))
    ours = Component(name="overlock", version=image.version(), type=ComponentType.APPLICATION)
    ours.bom_ref.value = f"overlock@{image.version()}"
    ours.licenses.add(LicenseFactory().make_from_string("MIT"))
    bom = Bom()
    bom.metadata.component = ours
    bom.metadata.timestamp = datetime.fromtimestamp(epoch, UTC)
    bom.serial_number = uuid.uuid5(uuid.NAMESPACE_OID, f"overlock {image.version()} {epoch}")
    parts = [*python(), *debian()]
    bom.components.update(parts)
    bom.register_dependency(ours, parts)
    text = JsonV1Dot6(bom).output_as_string(indent=1)
    if error := JsonStrictValidator(SchemaVersion.V1_6).validate_str(text):
        sys.exit(f"sbom.py: what was made is not CycloneDX 1.6: {error}")
    out.write_text(text + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
