#pragma once

#include "engines/conformance.h"

namespace hybridkv {

/// The usual setting with one thing changed, for everything that can be.
std::vector<EngineSpec> conform_settings_of_vllm(const ModelSpec& model);
/// A setting of that key with any of these things changed.
EngineSpec random_conform_setting_of_vllm(const ModelSpec& model, std::uint64_t key);

/// How vLLM 0.33.0 is asked: its planning runs without a GPU.
extern const Conformance conformance_of_vllm_0_33;

}  // namespace hybridkv
