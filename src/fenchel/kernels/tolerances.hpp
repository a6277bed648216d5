// The tolerances of tolerances.py, where their derivations are, that kernels need as well; a test
// holds them equal.
#pragma once

namespace fenchel {

inline constexpr double FEW_OPERATIONS = 1e-15;
inline constexpr double OFFSET_CUT = 1e-14;
inline constexpr double OFFSET_BLUR = 1e-12;

}  // namespace fenchel
