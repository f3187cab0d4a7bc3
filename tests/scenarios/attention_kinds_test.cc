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

TEST_CASE("golden: a kind that shares reads the last earlier layer of the kind that it names") {
  const ModelSpec model = read_text_as_scenario(model_text("    s: {type: shared_kv, query_heads: 4, of: a}\n"
                                                           "    S: {type: shared_kv, query_heads: 8, of: a, "
                                                           "indexer_bytes_per_entry: 64}\n"
                                                           "  layers: \"a m a s S s+m\"")).model;
  REQUIRE(model.layers.size() == 6);
  CHECK(model.layers[3] == LayerSpec{.shared = SharedKv{2, 4, std::nullopt}});
  CHECK(model.layers[4] == LayerSpec{.shared = SharedKv{2, 8, IndexerSpec{64, 1}}});
  CHECK(model.layers[5].shared->source == 2);
  CHECK(model.layers[5].recurrent);
}

TEST_CASE("edge: a kind reads one with K and V, of which there is an earlier layer") {
  const auto message = [](std::string_view of, std::string_view layers) {
    return reading_error(model_text("    s: {type: shared_kv, query_heads: 8, of: " + std::string(of) +
                                    "}\n  layers: " + std::string(layers)));
  };
  CHECK(message("m", "ams").find("model.kinds.s.of: 'm' is no kind with K and V of its own; these have them: a") !=
        std::string::npos);
  CHECK(message("q", "as").find("'q' is no kind with K and V of its own") != std::string::npos);
  CHECK(message("a", "msa").find("'s' reads the K and V of 'a', and no earlier layer is one") != std::string::npos);
  CHECK(message("a", "a+s").find("'+' joins one kind of attention, one of cross attention and a recurrent one") !=
        std::string::npos);
}

TEST_CASE("golden: a latent may have a window") {
  const ModelSpec model = read_text_as_scenario(model_text("    L: {type: mla, query_heads: 8, kv_lora_rank: 64, "
                                                           "window_tokens: 128}\n  layers: aL")).model;
  CHECK(model.layers[1].attention->kind == AttentionKind::mla);
  CHECK(model.layers[1].attention->window_tokens == 128);
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
