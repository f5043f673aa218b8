# SPDX-License-Identifier: MIT
"""Virtual machines that run a kernel with any of the locks: built, booted, loaded, measured."""
