#include "scenarios/hf_shape.h"

#include <doctest/doctest.h>

#include <string>

#include "scenarios/json_tree.h"

namespace hybridkv::test {

namespace {

/// Heads of a layer of this config.
std::int64_t heads_of(const std::string& config, std::int64_t layer, bool is_windowed) {
  const YamlNode root = parse_json(config, {"config.json", "", {}});
  const HfFields fields(root);
  const HfShape shape(fields, "");
  return shape.of_layer(layer, 4, is_windowed).number({"num_attention_heads"});
}

}  // namespace

TEST_CASE("golden: a layer has the sizes that the config says of it alone") {
  const std::string config = R"({"num_attention_heads": 8, "per_layer_config": {"02": {"num_attention_heads": 4}}})";
  CHECK(heads_of(config, 1, false) == 8);
  CHECK(heads_of(config, 2, false) == 4);
  CHECK(heads_of(config, 2, true) == 4);
}

TEST_CASE("golden: a layer with a window has the sizes that its class gives such layers") {
  const std::string config = R"({"model_type": "dots3_note_text", "num_attention_heads": 16})";
  CHECK(heads_of(config, 2, true) == 64);
  CHECK(heads_of(config, 2, false) == 16);
  const std::string other = R"({"model_type": "gemma4_text", "head_dim": 32})";
  const YamlNode root = parse_json(other, {"config.json", "", {}});
  const HfFields fields(root);
  const HfShape shape(fields, "");
  CHECK(shape.of_layer(5, 30, false).number({"head_dim"}) == 512);
  CHECK(shape.of_layer(4, 30, true).number({"head_dim"}) == 32);
}

}  // namespace hybridkv::test
