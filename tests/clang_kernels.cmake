# The kernels of attention are written close to the processor, and a compiler may fail on one optimised that it compiles
# without: clang 16 once did. Everything else clang reads in .ci/nightly.
# Run as: cmake -D SOURCE_DIR=… -D WORK_DIR=… -P clang_kernels.cmake
find_program(clang NAMES clang++-16 clang++-17 clang++-18 clang++-19 clang++-20 clang++)
if(NOT clang)
  message("SKIPPED: there is no clang")
  return()
endif()
file(MAKE_DIRECTORY "${WORK_DIR}")
file(GLOB kernels "${SOURCE_DIR}/attention/*_kernel_*.cc")
if(NOT kernels)
  message(FATAL_ERROR "no kernel in ${SOURCE_DIR}/attention")
endif()
foreach(kernel IN LISTS kernels)
  execute_process(COMMAND "${clang}" -std=c++20 -O2 "-I${SOURCE_DIR}" -c "${kernel}" -o "${WORK_DIR}/kernel.o"
    RESULT_VARIABLE result ERROR_VARIABLE errors)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "${clang} fails on ${kernel} (${result}):\n${errors}")
  endif()
endforeach()
