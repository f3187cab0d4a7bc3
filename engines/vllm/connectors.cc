#include "engines/vllm/connectors.h"

#include <fmt/format.h>

#include "base/checked.h"
#include "base/number_text.h"
#include "base/shell_word.h"
#include "simulator/blocks/plan_geometry.h"

namespace hybridkv {

namespace {

/// A server's own choice where nothing asks for a longer chunk.
constexpr std::int64_t usual_chunk_tokens = 256;

std::int64_t whole_gib(std::int64_t bytes) { return ceil_div(bytes, std::int64_t{1} << 30); }

/// What every recipe is made of.
struct Connected {
  const Served& served;
  const CacheGeometry& geometry;
  const ConnectorCommand& command;

  bool has_states() const { return geometry.state_groups > 0; }
  std::int64_t budget() const { return served.engine.max_num_batched_tokens; }
  std::int64_t pool_gib() const {
    return whole_gib(Checked(served.engine.memory_bytes) * served.engine.tensor_parallel *
                     served.engine.pipeline_parallel);
  }
};

std::string transfer_words(const char* connector) {
  return "--kv-transfer-config " +
         shell_word(fmt::format(R"({{"kv_connector":"{}","kv_role":"kv_both"}})", connector));
}

std::string room_sentence(const char* what, std::int64_t gib) {
  return fmt::format("{} is what the pools of all GPUs hold, {} GiB; how much the host has is yours to say.", what,
                     gib);
}

/// Two connectors ask the engine for an order of pages of their own.
void say_order(const Connected& of, std::vector<std::string>& beside) {
  const std::optional<CacheOrder>& planned = of.served.plan.cache_order;
  if (planned && *planned != CacheOrder::lbhnc)
    beside.push_back(fmt::format("It has the engine take LBHNC instead of the {} planned here: plan with "
                                 "engine.physical_order: LBHNC.", to_string(*planned)));
}

ServeRecipe offloading(const Connected& of) {
  ServeRecipe recipe{"The engine's own offloading to the host", {}, {}};
  recipe.commands.push_back(of.command({.max_num_batched_tokens = of.budget(),
                                        .words = fmt::format("--kv-offloading-size {}", of.pool_gib())}));
  recipe.beside.push_back(room_sentence("--kv-offloading-size", of.pool_gib()));
  recipe.beside.push_back("A chunk of it is one block of each group; blocks_per_chunk in its extra configuration "
                          "makes it longer.");
  say_order(of, recipe.beside);
  return recipe;
}

ServeRecipe lmcache(const Connected& of) {
  ServeRecipe recipe{"LMCache, a server beside the engine", {}, {}};
  const std::int64_t blocks = of.geometry.common_multiple();
  const std::int64_t chunk = round_up(usual_chunk_tokens, blocks);
  recipe.commands.push_back(fmt::format("lmcache server --chunk-size {}{} --l1-size-gb {} --eviction-policy LRU", chunk,
                                        of.has_states() ? " --separate-object-groups" : "", of.pool_gib()));
  recipe.beside.push_back(fmt::format("A chunk is a multiple of {}, which the block of every group divides; another is "
                                      "refused when the engine registers.", human_count(blocks)));
  std::int64_t budget = of.budget();
  if (of.has_states()) {
    const std::int64_t block = of.geometry.state_block();
    budget = Checked(block) * 2 - 1;
    recipe.beside.push_back(fmt::format(
        "A step's budget lies from one block of states to below two, {} to {}: a state is stored where a step ends, "
        "so that every step of a prompt is one block.",
        human_count(block), human_count(budget)));
    recipe.beside.push_back("States are objects of their own (--separate-object-groups), since only some blocks have "
                            "one.");
  }
  recipe.beside.push_back(room_sentence("--l1-size-gb", of.pool_gib()));
  recipe.commands.push_back(
      of.command({.max_num_batched_tokens = budget, .words = transfer_words("LMCacheMPConnector")}));
  return recipe;
}

ServeRecipe mooncake(const Connected& of) {
  ServeRecipe recipe{"Mooncake's store, shared by engines", {"mooncake_master --port 50051"}, {}};
  const std::int64_t rank_gib = whole_gib(of.served.engine.memory_bytes);
  const std::string settings = fmt::format(
      R"({{"metadata_server":"P2PHANDSHAKE","master_server_address":"127.0.0.1:50051","global_segment_size":"{}GB",)"
      R"("local_buffer_size":"4GB","protocol":"rdma","device_name":""}})",
      rank_gib);
  recipe.commands.push_back("echo " + shell_word(settings) + " > mooncake.json");
  recipe.commands.push_back(of.command({.max_num_batched_tokens = of.budget(),
                                        .words = transfer_words("MooncakeStoreConnector"),
                                        .environment = "MOONCAKE_CONFIG_PATH=mooncake.json "}));
  recipe.beside.push_back(fmt::format("global_segment_size is of each rank: what its pool holds, {} GB; without RDMA "
                                      "the protocol is tcp.", rank_gib));
  if (of.has_states()) recipe.beside.push_back("It takes mode align alone, and no prefill context parallelism.");
  return recipe;
}

ServeRecipe nixl(const Connected& of) {
  ServeRecipe recipe{"NIXL, from an engine that prefills to one that decodes", {}, {}};
  recipe.commands.push_back(of.command({.max_num_batched_tokens = of.budget(),
                                        .states_dimension_first = of.has_states(),
                                        .words = transfer_words("NixlConnector")}));
  recipe.beside.push_back("Both engines are started so; `hybridkv transfer` counts what moves between them.");
  if (of.has_states())
    recipe.beside.push_back("The convolution's states lie with their dimension first, so that a rank's part of them is "
                            "one run of bytes.");
  say_order(of, recipe.beside);
  return recipe;
}

}  // namespace

std::vector<ServeRecipe> connector_recipes(const Served& served, const ConnectorCommand& command) {
  // Other modes keep states where no store looks for them, and of earlier releases no package was read.
  if (!served.plan.rules->caches_by_default || served.plan.cache_mode == CacheMode::all) return {};
  const CacheGeometry geometry = geometry_of(served.plan, served.engine);
  if (!geometry.caches_prefixes()) return {};
  const Connected of{served, geometry, command};
  std::vector<ServeRecipe> recipes{offloading(of), lmcache(of), mooncake(of), nixl(of)};
  // Each of them is a connector.
  if (served.engine.speculative_tokens > 0)
    for (ServeRecipe& recipe : recipes)
      recipe.beside.push_back("With a connector the last block of a hit is dropped for the drafter, where it is not "
                              "without one: hits are one match unit shorter than planned here.");
  return recipes;
}

}  // namespace hybridkv
