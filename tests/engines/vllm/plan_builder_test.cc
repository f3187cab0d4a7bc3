#include "engines/vllm/plan_builder.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "base/npy.h"
#include "base/output_file.h"
#include "planner/allocated_tensors.h"
#include "planner/plan.h"
#include "tests/planner/at_32k.h"
#include "tests/planner/models.h"
#include "tests/planner/packed_engine.h"
#include "tests/scratch_folder.h"

using namespace hybridkv;
using namespace hybridkv::testing;
namespace fs = std::filesystem;

namespace {

std::vector<EmittedFile> emitted(const EngineSpec& engine, const ModelSpec& model = qwen35_397b()) {
  const CachePlan plan = make_plan(model, engine, at_32k, {}, PlanDetail::numbers);
  return emit_vllm_builder({plan, model, engine, "hybridkv emit", EmitParts::module, {}});
}

/// The plan inside the module.
nlohmann::json plan_in(const std::string& module) {
  const std::size_t begin = module.find("r\"\"\"\n") + 5;
  return nlohmann::json::parse(module.substr(begin, module.find("\n\"\"\"", begin) - begin));
}

}  // namespace

TEST_CASE("law: the module holds the plan: its specs, groups and tensors") {
  for (const std::int64_t pack : {1, 3, 4, 5}) {
    CAPTURE(pack);
    const CachePlan plan = make_plan(qwen35_397b(), packed_engine(pack), at_32k);
    const nlohmann::json written = plan_in(emitted(packed_engine(pack)).front().text);
    CHECK(written["version"] == "0.33.0");
    CHECK(written["block_bytes"] == plan.arenas.front().bytes_per_id);
    CHECK(written["num_blocks"] == plan.num_blocks());
    REQUIRE(written["groups"].size() == plan.groups.size());
    for (std::size_t i = 0; i < plan.groups.size(); ++i) {
      const nlohmann::json& spec = written["specs"][written["groups"][i]["spec"].get<std::size_t>()];
      std::vector<std::int64_t> layers;
      for (const nlohmann::json& at : written["groups"][i]["layers"])
        layers.push_back(spec["layers"][at.get<std::size_t>()]);
      CHECK(layers == plan.groups[i].layers());
    }
    const std::vector<AllocatedTensor> tensors = allocated_tensors(plan);
    REQUIRE(written["tensors"].size() == tensors.size());
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      const nlohmann::json& one = written["tensors"][i];
      CHECK(one["block_stride"] == tensors[i].block_stride);
      CHECK(one["layer_stride"].get<std::int64_t>() +
                one["layer_stride_per_block"].get<std::int64_t>() * plan.num_blocks() ==
            tensors[i].layer_stride);
    }
  }
}

TEST_CASE("no word of a template is left in what is written") {
  const std::vector<EmittedFile> files = emitted(packed_engine(3));
  CHECK(files.size() == 4);
  for (const EmittedFile& file : files)
    for (const char* word :
         {"@VERSION@", "@PLAN@", "@MADE_BY@", "@MODEL@", "@ORDER@", "@BACKENDS@", "@KERNELS@", "@STEPS@"})
      CHECK_MESSAGE(file.text.find(word) == std::string::npos, file.path, ": ", word);
}

TEST_CASE("law: cases of a package hold the plan's strides in six blocks, and attention of every layer of a group") {
  for (const CacheOrder order : {CacheOrder::blnhc, CacheOrder::blhnc, CacheOrder::lbnhc}) {
    EngineSpec engine = packed_engine(is_block_outermost(order) ? 5 : 1);
    engine.cache_order = order;
    CAPTURE(to_string(order));
    const CachePlan plan = make_plan(qwen35_397b(), engine, at_32k);
    const auto package = [&] {
      return emit_vllm_builder({plan, qwen35_397b(), engine, "hybridkv emit", EmitParts::package, {}});
    };
    const std::vector<EmittedFile> files = package(), again = package();
    REQUIRE(files.size() == again.size());
    const ScratchFolder scratch;
    std::map<std::string, NpyArray> arrays;
    for (std::size_t i = 0; i < files.size(); ++i) {
      CHECK(files[i].text == again[i].text);
      if (!files[i].path.ends_with(".npy")) continue;
      const fs::path file = scratch.path / fs::path(files[i].path).filename();
      write_file(file, files[i].text);
      arrays[file.filename().string()] = read_npy(file);
    }
    const std::vector<std::int64_t> rows = arrays.at("views.npy").integers();
    CHECK(arrays.at("views.npy").shape == std::vector<std::int64_t>{60, 6});
    for (const ViewPlan& view : plan.views) {
      if (view.tensor == "ssm") continue;  // lies in the page of conv
      std::size_t row = 0;
      while (rows[row] != view.layer) row += 6;
      CHECK(rows[row + 2] == view.bytes.stride("block"));
      CHECK(rows[row + 1] * (is_block_outermost(order) ? 1 : plan.num_blocks()) ==
            view.bytes.offset() * (is_block_outermost(order) ? 1 : 6));
    }
    CHECK(arrays.at("out.npy").shape == std::vector<std::int64_t>{15, 3, 16, 256});
    // A request of one token has that token's V.
    const auto out = arrays.at("out.npy").values<float>(), v = arrays.at("v.npy").values<float>();
    for (std::size_t layer = 0; layer < 15; ++layer)
      CHECK(out[layer * 3 * 16 * 256 + 7] == doctest::Approx(v[layer * 5 % 61 * 256 + 7]));
  }
}

