#pragma once

#include "verify/transfer/transfer_plant.h"

namespace hybridkv {

/// Plants a fault that needs to know no more than the descriptors and where a request's bytes end: short, missing,
/// twice, shifted, past their end, of half the elements (wrong_dtype, where no element is converted).
/// Throws std::logic_error for any other.
PlantedTransfer plant_descriptor_fault(TransferFault fault, const PlantContext& context, CopyList& list);

}  // namespace hybridkv
