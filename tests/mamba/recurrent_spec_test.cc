#include "mamba/recurrent_spec.h"

#include "tests/mamba/state_cases.h"

namespace hybridkv {
namespace {

TEST_CASE("edge: each family has its name and answers through the common type as by itself") {
  const GdnSpec gdn{16, 64, 128, 128, 4};
  const Mamba2Spec mamba2{128, 64, 128, 1, 4, 128};
  const StateContext context{2, 1, DType::bf16, DType::fp32};
  CHECK(family_name(gdn) == "gdn");
  CHECK(family_name(mamba2) == "mamba2");
  CHECK(state_of(RecurrentSpec(gdn), context) == state_of(gdn, context));
  CHECK(state_of(RecurrentSpec(mamba2), context) == state_of(mamba2, context));
}

TEST_CASE("edge: only mamba2 fixes the chunk of its scan") {
  CHECK(scan_chunk_tokens(Mamba2Spec{128, 64, 128, 1, 4, 128}) == 128);
  CHECK(scan_chunk_tokens(GdnSpec{16, 64, 128, 128, 4}) == std::nullopt);
}

TEST_CASE("law: all ranks together hold the whole recurrent tensor, and at least the whole convolution") {
  int num_split = 0;
  CHECK(rc::check("ranks", [&] {
    for (int repetition = 0; repetition < 20; ++repetition) {
      const RecurrentSpec layer = *rc::gen::resize(rc::kNominalSize, any_recurrent_spec());
      const StateContext split = *rc::gen::resize(rc::kNominalSize, any_state_context());
      StateContext whole = split;
      whole.tensor_parallel = 1;
      StateSpec part;
      try {
        part = state_of(layer, split);
      } catch (const SpecError& error) {
        RC_ASSERT(error.path() == "engine.tensor_parallel");
        continue;
      }
      num_split += split.tensor_parallel > 1;
      const StateSpec all = state_of(layer, whole);
      RC_ASSERT(part.tensors[1].bytes() * split.tensor_parallel == all.tensors[1].bytes());
      RC_ASSERT(part.tensors[0].bytes() * split.tensor_parallel >= all.tensors[0].bytes());
      // Only replicated groups are held more than once.
      if (std::holds_alternative<GdnSpec>(layer) || std::get<Mamba2Spec>(layer).groups % split.tensor_parallel == 0)
        RC_ASSERT(part.tensors[0].bytes() * split.tensor_parallel == all.tensors[0].bytes());
    }
  }));
  CHECK(num_split > 100);
}

}  // namespace
}  // namespace hybridkv