TEST_CASE("golden: in cases of latents V is the front of every row of K") {
  ModelSpec model;
  LayerSpec layer;
  layer.attention = latent_attention(512, 64);
  model.layers.assign(4, layer);
  const EngineSpec engine = packed_engine(1);
  const CachePlan plan = make_plan(model, engine, at_32k);
  const ScratchFolder scratch;
  std::map<std::string, NpyArray> arrays;
  for (const EmittedFile& file : emit_vllm_builder({plan, model, engine, "hybridkv emit", EmitParts::package, {}})) {
    const std::string name = fs::path(file.path).filename().string();
    if (name != "k.npy" && name != "v.npy") continue;
    write_file(scratch.path / name, file.text);
    arrays[name] = read_npy(scratch.path / name);
  }
  const auto keys = arrays.at("k.npy").values<float>(), values = arrays.at("v.npy").values<float>();
  REQUIRE(keys.size() == 61 * (512 + 64));
  REQUIRE(values.size() == 61 * 512);
  for (std::int64_t row = 0; row < 61; ++row)
    CHECK(std::equal(values.begin() + row * 512, values.begin() + (row + 1) * 512, keys.begin() + row * (512 + 64)));
}

TEST_CASE("golden: the README says which backends take order and blocks, and what the strides do to kernels") {
  const auto readme = [](const EngineSpec& engine, std::vector<KernelFit> kernels) {
    const CachePlan plan = make_plan(qwen35_397b(), engine, at_32k, {}, PlanDetail::numbers);
    return emit_vllm_builder({plan, qwen35_397b(), engine, "hybridkv emit", EmitParts::module, std::move(kernels)})
        .back().text;
  };
  EngineSpec engine = packed_engine(5);
  const std::string packed = readme(engine, {{"vllm.reader 0.33.0", KernelVerdict::fits, {"it takes every stride"}},
                                             {"vllm.other 0.33.0", KernelVerdict::not_used, {"no view"}},
                                             {"torch.reader 2.14.0", KernelVerdict::fits, {"it takes every stride"}}});
  for (const char* line : {"| FlashAttention | sm90 | declared | takes 448 (multiples of 16) |",
                           "| FlashInfer | sm90-flashinfer | declared | **no**: 448 in place of 16, 32, 64, and blocks "
                           "that do not follow each other are not split |",
                           "| CPU attention | cpu | **no**: LBHNC | takes 448 (multiples of 32) |",
                           "- vllm.reader 0.33.0 fits: it takes every stride\n\n",
                           "6881280 bytes from one block of a layer to the next, 458752 from one layer to the next"})
    CHECK_MESSAGE(packed.find(line) != std::string::npos, packed);
  CHECK(packed.find("vllm.other") == std::string::npos);
  CHECK(packed.find("torch.reader") == std::string::npos);
  engine = packed_engine(1);
  engine.cache_order = CacheOrder::lbnhc;
  const std::string whole = readme(engine, {});
  CHECK_MESSAGE(whole.find("| FlashInfer | sm90-flashinfer | declared | splits 2112 (16, 32, 64) |") !=
                std::string::npos, whole);
  CHECK(whole.find("- None was checked.") != std::string::npos);
}

TEST_CASE("message: what the builder of an engine cannot make is refused, with what can") {
  EngineSpec engine = packed_engine(1);
  engine.pipeline_parallel = 2;
  CHECK_THROWS_WITH_AS(emitted(engine),
                       "no builder is written of this plan: it is that of one of several stages; take "
                       "engine.pipeline_parallel 1",
                       InputError);
  ModelSpec attention_alone;
  LayerSpec layer;
  layer.attention = full_attention(2, 128, 16);
  attention_alone.layers.assign(15, layer);
  CHECK_NOTHROW(emitted(packed_engine(5), attention_alone));
  CHECK_THROWS_WITH_AS(emitted(packed_engine(4), attention_alone),
                       doctest::Contains("a pack with fewer than 4 layers makes its blocks wider than the engine's"),
                       InputError);
  engine = packed_engine(1);
  engine.strategy = Strategy::dual_pool;
  CHECK_THROWS_WITH_AS(emitted(engine),
                       "no builder is written of this plan: its layers lie in several pools; leave engine.strategy out",
                       InputError);
}
