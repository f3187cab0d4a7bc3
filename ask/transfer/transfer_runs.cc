#include "ask/transfer/transfer_runs.h"

#include <algorithm>
#include <array>
#include <map>
#include <span>

#include "base/checked.h"
#include "transfer/nearest_rank.h"
#include "transfer/routes.h"
#include "transfer/token_cuts.h"

namespace hybridkv {

namespace {

/// The axes of a route but that of tokens, as far as they do not lie in one run.
struct CountedRoute {
  std::array<BoxAxis, 3> axes;
  BoxRun run;
  std::size_t left = 0;

  explicit CountedRoute(const TokenRoute& route) : axes(route.axes), run(route.element) {
    left = fold_box(axes, run).size();
  }
};

std::int64_t product_of(std::span<const BoxAxis> axes) {
  Checked product = 1;
  for (const BoxAxis& axis : axes) product *= axis.extent;
  return product;
}

/// Runs of a stretch of tokens.
std::int64_t runs_of_cut(const TokenRoute& route, const CountedRoute& folded, std::int64_t tokens) {
  std::array<BoxAxis, 4> all{BoxAxis{tokens, route.from.token_stride, route.to.token_stride}};
  std::copy(folded.axes.begin(), folded.axes.end(), all.begin() + 1);
  BoxRun run = folded.run;
  return product_of(fold_box(std::span(all).first(folded.left + 1), run));
}

std::int64_t runs_of_route(const TokenRoute& route, const std::vector<TokenCut>& cuts) {
  const CountedRoute folded(route);
  std::int64_t runs = 0;
  for (const TokenCut& cut : cuts) runs += runs_of_cut(route, folded, cut.tokens);
  return runs;
}

/// Blocks of a table that hold one of the tokens from `first` on.
std::int64_t blocks_of(const TokenTable& table, std::int64_t first, std::int64_t tokens) {
  return ceil_div(tokens, table.block_tokens()) - first / table.block_tokens();
}

class RunExplainer {
 public:
  RunExplainer(const TransferMap& map, const TransferOptions& options, const TransferRequest& request)
      : map_(map), request_(request), routes_(make_routes(map.from(), map.to(), options)) {
    for (const TokenTables& tables : routes_.tables) cuts_.push_back(cut_tokens(tables, request));
  }

  const PairRoutes& pair_of(std::int64_t from_rank, std::int64_t to_rank) const {
    return *std::find_if(routes_.pairs.begin(), routes_.pairs.end(), [&](const PairRoutes& pair) {
      return pair.from_rank == from_rank && pair.to_rank == to_rank;
    });
  }

  /// Runs of a content between two ranks before neighbours are joined.
  std::int64_t runs_of(const PairRoutes& pair, std::int64_t content) const {
    std::int64_t runs = std::count_if(pair.states.begin(), pair.states.end(),
                                      [&](const StateRoute& run) { return run.copy.content == content; });
    for (const TokenRoute& route : pair.tokens)
      if (route.content == content) runs += runs_of_route(route, cuts_[route.tables]);
    return runs;
  }

  /// Pre: the pair copies K and V of the content.
  TokenRuns token_runs(const PairRoutes& pair, std::int64_t content) const {
    const TokenRoute& route = *std::find_if(pair.tokens.begin(), pair.tokens.end(),
                                            [&](const TokenRoute& one) { return one.content == content; });
    const TokenTables& tables = routes_.tables[route.tables];
    const std::int64_t first = first_moved_token(tables, request_.tokens, request_.present_tokens);
    const std::vector<TokenCut>& cuts = cuts_[route.tables];
    TokenRuns runs{.tokens = request_.tokens - first,
                   .from_block_tokens = tables.from.block_tokens(),
                   .to_block_tokens = tables.to.block_tokens(),
                   .from_kernel_tokens = tables.from.kernel_tokens(),
                   .to_kernel_tokens = tables.to.kernel_tokens(),
                   .from_blocks = blocks_of(tables.from, first, request_.tokens),
                   .to_blocks = blocks_of(tables.to, first, request_.tokens),
                   .stretches = std::ssize(cuts),
                   .heads = route.axes[1].extent,
                   .from_heads = tables.from.spec->attention->kv_heads,
                   .to_heads = tables.to.spec->attention->kv_heads,
                   .has_halves = tables.to.spec->attention->form != BackendForm::mla,
                   .stretches_by_runs = {}};
    std::map<std::int64_t, std::int64_t> stretches;
    runs.tokens_follow = true;
    for (const TokenRoute& part : pair.tokens) {
      if (part.content != content) continue;
      const CountedRoute folded(part);
      runs.tokens_follow = runs.tokens_follow && part.from.token_stride == folded.run.from_bytes &&
                           part.to.token_stride == folded.run.to_bytes;
      runs.runs_per_token += product_of(std::span(folded.axes).first(folded.left));
    }
    if (!runs.tokens_follow) return runs;
    for (const TokenCut& cut : cuts) {
      std::int64_t of_cut = 0;
      for (const TokenRoute& part : pair.tokens)
        if (part.content == content) of_cut += runs_of_cut(part, CountedRoute(part), cut.tokens);
      ++stretches[of_cut];
    }
    runs.stretches_by_runs.assign(stretches.begin(), stretches.end());
    return runs;
  }

