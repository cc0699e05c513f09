# SPDX-License-Identifier: Apache-2.0
cmake_minimum_required(VERSION 3.25)
# cmake -DBUILD=<build dir> -DVERSION=<version> -P check_install.cmake: installs into a prefix of its own and asks the
# installed program what it is.
set(prefix ${BUILD}/tests/cli/installed)
file(REMOVE_RECURSE ${prefix})
execute_process(COMMAND ${CMAKE_COMMAND} --install ${BUILD} --prefix ${prefix} OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${prefix}/bin/decant --version OUTPUT_VARIABLE told COMMAND_ERROR_IS_FATAL ANY)
if(NOT told STREQUAL "decant ${VERSION}\n")
  message(FATAL_ERROR "decant --version says '${told}'")
endif()
foreach(file share/doc/decant/exit_codes.md share/doc/decant/commands/restore.md share/doc/decant/LICENSE
        share/decant/manifests/schema/release_manifest.schema.json)
  if(NOT EXISTS ${prefix}/${file})
    message(FATAL_ERROR "not installed: ${file}")
  endif()
endforeach()
file(REMOVE_RECURSE ${prefix})
