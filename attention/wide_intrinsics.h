#pragma once

// The compiler's functions for vector instructions; nothing where the processor is another.
#if defined(__x86_64__)
// GCC 12 takes the "undefined" operands of its own AVX-512 headers for uses of variables without a value.
#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif
#include <immintrin.h>
#endif
