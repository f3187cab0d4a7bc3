// Fields of published configs that change what a delta rule computes.
#include <doctest/doctest.h>

#include "scenarios/hf_config.h"
#include "scenarios/json_tree.h"
#include "scenarios/model_tree.h"
#include "tests/scenarios/scenario_text.h"

namespace hybridkv {
namespace {

using test::error_of;

/// The kind of the recurrent layers that a config gives, as the model file writes it, or the error message.
std::string recurrent_kind(const std::string& config) {
  std::string kind;
  const std::string error = error_of([&] {
    const std::string text =
        model_yaml(import_hf_config(parse_json(config, {"config.json", "", {}}), "x", "config.json"));
    const std::size_t first = text.find("  m: ") + 5;
    kind = text.substr(first, text.find('\n', first) - first);
  });
  return kind.empty() ? error : kind;
}

std::string olmo(const std::string& field) {
  return recurrent_kind("{\"model_type\": \"olmo_hybrid\", \"dtype\": \"bfloat16\", \"num_hidden_layers\": 2, "
                        "\"layer_types\": [\"linear_attention\", \"full_attention\"], \"num_attention_heads\": 2, "
                        "\"num_key_value_heads\": 2, \"head_dim\": 8, \"linear_num_key_heads\": 2, "
                        "\"linear_num_value_heads\": 2, \"linear_key_head_dim\": 8, \"linear_value_head_dim\": 8, "
                        "\"linear_conv_kernel_dim\": 4" + field + "}");
}

std::string bailing(const std::string& field) {
  return recurrent_kind("{\"model_type\": \"bailing_hybrid\", \"dtype\": \"bfloat16\", \"num_hidden_layers\": 4, "
                        "\"layer_group_size\": 4, \"num_attention_heads\": 2, \"head_dim\": 8, \"kv_lora_rank\": 16, "
                        "\"qk_rope_head_dim\": 8, \"short_conv_kernel_size\": 4" + field + "}");
}

std::string kimi(const std::string& field) {
  return recurrent_kind("{\"model_type\": \"kimi_linear\", \"dtype\": \"bfloat16\", \"num_hidden_layers\": 2, "
                        "\"num_attention_heads\": 2, \"kv_lora_rank\": 16, \"qk_rope_head_dim\": 8, "
                        "\"linear_attn_config\": {\"kda_layers\": [1], \"num_heads\": 2, \"head_dim\": 8, "
                        "\"short_conv_kernel_size\": 4" + field + "}}");
}

/// In the spelling of Transformers 5.23, of no class that has defaults.
std::string spelled_anew(const std::string& field) {
  return recurrent_kind("{\"model_type\": \"my_own\", \"dtype\": \"bfloat16\", \"num_hidden_layers\": 2, "
                        "\"layer_types\": [\"linear_attention\", \"full_attention\"], \"num_attention_heads\": 2, "
                        "\"head_dim\": 8, \"linear_num_heads\": 2, \"linear_head_dim\": 8, "
                        "\"linear_conv_kernel_dim\": 4" + field + "}");
}

TEST_CASE("golden: beta of Olmo-hybrid is doubled unless the config forbids negative eigenvalues") {
  const std::string plain =
      "{type: gdn, key_heads: 2, value_heads: 2, key_head_dim: 8, value_head_dim: 8, conv_kernel: 4";
  CHECK(olmo("") == plain + ", doubled_beta: true}");
  CHECK(olmo(", \"linear_allow_neg_eigval\": true") == plain + ", doubled_beta: true}");
  CHECK(olmo(", \"linear_allow_neg_eigval\": false") == plain + "}");
}

TEST_CASE(
    "golden: decays of Ling are limited unless the config turns the safe gate off, those of Kimi where it says so") {
  const std::string plain = "{type: kda, heads: 2, head_dim: 8, conv_kernel: 4";
  CHECK(bailing("") == plain + ", log_decay_limit: 5}");
  CHECK(bailing(", \"kda_safe_gate\": true, \"kda_lower_bound\": -4.5") == plain + ", log_decay_limit: 4.5}");
  CHECK(bailing(", \"kda_safe_gate\": false, \"kda_lower_bound\": -5.0") == plain + "}");
  CHECK(kimi("") == plain + "}");
  CHECK(kimi(", \"gate_lower_bound\": null") == plain + "}");
  CHECK(kimi(", \"gate_lower_bound\": -5.0") == plain + ", log_decay_limit: 5}");
  CHECK(spelled_anew("") == plain + "}");
  CHECK(spelled_anew(", \"linear_lower_bound\": -2.5") == plain + ", log_decay_limit: 2.5}");
}

TEST_CASE("edge: bounds that bound nothing and flags that are none are refused at their place") {
  CHECK(olmo(", \"linear_allow_neg_eigval\": 1").find("linear_allow_neg_eigval: '1' is neither true nor false") !=
        std::string::npos);
  for (const std::string bound : {"5", "0", "-0.0", "\"-5\"", "true", "[-5]"}) {
    CAPTURE(bound);
    CHECK(bailing(", \"kda_lower_bound\": " + bound)
              .find("a number below 0 is expected, the least log of a decay") != std::string::npos);
  }
  CHECK(kimi(", \"gate_lower_bound\": 5").find(": linear_attn_config.gate_lower_bound: 5, where") != std::string::npos);
}

}  // namespace
}  // namespace hybridkv
