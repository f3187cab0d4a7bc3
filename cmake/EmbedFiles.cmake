# hybridkv_embed_files(MODULE FUNCTION GLOB ...): compiles files of the folder MODULE into its library, where FUNCTION()
# finds them by their path below the folder.
function(hybridkv_embed_files module function)
  set(folder "${CMAKE_CURRENT_SOURCE_DIR}/${module}")
  list(TRANSFORM ARGN PREPEND "${folder}/" OUTPUT_VARIABLE globs)
  file(GLOB files CONFIGURE_DEPENDS RELATIVE "${folder}" ${globs})
  list(SORT files)
  list(TRANSFORM files PREPEND "${folder}/" OUTPUT_VARIABLE paths)
  set(output "${CMAKE_CURRENT_BINARY_DIR}/embedded/${module}_${function}.cc")
  add_custom_command(OUTPUT "${output}"
    COMMAND "${CMAKE_COMMAND}" -D "FOLDER=${folder}" -D "MODULE=${module}" -D "FUNCTION=${function}" -D "FILES=${files}" -D "OUTPUT=${output}"
            -P "${CMAKE_CURRENT_FUNCTION_LIST_FILE}"
    DEPENDS ${paths} "${CMAKE_CURRENT_FUNCTION_LIST_FILE}"
    COMMENT "Embedding ${function} of ${module}/" VERBATIM)
  target_sources(hybridkv_${module} PRIVATE "${output}")
endfunction()

# As a script: writes the source.
if(CMAKE_SCRIPT_MODE_FILE AND DEFINED OUTPUT)
  set(entries "")
  foreach(file IN LISTS FILES)
    file(READ "${FOLDER}/${file}" text)
    string(APPEND entries "    {\"${file}\", R\"embedded(${text})embedded\"},\n")
  endforeach()
  # The standard promises 65,536 characters of a literal, which -Wpedantic of Clang asks for; every compiler takes more.
  file(WRITE "${OUTPUT}" "#include \"${MODULE}/embedded_files.h\"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored \"-Woverlength-strings\"

namespace hybridkv {

std::span<const EmbeddedFile> ${FUNCTION}() {
  static constexpr EmbeddedFile files[] = {
${entries}  };
  return files;
}

}  // namespace hybridkv

#pragma GCC diagnostic pop
")
endif()
