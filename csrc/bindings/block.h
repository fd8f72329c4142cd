// For the __enter__ of context managers.
#pragma once

#include "bindings/object.h"

namespace genesis::py {

// Runs the handlers of signals that have arrived. From Python 3.14 on, `with` runs them between __enter__ and the
// block, and if one raises, it does not call __exit__. Before __enter__ changes anything, an exception is harmless.
inline void before_block() {
#if PY_VERSION_HEX >= 0x030E0000
  if (PyErr_CheckSignals() < 0) throw_python();
#endif
}

}  // namespace genesis::py
