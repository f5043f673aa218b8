# SPDX-License-Identifier: MIT
# Cross-compiling for AArch64 with Debian's crossbuild packages; programs run under qemu-user.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_FIND_ROOT_PATH /usr/aarch64-linux-gnu)
# What tools/aarch64_root has fetched for the model checker and the simulator.
if(DEFINED ENV{OVERLOCK_AARCH64_ROOT})
	list(APPEND CMAKE_FIND_ROOT_PATH $ENV{OVERLOCK_AARCH64_ROOT})
	set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
endif()
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64 -L /usr/aarch64-linux-gnu)
