#pragma once

#include <optional>
#include <string>
#include <vector>

#include "attention/kv_format.h"
#include "planner/model_spec.h"

namespace hybridkv {

/// The same model at a reduced width: the same layers in the same order, the same families, the same numbers of query
/// heads per KV head and value heads per key head, but head counts and head sizes divided by `scale`.
///
/// The heads of a group of mamba2, up to 256 for one group, are divided as well; where several shared one, at least two
/// do. A head keeps at least 8 channels and a model at least one head; widths that are heads times channels (mamba1,
/// short_conv) are divided by scale twice; so are windows, which keep at least 12 tokens; chunks of a scan by `scale`,
/// to at least 16 tokens. Scale 1 is the model itself.
/// Heads stay what `format`, where there is one, can keep: multiples of 16 channels for nvfp4, even for int4, latents
/// as they are for fp8_ds_mla. Pre: scale >= 1, `validate` accepts the model, its heads fit the format.
/// Example: 32 query heads over 2 KV heads of 256 become, at scale 16, 16 over one of 16.
ModelSpec scaled_model(const ModelSpec& model, std::int64_t scale, std::optional<KvFormat> format = std::nullopt);

/// What the scaled model shares otherwise than the model, once per kind of layer: "16 heads of mamba2 share B and C, of
/// 128". Empty where every ratio stayed. Pre: `scaled` is a scaled_model of it.
std::vector<std::string> changed_ratios(const ModelSpec& model, const ModelSpec& scaled);

}  // namespace hybridkv
