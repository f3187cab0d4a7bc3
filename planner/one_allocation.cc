#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>

#include "base/checked.h"
#include "planner/block_size.h"
#include "planner/cache_orders.h"
#include "planner/extras.h"
#include "planner/grouping.h"
#include "planner/id_count.h"
#include "planner/layer_tables.h"
#include "planner/page_sizes.h"
#include "planner/shared_layers.h"
#include "planner/strategies.h"

namespace hybridkv {

namespace {

/// How pages of the specs go together.
enum class PageKind {
  uniform,  ///< one size for all
  dense,    ///< attention of one kind alone, one table, pages as they are
  mixed,    ///< pages as they are, side by side in a block
};

/// Pages of all specs where nothing grows: states are padded to the largest page that a block of the model's own
/// attention makes; where the largest state is such a page, nothing was padded, and smaller states keep their own.
PageBytes own_pages(std::span<const SpecPlan> specs, std::int64_t block) {
  std::int64_t largest_state = 0, padded = 0;
  for (const SpecPlan& spec : specs) {
    if (spec.auxiliary) continue;
    if (spec.state) largest_state = std::max(largest_state, spec.state->bytes);
    if (spec.attention && !spec.draft) padded = std::max(padded, std::int64_t(Checked(block) * spec.bytes_per_token));
  }
  const bool pads = padded > largest_state;
  PageBytes pages;
  for (const SpecPlan& spec : specs)
    if (spec.attention)
      pages.push_back(spec.bytes_of_tokens(spec.block_size_tokens));
    else
      pages.push_back(pads && spec.ring_tokens == 0 ? padded : spec.state->bytes);
  return pages;
}

bool are_equal(const PageBytes& pages) {
  return std::all_of(pages.begin(), pages.end(), [&](std::int64_t page) { return page == pages.front(); });
}

/// A latent that does not divide the page of the others cannot be padded, but where it has a window.
void require_paddable(std::span<const SpecPlan> specs, std::int64_t page) {
  for (const SpecPlan& spec : specs)
    if (spec.attention && !spec.auxiliary && spec.attention->kind == AttentionKind::mla &&
        spec.attention->window_tokens == 0 && spec.unpadded_page_bytes != page)
      throw SpecError("engine.physical_order",
                      fmt::format("a page of {} of {} bytes does not go into the page of {} bytes a whole number of "
                                  "times, and latents are not padded; take an order with the blocks outermost, like "
                                  "BLNHC, or no draft with larger pages",
                                  spec_label(spec), spec.unpadded_page_bytes, page));
}

/// The stage of each layer of the model; what the engine adds is on the last.
class Stages {
 public:
  Stages(const ModelSpec& model, const EngineSpec& engine) {
    const auto layers = static_cast<std::int64_t>(model.layers.size());
    std::vector<std::int64_t> sizes = engine.pipeline_layers;
    if (sizes.empty()) sizes = layers_of_stages(layers, engine.pipeline_parallel);
    std::int64_t end = 0;
    for (const std::int64_t size : sizes) ends_.push_back(end += size);
    ends_.back() = std::numeric_limits<std::int64_t>::max();
  }
  std::int64_t count() const { return static_cast<std::int64_t>(ends_.size()); }
  /// Is the layer on this stage?
  bool holds(std::int64_t stage, std::int64_t layer) const {
    const std::int64_t begin = stage == 0 ? 0 : ends_[static_cast<std::size_t>(stage - 1)];
    return layer >= begin && layer < ends_[static_cast<std::size_t>(stage)];
  }
  /// What a stage keeps of a table. The engine gives a request blocks of every table, so one without a layer here
  /// stays.
  LayerTable of_stage(std::int64_t stage, const LayerTable& table) const {
    LayerTable kept = table;
    for (TablePart& part : kept) std::erase_if(part.layers, [&](std::int64_t layer) { return !holds(stage, layer); });
    const auto is_elsewhere = [](const TablePart& part) { return part.layers.empty(); };
    if (std::all_of(kept.begin(), kept.end(), is_elsewhere))
      kept.resize(1);
    else
      std::erase_if(kept, is_elsewhere);
    return kept;
  }

