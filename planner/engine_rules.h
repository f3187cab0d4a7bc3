#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "planner/rule_of.h"
#include "planner/strategy.h"
#include "planner/taken_keys.h"

namespace hybridkv {

struct EngineSpec;
struct ModelSpec;

/// Models that an engine has no class for.
struct UnservedModels {
  std::string_view name_begins;   ///< of a model as published; empty where its family tells it
  std::string_view architecture;  ///< as its config names it
  std::string_view family = {};   ///< of its recurrent layers, where no other model has it
};

/// What planning asks of an engine at a version: where engines differ. The folder of an engine (engines/) fills it in
/// and says where each rule comes from. There is one object an engine, so pointers to it are compared.
struct EngineRules {
  std::string_view name;                  ///< as scenarios and flags spell it: "vllm-0.33"
  std::string_view title;                 ///< for the header of every output
  Strategy strategy = Strategy::packed_attention;   ///< how it arranges, unless another is asked for
  bool source_only = false;               ///< its rules are from its source and papers: no run of it confirms a number
  /// Of a release that was read: what is not known exactly; sentences without a full stop.
  std::span<const std::string_view> assumptions;
  std::span<const UnservedModels> unserved;
  /// How the names begin of models whose sequences have no rows of states for drafts, and of those whose tokens have
  /// positions of several dimensions; of strategy sequence_rows.
  std::span<const std::string_view> without_rows_for_drafts;
  std::span<const std::string_view> many_positions;
  /// The same of models with which the engine was seen to end where it splits its cells; of that strategy too.
  std::span<const std::string_view> ends_where_split;
  /// Settings that no room but the one of its mechanism knows.
  std::span<const OwnKey> own_keys;
  /// Where a rule comes from, as `explain` prints it; null, or empty for a rule that no plan of it follows.
  std::string_view (*source)(RuleOf rule) = nullptr;
  /// Of the keys that engines share and that not all take, those that it does.
  std::span<const std::string_view> takes = block_keys;
  /// What such a key means to it, where it has words of its own.
  std::span<const KeyWords> meanings;
  /// What to do where one is set that it does not take; else a release is named that takes it.
  std::span<const KeyWords> instead;
  /// Throws SpecError for what it has not or is not planned with; null: the checks of all engines suffice.
  void (*validate)(const ModelSpec& model, const EngineSpec& engine) = nullptr;
  bool has_mode_all = true;               ///< states may be kept at every block boundary
  bool caches_by_default = false;         ///< hybrid models cache prefixes, in mode align, unless told not to
  bool caches_states_alone = true;        ///< so do models without attention; else they cache none unless told to
  bool one_allocation = false;            ///< all layers in one allocation in one of six orders; else a pool a slot
  /// What `hybridkv emit` writes for it, a plug-in with which it plans other groups and tensors than its own: packs in
  /// its one allocation. Empty: they are in no release.
  std::string_view builder;
  bool drafts_look_ahead = false;         ///< keys cover tokens ahead for a drafter; else a look-up drops a block
  bool drafts_join = false;               ///< layers of a draft shaped as the model's own are grouped with them
  bool aligns_to_checkpoints = false;     ///< mode align: blocks are multiples of what the scan can export
  bool counts_checkpoint_blocks = false;  ///< mode align: a request holds a block for the state that a chunk exports
  bool convs_hold_drafts = false;         ///< convolutions of all families keep rows of drafts, kda and short ones too
  bool tree_pools = false;                ///< a pool of tokens, one of state slots, a radix tree over both; else blocks
  bool match_units = false;               ///< prefixes by match units and a retention; else block by block
  bool waits_for_blocks = false;          ///< mode align: a step that ends inside a block computes nothing
  bool follows_checkpoint = false;        ///< K and V have the element type that the checkpoint names, unless set
  bool reserves_null_block = false;       ///< the fit check of the start leaves the null block out
  /// What becomes of the K and V of an encoder, where they have no blocks of their own; a sentence without its subject.
  std::string_view without_encoders = "is not known to keep the K and V of an encoder";
  bool reserves_encoder_batch = false;    ///< the fit check of the start takes a whole step for tokens of the encoder
  std::int64_t latent_hybrid_grain = 1;   ///< A of models with states and latents is at least this, in tokens
  std::int64_t concurrent_batches = 1;    ///< steps whose tokens are in flight together
  /// States are kept at every multiple of so many tokens, wherever chunks end, beside the running one, and mode align
  /// says so; unset: as the mode says.
  std::optional<std::int64_t> checkpoint_tokens;
  std::optional<std::int64_t> retention_tokens;  ///< kept states lie so far apart, 0: only the last; unset: all stay
};

/// Its name.
inline std::string_view to_string(const EngineRules* rules) { return rules->name; }

/// What a decision of a plan by these rules gives as its source: what the engine says, or that nobody does.
std::string cited(const EngineRules& rules, RuleOf rule);

/// Which models that the engine does not serve one is of, by its name or the family of its recurrent layers; null where
/// it is served.
const UnservedModels* unserved_by(const EngineRules& rules, const ModelSpec& model);
/// "vLLM 0.33.0 does not serve RwkvForCausalLM; take another engine.release".
std::string unserved_text(const EngineRules& rules, const UnservedModels& models);

/// All engines, the one with packs first. What they are is said above this room, in engines/all.cc, or by whatever
/// program links a list of its own instead.
std::span<const EngineRules* const> all_engine_rules();
/// Whose rules a specification made in C++ follows where it names none; scenarios take those of the release of today.
inline const EngineRules* default_rules() { return all_engine_rules().front(); }
/// Their names: "vllm-2026-06", "vllm-0.33" …
std::vector<std::string> release_names();
/// Those of which something holds, for messages: "tensorrt-llm, vllm-0.33 or vllm-2026-06"; "another" where it is none.
std::string releases_with(bool (*holds)(const EngineRules& rules));
/// The engine of that name; null where there is none.
const EngineRules* rules_named(std::string_view name);

}  // namespace hybridkv
