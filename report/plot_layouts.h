#pragma once

#include "planner/cache_plan.h"
#include "report/plot.h"

namespace hybridkv {

/// Plots of what a set of plans says; several plans differ in their pack size.
/// Pre, for all of them: at least one plan, a capacity in each, the same lengths in all.

/// Model, ranks, mode and memory on one line, for below the title of a picture.
std::string plot_subtitle(const PlanSet& set);

/// "N = 4, block 528": how a legend calls a plan.
std::string layout_title(const CachePlan& plan);

/// The axis of pack sizes: a tick at each that was planned, half a step of room on both sides.
PlotAxis pack_axis(const PlanSet& set);

/// Block, page padding and the bytes wasted under the stated load, by cause, against the pack size.
Plot plot_block_size(const PlanSet& set);

/// Bytes of one request against its length for each plan beside the ideal without paging, up to the longest length
/// asked about; below it what paging adds to the ideal. Every corner of the stairs is a point, up to a few hundred a
/// plan.
Plot plot_request_bytes(const PlanSet& set);

/// How many requests run at once, null block not counted, against the pack size: at the lengths asked about, or where
/// that is one length L, at L, L/4, L/16 and L/64.
Plot plot_concurrency(const PlanSet& set);

}  // namespace hybridkv
