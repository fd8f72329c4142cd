// Switches between PyTorch's behaviour and that of the specification where they differ (genesis.torch).
#pragma once

namespace genesis {

inline bool exact_torch = false;

// The name that dtypes, sizes and devices are printed with.
inline const char* package_name() { return exact_torch ? "torch" : "genesis"; }

}  // namespace genesis
