#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "planner/model_spec.h"
#include "scenarios/key_table.h"

namespace hybridkv {

/// What a kind says of its layers. Of one that shares K and V the layer that it reads follows from the pattern.
struct LayerKind : LayerSpec {
  std::string of;  ///< of shared_kv: the kind whose last earlier layer it reads
};

/// A model as its file writes it, before the pattern of its layers is expanded.
struct ModelText {
  std::string name;
  std::vector<std::string> aliases;        ///< further models with the same shapes
  std::string source;
  bool layer_order_verified = true;
  std::vector<std::string> unverified;     ///< facts that could not be confirmed, each a few words
  DType dtype = DType::bf16;
  std::optional<DType> ssm_dtype;
  std::optional<DType> kv_dtype;
  std::optional<DType> ssm_cache_dtype;
  std::map<std::string, LayerKind> kinds;  ///< by name, one character each
  std::string layers;                      ///< pattern over the kinds
  std::string mtp;                         ///< kind of an MTP layer; empty: the first full attention
  std::string auxiliary;                   ///< kinds of recurrent layers outside the pattern, one character each
  std::int64_t indexer_bytes_per_token = 0;
  std::int64_t extra_blocks_per_request = 0;
  std::optional<std::int64_t> encoder_tokens;
  bool kda_exports_states = false;
  std::int64_t ring_tokens = 0;
  std::int64_t ring_bytes_per_token = 0;
  std::vector<std::string> physical_orders;
  std::optional<ModelParameters> parameters;
};

/// A reference to a model file.
struct ModelReference {
  std::string file;
};

/// One type of layer: its keys and how they make a layer. Those of recurrent families follow from their fields.
struct KindSection {
  std::string type;  ///< value of the key "type": "full_attention", "gdn", …
  const SectionInfo* info;
  std::function<LayerKind(ReadContext&, const std::string& path, const YamlNode&)> read;
};

/// The keys of a model, of a reference to a model file, and of every type of layer.
const Section<ModelText>& model_keys();
const Section<ModelReference>& model_reference_keys();
const std::vector<KindSection>& kind_sections();

/// Adds the keys of a layer of attention: query_heads, kv_heads, head_size or head_size_k and head_size_v, and
/// with `window_doc` (its explanation) window_tokens.
void add_attention_keys(Section<AttentionSpec>& keys, const char* window_doc);

/// A layer of attention of which only the kind is known.
AttentionSpec of_kind(AttentionKind kind);

}  // namespace hybridkv
