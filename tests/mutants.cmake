# SPDX-License-Identifier: MIT
# Mutants, of the files that tests/mutant.py reads. One process lists them all.
include_guard()
set(OVERLOCK_MUTANT_PY ${CMAKE_CURRENT_LIST_DIR}/mutant.py)
set(places check/mutants/*.toml check/waits/*.toml check/engine/mutants/*.toml check/search/mutants.toml sim/mutants/*.toml)
list(TRANSFORM places PREPEND ${CMAKE_CURRENT_LIST_DIR}/)
file(GLOB files CONFIGURE_DEPENDS ${places})
execute_process(COMMAND python3 ${OVERLOCK_MUTANT_PY} list ${files} OUTPUT_VARIABLE listed
	OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
string(REPLACE "\n" ";" OVERLOCK_MUTANTS "${listed}")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${files} ${OVERLOCK_MUTANT_PY})

# overlock_mutants(FUNCTION): calls FUNCTION(MUTANT SUBJECT SOURCE PATH) for each mutant of the current
# folder's files; the build makes the broken copy ${CMAKE_CURRENT_BINARY_DIR}/MUTANT/SOURCE of PATH.
function(overlock_mutants build)
	set(files "")
	foreach(mutant ${OVERLOCK_MUTANTS})
		string(REPLACE "\t" ";" mutant ${mutant})
		list(POP_FRONT mutant file name source path)
		get_filename_component(folder ${file} DIRECTORY)
		if(folder STREQUAL CMAKE_CURRENT_SOURCE_DIR)
			get_filename_component(subject ${file} NAME_WE)
			list(APPEND files ${file})
			list(APPEND sources_${subject} ${path})
			list(APPEND made_${subject} ${CMAKE_CURRENT_BINARY_DIR}/${name}/${source})
			cmake_language(CALL ${build} ${name} ${subject} ${source} ${path})
		endif()
	endforeach()
	list(REMOVE_DUPLICATES files)
	foreach(file ${files})
		get_filename_component(subject ${file} NAME_WE)
		add_custom_command(OUTPUT ${made_${subject}}
			COMMAND python3 ${OVERLOCK_MUTANT_PY} apply ${file} ${CMAKE_CURRENT_BINARY_DIR}
			DEPENDS ${file} ${sources_${subject}} ${OVERLOCK_MUTANT_PY}
			COMMENT "Break ${subject}" VERBATIM)
	endforeach()
endfunction()
