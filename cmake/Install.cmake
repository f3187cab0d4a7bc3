# What `cmake --install` puts where, and a CMake package: of an installation, wherever it is moved, and of the build
# itself, so that another project can use it as it is (hybridkv_DIR=the build folder).
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
include("${CMAKE_CURRENT_LIST_DIR}/Drivers.cmake")
set(HYBRIDKV_DATADIR "${CMAKE_INSTALL_DATADIR}/hybridkv")

install(TARGETS hybridkv EXPORT hybridkv-targets RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
set_target_properties(hybridkv PROPERTIES EXPORT_NAME program)
install(FILES report/plan.schema.json report/transfer.schema.json scenarios/scenario.schema.json
  DESTINATION "${HYBRIDKV_DATADIR}")
install(DIRECTORY scenarios/ DESTINATION "${HYBRIDKV_DATADIR}"
  FILES_MATCHING PATTERN "*.yaml" PATTERN "model.schema.json" PATTERN published EXCLUDE)
hybridkv_install_drivers("${HYBRIDKV_DATADIR}")

# The program writes its manual and what shells complete; where it is built for another machine it cannot be run.
if(NOT CMAKE_CROSSCOMPILING)
  set(generated "${CMAKE_CURRENT_BINARY_DIR}/generated/share")
  file(MAKE_DIRECTORY "${generated}/man1")
  add_custom_command(TARGET hybridkv POST_BUILD
    COMMAND hybridkv man --force --output "${generated}/man1"
    COMMAND hybridkv completions bash --force --output "${generated}/hybridkv.bash"
    COMMAND hybridkv completions zsh --force --output "${generated}/_hybridkv"
    COMMAND hybridkv completions fish --force --output "${generated}/hybridkv.fish"
    COMMENT "Writing manual pages and completions" VERBATIM)
  install(DIRECTORY "${generated}/man1" DESTINATION "${CMAKE_INSTALL_MANDIR}")
  install(FILES "${generated}/hybridkv.bash" DESTINATION "${CMAKE_INSTALL_DATADIR}/bash-completion/completions"
    RENAME hybridkv)
  install(FILES "${generated}/_hybridkv" DESTINATION "${CMAKE_INSTALL_DATADIR}/zsh/site-functions")
  install(FILES "${generated}/hybridkv.fish" DESTINATION "${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d")
endif()

# A package names the packages that its libraries were built with; sources that were fetched are none.
set(fetched ${HYBRIDKV_FETCHED})
list(REMOVE_ITEM fetched CLI11 doctest rapidcheck pugixml)  # nothing that is installed includes these
if(fetched)
  list(JOIN fetched ", " fetched)
  message(STATUS "hybridkv: the program is installed without libraries and CMake package: ${fetched} not installed")
  return()
endif()

get_property(modules GLOBAL PROPERTY HYBRIDKV_MODULES)
add_library(hybridkv_all INTERFACE)
set_target_properties(hybridkv_all PROPERTIES EXPORT_NAME hybridkv)
foreach(module IN LISTS modules)
  target_link_libraries(hybridkv_all INTERFACE hybridkv_${module})
  set_target_properties(hybridkv_${module} PROPERTIES EXPORT_NAME ${module})
  install(TARGETS hybridkv_${module} EXPORT hybridkv-targets ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
  install(DIRECTORY ${module} DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/hybridkv" FILES_MATCHING PATTERN "*.h")
endforeach()
set_target_properties(hybridkv_headers PROPERTIES EXPORT_NAME headers)
set_target_properties(hybridkv_flags PROPERTIES EXPORT_NAME flags)
target_include_directories(hybridkv_headers INTERFACE
  "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/hybridkv>")
install(TARGETS hybridkv_all hybridkv_headers hybridkv_flags EXPORT hybridkv-targets)

set(package "${CMAKE_INSTALL_LIBDIR}/cmake/hybridkv")
configure_package_config_file(cmake/hybridkv-config.cmake.in hybridkv-config.cmake INSTALL_DESTINATION "${package}")
# Before 1.0 a release may change what the one before it offers.
write_basic_package_version_file(hybridkv-config-version.cmake COMPATIBILITY SameMinorVersion)
configure_file(cmake/yaml-cpp-target.cmake yaml-cpp-target.cmake COPYONLY)
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/hybridkv-config.cmake" cmake/yaml-cpp-target.cmake
  "${CMAKE_CURRENT_BINARY_DIR}/hybridkv-config-version.cmake" DESTINATION "${package}")
install(EXPORT hybridkv-targets NAMESPACE hybridkv:: DESTINATION "${package}")
export(EXPORT hybridkv-targets NAMESPACE hybridkv:: FILE hybridkv-targets.cmake)
