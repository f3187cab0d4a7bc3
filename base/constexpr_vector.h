#pragma once

#include <version>

/// constexpr for functions that fill a std::vector, where the library has one that can be known to the compiler.
#ifdef __cpp_lib_constexpr_vector
#define HYBRIDKV_CONSTEXPR constexpr
#else
#define HYBRIDKV_CONSTEXPR inline
#endif
