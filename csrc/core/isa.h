// Which instruction set the kernels run on. Chosen once, at load: the best that the CPU has, capped by the
// environment variable GENESIS_ISA (baseline, avx2 or avx512).
#pragma once

namespace genesis {

enum class Isa : int { baseline = 0, avx2 = 1, avx512 = 2 };

Isa isa();
const char* isa_name(Isa isa);

}  // namespace genesis
