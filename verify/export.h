#pragma once

#include <filesystem>

#include "verify/transfer/traffic.h"

namespace hybridkv {

/// Throws InputError where a folder to export to exists already or cannot be; to ask before the work.
void check_export_folder(const std::filesystem::path& folder);

/// Writes the batch of every attention layer as a folder that `load_attention_case` reads, with our result and the
/// float64 reference, and the raw bytes of all touched attention blocks, so that anyone can recompute the result
/// with NumPy or PyTorch:
///   layer_3/q.npy, k_new.npy, v_new.npy, kv_cache.npy, block_table.npy, …, case.json, out.npy, lse.npy,
///   out_ref_f64.npy, lse_ref_f64.npy, out_paged.npy, … of each backend that claims the layer, backends.json with those
///   that ran and why others did not, blocks.npy (block id in the pool of each row of kv_cache);
///   pages/pool_0.npy (touched blocks, page bytes) uint8, pages/blocks.npy (their block ids); README.txt.
/// The folder appears as a whole or not at all; the folders it lies in are made. Throws InputError where it exists
/// already or a layer keeps K and V in different sizes, and as OutputFile. Pre: write_kv has run.
void export_batches(const Traffic& traffic, const std::filesystem::path& folder);

}  // namespace hybridkv
