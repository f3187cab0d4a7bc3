#include "tests/verify/transfer/transfer_pairs.h"

namespace hybridkv::testing {

TEST_CASE("transfer full size: Qwen3.5-397B from two ranks to eight and back, 40 GiB each, 32,768 tokens") {
  TransferPair pair{qwen35_397b(), transfer_engine(2, 40 * gib), transfer_engine(8, 40 * gib), 32'768};
  for (const bool is_back : {false, true}) {
    CAPTURE(is_back);
    if (is_back) std::swap(pair.from, pair.to);
    const TransferProof proof = prove(pair);
    CAPTURE(proof.first_failure() ? proof.first_failure()->message : "");
    CHECK(proof.passed());
    CHECK(proof.continued == "4 new tokens in 45 gdn layers, 1 new token in 15 full_attention layers");
    CHECK(check_named(proof, "descriptors").count == proof.written_bytes);
    // K and V of one head on each rank, two of them at most needed.
    CHECK(check_named(proof, "kv-moved").count == std::int64_t{32'768} * 15 * 512 * (is_back ? 2 : 8));
    CHECK(check_named(proof, "states-moved").count == 45 * (3 * 12'288 + 64 * 128 * 128));
    // Of equal types every bit is that of a cache that never moved.
    CHECK(check_named(proof, "states-continued").max_error == 0);
    CHECK(check_named(proof, "attention-continued").max_error == 0);
    CHECK(proof.reserved_bytes > 390 * gib);
    CHECK(proof.resident_bytes < 4 * gib);
  }
}

TEST_CASE("transfer full size: every fault that has a place there is caught by its owner") {
  const TransferPair pair{qwen35_397b(), transfer_engine(2, 40 * gib), transfer_engine(8, 40 * gib), 32'768};
  for (const TransferFaultInfo& info : all_transfer_faults()) {
    CAPTURE(info.name);
    const TransferProof proof = prove(pair, {.fault = info.fault, .until_caught = true});
    CAPTURE(proof.no_place);
    // Groups of B and C are other families'.
    CHECK(proof.caught() == (info.fault != TransferFault::wrong_group));
  }
}

}  // namespace hybridkv::testing
