#include "planner/cell_types.h"

#include <fmt/format.h>

#include <array>

#include "base/checked.h"
#include "base/error.h"
#include "planner/row_settings.h"

namespace hybridkv {

namespace {

constexpr std::int64_t block_elements = 32;
constexpr std::array<std::int64_t, cell_type_names.size()> cell_block_bytes{64, 64, 128, 34, 24, 22, 20, 18, 18};

bool is_in_blocks(CellType type) { return type > CellType::f32; }

CellType type_of_elements(const EngineSpec& engine) {
  const DType dtype = engine.kv_dtype.value_or(DType::fp16);
  if (dtype == DType::fp16) return CellType::f16;
  if (dtype == DType::bf16) return CellType::bf16;
  if (dtype == DType::fp32) return CellType::f32;
  throw SpecError("engine.kv_dtype",
                  fmt::format("{} has no cells of {}; take fp16, bf16 or fp32, or one of the types of "
                              "engine.cache_type_k and engine.cache_type_v", engine.rules->title, to_string(dtype)));
}

}  // namespace

CellTypes cell_types_of(const EngineSpec& engine) {
  const auto asked_key = engine.own.find(row_key::cache_type_k), asked_value = engine.own.find(row_key::cache_type_v);
  const CellType plain = asked_key && asked_value ? CellType::f16 : type_of_elements(engine);
  const CellTypes types{asked_key.value_or(plain), asked_value.value_or(plain)};
  if (is_in_blocks(types.value) && engine.own[row_key::flash_attn] == FlashAttention::off)
    throw SpecError("engine.cache_type_v",
                    fmt::format("{} keeps V as {} only with flash attention, and does not start; leave "
                                "engine.flash_attn at auto, or take f16", engine.rules->title, to_string(types.value)));
  return types;
}

void check_cell_types(const CellTypes& types, const AttentionSpec& layer, const EngineSpec& engine) {
  if (layer.kind == AttentionKind::mla && types.key != types.value)
    throw SpecError("engine.cache_type_v",
                    fmt::format("is {}, and K is {}: {} keeps one latent for both and does not start; take the same",
                                to_string(types.value), to_string(types.key), engine.rules->title));
}

std::int64_t cell_row_bytes(CellType type, std::int64_t elements) {
  if (is_in_blocks(type) && elements % block_elements != 0)
    throw SpecError("engine.cache_type_k",
                    fmt::format("{} keeps blocks of {} elements, which do not divide rows of {}; take f16",
                                to_string(type), block_elements, elements));
  const std::int64_t bytes = cell_block_bytes[static_cast<std::size_t>(type)];
  return is_in_blocks(type) ? Checked(elements / block_elements) * bytes
                            : Checked(elements) * (bytes / block_elements);
}

}  // namespace hybridkv
