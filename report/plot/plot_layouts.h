#pragma once

#include "ask/plot/request_curves.h"
#include "planner/cache_plan.h"
#include "report/plot/plot.h"

namespace hybridkv {

/// Plots of what a set of plans says; several plans differ in their pack size.
/// Pre, for all of them: at least one plan, a capacity in each, the same lengths in all.

/// Model, ranks, mode and memory on one line, for below the title of a picture.
std::string plot_subtitle(const PlanSet& set);

/// "N = 4, block 528": how a legend calls a plan.
std::string layout_title(const CachePlan& plan);
std::string layout_title(std::int64_t attention_pack_size, std::int64_t block_size_tokens);

/// The axis of pack sizes: a tick at each that was planned, half a step of room on both sides.
PlotAxis pack_axis(const PlanSet& set);

/// Block, page padding and the bytes wasted under the stated load, by cause, against the pack size.
Plot plot_block_size(const PlanSet& set);

/// Bytes of one request against its length for each plan beside the ideal without paging; below it what paging adds to
/// the ideal. Pre: the values are of the set.
Plot plot_request_bytes(const PlanSet& set, const RequestBytes& values);

/// How many requests run at once against the pack size, at each length. Pre: the values are of the set.
Plot plot_concurrency(const PlanSet& set, const ConcurrencyCurves& values);

}  // namespace hybridkv
