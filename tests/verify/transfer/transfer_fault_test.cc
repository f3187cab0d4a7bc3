#include <set>

#include "planner/primary_attention.h"
#include "tests/verify/transfer/transfer_pairs.h"
#include "verify/transfer/transfer_pages.h"

namespace hybridkv::testing {

namespace {

/// A pair that has a place for every fault but those that need replicated groups.
TransferPair gdn_pair() {
  return {small_hybrid(small_gdn), small_engine(2), small_engine(4), 700};
}

/// Groups of B and C that fewer ranks than four keep once.
TransferPair mamba2_pair() {
  return {small_hybrid(small_mamba2), small_engine(1), small_engine(4), 700};
}

TransferProof with_fault(const TransferPair& pair, TransferFault fault, std::int64_t continued_tokens = 4) {
  return prove(pair, {.continued_tokens = continued_tokens, .fault = fault});
}

std::set<std::string> failing(const TransferProof& proof) {
  std::set<std::string> names;
  for (const CheckResult& check : proof.checks)
    if (check.status == CheckStatus::failed) names.insert(check.name);
  return names;
}

}  // namespace

TEST_CASE("transfer fault: every planted fault is found by the check that owns it, which says where") {
  const TransferPair gdn = gdn_pair(), mamba2 = mamba2_pair();
  for (const TransferFaultInfo& info : all_transfer_faults()) {
    CAPTURE(info.name);
    const TransferProof proof = with_fault(info.fault == TransferFault::wrong_group ? mamba2 : gdn, info.fault);
    CHECK(proof.no_place == "");
    CHECK(proof.planted != "");
    CHECK(proof.caught());
    CHECK_FALSE(proof.passed());
    const CheckResult& owner = check_named(proof, info.found_by);
    CAPTURE(owner.message);
    CHECK(owner.message.starts_with("destination rank "));
    if (owner.name == "kv-moved") CHECK(owner.message.find("KV head ") != std::string::npos);
    if (owner.name.ends_with("-moved")) CHECK(owner.message.find(" belongs there") != std::string::npos);
    if (owner.name.ends_with("-continued")) CHECK(owner.message.find("where nothing moved") != std::string::npos);
  }
}

TEST_CASE("transfer law: every check owns a fault, every fault has its check and its name") {
  std::set<std::string_view> owners, checks, names;
  for (const TransferFaultInfo& info : all_transfer_faults()) {
    owners.insert(info.found_by);
    CHECK(names.insert(info.name).second);
    CHECK(parse_transfer_fault(info.name) == info.fault);
    CHECK(to_string(info.fault) == info.name);
    CHECK(info_of(info.fault).name == info.name);
    CHECK(info.description.size() <= 59);
  }
  for (const TransferCheckInfo& info : transfer_checks()) checks.insert(info.name);
  CHECK(owners == checks);
  CHECK_FALSE(parse_transfer_fault("nothing"));
}

TEST_CASE("transfer fault: without any one check some fault is found by none") {
  const TransferPair pair = gdn_pair();
  struct Sole {
    TransferFault fault;
    const char* check;
    std::int64_t continued_tokens;  ///< 0: else what goes on with wrong values is a second finder
  };
  for (const Sole& sole : {Sole{TransferFault::descriptor_twice, "descriptors", 4},
                           Sole{TransferFault::heads_swapped, "kv-moved", 0},
                           Sole{TransferFault::stale_state, "states-moved", 0},
                           Sole{TransferFault::overlong_write, "untouched", 4},
                           Sole{TransferFault::stale_entry, "states-continued", 4},
                           Sole{TransferFault::stale_block, "attention-continued", 4}}) {
    CAPTURE(sole.check);
    CHECK(failing(with_fault(pair, sole.fault, sole.continued_tokens)) == std::set<std::string>{sole.check});
  }
}

TEST_CASE("transfer fault: values that moved wrong change what goes on from them") {
  const TransferPair pair = gdn_pair();
  for (const TransferFault fault : {TransferFault::state_heads_swapped, TransferFault::stale_state,
                                    TransferFault::stale_steps, TransferFault::sections_flat})
    CHECK(failing(with_fault(pair, fault)) == std::set<std::string>{"states-moved", "states-continued"});
  for (const TransferFault fault : {TransferFault::heads_swapped, TransferFault::wrong_replica})
    CHECK(failing(with_fault(pair, fault)) == std::set<std::string>{"kv-moved", "attention-continued"});
  // An older state holds numbers as every state does, unlike bytes that nobody wrote.
  const TransferProof older = with_fault(pair, TransferFault::stale_state);
  CHECK(check_named(older, "states-moved").message.find(" belongs there") != std::string::npos);
  CHECK(check_named(older, "states-moved").message.find("nan found") == std::string::npos);
  // The first of a convolution's steps has none before it whose values could come in its place.
  const TransferProof stale = with_fault(pair, TransferFault::stale_steps);
  CHECK(check_named(stale, "states-moved").message.find(" conv, step 1, q, part 0, channel 0: ") != std::string::npos);
}

TEST_CASE("transfer fault: two heads are enough to be swapped, and two steps for one to come in place of the next") {
  const GdnSpec two_heads{.key_heads = 2, .value_heads = 2, .key_head_dim = 16, .value_head_dim = 8, .conv_kernel = 4};
  const TransferProof heads = with_fault({small_hybrid(two_heads), small_engine(1), small_engine(2), 150},
                                         TransferFault::state_heads_swapped);
  CHECK(heads.planted == "layer 0 ssm, heads 0 and 1");
  CHECK(heads.caught());
  const TransferProof steps = with_fault({small_hybrid(ShortConvSpec{.channels = 64, .conv_kernel = 3}),
                                          small_engine(2), small_engine(4), 150}, TransferFault::stale_steps);
  CHECK(steps.planted == "rank 0 to rank 0, layer 0 conv, steps 1 to 1");
  CHECK(steps.caught());
  CHECK(check_named(steps, "states-moved").message.find(" conv, step 1, x, channel 0: ") != std::string::npos);
}

TEST_CASE("transfer fault: what is stale comes from an id that no new token takes") {
  const ModelSpec model = hybrid_model("attention first", 12, full_attention(2, 16, 8), small_gdn,
                                       [](std::int64_t i) { return i % 2 == 0; });
  TransferPair pair{model, small_engine(2), small_engine(4), 700};
  // All blocks are full, so that the first free id is that of the new token.
  pair.tokens = 10 * primary_block_tokens(pair.map().to().stages.front());
  const TransferMap map = pair.map();
  const HeldPages pages =
      transfer_pages(map.to().stages.front(), request_between(map, pair).to.ids.front(), {2});
  const std::vector<std::int64_t>& free = pages.free_ids.front();
  REQUIRE(free.size() == 2);
  const TransferProof entry = with_fault(pair, TransferFault::stale_entry);
  CHECK(entry.planted.ends_with(fmt::format(", from id {}", free[1])));
  CHECK(failing(entry) == std::set<std::string>{"states-continued"});
  CHECK(failing(with_fault(pair, TransferFault::stale_block)) == std::set<std::string>{"attention-continued"});
}

TEST_CASE("transfer fault: a layer without a convolution goes on from a stale entry too, and is found") {
  const TransferPair pair{small_hybrid(LinearAttentionSpec{.heads = 8, .head_dim = 8}), small_engine(2),
                          small_engine(4), 150};
  const TransferProof proof = with_fault(pair, TransferFault::stale_entry);
  CHECK(proof.planted.find("layer 0 ssm") != std::string::npos);
  CHECK(failing(proof) == std::set<std::string>{"states-continued"});
}

TEST_CASE("transfer fault: one id that nobody holds is room enough for what is stale") {
  TransferPair pair{small_hybrid(small_gdn), small_engine(2), small_engine(4), 150};
  const TransferMap map = pair.map();
  const RequestTables tables = request_between(map, pair).to;
  // Beside what the request holds there is the null block, and one block more.
  pair.to.num_blocks = num_held_ids(map.to().stages.front(), tables.ids.front()).total() + 2;
  for (const TransferFault fault : {TransferFault::stale_entry, TransferFault::stale_block}) {
    CAPTURE(to_string(fault));
    const TransferProof proof = with_fault(pair, fault);
    CHECK(proof.no_place == "");
    CHECK(proof.caught());
  }
}

TEST_CASE("transfer fault: an older state is one of a convolution where a model has no other states") {
  const TransferProof proof = with_fault({small_hybrid(ShortConvSpec{.channels = 64}), small_engine(2),
                                          small_engine(4), 150}, TransferFault::stale_state);
  CHECK(proof.no_place == "");
  CHECK(proof.planted.starts_with("rank 0 to rank 0, layer 0 conv, from id "));
  CHECK(proof.caught());
}

TEST_CASE("transfer law: one look at where a fault was planted finds what all of the proof finds") {
  for (const TransferPair& pair : {gdn_pair(), mamba2_pair()})
    for (const TransferFaultInfo& info : all_transfer_faults()) {
      CAPTURE(info.name);
      const TransferProof all = with_fault(pair, info.fault);
      const TransferProof one = prove(pair, {.fault = info.fault, .until_caught = true});
      CHECK(one.planted == all.planted);
      CHECK(one.no_place == all.no_place);
      CHECK(one.caught() == all.caught());
      if (all.no_place.empty()) CHECK(one.caught());
    }
  // Nothing is left out where nothing is planted.
  const TransferPair pair = gdn_pair();
  CHECK(prove(pair, {.until_caught = true}).checks == prove(pair).checks);
}

TEST_CASE("transfer fault: what has no place is neither caught nor passed, and says why") {
  TransferPair pair{small_hybrid(small_gdn, full_attention(1, 16, 8)), small_engine(2), small_engine(2), 700};
  for (const auto& [fault, why] :
       {std::pair{TransferFault::heads_swapped, "no layer has two KV heads whose tokens are moved"},
        std::pair{TransferFault::wrong_replica, "no layer has two KV heads or more, but fewer than a side has ranks"},
        std::pair{TransferFault::wrong_group,
                  "no convolution state has groups of B and C, two or more, but fewer than a side has ranks"},
        std::pair{TransferFault::sections_flat,
                  "no convolution state has sections that a flat split would tear apart"}}) {
    const TransferProof proof = with_fault(pair, fault);
    CHECK(proof.no_place == why);
    CHECK(proof.planted == "");
    CHECK(proof.checks.empty());
    CHECK_FALSE(proof.caught());
    CHECK_FALSE(proof.passed());
  }
  // Ranks that share groups keep more rows than the layer has, so that no flat split deals these out.
  TransferPair shared = mamba2_pair();
  for (const bool is_back : {false, true}) {
    CAPTURE(is_back);
    if (is_back) std::swap(shared.from, shared.to);
    CHECK(with_fault(shared, TransferFault::sections_flat).no_place ==
          "no convolution state has sections that a flat split would tear apart");
  }
  // Where nothing goes on, nothing goes on from the wrong place.
  for (const TransferFault fault : {TransferFault::stale_block, TransferFault::stale_entry})
    CHECK(with_fault(pair, fault, 0).no_place.ends_with(" goes on, or no id is free"));
  // All tokens are there already.
  pair.present_tokens = pair.tokens;
  CHECK(with_fault(pair, TransferFault::descriptor_short).no_place ==
        "no run of two elements or more ends in K and V");
}

TEST_CASE("transfer fault: bytes of another type are found where elements are converted") {
  TransferPair pair = gdn_pair();
  pair.options.converts_dtypes = true;
  for (const auto& [from, to] : {std::pair{DType::fp32, DType::bf16}, std::pair{DType::bf16, DType::fp32}}) {
    pair.from.ssm_dtype = from;
    pair.to.ssm_dtype = to;
    const TransferProof proof = with_fault(pair, TransferFault::wrong_dtype);
    CHECK(proof.planted == fmt::format("rank 0 to rank 0, layer 0 ssm: bytes of {} as {}", to_string(from),
                                       to_string(to)));
    CHECK(failing(proof) == std::set<std::string>{"states-moved", "states-continued"});
  }
}

}  // namespace hybridkv::testing
