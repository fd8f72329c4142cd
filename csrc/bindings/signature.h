// The signature of a bound function, written once as text:
//
//   softplus(Tensor input, float beta=1.0, float threshold=20.0) -> Tensor
//
// Parameters after a lone * are given by keyword only; `int *sizes` collects positional arguments. A type is one of
// kTypeNames; T[] is a sequence of T (an int[] may also be one int), T? may be None, and A|B is either. `Self` as a
// result is the first argument, changed in place; (Tensor values, Tensor indices) is a named tuple. Everything else
// reads its information from here: the arguments' defaults (Args), help() and inspect.signature (text), op_info(), and
// through it the type stubs and the reference.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "bindings/object.h"
#include "core/scalar.h"
#include "core/tensor.h"

namespace genesis::py {

struct Param {
  Scalar value = 0;         // the default, if it is `numeric`
  PyObject* key = nullptr;  // the name, interned
  bool required = false, keyword_only = false, variadic = false;
  bool tensors = false;                   // a sequence of tensors
  bool overridable = false;               // takes tensors, so that the class of an argument may override the function
  bool device = false;                    // names a device
  bool numeric = false;                   // the default is a number or a bool
  std::string_view name, type, fallback;  // fallback: the text of the default, empty if there is none
};

struct Signature {
  std::string_view typed;    // as written
  std::string_view returns;  // "Tensor"
  std::string text;          // as shown in Python: "softplus(input, beta=1.0, threshold=20.0)"
  std::string name;          // "softplus"
  std::vector<Param> params;
  int positional = 0;  // maximum number of positional arguments
  int checked = 0;  // with this many positional arguments, nothing required is missing and there are no lists to check
  int variadic = -1;  // the one that collects positional arguments
  int out = -1;       // the parameter `out`
  int device = -1;    // the parameter `device`
  int dtype = -1;     // the parameter `dtype` of a function that creates tensors, which defaults to the dtype of `out`

  // `typed` must outlive the signature. Raises if it is not well-formed.
  explicit Signature(std::string_view typed);

  const Param& param(int i) const { return params[static_cast<size_t>(i)]; }
};

// The numbers of a default such as 1 or (0, 1).
Dims default_dims(const Param& param);

}  // namespace genesis::py
