# SPDX-License-Identifier: MIT
# Programs that load BPF. A package may come or go between two builds, so nothing that was found is remembered.
# Since LLVM 15 a pointer can be said to be one into the memory of user space: lab/slices/slice.bpf.h.
# clang-16 first: tools/setup installs it, and prebuilt/ has its objects.
option(OVERLOCK_BPF_STATIC "link libbpf and libdw into the programs that load BPF, if there are archives" ON)
find_program(clang NAMES clang-16 clang-17 clang-18 clang-19 clang-15 clang NO_CACHE)
find_program(bpftool bpftool PATHS /usr/sbin /sbin NO_CACHE)
find_path(bpf bpf/libbpf.h NO_CACHE)
find_library(libbpf bpf NO_CACHE)
find_package(PkgConfig QUIET)
include(CheckCSourceCompiles)
include(${CMAKE_CURRENT_LIST_DIR}/bpf_sources.cmake)

if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$")
	set(bpf_arch x86)
else()
	set(bpf_arch arm64)
endif()
set(bpf_folders ${PROJECT_SOURCE_DIR}/profile/agent ${PROJECT_SOURCE_DIR}/lab/slices)

# The archives of a pkg-config module and of all that they need in turn; none if a program that calls `entry` cannot be
# linked with them: Debian 13's libelf.a lacks a part of elfutils.
function(bpf_libraries out module entry)
	set(found)
	if(OVERLOCK_BPF_STATIC AND PKG_CONFIG_FOUND)
		pkg_check_modules(bpf_${module} QUIET ${module})
		foreach(name ${bpf_${module}_STATIC_LIBRARIES})
			find_library(archive NAMES lib${name}.a NO_CACHE)
			if(archive)
				list(APPEND found ${archive})
			elseif(NOT name STREQUAL pthread)
				set(found)
				break()
			endif()
			unset(archive)
		endforeach()
	endif()
	if(found)
		set(CMAKE_REQUIRED_LIBRARIES ${found})
		set(CMAKE_REQUIRED_QUIET ON)
		unset(bpf_${module}_links CACHE)
		check_c_source_compiles("char ${entry}(void); int main(void) { return ${entry}(); }" bpf_${module}_links)
		if(NOT bpf_${module}_links)
			message(STATUS "${module}: its archives cannot be linked; programs load it")
			set(found)
		endif()
	endif()
	set(${out} ${found} PARENT_SCOPE)
endfunction()
bpf_libraries(archives libbpf bpf_object__open)
if(archives)
	set(libbpf ${archives})
endif()

function(bpf_kept out name)
	cmake_path(ABSOLUTE_PATH name BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
	cmake_path(GET name PARENT_PATH folder)
	cmake_path(GET name FILENAME last)
	set(${out} ${folder}/prebuilt/${last}.bpf.o PARENT_SCOPE)
endfunction()

# FOLDER/prebuilt/NAME.bpf.o if it was made of the sources as they are now, else nothing; `why`: what changed.
function(bpf_prebuilt out why name)
	bpf_kept(object ${name})
	set(changed)
	if(EXISTS ${object} AND bpf_arch STREQUAL x86)
		bpf_changed(changed ${object}.sources ${PROJECT_SOURCE_DIR})
		set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${bpf_listed} ${object}.sources)
	endif()
	if(changed OR NOT EXISTS ${object} OR NOT bpf_arch STREQUAL x86)
		set(object)
	endif()
	set(${out} ${object} PARENT_SCOPE)
	set(${why} ${changed} PARENT_SCOPE)
endfunction()

# What is not installed and is needed to build these objects; empty if nothing is.
function(bpf_missing out)
	set(packages)
	foreach(name ${ARGN})
		bpf_prebuilt(object changed ${name})
		if(NOT object AND NOT clang)
			string(REPLACE ";" ", " changed "${changed}")
			string(REGEX REPLACE "(.+)" " (\\1 changed since ${name}.bpf.o was made)" changed "${changed}")
			list(APPEND packages "clang-16${changed}")
		endif()
	endforeach()
	if(NOT bpftool)
		list(APPEND packages bpftool)
	endif()
	if(NOT bpf OR NOT libbpf)
		list(APPEND packages libbpf-dev)
	endif()
	set(${out} ${packages} PARENT_SCOPE)
endfunction()

# FOLDER/NAME.bpf.c becomes NAME.skel.h, in which it is loaded from. It is compiled only if there is no object of
# these sources; the target `bpf` makes the objects anew. The linker of bpftool leaves BTF, and drops the DWARF.
function(bpf_skeleton name)
	cmake_path(GET name FILENAME last)
	set(compiled ${CMAKE_CURRENT_BINARY_DIR}/${last}.bpf.o)
	set(skeleton ${CMAKE_CURRENT_BINARY_DIR}/${last}.skel.h)
	list(TRANSFORM bpf_folders PREPEND -I OUTPUT_VARIABLE included)
	bpf_prebuilt(object changed ${name})
	if(clang)
		add_custom_command(OUTPUT ${compiled}
			COMMAND ${clang} -target bpf -mcpu=v3 -g -O2 -Wall -Wextra -Wno-unused-parameter -Werror
				-ffile-prefix-map=${PROJECT_SOURCE_DIR}/= -fdebug-compilation-dir=.
				-D__TARGET_ARCH_${bpf_arch} -I${OVERLOCK_INCLUDE} ${included}
				-idirafter /usr/include/${CMAKE_LIBRARY_ARCHITECTURE}
				-MD -MF ${compiled}.d -MT ${compiled} -c ${CMAKE_CURRENT_SOURCE_DIR}/${name}.bpf.c -o ${compiled}.g
			COMMAND ${bpftool} gen object ${compiled} ${compiled}.g
			DEPENDS ${name}.bpf.c DEPFILE ${compiled}.d VERBATIM)
		bpf_kept(kept ${name})
		if(NOT TARGET bpf)
			add_custom_target(bpf)
		endif()
		add_custom_target(bpf-${last} DEPENDS ${compiled}
			COMMAND ${CMAKE_COMMAND} -E copy ${compiled} ${kept}
			COMMAND ${CMAKE_COMMAND} -D top=${PROJECT_SOURCE_DIR} -D depfile=${compiled}.d -D compiler=${clang}
				-D list=${kept}.sources -P ${PROJECT_SOURCE_DIR}/cmake/bpf_sources.cmake
			VERBATIM)
		cmake_path(GET kept PARENT_PATH folder)
		if(EXISTS ${folder})
			add_dependencies(bpf bpf-${last})
		endif()
	endif()
	if(NOT object)
		set(object ${compiled})
	endif()
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
