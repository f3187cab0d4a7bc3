#pragma once

#include "ask/kernels/kernel_card.h"

namespace hybridkv::testing {

/// A kernel of attention that takes every stride.
inline KernelCard attention_card() {
  KernelCard card{.name = "attend", .package = "mine", .version = "1.0", .check = "attention", .home = "nhd, apart"};
  card.ran = "numpy on cpu";
  for (const char* view : {"k", "v"})
    card.views.push_back({.name = view, .axes = {"block", "token", "head", "channel"}});
  return card;
}

/// One that takes blocks to lie a page of one layer apart, K before V: right where a page holds one layer and no
/// padding, silently wrong where it holds several.
inline KernelCard one_layer_card() {
  KernelCard card = attention_card();
  card.name = "one_layer";
  card.views.front().derives = {{"block", StrideRule::extents, {"token", "head", "channel"}, 2, ""}};
  return card;
}

}  // namespace hybridkv::testing
