# SPDX-License-Identifier: Apache-2.0
# decant_module(<name> SOURCES <file>... [USES <module>...] [LIBRARIES <target>...])
# One static library per module. USES are its rows in docs/architecture.md; LIBRARIES stay private to it.
function(decant_module name)
  cmake_parse_arguments(arg "" "" "SOURCES;USES;LIBRARIES" ${ARGN})
  add_library(decant_${name} STATIC ${arg_SOURCES})
  target_include_directories(decant_${name}
    PUBLIC ${PROJECT_SOURCE_DIR}/include
    PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  foreach(module IN LISTS arg_USES)
    target_link_libraries(decant_${name} PUBLIC decant_${module})
  endforeach()
  target_link_libraries(decant_${name} PUBLIC fmt::fmt Threads::Threads PRIVATE decant_warnings ${arg_LIBRARIES})
endfunction()

# decant_unit_test(<module> SOURCES <file>... [LIBRARIES <target>...]): tests/unit/<module> as one program.
function(decant_unit_test module)
  cmake_parse_arguments(arg "" "" "SOURCES;LIBRARIES" ${ARGN})
  add_executable(test_${module} ${arg_SOURCES})
  target_link_libraries(test_${module} PRIVATE
    decant_${module} ${arg_LIBRARIES} decant_test_support decant_test_main decant_warnings)
  catch_discover_tests(test_${module} TEST_PREFIX "${module}: " PROPERTIES LABELS unit TIMEOUT 300)
endfunction()
