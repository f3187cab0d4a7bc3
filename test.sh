#!/usr/bin/env bash
# Installs what is missing, builds everything and runs all tests. `./test.sh dev` does it under the sanitizers,
# `./test.sh clang` with clang.
set -euo pipefail
cd "$(dirname "$0")"
preset="${1:-release}"
more=()
[ "$preset" != clang ] || more=(clang-16)
.ci/install-packages "${more[@]}"
cmake --preset "$preset"
cmake --build --preset "$preset"
ctest --preset "$preset"
