#include "report/models_report.h"

#include <doctest/doctest.h>

using namespace hybridkv;

namespace {

/// A model of one gdn layer and one layer of attention: a1 = 2 * (4 + 4) * 2 = 32 bytes, M = conv 1 x 24 bf16 and ssm
/// 2 x 4 x 4 fp32 = 48 + 128 = 176 bytes, B = 16 * ceil(176 / (16 * 32)) = 16 tokens, P = 512, padding 190.91 %.
ShippedModel small_model() {
  ShippedModel shipped;
  shipped.model.name = "small";
  shipped.model.source = "made up";
  shipped.model.ssm_dtype = DType::fp32;
  LayerSpec recurrent, attention;
  recurrent.recurrent =
      GdnSpec{.key_heads = 2, .value_heads = 2, .key_head_dim = 4, .value_head_dim = 4, .conv_kernel = 2};
  attention.attention = AttentionSpec{.query_heads = 2, .kv_heads = 2, .head_size_k = 4, .head_size_v = 4};
  shipped.model.layers = {recurrent, attention};
  return shipped;
}

/// The same without recurrent layers, not all of it confirmed.
ShippedModel attention_only() {
  ShippedModel shipped = small_model();
  shipped.model.name = "attention-only";
  shipped.model.layers.erase(shipped.model.layers.begin());
  shipped.model.layer_order_verified = false;
  shipped.aliases = {"other", "another"};
  shipped.unverified = {"query heads"};
  return shipped;
}

}  // namespace

TEST_CASE("golden: the list of models for people, worked by hand") {
  const std::vector<ListedModel> models{listed(small_model()), listed(attention_only())};
  const std::string text = render_models(models, Format::markdown);
  CHECK(text.starts_with("| model | layers | params all | params active | a1 bytes | M bytes | block tokens | pad | "
                         "not verified |\n"
                         "| :-- | :-- | --: | --: | --: | --: | --: | --: | :-- |\n"
                         "| small | 1 full + 1 gdn |  |  | 32 | 176 | 16 | 190.91 % |  |\n"
                         "| attention-only | 1 full |  |  | 32 |  | 16 |  | layer order +1 |\n"
                         "\n"
                         "On one rank, without any flag, by the rules of vLLM main of June 2026 with PR 35703: a1 is"));
  CHECK(text.find("csv and json name all of it, and every source.\n") != std::string::npos);
  CHECK(text.find("also other, another") != std::string::npos);
  CHECK(text.find("so that boot needs --weights, of small, attention-only: ") != std::string::npos);
  CHECK(text.find("Left out") == std::string::npos);
}

TEST_CASE("rule: a terminal that is too narrow loses columns, and is told which, before rows are broken in two") {
  ShippedModel counted = small_model();
  counted.model.parameters.emplace();
  const std::vector<ListedModel> models{listed(counted), listed(attention_only())};
  const auto text = [&](int width) { return render_models(models, Format::table, {.width = width}); };
  const auto count = [](const std::string& all, const std::string& part) {
    std::size_t times = 0;
    for (std::size_t at = all.find(part); at != std::string::npos; at = all.find(part, at + 1)) ++times;
    return times;
  };
  CHECK(count(text(100), "not verified\n") == 1);
  CHECK(count(text(100), "Left out") == 0);
  for (const int width : {50, 60, 75}) CHECK(count(text(width), "\nsmall ") == 1);
  CHECK(count(text(80), "Left out, as the terminal is too narrow: what is not verified.") == 1);
  CHECK(count(text(50), "active parameters, padding, block") == 1);
}

TEST_CASE("golden: the list of models for programs") {
  const std::vector<ListedModel> models{listed(small_model()), listed(attention_only())};
  CHECK(render_models(models, Format::csv) ==
        "model,family,parameters,active_parameters,attention_layers,attention_kind,recurrent_layers,bytes_per_token,"
        "state_bytes,block_size_tokens,"
        "padding_percent,verified,unverified,aliases,source\n"
        "small,gdn,,,1,full_attention,1,32,176,16,190.9090909090909,true,,,made up\n"
        "attention-only,,,,1,full_attention,0,32,,16,,false,\"layer order, query heads\",\"other, another\",made up\n");
}
