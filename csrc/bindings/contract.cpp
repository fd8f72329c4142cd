#include "ops/contract.h"

#include "bindings/args.h"
#include "bindings/module.h"
#include "ops/shape.h"

namespace genesis::py {

// The letters of a list of dimensions: [0, ..., 1] is A...B.
static std::string letters_of(PyObject* dims) {
  const Object list(PySequence_Fast(dims, "einsum: after each tensor, pass the list of the numbers of its dimensions"));
  std::string letters;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(list.get()); ++i) {
    PyObject* const item = PySequence_Fast_GET_ITEM(list.get(), i);
    if (item == Py_Ellipsis) {
      letters += "...";
      continue;
    }
    const int64_t number = to_index(item, "einsum");
    require(number >= 0 && number < 52, "einsum: the number of a dimension must be from 0 to 51, got ", number);
    letters += static_cast<char>(number < 26 ? 'A' + number : 'a' + number - 26);
  }
  return letters;
}

// einsum(x, [0, 1], y, [1, 2], [0, 2]): einsum('AB,BC->AC', x, y).
static PyObject* einsum_of_lists(PyObject* first, std::span<PyObject* const> rest) {
  require(!rest.empty(), "einsum: after each tensor, pass the list of the numbers of its dimensions");
  std::string equation = letters_of(rest[0]);
  std::vector<PyObject*> arguments{nullptr, first};
  size_t i = 1;
  for (; i + 1 < rest.size(); i += 2) {
    equation += "," + letters_of(rest[i + 1]);
    arguments.push_back(rest[i]);
  }
  if (i < rest.size()) equation += "->" + letters_of(rest[i]);
  const Object text(PyUnicode_FromString(equation.c_str())), module(PyImport_ImportModule("genesis._C"));
  const Object einsum(PyObject_GetAttrString(module.get(), "einsum"));
  arguments[0] = text.get();
  return Object(PyObject_Vectorcall(einsum.get(), arguments.data(), arguments.size(), nullptr)).release();
}

static const Family family({.kind = Kind::Matrix, .page = "matrix"}, [] {
  def<"einsum(str equation, Tensor *operands) -> Tensor",
      [](Args& a) -> PyObject* {
        if (is_tensor(a[0])) return einsum_of_lists(a[0], a.rest());
        return to_python(ops::einsum(a.string(0), a.tensors(1)));
      }>(kFunction,
         "Sums of products in Einstein's notation, e.g. einsum('ij,jk->ik', x, y) or, with numbers in place of "
         "letters, einsum(x, [0, 1], y, [1, 2], [0, 2]).",
         {.autocast = Cast::Low, .flops = Flops::Contraction});
  def<"tensordot(Tensor a, Tensor b, int|int[][] dims=2, *, Tensor? out=None) -> Tensor", [](Args& a) {
    const Tensor &x = a.tensor(0), &y = a.tensor(1);
    Dims x_dims, y_dims;
    if (!a.has(2) || PyLong_Check(a[2])) {
      const int64_t n = a.integer(2);
      require(n >= 0 && n <= x.dim() && n <= y.dim(), "tensordot: dims=", n, " does not fit shapes ", x.shape(),
              " and ", y.shape());
      for (int64_t i = 0; i < n; ++i) {
        x_dims.push_back(x.dim() - n + i);
        y_dims.push_back(i);
      }
    } else {
      if (!PySequence_Check(a[2]) || PySequence_Size(a[2]) != 2) a.fail(2, "an int or a pair of lists of ints");
      const auto read = [&](Py_ssize_t side, Dims& dims) {
        const Object list(PySequence_GetItem(a[2], side));
        if (PyLong_Check(list.get())) return dims.push_back(to_index(list.get(), "tensordot"));
        const Object items(PySequence_Fast(list.get(), "tensordot: dims must be a pair of lists of ints"));
        for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); ++i)
          dims.push_back(to_index(PySequence_Fast_GET_ITEM(items.get(), i), "tensordot"));
      };
      read(0, x_dims);
      read(1, y_dims);
    }
    return ops::tensordot(x, y, x_dims, y_dims);
  }>(kFunction, "The sum of products over pairs of dimensions.", {.autocast = Cast::Low, .flops = Flops::Contraction});
  def<"kron(Tensor input, Tensor other, *, Tensor? out=None) -> Tensor", [](Args& a) {
    return ops::kron(a.tensor(0), a.tensor(1));
  }>(kBoth, "The Kronecker product.", {.flops = Flops::Output});
  def<"vander(Tensor x, int? N=None, bool increasing=False) -> Tensor",
      [](Args& a) {
        const Tensor& x = a.tensor(0);
        require(x.dim() == 1, "vander: x must have one dimension, got shape ", x.shape(), "; see linalg.vander()");
        const int64_t columns = a.integer(1, x.size(0));
        require(columns >= 0, "vander: N must not be negative, got ", columns);
        return ops::vander(x, columns, a.boolean(2));
      }>(kFunction, "The matrix of the powers N - 1, ..., 1, 0 of each element, or of 0, 1, ... if increasing.",
         {.kind = Kind::Create, .page = "creation"});
  def<"linalg_vander(Tensor x, int? N=None) -> Tensor", [](Args& a) {
    const Tensor& x = a.tensor(0);
    const int64_t columns = a.integer(1, x.dim() == 0 ? 1 : x.size(-1));
    require(columns > 1, "linalg.vander: N must be greater than 1, got ", columns);
    return ops::vander(ops::atleast_nd(x, 1), columns, true);
  }>(kFunction, "The powers 0, 1, ..., N - 1 of each element, along a new last dimension.", {.kind = Kind::Create});
  def<"trace(Tensor input) -> Tensor", [](Args& a) { return ops::trace(a.tensor(0)); }>(
      kBoth, "The sum of the diagonal of a matrix.",
      {.kind = Kind::Reduction, .autocast = Cast::Wide, .takes = Takes::Complex});
  def<"cross(Tensor input, Tensor other, int? dim=None, *, Tensor? out=None) -> Tensor", [](Args& a) {
    const Tensor &x = a.tensor(0), &y = a.tensor(1);
    int64_t dim = -1;
    if (a.has(2)) dim = a.integer(2);
    else
      for (int d = x.dim() - 1; d >= 0; --d)
        if (x.size(d) == 3) dim = d;
    return ops::cross(x, y, dim);
  }>(kBoth, "The cross product of vectors of three elements.", {.kind = Kind::Pointwise});
});

}  // namespace genesis::py
