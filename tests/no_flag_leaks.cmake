# Inside another project: no warning of ours, but one of GCC's off that takes units for headers; no build type, neither
# tests nor benchmarks, nothing to install, no package; and with our warnings on, the parent's own targets still see none
# of them.
# Run as: cmake -D SOURCE_DIR=… -D BUILD_DIR=… -D COMPILER=… -D COMPILER_ID=… -D GENERATOR=… -D FETCHED_DIR=…
#         -P no_flag_leaks.cmake
function(configure_parent name library_options)
  set(build "${BUILD_DIR}/${name}")
  file(REMOVE_RECURSE "${build}")
  execute_process(
    COMMAND "${CMAKE_COMMAND}" -S "${SOURCE_DIR}/tests/parent_project" -B "${build}" -G "${GENERATOR}"
            -D "HYBRIDKV_DIR=${SOURCE_DIR}" -D "CMAKE_CXX_COMPILER=${COMPILER}" -D CMAKE_CXX_COMPILER_WORKS=ON
            -D "FETCHCONTENT_BASE_DIR=${FETCHED_DIR}" ${ARGN}
    RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "the parent project does not configure:\n${output}")
  endif()
  file(READ "${build}/settings.txt" settings)
  foreach(expected "app options: \n" "library options: ${library_options}" "build type: \n"
          "tests and benchmarks:\n" "position of app: 0\n" "visibility of app: \n" "folders to install to: \n")
    string(FIND "${settings}" "${expected}" at)
    if(at EQUAL -1)
      message(FATAL_ERROR "inside another project (${name}): no line \"${expected}\" in\n${settings}")
    endif()
  endforeach()
  file(READ "${build}/hybridkv/cmake_install.cmake" rules)
  if(rules MATCHES "file\\(INSTALL" OR EXISTS "${build}/hybridkv/hybridkv-config.cmake")
    message(FATAL_ERROR "inside another project (${name}): rules to install, or a package")
  endif()
endfunction()

if(COMPILER_ID STREQUAL "GNU")
  configure_parent(defaults "-Wno-subobject-linkage\n")
else()
  configure_parent(defaults "\n")
endif()
configure_parent(with_our_warnings "-Wall;" -D HYBRIDKV_WARNINGS=ON)
