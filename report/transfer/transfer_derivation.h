#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "ask/transfer/transfer.h"
#include "report/document.h"

namespace hybridkv {

/// "K and V of full_attention", "conv of gdn"; what is not of the model's own layers says so.
std::string tensor_name(const TransferTensor& tensor);

/// How the number of runs of one layer of each tensor comes about, an entry each.
void add_run_derivations(Document& document, const TransferAnswer& answer);

/// The same for programs: [{role, kind, tensor, layer, from_rank, to_rank, tokens or state, runs, layers,
/// runs_of_layers, descriptors}].
nlohmann::ordered_json run_derivations_json(const TransferAnswer& answer);

}  // namespace hybridkv
