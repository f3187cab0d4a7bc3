#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "attention/kv_view.h"

namespace hybridkv::testing {

/// What a row of data/strides.jsonl was published for.
inline KvViewSpec spec_of_row(const nlohmann::json& row) {
  static const std::map<std::string, BackendForm> forms{
      {"FlashAttentionBackend", BackendForm::paged},      {"FlashInferBackend", BackendForm::paged},
      {"TritonAttentionBackend", BackendForm::paged},     {"FlexAttentionBackend", BackendForm::flex},
      {"CPUAttentionBackend", BackendForm::cpu},          {"TritonAttentionDiffKVBackend", BackendForm::diff_kv},
      {"FlashAttentionDiffKVBackend", BackendForm::diff_kv}, {"LegacyFA(2,nb,bs,h,d)", BackendForm::kv_first},
      {"LegacyNoOrder(2,nb,bs,h,d)", BackendForm::kv_first_unordered}, {"MLACommonBackend", BackendForm::mla}};
  KvViewSpec spec;
  spec.form = forms.at(row["backend"]);
  spec.order = row["layout"] == "HND" ? PhysicalOrder::hnd : PhysicalOrder::nhd;
  spec.dtype = parse_dtype(row["dtype"].get<std::string>()).value();
  spec.num_blocks = row["num_blocks"];
  spec.block_size_tokens = row["block_size"];
  spec.kernel_block_size_tokens = row["kernel_block_size"];
  spec.kv_heads = row["num_kv_heads"];
  spec.head_size_k = row["head_size"];
  spec.head_size_v = row["head_size_v"].is_null() ? row["head_size"] : row["head_size_v"];
  spec.pack_size = row["pack_size"];
  spec.page_bytes = row["page_size_bytes"];
  return spec;
}

}  // namespace hybridkv::testing
