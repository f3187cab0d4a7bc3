#pragma once

#include <optional>
#include <string>

#include "simulator/blocks/cache_geometry.h"
#include "verify/forward/forward_case.h"

namespace hybridkv {

/// A match unit below the block, and a prompt whose last state is exported at a multiple of it inside a block.
struct FineExport {
  std::int64_t unit_tokens = 0;
  std::int64_t exported_tokens = 0;
};
/// The largest such unit behind two blocks; nothing where hits are not fine, or no state inside a block is exported.
std::optional<FineExport> find_fine_export(CacheGeometry geometry);

/// Why no prompt parts where attention alone matches in that cache; empty where one does. Windows keep only what the
/// kept states need, where 0.33 does not keep all.
std::string why_none_parts(const CacheGeometry& geometry);

/// Why a case of vLLM 0.33 alone has nothing to show in that cache; empty where it has.
std::string why_no_export_case(ForwardCase forward_case, const CacheGeometry& geometry);

/// Runs one of them: exported, fine_export, junction or lookahead. Pre: no reason not to.
void run_export_case(ForwardCase forward_case, const ForwardSetting& setting, ForwardResult& result);

}  // namespace hybridkv
