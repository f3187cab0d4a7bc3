#include "cli/version.h"

#include <fmt/format.h>

#include "base/build_info.h"
#include "report/plan/plan_json.h"
#include "report/transfer/transfer_lines.h"
#include "scenarios/schema.h"

namespace hybridkv {

std::string version_text() {
  return fmt::format("hybridkv {}\ncommit   {}\nschemas  {} {} {}", program_version(), program_commit(), plan_schema_id,
                     transfer_schema_id, scenario_schema_id);
}

}  // namespace hybridkv
