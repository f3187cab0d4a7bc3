#include "planner/layer_tables.h"

#include <algorithm>
#include <map>
#include <optional>

#include "base/checked.h"
#include "planner/grouping.h"

namespace hybridkv {

namespace {

/// Specs that may share tables.
struct Bucket {
  std::vector<const SpecPlan*> specs;
  bool window = false;
  bool state = false;

  std::int64_t layers() const {
    std::int64_t sum = 0;
    for (const SpecPlan* spec : specs) sum += static_cast<std::int64_t>(spec->layers.size());
    return sum;
  }
};

bool share_tables(const SpecPlan& a, const SpecPlan& b) {
  const auto is_alone = [](const SpecPlan& spec) { return spec.auxiliary && !spec.is_indexer(); };
  if (is_alone(a) || is_alone(b) || a.state.has_value() != b.state.has_value()) return false;
  if (a.block_size_tokens != b.block_size_tokens) return false;
  if (a.state) return a.checkpoint_blocks == b.checkpoint_blocks;
  return a.is_cross() == b.is_cross() && a.attention->window_tokens == b.attention->window_tokens &&
         (a.attention->window_tokens == 0 || a.attention->kind == b.attention->kind);
}

std::vector<Bucket> make_buckets(std::span<const SpecPlan> specs) {
  std::vector<Bucket> buckets;
  for (const SpecPlan& spec : specs) {
    auto bucket = std::find_if(buckets.begin(), buckets.end(),
                               [&](const Bucket& other) { return share_tables(*other.specs.front(), spec); });
    if (bucket == buckets.end()) {
      bucket = buckets.insert(buckets.end(), Bucket{});
      bucket->window = spec.attention && spec.attention->window_tokens > 0;
      bucket->state = spec.state.has_value();
    }
    bucket->specs.push_back(&spec);
  }
  return buckets;
}

/// Layers of each page size of a bucket.
std::map<std::int64_t, std::int64_t> layers_by_page(const Bucket& bucket, const PageBytes& pages) {
  std::map<std::int64_t, std::int64_t> layers;
  for (const SpecPlan* spec : bucket.specs)
    layers[pages[static_cast<std::size_t>(spec->id)]] += static_cast<std::int64_t>(spec->layers.size());
  return layers;
}

/// x, where all page sizes have equally many layers.
std::optional<std::int64_t> repeats(const Bucket& bucket, const PageBytes& pages) {
  const auto sizes = layers_by_page(bucket, pages);
  const std::int64_t first = sizes.begin()->second;
  const bool balanced =
      std::all_of(sizes.begin(), sizes.end(), [&](const auto& size) { return size.second == first; });
  return balanced ? std::optional(first) : std::nullopt;
}

/// r, the repeats of a table.
std::optional<std::int64_t> repeats_per_table(std::span<const Bucket> buckets, const PageBytes& pages) {
  std::int64_t least = 0, most = 0;
  std::vector<std::int64_t> balanced;
  for (const Bucket& bucket : buckets) {
    const auto x = repeats(bucket, pages);
    if (!x) continue;
    balanced.push_back(*x);
    most = std::max(most, *x);
    if (layers_by_page(bucket, pages).size() > 1) least = std::max(least, *x);
  }
  if (least == 0) return std::nullopt;
  std::int64_t best = least, fewest = -1;
  for (std::int64_t candidate = least; candidate <= most; ++candidate) {
    std::int64_t empty = 0;
    for (const std::int64_t x : balanced) empty += (candidate - x % candidate) % candidate;
    if (fewest < 0 || empty <= fewest) fewest = empty, best = candidate;
  }
  return best;
}

/// Bytes of the widest of so many tables of a bucket.
std::int64_t widest(const Bucket& bucket, std::int64_t tables, const PageBytes& pages) {
  Checked bytes = 0;
  for (const SpecPlan* spec : bucket.specs)
    bytes += Checked(ceil_div(static_cast<std::int64_t>(spec->layers.size()), tables)) *
             pages[static_cast<std::size_t>(spec->id)];
  return bytes;
}

LayerTable every_nth(std::span<const SpecPlan* const> specs, std::int64_t first, std::int64_t n) {
  LayerTable table;
  for (const SpecPlan* spec : specs) {
    TablePart part{spec->id, {}, spec->layers_per_page};
    for (const std::vector<std::int64_t>& page : every_nth_page(*spec, first, n))
      part.layers.insert(part.layers.end(), page.begin(), page.end());
    if (!part.layers.empty()) table.push_back(std::move(part));
  }
  return table;
}

}  // namespace

std::int64_t table_bytes(const LayerTable& table, const PageBytes& pages) {
  Checked bytes = 0;
  for (const TablePart& part : table)
    bytes += Checked(part.num_pages()) * pages[static_cast<std::size_t>(part.spec)];
  return bytes;
}

std::vector<LayerTable> uniform_tables(std::span<const SpecPlan> specs, std::int64_t pages_per_table) {
  std::vector<LayerTable> tables;
  for (const SpecPlan& spec : specs) {
    const std::int64_t n = ceil_div(spec.num_pages, pages_per_table);
    const SpecPlan* const one = &spec;
    for (std::int64_t i = 0; i < n; ++i) tables.push_back(every_nth({&one, 1}, i, n));
  }
  return tables;
}

std::vector<LayerTable> supposed_tables(std::span<const SpecPlan> specs, const SupposedGroups& supposed) {
  std::vector<LayerTable> tables;
  for (const SpecPlan& spec : specs) {
    if (supposed.holds(spec)) {
      for (const std::vector<std::int64_t>& layers : supposed.of(spec))
        tables.push_back({{spec.id, layers, spec.layers_per_page}});
      continue;
    }
    for (LayerTable& table : uniform_tables({&spec, 1}, supposed.widest())) tables.push_back(std::move(table));
  }
  return tables;
}

std::vector<LayerTable> single_table(std::span<const SpecPlan> specs) {
  LayerTable table;
  for (const SpecPlan& spec : specs) table.push_back({spec.id, spec.layers, spec.layers_per_page});
  return {std::move(table)};
}

std::vector<LayerTable> mixed_tables(std::span<const SpecPlan> specs, const PageBytes& pages) {
  const std::vector<Bucket> buckets = make_buckets(specs);
  const auto r = repeats_per_table(buckets, pages);
  const auto is_state_like = [&](const Bucket& bucket) { return bucket.state || (bucket.window && !r); };
  std::vector<std::int64_t> tables;
  std::int64_t anchor = 0;
  for (const Bucket& bucket : buckets) {
    const auto x = repeats(bucket, pages);
    tables.push_back(r && x ? ceil_div(*x, *r) : 1);
    anchor = std::max(anchor, widest(bucket, is_state_like(bucket) ? bucket.layers() : tables.back(), pages));
  }
  std::vector<LayerTable> all;
  for (std::size_t i = 0; i < buckets.size(); ++i) {
    if (is_state_like(buckets[i])) {
      const std::int64_t page = pages[static_cast<std::size_t>(buckets[i].specs.front()->id)];
      const std::int64_t per_block = std::max<std::int64_t>(1, anchor / page);
      tables[i] = std::max(tables[i], ceil_div(buckets[i].layers(), per_block));
    }
    for (std::int64_t table = 0; table < tables[i]; ++table)
      all.push_back(every_nth(buckets[i].specs, table, tables[i]));
  }
  return all;
}

std::vector<std::int64_t> layers_of_stages(std::int64_t layers, std::int64_t stages) {
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(stages), layers / stages);
  const std::int64_t rest = layers % stages;
  for (std::int64_t i = 0; i < rest; ++i) {
    const std::int64_t stage = std::max<std::int64_t>(0, stages - 2 - i);
    ++sizes[static_cast<std::size_t>(stage)];
  }
  return sizes;
}

}  // namespace hybridkv
