#pragma once

#include <filesystem>

#include "verify/traffic.h"

namespace hybridkv {

/// Writes the batch of every attention layer as a folder that `load_attention_case` reads, with our result and the
/// float64 reference, and the raw bytes of all touched attention blocks, so that anyone can recompute the result
/// with NumPy or PyTorch:
///   layer_3/q.npy, k_new.npy, v_new.npy, kv_cache.npy, block_table.npy, …, case.json, out.npy, lse.npy,
///   out_ref_f64.npy, lse_ref_f64.npy, blocks.npy (block id in the pool of each row of kv_cache);
///   pages/pool_0.npy (touched blocks, page bytes) uint8, pages/blocks.npy (their block ids); README.txt.
/// Throws InputError where the folder exists already or a layer keeps K and V in different sizes, ResourceError where
/// a file cannot be written; an unfinished folder is removed. Pre: write_kv has run.
void export_batches(const Traffic& traffic, const std::filesystem::path& folder);

}  // namespace hybridkv
