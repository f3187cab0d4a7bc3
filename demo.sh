#!/usr/bin/env bash
# Installs what is missing, builds, plans Qwen3.5-397B-A17B for seven pack sizes and proves two of the layouts.
set -euo pipefail
cd "$(dirname "$0")"
.ci/install-packages
cmake --preset release >/dev/null
cmake --build --preset release --target hybridkv >&2
build/release/hybridkv plan qwen3.5-397b
build/release/hybridkv verify qwen3.5-397b
