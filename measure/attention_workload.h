#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attention/batch_spec.h"
#include "attention/inputs.h"
#include "attention/kv_view.h"
#include "base/pool.h"
#include "base/resident_budget.h"
#include "planner/cache_plan.h"

namespace hybridkv {

/// One layer of attention under a batch: what a backend is timed on.
/// Example: 32 decodes at 4096 tokens, 32 query and 8 KV heads of 128, blocks of 528 in bf16.
struct AttentionWorkloadSpec {
  BatchSpec batch;
  std::int64_t shared_prefix_tokens = 0;  ///< whole blocks of them are the same for all requests that are long enough
  std::int64_t query_heads = 32;          ///< a multiple of kv_heads
  std::int64_t kv_heads = 8;
  std::int64_t head_size_k = 128;         ///< for mla the latent
  std::int64_t head_size_v = 128;
  BackendForm form = BackendForm::paged;
  PhysicalOrder order = PhysicalOrder::nhd;
  DType dtype = DType::bf16;
  std::int64_t block_size_tokens = 528;
  std::int64_t kernel_block_size_tokens = 528;
  std::int64_t pack_size = 1;             ///< N; the layer in the middle of the pack is used
  std::int64_t page_bytes = 0;            ///< 0: a page without padding
  KeyMask mask;
};

/// The layer of a plan's first spec of full attention (or mla) in place of the sizes above; batch and prefix stay.
/// Throws SpecError where the plan has none, its query heads are unknown, or its cache has a format with scales.
AttentionWorkloadSpec workload_of(const CachePlan& plan, AttentionWorkloadSpec spec);

/// A batch in a pool of its own size: block ids in random order (seeded), every token of the batch written, keys and
/// values uniform in [-1, 1) before they are rounded. Owns what its inputs borrow.
class AttentionWorkload {
 public:
  /// Charges what becomes resident to the budget first. Throws ResourceError with the bytes where that does not fit,
  /// InputError or SpecError where the sizes contradict each other.
  AttentionWorkload(const AttentionWorkloadSpec& spec, ResidentBudget& budget);
  AttentionWorkload(AttentionWorkload&&) = delete;

  const AttentionInputs& inputs() const { return inputs_; }

  /// Bytes of K and V that the batch sees, each token of a shared block once.
  std::int64_t kv_bytes() const { return kv_bytes_; }
  /// Multiplications and additions of the scores and the weighted values, of pairs that are not masked.
  double flops() const { return flops_; }

 private:
  void write_cache(const AttentionWorkloadSpec& spec);

  std::optional<ResidentCharge> charge_;
  Pool pool_;
  std::vector<float> query_, key_new_, value_new_;
  AttentionInputs inputs_;
  std::int64_t kv_bytes_ = 0;
  double flops_ = 0;
};

}  // namespace hybridkv
