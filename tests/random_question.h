#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/named_values.h"
#include "base/random.h"
#include "base/shell_word.h"
#include "engines/llama_cpp/rules.h"
#include "engines/sglang/rules.h"
#include "engines/tensorrt_llm/rules.h"
#include "engines/vllm/rules.h"
#include "planner/backend_profile.h"
#include "planner/engine_spec.h"
#include "scenarios/key_flags.h"
#include "scenarios/model_library.h"
#include "scenarios/read.h"

/// Random questions that any room of the house can be asked: a shipped model, an engine and what can be set of it, as
/// keys of a scenario. One in a few is refused, for a reason that a user could meet.
namespace hybridkv::testing {

/// One key of a question, as a user would write it.
struct AskedKey {
  std::string key;    ///< "engine.tensor_parallel"
  std::string value;  ///< as YAML
  bool in_file = false;  ///< it stands in the scenario's text, else it is typed as a flag
};

/// A question, which its seed says all of.
struct RandomQuestion {
  std::uint64_t seed = 0;
  std::vector<AskedKey> keys;

  std::string value_of(std::string_view key) const {
    const auto found = std::find_if(keys.begin(), keys.end(), [&](const AskedKey& one) { return one.key == key; });
    return found == keys.end() ? std::string() : found->value;
  }

  /// The words that type it behind `hybridkv COMMAND`, every key as a flag.
  std::string command_words() const {
    std::string words;
    for (const AskedKey& one : keys) words += (words.empty() ? "" : " ") + typed(one);
    return words;
  }

  /// As a scenario file with flags laid over it. Where all keys were typed the file is an empty one.
  ScenarioFile file() const {
    std::string text;
    std::string section;
    for (const AskedKey& one : keys) {
      if (!one.in_file) continue;
      const std::size_t dot = one.key.find('.');
      if (dot == std::string::npos) {
        text += one.key + ": " + one.value + "\n";
        section.clear();
        continue;
      }
      if (section != one.key.substr(0, dot)) text += (section = one.key.substr(0, dot)) + ":\n";
      text += "  " + one.key.substr(dot + 1) + ": " + one.value + "\n";
    }
    ScenarioFile file = parse_scenario(text.empty() ? "{}" : text, "random.yaml");
    for (const AskedKey& one : keys)
      if (!one.in_file) apply_override(file, one.key, one.value, shown(one));
    return file;
  }

  /// How messages call a key that was typed: "--tp 2", "--set engine.draft={...}".
  static std::string shown(const AskedKey& one) {
    const std::string_view flag = flag_of_key(key_flags, one.key);
    return flag.empty() ? "--set " + one.key + "=" + one.value : std::string(flag) + " " + one.value;
  }

 private:
  static std::string typed(const AskedKey& one) {
    const std::string_view flag = flag_of_key(key_flags, one.key);
    if (flag.empty()) return "--set " + shell_word(one.key + "=" + one.value);
    return std::string(flag) + " " + shell_word(one.value);
  }
};

/// Draws the parts of one question one after the other.
class QuestionMaker {
 public:
  explicit QuestionMaker(std::uint64_t seed) : seed_(seed) { question_.seed = seed; }

  /// About this model; without a name about any shipped one.
  RandomQuestion make(const std::string& model = "") {
    const std::string& drawn = shipped_models()[below(shipped_models().size())].model.name;
    add("model", model.empty() ? drawn : model);
    choose_engine();
    choose_ranks();
    choose_layout();
    choose_types();
    choose_drafts();
    choose_sizes();
    choose_replay();
    place_keys();
    return question_;
  }

 private:
  std::uint64_t draw() { return mix(seed_, ++drawn_); }
  std::size_t below(std::size_t count) { return static_cast<std::size_t>(draw() % count); }
  bool one_in(std::size_t count) { return below(count) == 0; }
  template <class Value>
  Value pick(std::initializer_list<Value> values) {
    return values.begin()[below(values.size())];
  }
  std::string pick_number(std::initializer_list<int> values) { return std::to_string(pick(values)); }
  void add(const std::string& key, std::string value) { question_.keys.push_back({key, std::move(value)}); }

  bool is_vllm() const { return rules_ == &rules_of_vllm_2026_06 || rules_ == &rules_of_vllm_0_33; }
  bool is(const EngineRules* rules) const { return rules_ == rules; }
  /// Are there blocks, groups and pages whose sizes can be set?
  bool has_common_pages() const { return is_vllm() && strategy_ == Strategy::packed_attention; }

  void choose_engine() {
    // Half of all questions are about the two releases that can be asked most.
    const auto all = all_engine_rules();
    rules_ = one_in(2) ? pick({&rules_of_vllm_2026_06, &rules_of_vllm_0_33}) : all[below(all.size())];
    add("engine.release", std::string(rules_->name));
    strategy_ = rules_->strategy;
    if (is_vllm() && one_in(5)) {
      strategy_ = pick({Strategy::dual_pool, Strategy::small_pages, Strategy::compact_slots});
      if (is(&rules_of_vllm_2026_06) && one_in(4)) strategy_ = Strategy::two_level;
      add("engine.strategy", std::string(to_string(strategy_)));
    }
    const bool has_all = rules_->has_mode_all && !rules_->tree_pools && !is(&rules_of_llama_cpp);
    mode_ = one_in(5) ? CacheMode::none : has_all && one_in(4) ? CacheMode::all : CacheMode::align;
    if (!one_in(8)) add("engine.cache_mode", std::string(to_string(mode_)));
    if (has_common_pages() && one_in(3)) {
      packs_ = pick({2, 3, 4, 5, 6, 8});
      add("engine.attention_pack_size", std::to_string(packs_));
    }
  }

