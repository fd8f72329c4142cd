#include "bindings/signature.h"

#include <algorithm>
#include <climits>
#include <cstdlib>

#include "core/error.h"

namespace genesis::py {

namespace {

constexpr std::string_view kTypeNames[] = {
    "Tensor", "Operand",  // a tensor or a number
    "Scalar",             // a number
    "float",  "int",     "bool", "str",        "DType", "Device", "MemoryFormat", "Generator",
    "Node",   "Self",    "None", "Any",        "type",  "object", "Callable",     "ndarray",
    "Size",   "dtype",   "list", "list[Node]", "tuple", "dict",   "bytes",        "RemovableHandle",
};

std::string_view trimmed(std::string_view s) {
  const size_t first = s.find_first_not_of(' ');
  if (first == s.npos) return {};
  return s.substr(first, s.find_last_not_of(' ') - first + 1);
}

// Calls f(part) for each part between separators outside brackets.
template <class F>
void split(std::string_view text, char separator, F&& f) {
  int depth = 0;
  size_t start = 0;
  for (size_t i = 0; i <= text.size(); ++i) {
    const char c = i < text.size() ? text[i] : separator;
    if (c == separator && depth == 0) {
      if (const std::string_view part = trimmed(text.substr(start, i - start)); !part.empty()) f(part);
      start = i + 1;
    }
    depth += (c == '(' || c == '[') - (c == ')' || c == ']');
  }
}

void check_type(std::string_view type, std::string_view typed) {
  split(type, '|', [&](std::string_view part) {
    for (;;) {
      if (part.ends_with('?')) part.remove_suffix(1);
      else if (part.ends_with("[]")) part.remove_suffix(2);
      else break;
    }
    if (part.starts_with('(') && part.ends_with(')')) {  // a tuple, whose elements may have names
      split(part.substr(1, part.size() - 2), ',',
            [&](std::string_view element) { check_type(element.substr(0, element.find(' ')), typed); });
      return;
    }
    if (std::find(std::begin(kTypeNames), std::end(kTypeNames), part) == std::end(kTypeNames))
      fail("unknown type '", part, "' in the signature ", typed);
  });
}

void read_default(Param& p) {
  const std::string text(p.fallback);
  const bool truth = text == "True";
  p.numeric = truth || text == "False";
  if (p.numeric) {
    p.value = truth;
  } else if (text[0] == '-' || text[0] == '.' || (text[0] >= '0' && text[0] <= '9')) {
    p.numeric = true;
    const bool floating = text.find_first_of(".e") != text.npos;
    if (floating) p.value = std::strtod(text.c_str(), nullptr);
    else p.value = static_cast<int64_t>(std::strtoll(text.c_str(), nullptr, 10));
  }
}

Param read_param(std::string_view part, std::string_view typed) {
  Param p;
  const size_t eq = part.find('=');
  std::string_view left = trimmed(part.substr(0, eq));
  if (eq != part.npos) p.fallback = trimmed(part.substr(eq + 1));
  const size_t space = left.rfind(' ');
  if (space == left.npos) fail("a parameter without a type, '", part, "', in the signature ", typed);
  p.type = trimmed(left.substr(0, space));
  p.name = left.substr(space + 1);
  if (p.name.starts_with('*')) {
    p.variadic = true;
    p.name.remove_prefix(1);
  }
  check_type(p.type, typed);
  p.required = !p.variadic && p.fallback.empty();
  p.tensors = p.type.find("Tensor[]") != p.type.npos || p.type.find("Tensor?[]") != p.type.npos ||
              (p.variadic && p.type == "Tensor");
  p.overridable = p.type.find("Tensor") != p.type.npos || p.type.find("Operand") != p.type.npos;
  p.device = p.type.find("Device") != p.type.npos;
  if (!p.fallback.empty()) read_default(p);
  p.key = PyUnicode_InternFromString(std::string(p.name).c_str());
  if (!p.key) throw_python();
  return p;
}

}  // namespace

Signature::Signature(std::string_view t) : typed(t) {
  const size_t open = t.find('('), arrow = t.rfind(") -> ");
  if (open == t.npos || arrow == t.npos) fail("a signature must be 'name(Type parameter, ...) -> Type', got ", t);
  name = t.substr(0, open);
  returns = trimmed(t.substr(arrow + 5));
  check_type(returns, t);
  text = name + "(";
  bool keyword_only = false;
  split(t.substr(open + 1, arrow - open - 1), ',', [&](std::string_view part) {
    if (text.back() != '(') text += ", ";
    if (part == "*") {
      keyword_only = true;
      text += '*';
      return;
    }
    Param p = read_param(part, t);
    const int place = static_cast<int>(params.size());
    p.keyword_only = keyword_only;
    if (!keyword_only) ++positional;
    if (p.variadic) {
      variadic = place;
      keyword_only = true;
      text += '*';
    }
    text += p.name;
    if (!p.fallback.empty()) (text += '=') += p.fallback;
    if (p.required || p.tensors) checked = std::max(checked, keyword_only || p.tensors ? INT_MAX : place + 1);
    params.push_back(p);
  });
  text += ')';
  const auto place = [this](std::string_view wanted) {
    const auto found = std::find_if(params.begin(), params.end(), [&](const Param& p) { return p.name == wanted; });
    return found == params.end() ? -1 : static_cast<int>(found - params.begin());
  };
  out = place("out");
  device = place("device");
  if (device >= 0 && !param(device).device) device = -1;
  if (out >= 0 && place("requires_grad") >= 0) dtype = place("dtype");
}

Dims default_dims(const Param& param) {
  if (param.numeric) return Dims{param.value.to_int()};
  Dims dims;
  if (!param.fallback.starts_with('('))
    fail("the default ", param.fallback, " of '", param.name, "' is no tuple of ints");
  split(param.fallback.substr(1, param.fallback.size() - 2), ',',
        [&](std::string_view n) { dims.push_back(std::strtoll(std::string(n).c_str(), nullptr, 10)); });
  return dims;
}

}  // namespace genesis::py