 private:
  std::vector<std::int64_t> ends_;
};

/// K and V are read on the rank that has them.
void require_sources_on_stage(const ModelSpec& model, const Stages& stages) {
  for (const SharedLayer& shared : shared_layers(model))
    for (std::int64_t stage = 0; stage < stages.count(); ++stage)
      if (stages.holds(stage, shared.layer) && !stages.holds(stage, shared.source))
        throw SpecError("engine.pipeline_parallel",
                        fmt::format("layer {} reads the K and V of layer {}, which is on another stage; take fewer "
                                    "stages, or others by engine.pipeline_layers", shared.layer, shared.source));
}

/// What pages and tables are, before anything is counted.
struct Shape {
  PageKind kind = PageKind::uniform;
  CacheOrder order = CacheOrder::lbnhc;
  PageBytes pages;                  ///< by spec
  std::vector<LayerTable> tables;   ///< over all stages
  std::int64_t alignment_bytes = 1; ///< of W
};

/// W: bytes of a block on one stage.
std::int64_t block_bytes(const Shape& shape, const Stages& stages, std::int64_t stage) {
  std::int64_t widest = 0;
  for (const LayerTable& table : shape.tables)
    widest = std::max(widest, table_bytes(stages.of_stage(stage, table), shape.pages));
  return round_up(widest, shape.alignment_bytes);
}

/// The bytes that blocks must be a multiple of: backends with kernel blocks of fixed sizes step from block to block in
/// pages of one kernel block.
std::int64_t stride_alignment(std::span<const SpecPlan> specs, CacheOrder order, const EngineSpec& engine) {
  std::int64_t alignment = 1;
  if (!is_block_outermost(order)) return alignment;
  for (const SpecPlan& spec : specs)
    if (spec.attention && !spec.auxiliary &&
        !declared_blocks(engine, is_latent(spec.attention->kind)).listed.empty())
      alignment = checked_lcm(alignment, Checked(spec.kernel_block_size_tokens) * spec.bytes_per_token);
  return alignment;
}

void set_padding(std::vector<SpecPlan>& specs, const PageBytes& pages, const DerivationLog& log) {
  for (SpecPlan& spec : specs) {
    const std::int64_t page = pages[static_cast<std::size_t>(spec.id)];
    spec.padding_percent = padding_percent(page, spec.unpadded_page_bytes);
    log.add([&] {
      return Decision{{"padding of " + spec_label(spec), spec.padding_percent, "%"},
                      "padding = 100 * (page - unpadded) / unpadded",
                      {{"page", page, "bytes"}, {"unpadded", spec.unpadded_page_bytes, "bytes"}},
                      log.cite(RuleOf::tables)};
    });
  }
}

Shape shape_of(std::vector<SpecPlan>& specs, const ArrangeInputs& inputs) {
  const EngineSpec& engine = inputs.engine;
  const std::int64_t block = uniform_block_size(specs, inputs.model, engine, inputs.log);
  const bool slides = std::any_of(specs.begin(), specs.end(), [](const SpecPlan& spec) {
    return spec.attention && !spec.auxiliary && spec.attention->kind == AttentionKind::sliding_window;
  });
  BlockSizes blocks{block, block};
  if (slides) blocks.window = window_block_size(block, engine, inputs.log);
  Shape shape;
  std::vector<SpecPlan> own = size_own_pages(specs, blocks, engine, inputs.limits, DerivationLog());
  shape.pages = own_pages(own, block);
  shape.order = choose_order(own, inputs.model, engine, inputs.log);
  const SupposedGroups supposed(engine.what_if, specs);
  // A pack is as large as the largest state, so that all pages are of one size.
  const bool packs = engine.attention_pack_size > 1;
  const bool differ = !packs && !are_equal(shape.pages) && !engine.what_if.page_bytes;
  shape.kind = !differ                                         ? PageKind::uniform
               : is_one_kind(own) && !supposed.exist()         ? PageKind::dense
               : is_block_outermost(shape.order)               ? PageKind::mixed
                                                               : PageKind::uniform;
  if (shape.kind == PageKind::uniform) {
    SizedPages sized = size_pages(std::move(specs), blocks, StatePages::padded, engine, inputs.limits, inputs.log);
    specs = std::move(sized.specs);
    if (!engine.what_if.page_bytes) require_paddable(specs, sized.page_bytes);
    shape.pages.assign(specs.size(), sized.page_bytes);
    if (is_one_kind(specs) && !supposed.exist())
      shape.tables = single_table(specs);
    else
      shape.tables = uniform_tables(specs, pages_per_group(specs, engine.layers_per_group, supposed, inputs.log));
  } else {
    specs = size_own_pages(std::move(specs), blocks, engine, inputs.limits, inputs.log);
    set_padding(specs, shape.pages, inputs.log);
    shape.tables = shape.kind == PageKind::dense ? single_table(specs) : mixed_tables(specs, shape.pages);
  }
  if (supposed.exist()) shape.tables = supposed_tables(specs, supposed);
  shape.alignment_bytes = stride_alignment(specs, shape.order, engine);
  return shape;
}

/// The ids that memory, or the user, gives: as many as the stage has room for that has it for the fewest.
std::int64_t count_blocks(const Shape& shape, const Stages& stages, std::int64_t extra_bytes,
                          const EngineSpec& engine, const DerivationLog& log) {
  std::int64_t widest = 0, num_blocks = 0;
  std::vector<Term> terms;
  for (std::int64_t stage = 0; stage < stages.count(); ++stage) {
    const std::int64_t bytes = Checked(block_bytes(shape, stages, stage)) + extra_bytes;
    const std::int64_t memory = engine.pipeline_memory_bytes.empty()
                                    ? engine.memory_bytes
                                    : engine.pipeline_memory_bytes[static_cast<std::size_t>(stage)];
    widest = std::max(widest, bytes);
    if (bytes == 0) continue;  // a stage without a cache
    if (stage > 0 && num_blocks <= memory / bytes && !terms.empty()) continue;
    num_blocks = memory / bytes;
    terms = {{"memory", memory, "bytes"}, {"W", bytes, "bytes"}};
    if (!engine.pipeline_memory_bytes.empty()) terms.push_back({"stage", stage, ""});
  }
  if (engine.num_blocks) {
    require_addressable(*engine.num_blocks, widest, "blocks");
    log.add([&] {
      return Decision{{"num_blocks", *engine.num_blocks, "blocks"}, "as set by the user", {}, "engine.num_blocks"};
    });
    return *engine.num_blocks;
  }
  log.add([&] {
    return Decision{{"num_blocks", num_blocks, "blocks"},
                    !engine.pipeline_memory_bytes.empty()
                        ? "num_blocks = floor(memory / W) of the stage that has room for the fewest"
                    : stages.count() > 1 ? "num_blocks = floor(memory / W), W of the stage that has the widest blocks"
                                         : "num_blocks = floor(memory / W)",
                    std::move(terms),
                    log.cite(RuleOf::allocation)};
  });
  return num_blocks;
}

/// Groups, lanes and the one pool of a stage.
class Placement {
 public:
  Placement(Arrangement& arrangement, const Shape& shape, const std::vector<LayerTable>& tables,
            std::int64_t block_bytes, std::int64_t num_blocks)
      : arrangement_(arrangement),
        shape_(shape),
        tables_(tables),
        block_bytes_(block_bytes),
        num_blocks_(num_blocks) {}

