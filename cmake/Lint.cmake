# SPDX-License-Identifier: Apache-2.0
# Targets: format, check-format, tidy.
find_program(CLANG_FORMAT NAMES clang-format-14 clang-format)
find_program(RUN_CLANG_TIDY NAMES run-clang-tidy-14 run-clang-tidy)
file(GLOB_RECURSE decant_lint_files CONFIGURE_DEPENDS
  ${PROJECT_SOURCE_DIR}/src/*.[ch]pp ${PROJECT_SOURCE_DIR}/include/*.hpp ${PROJECT_SOURCE_DIR}/tests/*.[ch]pp
  ${PROJECT_SOURCE_DIR}/bench/*.[ch]pp)
if(CLANG_FORMAT)
  add_custom_target(format COMMAND ${CLANG_FORMAT} -i ${decant_lint_files} VERBATIM)
  add_custom_target(check-format COMMAND ${CLANG_FORMAT} --dry-run --Werror ${decant_lint_files} VERBATIM)
endif()
if(RUN_CLANG_TIDY)
  add_custom_target(tidy
    COMMAND ${RUN_CLANG_TIDY} -quiet -p ${PROJECT_BINARY_DIR} "^${PROJECT_SOURCE_DIR}/src/.*\\.cpp$" VERBATIM)
endif()
