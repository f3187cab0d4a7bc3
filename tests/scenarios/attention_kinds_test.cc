// What kinds of attention keep beside K and V, as model files write it.
#include <doctest/doctest.h>

#include <optional>

#include "scenario_text.h"

namespace hybridkv::test {

namespace {

/// A model of kinds a (nothing said of an indexer), i (its own), o (none) and L (a latent with its own).
std::string sparse_text(std::string_view lines) {
  return "model:\n  name: x\n  kinds:\n"
         "    a: {type: full_attention, query_heads: 8, kv_heads: 2, head_size: 64}\n"
         "    i: {type: full_attention, query_heads: 8, kv_heads: 2, head_size: 64, indexer_bytes_per_entry: 132, "
         "indexer_tokens_per_entry: 16}\n"
         "    o: {type: full_attention, query_heads: 8, kv_heads: 2, head_size: 64, indexer_bytes_per_entry: 0}\n"
         "    L: {type: mla, query_heads: 8, kv_lora_rank: 64, indexer_bytes_per_entry: 64}\n" +
         std::string(lines) + "\nengine: {memory: 40 GiB}\nlimits: {max_model_len: 32768}\n";
}

using Indexers = std::vector<std::optional<IndexerSpec>>;

Indexers indexers_of(std::string_view lines) {
  Indexers all;
  for (const LayerSpec& layer : read_text_as_scenario(sparse_text(lines)).model.layers)
    all.push_back(layer.attention->indexer);
  return all;
}

}  // namespace

TEST_CASE("golden: a kind says what its indexer keeps, the model's key speaks for those that do not") {
  const IndexerSpec own{132, 16}, latent{64, 1};
  CHECK(indexers_of("  layers: aioL") == Indexers{std::nullopt, own, std::nullopt, latent});
  CHECK(indexers_of("  layers: aioL\n  indexer_bytes_per_token: 33") ==
        Indexers{IndexerSpec{33, 1}, own, std::nullopt, latent});
}

TEST_CASE("golden: MTP layers have the indexer of their kind") {
  CHECK_FALSE(read_text_as_scenario(sparse_text("  layers: ai")).model.mtp);
  CHECK(read_text_as_scenario(sparse_text("  layers: ai\n  mtp: i")).model.mtp->indexer == IndexerSpec{132, 16});
  CHECK_FALSE(read_text_as_scenario(sparse_text("  layers: ai\n  mtp: o\n  indexer_bytes_per_token: 33"))
                  .model.mtp->indexer);
}

TEST_CASE("edge: tokens that share an entry of unknown bytes are refused, and so are entries without tokens") {
  const auto message = [](std::string_view keys) {
    return reading_error(model_text("    i: {type: mla, query_heads: 8, kv_lora_rank: 64, " + std::string(keys) +
                                    "}\n  layers: i"));
  };
  CHECK(message("indexer_tokens_per_entry: 4").find("model.kinds.i.indexer_tokens_per_entry: goes with "
                                                    "indexer_bytes_per_entry; give both") != std::string::npos);
  CHECK(message("indexer_bytes_per_entry: 8, indexer_tokens_per_entry: 0").find("0 is too small") !=
        std::string::npos);
}

}  // namespace hybridkv::test
