# SPDX-License-Identifier: MIT
# Programs that load BPF. A package may come or go between two builds, so nothing that was found is remembered.
# OVERLOCK_BPF_MISSING: packages that are needed; empty if none is missing.
# Since LLVM 15 a pointer can be said to be one into the memory of user space: lab/slices/slice.bpf.h.
find_program(clang NAMES clang-19 clang-18 clang-17 clang-16 clang-15 clang NO_CACHE)
find_program(bpftool bpftool PATHS /usr/sbin /sbin NO_CACHE)
find_path(bpf bpf/libbpf.h NO_CACHE)
find_library(libbpf bpf NO_CACHE)
set(parts clang bpftool bpf libbpf)
set(packages clang-16 bpftool libbpf-dev libbpf-dev)
set(OVERLOCK_BPF_MISSING)
foreach(part package IN ZIP_LISTS parts packages)
	if(NOT ${part})
		list(APPEND OVERLOCK_BPF_MISSING ${package})
	endif()
endforeach()
list(REMOVE_DUPLICATES OVERLOCK_BPF_MISSING)

if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$")
	set(bpf_arch x86)
else()
	set(bpf_arch arm64)
endif()
set(bpf_folders ${PROJECT_SOURCE_DIR}/profile/agent ${PROJECT_SOURCE_DIR}/lab/slices)

# FOLDER/NAME.bpf.c becomes NAME.skel.h, in which it is loaded from.
function(bpf_skeleton name)
	cmake_path(GET name FILENAME last)
	set(object ${CMAKE_CURRENT_BINARY_DIR}/${last}.bpf.o)
	set(skeleton ${CMAKE_CURRENT_BINARY_DIR}/${last}.skel.h)
	list(TRANSFORM bpf_folders PREPEND -I OUTPUT_VARIABLE included)
	add_custom_command(OUTPUT ${object}
		COMMAND ${clang} -target bpf -mcpu=v3 -g -O2 -Wall -Wextra -Wno-unused-parameter -Werror
			-D__TARGET_ARCH_${bpf_arch} -I${OVERLOCK_INCLUDE} ${included}
			-idirafter /usr/include/${CMAKE_LIBRARY_ARCHITECTURE}
			-MD -MF ${object}.d -c ${CMAKE_CURRENT_SOURCE_DIR}/${name}.bpf.c -o ${object}
		DEPENDS ${name}.bpf.c DEPFILE ${object}.d VERBATIM)
	add_custom_command(OUTPUT ${skeleton}
		COMMAND ${bpftool} gen skeleton ${object} name ${last}_bpf > ${skeleton}
		DEPENDS ${object} VERBATIM)
endfunction()

# Sources that are not in this folder are in one of bpf_folders.
function(bpf_program name skeleton)
	set(sources)
	foreach(source ${ARGN})
		foreach(folder ${CMAKE_CURRENT_SOURCE_DIR} ${bpf_folders})
			if(EXISTS ${folder}/${source})
				list(APPEND sources ${folder}/${source})
				break()
			endif()
		endforeach()
	endforeach()
	add_executable(${name} ${sources} ${CMAKE_CURRENT_BINARY_DIR}/${skeleton}.skel.h)
	target_include_directories(${name} PRIVATE ${OVERLOCK_INCLUDE} ${CMAKE_CURRENT_BINARY_DIR} ${bpf_folders})
	target_include_directories(${name} SYSTEM PRIVATE ${bpf})
	target_link_libraries(${name} PRIVATE ${libbpf})
endfunction()
