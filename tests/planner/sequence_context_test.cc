// Cells, types of cells and bytes on the host of llama.cpp b11312, as its library says them.
#include "planner/sequence_context.h"

#include <doctest/doctest.h>

#include "base/error.h"
#include "engines/llama_cpp/rules.h"
#include "planner/cell_types.h"
#include "planner/row_settings.h"
#include "planner/sequence_bytes.h"
#include "tests/planner/models.h"

using namespace hybridkv;
using namespace hybridkv::testing;

namespace {

EngineSpec rows_engine() { return {.rules = &rules_of_llama_cpp, .strategy = Strategy::sequence_rows}; }

}  // namespace

TEST_CASE("golden: contexts are padded, and shared out where sequences have cells of their own") {
  EngineSpec engine = rows_engine();
  CHECK(context_of(engine, 100'000).cells == 100'096);  // four sequences share them
  CHECK(context_of(engine, 100'000).slot_cells == 100'096);
  engine.max_running_requests = 3;
  CHECK(context_of(engine, 100'000).slot_cells == 33'536);
  CHECK(context_of(engine, 100'000).cells == 3 * 33'536);
  CHECK(context_of(engine, 100'000).window_cells(96) == 3 * 768);
  engine.max_running_requests = 5;
  CHECK(context_of(engine, 700).cells == 5 * 256);
  CHECK(context_of(engine, 700).batch_tokens == 700);  // what was asked for, not what it is padded to
  CHECK(context_of(engine, 700).step_tokens == 512);
  engine.own.set(row_key::kv_unified, true);
  CHECK(context_of(engine, 700).cells == 768);
  CHECK(context_of(engine, 8192).window_cells(96) == 1024);  // five windows and a pass
}

TEST_CASE("golden: rows for drafts are of some models and drafters alone") {
  EngineSpec engine = rows_engine();
  engine.speculative_tokens = 3;
  ModelSpec model;
  for (const auto& [name, rows] : {std::pair{"Qwen3.5-4B", 3}, std::pair{"Nemotron-3-Nano-30B-A3B", 3},
                                   std::pair{"Qwen3-Next-80B-A3B", 0}, std::pair{"granite-4.0-h-small", 0},
                                   std::pair{"Jamba-1.5-mini", 0}, std::pair{"Kimi-Linear-48B-A3B", 0}}) {
    model.name = name;
    CHECK(rows_for_drafts(model, engine) == rows);
  }
  model.name = "Qwen3.5-4B";
  engine.own.set(row_key::spec_type, Drafter::ngram);
  CHECK(rows_for_drafts(model, engine) == 0);
}

TEST_CASE("golden: bytes of rows of cells by type, and what is refused") {
  const std::int64_t of_64[] = {128, 128, 256, 68, 48, 44, 40, 36, 36};
  for (const CellType type : all_cell_types) CHECK(cell_row_bytes(type, 64) == of_64[static_cast<std::size_t>(type)]);
  CHECK_THROWS_WITH_AS(cell_row_bytes(CellType::q8_0, 80), doctest::Contains("blocks of 32 elements"), SpecError);
  EngineSpec engine = rows_engine();
  CHECK(cell_types_of(engine).element() == DType::fp16);
  engine.own.set(row_key::cache_type_k, CellType::q4_0);
  engine.own.set(row_key::flash_attn, FlashAttention::off);
  CHECK_FALSE(cell_types_of(engine).element());  // K in blocks needs no flash attention
  engine.own.set(row_key::cache_type_v, CellType::q8_0);
  CHECK_THROWS_WITH_AS(cell_types_of(engine), doctest::Contains("only with flash attention"), SpecError);
  engine.own.reset(row_key::flash_attn);
  const AttentionSpec latent{AttentionKind::mla, 32, 1, 576, 512, 0};
  CHECK_THROWS_WITH_AS(check_cell_types(cell_types_of(engine), latent, engine),
                       doctest::Contains("one latent for both"), SpecError);
  engine = rows_engine();
  engine.kv_dtype = DType::fp8_e4m3;
  CHECK_THROWS_WITH_AS(cell_types_of(engine), doctest::Contains("has no cells of fp8_e4m3"), SpecError);
}

TEST_CASE("golden: bytes of checkpoints and saved prompts of published models") {
  const SequenceBytes next{.state_layers = 36, .row_bytes = 79'036'416, .tokens = {24, 24'576}};
  CHECK(next.checkpoint(8'000) == 79'037'308);
  const SequenceBytes qwen{.state_layers = 45, .row_bytes = 195'379'200, .position_bytes = 24, .tokens = {30, 30'720}};
  CHECK(qwen.prompt(8'000) + 2 * qwen.checkpoint(8'000) == 832'093'300);
  CHECK(qwen.prompt(0) == qwen.checkpoint(0) + 8);
}
