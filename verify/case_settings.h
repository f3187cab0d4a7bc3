#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "attention/key_mask.h"
#include "base/dtype.h"

namespace hybridkv {

/// What case.json of an attention case says; every key has a default.
struct CaseSettings {
  std::string source;             ///< the file, for messages
  std::optional<double> scale;    ///< of the scores; above 0, at most 1e6
  std::vector<bool> is_decode;    ///< (request); empty: none is
  std::optional<DType> dtype;     ///< of tensors that are bit patterns
  KeyMask mask;
  double soft_cap = 0;            ///< 0: none; at most 1e6
  /// What the file says of the tensors beside it, which must agree: "block_size", "num_blocks", "num_heads",
  /// "num_kv_heads", "head_size" with their values.
  std::vector<std::pair<std::string, std::int64_t>> sizes;
  std::optional<std::vector<std::int64_t>> query_lens;    ///< (request) likewise
  std::optional<std::vector<std::int64_t>> context_lens;  ///< (request) likewise

  /// Throws InputError naming the file and the key where the file says another number.
  void check_size(const std::string& key, std::int64_t derived) const;
};

/// Reads it; the defaults where there is no such file. Keys beside those above: "layer", "name" and what other programs
/// expect of the case ("all_prompt_partition", "decode_cached_partition", "chunked_bias_bytes"), which are not used.
/// Throws InputError with the file and the key: text that is no JSON object, unknown or repeated keys, values of
/// another type, fractions where whole numbers belong, numbers out of range.
CaseSettings read_case_settings(const std::filesystem::path& file);

}  // namespace hybridkv
