#include "ask/clock/measured_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "ask/clock/recipe.h"
#include "ask/clock/served_clock.h"
#include "base/csv.h"
#include "engines/gpus.h"

namespace hybridkv {

namespace {

/// What a table calls servers of which some compute prompts and others generate.
constexpr std::string_view disaggregated = "p/d";

/// What a model computes, whatever its weights are made of. Bytes a parameter by format.
struct TabledModel {
  ClockModel work;
  double kv_elements = 0;
  std::int64_t kv_heads = 0;       // 0: a latent
  double conv_elements = 0, ssm_elements = 0;
  std::map<std::string, std::pair<double, double>> bytes;  // (dense, experts)
};

TabledModel model_in(const CsvReader& row) {
  TabledModel model;
  ClockModel& work = model.work;
  work.hidden = row.whole("hidden");
  work.layers = row.whole("layers");
  const double pair = row.number("attention_flops_per_pair_layer");
  model.kv_elements = row.number("kv_elements_per_token_layer");
  const auto add = [&](const char* column, double decode, std::int64_t window) {
    if (const std::int64_t layers = row.whole(column); layers > 0)
      work.attention.push_back({.layers = layers, .prefill_flops = pair, .decode_flops = decode, .window = window});
  };
  add("full_attention_layers", pair, 0);
  add("window_layers", pair, row.whole("window"));
  work.latent_layers = row.whole("mla_layers");
  const double latent = row.number("query_heads") * (2 * row.number("kv_lora") + row.number("rope_dim"));
  add("mla_layers", 2 * latent, row.whole("index_topk"));
  model.kv_heads = work.latent_layers > 0 ? 0 : row.whole("kv_heads");
  if (const std::int64_t layers = row.whole("gdn_layers"); layers > 0) {
    work.states.push_back({.layers = layers});
    model.conv_elements = row.number("conv_elements_per_state");
    model.ssm_elements = row.number("ssm_elements_per_state");
  }
  work.dense_parameters = row.number("mixer_params") + row.number("dense_ffn_params") + row.number("router_params");
  work.moe_layers = row.whole("moe_layers");
  work.shared_expert = row.whole("shared_intermediate") > 0;
  work.experts = row.whole("experts");
  work.experts_per_token = row.whole("experts_per_token");
  work.expert_parameters = row.number("params_per_expert") * static_cast<double>(work.experts * work.moe_layers);
  work.head_parameters = row.number("embedding_params");
  for (const char* format : {"bf16", "fp8", "fp4", "int4"})
    model.bytes[format] = {row.number(fmt::format("bytes_mixer_{}", format)),
                           row.number(fmt::format("bytes_expert_{}", format))};
  return model;
}

std::map<std::string, TabledModel> read_models(const std::string& path) {
  std::map<std::string, TabledModel> models;
  for (CsvReader row = open_csv(path); row.next();) models[row.text("model")] = model_in(row);
  return models;
}

/// How a checkpoint of this format is kept: fp8, 4 bits with scales (nvfp4, mxfp4), or 4 bits for kernels that unpack.
std::string format_of(const std::string& weights) {
  for (const char* format : {"fp4", "int4", "fp8"})
    if (weights.find(format) != std::string::npos) return format;
  return "bf16";
}

WeightFormat format_in(double bytes, bool unpacked, const GpuSpeed& gpu) {
  WeightFormat format = weight_format(8 * bytes, gpu);
  if (unpacked) format.type = ComputeType::bf16;
  return format;
}

/// Tokens that the memory of a rank holds, no fewer than one request needs.
double cache_tokens(const MeasuredRow& row, const Gpu& gpu) {
  const ClockModel& work = row.run.model;
  const auto ranks = static_cast<double>(row.run.split.tensor_parallel);
  const double weights =
      (work.dense_parameters * work.dense.bytes + 2 * work.head_parameters * 2) / ranks +
      work.expert_parameters * work.expert.bytes / static_cast<double>(row.run.split.gpus);
  double token = 0;
  for (const AttentionWork& layers : work.attention)
    if (layers.window == 0 || work.latent_layers > 0) token += layers.token_bytes * static_cast<double>(layers.layers);
  const double memory =
      row.engine->clock->memory_share * static_cast<double>(gpu.total_bytes) - weights -
      static_cast<double>(usual_beside_bytes);
  const auto request = static_cast<double>(row.run.test.input_tokens + row.run.test.output_tokens);
  return std::max(memory / token, 1.3 * request);
}

const Engine* engine_named(const std::string& name) {
  for (const Engine* engine : all_engines())
    if (engine->clock != nullptr && engine->clock->name == name) return engine;
  return nullptr;
}

/// The card that tables mean: of the A100 the one that they were measured on.
const Gpu& gpu_named(const std::string& name) { return find_gpu(name == "A100" ? "A100-SXM-80GB" : name); }

/// Ranks of a server that does both. Its tables count those of all parts of attention as tensor parallel ones.
ClockSplit read_split(const CsvReader& csv, std::int64_t& parts) {
  parts = csv.whole("data_parallel", 1);
  const std::int64_t all_ranks = csv.whole("tensor_parallel", 1);
  if (parts < 1 || all_ranks % parts != 0)
    csv.refuse("data_parallel", fmt::format("is no divisor of {} ranks", all_ranks));
  return {all_ranks / parts, csv.whole("num_gpus", 1)};
}

/// Ranks of those who compute prompts, or who generate.
ClockSplit read_split_of_side(const CsvReader& csv, const std::string& side, std::int64_t& parts) {
  constexpr std::int64_t most = 1'000'000;
  const auto number = [&](const char* what) {
    const std::int64_t value = csv.whole(side + what, 1);
    if (value < 1 || value > most) csv.refuse(side + what, fmt::format("is a number from 1 to {}", most));
    return value;
  };
  const std::int64_t ranks = number("_tp");
  parts = number("_dp");
  return {ranks, std::max(ranks * parts, number("_ep"))};
}

/// Sets the machine, the model on it and the engine's rules of a row whose names and test are known. `side`: of those
/// who compute prompts, or who generate; empty: of a server that does both.
void set_machine(MeasuredRow& row, const CsvReader& csv, const std::string& side, const TabledModel& model,
                 const std::vector<Recipe>& recipes, double acceptance) {
  const Gpu& gpu = gpu_named(row.gpu);
  MeasuredRun& run = row.run;
  run.gpu = gpu.speed;
  run.rules = {};
  run.split = side.empty() ? read_split(csv, run.rules.ranks) : read_split_of_side(csv, side, run.rules.ranks);
  if (run.split.tensor_parallel < 1 || run.split.gpus < 1 || run.split.gpus % run.split.tensor_parallel != 0)
    csv.refuse(side.empty() ? "num_gpus" : side + "_tp", "and ranks are at least 1, and a multiple of them");
  run.model = model.work;
  const std::string format = format_of(row.weights);
  const auto [dense, experts] = model.bytes.at(format);
  run.model.dense = format_in(dense, format == "int4", run.gpu);
  run.model.expert = format_in(experts, format == "int4", run.gpu);
  // Weights of mxfp4 are multiplied by activations of 8 bits.
  if (row.weights.starts_with("mxfp4") && run.model.expert.type == ComputeType::fp4)
    run.model.expert.type = ComputeType::fp8;
  const auto ranks = static_cast<double>(run.split.tensor_parallel);
  const double kv_bytes = csv.text("kv_dtype") == "fp8" ? 1 : 2;
  const double kv_ranks = model.kv_heads == 0 ? 1 : std::min(ranks, static_cast<double>(model.kv_heads));
  for (AttentionWork& layers : run.model.attention) layers.token_bytes = model.kv_elements * kv_bytes / kv_ranks;
  for (StateWork& layers : run.model.states) {
    // The recipes keep states in bf16, but beside weights of bf16 in fp32.
    const double ssm_bytes = format == "bf16" ? 4 : 2;
    layers.recurrence = model.ssm_elements / ranks;
    layers.state_bytes = (model.conv_elements * 2 + model.ssm_elements * ssm_bytes) / ranks;
  }
  run.rules.prompts_alone = row.engine->clock->prompts_alone;
  run.rules.reserves_outputs = row.engine->clock->reserves_outputs;
  run.rules.most_running = 2048;
  const bool drafts = side.empty() && csv.text("drafts") == "mtp";
  if (const Recipe* recipe = recipe_of(recipes, row, drafts)) recipe->apply(run.test, run.rules);
  run.rules.drafts.acceptance = run.rules.drafts.tokens > 0 ? acceptance : 0;
  run.rules.cache_tokens = cache_tokens(row, gpu);
  StepBatch one;
  add_decode(one, 1, {});
  const double seconds = StepClock(run.model, run.split, run.gpu, {}).seconds(one);
  if (!(seconds > 0 && seconds < 1e9)) csv.refuse("model", "takes no time that could be: the table of models is wrong");
}

MeasuredRow row_of(const CsvReader& csv, const std::map<std::string, TabledModel>& models,
                   const std::vector<Recipe>& recipes, double acceptance) {
  MeasuredRow row;
  row.engine = engine_named(csv.text("engine"));
  if (row.engine == nullptr) csv.refuse("engine", "is none that has a clock");
  row.model = csv.text("model");
  row.gpu = csv.text("gpu");
  row.weights = csv.text("weights_dtype");
  row.flag = csv.text("flag");
  row.measured = csv.has("measured") ? csv.text("measured") : "";
  row.other_harness = csv.text("source").starts_with("aic-");
  const auto found = models.find(row.model);
  if (found == models.end()) csv.refuse("model", "is not in the table of models");
  const TabledModel& model = found->second;
  MeasuredRun& run = row.run;
  run.test = {.input_tokens = csv.whole("input_tokens"),
              .output_tokens = csv.whole("output_tokens"),
              .concurrency = csv.whole("concurrency")};
  if (const std::string problem = unusable(run.test); !problem.empty())
    csv.refuse("concurrency", "is no load: " + problem);
  run.first_token = csv.number("ttft_ms") * 1e-3;
  run.output_token = csv.number("tpot_ms") * 1e-3;
  if (run.first_token <= 0 || run.output_token < 0) csv.refuse("ttft_ms", "is a time above 0");
  if (csv.text("mode") != disaggregated) {
    set_machine(row, csv, "", model, recipes, acceptance);
    return row;
  }
  MeasuredRow generating = row;
  set_machine(generating, csv, "decode", model, recipes, acceptance);
  set_machine(row, csv, "prefill", model, recipes, acceptance);
  row.decode = {generating.run, csv.whole("decode_workers", 1), csv.whole("prefill_workers", 1),
                !csv.text("decode_workers").empty() && !csv.text("prefill_workers").empty()};
  if (std::min(row.decode->replicas, row.decode->prompt_replicas) < 1) csv.refuse("decode_workers", "are at least 1");
  return row;
}

}  // namespace

std::vector<MeasuredRow> read_measured_rows(const RowFiles& files) {
  const std::map<std::string, TabledModel> models = read_models(files.models);
  const std::vector<Recipe> recipes = files.recipes ? read_recipes(*files.recipes) : std::vector<Recipe>{};
  std::vector<MeasuredRow> rows;
  for (CsvReader csv = open_csv(files.rows); csv.next();) {
    const std::string& mode = csv.text("mode");
    if (mode != "aggregated" && mode != disaggregated) continue;
    const std::string drafts = mode == disaggregated ? "none" : csv.text("drafts");
    if (drafts != "none" && drafts != "mtp") continue;
    MeasuredRow row = row_of(csv, models, recipes, files.acceptance);
    // How many drafts a step had, recipes alone say.
    if (drafts == "none" || row.run.rules.drafts.tokens > 0) rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace hybridkv
