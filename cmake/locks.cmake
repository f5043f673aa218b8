# SPDX-License-Identifier: MIT
# What follows from locks.def and aliases.def: the lists OVERLOCK_LOCKS and OVERLOCK_WAITS, <overlock/locks.h>, how to compile a lock's
# template unit, and a library with all of them.
set(OVERLOCK_INCLUDE ${CMAKE_CURRENT_SOURCE_DIR}/include)
set(OVERLOCK_LOCKS_DEF ${OVERLOCK_INCLUDE}/overlock/locks.def)
set(aliases_def ${OVERLOCK_INCLUDE}/overlock/aliases.def)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${OVERLOCK_LOCKS_DEF} ${aliases_def})

file(STRINGS ${OVERLOCK_LOCKS_DEF} lines REGEX "^OL_LOCK\\(")
list(TRANSFORM lines REPLACE "^OL_LOCK\\(([a-z0-9_]+),.*" "\\1" OUTPUT_VARIABLE OVERLOCK_LOCKS)

set(waits_def ${OVERLOCK_INCLUDE}/overlock/waits.def)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${waits_def})
file(STRINGS ${waits_def} OVERLOCK_WAITS REGEX "^OL_WAIT\\(")
list(TRANSFORM OVERLOCK_WAITS REPLACE "^OL_WAIT\\(([a-z0-9_]+),.*" "\\1")

file(STRINGS ${aliases_def} lines REGEX "^OL_ALIAS\\(")
list(TRANSFORM lines REPLACE "^OL_ALIAS\\(([a-z0-9_]+),.*" "\\1" OUTPUT_VARIABLE old_names)

set(includes "")
foreach(lock ${OVERLOCK_LOCKS} ${old_names})
	string(APPEND includes "#include <overlock/lock/${lock}.h>\n")
endforeach()
# Among the sources, so that who copies them has all; written where the lists have changed, and nowhere else.
file(CONFIGURE OUTPUT ${OVERLOCK_INCLUDE}/overlock/locks.h CONTENT
"/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Every lock of locks.def, and the old names of aliases.def. cmake/locks.cmake writes this file. */
#ifndef OL_LOCKS_H
#define OL_LOCKS_H
${includes}#endif
")

# overlock_lock_units(TARGET [DEFINITION...]): one object library per lock, added to TARGET.
function(overlock_lock_units target)
	foreach(lock ${OVERLOCK_LOCKS})
		set(unit ${target}_${lock})
		add_library(${unit} OBJECT ${PROJECT_SOURCE_DIR}/lib/lock_unit.c)
		target_include_directories(${unit} PRIVATE ${OVERLOCK_INCLUDE})
		target_compile_definitions(${unit} PRIVATE
			OL_THIS_${lock}=OL_YES OL_HEADER=<overlock/lock/${lock}.h> ${ARGN})
		target_sources(${target} PRIVATE $<TARGET_OBJECTS:${unit}>)
	endforeach()
endfunction()

# overlock_library(NAME STATIC|SHARED [OL_COUNTED]): the user platform and all locks. Static libraries
# keep the API visible, so that an executable can lend it to locks it loads; a shared object that
# contains one must hide it again (-Wl,--exclude-libs,ALL or a version script).
function(overlock_library name kind)
	set(sources calibrate.c cgroup.c clock.c context.c knowledge.c locks.c park.c quota.c rseq.c
		slices.c tunable.c tuning.c platform.c)
	if(ARGN)
		list(APPEND sources site/held.c site/json.c site/memory.c site/read.c site/stacks.c
			site/tables.c site/times.c site/waits.c)
	endif()
	list(TRANSFORM sources PREPEND ${PROJECT_SOURCE_DIR}/lib/)
	add_library(${name} ${kind} ${sources})
	set_target_properties(${name} PROPERTIES C_VISIBILITY_PRESET default)
	target_include_directories(${name} PUBLIC
		$<BUILD_INTERFACE:${OVERLOCK_INCLUDE}>
		$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
	target_compile_definitions(${name} PRIVATE _GNU_SOURCE)
	target_link_libraries(${name} PUBLIC Threads::Threads)
	overlock_lock_units(${name} ${ARGN})
	if(ARGN)
		target_compile_definitions(${name} PUBLIC ${ARGN})
		target_include_directories(${name} PUBLIC
			$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/lib>)
		target_link_libraries(${name} PUBLIC ${CMAKE_DL_LIBS})
	endif()
endfunction()
