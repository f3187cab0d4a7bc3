#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "attention/inputs.h"
#include "attention/output.h"
#include "base/output_file.h"

namespace hybridkv {

/// A batch of one attention layer as a folder of NumPy files; owns what its inputs borrow.
///
/// Files (R requests, T query tokens, Hq query heads, Hkv KV heads, d channels):
///   q.npy (T, Hq, d), k_new.npy and v_new.npy (T, Hkv, d); kv_cache.npy (blocks, 2, block, Hkv, d), new tokens
///   already written; block_table.npy (R, max blocks); query_lens.npy and seq_lens.npy or context_lens.npy (R);
///   of these two the other one, and slot_mapping.npy (T), are optional and must agree with the rest;
///   sinks.npy (Hq) float32, optional;
///   case.json, optional: {"scale": 1/sqrt(d), "is_decode": [false, …], "dtype": "bf16", "soft_cap": 0,
///   "mask": "full", or "sliding_window" or "chunked_local" with "window_tokens"}; all keys: verify/case_settings.h.
/// Elements are float32, or bit patterns of `dtype`: bf16 and fp16 as uint16, fp8 as uint8.
struct AttentionCase {
  std::vector<float> query;
  std::vector<float> key_new;
  std::vector<float> value_new;
  std::vector<float> sinks;
  std::vector<std::byte> cache;
  AttentionInputs inputs;
};

/// The files of a case that are read, whether they are there or not.
std::vector<std::string> input_files(const std::filesystem::path& folder);

/// Reads such a folder; no element before all shapes fit each other. Throws InputError, naming the file, for a missing
/// or damaged one, shapes that do not fit each other, an unknown dtype, or lengths and slots that contradict the block
/// table; ResourceError where it is more than the memory that is free.
AttentionCase load_attention_case(const std::filesystem::path& folder);

/// The files of a result, opened before the work that makes it: a folder that cannot be written to is found out first.
struct AttentionOutputFiles {
  /// out.npy and lse.npy in that folder. Throws as OutputFile.
  explicit AttentionOutputFiles(const std::filesystem::path& folder);
  OutputFile out;
  OutputFile lse;
};

/// Writes out.npy (T, Hq, dv) and lse.npy (T, Hq), float32 or float64 as computed; both or neither.
/// Throws as OutputFile.
template <class Real>
void write_attention_output(AttentionOutputFiles& files, const AttentionInputs& inputs,
                            const AttentionOutput<Real>& output);
template <class Real>
void write_attention_output(const std::filesystem::path& folder, const AttentionInputs& inputs,
                            const AttentionOutput<Real>& output);

extern template void write_attention_output(AttentionOutputFiles&, const AttentionInputs&,
                                            const AttentionOutput<float>&);
extern template void write_attention_output(AttentionOutputFiles&, const AttentionInputs&,
                                            const AttentionOutput<double>&);
extern template void write_attention_output(const std::filesystem::path&, const AttentionInputs&,
                                            const AttentionOutput<float>&);
extern template void write_attention_output(const std::filesystem::path&, const AttentionInputs&,
                                            const AttentionOutput<double>&);

}  // namespace hybridkv
