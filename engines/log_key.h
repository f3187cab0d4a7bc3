#pragma once

#include <array>
#include <string_view>

#include "base/named_values.h"

namespace hybridkv {

/// What a start-up log of an engine says of its cache. Which lines say it is up to the engine.
enum class LogKey {
  version,
  model,
  max_model_len,
  tensor_parallel,
  pipeline_parallel,
  decode_context_parallel,
  dtype,
  kv_dtype,
  ssm_dtype,
  cache_mode,
  prefix_caching,
  speculative_tokens,
  draft_method,
  attention_pack_size,
  user_block_size,
  max_num_batched_tokens,
  max_num_seqs,
  match_unit,
  retention,
  page_size,
  streams,
  failure,
  utilization,
  free_gib,
  total_gib,
  wanted_gib,
  layout,
  gdn_prefill,
  block_size,
  padding_percent,
  memory_gib,
  num_blocks,
  state_blocks,
  kv_cache_tokens,
  concurrency_length,
  concurrency,
  checked_gib,
  needed_gib,
  estimated_length,
  state_slots,
  conv_size,
  ssm_size,
  token_slots,
  k_size,
  v_size,
  kv_size,
  running_limit,
};

/// In the order of the enumeration, as JSON calls them.
inline constexpr auto log_key_names = std::to_array<Named<LogKey>>(
    {{LogKey::version, "version"},
     {LogKey::model, "model"},
     {LogKey::max_model_len, "max_model_len"},
     {LogKey::tensor_parallel, "tensor_parallel"},
     {LogKey::pipeline_parallel, "pipeline_parallel"},
     {LogKey::decode_context_parallel, "decode_context_parallel"},
     {LogKey::dtype, "dtype"},
     {LogKey::kv_dtype, "kv_dtype"},
     {LogKey::ssm_dtype, "ssm_dtype"},
     {LogKey::cache_mode, "cache_mode"},
     {LogKey::prefix_caching, "prefix_caching"},
     {LogKey::speculative_tokens, "speculative_tokens"},
     {LogKey::draft_method, "draft_method"},
     {LogKey::attention_pack_size, "attention_pack_size"},
     {LogKey::user_block_size, "user_block_size"},
     {LogKey::max_num_batched_tokens, "max_num_batched_tokens"},
     {LogKey::max_num_seqs, "max_num_seqs"},
     {LogKey::match_unit, "match_unit_tokens"},
     {LogKey::retention, "retention_interval_tokens"},
     {LogKey::page_size, "page_size"},
     {LogKey::streams, "streams"},
     {LogKey::failure, "failure"},
     {LogKey::utilization, "gpu_memory_utilization"},
     {LogKey::free_gib, "free_memory_gib"},
     {LogKey::total_gib, "total_memory_gib"},
     {LogKey::wanted_gib, "wanted_memory_gib"},
     {LogKey::layout, "layout"},
     {LogKey::gdn_prefill, "gdn_prefill"},
     {LogKey::block_size, "block_size"},
     {LogKey::padding_percent, "padding_percent"},
     {LogKey::memory_gib, "available_memory_gib"},
     {LogKey::num_blocks, "num_blocks"},
     {LogKey::state_blocks, "state_blocks"},
     {LogKey::kv_cache_tokens, "kv_cache_tokens"},
     {LogKey::concurrency_length, "concurrency_length"},
     {LogKey::concurrency, "max_concurrency"},
     {LogKey::checked_gib, "checked_memory_gib"},
     {LogKey::needed_gib, "needed_memory_gib"},
     {LogKey::estimated_length, "estimated_max_model_len"},
     {LogKey::state_slots, "state_slots"},
     {LogKey::conv_size, "conv_size"},
     {LogKey::ssm_size, "ssm_size"},
     {LogKey::token_slots, "token_slots"},
     {LogKey::k_size, "k_size"},
     {LogKey::v_size, "v_size"},
     {LogKey::kv_size, "kv_size"},
     {LogKey::running_limit, "max_running_requests"}});
inline constexpr auto all_log_keys = values_of(log_key_names);

constexpr std::string_view to_string(LogKey key) { return name_in(log_key_names, key); }

/// Numbers that the engine computes from the cache itself, which rules have to explain; the other keys are settings.
/// Sizes are in the unit that the engine prints.
inline constexpr std::array log_figures{
    LogKey::block_size,  LogKey::padding_percent,  LogKey::memory_gib,  LogKey::num_blocks, LogKey::state_blocks,
    LogKey::kv_cache_tokens, LogKey::concurrency,  LogKey::checked_gib, LogKey::needed_gib, LogKey::estimated_length,
    LogKey::state_slots, LogKey::conv_size,        LogKey::ssm_size,    LogKey::token_slots, LogKey::k_size,
    LogKey::v_size,      LogKey::kv_size,          LogKey::running_limit};

}  // namespace hybridkv
