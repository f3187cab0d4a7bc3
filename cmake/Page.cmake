# The page: what of this house is compiled for a browser, and how it is linked.

# hybridkv_needed_sources(OUTPUT FILE ...): those files and the sources of the headers that they include, and what these
# need in turn. The sources of a header are the one beside it and those without a header beside them of whose
# folder it is the first that they include. Nothing that proves, measures or prints on a
# terminal is among what the page includes.
function(hybridkv_needed_sources output)
  file(GLOB sources CONFIGURE_DEPENDS RELATIVE "${CMAKE_CURRENT_SOURCE_DIR}" "${CMAKE_CURRENT_SOURCE_DIR}/*/*.cc"
       "${CMAKE_CURRENT_SOURCE_DIR}/*/*/*.cc")
  foreach(source IN LISTS sources)
    string(REGEX REPLACE "\\.cc$" ".h" header "${source}")
    if(NOT EXISTS "${CMAKE_CURRENT_SOURCE_DIR}/${header}")
      get_filename_component(folder "${source}" DIRECTORY)
      file(STRINGS "${source}" first REGEX "^#include \"${folder}/" LIMIT_COUNT 1)
      string(REGEX REPLACE "^#include \"(.*)\"$" "\\1" header "${first}")
    endif()
    list(APPEND "sources_${header}" "${source}")
  endforeach()
  # Their first is one that nobody else includes.
  list(APPEND sources_planner/strategies.h planner/pool_groups.cc)
  list(APPEND sources_engines/engine.h engines/all.cc)
  set(waiting ${ARGN})
  set(seen "")
  while(waiting)
    list(POP_FRONT waiting file)
    if(file IN_LIST seen)
      continue()
    endif()
    list(APPEND seen "${file}")
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${file}")
    file(STRINGS "${file}" includes REGEX "^#include \"")
    list(TRANSFORM includes REPLACE "^#include \"(.*)\"$" "\\1")
    list(APPEND waiting ${includes} ${sources_${file}})
  endwhile()
  list(FILTER seen INCLUDE REGEX "\\.cc$")
  list(TRANSFORM seen PREPEND "${CMAKE_CURRENT_SOURCE_DIR}/")
  set(${output} ${seen} PARENT_SCOPE)
endfunction()

# hybridkv_compile_dependency(NAME TARGET): the library NAME from its sources alone. Their own build files ask the
# compiler a hundred questions, to which a browser has one answer.
set(_hybridkv_fmt src/format.cc)
set(_hybridkv_yaml-cpp src/*.cpp)
set(_hybridkv_simdjson src/simdjson.cpp)
set(_hybridkv_zlib *.c)
function(hybridkv_compile_dependency name target)
  FetchContent_GetProperties(${name} SOURCE_DIR folder)
  if(NOT folder)
    FetchContent_Populate(${name})
    FetchContent_GetProperties(${name} SOURCE_DIR folder)
  endif()
  list(TRANSFORM _hybridkv_${name} PREPEND "${folder}/" OUTPUT_VARIABLE patterns)
  file(GLOB sources ${patterns})
  set(library page_${name})
  if(sources)
    add_library(${library} STATIC ${sources})
    target_include_directories(${library} PUBLIC "${folder}" "${folder}/include" PRIVATE "${folder}/src")
    target_compile_definitions(${library} PUBLIC HAVE_UNISTD_H=1)  # what zlib asks its own build for
  else()
    add_library(${library} INTERFACE)
    target_include_directories(${library} INTERFACE "${folder}" "${folder}/include")
  endif()
  add_library(${target} ALIAS ${library})
endfunction()

# What the page needs of all folders (cmake/Modules.cmake leaves out the rest), and what everything is compiled with.
macro(hybridkv_begin_page)
  enable_language(C)  # zlib
  file(GLOB _page_sources CONFIGURE_DEPENDS RELATIVE "${CMAKE_CURRENT_SOURCE_DIR}"
       "${CMAKE_CURRENT_SOURCE_DIR}/web/*.cc")
  hybridkv_needed_sources(HYBRIDKV_PAGE_SOURCES ${_page_sources})
  add_compile_options(-fwasm-exceptions)
  add_link_options(-fwasm-exceptions)
endmacro()

# hybridkv_link_page(TARGET): engine.js with engine.wasm beside it, for a worker of the page. Memory grows with the
# traces that are dropped; all of it runs on the thread that calls it.
function(hybridkv_link_page target)
  set_target_properties(${target} PROPERTIES OUTPUT_NAME engine)
  target_link_options(${target} PRIVATE -Oz --no-entry
    "SHELL:-s MODULARIZE=1" "SHELL:-s EXPORT_NAME=makeEngine" "SHELL:-s ENVIRONMENT=worker"
    "SHELL:-s ALLOW_MEMORY_GROWTH=1" "SHELL:-s MAXIMUM_MEMORY=4GB" "SHELL:-s INITIAL_MEMORY=64MB"
    "SHELL:-s TOTAL_STACK=4MB" "SHELL:-s FORCE_FILESYSTEM=1" "SHELL:-s INVOKE_RUN=0" "SHELL:-s WASM_BIGINT=1"
    "SHELL:-s EXPORTED_FUNCTIONS=['_hybridkv_answer','_malloc','_free']"
    "SHELL:-s EXPORTED_RUNTIME_METHODS=['FS','UTF8ToString','stringToUTF8','lengthBytesUTF8']")
endfunction()
