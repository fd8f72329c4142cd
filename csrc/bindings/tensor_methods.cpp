// Methods for properties of a tensor, and conversions of its dtype.
#include "autograd/record.h"
#include "bindings/args.h"
#include "bindings/memory_format.h"
#include "bindings/module.h"
#include "bindings/size.h"
#include "core/exact.h"
#include "ops/create.h"
#include "ops/view.h"

namespace genesis::py {

static Tensor converted(const Tensor& x, DType dtype, bool copy) {
  if (is_complex(x.dtype()) && !is_complex(dtype) && dtype != DType::Bool &&
      PyErr_WarnEx(PyExc_UserWarning, "to: casting complex values to real discards the imaginary part", 1) < 0)
    throw_python();
  if (x.dtype() != dtype) return ops::cast(x, dtype);
  return copy ? ops::clone(x) : x;
}

static void require_memory(const Tensor& x) {
  require<NoDataError>(
      !x.meta(),
      "Cannot copy out of meta tensor; no data! Use to_empty() instead of to() to give a module memory, "
      "and load its values after that");
}

// to(dtype), to(device, dtype), to(other), each followed by non_blocking and copy; all also by keyword.
static Tensor to(Args& a) {
  const Tensor& x = a.tensor(0);
  DType dtype = x.dtype();
  bool copy = a.boolean(4), meta = x.meta();
  PyObject* second = a[2];
  // to(dtype, non_blocking, copy) and to(other, non_blocking, copy): the flags are one position earlier
  if (second && PyBool_Check(second)) {
    if (a[3]) copy = a.boolean(3);
    second = nullptr;
  }
  if (a.has(1)) {
    if (is_tensor(a[1])) dtype = unwrap(a[1]).dtype();
    else if (is_device(a[1])) check_device(a[1]);
    else dtype = a.dtype(1);
    if (is_tensor(a[1])) meta = unwrap(a[1]).meta();
    else if (is_device(a[1])) meta = is_meta_device(a[1]);
  }
  if (second && second != Py_None) dtype = to_dtype(second);
  if (a.has(5)) {
    check_device(a[5]);
    meta = is_meta_device(a[5]);
  }
  if (a.has(6)) {
    dtype = a.tensor(6).dtype();
    meta = a.tensor(6).meta();
  }
  const OnDevice device(meta);
  if (meta && !x.meta()) return ops::to_meta(x, dtype);
  if (!meta) require_memory(x);
  const Tensor y = converted(x, dtype, copy);
  return ops::to_suggested_format("to", y, memory_format(a, 7, ops::MemoryFormat::Preserve));
}

// The names of PyTorch's types by dtype: x.type() is 'genesis.FloatTensor'.
static constexpr const char* kTypeNames[kNumDTypes] = {
    "BoolTensor",          "ByteTensor",          "CharTensor",     "ShortTensor",  "IntTensor",
    "LongTensor",          "HalfTensor",          "BFloat16Tensor", "FloatTensor",  "DoubleTensor",
    "ComplexFloatTensor",  "ComplexDoubleTensor", "UInt16Tensor",   "UInt32Tensor", "UInt64Tensor",
    "Float8_e4m3fnTensor", "Float8_e5m2Tensor"};

static PyObject* type_of(Args& a) {
  const Tensor& x = a.tensor(0);
  if (!a.has(1)) return PyUnicode_FromFormat("%s.%s", package_name(), kTypeNames[static_cast<int>(x.dtype())]);
  if (PyUnicode_Check(a[1])) {
    std::string name = a.string(1);
    for (const std::string_view package : {"genesis.", "torch."})
      if (name.starts_with(package)) name.erase(0, package.size());
    for (int i = 0; i < kNumDTypes; ++i)
      if (name == kTypeNames[i]) return wrap(converted(x, static_cast<DType>(i), false));
  }
  return wrap(converted(x, a.dtype(1), false));
}

template <DType dtype>
static Tensor as(Args& a) {
  const Tensor y = converted(a.tensor(0), dtype, false);
  return a.has(1) ? ops::to_suggested_format(a.name(), y, memory_format(a, 1, ops::MemoryFormat::Preserve)) : y;
}

static const Family family({.kind = Kind::Move, .page = "settings"}, [] {
  def<"numel(Tensor input) -> int", [](Args& a) { return a.tensor(0).numel(); }>(
      kBoth | kTool, "The number of elements.", {.page = "shape"});
  def<"nelement(Tensor input) -> int", [](Args& a) { return a.tensor(0).numel(); }>(kMethod | kTool,
                                                                                    "The number of elements.");
  def<"dim(Tensor input) -> int", [](Args& a) { return static_cast<int64_t>(a.tensor(0).dim()); }>(
      kMethod | kTool, "The number of dimensions.");
  def<"ndimension(Tensor input) -> int", [](Args& a) { return static_cast<int64_t>(a.tensor(0).dim()); }>(
      kMethod | kTool, "The number of dimensions.");
  def<"element_size(Tensor input) -> int", [](Args& a) { return itemsize(a.tensor(0).dtype()); }>(
      kMethod | kTool, "Bytes of one element.");
  def<"storage_offset(Tensor input) -> int", [](Args& a) { return a.tensor(0).offset(); }>(
      kMethod | kTool, "Where the tensor begins in its memory, in elements.");
  def<"data_ptr(Tensor input) -> int", [](Args& a) {
    capture::interrupt("the memory of a tensor is exposed");
    return a.tensor(0).meta() ? int64_t{0} : static_cast<int64_t>(reinterpret_cast<intptr_t>(a.tensor(0)->data));
  }>(kMethod | kTool, "The address of the first element.");
  def<"is_contiguous(Tensor input, MemoryFormat? memory_format=None) -> bool", [](Args& a) {
    return ops::has_format(a.tensor(0), memory_format(a, 1, ops::MemoryFormat::Contiguous));
  }>(kMethod | kTool, "Whether the elements are contiguous in memory.");
  def<"is_floating_point(Tensor input) -> bool", [](Args& a) { return is_floating(a.tensor(0).dtype()); }>(
      kBoth | kTool, "Whether the dtype is floating.");
  def<"is_complex(Tensor input) -> bool", [](Args& a) { return is_complex(a.tensor(0).dtype()); }>(
      kBoth | kTool, "Whether the dtype is complex.");
  def<"is_signed(Tensor input) -> bool", [](Args& a) { return info(a.tensor(0).dtype()).kind >= NumberKind::Signed; }>(
      kMethod | kTool, "Whether the dtype can hold negative values.");
  def<"is_inference(Tensor input) -> bool", [](Args& a) { return static_cast<bool>(a.tensor(0)->inference); }>(
      kBoth | kTool, "Whether the tensor was made in inference_mode.");
  def<"is_tensor(object obj) -> bool", [](Args& a) { return is_tensor(a[0]); }>(kFunction | kTool,
                                                                                "Whether an object is a Tensor.");
  def<"is_same_size(Tensor input, Tensor other) -> bool", [](Args& a) {
    return a.tensor(0).shape() == a.tensor(1).shape();
  }>(kBoth | kTool, "Whether two tensors have one shape.");
  def<"_shares_storage(Tensor input, Tensor other) -> bool",
      [](Args& a) { return a.tensor(0)->storage == a.tensor(1)->storage; }>(kFunction | kTool);

  def<"to(Tensor input, DType|Device|Tensor? target=None, DType? dtype=None, bool non_blocking=False, bool "
      "copy=False, "
      "*, Device? device=None, Tensor? other=None, MemoryFormat? memory_format=None) -> Tensor",
      to>(kMethod,
          "The tensor in another dtype or on another device, or like another tensor; itself if that changes nothing. "
          "On a CPU every copy is finished when it returns, so non_blocking makes no difference.");
  def<"type(Tensor input, DType? dtype=None) -> Tensor|str", type_of>(
      kMethod, "The name of the type, or the tensor in another dtype.");
  def<"type_as(Tensor input, Tensor other) -> Tensor", [](Args& a) {
    const Tensor &x = a.tensor(0), &y = a.tensor(1);
    if (y.meta() && !x.meta()) return ops::to_meta(x, y.dtype());
    if (!y.meta()) require_memory(x);
    return converted(x, y.dtype(), false);
  }>(kMethod, "The tensor in the dtype of another.");
  def<"float(Tensor input, MemoryFormat? memory_format=None) -> Tensor", as<DType::Float32>>(kMethod,
                                                                                             "The tensor as float32.");
  def<"double(Tensor input, MemoryFormat? memory_format=None) -> Tensor", as<DType::Float64>>(kMethod,
                                                                                              "The tensor as float64.");
  def<"half(Tensor input, MemoryFormat? memory_format=None) -> Tensor", as<DType::Float16>>(kMethod,
                                                                                            "The tensor as float16.");
  def<"bfloat16(Tensor input, MemoryFormat? memory_format=None) -> Tensor", as<DType::BFloat16>>(
      kMethod, "The tensor as bfloat16.");
  def<"cfloat(Tensor input, MemoryFormat? memory_format=None) -> Tensor", as<DType::Complex64>>(
      kMethod, "The tensor as complex64.");
  def<"cdouble(Tensor input, MemoryFormat? memory_format=None) -> Tensor", as<DType::Complex128>>(
      kMethod, "The tensor as complex128.");
  def<"long(Tensor input, MemoryFormat? memory_format=None) -> Tensor", as<DType::Int64>>(
      kMethod, "The tensor as int64, towards zero.");
  def<"int(Tensor input, MemoryFormat? memory_format=None) -> Tensor", as<DType::Int32>>(
      kMethod, "The tensor as int32, towards zero.");
  def<"short(Tensor input, MemoryFormat? memory_format=None) -> Tensor", as<DType::Int16>>(
      kMethod, "The tensor as int16, towards zero.");
  def<"char(Tensor input, MemoryFormat? memory_format=None) -> Tensor", as<DType::Int8>>(
      kMethod, "The tensor as int8, towards zero.");
  def<"byte(Tensor input, MemoryFormat? memory_format=None) -> Tensor", as<DType::UInt8>>(
      kMethod, "The tensor as uint8, towards zero.");
  def<"bool(Tensor input, MemoryFormat? memory_format=None) -> Tensor", as<DType::Bool>>(
      kMethod, "Whether each element is not zero.");
  def<"cpu(Tensor input) -> Tensor", [](Args& a) {
    require_memory(a.tensor(0));
    return a.tensor(0);
  }>(kMethod | kTool, "The tensor itself: it is on the CPU.");
  def<"get_device(Tensor input) -> int", [](Args& a) { return (a.tensor(0), int64_t{-1}); }>(
      kBoth | kTool, "The number of the device: -1, a CPU.");
  def<"pin_memory(Tensor input, Device? device=None) -> Tensor", [](Args& a) { return a.tensor(0); }>(
      kMethod | kTool, "The tensor itself: there is no device for whose sake memory would be pinned.");
  def<"is_pinned(Tensor input, Device? device=None) -> bool", [](Args& a) { return (a.tensor(0), false); }>(
      kMethod | kTool, "Whether the memory is pinned: never.");
});

}  // namespace genesis::py