  void place() {
    arrangement_.pools.push_back({Checked(num_blocks_) * block_bytes_, 0, {}});
    if (shape_.kind == PageKind::uniform && !needs_whole_blocks())
      place_positions();
    else if (is_block_outermost(shape_.order))
      place_blocks();
    else
      place_layers();
    arrangement_.pools.front().page_bytes = arrangement_.page_bytes(arrangement_.groups.front());
  }

 private:
  /// Does one lane have to hold whole blocks? It does where a page is not one run of bytes, or where pages do not fill
  /// the block.
  bool needs_whole_blocks() const {
    return is_block_outermost(shape_.order) &&
           (shape_.order == CacheOrder::bhlnc || block_bytes_ % shape_.pages.front() != 0);
  }
  std::int64_t page_of(const TablePart& part) const { return shape_.pages[static_cast<std::size_t>(part.spec)]; }

  GroupPlan& add_group(const TablePart& part) {
    GroupPlan group{.spec = part.spec, .drafts = part.drafts};
    group.pages = part.pages();
    for (const std::int64_t layer : part.layers) arrangement_.pools.front().shared_by.push_back({part.spec, layer});
    return arrangement_.groups.emplace_back(std::move(group));
  }
  void add_lane(std::int64_t offset, std::int64_t stride, std::int64_t bytes) {
    arrangement_.lanes.push_back({{0}, {0}, offset, stride, bytes});
  }

