#include "ask/transfer/transfer_alternatives.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/first_line.h"
#include "planner/primary_attention.h"
#include "transfer/page_runs.h"

namespace hybridkv {

namespace {

constexpr std::size_t most_packs = 4;

void set_order(EngineSpec& engine, const std::string& order) {
  engine.cache_order = parse_cache_order(order);
  if (engine.cache_order) {
    engine.physical_order = PhysicalOrder::nhd;
    return;
  }
  engine.physical_order = parse_physical_order(order).value();
}

/// Does the release let one choose the order of pages? It does where several layers can share a page.
bool has_orders(const EngineSpec& engine) {
  return takes(*engine.rules, "attention_pack_size") && !keeps_tensors_apart(engine.strategy);
}

std::vector<std::string> orders_of(const TransferQuestion& question) {
  const EngineSpec& from = question.from.engine;
  const EngineSpec& to = question.to.engine;
  if (from.rules != to.rules || !has_orders(from) || !has_orders(to)) return {};
  std::vector<std::string> orders;
  if (has_one_allocation(from) && has_one_allocation(to)) {
    for (const CacheOrder order : all_cache_orders) orders.emplace_back(to_string(order));
  } else if (!has_one_allocation(from) && !has_one_allocation(to)) {
    for (const PhysicalOrder order : all_physical_orders) orders.emplace_back(to_string(order));
  }
  return orders;
}

std::vector<std::int64_t> packs_of(const TransferQuestion& question, const CachePlan& plan) {
  if (has_one_allocation(question.from.engine) || has_one_allocation(question.to.engine)) return {};
  if (!has_orders(question.from.engine) || !has_orders(question.to.engine)) return {};
  const SpecPlan* const attention = primary_attention(plan);
  if (attention == nullptr) return {};
  const std::int64_t layers = std::ssize(attention->layers);
  std::vector<std::int64_t> packs;
  for (std::int64_t pack = 1; pack <= layers; ++pack)
    if (layers % pack == 0) packs.push_back(pack);
  // The ends and what is between them: 1, 3, 5, 15 of 15; 1, 2, 12, 24 of 24.
  while (packs.size() > most_packs) packs.erase(packs.begin() + static_cast<std::ptrdiff_t>(packs.size() / 2));
  return packs;
}

EngineSpec planned_engine(const Scenario& scenario) {
  EngineSpec engine = scenario.engine;
  engine.attention_pack_size = scenario.pack_sizes.front();
  return engine;
}

ConvStateLayout other_layout(const EngineSpec& engine) {
  return engine.conv_state_layout == ConvStateLayout::ds ? ConvStateLayout::sd : ConvStateLayout::ds;
}

/// The engine of one side as a row has it. `block`: of both sides; 0: its own.
EngineSpec changed(const Scenario& scenario, const TransferAlternative& row, std::int64_t block) {
  EngineSpec engine = planned_engine(scenario);
  if (!row.order.empty()) set_order(engine, row.order);
  if (row.pack > 0) engine.attention_pack_size = row.pack;
  if (block > 0) engine.block_size_tokens = block;
  if (row.turns_conv) engine.conv_state_layout = other_layout(engine);
  return engine;
}

/// Runs of one entry of the first group of that kind.
std::int64_t entry_runs(const CachePlan& plan, SpecRole role) {
  for (const PageRuns& runs : page_runs(plan))
    if (plan.spec_of(plan.groups[runs.group]).role() == role) return runs.content_runs;
  return 0;
}

class Alternatives {
 public:
  Alternatives(const TransferQuestion& question, const TransferAnswer& answer)
      : question_(question), answer_(answer) {}

  void fill(TransferAlternative& row) const {
    try {
      TransferSide from = side_of(question_.from, row, 0), to = side_of(question_.to, row, 0);
      if (row.equal_blocks) {
        const std::int64_t block = std::max(block_of(from), block_of(to));
        from = side_of(question_.from, row, block);
        to = side_of(question_.to, row, block);
        if (block_of(from) != block_of(to))
          throw InputError(fmt::format("no block is one of both sides: {} tokens asked for give {} and {}", block,
                                       block_of(from), block_of(to)));
      }
      count(std::move(from), std::move(to), row);
    } catch (const SpecError& error) {
      row.refused = fmt::format("{}: {}", error.path(), error.message());
    } catch (const InputError& error) {
      row.refused = error.what();
    }
    row.refused = first_line(row.refused);
  }

