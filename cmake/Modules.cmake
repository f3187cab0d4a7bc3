# One static library per folder, so that the linker sees the direction of the includes.

# What whoever links a library of this house needs.
add_library(hybridkv_headers INTERFACE)
target_include_directories(hybridkv_headers INTERFACE "$<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}>")
target_compile_features(hybridkv_headers INTERFACE cxx_std_20)
if(HYBRIDKV_CONTRACTS)
  target_compile_definitions(hybridkv_headers INTERFACE HYBRIDKV_CONTRACTS=1)
endif()

# What only this house's own files are compiled with: linked PRIVATE, so that a parent project never sees it.
add_library(hybridkv_flags INTERFACE)
if(HYBRIDKV_WARNINGS)
  target_compile_options(hybridkv_flags INTERFACE
    -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion
    -Wno-missing-field-initializers)  # specs are written with designated initialisers; the rest has defaults
  # A newer compiler than those that are tested knows warnings that nobody has seen here: they stop no build.
  set(tested_GNU 12)
  set(tested_Clang 16)
  if(CMAKE_CXX_COMPILER_VERSION VERSION_LESS_EQUAL "${tested_${CMAKE_CXX_COMPILER_ID}}.9999")
    target_compile_options(hybridkv_flags INTERFACE -Werror)
  elseif(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # Takes what is found by a temporary key for a reference into the key.
    target_compile_options(hybridkv_flags INTERFACE -Wno-dangling-reference)
  endif()
endif()
if(HYBRIDKV_SANITIZE)
  target_compile_options(hybridkv_flags INTERFACE
    -fsanitize=${HYBRIDKV_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(hybridkv_flags INTERFACE -fsanitize=${HYBRIDKV_SANITIZE})
  if(HYBRIDKV_WARNINGS AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # GCC 12 reports destructors of empty optionals in instrumented code.
    target_compile_options(hybridkv_flags INTERFACE -Wno-maybe-uninitialized)
  endif()
endif()
if(HYBRIDKV_FUZZ)
  target_compile_options(hybridkv_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()
if(HYBRIDKV_UNITY AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(hybridkv_flags INTERFACE -Wno-subobject-linkage)  # takes a unit's files for headers
endif()

# Several files of a folder in one unit: most of the time goes to headers and templates that they share. A name of a file
# alone is then one of the folder; kernels for instruction sets of their own stay by themselves, and so does the
# list of engines, which a test may replace by another one.
function(_hybridkv_compile target)
  target_link_libraries(${target} PRIVATE hybridkv_flags)
  if(HYBRIDKV_UNITY)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${HYBRIDKV_UNITY_BATCH})
    get_target_property(sources ${target} SOURCES)
    list(FILTER sources INCLUDE REGEX "_kernel_[a-z0-9]+\\.cc$|/engines/all\\.cc$")
    set_source_files_properties(${sources} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  endif()
endfunction()

function(_hybridkv_link target)
  foreach(use IN LISTS ARGN)
    if(TARGET hybridkv_${use})
      target_link_libraries(${target} PUBLIC hybridkv_${use})
    else()
      get_target_property(imported ${use} IMPORTED)
      if(NOT imported)
        # Fetched sources are not ours to warn about.
        get_target_property(directories ${use} INTERFACE_INCLUDE_DIRECTORIES)
        target_include_directories(${target} SYSTEM PUBLIC ${directories})
      endif()
      target_link_libraries(${target} PUBLIC ${use})
    endif()
  endforeach()
endfunction()

# The sources of a folder and of those within it; for the page only those that it needs.
function(_hybridkv_sources output folder)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/${folder}/*.cc")
  if(HYBRIDKV_PAGE)
    foreach(source IN LISTS sources)
      if(NOT source IN_LIST HYBRIDKV_PAGE_SOURCES)
        list(REMOVE_ITEM sources "${source}")
      endif()
    endforeach()
  endif()
  set(${output} ${sources} PARENT_SCOPE)
endfunction()

# hybridkv_module(NAME USES ...): the library of folder NAME.
function(hybridkv_module name)
  cmake_parse_arguments(arg "" "" "USES" ${ARGN})
  _hybridkv_sources(sources ${name})
  if(sources)
    add_library(hybridkv_${name} STATIC ${sources})
    # A shared library, like a module of Python, may be made of these. Hidden, since a name that another library could
    # take over is called through a table and never inlined.
    set_target_properties(hybridkv_${name} PROPERTIES
      POSITION_INDEPENDENT_CODE ON CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
    target_link_libraries(hybridkv_${name} PUBLIC hybridkv_headers)
    _hybridkv_compile(hybridkv_${name})
    _hybridkv_link(hybridkv_${name} ${arg_USES})
  else()
    add_library(hybridkv_${name} INTERFACE)
  endif()
  set_property(GLOBAL APPEND PROPERTY HYBRIDKV_MODULES ${name})
  add_library(hybridkv::${name} ALIAS hybridkv_${name})
endfunction()

# hybridkv_program(NAME FOLDER USES ...): the program NAME from the sources of FOLDER.
function(hybridkv_program name folder)
  cmake_parse_arguments(arg "" "" "USES" ${ARGN})
  _hybridkv_sources(sources ${folder})
  if(sources)
    add_executable(${name} ${sources})
    _hybridkv_compile(${name})
    _hybridkv_link(${name} ${arg_USES})
  endif()
endfunction()
