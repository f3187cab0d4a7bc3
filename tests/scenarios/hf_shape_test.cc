#include "scenarios/hf_shape.h"

#include <doctest/doctest.h>

#include <optional>
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

std::optional<std::int64_t> count_of(const std::string& value) {
  return hf_count(*parse_json("{\"size\": " + value + "}", {"config.json", "", {}}).find("size"));
}

}  // namespace

TEST_CASE("edge: a size is a whole number from 0 to a billion, perhaps written as a decimal") {
  CHECK(count_of("0") == 0);
  CHECK(count_of("12.0") == 12);
  CHECK(count_of("1000000000") == 1'000'000'000);
  for (const char* const none : {"-1", "12.5", "1000000001", "true", "\"12\"", "[12]"}) {
    CAPTURE(none);
    CHECK_FALSE(count_of(none).has_value());
  }
}

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