 private:
  static std::int64_t block_of(const TransferSide& side) { return primary_block_tokens(side.stages.front()); }

  static TransferSide side_of(const Scenario& scenario, const TransferAlternative& row, std::int64_t block) {
    return make_side(scenario.model, changed(scenario, row, block), scenario.limits);
  }

  void count(TransferSide from, TransferSide to, TransferAlternative& row) const {
    row.from_block_tokens = block_of(from);
    row.to_block_tokens = block_of(to);
    row.block_runs = entry_runs(to.stages.front(), SpecRole::attention);
    row.checkpoint_runs = entry_runs(to.stages.front(), SpecRole::state);
    const std::uint64_t seed = question_.from.verify.seed;
    TransferRequest request{.tokens = answer_.request.tokens, .present_tokens = answer_.request.present_tokens};
    request.from = make_tables(from, request.tokens, question_.ids, seed);
    request.to = make_tables(to, request.tokens, question_.ids, seed + 1);
    const CopyList list = TransferMap(std::move(from), std::move(to), question_.options).list(request);
    row.descriptors = list.descriptors();
    row.moved_bytes = list.moved_bytes();
    row.longest_run = list.longest_run();
  }

  const TransferQuestion& question_;
  const TransferAnswer& answer_;
};

/// How many of its settings are others than those asked about.
int num_changes(const TransferAlternative& row, const TransferAnswer& answer) {
  return (!row.order.empty() && row.order != answer.from.order) + (!row.order.empty() && row.order != answer.to.order) +
         (row.pack > 0 && row.pack != answer.from.engine.attention_pack_size) +
         (row.pack > 0 && row.pack != answer.to.engine.attention_pack_size) + row.equal_blocks + row.turns_conv;
}

bool has_convolutions(const CachePlan& plan) {
  return std::any_of(plan.views.begin(), plan.views.end(), [](const ViewPlan& view) {
    return view.tensor == "conv" && view.bytes.find("step") >= 0 && view.bytes.extent("step") > 1;
  });
}

}  // namespace

std::vector<TransferAlternative> transfer_alternatives(const TransferQuestion& question, const TransferAnswer& answer,
                                                       const std::function<void(int, int)>& on_progress) {
  const CachePlan& plan = answer.map->to().stages.front();
  std::vector<std::string> orders = orders_of(question);
  std::vector<std::int64_t> packs = packs_of(question, plan);
  if (orders.empty()) orders.emplace_back();
  if (packs.empty()) packs.push_back(0);
  const bool has_blocks = has_orders(question.from.engine) && has_orders(question.to.engine);
  const Alternatives alternatives(question, answer);
  std::vector<TransferAlternative> rows;
  const int total = static_cast<int>(orders.size() * packs.size() * 2 + 1);
  int done = 0;
  for (const std::string& order : orders)
    for (const std::int64_t pack : packs)
      for (const bool equal_blocks : {false, true}) {
        if (on_progress) on_progress(done++, total);
        if (equal_blocks && (!has_blocks || !rows.back().refused.empty())) continue;
        TransferAlternative row{.order = order, .pack = pack, .equal_blocks = equal_blocks};
        row.is_current = num_changes(row, answer) == 0;
        alternatives.fill(row);
        // Blocks that are equal anyway make no other row.
        if (equal_blocks && rows.back().from_block_tokens == rows.back().to_block_tokens) continue;
        rows.push_back(std::move(row));
      }
  const auto best = fewest_descriptors(rows, answer);
  if (best && has_blocks && has_convolutions(plan)) {
    TransferAlternative row = rows[*best];
    row.turns_conv = true;
    row.is_current = false;
    alternatives.fill(row);
    rows.push_back(std::move(row));
  }
  return rows;
}

std::optional<std::size_t> fewest_descriptors(const std::vector<TransferAlternative>& rows,
                                              const TransferAnswer& answer) {
  std::optional<std::size_t> best;
  const auto rank = [&](std::size_t i) { return std::pair(rows[i].descriptors, num_changes(rows[i], answer)); };
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (rows[i].refused.empty() && (!best || rank(i) < rank(*best))) best = i;
  return best;
}

}  // namespace hybridkv
