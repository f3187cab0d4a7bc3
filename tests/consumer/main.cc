// Plans a scenario that comes with hybridkv and prints num_blocks of each plan.
#include <cstdio>

#include "ask/plan.h"
#include "scenarios/read.h"

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const hybridkv::Scenario scenario = hybridkv::read_scenario(hybridkv::load_scenario(argv[1]));
  for (const hybridkv::CachePlan& plan : hybridkv::plan_scenario(scenario, scenario.pack_sizes).plans)
    std::printf("%lld\n", static_cast<long long>(plan.num_blocks()));
}
