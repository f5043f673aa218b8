# SPDX-License-Identifier: MIT
"""The kernel as Debian packages, to be installed in a machine that boots its own kernel."""

import os
import platform
import shutil
from pathlib import Path

from overlock_tools.core.system import files
from overlock_tools.core.system.errors import MISSING, Fail
from overlock_tools.guest import build, paths, source
from overlock_tools.guest.build import Progress, Terms
from overlock_tools.guest.paths import Home

SMALL = "guest"  # the configuration of the rig's guests: no drivers of a real machine
TOOLS = {
    "dpkg-buildpackage": "dpkg-dev",
    "rsync": "rsync",
    "kmod": "kmod",
    "cpio": "cpio",
    "openssl": "openssl",
}
# After the given ones. The signing keys of the given kernel are not here; what a debugger wants
# of it would be a gigabyte. A machine's own kernel has no locks that are broken on purpose.
OURS = """
CONFIG_OVERLOCK_SPINLOCKS=y
CONFIG_OVERLOCK_TEST_LOCKS=n
CONFIG_LOCALVERSION="-overlock"
CONFIG_SYSTEM_TRUSTED_KEYS=""
CONFIG_SYSTEM_REVOCATION_KEYS=""
CONFIG_MODULE_SIG_KEY="certs/signing_key.pem"
CONFIG_DEBUG_INFO_NONE=y
"""


def config(asked: str | None) -> str:
    """The text of it: a file's, the rig's, or the running kernel's."""
    if asked == SMALL:
        return (paths.sources() / "guest.config").read_text()
    file = Path(asked or f"/boot/config-{platform.release()}")
    try:
        return file.read_text()
    except (OSError, UnicodeDecodeError) as error:
        advice = f"give --config FILE, or --config {SMALL} for the guests' small one"
        raise Fail(f"cannot read a configuration from {file}; {advice}", MISSING) from error


def _configure(home: Home, text: str) -> None:
    """What the text leaves open is as the kernel presets it, or, for the small one, not there."""
    home.build.mkdir(exist_ok=True)
    whole = text + OURS
    mark = home.build / "asked"
    if mark.exists() and mark.read_text() == whole and (home.build / ".config").exists():
        return
    if text == config(SMALL):
        build.quietly(home, "tinyconfig")
        with (home.build / ".config").open("a") as file:
            file.write(whole)
    else:
        (home.build / ".config").write_text(whole)
    build.quietly(home, "olddefconfig")
    there = (home.build / ".config").read_text().splitlines()
    if "CONFIG_OVERLOCK_SPINLOCKS=y" not in there:
        raise Fail(
            "this configuration cannot include the locks; they need 64-bit x86, SMP, "
            "PARAVIRT_SPINLOCKS and JUMP_LABEL, and no PREEMPT_RT"
        )
    files.write(mark, whole.encode())


def packaged(home: Home, text: str, terms: Terms, progress: Progress) -> list[Path]:
    """The packages of the kernel and its headers; interrupted, the same again goes on."""
    build.check_tools(TOOLS)
    paths.make(home.folder)
    source.patched(home, terms.tell)
    folder = home.folder / "deb"
    folder.mkdir(exist_ok=True)
    # The kernel's script writes its packages beside the folder it builds in.
    there = Home(folder, home.version, shared_source=home.source)
    _configure(there, text)
    for old in folder.glob("*.deb"):
        old.unlink()
    terms.tell("compiling the kernel")
    build.run(there, progress, terms, f"-j{terms.jobs}", "DPKG_FLAGS=-d", "bindeb-pkg")
    shutil.rmtree(there.build / "debian", ignore_errors=True)
    return sorted(folder.glob("linux-*.deb"), key=os.path.getsize, reverse=True)
