#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "base/dtype.h"

namespace hybridkv {

/// How a cell keeps K or V: an element type, or blocks of 32 elements with their scale.
enum class CellType { f16, bf16, f32, q8_0, q5_1, q5_0, q4_1, q4_0, iq4_nl };
inline constexpr auto cell_type_names =
    std::to_array<std::string_view>({"f16", "bf16", "f32", "q8_0", "q5_1", "q5_0", "q4_1", "q4_0", "iq4_nl"});
inline constexpr auto all_cell_types =
    std::to_array({CellType::f16, CellType::bf16, CellType::f32, CellType::q8_0, CellType::q5_1, CellType::q5_0,
                   CellType::q4_1, CellType::q4_0, CellType::iq4_nl});
constexpr std::string_view to_string(CellType type) { return cell_type_names[static_cast<std::size_t>(type)]; }

/// How the cells of strategy sequence_rows keep K and V.
struct CellTypes {
  CellType key = CellType::f16;
  CellType value = CellType::f16;
  bool operator==(const CellTypes&) const = default;

  /// One element type for both, or none where blocks of elements are kept, or two types.
  constexpr std::optional<DType> element() const {
    if (key != value || key > CellType::f32) return std::nullopt;
    return key == CellType::f16 ? DType::fp16 : key == CellType::bf16 ? DType::bf16 : DType::fp32;
  }
};

}  // namespace hybridkv
