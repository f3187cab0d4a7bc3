#include "planner/backend_profile.h"

#include <array>
#include <stdexcept>

namespace hybridkv {

namespace {

using enum CacheOrder;

// Source of all: the declarations of the backends of vLLM 0.33.0 (supported kernel blocks and layouts).
constexpr std::array any_order{lbnhc, lbhnc, blnhc, blhnc, bhlnc, lhbnc};
constexpr std::array head_first{lbhnc, blhnc};
constexpr std::array of_cpu{lbhnc};
constexpr std::array of_rocm{lbnhc, lbhnc};
constexpr std::array<std::int64_t, 3> flashinfer_blocks{16, 32, 64};
constexpr std::array<std::int64_t, 1> blocks_of_64{64}, blocks_of_128{128};

constexpr KernelBlocks multiples_of_16{16, {}};
constexpr std::int64_t exports_at_64 = 64;

const ProfileFacts sm80_facts{"FlashAttention", multiples_of_16, multiples_of_16, 1, false, any_order};
const ProfileFacts sm90_facts{"FlashAttention", multiples_of_16, multiples_of_16, exports_at_64, false, any_order};
const ProfileFacts sm90_flashinfer_facts{
    "FlashInfer", {16, flashinfer_blocks}, multiples_of_16, exports_at_64, false, any_order};
const ProfileFacts sm100_flashinfer_facts{
    "FlashInfer", {16, flashinfer_blocks}, multiples_of_16, exports_at_64, false, head_first};
const ProfileFacts sm100_fa4_facts{"FlashAttention 4", {128, blocks_of_128}, {128, blocks_of_128}, exports_at_64, false,
                                   any_order};
const ProfileFacts flashmla_facts{
    "FlashMLA", multiples_of_16, {64, blocks_of_64}, exports_at_64, true, any_order, BackendProfile::sm90};
const ProfileFacts cutlass_mla_facts{"CUTLASS MLA", multiples_of_16, {128, blocks_of_128}, exports_at_64, true,
                                     any_order,     BackendProfile::sm100_flashinfer};
const ProfileFacts flash_attn_mla_facts{
    "FlashAttention MLA", multiples_of_16, multiples_of_16, exports_at_64, true, any_order, BackendProfile::sm90};
const ProfileFacts flashinfer_mla_facts{"FlashInfer MLA", multiples_of_16, {64, blocks_of_64}, exports_at_64, true,
                                        any_order,        BackendProfile::sm100_flashinfer};
const ProfileFacts cpu_facts{"CPU attention", {32, {}}, {32, {}}, 1, false, of_cpu};
const ProfileFacts rocm_facts{"ROCm unified attention", {64, {}}, {64, {}}, 1, false, of_rocm};

}  // namespace

const ProfileFacts& facts_of(BackendProfile profile) {
  switch (profile) {
    case BackendProfile::sm80: return sm80_facts;
    case BackendProfile::sm90: return sm90_facts;
    case BackendProfile::sm90_flashinfer: return sm90_flashinfer_facts;
    case BackendProfile::sm100_flashinfer: return sm100_flashinfer_facts;
    case BackendProfile::sm100_fa4: return sm100_fa4_facts;
    case BackendProfile::flashmla: return flashmla_facts;
    case BackendProfile::cutlass_mla: return cutlass_mla_facts;
    case BackendProfile::flash_attn_mla: return flash_attn_mla_facts;
    case BackendProfile::flashinfer_mla: return flashinfer_mla_facts;
    case BackendProfile::cpu: return cpu_facts;
    case BackendProfile::rocm: return rocm_facts;
  }
  throw std::logic_error("a profile outside its enumeration");
}

}  // namespace hybridkv
