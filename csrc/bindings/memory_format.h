// genesis.memory_format: contiguous_format, preserve_format, channels_last, channels_last_3d.
#pragma once

#include "bindings/args.h"
#include "ops/memory_format.h"

namespace genesis::py {

// Argument i, or `absent`.
ops::MemoryFormat memory_format(const Args& a, int i, ops::MemoryFormat absent);
void init_memory_format(PyObject* module);

}  // namespace genesis::py
