#!/usr/bin/env bash
# Draws every picture of the documentation anew, from the scenario qwen3.5-397b, into docs/plots or the folder named.
# Needs a build (./demo.sh) and gnuplot.
set -euo pipefail
cd "$(dirname "$0")/.."
folder="${1:-docs/plots}"
plot() { "${HYBRIDKV:-build/release/hybridkv}" plot qwen3.5-397b "$@" --force -o "$folder"; }
plot block-size concurrency --pack 1..15
plot request-bytes staircase hit-rate
plot page-map --pack 1,4,5
plot blocks-in-use waterfall memory-curve --pack 5
plot --pack 1 --engines all
plot transfer --pack 5 --to-set engine.tensor_parallel=8
rm -f "$folder"/*.gp "$folder"/*.tsv  # `hybridkv plot` writes them again whenever they are wanted
