#include "planner/extras.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <string>

#include "base/checked.h"
#include "planner/indexers.h"
#include "planner/sum_rule.h"

namespace hybridkv {

namespace {

/// Layers of one spec whose indexers keep the same.
struct IndexedLayers {
  IndexerSpec indexer;
  std::int64_t layers = 0;
};

std::vector<IndexedLayers> indexed_layers(const SpecPlan& spec, const ModelSpec& model) {
  std::vector<IndexedLayers> all;
  for (const std::int64_t layer : with_readers(model, spec.layers)) {
    const std::optional<IndexerSpec> indexer = indexer_of(model, layer);
    if (!indexer) continue;
    const auto same = std::find_if(all.begin(), all.end(),
                                   [&](const IndexedLayers& other) { return other.indexer == *indexer; });
    if (same == all.end())
      all.push_back({*indexer, 1});
    else
      ++same->layers;
  }
  return all;
}

std::string entry_text(const IndexerSpec& indexer) {
  if (indexer.tokens_per_entry == 1) return fmt::format("{} bytes a token", indexer.bytes_per_entry);
  return fmt::format("{} bytes for {} tokens", indexer.bytes_per_entry, indexer.tokens_per_entry);
}

/// Bytes of indexers beside each block, as a sum over the specs of attention.
class IndexerBytes {
 public:
  void add(const SpecPlan& spec, const IndexedLayers& indexed) {
    const IndexerSpec& indexer = indexed.indexer;
    require_whole_entries(indexer, spec.block_size_tokens, "engine.block_size_tokens");
    const std::string number = number_of(indexer);
    const bool is_all = indexed.layers == std::ssize(spec.layers);
    const Term bytes{"indexer" + number, indexer.bytes_per_entry, "bytes"};
    const Term layers{fmt::format("{} {}{}", is_all ? "layers" : "layers with indexers", spec.id, number),
                      indexed.layers, ""};
    const bool shared = indexer.tokens_per_entry > 1;
    const Term block{fmt::format("{} {}{}", shared ? "entries of a block" : "block", spec.id, number),
                     spec.block_size_tokens / indexer.tokens_per_entry, shared ? "" : "tokens"};
    bytes_ += Checked(indexed.layers) * indexer.bytes_per_entry * std::get<std::int64_t>(block.value);
    sum_.add(fmt::format("{} * {} * {}", bytes.symbol, layers.symbol, block.symbol), {bytes, layers, block});
  }

  bool empty() const { return kept_.empty(); }
  std::string what() const {
    std::vector<std::string> texts;
    for (const IndexerSpec& indexer : kept_) texts.push_back(entry_text(indexer));
    return fmt::format("indexer, {} and layer", fmt::join(texts, " or "));
  }
  std::int64_t bytes() const { return bytes_; }
  const SumRule& sum() const { return sum_; }

 private:
  /// What tells the symbols of a further indexer from those of the first.
  std::string number_of(const IndexerSpec& indexer) {
    const auto found = std::find(kept_.begin(), kept_.end(), indexer);
    const auto position = found - kept_.begin();
    if (found == kept_.end()) kept_.push_back(indexer);
    return position == 0 ? "" : fmt::format(" {}", position);
  }

  std::vector<IndexerSpec> kept_;
  Checked bytes_ = 0;
  SumRule sum_;
};

void add_indexer_bytes(std::span<const SpecPlan> specs, const ModelSpec& model, const DerivationLog& log,
                       std::vector<ExtraPlan>& extras) {
  IndexerBytes indexers;
  for (const SpecPlan& spec : specs)
    if (spec.role() == SpecRole::attention)
      for (const IndexedLayers& indexed : indexed_layers(spec, model)) indexers.add(spec, indexed);
  if (indexers.empty()) return;
  extras.push_back({indexers.what(), indexers.bytes(), 0});
  log.add([&] {
    return Decision{{"bytes beside each block: " + extras.back().what, indexers.bytes(), "bytes"},
                    "bytes = " + indexers.sum().text(), indexers.sum().inputs(), "model.indexer_bytes_per_token"};
  });
}

}  // namespace

std::vector<ExtraPlan> make_extras(std::span<const SpecPlan> specs, const ModelSpec& model, const DerivationLog& log) {
  std::vector<ExtraPlan> extras;
  const auto is_there = [&](auto is) { return std::any_of(specs.begin(), specs.end(), is); };
  const bool are_layers = is_there([](const SpecPlan& spec) { return spec.is_indexer(); });
  const bool has_rings = is_there([](const SpecPlan& spec) { return spec.ring_tokens > 0; });
  if (!are_layers) add_indexer_bytes(specs, model, log, extras);
  if (model.extra_blocks_per_request > 0 && !has_rings)
    extras.push_back({"blocks of each request beside its tokens and states", 0, model.extra_blocks_per_request});
  return extras;
}

}  // namespace hybridkv
