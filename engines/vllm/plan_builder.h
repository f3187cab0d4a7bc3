#pragma once

#include "engines/emit.h"

namespace hybridkv {

/// A Python package with a KVCacheConfigBuilder by which vLLM makes the groups and tensors of a plan: its module first,
/// then what installs it, a test and a text for its readers; as a package the cases of that test too. Throws InputError
/// where a plan is of another kind: several stages or ranks of a context, layers beside the model's own, specs that
/// nothing tells apart, packs with padding inside. Source: vLLM 0.33 KVCacheConfigBuilder.
std::vector<EmittedFile> emit_vllm_builder(const EmitQuestion& question);

}  // namespace hybridkv
