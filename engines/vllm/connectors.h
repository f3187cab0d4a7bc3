#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "engines/serve.h"

namespace hybridkv {

/// What a connector changes of the command line of the engine.
struct ConnectorFlags {
  std::int64_t max_num_batched_tokens = 0;
  bool states_dimension_first = false;  ///< the convolution's states as [dimension, tokens]
  std::string words = {};               ///< more flags, written for a shell
  std::string environment = {};         ///< before the program, with a blank at its end
};

using ConnectorCommand = std::function<std::string(const ConnectorFlags&)>;

/// The KV connectors of the release that know the pages of states, for a plan that keeps prefixes: the offloading of
/// the engine itself, LMCache, Mooncake's store, and NIXL from a prefill to a decode engine. Nothing for other plans.
/// `command`: the engine's command line with a connector's flags.
/// Sources: factory and checks of the connectors in the packages of vLLM 0.32.0 and 0.33.0; LMCache's recipes of hybrid
/// models and its issue 5217 (chunk, budget, object groups); vLLM's guide to MooncakeStoreConnector.
std::vector<ServeRecipe> connector_recipes(const Served& served, const ConnectorCommand& command);

}  // namespace hybridkv
