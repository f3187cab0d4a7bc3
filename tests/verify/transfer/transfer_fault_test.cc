#include <set>

#include "tests/verify/transfer/transfer_pairs.h"

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
