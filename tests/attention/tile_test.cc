#include "attention/tile.h"

#include <doctest/doctest.h>

#include <cmath>

#include "tests/attention/batch.h"

namespace hybridkv::test {
namespace {

/// Two query tokens of a decode after 5 cached ones, blocks of 4, one head.
Batch two_tokens() {
  return random_batch({.query_lens = {2}, .context_lens = {5}, .is_decode = {true}, .block_size = 4,
                       .num_query_heads = 2, .num_kv_heads = 1, .head_size_k = 3, .head_size_v = 3},
                      4);
}

TEST_CASE("golden: a tile holds the visible slots of its blocks in their order, and 0 elsewhere") {
  Batch batch = two_tokens();
  const std::int64_t first = batch.metadata.block(0, 0), second = batch.metadata.block(0, 1);
  const PagedCache cache = lay_out_plain(batch);
  KeyValueTile<float> tile;
  const VisibleBlock blocks[] = {{second, 3}, {first, 4}};
  load_blocks<float>(inputs_of(batch, cache), 0, blocks, tile);
  CHECK(tile.key.rows() == 8);
  for (std::int64_t c = 0; c < 3; ++c) {
    CHECK(tile.key(2, c) == batch.key_slot(second * 4 + 2)[c]);
    CHECK(tile.value(7, c) == batch.value_slot(first * 4 + 3)[c]);
    CHECK(tile.key(3, c) == 0);
    CHECK(tile.value(3, c) == 0);
  }
  load_new_tokens<float>(inputs_of(batch, cache), 0, tile);
  CHECK(tile.key.rows() == 2);
  CHECK(tile.value(1, 2) == batch.value_new[5]);
}

TEST_CASE("golden: queries are scaled, the heads of one KV head side by side") {
  Batch batch = two_tokens();
  batch.scale = 0.5;
  const PagedCache cache = lay_out_plain(batch);
  const RowMatrix<double> queries = load_queries<double>(inputs_of(batch, cache), 0);
  CHECK(queries.rows() == 4);
  CHECK(queries(3, 1) == 0.5 * static_cast<double>(batch.query[3 * 3 + 1]));
}

TEST_CASE("edge: a row of V that is not finite is kept apart and added where it is seen") {
  KeyValueTile<double> tile;
  tile.reset(2, 1, 2);
  const float key[] = {0}, good[] = {1, 2}, bad[] = {INFINITY, 5};
  tile.set_row(0, key, good);
  tile.set_row(1, key, bad);
  CHECK(tile.value.row(1).isZero());
  CHECK(tile.irregular.size() == 1);

  const double masked = -INFINITY;
  const double bias[] = {0, masked, 0, 0};
  RowMatrix<double> queries(2, 1);
  queries.setOnes();
  Partial<double> partial(2, 1, 2);
  TileScratch<double> scratch;
  attend<double>(queries, tile, {0, 2, 2, bias, 2}, 0, scratch, partial);
  const AttentionOutput<double> output = finish(partial);
  CHECK(output.out == std::vector<double>{1, 2, INFINITY, 3.5});
  CHECK(output.lse[0] == 0);
  CHECK(output.lse[1] == doctest::Approx(std::log(2.0)));
}

TEST_CASE("edge: a score that is NaN is the maximum of its row, whatever scores follow: no merge loses it") {
  KeyValueTile<double> tile;
  tile.reset(3, 1, 1);
  const float none[] = {NAN}, one[] = {1};
  tile.set_row(0, one, one);
  tile.set_row(1, none, one);
  tile.set_row(2, one, one);
  const double bias[] = {0, 0, 0};
  RowMatrix<double> queries(1, 1);
  queries.setOnes();
  Partial<double> partial(1, 1, 1);
  TileScratch<double> scratch;
  attend<double>(queries, tile, {0, 1, 3, bias, 3}, 0, scratch, partial);
  CHECK(std::isnan(partial.max[0]));
  CHECK(std::isnan(finish(partial).out[0]));
}

TEST_CASE("tokens that see other keys go through products of their own, and keys that none sees through none") {
  constexpr std::int64_t keys = 48;
  KeyValueTile<double> tile;
  tile.reset(keys, 1, 1);
  std::vector<double> bias(2 * keys, -INFINITY);
  for (std::int64_t key = 0; key < keys; ++key) {
    const float none[] = {0}, value[] = {static_cast<float>(key)};
    tile.set_row(key, none, value);
    // Every third key is the first token's, the next that of the second, the last nobody's.
    if (key % 3 < 2) bias[key % 3 * keys + key] = 0;
  }
  RowMatrix<double> queries(2, 1);
  queries.setOnes();
  Partial<double> partial(2, 1, 1);
  TileScratch<double> scratch;
  attend<double>(queries, tile, {0, 2, keys, bias.data(), keys}, 0, scratch, partial);
  CHECK(finish(partial).out == std::vector<double>{22.5, 23.5});
  CHECK(scratch.scores.size() == keys / 3);
  CHECK(scratch.keys.size() == keys / 3);

  // Two that see the same go together, and where no key lies between, the tile is read in place.
  std::fill(bias.begin(), bias.end(), 0.0);
  TileScratch<double> together;
  Partial<double> all(2, 1, 1);
  attend<double>(queries, tile, {0, 2, keys, bias.data(), keys}, 0, together, all);
  CHECK(finish(all).out == std::vector<double>{23.5, 23.5});
  CHECK(together.scores.size() == 2 * keys);
  CHECK(together.keys.empty());
}

TEST_CASE("golden: the report has what all threads hold together, buffer by buffer") {
  std::vector<TileRoom<double>> rooms(2);
  rooms[0].tile_keys = 4;
  rooms[1].tile_keys = 3;
  rooms[0].scratch = {.scores = {1, 2}, .weighted = {1, 2, 3, 4, 5}, .keys = {1}, .values = {}};
  rooms[1].scratch = {.scores = {1}, .weighted = {1, 2, 3}, .keys = {1, 2, 3}, .values = {}};
  MemoryReport memory;
  note_scratch<double>(rooms, 5, 6, memory);
  // Elements of 8 bytes: of 7 keys with 5 channels of K and 6 of V, 2 + 1 scores, 5 + 3 weighted values, 1 + 3 of K in
  // a row. What no thread has is left out.
  CHECK(memory.scratch == std::vector<Allocation>{{"key_tile", {7, 5}, 280},
                                                  {"value_tile", {7, 6}, 336},
                                                  {"scores", {3}, 24},
                                                  {"weighted_values", {8}, 64},
                                                  {"keys_in_a_row", {4}, 32}});
}

}  // namespace
}  // namespace hybridkv::test
