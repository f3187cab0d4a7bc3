#include "transfer/transfer_map.h"

#include <doctest/doctest.h>

#include <map>

#include "engines/vllm/rules.h"
#include "tests/planner/models.h"

namespace hybridkv {
namespace {

using namespace testing;

EngineSpec engine_of(std::int64_t ranks) {
  return {.tensor_parallel = ranks, .cache_mode = CacheMode::align, .memory_bytes = 40 * gib};
}

/// Two deployments of a model and a request between them.
struct Move {
  ModelSpec model;
  EngineSpec from, to;
  std::int64_t tokens = 32'768;
  std::int64_t present = 0;
  TransferOptions options;

  TransferSide side(const EngineSpec& engine) const { return make_side(model, engine, {.max_model_lens = {tokens}}); }
  TransferMap map() const { return TransferMap(side(from), side(to), options); }
  CopyList list(IdOrder order = IdOrder::scattered) const {
    return map().list({.tokens = tokens,
                       .present_tokens = present,
                       .from = make_tables(side(from), tokens, order, 1),
                       .to = make_tables(side(to), tokens, order, 2)});
  }
};

std::int64_t block_of(const TransferSide& side) {
  for (const SpecPlan& spec : side.stages.front().specs)
    if (spec.attention) return spec.block_size_tokens;
  return 0;
}

/// Runs between two ranks that begin with a tensor of a layer.
std::int64_t runs_of(const CopyList& list, std::int64_t from, std::int64_t to, std::int64_t layer,
                     const std::string& tensor) {
  std::int64_t runs = 0;
  for (const RankCopies& pair : list.pairs)
    if (pair.from_rank == from && pair.to_rank == to)
      for (const Copy& copy : pair.copies) {
        const Content& content = list.contents[static_cast<std::size_t>(copy.content)];
        runs += content.layer == layer && content.tensor == tensor;
      }
  return runs;
}

std::string refusal_of(const Move& move) {
  try {
    move.map();
  } catch (const SpecError& error) {
    return error.path() + ": " + error.message();
  }
  return "";
}

ModelSpec qwen35_35b() {
  return qwen_hybrid("Qwen3.5-35B-A3B", 40, full_attention(2, 256, 16), qwen_gdn(16, 32));
}

TEST_CASE("golden: TP1 to TP2 with blocks of 1,056 and 4,176 tokens (vLLM issue 41037)") {
  Move move{.model = qwen35_35b(), .from = engine_of(1), .to = engine_of(2)};
  move.to.block_size_tokens = 4176;
  for (EngineSpec* engine : {&move.from, &move.to}) engine->physical_order = PhysicalOrder::hnd;
  CHECK(block_of(move.side(move.from)) == 1056);
  CHECK(block_of(move.side(move.to)) == 4176);
  const CopyList list = move.list();
  // No end of a block of one side is one of the other below 91,872 tokens: 31 and 7 of them cut the request into 39
  // parts, of each K and V; with heads outside tokens a part of a head is one run.
  CHECK(runs_of(list, 0, 0, 3, "kv") == 2 * 39);
  CHECK(runs_of(list, 0, 1, 3, "kv") == 2 * 39);
  // Every element once: 10 layers of 2 heads, 30 states.
  const std::int64_t tokens = 32'768 * 10 * 2 * 512 * 2, states = 30 * (3 * 8192 * 2 + 32 * 128 * 128 * 4);
  CHECK(list.unique_bytes() == tokens + states);
  CHECK(list.moved_bytes() == tokens + states);
  // With tokens outside heads a source of two heads has nothing longer than a row of one of them.
  for (EngineSpec* engine : {&move.from, &move.to}) engine->physical_order = PhysicalOrder::nhd;
  CHECK(runs_of(move.list(), 0, 1, 3, "kv") == 2 * 32'768);
}

TEST_CASE("golden: the same model's own blocks, 4,176 tokens on one rank and 1,056 on eight") {
  Move move{.model = nemotron_nano_30b(), .from = engine_of(1), .to = engine_of(8)};
  move.model.ssm_dtype = DType::fp32;
  for (EngineSpec* engine : {&move.from, &move.to}) engine->kv_dtype = DType::fp8_e4m3;
  CHECK(block_of(move.side(move.from)) == 4176);
  CHECK(block_of(move.side(move.to)) == 1056);
  const CopyList list = move.list();
  // Each of two heads goes to four ranks, a state to one.
  const std::int64_t tokens = 32'768 * 6 * 2 * 256;
  CHECK(list.moved_bytes() - list.unique_bytes() == 3 * tokens);
}

TEST_CASE("golden: TP4 to TP2 with 2 KV heads: K and V from the first of two copies, states from every rank") {
  const Move move{.model = qwen35_397b(), .from = engine_of(4), .to = engine_of(2), .tokens = 5000};
  const CopyList list = move.list();
  std::map<std::pair<std::int64_t, std::int64_t>, std::pair<bool, bool>> moves;  // K and V, states
  for (const RankCopies& pair : list.pairs)
    for (const Copy& copy : pair.copies) {
      auto& [tokens, states] = moves[{pair.from_rank, pair.to_rank}];
      (list.contents[static_cast<std::size_t>(copy.content)].tensor == "kv" ? tokens : states) = true;
    }
  using Kinds = std::pair<bool, bool>;
  CHECK(moves == std::map<std::pair<std::int64_t, std::int64_t>, Kinds>{
                     {{0, 0}, {true, true}}, {{1, 0}, {false, true}}, {{2, 1}, {true, true}}, {{3, 1}, {false, true}}});
  CHECK(list.moved_bytes() == list.unique_bytes());
}

TEST_CASE("golden: a convolution is three reads with the channels outside, one per section and step else") {
  for (const ModelSpec& model : {nemotron_nano_4b(), qwen35_397b()}) {
    Move move{.model = model, .from = engine_of(1), .to = engine_of(2), .tokens = 1000};
    CHECK(runs_of(move.list(), 0, 1, 0, "conv") == 9);
    move.from.conv_state_layout = move.to.conv_state_layout = ConvStateLayout::ds;
    CHECK(runs_of(move.list(), 0, 1, 0, "conv") == 3);
    std::swap(move.from, move.to);
    CHECK(runs_of(move.list(), 1, 0, 0, "conv") == 3);
  }
}

TEST_CASE("golden: one group of B and C goes whole to every rank (vLLM issue 55208)") {
  Move move{.model = falcon_h1_3b(), .from = engine_of(1), .to = engine_of(2), .tokens = 100};
  move.from.conv_state_layout = move.to.conv_state_layout = ConvStateLayout::ds;
  const CopyList list = move.list();
  const auto conv_runs = [&](std::int64_t rank) {
    std::vector<std::int64_t> bytes;
    for (const RankCopies& pair : list.pairs)
      for (const Copy& copy : pair.copies) {
        const Content& content = list.contents[static_cast<std::size_t>(copy.content)];
        if (pair.to_rank == rank && content.layer == 0 && content.tensor == "conv") bytes.push_back(copy.bytes);
      }
    return bytes;
  };
  // x: half of 4096 channels; B and C: 256 each, of 3 steps in bf16. Behind C the recurrent state begins, with the
  // heads of rank 0; the second half of x ends where B begins.
  const std::int64_t x = 2048 * 3 * 2, b_and_c = 2 * 256 * 3 * 2, ssm = 16 * 128 * 256 * 2;
  CHECK(conv_runs(0) == std::vector<std::int64_t>{x, b_and_c + ssm});
  CHECK(conv_runs(1) == std::vector<std::int64_t>{x + b_and_c});
  const auto conv = [&](const CopyList& of) {
    std::int64_t sum = 0;
    for (const Content& content : of.contents) sum += content.tensor == "conv" ? content.unique_bytes : 0;
    return sum;
  };
  CHECK(conv(list) == 32 * (4096 + 2 * 256) * 3 * 2);
  // Back again: x from both, B and C from one.
  std::swap(move.from, move.to);
  const CopyList back = move.list();
  CHECK(runs_of(back, 0, 0, 0, "conv") == 2);
  CHECK(runs_of(back, 1, 0, 0, "conv") == 1);
  CHECK(back.moved_bytes() == back.unique_bytes());
}

TEST_CASE("golden: states in fp32 and bf16 are refused, with the flag converted and the rounding named") {
  Move move{.model = qwen35_397b(), .from = engine_of(2), .to = engine_of(2), .tokens = 1000};
  move.to.ssm_dtype = DType::bf16;
  const std::string refusal = refusal_of(move);
  CHECK(refusal.starts_with("to.engine.ssm_dtype: recurrent states of layer 0 ssm are fp32 at the source and bf16"));
  CHECK(refusal.find("--convert dtype") != std::string::npos);
  CHECK(refusal.find("at most 2^-8 = 0.39 % of it") != std::string::npos);
  move.options.converts_dtypes = true;
  const CopyList list = move.list();
  const std::int64_t states = 45 * 64 * 128 * 128;
  CHECK(list.moved_bytes() - list.written_bytes() == states * 2);
  CHECK(list.unique_bytes() == list.written_bytes());
  // The other way no digit is lost.
  std::swap(move.from, move.to);
  move.options.converts_dtypes = false;
  CHECK(refusal_of(move).find("no digit is lost") != std::string::npos);
}

TEST_CASE("golden: what cannot be moved is refused by the key at fault") {
  Move move{.model = qwen35_397b(), .from = engine_of(2), .to = engine_of(2), .tokens = 1000};
  const auto refuses = [&](const std::string& start, auto change) {
    Move changed = move;
    change(changed);
    CHECK_MESSAGE(refusal_of(changed).starts_with(start), refusal_of(changed));
  };
  refuses("to.engine.kv_dtype: K and V of layer 3 kv are bf16", [](Move& m) { m.to.kv_dtype = DType::fp8_e4m3; });
  refuses("to.engine.kv_dtype: K and V of layer 3 kv are bf16 at the source and int8 at the destination: integers",
          [](Move& m) {
            m.to.kv_dtype = DType::int8;
            m.options.converts_dtypes = true;
          });
  refuses("to.engine.kv_format: K and V of layer 3 kv are bf16 at the source and int8_per_token_head", [](Move& m) {
    m.to.kv_format = KvFormat::int8_per_token_head;
    m.options.converts_dtypes = true;
  });
  refuses("to.engine.conv_state_layout: convolution states of layer 0 conv are (step, channel) at the source and "
          "(channel, step)", [](Move& m) { m.to.conv_state_layout = ConvStateLayout::ds; });
  refuses("from.engine.mtp_layers: the destination keeps layer 60 kv and the source does not", [](Move& m) {
    m.to.mtp_layers = 1;
    m.to.speculative_tokens = 1;
  });
  refuses("to.engine.pad_heads: a rank keeps 768 heads or channels of layer 0 conv, where 512 of 12288", [](Move& m) {
    m.to.tensor_parallel = 32;
    m.to.pad_heads = true;
  });
  refuses("to.engine.tensor_parallel: 3 ranks cannot share the 16 heads or groups of layer 0 conv", [](Move& m) {
    m.to.tensor_parallel = 3;
    m.to.pad_heads = true;
  });
  // What the source keeps beyond the destination stays where it is.
  Move more = move;
  more.from.mtp_layers = 1;
  CHECK(refusal_of(more) == "");
}

TEST_CASE("golden: a prefix that is there moves no K and V, and the state all the same") {
  Move move{.model = qwen35_397b(), .from = engine_of(2), .to = engine_of(8), .tokens = 5000};
  const std::int64_t whole = move.list().unique_bytes();
  move.present = 4224;
  const std::int64_t of_token = 15 * 2 * 512 * 2;
  CHECK(whole - move.list().unique_bytes() == 4224 * of_token);
  move.present = 5000;
  CHECK(move.list().unique_bytes() == 45 * (3 * 12'288 * 2 + 64 * 128 * 128 * 4));
}

TEST_CASE("golden: stages of a pipeline send their own layers") {
  Move move{.model = qwen35_397b(), .from = engine_of(2), .to = engine_of(4), .tokens = 5000};
  for (EngineSpec* engine : {&move.from, &move.to}) {
    engine->rules = &rules_of_vllm_0_33;
    engine->memory_bytes = 80 * gib;
  }
  move.to.pipeline_parallel = 2;
  const CopyList list = move.list();
  for (const RankCopies& pair : list.pairs)
    for (const Copy& copy : pair.copies)
      CHECK((list.contents[static_cast<std::size_t>(copy.content)].layer < 30) == (pair.to_rank < 4));
  CHECK(list.pairs.size() == 8);
}

TEST_CASE("golden: packs of equal blocks and heads are one run a block") {
  Move move{.model = qwen35_397b(), .from = engine_of(2), .to = engine_of(8), .tokens = 1440};
  for (EngineSpec* engine : {&move.from, &move.to}) engine->attention_pack_size = 15;
  CHECK(block_of(move.side(move.from)) == 144);
  CHECK(block_of(move.side(move.to)) == 48);
  const auto kv = [&](const CopyList& list) {
    std::int64_t runs = 0;
    for (const Content& content : list.contents)
      if (content.tensor == "kv") runs += runs_of(list, 0, 0, content.layer, "kv");
    return runs;
  };
  CHECK(kv(move.list()) == 30 * 15 * 2);  // a block of the destination's 48 tokens cuts every layer of the source
  move.to.block_size_tokens = 144;
  CHECK(block_of(move.side(move.to)) == 144);
  CHECK(kv(move.list()) == 10);
}

}  // namespace
}  // namespace hybridkv
