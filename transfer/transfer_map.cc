#include "transfer/transfer_map.h"

#include <algorithm>
#include <span>
#include <utility>

#include "transfer/merge_copies.h"
#include "transfer/routes.h"
#include "transfer/token_cuts.h"

namespace hybridkv {

struct TransferMap::Routes {
  TransferSide from;
  TransferSide to;
  TransferRoutes routes;  // borrows from the sides
};

namespace {

/// What the ids of a request add to the places of id 0.
std::vector<std::int64_t> starts_of(const std::vector<IdStep>& steps, const RequestTables& tables) {
  std::vector<std::int64_t> starts;
  starts.reserve(steps.size());
  for (const IdStep& step : steps) {
    const std::vector<std::int64_t>& ids =
        tables.ids[static_cast<std::size_t>(step.stage)][static_cast<std::size_t>(step.table)];
    starts.push_back(ids[static_cast<std::size_t>(step.position)] * step.bytes);
  }
  return starts;
}

/// The byte of a slot.
std::int64_t byte_of(const TokenPlace& place, std::int64_t slot, std::int64_t kernel_tokens) {
  return place.base + slot / kernel_tokens * place.block_stride + slot % kernel_tokens * place.token_stride;
}

/// A route with the axes that no cut changes folded.
struct FoldedRoute {
  const TokenRoute* route = nullptr;
  std::array<BoxAxis, 3> axes{};
  std::size_t rank = 0;
  BoxRun run;

  explicit FoldedRoute(const TokenRoute& of) : route(&of), axes(of.axes), run(of.element) {
    rank = fold_box(axes, run).size();
  }
};

void add_cut(const FoldedRoute& folded, const TokenTables& tables, const TokenCut& cut, std::vector<Copy>& copies) {
  const TokenRoute& route = *folded.route;
  std::array<BoxAxis, 4> axes{BoxAxis{cut.tokens, route.from.token_stride, route.to.token_stride}};
  std::copy_n(folded.axes.begin(), folded.rank, axes.begin() + 1);
  BoxRun run = folded.run;
  const std::span<const BoxAxis> box = fold_box(std::span(axes).first(folded.rank + 1), run);
  for_each_run_of_box(box, byte_of(route.from, cut.from_slot, tables.from.kernel_tokens()),
                      byte_of(route.to, cut.to_slot, tables.to.kernel_tokens()),
                      [&](std::int64_t from, std::int64_t to) {
                        copies.push_back({.from = from,
                                          .to = to,
                                          .bytes = run.from_bytes,
                                          .to_bytes = run.to_bytes,
                                          .from_pool = route.from_pool,
                                          .to_pool = route.to_pool,
                                          .content = route.content});
                      });
}

/// Routes of one pair, pool and pair of tables, in the order of the destination wherever its layout allows: block by
/// block where the layers lie inside blocks, else layer by layer. Pre: routes by base, cuts by slot of the destination.
void add_tokens(std::span<const TokenRoute> routes, const TokenTables& tables, const std::vector<TokenCut>& cuts,
                std::vector<Copy>& copies) {
  const std::vector<FoldedRoute> folded(routes.begin(), routes.end());
  const TokenPlace& first = routes.front().to;
  if (routes.back().to.base - first.base < first.block_stride) {
    for (const TokenCut& cut : cuts)
      for (const FoldedRoute& route : folded) add_cut(route, tables, cut, copies);
  } else {
    for (const FoldedRoute& route : folded)
      for (const TokenCut& cut : cuts) add_cut(route, tables, cut, copies);
  }
}

}  // namespace

TransferMap::TransferMap(TransferSide from, TransferSide to, const TransferOptions& options) {
  auto routes = std::make_unique<Routes>();
  routes->from = std::move(from);
  routes->to = std::move(to);
  routes->routes = make_routes(routes->from, routes->to, options);
  routes_ = std::move(routes);
}

TransferMap::~TransferMap() = default;
TransferMap::TransferMap(TransferMap&&) noexcept = default;
TransferMap& TransferMap::operator=(TransferMap&&) noexcept = default;

const TransferSide& TransferMap::from() const { return routes_->from; }
const TransferSide& TransferMap::to() const { return routes_->to; }
const std::vector<Content>& TransferMap::contents() const { return routes_->routes.contents; }

CopyList TransferMap::list(const TransferRequest& request) const {
  expects(request.tokens >= 1 && request.present_tokens >= 0 && request.present_tokens <= request.tokens,
          "a request has tokens, of which some may be at the destination");
  const TransferRoutes& routes = routes_->routes;
  std::vector<std::vector<TokenCut>> cuts;
  for (const TokenTables& tables : routes.tables) {
    std::vector<TokenCut>& of = cuts.emplace_back(cut_tokens(tables, request));
    std::sort(of.begin(), of.end(), [](const TokenCut& a, const TokenCut& b) { return a.to_slot < b.to_slot; });
  }
  CopyList list{.contents = routes.contents};
  for (std::size_t i = 0; i < list.contents.size(); ++i) {
    std::int64_t times = 1;
    if (const std::int64_t index = routes.content_tables[i]; index >= 0) {
      const TokenTables& tables = routes.tables[static_cast<std::size_t>(index)];
      times = request.tokens - first_moved_token(tables, request.tokens, request.present_tokens);
    }
    list.contents[i].unique_bytes = times * routes.content_bytes[i];
  }
  const std::vector<std::int64_t> from_starts = starts_of(routes.from_steps, request.from);
  const std::vector<std::int64_t> to_starts = starts_of(routes.to_steps, request.to);
  for (const PairRoutes& pair : routes.pairs) {
    RankCopies copies{pair.from_rank, pair.to_rank, {}};
    for (const StateRoute& run : pair.states) {
      Copy& copy = copies.copies.emplace_back(run.copy);
      copy.from += from_starts[run.from_step];
      copy.to += to_starts[run.to_step];
    }
    for (std::size_t begin = 0, end = 0; begin < pair.tokens.size(); begin = end) {
      while (end < pair.tokens.size() && share_walk(pair.tokens[begin], pair.tokens[end])) ++end;
      const std::size_t tables = pair.tokens[begin].tables;
      add_tokens(std::span(pair.tokens).subspan(begin, end - begin), routes.tables[tables], cuts[tables],
                 copies.copies);
    }
    copies.joined = merge_copies(copies.copies, list.contents);
    if (!copies.copies.empty()) list.pairs.push_back(std::move(copies));
  }
  return list;
}

}  // namespace hybridkv
