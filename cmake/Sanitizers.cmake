# SPDX-License-Identifier: Apache-2.0
# DECANT_SANITIZE applies to the whole build: mixing instrumented and plain objects of ours hides races.
if(DECANT_SANITIZE)
  add_compile_options(-fsanitize=${DECANT_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${DECANT_SANITIZE})
  if(DECANT_SANITIZE MATCHES thread)
    add_compile_options(-Wno-tsan)  # GCC: atomic_thread_fence is not modelled; we use none
  endif()
endif()
if(DECANT_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link,address,undefined -fno-omit-frame-pointer)
  add_link_options(-fsanitize=address,undefined)
endif()
