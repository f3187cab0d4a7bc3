#pragma once

#include <string>
#include <string_view>

namespace hybridkv {

/// A published name taken apart. What organisations put before a model and publishers behind it changes neither its
/// layers nor its heads.
///
/// Example: "nvidia/Qwen3.5-4B-Instruct-2507-FP8" is base "Qwen3.5-4B", variant "Instruct-2507", quantised "FP8".
struct PublishedName {
  std::string base;           ///< without organisation and suffixes
  std::string variant;        ///< of the training, of the date or of the weights' 16-bit type; empty: none
  std::string quantised;      ///< of the weights, "FP8", "AWQ", "GPTQ-Int4"; empty: none
  bool kv_quantised = false;  ///< its last part says that the KV cache is quantised too: "FP8-KV"
};

/// Takes a name apart. Suffixes are the parts between hyphens that publishers use; of a name that is nothing else the
/// first part stays.
PublishedName split_published_name(std::string_view name);

}  // namespace hybridkv
