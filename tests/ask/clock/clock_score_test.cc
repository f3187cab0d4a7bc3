// The clocks of engines against published runs: the score that docs/clock.md states, and the models behind it.
#include "ask/clock/clock_score.h"

#include <doctest/doctest.h>

#include <cmath>
#include <map>
#include <utility>

#include "base/csv.h"
#include "base/error.h"
#include "engines/vllm/engine.h"
#include "scenarios/read.h"
#include "test_paths.h"
#include "tests/scratch_folder.h"

using namespace hybridkv;

namespace {

const RowFiles public_files{.rows = HYBRIDKV_TEST_DATA "/clock/measured.csv",
                            .models = HYBRIDKV_TEST_DATA "/clock/models.csv",
                            .recipes = HYBRIDKV_TEST_DATA "/clock/recipes.csv"};

const std::vector<MeasuredRow>& public_rows() {
  static const std::vector<MeasuredRow> rows = read_measured_rows(public_files);
  return rows;
}

/// A model of the library as the clock sees it on one rank of vLLM.
ClockModel library_model(const std::string& name, std::int64_t ranks) {
  const Scenario scenario = read_scenario(parse_scenario(
      "model: " + name + "\nengine: {memory: 400GiB, tensor_parallel: " + std::to_string(ranks) +
          ", kv_dtype: fp8, ssm_dtype: bf16}\nlimits: {max_model_len: 4096}\n", "clock.yaml"));
  return clock_model(scenario.model, scenario.engine, find_gpu("H200").speed);
}

bool alike(double a, double b, double share) { return std::abs(a - b) <= share * std::max(std::abs(a), std::abs(b)); }

}  // namespace

TEST_CASE("golden: the score of the shipped clocks on the published runs, to a tenth of a point") {
  const std::vector<ClockScore> scores = score_clocks(public_rows());
  REQUIRE(scores.size() == 7);
  const ClockScore& all = scores[3];
  const ClockError &blind = all.blind, &own = all.own;
  CHECK(all.name == "all");
  CHECK(blind.runs == 479);
  const auto stated = [](double value, double score) { return std::abs(value - score) < 0.1; };
  CHECK(stated(blind.first_token_median, 16.23));
  CHECK(stated(blind.first_token_p90, 40.72));
  CHECK(stated(blind.output_token_median, 7.80));
  CHECK(stated(blind.output_token_p90, 20.81));
  CHECK(own.runs == 350);
  CHECK(stated(own.first_token_median, 9.80));
  CHECK(stated(own.first_token_p90, 26.95));
  CHECK(stated(own.output_token_median, 4.87));
  CHECK(stated(own.output_token_p90, 14.85));
  // Nobody fits a clock to those: their acceptance is assumed.
  CHECK(scores[4].name == "with drafts");
  CHECK(scores[4].blind.runs == 55);
  CHECK(stated(scores[4].blind.first_token_median, 32.0));
  CHECK(stated(scores[4].blind.output_token_median, 15.1));
  CHECK(scores[5].name == "attention data parallel");
  CHECK(scores[5].blind.runs == 9);
  CHECK(scores[6].name == "both");
  CHECK(scores[6].blind.runs == 16);
  CHECK(stated(scores[6].blind.first_token_median, 16.8));
  CHECK(stated(scores[6].blind.output_token_median, 9.4));
  // What the project asks of a clock without any run of the deployment, and with two.
  CHECK(blind.first_token_median <= 20);
  CHECK(blind.first_token_p90 <= 50);
  CHECK(blind.output_token_median <= 10);
  CHECK(blind.output_token_p90 <= 25);
  CHECK(own.first_token_median <= 12);
  CHECK(own.first_token_p90 <= 30);
  CHECK(own.output_token_median <= 5);
  CHECK(own.output_token_p90 <= 15);
}

TEST_CASE("golden: the score of fits on models and GPUs that they leave out") {
  const std::vector<ClockScore> scores = score_unseen(public_rows());
  REQUIRE(scores.size() == 2);
  const ClockError &models = scores[0].blind, &gpus = scores[1].blind;
  CHECK(scores[0].name == "models");
  CHECK(scores[1].name == "GPUs");
  CHECK(models.runs == 479);
  CHECK(gpus.runs == 479);
  // What the project asks: of a model what it asks of one that was seen. A first token on a GPU comes to 22.4 % in the
  // middle, where it asks for 20.
  CHECK(models.first_token_median <= 20);
  CHECK(models.first_token_p90 <= 50);
  CHECK(models.output_token_median <= 10);
  CHECK(models.output_token_p90 <= 25);
  CHECK(gpus.first_token_median <= 22.5);
  CHECK(gpus.first_token_p90 <= 55);
  CHECK(gpus.output_token_median <= 18);
  CHECK(gpus.output_token_p90 <= 30);
  // What was seen is predicted better.
  const ClockError seen = score_clocks(public_rows())[3].blind;
  CHECK(seen.first_token_median < models.first_token_median);
  CHECK(seen.output_token_median < gpus.output_token_median);
}

