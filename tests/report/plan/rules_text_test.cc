#include "report/plan/rules_text.h"

#include <doctest/doctest.h>

#include "engines/vllm/rules.h"

using namespace hybridkv;

TEST_CASE("golden: the header says whose rules these are") {
  CHECK(rules_text(rules_of_vllm_2026_06, std::nullopt) == "vLLM main of June 2026 with PR 35703");
  CHECK(rules_text(rules_of_vllm_0_33, BackendProfile::sm90) == "vLLM 0.33.0, backends of sm90 (FlashAttention)");
  EngineSpec engine{.rules = &rules_of_vllm_0_33, .attention_pack_size = 5};
  CHECK(rules_text(engine) == "vLLM 0.33.0; N = 5: with a builder of ours");
  engine.attention_pack_size = 2;
  CHECK(rules_text(engine) == "vLLM 0.33.0; N = 2: with a builder of ours");
  engine.attention_pack_size = 1;
  CHECK(rules_text(engine) == "vLLM 0.33.0");
  engine = {.rules = &rules_of_vllm_2026_06, .attention_pack_size = 5};
  CHECK(rules_text(engine) == "vLLM main of June 2026 with PR 35703");
}

TEST_CASE("golden: a line says what another release would print, or refuse") {
  ReleaseGlance glance;
  glance.mode = CacheMode::align;
  glance.block_tokens = 2112;
  glance.capacity.max_model_len = 32'768;
  glance.capacity.blocks_per_request = 25;
  glance.capacity.max_concurrency = 52.92;
  glance.capacity.kv_cache_tokens = 1'734'082;
  CHECK(glance_text(glance) ==
        "would print blocks of 2,112 tokens, 52.92 requests of 32,768 tokens at once and 1,734,082 KV cache tokens, 25 "
        "block ids a request; mode align, profile sm90");
  glance.mode.reset();
  CHECK(glance_text(glance).ends_with("a request; profile sm90"));
  glance.refusal = "no mode all";
  CHECK(glance_text(glance) == "would refuse: no mode all");
}
