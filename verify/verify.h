#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "verify/check_result.h"
#include "verify/fault/fault.h"
#include "verify/layout/block_assignment.h"

namespace hybridkv {

/// What a verification should do.
struct VerifySpec {
  std::vector<BatchRequest> requests;                ///< empty: default_requests of the plan
  std::uint64_t seed = 1;                             ///< of block ids and contents
  std::optional<std::int64_t> resident_budget_bytes;  ///< default: half of the free memory
  std::optional<Fault> fault;                         ///< planted on purpose
  bool until_caught = false;                          ///< stop behind the check that owns the fault, once one failed
  std::filesystem::path export_folder;                ///< where export_batches writes; empty: nowhere
  bool operator==(const VerifySpec&) const = default;
};

/// What a verification found.
struct VerifyReport {
  std::int64_t attention_pack_size = 1;
  std::vector<BatchRequest> requests;
  std::optional<Fault> fault;                ///< the one planted
  std::string no_place;                      ///< why the plan has no place for it; then nothing ran
  std::vector<CheckResult> checks;           ///< in the order they ran
  std::int64_t reserved_bytes = 0;           ///< address space of the pools
  std::int64_t resident_bytes = 0;           ///< of the pools, at the end
  std::int64_t peak_process_bytes = 0;       ///< largest resident size the process has had
  std::int64_t max_element_offset = 0;       ///< largest offset, in elements, of a block that was written and read
  double seconds = 0;

  /// Every check ran and found nothing, or has nothing in the plan that its backend claims.
  bool passed() const;
  /// No check found a fault, and the only ones that did not run need values that nothing here can compute. The first of
  /// them; else nullptr.
  const CheckResult* first_unproven() const;
  /// A fault was planted and a check found one.
  bool caught() const { return fault && first_failure() != nullptr; }
  /// The first check that found a fault, or nullptr.
  const CheckResult* first_failure() const;
};

/// Called as verification goes on: the step that begins, and how many of how many are done.
using VerifyProgress = std::function<void(std::string_view step, int done, int total)>;

/// A prompt chunk over a long context, a decode that shares its first block, a decode with draft tokens, and a fresh
/// prompt; shorter or fewer where the pools are small. The first two reach beyond the windows and chunks of the plan,
/// as far as these have at most 16,384 tokens and the pools have room. Throws InputError where not even one token fits.
std::vector<BatchRequest> default_requests(const CachePlan& plan);

/// One request per length, in the four roles of default_requests in turn. Throws InputError for a length below 1.
std::vector<BatchRequest> requests_of_lengths(std::span<const std::int64_t> tokens);

/// Allocates the pools of a plan at full size, runs traffic through every view and checks all that can go wrong with
/// a layout (verify/fault/fault.h). The plan is never changed.
/// Throws ResourceError before any allocation where the pages to be touched exceed the resident budget, InputError
/// where the requests do not fit the pools, NoPlaceError where the fault has no place in this plan, and as
/// export_batches.
VerifyReport verify_plan(const CachePlan& plan, const VerifySpec& spec, const VerifyProgress& progress = {});

}  // namespace hybridkv