  /// Adds a lane for each page of a block, or for each page and head. The table of every group uses the first of these
  /// lanes.
  void place_positions() {
    const std::int64_t page = shape_.pages.front(), positions = block_bytes_ / page;
    std::int64_t heads = 1;
    if (shape_.order == CacheOrder::lhbnc) heads = head_places(arrangement_.specs.front()).heads;
    for (const LayerTable& table : tables_) {
      std::int64_t used = 0;
      for (const TablePart& part : table) {
        GroupPlan& group = add_group(part);
        group.first_lane = {used * heads};
        group.lanes_per_page = heads;
        group.shares_table = used > 0;
        used += part.num_pages();
      }
      first_of(table).padding_positions = positions - used;
    }
    const bool blocks_outermost = is_block_outermost(shape_.order);
    for (std::int64_t lane = 0; lane < positions * heads; ++lane)
      if (blocks_outermost)
        add_lane(lane * page, block_bytes_, page);
      else
        add_lane(Checked(lane) * num_blocks_ * (page / heads), page / heads, page / heads);
  }

  /// One lane of whole blocks, in which the pages of a table lie side by side.
  void place_blocks() {
    add_lane(0, block_bytes_, block_bytes_);
    for (const LayerTable& table : tables_) {
      Checked used = 0;
      for (const TablePart& part : table) {
        GroupPlan& group = add_group(part);
        group.shares_table = used > 0;
        group.in_lane = PagesInLane{used, page_of(part)};
        used += Checked(part.num_pages()) * page_of(part);
      }
      first_of(table).hole_bytes = block_bytes_ - used;
    }
  }

  /// A lane a layer of the only table, spec by spec.
  void place_layers() {
    Checked offset = 0;
    for (const LayerTable& table : tables_)
      for (const TablePart& part : table) {
        GroupPlan& group = add_group(part);
        group.shares_table = arrangement_.groups.size() > 1;
        group.first_lane = {static_cast<std::int64_t>(arrangement_.lanes.size())};
        for (std::size_t layer = 0; layer < part.layers.size(); ++layer) {
          add_lane(offset, page_of(part), page_of(part));
          offset += Checked(num_blocks_) * page_of(part);
        }
      }
  }

  GroupPlan& first_of(const LayerTable& table) { return *(arrangement_.groups.end() - std::ssize(table)); }

