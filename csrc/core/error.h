// Errors name the operation, the argument, what was passed, and how to fix it. In Python, each kind is a class that
// NumPy and PyTorch users catch (bindings/errors.cpp): a ShapeError is a ValueError and a RuntimeError at once.
#pragma once

#include <sstream>
#include <stdexcept>
#include <string>

#include "core/dtype.h"
#include "core/inline_vec.h"

namespace genesis {

struct ShapeError : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};
struct DTypeError : std::runtime_error {
  using std::runtime_error::runtime_error;
};
// A number does not fit its target type.
struct RangeError : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};
struct IndexError : std::out_of_range {
  using std::out_of_range::out_of_range;
};
struct DivisionError : std::runtime_error {
  using std::runtime_error::runtime_error;
};
struct GraphError : std::runtime_error {
  using std::runtime_error::runtime_error;
};
// A tensor of the meta device has no values.
struct NoDataError : std::runtime_error {
  using std::runtime_error::runtime_error;
};
struct LinAlgError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

inline std::ostream& operator<<(std::ostream& out, const Dims& dims) {
  out << '(';
  for (int i = 0; i < dims.size(); ++i) out << (i ? ", " : "") << dims[i];
  return out << (dims.size() == 1 ? ",)" : ")");
}
inline std::ostream& operator<<(std::ostream& out, DType dtype) { return out << name(dtype); }

template <class... Parts>
std::string str(const Parts&... parts) {
  std::ostringstream out;
  out << std::boolalpha;
  (out << ... << parts);
  return out.str();
}

template <class Error = ShapeError, class... Parts>
[[noreturn, gnu::noinline, gnu::cold]] void fail(const Parts&... parts) {
  throw Error(str(parts...));
}

// Raises if a user's argument is wrong. Unlike assert, it stays in release builds.
template <class Error = ShapeError, class... Parts>
inline void require(bool ok, const Parts&... parts) {
  if (!ok) [[unlikely]]
    fail<Error>(parts...);
}

}  // namespace genesis
