#include <doctest/doctest.h>
#include <rapidcheck.h>

#include "scenario_text.h"
#include "scenarios/hf_config.h"
#include "scenarios/json_tree.h"

// Every malformed config gives one error, compared as a whole. Each test changes one line of a config that is right.

namespace hybridkv::test {

namespace {

constexpr std::string_view right_config =
    "{\n"
    "  \"model_type\": \"qwen3_next\",\n"
    "  \"dtype\": \"bfloat16\",\n"
    "  \"num_hidden_layers\": 8,\n"
    "  \"full_attention_interval\": 4,\n"
    "  \"hidden_size\": 64,\n"
    "  \"num_attention_heads\": 8,\n"
    "  \"num_key_value_heads\": 2,\n"
    "  \"head_dim\": 16,\n"
    "  \"linear_num_key_heads\": 2,\n"
    "  \"linear_num_value_heads\": 4,\n"
    "  \"linear_key_head_dim\": 8,\n"
    "  \"linear_value_head_dim\": 8,\n"
    "  \"linear_conv_kernel_dim\": 4\n"
    "}\n";

std::string import_error(std::string_view text) {
  return error_of([&] { import_hf_config(parse_json(text, {"config.json", "", {}}), "x", "config.json"); });
}

/// The config with one text in place of another.
std::string changed(std::string_view old_text, std::string_view new_text) {
  std::string text(right_config);
  const std::size_t at = text.find(old_text);
  REQUIRE(at != std::string::npos);
  return text.replace(at, old_text.size(), new_text);
}

std::string error_after(std::string_view old_text, std::string_view new_text) {
  return import_error(changed(old_text, new_text));
}

/// The message of a place, its line and the caret below it.
std::string message(std::string_view place, std::string_view text, std::string_view line, std::size_t column) {
  return "config.json:" + std::string(place) + ": " + std::string(text) + "\n  " + std::string(line) + "\n  " +
         std::string(column - 1, ' ') + "^";
}

}  // namespace

TEST_CASE("edge: the config that the errors below start from is right") {
  CHECK(import_error(right_config) == "no error");
}

TEST_CASE("edge: configs that name no architecture, or name it in a wrong way") {
  CHECK(error_after("\"model_type\": \"qwen3_next\",", "") ==
        "config.json: names no architecture; looked for model_type, architectures in text_config and at the top");
  CHECK(error_after("\"qwen3_next\"", "7") ==
        message("2:17", "model_type: 7, where a text is expected", "  \"model_type\": 7,", 17));
  CHECK(error_after("\"model_type\": \"qwen3_next\"", "\"architectures\": \"Qwen3NextForCausalLM\"") ==
        message("2:20", "architectures: the text 'Qwen3NextForCausalLM', where a list of texts is expected",
                "  \"architectures\": \"Qwen3NextForCausalLM\",", 20));
}

TEST_CASE("edge: fields that are missing, with the names looked for") {
  CHECK(error_after("\"linear_conv_kernel_dim\": 4", "\"linear_conv_kernel_dim\": null") ==
        "config.json: field 'linear_conv_kernel_dim' is missing: taps of the convolution; looked for "
        "linear_conv_kernel_dim at the top");
  CHECK(
      error_after("\"dtype\": \"bfloat16\",", "") ==
      "config.json: field 'dtype' is missing: element type of the model, \"bfloat16\" for most, which `hybridkv import "
      "CONFIG --dtype bf16 -o FILE` gives; looked for dtype, "
      "torch_dtype at the top");
  const std::string ways_out =
      "; ways out: `hybridkv import CONFIG --as CLASS` reads it as a class of transformers 5.23.0 "
      "(--as llama), and `hybridkv import --template` prints a model file of nine lines to fill in";
  CHECK(import_error(
            "{\"model_type\": \"my_own\", \"dtype\": \"float16\", \"hidden_size\": 64, \"num_hidden_layers\": 2}") ==
        "config.json: field 'num_attention_heads' is missing: query heads; looked for num_attention_heads at the top" +
            ways_out);
  CHECK(import_error("{\"model_type\": \"my_own\", \"dtype\": \"float16\", \"text_config\": {}}") ==
        "config.json: field 'num_hidden_layers' is missing: layers of the model; looked for num_hidden_layers in "
        "text_config and at the top" + ways_out);
  CHECK(import_error(
            "{\"model_type\": \"my_own\", \"dtype\": \"float16\", \"hidden_size\": 64, \"num_hidden_layers\": 2,\n"
            " \"num_attention_heads\": 4,\n \"ssm_width\": 128}") ==
        message(
            "3:2",
            "ssm_width speaks of recurrent layers, but no field says in a known way which layers they are (looked for "
            "layer_types, layers_block_type, …)" +
                ways_out,
            " \"ssm_width\": 128}", 2));
}

TEST_CASE("edge: kinds of cache that are not planned are refused by name") {
  const auto refused = [](const std::string& config) {
    const std::string error = import_error(config);
    return error.substr(error.find("layer_types"));
  };
  CHECK(
      refused("{\"model_type\": \"deepseek_v4\", \"dtype\": \"bfloat16\"}")
          .starts_with("layer_types: layer 0 keeps compressed attention with rings (CSA, HCA), which is not planned"));
  CHECK(refused("{\"model_type\": \"unlimited_ocr\", \"dtype\": \"bfloat16\"}")
            .starts_with(
                "layer_types: layer 0 keeps all of the prompt and a window of the output, which is not planned"));
}

TEST_CASE("edge: a field that is missing in a mapping inside is told at that mapping") {
  CHECK(import_error("{\"model_type\": \"kimi_linear\", \"dtype\": \"bfloat16\", \"num_hidden_layers\": 1,\n"
                     " \"linear_attn_config\": {\"kda_layers\": [1], \"num_heads\": 2, \"head_dim\": 8}}") ==
        message("2:2",
                "field 'linear_attn_config.short_conv_kernel_size' is missing: taps of the convolution; looked for "
                "linear_attn_config.short_conv_kernel_size",
                " \"linear_attn_config\": {\"kda_layers\": [1], \"num_heads\": 2, \"head_dim\": 8}}", 2));
}

TEST_CASE("edge: values that are no counts") {
  const auto error = [](const std::string& value) { return error_after("\"head_dim\": 16", "\"head_dim\": " + value); };
  const auto expected = [](const std::string& text, const std::string& value) {
    return message("9:15", "head_dim: " + text, "  \"head_dim\": " + value + ",", 15);
  };
  const std::string allowed = "; allowed: whole numbers from 1 to 1000000";
  CHECK(error("-16") == expected("-16 is too small" + allowed, "-16"));
  CHECK(error("0") == expected("0 is too small" + allowed, "0"));
  CHECK(error("2000000") == expected("2000000 is too large" + allowed, "2000000"));
  CHECK(error("100000000000000000000000") ==
        expected("'100000000000000000000000' does not fit 64 bits (largest: 9223372036854775807)" + allowed,
                 "100000000000000000000000"));
  CHECK(error("16.0") == expected("'16.0' is not a whole number" + allowed, "16.0"));
  CHECK(error("1e2") == expected("'1e2' is a floating-point number" + allowed, "1e2"));
  CHECK(error("Infinity") == expected("'Infinity' is not a whole number" + allowed, "Infinity"));
  CHECK(error("true") == expected("'true' is not a whole number" + allowed, "true"));
  CHECK(error("\"16\"") == expected("'16' in quotes is text; write a whole number without quotes", "\"16\""));
  CHECK(error("[16]") == expected("a list, where a whole number is expected", "[16]"));
  CHECK(error("{}") == expected("a mapping, where a whole number is expected", "{}"));
}

TEST_CASE("edge: numbers that contradict each other") {
  CHECK(error_after("\"num_key_value_heads\": 2", "\"num_key_value_heads\": 3") ==
        message(
            "7:26",
            "num_attention_heads: 8 query heads are no multiple of 3 K/V heads (num_key_value_heads in line 8); one of "
            "the two is wrong",
            "  \"num_attention_heads\": 8,", 26));
  CHECK(
      error_after("\"linear_num_value_heads\": 4", "\"linear_num_value_heads\": 5") ==
      message("11:29",
              "linear_num_value_heads: 5 value heads are no multiple of 2 key heads (linear_num_key_heads in line 10); "
              "one of the two is wrong",
              "  \"linear_num_value_heads\": 5,", 29));
  CHECK(
      import_error("{\"model_type\": \"olmo_hybrid\", \"dtype\": \"float16\", \"layer_types\": [\"full_attention\"],\n"
                   " \"hidden_size\": 65, \"num_attention_heads\": 8,\n \"num_key_value_heads\": 8}") ==
      message(
          "2:17",
          "hidden_size: 65 channels of attention are no multiple of 8 heads (num_attention_heads in line 2); one of "
          "the two is wrong",
          " \"hidden_size\": 65, \"num_attention_heads\": 8,", 17));
  CHECK(error_after("\"bfloat16\"", "\"bfloat16\", \"torch_dtype\": \"float16\"") ==
        message(
            "3:39",
            "torch_dtype is the text 'float16', but dtype in line 3 is the text 'bfloat16'; both mean the same, so one "
            "is wrong",
            "  \"dtype\": \"bfloat16\", \"torch_dtype\": \"float16\",", 39));
  CHECK(error_after("\"bfloat16\"", "\"int4\"") ==
        message("3:12", "dtype: the text 'int4' is no element type; allowed: bfloat16, float16, float32",
                "  \"dtype\": \"int4\",", 12));
  CHECK(error_after("\"bfloat16\"", "\"bfloat16\", \"mamba_ssm_cache_dtype\": 32") ==
        message("3:49", "mamba_ssm_cache_dtype: 32 is no element type; allowed: bfloat16, float16, float32",
                "  \"dtype\": \"bfloat16\", \"mamba_ssm_cache_dtype\": 32,", 49));
}

TEST_CASE("edge: texts that are no config") {
  CHECK(import_error("[1, 2]") == message("1:1", "a list, where the fields of a config are expected", "[1, 2]", 1));
  CHECK(error_after("\"num_hidden_layers\": 8", "\"dtype\": \"float16\"") ==
        message("4:3", "key 'dtype' is given twice (first in line 3)", "  \"dtype\": \"float16\",", 3));
  CHECK(error_after("\"linear_conv_kernel_dim\": 4\n", "\"linear_conv_kernel_dim\": 4,\n") ==
        message("15:1", "broken JSON: syntax error while parsing object key - unexpected '}'; expected string literal",
                "}", 1));
  CHECK(error_after("\"model_type\"", "\"text_config\": [], \"model_type\"") ==
        message("2:18", "text_config: a list, where the fields of the language model are expected",
                "  \"text_config\": [], \"model_type\": \"qwen3_next\",", 18));
}

TEST_CASE("law: a config with any bytes changed is imported or refused, never anything else") {
  CHECK(rc::check("bytes changed, taken out and put in", [] {
    std::string text(right_config);
    const int edits = *rc::gen::inRange(1, 4);
    for (int i = 0; i < edits; ++i) {
      const std::size_t at = *rc::gen::inRange<std::size_t>(0, text.size());
      const std::string piece =
          *rc::gen::element<std::string>("", "0", "-", "9999999999", "\"", "{", "}", "[", "]", ",", ":", "null", "true",
                                         "1e9", "NaN", "\\", "\n", "\xff", "\x01");
      text.replace(at, *rc::gen::inRange<std::size_t>(0, 12), piece);
    }
    const std::string error = import_error(text);
    RC_ASSERT(error == "no error" || error.starts_with("config.json:"));
  }));
}

}  // namespace hybridkv::test
