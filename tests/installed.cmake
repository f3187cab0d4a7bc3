# `cmake --install` into a folder that is moved afterwards: another project finds the package there and plans as the
# program does; the manual, completions, schemas and models lie beside it, and no path of this build is in any of it.
# The same project also uses the build folder itself.
# Run as: cmake -D BUILD_DIR=… -D WORK_DIR=… -D SOURCE_DIR=… -D COMPILER=… -D GENERATOR=… -D VERSION=… -P installed.cmake
set(scenario qwen3.5-397b)

function(run output)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE result OUTPUT_VARIABLE text ERROR_VARIABLE errors)
  if(NOT result EQUAL 0)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "${command}\nends with ${result}:\n${text}${errors}")
  endif()
  set(${output} "${text}" PARENT_SCOPE)
endfunction()

# What the program says: a line of each plan.
function(printed_blocks program output)
  run(json "${program}" plan ${scenario} --format json)
  string(JSON plans LENGTH "${json}" plans)
  math(EXPR last "${plans} - 1")
  set(lines "")
  foreach(i RANGE ${last})
    string(JSON blocks GET "${json}" plans ${i} num_blocks)
    string(APPEND lines "${blocks}\n")
  endforeach()
  set(${output} "${lines}" PARENT_SCOPE)
endfunction()

# Builds the consumer against the package in `folder`; it and the program of that package say the same.
function(consume name folder target)
  set(build "${WORK_DIR}/consumer_${name}")
  run(ignored "${CMAKE_COMMAND}" -S "${SOURCE_DIR}/tests/consumer" -B "${build}" -G "${GENERATOR}"
    -D "CMAKE_CXX_COMPILER=${COMPILER}" -D CMAKE_CXX_COMPILER_WORKS=ON -D "hybridkv_DIR=${folder}")
  run(ignored "${CMAKE_COMMAND}" --build "${build}" --target ${target})
  run(planned "${build}/consumer" ${scenario})
  file(READ "${build}/program.txt" program)
  printed_blocks("${program}" printed)
  if(NOT planned STREQUAL printed OR NOT planned MATCHES "^[0-9]+\n")
    message(FATAL_ERROR "${name}: the library plans\n${planned}the program\n${printed}")
  endif()
endfunction()

file(REMOVE_RECURSE "${WORK_DIR}")
run(ignored "${CMAKE_COMMAND}" --install "${BUILD_DIR}" --prefix "${WORK_DIR}/told")
file(RENAME "${WORK_DIR}/told" "${WORK_DIR}/moved")
file(GLOB packages "${WORK_DIR}/moved/lib*/cmake/hybridkv" "${WORK_DIR}/moved/lib/*/cmake/hybridkv")
consume(installed "${packages}" all)
consume(build "${BUILD_DIR}" consumer)

run(version "${WORK_DIR}/moved/bin/hybridkv" --version)
if(NOT version MATCHES "^hybridkv ${VERSION}\ncommit   [^\n]+\nschemas  hybridkv-plan/")
  message(FATAL_ERROR "--version of what is installed prints\n${version}")
endif()
set(share "${WORK_DIR}/moved/share")
foreach(file man/man1/hybridkv.1 man/man1/hybridkv-plan.1 zsh/site-functions/_hybridkv
        bash-completion/completions/hybridkv fish/vendor_completions.d/hybridkv.fish hybridkv/plan.schema.json
        hybridkv/transfer.schema.json hybridkv/scenario.schema.json hybridkv/models/Qwen3.5-4B.yaml
        hybridkv/engines/conform/protocol.py hybridkv/engines/vllm/conform/driver.py)
  if(NOT EXISTS "${share}/${file}")
    message(FATAL_ERROR "not installed: share/${file}")
  endif()
endforeach()
run(ignored "${WORK_DIR}/moved/bin/hybridkv" plan --model "${share}/hybridkv/models/Qwen3.5-4B.yaml" --memory 40G
  --max-model-len 32k)

file(GLOB_RECURSE texts "${packages}/*.cmake" "${share}/*")
foreach(file IN LISTS texts)
  file(READ "${file}" text)
  foreach(folder "${SOURCE_DIR}" "${BUILD_DIR}" "${WORK_DIR}")
    string(FIND "${text}" "${folder}" at)
    if(NOT at EQUAL -1)
      message(FATAL_ERROR "${file}: names the folder ${folder}")
    endif()
  endforeach()
endforeach()
