#include "ops/contract.h"

#include <algorithm>
#include <cctype>
#include <limits>
#include <vector>

#include "autograd/record.h"
#include "ops/create.h"
#include "ops/matmul.h"
#include "ops/pointwise.h"
#include "ops/reduce.h"
#include "ops/scan.h"
#include "ops/shape.h"
#include "ops/view.h"

namespace genesis::ops {

namespace {

// A tensor with named dimensions. Letters are their own codes; the dimensions of an ellipsis count down from -1, the
// last one, so that they align from the right.
struct Labelled {
  Tensor tensor;
  std::vector<int> labels;

  bool has(int label) const { return std::find(labels.begin(), labels.end(), label) != labels.end(); }
  int at(int label) const { return static_cast<int>(std::find(labels.begin(), labels.end(), label) - labels.begin()); }
  int64_t size(int label) const { return tensor.size(at(label)); }

  void sum_out(const std::vector<int>& gone) {
    Dims dims;
    std::vector<int> kept;
    for (size_t d = 0; d < labels.size(); ++d) {
      if (std::find(gone.begin(), gone.end(), labels[d]) != gone.end()) dims.push_back(static_cast<int64_t>(d));
      else kept.push_back(labels[d]);
    }
    if (dims.empty()) return;
    tensor = sum(tensor, dims, false);
    labels = kept;
  }

