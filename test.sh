#!/usr/bin/env bash
# Installs what is missing, builds everything and runs all tests. `./test.sh dev` does it under the sanitizers and with
# the contracts of inner loops, `./test.sh relassert` with the contracts alone, `./test.sh clang` with clang. Folders
# behind it: only their tests (`./test.sh relassert simulator verify`). HYBRIDKV_CMAKE_FLAGS are given to CMake.
set -euo pipefail
cd "$(dirname "$0")"
preset="${1:-release}"
folders=("${@:2}")
more=()
[ "$preset" != clang ] || more=(clang-16)
.ci/install-packages "${more[@]}"
# shellcheck disable=SC2086 # several flags
cmake --preset "$preset" ${HYBRIDKV_CMAKE_FLAGS:-}
if [ "${#folders[@]}" -eq 0 ]; then
  cmake --build --preset "$preset"
  ctest --preset "$preset"
else
  cmake --build --preset "$preset" --target "${folders[@]/%/_tests}"
  ctest --preset "$preset" -R "^($(IFS='|'; echo "${folders[*]}")):"
fi
