#include "attention/kv_codec.h"
#include "base/error.h"
#include "engines/llama_cpp/rules.h"
#include "engines/sglang/rules.h"
#include "engines/tensorrt_llm/rules.h"
#include "engines/vllm/rules.h"
#include "tests/verify/transfer/transfer_pairs.h"

namespace hybridkv::testing {

namespace {

constexpr std::pair<std::int64_t, std::int64_t> rank_pairs[] = {{1, 2}, {2, 1}, {2, 4}, {4, 1}, {8, 2}, {2, 8}};

void prove_both_ways(TransferPair pair) {
  require_proven(pair);
  std::swap(pair.from, pair.to);
  require_proven(pair);
}

AttentionSpec of_kind(AttentionSpec layer, AttentionKind kind, std::int64_t window_tokens = 0) {
  layer.kind = kind;
  layer.window_tokens = window_tokens;
  return layer;
}

}  // namespace

TEST_CASE("transfer proof: recurrent layers of every family, between one and eight ranks") {
  const std::pair<const char*, RecurrentSpec> families[] = {
      {"gdn", GdnSpec{.key_heads = 8, .value_heads = 16, .key_head_dim = 8, .value_head_dim = 4, .conv_kernel = 4}},
      {"mamba2, a group a rank or more", Mamba2Spec{.heads = 16, .head_dim = 4, .state_size = 8, .groups = 8}},
      {"mamba2, groups of which ranks keep copies", Mamba2Spec{.heads = 16, .head_dim = 4, .state_size = 8,
                                                               .groups = 2}},
      {"mamba2, one group", Mamba2Spec{.heads = 16, .head_dim = 4, .state_size = 8, .groups = 1}},
      {"mamba1", Mamba1Spec{.inner_size = 48, .state_size = 4, .conv_kernel = 3}},
      {"kda", KdaSpec{.heads = 8, .head_dim = 8}},
      {"kda with rows of drafts", KdaSpec{.heads = 8, .head_dim = 8, .conv_holds_drafts = true}},
      {"short_conv", ShortConvSpec{.channels = 64}},
      {"short_conv of all ranks", ShortConvSpec{.channels = 64, .replicated = true}},
      {"linear", LinearAttentionSpec{.heads = 8, .head_dim = 8}},
      {"rg_lru", RgLruSpec{.lru_width = 32, .heads = 8}},
      {"rwkv4", Rwkv4Spec{.hidden_size = 12, .attention_size = 16}},
      {"rwkv 7", RwkvSpec{.version = 7, .hidden_size = 12, .heads = 8, .head_dim = 4}},
      {"cca", CcaSpec{.query_heads = 16, .kv_heads = 8, .head_dim = 4, .delayed_size = 6}},
      {"stream_convs", StreamConvsSpec{.kv_heads = 8, .head_dim = 4, .hidden_size = 16}},
      {"stream_convs scattered", StreamConvsSpec{.kv_heads = 8, .head_dim = 4, .hidden_size = 16, .scattered = true}},
      {"xlstm", XlstmSpec{.heads = 8, .key_head_dim = 4, .value_head_dim = 6}},
      {"a convolution of one tap", GdnSpec{.key_heads = 8, .value_heads = 8, .key_head_dim = 8, .value_head_dim = 4,
                                           .conv_kernel = 1}}};
  for (const auto& [name, family] : families)
    for (const auto& [from, to] : rank_pairs) {
      CAPTURE(name);
      CAPTURE(from);
      CAPTURE(to);
      // Other drafts on each side make other convolution states, of which the same steps are live.
      require_proven({small_hybrid(family, full_attention(2, 8, 16)),
                      small_engine(from, [](EngineSpec& engine) { engine.speculative_tokens = 2; }), small_engine(to),
                      150});
    }
}

TEST_CASE("transfer proof: convolution states with the channels outside, moved and turned") {
  const auto outside = [](EngineSpec& engine) { engine.conv_state_layout = ConvStateLayout::ds; };
  TransferPair pair{small_hybrid(small_gdn), small_engine(1, outside), small_engine(4, outside), 150};
  prove_both_ways(pair);
  pair.to = small_engine(4);
  pair.options.exchanges_axes = true;
  prove_both_ways(pair);
  // A state in several small pages.
  const auto in_pieces = [&](EngineSpec& engine) {
    outside(engine);
    engine.strategy = Strategy::small_pages;
  };
  pair.from = small_engine(1, in_pieces);
  prove_both_ways(pair);
}

TEST_CASE("transfer proof: every kind of attention") {
  const AttentionSpec heads = full_attention(4, 16, 8);
  const AttentionSpec latent{.kind = AttentionKind::mla, .query_heads = 8, .kv_heads = 1, .head_size_k = 40,
                             .head_size_v = 32};
  for (const auto& attention :
       {heads, latent, of_kind(heads, AttentionKind::sliding_window, 50),
        of_kind(heads, AttentionKind::chunked_local, 64), full_attention(4, 16)})
    for (const auto& [from, to] : rank_pairs) {
      CAPTURE(to_string(attention.kind));
      CAPTURE(from);
      CAPTURE(to);
      for (const std::int64_t tokens : {1, 128, 150}) {
        CAPTURE(tokens);
        require_proven({small_hybrid(small_gdn_of_8, attention), small_engine(from), small_engine(to), tokens});
      }
    }
  // A window and all tokens side by side.
  ModelSpec mixed = small_hybrid(small_gdn, heads);
  for (std::size_t layer = 1; layer < mixed.layers.size(); layer += 4)
    mixed.layers[layer].attention = of_kind(heads, AttentionKind::sliding_window, 48);
  prove_both_ways({mixed, small_engine(2), small_engine(4), 301});
}

TEST_CASE("transfer proof: a latent of a single channel, whose layout names no neighbour, goes on as well") {
  const AttentionSpec latent{.kind = AttentionKind::mla, .query_heads = 8, .kv_heads = 1, .head_size_k = 1,
                             .head_size_v = 1};
  const ModelSpec model = hybrid_model("latents", 4, latent, small_gdn, [](std::int64_t) { return true; });
  const auto in_one_allocation = [](EngineSpec& engine) {
    engine.rules = &rules_of_vllm_0_33;
    engine.cache_order = CacheOrder::lbnhc;
  };
  const TransferProof proof =
      prove({model, small_engine(2, in_one_allocation), small_engine(4, in_one_allocation), 150});
  CHECK(proof.passed());
  const CheckResult& attention = check_named(proof, "attention-continued");
  CHECK(attention.status == CheckStatus::passed);
  CHECK(attention.count == 4 * 8);  // of one new token four layers have eight heads of one channel
}

TEST_CASE("transfer proof: backend forms, physical orders and packs that differ") {
  const std::pair<BackendForm, PhysicalOrder> forms[] = {
      {BackendForm::paged, PhysicalOrder::hnd},   {BackendForm::paged, PhysicalOrder::head_major},
      {BackendForm::flex, PhysicalOrder::nhd},    {BackendForm::cpu, PhysicalOrder::nhd},
      {BackendForm::diff_kv, PhysicalOrder::nhd}, {BackendForm::kv_first, PhysicalOrder::hnd}};
  for (const auto& [form, order] : forms)
    for (const std::int64_t pack : {1, 3, 6}) {
      CAPTURE(to_string(form));
      CAPTURE(to_string(order));
      CAPTURE(pack);
      EngineSpec from = small_engine(2), to = small_engine(4);
      from.backend_form = form;
      from.physical_order = order;
      from.attention_pack_size = pack;
      to.attention_pack_size = 2;
      prove_both_ways({small_hybrid(small_gdn), from, to, 150});
    }
}

TEST_CASE("transfer proof: strategies and releases that differ") {
  const auto strategy = [](Strategy of) { return [of](EngineSpec& engine) { engine.strategy = of; }; };
  for (const Strategy of : {Strategy::dual_pool, Strategy::small_pages, Strategy::compact_slots, Strategy::two_level}) {
    CAPTURE(to_string(of));
    prove_both_ways({small_hybrid(small_gdn), small_engine(2, strategy(of)), small_engine(4), 150});
    prove_both_ways({small_hybrid(small_gdn), small_engine(4, strategy(of)), small_engine(1, strategy(of)), 150});
  }
  const auto of_release = [](const EngineRules* rules, Strategy with) {
    return [=](EngineSpec& engine) {
      engine = {.rules = rules,
                .tensor_parallel = engine.tensor_parallel,
                .strategy = with,
                .cache_mode = CacheMode::align,
                .memory_bytes = 256 * mib};
      if (with == Strategy::pool_groups) engine.max_running_requests = 8;
    };
  };
  for (const auto& [rules, with] :
       {std::pair{&rules_of_sglang_0_5_23, Strategy::dual_pool},
        std::pair{&rules_of_tensorrt_llm, Strategy::pool_groups},
        std::pair{&rules_of_llama_cpp, Strategy::sequence_rows}}) {
    CAPTURE(rules->title);
    const EngineChange change = of_release(rules, with);
    TransferPair pair{small_hybrid(small_gdn), small_engine(1, change), small_engine(2, change), 150};
    pair.options = {.converts_dtypes = true, .exchanges_axes = true};
    prove_both_ways(pair);
    pair.to = small_engine(2);
    prove_both_ways(pair);
  }
}

TEST_CASE("transfer proof: stages of a pipeline and the orders of one allocation") {
  const auto stages = [](std::int64_t count, CacheOrder order) {
    return [=](EngineSpec& engine) {
      engine.rules = &rules_of_vllm_0_33;
      engine.pipeline_parallel = count;
      engine.cache_order = order;
    };
  };
  for (const CacheOrder order : {CacheOrder::lbhnc, CacheOrder::lbnhc, CacheOrder::blhnc, CacheOrder::blnhc}) {
    CAPTURE(to_string(order));
    prove_both_ways({small_hybrid(small_gdn), small_engine(2, stages(2, order)),
                     small_engine(4, stages(1, CacheOrder::lbnhc)), 150});
    prove_both_ways({small_hybrid(small_gdn), small_engine(1, stages(3, order)), small_engine(2, stages(2, order)),
                     150});
  }
  // Orders with the heads outermost are for models of attention alone.
  ModelSpec dense = hybrid_model("dense", 4, full_attention(4, 16, 8), small_gdn, [](std::int64_t) { return true; });
  for (const CacheOrder order : {CacheOrder::lhbnc, CacheOrder::bhlnc}) {
    CAPTURE(to_string(order));
    prove_both_ways({dense, small_engine(2, stages(1, order)), small_engine(4, stages(2, CacheOrder::lbhnc)), 150});
  }
}

TEST_CASE("transfer proof: drafts, MTP layers and hidden states") {
  const auto drafts = [](EngineSpec& engine) {
    engine.speculative_tokens = 3;
    engine.mtp_layers = 1;
    engine.draft = DraftSpec{2, full_attention(2, 16, 8)};
    engine.hidden_state_size = 64;
  };
  TransferPair pair{small_hybrid(small_gdn), small_engine(2, drafts), small_engine(4, drafts), 150};
  prove_both_ways(pair);
  pair.model.auxiliary.push_back(small_mamba2);
  prove_both_ways(pair);
}

TEST_CASE("transfer proof: element types and formats, converted where somebody said so") {
  for (const DType dtype : all_dtypes) {
    CAPTURE(to_string(dtype));
    const auto in = [&](EngineSpec& engine) { engine.kv_dtype = dtype; };
    prove_both_ways({small_hybrid(small_gdn), small_engine(2, in), small_engine(4, in), 150});
  }
  for (const KvFormat format : {KvFormat::int8_per_token_head, KvFormat::fp8_per_token_head,
                                KvFormat::int4_per_token_head, KvFormat::nvfp4, KvFormat::turboquant_4bit_nc}) {
    CAPTURE(to_string(format));
    const auto in = [&](EngineSpec& engine) { engine.kv_format = format; };
    const TransferPair pair{small_hybrid(small_gdn, full_attention(2, 32, 8)), small_engine(2, in),
                            small_engine(4, in), 150};
    prove_both_ways(pair);
    const CheckResult attention = check_named(prove(pair), "attention-continued");
    if (has_codec(format))
      CHECK(attention.message.starts_with("through cascade: backend paged does not support scaled_kv"));
    else
      CHECK(attention.status == CheckStatus::declined);
  }
}

TEST_CASE("transfer proof: what conversion costs is said, and stays within one rounding") {
  const auto types = [](DType kv, DType ssm) {
    return [=](EngineSpec& engine) {
      engine.kv_dtype = kv;
      engine.ssm_dtype = ssm;
    };
  };
  TransferPair pair{small_hybrid(small_gdn), small_engine(2, types(DType::bf16, DType::fp32)),
                    small_engine(4, types(DType::fp8_e4m3, DType::bf16)), 150};
  pair.options.converts_dtypes = true;
  const TransferProof proof = prove(pair);
  CHECK(proof.passed());
  const CheckResult& kv = check_named(proof, "kv-moved");
  CHECK(kv.tolerance == 0x1p-5);
  CHECK(kv.max_error > 0x1p-6);
  CHECK(kv.max_error <= kv.tolerance);
  const CheckResult& states = check_named(proof, "states-moved");
  CHECK(states.tolerance == 0x1p-9);
  CHECK(states.max_error > 0x1p-10);
  CHECK(states.max_error <= states.tolerance);
  CHECK(check_named(proof, "states-continued").max_error == 0);
  CHECK(check_named(proof, "states-continued").message.starts_with("equal to a source whose states are rounded "));
  const CheckResult& attention = check_named(proof, "attention-continued");
  CHECK(attention.max_error > 0);
  CHECK(attention.max_error <= attention.tolerance);
  // The way back has room for every number: nothing is lost.
  std::swap(pair.from, pair.to);
  const TransferProof back = prove(pair);
  CHECK(back.passed());
  for (const CheckResult& check : back.checks) CHECK(check.max_error == 0);
}

TEST_CASE("transfer proof: a prefix that is there stays, the rest joins it") {
  TransferPair pair{small_hybrid(small_gdn), small_engine(2), small_engine(4), 150};
  std::int64_t all = 0;
  for (const std::int64_t present : {0, 1, 32, 33, 149, 150}) {
    CAPTURE(present);
    pair.present_tokens = present;
    require_proven(pair);
    const TransferProof proof = prove(pair);
    if (present == 0) all = proof.written_bytes;
    CHECK(check_named(proof, "descriptors").count == proof.written_bytes);
    // Six layers, four ranks with a head of 16 channels each, K and V.
    CHECK(proof.written_bytes == all - present * 6 * 4 * 2 * 16 * 2);
    CHECK(check_named(proof, "kv-moved").count == 150 * 6 * 4 * 2 * 16);
  }
}

TEST_CASE("transfer proof: a small budget fills sources again and shows the same, one too small is refused") {
  // Every rank of the destination reads from both stages.
  const TransferPair pair{small_hybrid(small_gdn), small_engine(1, [](EngineSpec& engine) {
                            engine.rules = &rules_of_vllm_0_33;
                            engine.pipeline_parallel = 2;
                          }), small_engine(4), 700};
  const TransferProof roomy = prove(pair);
  REQUIRE(roomy.passed());
  const auto within = [&](std::int64_t bytes) -> std::optional<TransferProof> {
    try {
      return prove(pair, {.resident_budget_bytes = bytes});
    } catch (const ResourceError& error) {
      CHECK(std::string(error.what()).find("the proof of a transfer of 700 tokens, one rank of each side at a time") !=
            std::string::npos);
      return std::nullopt;
    }
  };
  std::int64_t refused = 0, accepted = 16 * mib;
  while (accepted - refused > mib / 16) {
    const std::int64_t between = (refused + accepted) / 2;
    (within(between) ? accepted : refused) = between;
  }
  CHECK_FALSE(within(refused));
  const TransferProof tight = *within(accepted);
  CHECK(tight.checks == roomy.checks);
  CHECK(tight.resident_bytes <= accepted);
  CHECK(tight.resident_bytes < roomy.resident_bytes);
  CHECK(tight.reserved_bytes == roomy.reserved_bytes);
}

TEST_CASE("transfer proof: how much goes on is as asked, and another seed has other values") {
  const TransferPair pair{small_hybrid(small_gdn), small_engine(2), small_engine(4), 150};
  const TransferProof all = prove(pair);
  CHECK(all.continued == "4 new tokens in 6 gdn layers, 1 new token in 6 full_attention layers");
  for (const char* name : {"states-continued", "attention-continued"}) CHECK(check_named(all, name).unit == "outputs");
  const TransferProof some = prove(pair, {.continued_tokens = 2, .continued_layers = 1});
  CHECK(some.continued == "2 new tokens in 1 gdn layer, 1 new token in 1 full_attention layer");
  CHECK(some.passed());
  CHECK(check_named(some, "states-continued").count * 12 == check_named(all, "states-continued").count);
  const TransferProof none = prove(pair, {.continued_tokens = 0});
  CHECK(none.continued == "");
  CHECK(none.passed());
  CHECK(check_named(none, "states-continued").status == CheckStatus::declined);
  CHECK(check_named(none, "attention-continued").message == "nothing goes on");
  std::string found[2];
  for (const std::uint64_t seed : {1, 2})
    found[seed - 1] =
        check_named(prove(pair, {.seed = seed, .fault = TransferFault::heads_swapped}), "kv-moved").message;
  CHECK(found[0] != found[1]);
}

TEST_CASE("transfer proof: all of it takes longer than the list and the copies, which are parts of it") {
  const TransferProof proof = prove({small_hybrid(small_gdn), small_engine(2), small_engine(4), 150});
  CHECK(proof.list_seconds > 0);
  CHECK(proof.copy_seconds > 0);
  CHECK(proof.seconds > proof.list_seconds + proof.copy_seconds);
}

TEST_CASE("transfer proof: progress counts every rank of both sides once") {
  const TransferPair pair{small_hybrid(small_gdn), small_engine(2), small_engine(4), 150};
  const TransferMap map = pair.map();
  std::vector<std::string> steps;
  prove_transfer(map, request_between(map, pair), {}, [&](std::string_view step, int done, int total) {
    CHECK(done == static_cast<int>(steps.size()));
    CHECK(total == 6);
    steps.emplace_back(step);
  });
  CHECK(steps == std::vector<std::string>{"destination rank 0", "source rank 0", "destination rank 1",
                                          "destination rank 2", "source rank 1", "destination rank 3"});
}

}  // namespace hybridkv::testing