TEST_CASE("edge: where an engine has one model and one GPU nothing is left out") {
  std::vector<MeasuredRow> rows;
  for (const MeasuredRow& row : public_rows())
    if (row.is_clean() && row.model == "Kimi-K2.5" && row.gpu == "B200") rows.push_back(row);
  REQUIRE(!rows.empty());
  CHECK(score_unseen(rows).empty());
}

TEST_CASE("fault: a table whose servers waited for nobody and cut their prompts is read worse") {
  std::vector<MeasuredRow> rows;
  for (const MeasuredRow& row : public_rows())
    if (row.engine->clock->name == "tensorrt-llm") rows.push_back(row);
  const ClockError right = score_clocks(rows).front().blind;
  for (MeasuredRow& row : rows) {
    row.run.rules.wait_steps = 0;
    row.run.rules.whole_prompts = false;
  }
  CHECK(score_clocks(rows).front().blind.first_token_median > right.first_token_median + 1);
}

TEST_CASE("golden: the score on published runs of replicas that generate behind others, to which nothing is fitted") {
  RowFiles files = public_files;
  files.rows = HYBRIDKV_TEST_DATA "/clock/measured_pd.csv";
  const std::vector<ClockScore> scores = score_clocks(read_measured_rows(files));
  REQUIRE(scores.size() == 1);
  CHECK(scores[0].name == "prefill/decode");
  // 110 more do not say how many replicas they had.
  CHECK(scores[0].blind.runs == 30);
  CHECK(scores[0].own.runs == 0);
  CHECK(std::abs(scores[0].blind.first_token_median - 31.7) < 0.1);
  CHECK(std::abs(scores[0].blind.output_token_median - 12.0) < 0.1);
  CHECK(std::abs(scores[0].blind.output_token_p90 - 29.8) < 0.1);
}

TEST_CASE("fault: a clock without its launches, or with all of the bandwidth, is seen by the score") {
  std::vector<MeasuredRow> rows;
  for (const MeasuredRow& row : public_rows())
    if (row.engine->clock->name == "vllm") rows.push_back(row);
  const ClockError right = score_clocks(rows).front().blind;
  for (MeasuredRow& row : rows) row.run.model.layers = row.run.model.moe_layers = row.run.model.latent_layers = 0;
  CHECK(score_clocks(rows).front().blind.output_token_median > 2 * right.output_token_median);
}

TEST_CASE("law: a clock that is fitted anew is judged on every model by a fit to the others, where there are others") {
  std::map<std::string, std::vector<MeasuredRow>> by_model;
  for (const MeasuredRow& row : public_rows())
    if (row.engine->clock->name == "sglang" && row.is_clean() && by_model[row.model].size() < 3)
      by_model[row.model].push_back(row);
  REQUIRE(by_model.size() == 2);
  const std::vector<MeasuredRow>& one = by_model.begin()->second;
  std::vector<MeasuredRow> both = one;
  both.insert(both.end(), by_model.rbegin()->second.begin(), by_model.rbegin()->second.end());
  REQUIRE(both.size() == 6);
  const auto runs_of_fit = [](const std::vector<MeasuredRow>& rows) {
    const std::vector<ClockFile> clocks = fit_clocks(rows);
    REQUIRE(clocks.size() == 1);
    REQUIRE(clocks[0].apart.has_value());
    return std::pair(clocks[0].fitted.runs, clocks[0].apart->runs);
  };
  CHECK(runs_of_fit(both) == std::pair<std::size_t, std::size_t>(6, 6));
  // Nothing is left to fit to without the only model.
  CHECK(runs_of_fit(one) == std::pair<std::size_t, std::size_t>(3, 0));
}

