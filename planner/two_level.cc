#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/bytes_text.h"
#include "base/checked.h"
#include "planner/exact_pages.h"
#include "planner/extras.h"
#include "planner/grouping.h"
#include "planner/id_count.h"
#include "planner/large_pages.h"
#include "planner/page_sizes.h"
#include "planner/strategies.h"

namespace hybridkv {

namespace {

/// A small page of attention is one page of all layers, in which they lie as those of a pack.
void pack_whole_kinds(std::vector<SpecPlan>& specs) {
  for (SpecPlan& spec : specs)
    if (spec.is_packed()) {
      spec.layers_per_page = static_cast<std::int64_t>(spec.layers.size());
      spec.num_pages = 1;
    }
}

/// Pages of `bytes` that all small pages divide.
struct LargePage {
  std::int64_t bytes = 0;
  std::vector<SmallPage> small_pages;
};

std::string label_of(std::span<const SpecPlan> specs, const SmallPage& small) {
  return small_page_label(specs[static_cast<std::size_t>(small.spec)], small.tensor);
}

Term small_page(std::span<const SpecPlan> specs, const SmallPage& small) {
  return {"small page of " + label_of(specs, small), small.bytes, "bytes"};
}

/// Throws SpecError where the memory holds too few of them, or they leave 64 bits.
LargePage large_page(std::span<const SpecPlan> specs, std::int64_t beside_bytes, const EngineSpec& engine) {
  LargePage page{0, small_pages(specs, engine)};
  const auto common = large_page_bytes(page.small_pages);
  const std::int64_t needed = std::ssize(page.small_pages) + 1;
  if (common && (engine.num_blocks || *common <= engine.memory_bytes / needed - beside_bytes)) {
    page.bytes = *common;
    return page;
  }
  std::string sizes;
  for (const SmallPage& small : page.small_pages)
    sizes += fmt::format("{}{} of {}", sizes.empty() ? "" : ", ", small.bytes, label_of(specs, small));
  const std::string way_out = smaller_large_pages(specs, common, engine);
  throw SpecError(
      "engine.block_size_tokens",
      fmt::format("strategy two_level: the least common multiple of small pages of {} bytes is a large page of {}; the "
                  "null page and one for each take {}, more than the memory of {}; {}",
                  sizes, common ? bytes_text(*common) : "more bytes than 64 bits count",
                  common && *common <= std::numeric_limits<std::int64_t>::max() / needed - beside_bytes
                      ? bytes_text((Checked(*common) + beside_bytes) * needed)
                      : "more still",
                  engine.num_blocks ? "64 bits" : bytes_text(engine.memory_bytes),
                  way_out.empty() ? "give more memory, or take another engine.strategy"
                                  : way_out + "; or give more memory"));
}

/// Every kind of small pages is a group, whose table entries number those of its own size.
void add_groups(Arrangement& arrangement, const LargePage& page, const DerivationLog& log) {
  const Term large{"large page", page.bytes, "bytes"};
  for (const SmallPage& small : page.small_pages) {
    const SpecPlan& spec = arrangement.specs[static_cast<std::size_t>(small.spec)];
    const std::int64_t entries = page.bytes / small.bytes;
    arrangement.groups.push_back({.spec = spec.id,
                                  .pages = every_nth_page(spec, 0, 1),
                                  .entries_per_id = entries,
                                  .in_lane = PagesInLane{0, small.page_bytes},
                                  .tensor = small.tensor});
    log.add([&] {
      return Decision{small_page(arrangement.specs, small), "small page = pages * page",
                      {{"pages", spec.num_pages, ""}, {"page", small.page_bytes, "bytes"}},
                      log.cite(RuleOf::two_level)};
    });
    log.add([&] {
      return Decision{{"small pages of a large page of " + label_of(arrangement.specs, small), entries, ""},
                      "k = large page / small page: it is a multiple of every small page",
                      {large, {"small page", small.bytes, "bytes"}}, log.cite(RuleOf::two_level)};
    });
  }
}

/// Notes the padding of a spec, and derives its pages.
void note_pages(SpecPlan& spec, std::span<const SmallPage> all, const EngineSpec& engine, const DerivationLog& log) {
  std::vector<SmallPage> own;
  std::copy_if(all.begin(), all.end(), std::back_inserter(own),
               [&](const SmallPage& small) { return small.spec == spec.id; });
  if (!own.front().tensor) return note_exact_page(spec, exact_unit({&spec, 1}, engine), RuleOf::two_level, log);
  std::int64_t room = 0;
  std::vector<Term> pages;
  for (const SmallPage& small : own) {
    const StateTensor& tensor = spec.state->tensors[static_cast<std::size_t>(*small.tensor)];
    room += small.page_bytes;
    pages.push_back({"page of " + tensor.name, small.page_bytes, "bytes"});
    log.add([&] {
      return Decision{{"page of " + small_page_label(spec, small.tensor), small.page_bytes, "bytes"},
                      "page = unit * ceil(bytes of the tensor / unit): whole elements, and the user's alignment",
                      {{"unit", checked_lcm(engine.page_alignment_bytes, element_bytes(tensor.dtype)), "bytes"},
                       {"bytes of the tensor", tensor.bytes(), "bytes"}},
                      log.cite(RuleOf::two_level)};
    });
  }
  spec.padding_percent = padding_percent(room, spec.unpadded_page_bytes);
  log.add([&] {
    return Decision{{"groups of " + spec_label(spec), std::ssize(own), ""},
                    "a table for each tensor of a state, as their small pages differ; of all layers", {},
                    log.cite(RuleOf::two_level)};
  });
  log.add([&] {
    pages.push_back({"unpadded", spec.unpadded_page_bytes, "bytes"});
    return Decision{{"padding of " + spec_label(spec), spec.padding_percent, "%"},
                    "padding = 100 * (pages of all tensors - unpadded) / unpadded", pages,
                    log.cite(RuleOf::two_level)};
  });
}

std::int64_t count_ids(const Arrangement& arrangement, std::int64_t bytes, const EngineSpec& engine,
                       const DerivationLog& log) {
  const std::int64_t beside = arrangement.extra_bytes_per_id();
  const Checked each = Checked(bytes) + beside;
  if (engine.num_blocks) {
    require_addressable(*engine.num_blocks, each, "ids");
    log.add([&] {
      return Decision{{"ids of large pages", *engine.num_blocks, "ids"}, "as set by the user", {},
                      "engine.num_blocks"};
    });
    return *engine.num_blocks;
  }
  const std::int64_t ids = engine.memory_bytes / each;
  log.add([&] {
    std::vector<Term> inputs{{"memory", engine.memory_bytes, "bytes"}, {"large page", bytes, "bytes"}};
    if (beside > 0) inputs.push_back({"extras", beside, "bytes"});
    return Decision{{"ids of large pages", ids, "ids"},
                    beside > 0 ? "ids = floor(memory / (large page + extras))" : "ids = floor(memory / large page)",
                    std::move(inputs), log.cite(RuleOf::two_level)};
  });
  return ids;
}

}  // namespace

void arrange_two_level(Arrangement& arrangement, std::vector<SpecPlan> specs, const ArrangeInputs& inputs) {
  const EngineSpec& engine = inputs.engine;
  const BlockSizes blocks = free_block_sizes(inputs.model, engine, inputs.log);
  pack_whole_kinds(specs);
  arrangement.specs = size_own_pages(std::move(specs), blocks, engine, inputs.limits, inputs.log);
  arrangement.extras = make_extras(arrangement.specs, inputs.model, inputs.log);
  const LargePage page = large_page(arrangement.specs, arrangement.extra_bytes_per_id(), engine);
  for (SpecPlan& spec : arrangement.specs) note_pages(spec, page.small_pages, engine, inputs.log);
  inputs.log.add([&] {
    std::string rule;
    std::vector<Term> terms;
    for (const SmallPage& small : page.small_pages) {
      terms.push_back(small_page(arrangement.specs, small));
      rule += (rule.empty() ? "" : ", ") + terms.back().symbol;
    }
    return Decision{{"large page", page.bytes, "bytes"}, "large page = lcm(" + rule + ")", std::move(terms),
                    inputs.log.cite(RuleOf::two_level)};
  });
  add_groups(arrangement, page, inputs.log);
  const std::int64_t ids = count_ids(arrangement, page.bytes, engine, inputs.log);
  arrangement.arenas.push_back({"large pages", ids, Checked(page.bytes) + arrangement.extra_bytes_per_id()});
  arrangement.lanes.push_back({{0}, {0}, 0, page.bytes, page.bytes});
  inputs.log.add([&] {
    return Decision{{"first byte of large pages", std::int64_t{0}, "bytes"}, "0: the allocation begins with it", {},
                    inputs.log.cite(RuleOf::two_level)};
  });
  PoolPlan& pool = arrangement.pools.emplace_back(PoolPlan{Checked(ids) * page.bytes, page.bytes, {}});
  for (const GroupPlan& group : arrangement.groups)
    for (const std::int64_t layer : group.layers()) pool.shared_by.push_back({group.spec, layer});
}

}  // namespace hybridkv
