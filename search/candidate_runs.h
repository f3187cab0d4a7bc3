#pragma once

#include <string_view>
#include <vector>

#include "search/recommendation.h"
#include "simulator/losses/reuse_loss.h"

namespace hybridkv {

/// What simulating one candidate costs, in tenths of a microsecond or so: fixed per request, per block handed out (mode
/// all hands out states as well) and per key hashed.
double work_of(const PlannedLayout& layout, const Candidate& candidate, const WorkloadFacts& workload);

/// Fills what the simulator finds out of the candidates, whose layouts are positions in `layouts`, in batches that fit
/// memory. `what` is what spec.on_progress is told.
void simulate_candidates(const RecommendSpec& spec, const WorkloadFacts& workload,
                         const std::vector<PlannedLayout>& layouts, std::string_view what,
                         std::vector<Candidate>& candidates);

/// Where the tokens went that one candidate computes again: one more simulation of the workload.
LossStats candidate_losses(const RecommendSpec& spec, const PlannedLayout& layout, const Candidate& candidate);

}  // namespace hybridkv