TEST_CASE("law: what a model of the library computes is what the table of models says") {
  struct Pair {
    const char* table;
    const char* library;
  };
  std::map<std::string, ClockModel> tabled;
  for (const MeasuredRow& row : public_rows())
    if (row.run.split.tensor_parallel == 4 && row.weights.starts_with("fp8")) tabled[row.model] = row.run.model;
  int compared = 0;
  for (const auto& [table, library] : {Pair{"Qwen3.5-397B-A17B", "Qwen3.5-397B-A17B"},
                                       Pair{"Llama-3.1-70B", "Llama-3.1-70B"}, Pair{"Qwen3-32B", "Qwen3-32B"},
                                       Pair{"DeepSeek-R1", "DeepSeek-V3"}}) {
    const auto found = tabled.find(table);
    if (found == tabled.end()) continue;
    ++compared;
    CAPTURE(table);
    const ClockModel ours = library_model(library, 4);
    CHECK(ours.hidden == found->second.hidden);
    CHECK(ours.layers == found->second.layers);
    CHECK(ours.experts == found->second.experts);
    CHECK(ours.experts_per_token == found->second.experts_per_token);
    CHECK(ours.shared_expert == found->second.shared_expert);
    CHECK(alike(ours.dense_parameters, found->second.dense_parameters, 0.01));
    CHECK(alike(ours.expert_parameters, found->second.expert_parameters, 0.01));
    CHECK(alike(ours.head_parameters, found->second.head_parameters, 0.01));
    REQUIRE(ours.attention.size() == found->second.attention.size());
    for (std::size_t i = 0; i < ours.attention.size(); ++i) {
      CHECK(ours.attention[i].layers == found->second.attention[i].layers);
      CHECK(alike(ours.attention[i].prefill_flops, found->second.attention[i].prefill_flops, 1e-9));
      CHECK(alike(ours.attention[i].decode_flops, found->second.attention[i].decode_flops, 1e-9));
    }
    REQUIRE(ours.states.size() == found->second.states.size());
    for (std::size_t i = 0; i < ours.states.size(); ++i) {
      CHECK(ours.states[i].layers == found->second.states[i].layers);
      CHECK(alike(ours.states[i].state_bytes, found->second.states[i].state_bytes, 0.01));
      CHECK(alike(ours.states[i].recurrence, found->second.states[i].recurrence, 0.01));
    }
  }
  CHECK(compared >= 3);
}

TEST_CASE("edge: a table with a column, a model or a number that is none is refused with its line") {
  const testing::ScratchFolder folder;
  const auto refusal = [&](const std::string& text) {
    RowFiles files = public_files;
    files.rows = folder.file("broken_rows.csv", text);
    try {
      read_measured_rows(files);
    } catch (const InputError& error) {
      return std::string(error.what()).substr(folder.path.string().size() + 1);
    }
    return std::string("taken");
  };
  const std::string head = "engine,model,gpu,weights_dtype,kv_dtype,mode,drafts,input_tokens,output_tokens,concurrency,"
                           "tensor_parallel,data_parallel,num_gpus,ttft_ms,tpot_ms,source,flag\n";
  CHECK(refusal("engine,model\nvllm,x\n").starts_with("broken_rows.csv:1: there is no column mode"));
  CHECK(refusal(head + "vllm,Llama-3.1-8B,H200,bf16,,aggregated,none,1024,1024,4,1,1,1,50,5,me,\n") == "taken");
  CHECK(refusal(head + "vllm,Llama,H200,bf16,,aggregated,none,1024,1024,4,1,1,1,50,5,me,\n") ==
        "broken_rows.csv:2: model is not in the table of models");
  CHECK(refusal(head + "vllm,Llama-3.1-8B,H200,bf16,,aggregated,none,1k,1024,4,1,1,1,50,5,me,\n") ==
        "broken_rows.csv:2: input_tokens must be a number, is \"1k\"");
  CHECK(refusal(head + "vllm,Llama-3.1-8B,H200,bf16,,aggregated,none,1024\n") ==
        "broken_rows.csv:2: has 8 values, the first line names 17 columns");
  CHECK(refusal(head + "ours,Llama-3.1-8B,H200,bf16,,aggregated,none,1024,1024,4,1,1,1,50,5,me,\n") ==
        "broken_rows.csv:2: engine is none that has a clock");
  // Ranks fill all GPUs of a server.
  const std::string row = "vllm,Llama-3.1-8B,H200,bf16,,aggregated,none,1024,1024,4,";
  CHECK(refusal(head + row + "2,1,4,50,5,me,\n") == "taken");
  const std::string unfit = "broken_rows.csv:2: num_gpus and ranks are at least 1, and a multiple of them";
  CHECK(refusal(head + row + "2,1,3,50,5,me,\n") == unfit);
  CHECK(refusal(head + row + "1,1,0,50,5,me,\n") == unfit);
  // What no machine has is refused before it is multiplied.
  const std::string apart =
      "engine,model,gpu,weights_dtype,kv_dtype,mode,input_tokens,output_tokens,concurrency,ttft_ms,tpot_ms,source,flag,"
      "prefill_workers,prefill_tp,prefill_ep,prefill_dp,decode_workers,decode_tp,decode_ep,decode_dp\n"
      "vllm,Llama-3.1-8B,H200,bf16,,p/d,1024,1024,4,50,5,me,,1,1,1,1,1,";
  CHECK(refusal(apart + "2,1,2\n") == "taken");
  CHECK(refusal(apart + "9000000000000000,1,2\n") == "broken_rows.csv:2: decode_tp is a number from 1 to 1000000");
  CHECK(refusal(apart + "2,1,0\n") == "broken_rows.csv:2: decode_dp is a number from 1 to 1000000");
  CHECK(refusal("") == "broken_rows.csv: is empty; its first line names the columns");
}
