# SPDX-License-Identifier: MIT
# suite(): a test of CTest, and an entry of suites.json for tests/gate. suites.cmake has the list.
include_guard()
set(suites_json "[]")
set(least_hang 900)

function(suite name)
	cmake_parse_arguments(PARSE_ARGV 1 S "QUICK;LONG;ALONE" "SECONDS;PARTS;WHAT;COMMAND" "PATHS;NEEDS;BUILD")
	math(EXPR hang "10 * ${S_SECONDS}")
	if(hang LESS least_hang)
		set(hang ${least_hang})
	endif()
	if(S_COMMAND MATCHES "^pytest [^&|]*$" AND NOT S_PARTS AND NOT S_LONG)
		math(EXPR S_PARTS "(${S_SECONDS} + 59) / 60")
	elseif(NOT S_PARTS)
		set(S_PARTS 1)
	endif()
	set(alone false)
	if(S_ALONE)
		set(alone true)
	endif()
	set(class "by path")
	if(S_QUICK)
		set(class quick)
	elseif(S_LONG)
		set(class long)
	endif()
	# `timeout` ends the whole process group; CTest's own limit is for --stop-time. NAME.end has the exit
	# code, because CTest's report does not tell a failure from a suite that was killed, and the CPU time.
	add_test(NAME ${name} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
		COMMAND timeout --kill-after=1 --signal=KILL ${hang} bash -c
			"trap '{ echo $?; times; } >${CMAKE_BINARY_DIR}/suites/${name}.end' EXIT; \
parts=${CMAKE_BINARY_DIR}/suites/${name}.parts; if [ -e $parts ]; then . $parts; fi; ${S_COMMAND}")
	set_tests_properties(${name} PROPERTIES
		COST ${S_SECONDS} RUN_SERIAL ${S_ALONE} TIMEOUT 100000
		ENVIRONMENT "BUILD=${CMAKE_BINARY_DIR};PYTEST_ADDOPTS=--junitxml=${CMAKE_BINARY_DIR}/suites/${name}.xml;\
GTEST_OUTPUT=xml:${CMAKE_BINARY_DIR}/suites/${name}/;PYTHONUNBUFFERED=1"
		ENVIRONMENT_MODIFICATION "PATH=path_list_prepend:${PROJECT_SOURCE_DIR}/.venv/bin")
	foreach(list PATHS NEEDS BUILD)
		string(TOLOWER ${list} key)
		string(JOIN " " ${key} ${S_${list}})
	endforeach()
	set(entry "{}")
	foreach(key name class hang paths needs build)
		string(JSON entry SET "${entry}" ${key} "\"${${key}}\"")
	endforeach()
	string(JSON entry SET "${entry}" seconds ${S_SECONDS})
	string(JSON entry SET "${entry}" parts ${S_PARTS})
	string(JSON entry SET "${entry}" alone ${alone})
	string(JSON entry SET "${entry}" what "\"${S_WHAT}\"")
	string(JSON count LENGTH "${suites_json}")
	string(JSON all SET "${suites_json}" ${count} "${entry}")
	set(suites_json "${all}" PARENT_SCOPE)
	file(WRITE ${CMAKE_BINARY_DIR}/suites.json "${all}")
endfunction()