  void choose_ranks() {
    const int ranks = pick({1, 1, 1, 2, 2, 4, 8});
    if (ranks > 1) add("engine.tensor_parallel", std::to_string(ranks));
    if (one_in(6) && ranks > 1) add("engine.pad_heads", "true");
    if (!is(&rules_of_vllm_0_33)) return;
    if (one_in(8)) {
      add("engine.pipeline_parallel", "2");
      add("engine.pipeline_rank", pick_number({0, 1}));
    }
    if (ranks > 1 && one_in(8)) add("engine.decode_context_parallel", "2");
  }

  void choose_layout() {
    const bool allocates_once = is(&rules_of_vllm_0_33) && strategy_ == Strategy::packed_attention && packs_ == 1;
    if (allocates_once && one_in(3))
      add("engine.physical_order", pick<const char*>({"LBNHC", "LBHNC", "BLNHC", "BLHNC", "nhd", "hnd"}));
    else if (!allocates_once && one_in(5))
      add("engine.physical_order", pick<const char*>({"nhd", "hnd"}));
    if (is(&rules_of_vllm_0_33) && one_in(3)) {
      const BackendProfile profile = all_backend_profiles[below(all_backend_profiles.size())];
      add("engine.backend_profile", std::string(to_string(profile)));
    }
    if (has_common_pages() && one_in(10)) add("engine.layers_per_group", pick_number({1, 2, 4, 8}));
    if (has_common_pages() && one_in(6)) add("engine.block_size_tokens", pick_number({16, 32, 64, 128, 256, 1024}));
    if (is(&rules_of_tensorrt_llm) && one_in(3)) add("engine.block_size_tokens", pick_number({16, 64, 128}));
    if (is(&rules_of_tensorrt_llm)) choose_snapshots();
    if (is(&rules_of_vllm_2026_06) && strategy_ == Strategy::packed_attention && mode_ == CacheMode::all && one_in(3))
      add("engine.mamba_block_size_tokens", pick_number({128, 256, 512, 1024}));
    if (splits_memory(strategy_) && is_vllm() && one_in(2)) {
      if (one_in(3)) add("engine.state_requests", pick_number({1, 6, 40}));
      else add("engine.state_memory_ratio", pick<const char*>({"0.1", "0.5", "2"}));
    }
    if (has_common_pages() && one_in(10)) add("engine.page_alignment_bytes", pick_number({256, 4096}));
    if (is_vllm() && one_in(12)) add("engine.hidden_state_size", "2048");
    if (is_vllm() && one_in(12)) add("engine.token_rule", "floor");
    if (is(&rules_of_tensorrt_llm) && one_in(3)) add("engine.avg_seq_len", pick_number({500, 20000}));
    if (is(&rules_of_llama_cpp) && one_in(3))
      add("engine.max_running_requests", pick_number({1, 4, 30}));
    if (is(&rules_of_sglang_0_5_23)) choose_tree();
    if (is(&rules_of_llama_cpp) && one_in(3)) add("engine.ctx_checkpoints", pick_number({0, 1, 8}));
    if (is(&rules_of_vllm_0_33) && mode_ != CacheMode::none && one_in(4))
      add("engine.prefix_match_unit_tokens", pick_number({16, 32, 64, 128}));
    if (one_in(8)) add("engine.max_num_batched_tokens", pick_number({2048, 4096, 16384}));
    if (is(&rules_of_vllm_0_33) && one_in(10)) add("engine.concurrent_batches", pick_number({1, 2, 3}));
    if (is(&rules_of_vllm_0_33) && one_in(10)) add("engine.hybrid_manager", "false");
  }

  void choose_snapshots() {
    add("engine.max_batch_size", pick_number({1, 4, 30}));
    if (one_in(2)) add("engine.periodic_snapshot_interval", pick_number({100, 512, 1024}));
    if (one_in(6)) return add("engine.use_kv_cache_manager_v2", "false");
    if (one_in(2)) add("engine.additional_snapshot_offsets_from_end", pick<const char*>({"[0]", "[0, 32]"}));
    if (one_in(4)) add("engine.additional_snapshot_offsets_from_start", "[100, 512]");
    if (one_in(3)) add("engine.enable_branch_snapshot", "true");
    if (one_in(5)) add("engine.enable_partial_reuse", "false");
    if (one_in(5)) add("engine.pool_ratio", "[0.3, 0.7]");
    if (one_in(4)) add("engine.host_cache_size", pick<const char*>({"1 MiB", "4 GiB", "100 GiB"}));
  }

