#!/usr/bin/env bash
# Installs what is missing, builds everything and runs all tests. `./test.sh dev` does it under the sanitizers.
set -euo pipefail
cd "$(dirname "$0")"
preset="${1:-release}"
.ci/install-packages
cmake --preset "$preset"
cmake --build --preset "$preset"
ctest --preset "$preset"
