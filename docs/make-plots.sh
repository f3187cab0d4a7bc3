#!/usr/bin/env bash
# Draws every picture of the documentation anew, into docs/plots or the folder named: of the scenario qwen3.5-397b, and
# by the clock of a model on GPUs.
# Needs a build (./demo.sh) and gnuplot.
set -euo pipefail
cd "$(dirname "$0")/.."
folder="${1:-docs/plots}"
plot_of() { "${HYBRIDKV:-build/release/hybridkv}" plot "$@" --force -o "$folder"; }
plot() { plot_of qwen3.5-397b "$@"; }
on_gpu() { plot_of Qwen3.5-35B-A3B --max-model-len 128k --requests 1000 --gpu H200 --tp 2 "$@"; }
behind_router() {
  plot_of Qwen3.5-35B-A3B --engine vllm-0.33 --memory 8G --max-model-len 128k --gpu H200 --requests 3000 --replicas 8 \
    --set "simulate.trace.synthetic={chat_weight: 0, retrieval_weight: 0}" "$@"
}
plot block-size concurrency --pack 1..15
plot request-bytes staircase hit-rate
plot page-map --pack 1,4,5
plot blocks-in-use waterfall memory-curve --pack 5
plot --pack 1 --engines all
on_gpu latency --ttft 1s --tpot 40ms --engines vllm-0.33,sglang-0.5.23
on_gpu step-time
behind_router routing-gaps --pack 1,2
behind_router routing-course --pack 1
plot transfer --pack 5 --to-set engine.tensor_parallel=8
rm -f "$folder"/*.gp "$folder"/*.tsv  # `hybridkv plot` writes them again whenever they are wanted
