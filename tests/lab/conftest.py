# SPDX-License-Identifier: MIT
"""The QEMU that is none, of the guests' tests."""

from tests.guest.command.conftest import fake, home

__all__ = ["fake", "home"]