  void choose_tree() {
    if (one_in(3))
      add("engine.mamba_radix_cache_strategy", pick<const char*>({"no_buffer", "extra_buffer", "extra_buffer_lazy"}));
    if (one_in(4)) add("engine.page_size", pick_number({1, 16, 64}));
    if (one_in(6)) add("engine.mamba_track_interval", pick_number({64, 128, 512}));
    if (one_in(6)) add("engine.overlap_schedule", "false");
    if (one_in(8)) add("engine.skip_decode_lock", "true");
    if (one_in(10)) add("engine.unified_memory", "true");
  }

  void choose_types() {
    const bool with_scales = is_vllm();
    if (one_in(3))
      add("engine.kv_dtype", with_scales && one_in(3)
                                 ? pick<const char*>({"int8_per_token_head", "nvfp4", "fp8_per_token_head"})
                                 : pick<const char*>({"bf16", "fp8", "fp16", "fp32"}));
    if (one_in(4)) add("engine.ssm_dtype", pick<const char*>({"bf16", "fp32", "fp16"}));
    if (one_in(8)) add("engine.conv_dtype", pick<const char*>({"bf16", "fp32"}));
  }

  void choose_drafts() {
    if (is(&rules_of_tensorrt_llm) || !one_in(3)) return;
    add("engine.speculative_tokens", pick_number({1, 2, 3, 5}));
    if (is(&rules_of_sglang_0_5_23)) {
      if (one_in(3)) add("engine.linear_replayssm_spec", "true");
      return add("engine.max_running_requests", pick_number({4, 16, 48}));
    }
    if (is(&rules_of_llama_cpp)) return;
    if (one_in(2)) add("engine.mtp_layers", pick_number({1, 1, 3}));
    else if (is_vllm() && one_in(2))
      add("engine.draft", pick<const char*>(
                              {"{layers: 1, attention: {kv_heads: 8, head_size: 128}}",
                               "{layers: 2, attention: {kv_heads: 4, head_size: 64, window_tokens: 2048}}"}));
  }

  void choose_sizes() {
    static constexpr int tokens[] = {1000, 2048, 4096, 9999, 16384, 32768, 65536, 131072};
    max_model_len_ = tokens[below(std::size(tokens))];
    if (is_vllm() && strategy_ != Strategy::two_level && one_in(20)) {  // whose large pages may be a TiB each
      add("engine.num_blocks", pick_number({3, 40, 300, 2000}));
    } else {
      add("engine.memory", pick<const char*>({"512 MiB", "2 GiB", "5 GiB", "12 GiB", "40 GiB", "40 GiB", "100 GiB"}));
    }
    add("limits.max_model_len", std::to_string(max_model_len_));
  }

  /// Prompts that come again, parts of them, and one of the longest length.
  void choose_replay() {
    const std::int64_t longest = max_model_len_ - 1;
    const std::int64_t shorter = 1 + static_cast<std::int64_t>(draw() % static_cast<std::uint64_t>(longest));
    const std::int64_t shared = 1 + static_cast<std::int64_t>(draw() % static_cast<std::uint64_t>(shorter));
    const auto prompt = [](std::int64_t length, const std::string& more) {
      return "{tokens: " + std::to_string(length) + more + "}";
    };
    add("simulate.trace", "{prompts: [" + prompt(shorter, ", copies: 2") + ", " +
                              prompt(shorter, ", shared_tokens: " + std::to_string(shared)) + ", " +
                              prompt(longest, ", shared_tokens: " + std::to_string(shared) + ", copies: 2") + ", " +
                              prompt(shorter, ", copies: 2") + "]}");
    const bool has_blocks = !is(&rules_of_sglang_0_5_23) && !is(&rules_of_llama_cpp);
    if (has_blocks && one_in(5)) add("simulate.retention_interval_tokens", pick_number({0, 4224}));
    if (has_blocks && one_in(6)) add("simulate.match_unit_tokens", pick_number({16, 48, 256}));
    if (has_blocks && one_in(6)) add("simulate.host_memory", pick<const char*>({"256 MiB", "8 GiB"}));
    if (has_blocks && one_in(10)) add("simulate.max_num_seqs", pick_number({1, 8}));
  }

  /// Some questions are typed, some stand in a file, most are a file with flags.
  void place_keys() {
    const std::size_t in_files = below(3);
    for (AskedKey& one : question_.keys) one.in_file = in_files == 1 || (in_files == 2 && one_in(2));
    // A text holds its sections one after the other.
    std::stable_partition(question_.keys.begin(), question_.keys.end(),
                          [](const AskedKey& one) { return one.key == "model"; });
  }

  std::uint64_t seed_ = 0, drawn_ = 0;
  RandomQuestion question_;
  const EngineRules* rules_ = &rules_of_vllm_2026_06;
  Strategy strategy_ = Strategy::packed_attention;
  CacheMode mode_ = CacheMode::none;
  int packs_ = 1;
  std::int64_t max_model_len_ = 0;
};

/// The same seed gives the same question, everywhere.
inline RandomQuestion random_question(std::uint64_t seed, const std::string& model = "") {
  return QuestionMaker(seed).make(model);
}

}  // namespace hybridkv::testing
