#include "scenarios/scenario.h"

namespace hybridkv {

InputError located(const SpecError& error, const Scenario& scenario) {
  const Place* place = scenario.places.find(error.path());
  return place ? error_at(*place, error.what()) : InputError(error.what());
}

}  // namespace hybridkv
