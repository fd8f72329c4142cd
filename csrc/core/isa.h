// The instruction set that the kernels use. It is selected once, at load time: the best one that the CPU supports,
// limited by the environment variable GENESIS_ISA (baseline, avx2 or avx512; on ARM, where the baseline is NEON,
// baseline or bf16).
#pragma once

namespace genesis {

enum class Isa : int { baseline = 0, avx2 = 1, avx512 = 2, bf16 = 3 };

Isa isa();
const char* isa_name(Isa isa);

// Whether the processor prefetches memory that is about to be written, as all do for reads. Intel's hardly do.
bool foresees_writes();

}  // namespace genesis