  // Permutes the dimensions to `order`; missing ones get size 1.
  Tensor arranged(const std::vector<int>& order) const {
    Dims dims;
    for (int label : order)
      if (has(label)) dims.push_back(at(label));
    Tensor t = permute(tensor, dims);
    for (size_t d = 0; d < order.size(); ++d)
      if (!has(order[d])) t = unsqueeze(t, static_cast<int64_t>(d));
    return t;
  }
};

std::vector<int> parse(const std::string& equation, const std::string& part, int ellipsis_dims) {
  std::vector<int> labels;
  for (size_t i = 0; i < part.size(); ++i) {
    const char c = part[i];
    if (c == '.') {
      require(part.compare(i, 3, "...") == 0 && part.find("...", i + 3) == std::string::npos, "einsum: '", part,
              "' in '", equation, "': an ellipsis is three dots and stands once");
      for (int d = ellipsis_dims; d >= 1; --d) labels.push_back(-d);
      i += 2;
    } else {
      require(std::isalpha(static_cast<unsigned char>(c)) != 0, "einsum: '", std::string(1, c), "' in '", equation,
              "' is not a letter");
      labels.push_back(c);
    }
  }
  return labels;
}

// Replaces repeated letters by a diagonal, which becomes the last dimension.
void take_diagonals(Labelled& x, size_t number) {
  for (size_t d = 0; d < x.labels.size(); ++d) {
    const auto twin = std::find(x.labels.begin() + static_cast<std::ptrdiff_t>(d) + 1, x.labels.end(), x.labels[d]);
    if (twin == x.labels.end()) continue;
    const int label = x.labels[d], a = static_cast<int>(d), b = static_cast<int>(twin - x.labels.begin());
    require(x.tensor.size(a) == x.tensor.size(b), "einsum: '", std::string(1, static_cast<char>(label)),
            "' stands for sizes ", x.tensor.size(a), " and ", x.tensor.size(b), " in operand ", number);
    x.tensor = diagonal(x.tensor, 0, a, b);
    x.labels.erase(twin);
    x.labels.erase(x.labels.begin() + a);
    x.labels.push_back(label);
    d = static_cast<size_t>(-1);  // positions have changed: start again
  }
}

Labelled read_operand(const std::string& equation, const std::string& part, const Tensor& t, size_t number) {
  const bool ellipsis = part.find("...") != std::string::npos;
  const int letters = static_cast<int>(part.size()) - (ellipsis ? 3 : 0);
  require(ellipsis ? letters <= t.dim() : letters == t.dim(), "einsum: '", part, "' names ", letters,
          " dimensions, but operand ", number, " has shape ", t.shape());
  Labelled x{t, parse(equation, part, t.dim() - letters)};
  take_diagonals(x, number);
  return x;
}

// The product of x and y. It has the labels of both, without those that are not needed any more.
Labelled multiply(Labelled x, Labelled y, const std::vector<int>& needed) {
  const auto is_needed = [&](int l) { return std::find(needed.begin(), needed.end(), l) != needed.end(); };
  const auto alone = [&](const Labelled& a, const Labelled& b) {
    std::vector<int> gone;
    for (int l : a.labels)
      if (!b.has(l) && !is_needed(l)) gone.push_back(l);
    return gone;
  };
  x.sum_out(alone(x, y));
  y.sum_out(alone(y, x));
  std::vector<int> batch, contracted, left, right;
  for (int l : x.labels) (y.has(l) ? (is_needed(l) ? batch : contracted) : left).push_back(l);
  for (int l : y.labels)
    if (!x.has(l)) right.push_back(l);

  // To (batch..., left, contracted) @ (batch..., contracted, right); a size of 1 broadcasts.
  const auto size_of = [&](int l) { return x.size(l) == 1 ? y.size(l) : x.size(l); };
  const auto matrix = [&](const Labelled& t, const std::vector<int>& first, const std::vector<int>& second) {
    std::vector<int> order = batch;
    order.insert(order.end(), first.begin(), first.end());
    order.insert(order.end(), second.begin(), second.end());
    Tensor m = t.arranged(order);
    Dims expanded, flat;
    int64_t rows = 1, cols = 1;
    for (size_t d = 0; d < order.size(); ++d) {
      const bool shared = x.has(order[d]) && y.has(order[d]);
      expanded.push_back(shared ? size_of(order[d]) : m.size(static_cast<int>(d)));
      if (d < batch.size()) flat.push_back(expanded.back());
      else (d < batch.size() + first.size() ? rows : cols) *= expanded.back();
    }
    flat.push_back(rows);
    flat.push_back(cols);
    return reshape(expand(m, expanded), flat);
  };
  const Tensor rows = matrix(x, left, contracted), columns = matrix(y, contracted, right);
  // Without a contraction, multiply columns by rows elementwise, so that dtypes are promoted.
  Tensor z = contracted.empty() ? mul(rows, columns) : matmul(rows, columns);
  Labelled result;
  Dims shape;
  for (int l : batch) {
    result.labels.push_back(l);
    shape.push_back(size_of(l));
  }
  for (int l : left) {
    result.labels.push_back(l);
    shape.push_back(x.size(l));
  }
  for (int l : right) {
    result.labels.push_back(l);
    shape.push_back(y.size(l));
  }
  result.tensor = reshape(z, shape);
  return result;
}

}  // namespace

Tensor einsum(const std::string& text, const std::vector<Tensor>& operands) {
  std::string equation;
  for (char c : text)
    if (c != ' ') equation += c;
  const size_t arrow = equation.find("->");
  const std::string left = equation.substr(0, arrow);
  std::vector<std::string> parts(1);
  for (char c : left) {
    if (c == ',') parts.emplace_back();
    else parts.back() += c;
  }
  require(parts.size() == operands.size() && !operands.empty(), "einsum: '", text, "' describes ", parts.size(),
          " operands, got ", operands.size());

  std::vector<Labelled> inputs;
  int ellipsis_dims = 0;
  std::vector<int> counts(128, 0);
  for (size_t i = 0; i < parts.size(); ++i) {
    for (char c : parts[i])
      if (c != '.') ++counts[static_cast<size_t>(c) & 127];
    inputs.push_back(read_operand(text, parts[i], operands[i], i));
    for (int l : inputs.back().labels) ellipsis_dims = std::max(ellipsis_dims, -l);
  }
  std::vector<int> out;
  if (arrow != std::string::npos) {
    out = parse(text, equation.substr(arrow + 2), ellipsis_dims);
  } else {  // the dimensions of the ellipsis, then the letters that occur once, in alphabetical order
    for (int d = ellipsis_dims; d >= 1; --d) out.push_back(-d);
    for (int c = 'A'; c <= 'z'; ++c)
      if (counts[static_cast<size_t>(c)] == 1) out.push_back(c);
  }
  for (size_t i = 0; i < out.size(); ++i) {
    const std::string shown = out[i] < 0 ? "..." : std::string(1, static_cast<char>(out[i]));
    require(std::find(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(i), out[i]) ==
                out.begin() + static_cast<std::ptrdiff_t>(i),
            "einsum: '", shown, "' stands twice in the output of '", text, "'");
    require(std::any_of(inputs.begin(), inputs.end(), [&](const Labelled& x) { return x.has(out[i]); }), "einsum: '",
            shown, "' in the output of '", text, "' is in no operand");
  }
  for (const Labelled& x : inputs)
    for (const Labelled& y : inputs)
      for (int l : x.labels)
        require(!y.has(l) || x.size(l) == y.size(l) || x.size(l) == 1 || y.size(l) == 1, "einsum: '",
                l < 0 ? "..." : std::string(1, static_cast<char>(l)), "' in '", text, "' stands for sizes ", x.size(l),
                " and ", y.has(l) ? y.size(l) : 0, " of operands ", x.tensor.shape(), " and ", y.tensor.shape(),
                "; use two letters, or transpose an operand");

  Labelled result = inputs[0];
  for (size_t i = 1; i < inputs.size(); ++i) {
    std::vector<int> needed = out;
    for (size_t j = i + 1; j < inputs.size(); ++j)
      needed.insert(needed.end(), inputs[j].labels.begin(), inputs[j].labels.end());
    result = multiply(result, inputs[i], needed);
  }
  std::vector<int> gone;
  for (int l : result.labels)
    if (std::find(out.begin(), out.end(), l) == out.end()) gone.push_back(l);
  result.sum_out(gone);
  return result.arranged(out);
}

Tensor tensordot(const Tensor& left, const Tensor& right, const Dims& x_dims, const Dims& y_dims) {
  Tensor x = left, y = right;
  require(x_dims.size() == y_dims.size(), "tensordot: ", x_dims.size(), " dims of the first tensor and ", y_dims.size(),
          " of the second; they are summed over in pairs");
  InlineVec<bool, 8> x_used(std::max(x.dim(), 1), false), y_used(std::max(y.dim(), 1), false);
  Dims xs, ys;
  int64_t inner = 1;
  for (int i = 0; i < x_dims.size(); ++i) {
    const int a = wrap_dim("tensordot", x_dims[i], x.dim()), b = wrap_dim("tensordot", y_dims[i], y.dim());
    require(!x_used[a] && !y_used[b], "tensordot: a dimension is given twice in dims ", x_dims, " and ", y_dims);
    require(x.dim() > 0 && y.dim() > 0 && (x.size(a) == y.size(b) || x.size(a) == 1 || y.size(b) == 1),
            "tensordot: dimension ", a, " of shape ", x.shape(), " and dimension ", b, " of shape ", y.shape(),
            " differ");
    // A size of 1 broadcasts: it multiplies the sum of the other dimension.
    if (x.size(a) != y.size(b)) {
      if (x.size(a) == 1) y = sum(y, {b}, true, y.dtype());
      else x = sum(x, {a}, true, x.dtype());
    }
    x_used[a] = y_used[b] = true;
    xs.push_back(a);
    ys.push_back(b);
    inner *= x.size(a);
  }
  Dims shape, x_order, y_order = ys;
  int64_t rows = 1, cols = 1;
  for (int d = 0; d < x.dim(); ++d)
    if (!x_used[d]) {
      x_order.push_back(d);
      shape.push_back(x.size(d));
      rows *= x.size(d);
    }
  for (int64_t d : xs) x_order.push_back(d);
  for (int d = 0; d < y.dim(); ++d)
    if (!y_used[d]) {
      y_order.push_back(d);
      shape.push_back(y.size(d));
      cols *= y.size(d);
    }
  return reshape(matmul(reshape(permute(x, x_order), {rows, inner}), reshape(permute(y, y_order), {inner, cols})),
                 shape);
}

Tensor kron(const Tensor& x, const Tensor& y) {
  const int n = std::max(x.dim(), y.dim());
  Dims a, b, shape;
  for (int d = 0; d < n; ++d) {
    const int64_t p = d < n - x.dim() ? 1 : x.size(d - (n - x.dim())),
                  q = d < n - y.dim() ? 1 : y.size(d - (n - y.dim()));
    a.push_back(p);
    a.push_back(1);
    b.push_back(1);
    b.push_back(q);
    shape.push_back(p * q);
  }
  return reshape(mul(reshape(x, a), reshape(y, b)), shape);
}

Tensor trace(const Tensor& x) {
  require(x.dim() == 2, "trace: input must be a matrix, got shape ", x.shape());
  return sum(diagonal(x), {0}, false);
}

Tensor cross(const Tensor& x, const Tensor& y, int64_t dim) {
  const Dims shape = broadcast_shapes("cross", x.shape(), y.shape());
  const int d = wrap_dim("cross", dim, shape.size());
  const Tensor a = expand(x, shape), b = expand(y, shape);
  require(shape.size() > 0 && shape[d] == 3, "cross: dimension ", d, " must have size 3, got shape ", shape);
  const auto rolled = [&](const Tensor& t, int64_t by) { return roll(t, {by}, {d}); };
  return sub(mul(rolled(a, -1), rolled(b, -2)), mul(rolled(a, -2), rolled(b, -1)));
}

Tensor vander(const Tensor& x, int64_t columns, bool increasing) {
  const Tensor base = is_integral(x.dtype()) ? cast(x, DType::Int64) : x;
  if (columns == 0) {
    Dims shape = x.shape();
    shape.push_back(0);
    return untracked(empty(shape, base.dtype()));
  }
  Dims shape = x.shape();
  shape.push_back(columns - 1);
  const Tensor one = full_like(unsqueeze(base, -1), 1, base.dtype());
  const Tensor powers = cat(std::vector<Tensor>{one, cumprod(expand(unsqueeze(base, -1), shape), -1)}, -1);
  return increasing ? powers : flip(powers, {-1});
}

// cost[i][j]: the cost of the product of matrices i to j with the best split; sizes[i] and sizes[i + 1] are those of
// matrix i.
Tensor multi_dot(const char* op, const std::vector<Tensor>& tensors) {
  const size_t n = tensors.size();
  require(n >= 2, op, ": expected at least 2 tensors, got ", n);
  std::vector<Tensor> matrices = tensors;
  const bool row = tensors.front().dim() == 1, column = tensors.back().dim() == 1;
  if (row) matrices.front() = unsqueeze(matrices.front(), 0);
  if (column) matrices.back() = unsqueeze(matrices.back(), 1);
  std::vector<double> sizes;
  for (size_t i = 0; i < n; ++i) {
    require(matrices[i].dim() == 2, op, ": tensor ", i, " must have ", i == 0 || i + 1 == n ? "1 or 2" : "2",
            " dimensions, got shape ", tensors[i].shape());
    require<DTypeError>(matrices[i].dtype() == matrices[0].dtype(), op, ": tensor 0 is ", matrices[0].dtype(),
                        " but tensor ", i, " is ", matrices[i].dtype(), "; convert one of them");
    require(i == 0 || matrices[i].size(0) == matrices[i - 1].size(1), op, ": tensors ", i - 1, " and ", i,
            " of shapes ", tensors[i == 0 ? 0 : i - 1].shape(), " and ", tensors[i].shape(), " cannot be multiplied");
    sizes.push_back(static_cast<double>(matrices[i].size(0)));
  }
  sizes.push_back(static_cast<double>(matrices.back().size(1)));
  std::vector<std::vector<double>> cost(n, std::vector<double>(n, 0));
  std::vector<std::vector<size_t>> split(n, std::vector<size_t>(n, 0));
  for (size_t length = 1; length < n; ++length)
    for (size_t i = 0; i + length < n; ++i) {
      const size_t j = i + length;
      cost[i][j] = std::numeric_limits<double>::infinity();
      for (size_t k = i; k < j; ++k) {
        const double c = cost[i][k] + cost[k + 1][j] + sizes[i] * sizes[k + 1] * sizes[j + 1];
        if (c >= cost[i][j]) continue;
        cost[i][j] = c;
        split[i][j] = k;
      }
    }
  const auto product = [&](const auto& self, size_t i, size_t j) -> Tensor {
    if (i == j) return matrices[i];
    return matmul(self(self, i, split[i][j]), self(self, split[i][j] + 1, j));
  };
  Tensor y = product(product, 0, n - 1);
  if (row) y = squeeze(y, {0});
  return column ? squeeze(y, {-1}) : y;
}

}  // namespace genesis::ops
