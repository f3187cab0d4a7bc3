#pragma once

namespace hybridkv {

/// Of a GPU's network where nobody says another: 400 Gb/s, of the ConnectX-7 that DGX H100, H200 and B200 have for each
/// GPU (their datasheets).
inline constexpr double usual_network_bytes_per_second = 50e9;

}  // namespace hybridkv
