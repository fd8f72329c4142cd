// Which instruction set the kernels run on. Chosen once, at load: the best that the CPU has, capped by the
// environment variable GENESIS_ISA (baseline, avx2 or avx512; on ARM, where the baseline is NEON, baseline or bf16).
#pragma once

namespace genesis {

enum class Isa : int { baseline = 0, avx2 = 1, avx512 = 2, bf16 = 3 };

Isa isa();
const char* isa_name(Isa isa);

// Whether the processor fetches memory that is about to be written, as all do with what is read. Intel's hardly do.
bool foresees_writes();

}  // namespace genesis
