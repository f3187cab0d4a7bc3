# What asks an installed engine for its figures: the program looks for it in share/hybridkv beside itself
# (cli/driver_file.h). hybridkv_install_drivers(FOLDER [COMPONENT …]): installs it under FOLDER.
function(hybridkv_install_drivers folder)
  file(GLOB drivers RELATIVE "${PROJECT_SOURCE_DIR}" CONFIGURE_DEPENDS
    "${PROJECT_SOURCE_DIR}/engines/conform" "${PROJECT_SOURCE_DIR}/engines/*/conform")
  foreach(driver IN LISTS drivers)
    install(DIRECTORY "${PROJECT_SOURCE_DIR}/${driver}/" DESTINATION "${folder}/${driver}" ${ARGN}
      FILES_MATCHING PATTERN "*.py")
  endforeach()
endfunction()
