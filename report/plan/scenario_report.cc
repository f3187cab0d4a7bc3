#include "report/plan/scenario_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/dtype.h"
#include "report/human.h"
#include "report/plan/explain_report.h"
#include "report/plan/plan_report.h"
#include "report/plan/rules_text.h"
#include "report/proof/verify_report.h"

namespace hybridkv {

namespace {

std::string dtype_text(const std::optional<DType>& dtype, const char* otherwise) {
  return dtype ? std::string(to_string(*dtype)) : otherwise;
}

std::string count_text(const std::optional<std::int64_t>& count, const char* otherwise) {
  return count ? human_count(*count) : otherwise;
}

std::string list_text(const std::vector<std::int64_t>& counts, const char* otherwise) {
  std::string text;
  for (const std::int64_t count : counts) text += (text.empty() ? "" : ", ") + human_count(count);
  return text.empty() ? otherwise : text;
}

std::string layers_text(const ModelSpec& model) {
  std::int64_t attention = 0, recurrent = 0, cross = 0;
  for (const LayerSpec& layer : model.layers) {
    attention += layer.attention ? 1 : 0;
    recurrent += layer.recurrent ? 1 : 0;
    cross += layer.cross ? 1 : 0;
  }
  return fmt::format("{}, of which {} with attention{} and {} with a recurrent state{}",
                     human_count(std::ssize(model.layers)), attention,
                     cross == 0 ? "" : fmt::format(", {} with attention to an encoder", cross), recurrent,
                     model.layer_order_verified ? "" : "; their order is unverified");
}

void append(Document& document, Document more, int deeper) {
  for (Block& block : more.blocks) {
    if (auto* heading = std::get_if<Heading>(&block)) heading->level = std::min(3, heading->level + deeper);
    document.blocks.push_back(std::move(block));
  }
}

/// Without its title, which stands in the heading of the section, and without what differs from run to run.
Document repeatable(Document verified) {
  std::erase_if(verified.blocks, [](const Block& block) {
    const auto* heading = std::get_if<Heading>(&block);
    return heading != nullptr && heading->level == 1;
  });
  for (Block& block : verified.blocks)
    if (auto* facts = std::get_if<Facts>(&block))
      std::erase_if(facts->entries, [](const auto& entry) { return entry.first == "time" || entry.first == "memory"; });
  return verified;
}

/// Another question's answer under a title of this report; its own title is left out.
void add_part(Document& document, const char* title, const AnsweredPart& part) {
  document.blocks.emplace_back(Heading{title});
  if (!part.why_not.empty()) return void(document.blocks.emplace_back(Paragraph{part.why_not}));
  Document shown = part.shown;
  std::erase_if(shown.blocks, [](const Block& block) {
    const auto* heading = std::get_if<Heading>(&block);
    return heading != nullptr && heading->level == 1;
  });
  append(document, std::move(shown), 1);
  if (part.folded.blocks.empty()) return;
  document.blocks.emplace_back(FoldBegin{part.fold_title});
  append(document, part.folded, 1);
  document.blocks.emplace_back(FoldEnd{});
}

void add_verification(Document& document, const ScenarioReportInputs& inputs) {
  document.blocks.emplace_back(Heading{"Verification on real tensors"});
  if (inputs.verified.empty()) {
    document.blocks.emplace_back(Paragraph{inputs.why_not_verified});
    return;
  }
  append(document, repeatable(verify_report({inputs.planned.set.model, rules_text(inputs.planned.engine)},
                                            inputs.verified)),
         1);
}

void add_pictures(Document& document, const char* title, const std::vector<Picture>& pictures) {
  if (pictures.empty()) return;
  document.blocks.emplace_back(Heading{title});
  for (const Picture& picture : pictures) document.blocks.emplace_back(picture);
}

/// Every number of the only plan of the set, step by step, where the reader opens it: it is longer than all the rest.
void add_folded_derivation(Document& document, const PlanSet& single) {
  document.blocks.emplace_back(
      FoldBegin{fmt::format("N = {}: where the numbers come from", single.plans.front().attention_pack_size)});
  append(document, explain_steps(single.plans.front()), 0);
  document.blocks.emplace_back(FoldEnd{});
}

/// One of several plans in full: its figures and tables, then its derivation. What is derived as for the pick, if that
/// is another plan, is not said again.
void add_plan(Document& document, const PlanSet& set, const CachePlan& plan, const Demand& request,
              const CachePlan& pick) {
  PlanSet single{.model = set.model, .tensor_parallel = set.tensor_parallel, .strategy = set.strategy, .plans = {plan}};
  single.plans.front().warnings.clear();  // these and the bias memory stand above, once for all packs
  single.plans.front().workspace.reset();
  if (&plan != &pick)
    std::erase_if(single.plans.front().derivation, [&](const Decision& decision) {
      return std::find(pick.derivation.begin(), pick.derivation.end(), decision) != pick.derivation.end();
    });
  document.blocks.emplace_back(Heading{fmt::format("N = {} in full", plan.attention_pack_size)});
  Document details = plan_report(single, {.packs = {}, .requests = {request}});
  details.blocks.erase(details.blocks.begin());  // the title
  append(document, std::move(details), 1);
  if (&plan == &pick) return add_folded_derivation(document, single);
  append(document, explain_steps(single.plans.front()), 0);
  document.blocks.emplace_back(
      Paragraph{fmt::format("Everything else is derived as for N = {}.", pick.attention_pack_size)});
}

/// Of one allocation the order that was asked for, else of a page.
std::string order_text(const EngineSpec& engine) {
  if (!engine.rules->one_allocation) return std::string(to_string(engine.physical_order));
  return engine.cache_order ? std::string(to_string(*engine.cache_order)) : "the first that backends and layers have";
}

/// The pick as it is; the other packs where the reader opens them, and not on paper.
void add_plans(Document& document, const PlanSet& set, const PlanAnswer& findings) {
  const std::size_t best = findings.packs.best;
  const CachePlan& pick = set.plans[best];
  add_plan(document, set, pick, findings.requests[best], pick);
  for (std::size_t i = 0; i < set.plans.size(); ++i) {
    if (i == best) continue;
    document.blocks.emplace_back(
        FoldBegin{fmt::format("N = {} in full, and where its numbers come from", set.plans[i].attention_pack_size)});
    add_plan(document, set, set.plans[i], findings.requests[i], pick);
    document.blocks.emplace_back(FoldEnd{});
  }
}

/// The pick in a sentence and a picture.
void add_first_screen(Document& document, const FirstScreen& first, const PlanAnswer& findings) {
  if (first.answer.blocks.empty()) document.blocks.emplace_back(Paragraph{findings.packs.reason});
  else append(document, first.answer, 0);
  if (first.memory) {
    document.blocks.emplace_back(memory_bars({*first.memory}));
    document.blocks.emplace_back(FoldBegin{"Where the numbers of the bar come from"});
    append(document, memory_bar_steps(*first.memory), 0);
    document.blocks.emplace_back(FoldEnd{});
  }
  for (const Picture& picture : first.pictures) document.blocks.emplace_back(picture);
}

/// The pictures of the pick, and those of the other packs where the reader opens them.
void add_pack_pictures(Document& document, const ScenarioReportInputs& inputs) {
  if (inputs.pack_pictures.empty()) return;
  const PlanSet& set = inputs.planned.set;
  const std::int64_t pick = set.plans[inputs.findings.packs.best].attention_pack_size;
  document.blocks.emplace_back(Heading{set.plans.size() == 1 ? "Pictures of the pack" : "Pictures of each pack"});
  for (const PackPicture& picture : inputs.pack_pictures)
    if (picture.attention_pack_size == pick) document.blocks.emplace_back(picture.picture);
  if (set.plans.size() == 1) return;
  document.blocks.emplace_back(FoldBegin{"Pictures of the other packs"});
  for (const PackPicture& picture : inputs.pack_pictures)
    if (picture.attention_pack_size != pick) document.blocks.emplace_back(picture.picture);
  document.blocks.emplace_back(FoldEnd{});
}

}  // namespace

Table inputs_table(const PlotInputs& planned) {
  const ModelSpec& model = planned.model;
  const EngineSpec& engine = planned.engine;
  const LimitsSpec& limits = planned.limits;
  std::vector<std::int64_t> packs;
  for (const CachePlan& plan : planned.set.plans) packs.push_back(plan.attention_pack_size);
  Table table({{"key", "key", "", Align::left}, {"value", "value", "", Align::left}});
  const auto add = [&](const char* key, std::string value) { table.add_row({std::string(key), std::move(value)}); };
  add("model", model.name);
  add("model.source", model.source.empty() ? "not stated" : model.source);
  add("model.layers", layers_text(model));
  add("model.dtype", std::string(to_string(model.dtype)));
  add("model.ssm_dtype", dtype_text(model.ssm_dtype, "as the model"));
  add("engine.release", std::string(engine.rules->name));
  if (engine.backend_profile) add("engine.backend_profile", std::string(to_string(*engine.backend_profile)));
  add("engine.tensor_parallel", human_count(engine.tensor_parallel));
  if (engine.pad_heads) add("engine.pad_heads", "true");
  if (engine.pipeline_parallel > 1) {
    add("engine.pipeline_parallel", human_count(engine.pipeline_parallel));
    add("engine.pipeline_rank", human_count(engine.pipeline_rank));
    add("engine.pipeline_layers", list_text(engine.pipeline_layers, "as even as the engine makes them"));
  }
  if (engine.decode_context_parallel > 1)
    add("engine.decode_context_parallel", human_count(engine.decode_context_parallel));
  add("engine.kv_dtype", dtype_text(engine.kv_dtype, "as the model"));
  add("engine.conv_dtype", dtype_text(engine.conv_dtype, "as the model"));
  add("engine.ssm_dtype", dtype_text(engine.ssm_dtype, "as the model says"));
  if (engine.conv_state_layout) add("engine.conv_state_layout", std::string(to_string(*engine.conv_state_layout)));
  add("engine.cache_mode", std::string(to_string(engine.cache_mode)));
  add("engine.attention_pack_size", list_text(packs, "1"));
  if (engine.layers_per_group) add("engine.layers_per_group", human_count(*engine.layers_per_group));
  add("engine.block_size_tokens", count_text(engine.block_size_tokens, "none asked for"));
  add("engine.mamba_block_size_tokens", count_text(engine.mamba_block_size_tokens, "none asked for"));
  if (engine.backend_profile) {
    add("engine.kernel_alignment_tokens", count_text(engine.kernel_alignment_tokens, "as the profile declares"));
    add("engine.kernel_block_sizes", list_text(engine.kernel_block_sizes, "as the profile declares"));
  } else {
    add("engine.kernel_alignment_tokens", human_count(engine.kernel_alignment_tokens.value_or(16)));
    add("engine.kernel_block_sizes", list_text(engine.kernel_block_sizes, "every multiple of the smallest"));
  }
  if (engine.checkpoint_alignment_tokens)
    add("engine.checkpoint_alignment_tokens", human_count(*engine.checkpoint_alignment_tokens));
  if (engine.checkpoint_blocks) add("engine.checkpoint_blocks", human_count(*engine.checkpoint_blocks));
  for (const std::string& supposed : supposed_texts(engine.what_if)) {
    const std::size_t space = supposed.find(' ');
    add(("engine.what_if." + supposed.substr(0, space)).c_str(), supposed.substr(space + 1));
  }
  add("engine.page_alignment_bytes", human_count(engine.page_alignment_bytes));
  add("engine.backend_form", std::string(to_string(engine.backend_form)));
  add("engine.physical_order", order_text(engine));
  add("engine.speculative_tokens", human_count(engine.speculative_tokens));
  add("engine.mtp_layers", human_count(engine.mtp_layers));
  const bool windowed = engine.draft && engine.draft->attention.window_tokens > 0;
  add("engine.draft",
      engine.draft ? human_plural(engine.draft->layers, windowed ? "sliding-window layer" : "full-attention layer")
                   : "none");
  add("engine.memory", exact_bytes(engine.memory_bytes));
  if (!engine.pipeline_memory_bytes.empty()) {
    std::vector<std::string> of_stages;
    for (const std::int64_t bytes : engine.pipeline_memory_bytes) of_stages.push_back(exact_bytes(bytes));
    add("engine.pipeline_memory", fmt::format("{}", fmt::join(of_stages, ", ")));
  }
  add("engine.num_blocks", count_text(engine.num_blocks, "from memory"));
  add("engine.max_num_batched_tokens", human_count(engine.max_num_batched_tokens));
  const EngineRules& rules = *engine.rules;
  if (const std::int64_t batches = engine.concurrent_batches.value_or(rules.concurrent_batches); batches > 1)
    add("engine.concurrent_batches", human_count(batches));
  if (engine.prefix_match_unit_tokens)
    add("engine.prefix_match_unit_tokens", human_count(*engine.prefix_match_unit_tokens));
  if (!engine.hybrid_manager) add("engine.hybrid_manager", "false");
  add("engine.token_rule", std::string(to_string(engine.token_rule)));
  add("limits.max_model_len", list_text(limits.max_model_lens, "none"));
  add("limits.longest_prompt_tokens", count_text(limits.longest_prompt_tokens, "unknown"));
  add("limits.load_tokens", list_text(limits.load_tokens, "one request of the longest length"));
  return table;
}

std::vector<NamedFits> judged_layouts(const ScenarioReportInputs& inputs) {
  std::vector<NamedFits> layouts;
  if (inputs.first.memory && inputs.recommendation.why_not.empty())
    layouts.emplace_back("pick: " + inputs.first.memory->name, inputs.first.memory->plan.kernels);
  for (const CachePlan& plan : inputs.planned.set.plans)
    layouts.emplace_back(fmt::format("N = {}", plan.attention_pack_size), plan.kernels);
  return layouts;
}

Document scenario_report(const ScenarioReportInputs& inputs) {
  const PlotInputs& planned = inputs.planned;
  Document layouts = plan_report(planned.set, inputs.findings), document;
  document.blocks.push_back(std::move(layouts.blocks.front()));  // the title
  layouts.blocks.erase(layouts.blocks.begin());
  const std::vector<NamedFits> judged = judged_layouts(inputs);
  if (Listing corrupting = kernel_corruptions(judged); !corrupting.items.empty())
    document.blocks.emplace_back(std::move(corrupting));
  add_first_screen(document, inputs.first, inputs.findings);
  add_part(document, "What to set", inputs.recommendation);
  document.blocks.emplace_back(Heading{"The layouts"});
  append(document, std::move(layouts), 0);
  if (Table kernels = kernel_table(judged); !kernels.rows().empty()) {
    document.blocks.emplace_back(Heading{"Kernels of each layout"});
    document.blocks.emplace_back(std::move(kernels));
  }
  document.blocks.emplace_back(Heading{"What was asked"});
  document.blocks.emplace_back(inputs_table(planned));
  add_pictures(document, "Pictures", inputs.pictures);
  add_pack_pictures(document, inputs);
  add_part(document, "The trace replayed", inputs.replay);
  add_verification(document, inputs);
  if (planned.set.plans.size() == 1)
    add_folded_derivation(document, planned.set);
  else
    add_plans(document, planned.set, inputs.findings);
  document.blocks.emplace_back(Heading{"To repeat this"});
  document.blocks.emplace_back(Code{inputs.commands});
  document.blocks.emplace_back(Paragraph{fmt::format("Made by {}.", inputs.made_by)});
  return document;
}

}  // namespace hybridkv
