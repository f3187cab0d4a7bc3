# hybridkv_build_info(TARGET): compiles what only the build knows into a program: its version and the commit it is made
# of, where base/build_info.h finds them. Of every build the commit is asked for, but one small file is compiled again
# when it is another one.
function(hybridkv_build_info target)
  set(output "${CMAKE_CURRENT_BINARY_DIR}/generated/build_info.cc")
  add_custom_target(${target}_build_info
    COMMAND "${CMAKE_COMMAND}" -D "SOURCE_DIR=${PROJECT_SOURCE_DIR}" -D "VERSION=${PROJECT_VERSION}"
            -D "OUTPUT=${output}" -P "${CMAKE_CURRENT_FUNCTION_LIST_FILE}"
    BYPRODUCTS "${output}" COMMENT "" VERBATIM)
  add_dependencies(${target} ${target}_build_info)
  target_sources(${target} PRIVATE "${output}")
  set_source_files_properties("${output}" PROPERTIES GENERATED ON SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()

# As a script: writes the source where it would change.
if(CMAKE_SCRIPT_MODE_FILE AND DEFINED OUTPUT)
  set(commit unknown)
  find_program(git git)
  if(git AND EXISTS "${SOURCE_DIR}/.git")  # sources unpacked inside another repository are not of its commits
    execute_process(COMMAND "${git}" -C "${SOURCE_DIR}" describe --always --abbrev=12 --exclude=* --dirty
      RESULT_VARIABLE result OUTPUT_VARIABLE described OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    if(result EQUAL 0)
      set(commit "${described}")
    endif()
  endif()
  file(CONFIGURE OUTPUT "${OUTPUT}" @ONLY CONTENT [[
#include "base/build_info.h"

namespace hybridkv {

const char* program_version() { return "@VERSION@"; }
const char* program_commit() { return "@commit@"; }

}  // namespace hybridkv
]])
endif()
