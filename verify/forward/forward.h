#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "planner/engine_spec.h"
#include "planner/model_spec.h"
#include "verify/fault/fault.h"
#include "verify/forward/forward_case.h"
#include "verify/forward/forward_reference.h"

namespace hybridkv {

/// What a forward verification should do.
struct ForwardSpec {
  std::int64_t scale = 16;      ///< divides head counts and head sizes, see scaled_model; 1 = as they are
  std::int64_t width = 32;      ///< channels between layers, >= 1
  std::uint64_t seed = 1;       ///< of weights and embeddings
  /// Those of them run that the release has; through a radix tree always align.
  std::vector<CacheMode> modes{CacheMode::none, CacheMode::align, CacheMode::all};
  std::vector<ForwardCase> cases;           ///< empty: all of the release
  /// Of attention: all that claim a layer run, the network goes on with what the first of them gives.
  std::vector<AttentionBackend> backends{compared_attention_backends.begin(), compared_attention_backends.end()};
  std::optional<ForwardFault> fault;        ///< planted on purpose into the engine
  std::optional<Fault> layout_fault;        ///< planted on purpose into the views
};

/// The tree that requests went through, and its pools.
struct ForwardTree {
  const EngineRules* rules = nullptr;      ///< whose order of actions it is
  std::vector<std::int64_t> page_tokens;   ///< ascending
  std::int64_t token_bytes = 0;            ///< of the scaled model, all layers
  std::int64_t state_slot_bytes = 0;       ///< the same of its states
  std::vector<std::int64_t> grid_tokens;   ///< of states, by page
};

/// The slots that requests went through.
struct ForwardSlots {
  const EngineRules* rules = nullptr;      ///< whose order of actions it is
  std::int64_t cell_bytes = 0;             ///< of a token of the scaled model, all layers
  std::int64_t row_bytes = 0;              ///< the same of its states, and of a checkpoint
  std::int64_t step_tokens = 0;            ///< of a prompt, at most
};

/// The tree with snapshots that requests went through, and its pools.
struct ForwardSnapshots {
  const EngineRules* rules = nullptr;      ///< whose order of actions it is
  std::int64_t block_bytes = 0;            ///< of the scaled model, all layers
  std::int64_t state_bytes = 0;            ///< the same of its states
  std::int64_t chunk_tokens = 0;           ///< of a prompt, at most
};

/// What the forward passes of one model and pack size showed.
struct ForwardReport {
  std::string model;
  const EngineRules* rules = nullptr;
  std::int64_t attention_pack_size = 1;
  std::int64_t scale = 1;
  std::int64_t layers = 0;             ///< that cache something
  std::int64_t block_size_tokens = 0;  ///< of the scaled model in the first mode
  std::int64_t page_bytes = 0;
  std::vector<std::string> changed_ratios;  ///< of the scaled model, see `changed_ratios`
  std::optional<ForwardFault> fault;
  std::optional<Fault> layout_fault;
  std::optional<ForwardTree> tree;     ///< of releases with a radix tree
  std::optional<ForwardSlots> slots;   ///< of releases with rows by sequence
  std::optional<ForwardSnapshots> snapshots;  ///< of releases with a tree with snapshots
  std::vector<ForwardResult> results;  ///< mode by mode, or strategy by strategy and page by page; in the order of the
                                       ///< cases
  double seconds = 0;

  bool has_fault() const { return fault || layout_fault; }
  /// Nothing was planted, every case that applies was right; there is at least one.
  bool passed() const;
  /// The planted fault changed an output in every case in which it took effect; there is at least one.
  bool caught() const;
  /// Some case had something to show.
  bool applies() const;
  /// The first case that failed, or nullptr.
  const ForwardResult* first_failure() const;
  /// With a fault planted: the case that found it by least as a multiple of what is allowed, or nullptr.
  const ForwardResult* weakest_find() const;
};

/// Called as verification goes on: how many of how many cases are done.
using ForwardProgress = std::function<void(int done, int total)>;

/// Runs a random network with the caches of the scaled model (layer pattern, families, head ratios, dtypes, backend
/// form, order and pack size of the engine) through pools and views of its own plan, in every mode and case, and
/// compares each token's output with that of the same network run dense and unpaged in float64. Tensor parallel is 1,
/// drafts of another model and auxiliary layers are left out. Cases run on all cores; the result does not depend on
/// their number.
///
/// Requests of a release with a radix tree go through that, one at a time: with every strategy and pages of 1 and 16
/// tokens, or those that the engine sets. Those of a release with rows by sequence go through the slots of its server,
/// one at a time, and those of one with pool groups through its tree with snapshots.
///
/// Where the values of the cache's format, or of uint8, are not computed here, no case applies.
/// Throws SpecError as make_plan and `validate`, and for a scale or width below 1; InputError where the release has no
/// such case, or no place for the fault of an engine, or where a planted layout fault has no place or would leave the
/// pool.
ForwardReport verify_forward(const ModelSpec& model, const EngineSpec& engine, const ForwardSpec& spec,
                             const ForwardProgress& progress = {});
/// The same with references that outlive it: what runs of one model have in common is computed once.
ForwardReport verify_forward(const ModelSpec& model, const EngineSpec& engine, const ForwardSpec& spec,
                             NetworkReferences& networks, const ForwardProgress& progress = {});

}  // namespace hybridkv
