#include "scenarios/flags_alone.h"

namespace hybridkv {

ScenarioFile flags_alone() {
  ScenarioFile file = parse_scenario("{}", "command line");
  file.root.place.line = file.root.place.column = 0;
  file.root.key_place = file.root.place;
  return file;
}

}  // namespace hybridkv