  Arrangement& arrangement_;
  const Shape& shape_;
  const std::vector<LayerTable>& tables_;
  const std::int64_t block_bytes_;
  const std::int64_t num_blocks_;
};

/// The specs keep the layers of their stage.
void keep_stage(std::vector<SpecPlan>& specs, const Stages& stages, std::int64_t stage) {
  for (SpecPlan& spec : specs) {
    std::erase_if(spec.layers, [&](std::int64_t layer) { return !stages.holds(stage, layer); });
    spec.num_pages = ceil_div(static_cast<std::int64_t>(spec.layers.size()), spec.layers_per_page);
  }
}

/// Marks the tables of drafters: layers that the engine adds to those of the model propose tokens, except auxiliary
/// ones.
void mark_drafters(std::vector<LayerTable>& tables, const ModelSpec& model, const EngineSpec& engine) {
  const auto first = static_cast<std::int64_t>(model.layers.size());
  const std::int64_t last = first + engine.mtp_layers + (engine.draft ? engine.draft->layers : 0);
  for (LayerTable& table : tables) {
    const bool drafts = std::any_of(table.begin(), table.end(), [&](const TablePart& part) {
      return std::any_of(part.layers.begin(), part.layers.end(),
                         [&](std::int64_t layer) { return layer >= first && layer < last; });
    });
    for (TablePart& part : table) part.drafts = drafts;
  }
}

}  // namespace

void arrange_one_allocation(Arrangement& arrangement, std::vector<SpecPlan> specs, const ArrangeInputs& inputs) {
  const EngineSpec& engine = inputs.engine;
  Shape shape = shape_of(specs, inputs);
  mark_drafters(shape.tables, inputs.model, engine);
  const Stages stages(inputs.model, engine);
  require_sources_on_stage(inputs.model, stages);
  arrangement.cache_order = shape.order;
  arrangement.extras = make_extras(specs, inputs.model, inputs.log);
  const std::int64_t bytes = block_bytes(shape, stages, engine.pipeline_rank);
  inputs.log.add([&] {
    std::vector<Term> terms;
    std::set<std::int64_t> sizes;
    for (const LayerTable& table : shape.tables)
      sizes.insert(table_bytes(stages.of_stage(engine.pipeline_rank, table), shape.pages));
    for (const std::int64_t size : sizes) terms.push_back({"pages of a table", size, "bytes"});
    if (shape.alignment_bytes > 1) terms.push_back({"alignment", shape.alignment_bytes, "bytes"});
    return Decision{{"W", bytes, "bytes"},
                    shape.alignment_bytes > 1
                        ? "W = the pages of the widest table, rounded up to the alignment: tables lie over each other"
                        : "W = the pages of the widest table: all tables lie over each other",
                    std::move(terms), inputs.log.cite(RuleOf::allocation)};
  });
  const std::int64_t num_blocks =
      count_blocks(shape, stages, arrangement.extra_bytes_per_id(), engine, inputs.log);
  derive_usable_blocks(num_blocks, RuleOf::tables, inputs.log);
  std::vector<LayerTable> tables;
  for (const LayerTable& table : shape.tables) tables.push_back(stages.of_stage(engine.pipeline_rank, table));
  if (bytes == 0)
    throw SpecError("engine.pipeline_rank",
                    fmt::format("stage {} of {} has no layer with a cache; plan another, or give "
                                "engine.pipeline_layers that share them out",
                                engine.pipeline_rank, engine.pipeline_parallel));
  keep_stage(specs, stages, engine.pipeline_rank);
  for (SpecPlan& spec : specs)  // there is no axis of K and V: whatever the backend, heads are slots
    if (spec.attention && !is_latent(spec.attention->kind)) spec.attention->form = BackendForm::slots;
  arrangement.specs = std::move(specs);
  Placement(arrangement, shape, tables, bytes, num_blocks).place();
  arrangement.arenas.push_back({"blocks", num_blocks, Checked(bytes) + arrangement.extra_bytes_per_id()});
}

}  // namespace hybridkv