  StateRuns state_runs(const PairRoutes& pair, const Content& content) const {
    const std::vector<HeldTensor> held = held_tensors(map_.to());
    const HeldTensor& to = *std::find_if(held.begin(), held.end(), [&](const HeldTensor& one) {
      return one.spec->state && one.key.layer == content.layer && one.key.tensor == content.tensor &&
             one.spec->kind == content.kind && one.spec->role() == content.role;
    });
    StateRuns runs{.parts = {}};
    std::vector<std::string> names;
    if (content.tensor == "conv") {
      runs.steps = state_of(*to.set->recurrent, {}).tensors.front().layout.extent("step");
      for (const ChannelSection& section : sections_of(*to.set->recurrent)) names.emplace_back(section.name);
    } else {
      names.emplace_back(to.state_tensor().layout[0].name.view());
    }
    const std::int64_t from_ranks = map_.from().tensor_parallel, to_ranks = map_.to().tensor_parallel;
    const std::vector<SharedParts> shared = shared_parts(to);
    for (std::size_t i = 0; i < shared.size(); ++i)
      for (const PartsFromRank& parts :
           parts_from_ranks(shared[i].parts, from_ranks, to_ranks, pair.to_rank % to_ranks))
        if (parts.from_rank == pair.from_rank % from_ranks)
          runs.parts.push_back({names.at(i), parts.count, shared[i].elements});
    return runs;
  }

 private:
  const TransferMap& map_;
  const TransferRequest& request_;
  TransferRoutes routes_;
  std::vector<std::vector<TokenCut>> cuts_;  // of each of its tables
};

/// Runs of a pair in the list, by the content that they begin in.
std::vector<std::int64_t> listed_runs(const RankCopies& pair, std::size_t contents) {
  std::vector<std::int64_t> runs(contents);
  for (const Copy& copy : pair.copies) ++runs[static_cast<std::size_t>(copy.content)];
  return runs;
}

}  // namespace

std::vector<RunDerivation> derive_runs(const TransferMap& map, const TransferOptions& options,
                                       const TransferRequest& request, const CopyList& list,
                                       const TransferCounts& counts) {
  const RunExplainer explainer(map, options, request);
  std::vector<RunDerivation> derivations;
  for (std::size_t tensor = 0; tensor < counts.tensors.size(); ++tensor) {
    const auto row = std::find_if(counts.rows.begin(), counts.rows.end(),
                                  [&](const TransferPairTensor& one) { return one.tensor == tensor; });
    if (row == counts.rows.end()) continue;
    const PairRoutes& routes = explainer.pair_of(row->from_rank, row->to_rank);
    const auto copies = std::find_if(list.pairs.begin(), list.pairs.end(), [&](const RankCopies& pair) {
      return pair.from_rank == row->from_rank && pair.to_rank == row->to_rank;
    });
    const std::vector<std::int64_t> listed = listed_runs(*copies, list.contents.size());
    RunDerivation derivation{.tensor = tensor, .from_rank = row->from_rank, .to_rank = row->to_rank};
    for (std::size_t i = 0; i < list.contents.size(); ++i) {
      const Content& content = list.contents[i];
      if (counts.tensor_of[i] != tensor) continue;
      const std::int64_t runs = explainer.runs_of(routes, static_cast<std::int64_t>(i));
      if (runs == 0) continue;
      if (derivation.layers++ == 0) {
        derivation.layer = content.layer;
        derivation.runs = runs;
        if (content.tensor == "kv")
          derivation.tokens = explainer.token_runs(routes, static_cast<std::int64_t>(i));
        else
          derivation.state = explainer.state_runs(routes, content);
      }
      derivation.runs_of_layers += runs;
      derivation.descriptors += listed[i];
    }
    derivations.push_back(std::move(derivation));
  }
  return derivations;
}

}  // namespace hybridkv
