# SPDX-License-Identifier: MIT
"""Guests under KVM in a host that is a guest itself."""
