# SPDX-License-Identifier: Apache-2.0
cmake_minimum_required(VERSION 3.25)
# cmake -DROOT=<source dir> -P CheckTestNames.cmake: a name that begins with '-' is taken for an option when ctest runs it
# alone, and one with ';' is run as nothing at all and passes.
file(GLOB_RECURSE files ${ROOT}/tests/*.cpp)
foreach(file IN LISTS files)
  file(READ ${file} text)
  if(text MATCHES "TEST_CASE\\(\"(-[^\"]*|[^\"]*;[^\"]*)\"")
    message(SEND_ERROR "${file}: ctest cannot run a test named: ${CMAKE_MATCH_1}")
  endif()
endforeach()
