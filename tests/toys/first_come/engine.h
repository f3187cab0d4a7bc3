#pragma once

#include "engines/engine.h"

namespace hybridkv::testing {

/// An engine of tomorrow: tokens and states in a pool each, and blocks that go in the order in which they came, however
/// often they are used. How it starts, what it prints then and its command line are not known.
extern const Engine first_come_engine;

}  // namespace hybridkv::testing
