# SPDX-License-Identifier: Apache-2.0
# Warnings of our own targets; linked PRIVATE, so that nothing of a dependency is judged by them.
add_library(decant_warnings INTERFACE)
target_compile_options(decant_warnings INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wnon-virtual-dtor
  -Woverloaded-virtual -Wformat=2 -Wimplicit-fallthrough
  -Wno-missing-field-initializers  # designated initialisers leave defaults out on purpose
)
if(DECANT_WERROR)
  target_compile_options(decant_warnings INTERFACE -Werror)
endif()
