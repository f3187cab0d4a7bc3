#include "ask/transfer/transfer_pages.h"

#include <algorithm>

#include "base/error.h"

namespace hybridkv {

namespace {

/// The stretches of a pool that a page of an id is made of, each with its place in the page as it is drawn.
class PageStretches {
 public:
  PageStretches(const CachePlan& plan, const PageStrip& strip, std::int64_t id) {
    const GroupPlan& group = plan.groups[static_cast<std::size_t>(strip.group)];
    const ViewPlan& view = plan.views[strip.views.front()];
    pool_ = view.pool;
    begin_ = strip.front + id * plan.place_stride(group);
    stretch_bytes_ = plan.page_bytes(group) / strip.runs;
    stretches_ = strip.runs;
    step_ = strip.runs > 1 ? view.bytes.stride("head") : 0;
  }

  std::int64_t pool() const { return pool_; }
  std::int64_t stretches() const { return stretches_; }
  /// Bytes of the pool.
  ByteExtent in_pool(std::int64_t stretch) const {
    const std::int64_t begin = begin_ + stretch * step_;
    return {begin, begin + stretch_bytes_};
  }
  /// A byte of that stretch as one of the page.
  std::int64_t in_page(std::int64_t stretch, std::int64_t byte) const {
    return byte - in_pool(stretch).begin + stretch * stretch_bytes_;
  }

 private:
  std::int64_t pool_ = 0, begin_ = 0, stretch_bytes_ = 0, stretches_ = 1, step_ = 0;
};

/// What of a copy goes from one stretch to another, if anything; elements are converted as a whole.
void add_runs(const Copy& copy, const PageStretches& from, const PageStretches& to, std::vector<PageRun>& runs) {
  if (copy.from_pool != from.pool() || copy.to_pool != to.pool()) return;
  const auto written = [&](std::int64_t got) { return got * copy.to_bytes / copy.bytes; };
  const auto read = [&](std::int64_t put) { return put * copy.bytes / copy.to_bytes; };
  for (std::int64_t i = 0; i < from.stretches(); ++i)
    for (std::int64_t j = 0; j < to.stretches(); ++j) {
      const ByteExtent source = from.in_pool(i), target = to.in_pool(j);
      const std::int64_t begin =
          std::max({std::int64_t(0), source.begin - copy.from, read(target.begin - copy.to)});
      const std::int64_t end = std::min({copy.bytes, source.end - copy.from, read(target.end - copy.to)});
      if (begin >= end) continue;
      const std::int64_t at = from.in_page(i, copy.from + begin), into = to.in_page(j, copy.to + written(begin));
      runs.push_back({{at, at + end - begin}, {into, into + written(end) - written(begin)}, copy.content});
    }
}

/// The strip of the first group of that kind; nothing where the plan has none.
const PageStrip* strip_of(const CachePlan& plan, const std::vector<PageStrip>& strips, const TransferTensor& tensor) {
  for (const PageStrip& strip : strips) {
    const SpecPlan& spec = plan.spec_of(plan.groups[static_cast<std::size_t>(strip.group)]);
    if (spec.kind == tensor.kind && spec.role() == tensor.role) return &strip;
  }
  return nullptr;
}

TransferPage page_of(const CachePlan& plan, const PageStrip& strip, std::int64_t rank, std::int64_t id) {
  const GroupPlan& group = plan.groups[static_cast<std::size_t>(strip.group)];
  return {.rank = rank,
          .id = id,
          .page_bytes = plan.page_bytes(group),
          .layers = group.pages[static_cast<std::size_t>(strip.pool)],
          .strip = strip};
}

/// The entry that holds a token, or the one entry of a state. Pre: somebody holds it.
std::int64_t entry_of(const CachePlan& plan, const PageStrip& strip, const std::vector<std::vector<std::int64_t>>& ids,
                      std::int64_t token) {
  const SpecPlan& spec = plan.spec_of(plan.groups[static_cast<std::size_t>(strip.group)]);
  const std::vector<std::int64_t>& table = ids[static_cast<std::size_t>(strip.group)];
  return spec.attention ? table[static_cast<std::size_t>(token / spec.block_size_tokens)] : table.front();
}

}  // namespace

std::vector<TransferPages> transfer_pages(const TransferAnswer& answer) {
  const TransferSide &from = answer.map->from(), &to = answer.map->to();
  std::vector<TransferPages> all;
  for (const RunDerivation& derivation : answer.runs) {
    const TransferTensor& tensor = answer.counts.tensors[derivation.tensor];
    const auto is_same = [&](const TransferPages& pages) {
      return pages.role == tensor.role && pages.kind == tensor.kind;
    };
    if (std::any_of(all.begin(), all.end(), is_same)) continue;
    const CachePlan &from_plan = from.plan_of(derivation.from_rank), &to_plan = to.plan_of(derivation.to_rank);
    const std::vector<PageStrip> from_strips = page_strips(from_plan), to_strips = page_strips(to_plan);
    const PageStrip* const source = strip_of(from_plan, from_strips, tensor);
    const PageStrip* const target = strip_of(to_plan, to_strips, tensor);
    if (source == nullptr || target == nullptr) continue;
    const std::int64_t first = derivation.tokens ? answer.request.tokens - derivation.tokens->tokens : 0;
    const auto& from_ids = answer.request.from.ids[static_cast<std::size_t>(from.stage_of(derivation.from_rank))];
    const auto& to_ids = answer.request.to.ids[static_cast<std::size_t>(to.stage_of(derivation.to_rank))];
    TransferPages pages{
        .role = tensor.role,
        .kind = tensor.kind,
        .from = page_of(from_plan, *source, derivation.from_rank, entry_of(from_plan, *source, from_ids, first)),
        .to = page_of(to_plan, *target, derivation.to_rank, entry_of(to_plan, *target, to_ids, first)),
        .runs = {}};
    const PageStretches read(from_plan, *source, pages.from.id), written(to_plan, *target, pages.to.id);
    for (const RankCopies& pair : answer.list.pairs)
      if (pair.from_rank == derivation.from_rank && pair.to_rank == derivation.to_rank)
        for (const Copy& copy : pair.copies) add_runs(copy, read, written, pages.runs);
    std::sort(pages.runs.begin(), pages.runs.end(),
              [](const PageRun& a, const PageRun& b) { return a.to.begin < b.to.begin; });
    all.push_back(std::move(pages));
  }
  return all;
}

}  // namespace hybridkv
