// Losses. The terms of a pointwise loss are summed tile by tile, in the cache. Cross-entropy reads the scores once, and
// twice for the gradient; the exponentials of many short rows are computed together.
#include "kernels/loss/loss.h"

#include <cmath>
#include <limits>
#include <vector>

#include "kernels/elementwise/loops.h"
#include "kernels/elementwise/vecmath.h"
#include "kernels/reduce/loops.h"
#include "kernels/reduce/monoids.h"
#include "kernels/work.h"

namespace genesis::kernels::GENESIS_ISA {

namespace {

template <class T>
struct Larger : Max<T> {  // NaN appears in the sum that follows
  template <class V>
  static V op(V a, V b) {
    return b > a ? b : a;
  }
};

// ---- pointwise -----------------------------------------------------------------------------------------------------

template <class T>
[[gnu::always_inline]] inline T at_least(T x, T bound) {
  return x < bound ? bound : x;  // keeps NaN
}

struct Squared {
  template <class T>
  [[gnu::always_inline]] static T value(T x, T y, T) {
    return (x - y) * (x - y);
  }
  template <class T>
  [[gnu::always_inline]] static T slope(T x, T y, T) {
    return T(2) * (x - y);
  }
};
struct Absolute {
  template <class T>
  [[gnu::always_inline]] static T value(T x, T y, T) {
    return vec::abs(x - y);
  }
  template <class T>
  [[gnu::always_inline]] static T slope(T x, T y, T) {
    const T d = x - y;
    return d > T(0) ? T(1) : d < T(0) ? T(-1) : d;
  }
};
struct SmoothL1 {
  template <class T>
  [[gnu::always_inline]] static T value(T x, T y, T beta) {
    const T d = vec::abs(x - y);
    return d < beta ? T(0.5) * d * d / beta : d - T(0.5) * beta;
  }
  template <class T>
  [[gnu::always_inline]] static T slope(T x, T y, T beta) {
    const T d = x - y;
    return d <= -beta ? T(-1) : d >= beta ? T(1) : d / beta;
  }
};
struct Huber {
  template <class T>
  [[gnu::always_inline]] static T value(T x, T y, T delta) {
    const T d = vec::abs(x - y);
    return d <= delta ? T(0.5) * d * d : delta * (d - T(0.5) * delta);
  }
  template <class T>
  [[gnu::always_inline]] static T slope(T x, T y, T delta) {
    const T d = x - y;
    return d < -delta ? -delta : d > delta ? delta : d;
  }
};
struct BinaryEntropy {
  template <class T>
  [[gnu::always_inline]] static T value(T x, T y, T) {
    return (y - T(1)) * at_least(vlog1p(-x), T(-100)) - y * at_least(vlog(x), T(-100));
  }
  template <class T>
  [[gnu::always_inline]] static T slope(T x, T y, T) {
    return (x - y) / at_least(x * (T(1) - x), T(1e-12));
  }
};
struct LogitEntropy {
  template <class T>
  [[gnu::always_inline]] static T value(T x, T y, T) {
    // softplus(x) - x y, without a difference of two infinities.
    const T share = x > T(0) ? T(1) - y : y, size = vec::abs(x);
    return vsoftplus(-size) + (share == T(0) ? T(0) : share * size);
  }
  template <class T>
  [[gnu::always_inline]] static T slope(T x, T y, T) {
    return vsigmoid(x) - y;
  }
};

// Calls f.template operator()<Loss>().
template <class F>
auto with_loss(PointwiseLoss loss, F&& f) {
  switch (loss) {
    case PointwiseLoss::Squared: return f.template operator()<Squared>();
    case PointwiseLoss::Absolute: return f.template operator()<Absolute>();
    case PointwiseLoss::SmoothL1: return f.template operator()<SmoothL1>();
    case PointwiseLoss::Huber: return f.template operator()<Huber>();
    case PointwiseLoss::BinaryEntropy: return f.template operator()<BinaryEntropy>();
    default: return f.template operator()<LogitEntropy>();
  }
}

template <class Loss>
struct Value {
  struct Params {
    double parameter;
  };
  template <class T>
  [[gnu::always_inline]] static T apply(T x, T y, const Params& p) {
    return Loss::value(x, y, T(p.parameter));
  }
};
template <class Loss>
struct Slope {
  struct Params {
    double parameter, scale;
  };
  template <class T>
  [[gnu::always_inline]] static T apply(T dz, T x, T y, const Params& p) {
    return dz * T(p.scale) * Loss::slope(x, y, T(p.parameter));
  }
};

static_assert(kGrain % kTile == 0);

template <class Loss, class T>
double sum_of(View x, View y, T parameter) {
  const int64_t n = x.numel(), item = itemsize(x.dtype);
  const bool direct = x.dtype == dtype_of<T>;
  std::vector<double> parts(static_cast<size_t>(ceil_div(n, kGrain)));
  parallel_for(n, kGrain, [&](int64_t begin, int64_t end) {
    alignas(64) T terms[kTile], xs[kTile], ys[kTile];
    double total = 0;
    for (int64_t at = begin; at < end; at += kTile) {
      const int64_t m = std::min(kTile, end - at);
      const T *a = x.as<T>() + (direct ? at : 0), *b = y.as<T>() + (direct ? at : 0);
      if (!direct) {
        gather(xs, dtype_of<T>, x.as<char>() + at * item, item, x.dtype, m);
        gather(ys, dtype_of<T>, y.as<char>() + at * item, item, y.dtype, m);
        a = xs;
        b = ys;
      }
#pragma GCC ivdep
      for (int64_t i = 0; i < m; ++i) terms[i] = Loss::value(a[i], b[i], parameter);
      total += Monoid<Sum<T>>::block(terms, m);
    }
    parts[static_cast<size_t>(begin / kGrain)] = total;
  });
  double total = 0;
  for (const double part : parts) total += part;
  return total;
}

// ---- cross-entropy -------------------------------------------------------------------------------------------------

template <class T>
class Cases {
 public:
  explicit Cases(const CrossEntropy& p) : p_(p), weight_(static_cast<const T*>(p.weight)) {
    if (p.smoothing == 0) return;
    for (int64_t c = 0; c < p.classes; ++c) spread_ += weight_ ? double(weight_[c]) : 1.0;
    spread_ *= p.smoothing / static_cast<double>(p.classes);
  }
  bool ignored(int64_t y) const { return y == p_.ignored; }
  // The part of the target distribution at class y that exceeds the smoothing term of all classes.
  T peak(int64_t y) const { return T((1 - p_.smoothing) * (weight_ ? double(weight_[y]) : 1.0)); }
  T share(int64_t c) const { return T(p_.smoothing / static_cast<double>(p_.classes)) * (weight_ ? weight_[c] : T(1)); }
  T total(int64_t y) const { return peak(y) + T(spread_); }
  bool smooth() const { return p_.smoothing != 0; }
  // -sum(t * (x - largest - log)), where x of class c is x[c * step].
  double loss(const T* x, int64_t step, T largest, T log, int64_t y) const {
    const auto term = [&](int64_t c) { return (double(largest) - double(x[c * step])) + double(log); };
    double result = double(peak(y)) * term(y);
    if (!smooth()) return result;
    double part[8] = {};  // independent sums hide the latency of additions
    int64_t c = 0;
    for (; c + 8 <= p_.classes; c += 8)
      for (int64_t j = 0; j < 8; ++j) part[j] += (weight_ ? double(weight_[c + j]) : 1.0) * term(c + j);
    for (; c < p_.classes; ++c) part[0] += (weight_ ? double(weight_[c]) : 1.0) * term(c);
    for (double sum : part) result += sum * p_.smoothing / static_cast<double>(p_.classes);
    return result;
  }

 private:
  const CrossEntropy& p_;
  const T* weight_;
  double spread_ = 0;  // the sum of all shares
};

// Splits the cases into pieces: contiguous rows (inner == 1), several at a time if they fit in a tile, or columns of a
// matrix (classes, inner), up to kTile at a time.
struct Pieces {
  bool rows;
  int64_t size, count;  // cases per piece; number of pieces
  explicit Pieces(const CrossEntropy& p) : rows(p.inner == 1) {
    size = std::max<int64_t>(1, rows ? kTile / std::max<int64_t>(1, p.classes) : std::min<int64_t>(kTile, p.inner));
    count = rows ? ceil_div(p.outer, size) : p.outer * ceil_div(p.inner, size);
  }
  struct Piece {
    int64_t first_case, cases, x;  // x: offset of its first score
  };
  Piece operator()(const CrossEntropy& p, int64_t i) const {
    if (rows) return {i * size, std::min(size, p.outer - i * size), i * size * p.classes};
    const int64_t across = ceil_div(p.inner, size), o = i / across, column = i % across * size;
    return {o * p.inner + column, std::min(size, p.inner - column), o * p.classes * p.inner + column};
  }
  int64_t grain(const CrossEntropy& p) const {
    return std::max<int64_t>(1, 8192 / std::max<int64_t>(1, size * p.classes));
  }
};

// The scores of a piece in the compute dtype, in place or gathered. Element (class c, case j) is data[c * step + j *
// stride].
template <class T>
struct Scores {
  const T* data;
  int64_t step, stride;
  Scores(std::vector<T>& space, const View& x, const CrossEntropy& p, const Pieces& pieces,
         const Pieces::Piece& piece) {
    const int64_t item = itemsize(x.dtype);
    const char* from = static_cast<const char*>(x.data) + piece.x * item;
    step = pieces.rows ? 1 : p.inner;
    stride = pieces.rows ? p.classes : 1;
    if (x.dtype == dtype_of<T>) {
      data = reinterpret_cast<const T*>(from);
      return;
    }
    space.resize(static_cast<size_t>(piece.cases * p.classes));
    data = space.data();
    if (pieces.rows) {
      gather(space.data(), dtype_of<T>, from, item, x.dtype, piece.cases * p.classes);
    } else {
      for (int64_t c = 0; c < p.classes; ++c)
        gather(space.data() + c * piece.cases, dtype_of<T>, from + c * p.inner * item, item, x.dtype, piece.cases);
      step = piece.cases;
    }
  }
};

template <class T>
T row_max(const T* x, int64_t n) {
  using Most = Monoid<Larger<T>>;
  constexpr int w = kLanes<T>;
  if (n >= 4 * w) return Most::block(x, n);
  if (n < w) {
    T largest = x[0];
    for (int64_t i = 1; i < n; ++i) largest = x[i] > largest ? x[i] : largest;
    return largest;
  }
  Vector<T> largest = load(x + n - w);
  for (int64_t i = 0; i + w < n; i += w) largest = Larger<T>::op(largest, load(x + i));
  return Most::across(largest);
}

template <class T>
void take_logs(T* out, const double* total, int64_t n) {
#pragma GCC ivdep
  for (int64_t j = 0; j < n; ++j) out[j] = static_cast<T>(vlog(total[j]));
}

// The largest score of each case of a piece, and log(sum(exp(x - largest))). A NaN among the scores makes the sum NaN,
// whatever the maximum is.
template <class T>
void log_sums(T* largest, T* logs, const Scores<T>& x, const CrossEntropy& p, bool rows, int64_t cases) {
  alignas(64) T e[kTile];
  double total[kTile];
  if (!rows) {
    std::copy_n(x.data, cases, largest);
    for (int64_t c = 1; c < p.classes; ++c) {
      const T* row = x.data + c * x.step;
#pragma GCC ivdep
      for (int64_t j = 0; j < cases; ++j) largest[j] = row[j] > largest[j] ? row[j] : largest[j];
    }
    std::fill_n(total, cases, 0.0);
    for (int64_t c = 0; c < p.classes; ++c) {
      const T* row = x.data + c * x.step;
#pragma GCC ivdep
      for (int64_t j = 0; j < cases; ++j) e[j] = vexp(row[j] - largest[j]);
      for (int64_t j = 0; j < cases; ++j) total[j] += e[j];
    }
    return take_logs(logs, total, cases);
  }
  if (p.classes > kTile) {  // one row per piece
    largest[0] = row_max(x.data, p.classes);
    total[0] = 0;
    for (int64_t at = 0; at < p.classes; at += kTile) {
      const int64_t m = std::min(kTile, p.classes - at);
#pragma GCC ivdep
      for (int64_t i = 0; i < m; ++i) e[i] = vexp(x.data[at + i] - largest[0]);
      total[0] += Monoid<Sum<T>>::block(e, m);
    }
    return take_logs(logs, total, 1);
  }
  for (int64_t j = 0; j < cases; ++j) {
    const T* row = x.data + j * p.classes;
    largest[j] = row_max(row, p.classes);
    for (int64_t c = 0; c < p.classes; ++c) e[j * p.classes + c] = row[c] - largest[j];
  }
#pragma GCC ivdep
  for (int64_t i = 0; i < cases * p.classes; ++i) e[i] = vexp(e[i]);
  for (int64_t j = 0; j < cases; ++j) total[j] = Monoid<Sum<T>>::block(e + j * p.classes, p.classes);
  take_logs(logs, total, cases);
}

template <class T>
double forward(View loss, View log_sum, View x, const CrossEntropy& p) {
  const Pieces pieces(p);
  const Cases<T> target(p);
  const int64_t grain = pieces.grain(p);
  std::vector<double> parts(static_cast<size_t>(ceil_div(pieces.count, grain)));
  const Output to(loss);
  parallel_for(pieces.count, grain, [&](int64_t begin, int64_t end) {
    std::vector<T> space;
    double total = 0;
    for (int64_t i = begin; i < end; ++i) {
      const Pieces::Piece piece = pieces(p, i);
      const Scores<T> scores(space, x, p, pieces, piece);
      T *largest = log_sum.as<T>() + piece.first_case, *logs = largest + p.outer * p.inner;
      log_sums(largest, logs, scores, p, pieces.rows, piece.cases);
      for (int64_t j = 0; j < piece.cases; ++j) {
        const int64_t y = p.y[piece.first_case + j];
        const double value =
            target.ignored(y) ? 0 : target.loss(scores.data + j * scores.stride, scores.step, largest[j], logs[j], y);
        total += value;
        if (to) to.put(piece.first_case + j, static_cast<T>(value));
      }
    }
    parts[static_cast<size_t>(begin / grain)] = total;
  });
  double total = 0;
  for (const double part : parts) total += part;
  return total;
}

// The gradient of one piece, before it is converted to the dtype of dx.
template <class T>
struct GradPiece {
  T* out;
  int64_t step;    // between classes
  int64_t stride;  // between cases
  int64_t cases, classes;
  const int64_t* y;  // the class of each case
  const Cases<T>& target;

  // factor * softmax(scores) if the classes of a case are contiguous. exp() runs over all cases at once.
  void softmax_rows(const Scores<T>& scores, const T* largest, const T* logs, const T* factor) const {
    for (int64_t j = 0; j < cases; ++j) {
      const T* row = scores.data + j * classes;
      T* row_out = out + j * classes;
      const T most = largest[j], log = logs[j];
#pragma GCC ivdep
      for (int64_t c = 0; c < classes; ++c) row_out[c] = (row[c] - most) - log;
    }
    const int64_t m = cases * classes;
#pragma GCC ivdep
    for (int64_t k = 0; k < m; ++k) out[k] = vexp(out[k]);
    for (int64_t j = 0; j < cases; ++j) {
      T* row_out = out + j * classes;
      // An ignored case has zero gradient, even if its scores are infinite.
      if (target.ignored(y[j])) std::fill_n(row_out, classes, T(0));
      else
        for (int64_t c = 0; c < classes; ++c) row_out[c] *= factor[j];
    }
  }
  // The same if the cases are contiguous.
  void softmax_columns(const Scores<T>& scores, const T* largest, const T* logs, const T* factor) const {
    for (int64_t c = 0; c < classes; ++c) {
      const T* row = scores.data + c * scores.step;
      T* row_out = out + c * step;
#pragma GCC ivdep
      for (int64_t j = 0; j < cases; ++j)
        row_out[j] = factor[j] == T(0) ? T(0) : factor[j] * vexp((row[j] - largest[j]) - logs[j]);
    }
  }
  // Subtracts slope(case) times the target distribution.
  template <class Slope>
  void subtract_target(const Slope& slope) const {
    for (int64_t j = 0; j < cases; ++j) {
      if (target.ignored(y[j])) continue;
      const T s = slope(j);
      T* at = out + j * stride;
      at[y[j] * step] -= s * target.peak(y[j]);
      if (target.smooth())
        for (int64_t c = 0; c < classes; ++c) at[c * step] -= s * target.share(c);
    }
  }
};

template <class T>
void backward(View dx, View dz, View x, View log_sum, double scale, const CrossEntropy& p) {
  const Pieces pieces(p);
  const Cases<T> target(p);
  const int64_t n = p.outer * p.inner, item = itemsize(dx.dtype);
  const bool direct = dx.dtype == dtype_of<T>;
  std::vector<T> g(static_cast<size_t>(dz.ndim == 0 ? 1 : n));
  gather(g.data(), dtype_of<T>, dz.data, itemsize(dz.dtype), dz.dtype, static_cast<int64_t>(g.size()));
  const auto slope = [&](int64_t at) { return g[dz.ndim == 0 ? 0 : static_cast<size_t>(at)] * T(scale); };
  parallel_for(pieces.count, pieces.grain(p), [&](int64_t begin, int64_t end) {
    std::vector<T> space, result;
    alignas(64) T factor[kTile];
    for (int64_t i = begin; i < end; ++i) {
      const Pieces::Piece piece = pieces(p, i);
      const Scores<T> scores(space, x, p, pieces, piece);
      const T *largest = log_sum.as<T>() + piece.first_case, *logs = largest + n;
      const int64_t* y = p.y + piece.first_case;
      char* to = static_cast<char*>(dx.data) + piece.x * item;
      if (!direct) result.resize(static_cast<size_t>(piece.cases * p.classes));
      const int64_t step = pieces.rows ? 1 : direct ? p.inner : piece.cases, stride = pieces.rows ? p.classes : 1;
      const GradPiece<T> grad{
          direct ? reinterpret_cast<T*>(to) : result.data(), step, stride, piece.cases, p.classes, y, target};
      for (int64_t j = 0; j < piece.cases; ++j)
        factor[j] = target.ignored(y[j]) ? T(0) : slope(piece.first_case + j) * target.total(y[j]);
      if (pieces.rows) grad.softmax_rows(scores, largest, logs, factor);
      else grad.softmax_columns(scores, largest, logs, factor);
      grad.subtract_target([&](int64_t j) { return slope(piece.first_case + j); });
      if (direct) continue;
      if (pieces.rows) scatter(to, item, dx.dtype, grad.out, dtype_of<T>, piece.cases * p.classes);
      else
        for (int64_t c = 0; c < p.classes; ++c)
          scatter(to + c * p.inner * item, item, dx.dtype, grad.out + c * step, dtype_of<T>, piece.cases);
    }
  });
}

template <class T>
void distribution(View t, const CrossEntropy& p) {
  const Cases<T> target(p);
  const Output to(t);
  for (int64_t o = 0; o < p.outer; ++o)
    for (int64_t i = 0; i < p.inner; ++i) {
      const int64_t y = p.y[o * p.inner + i];
      for (int64_t c = 0; c < p.classes; ++c) {
        const T value = target.ignored(y) ? T(0) : target.share(c) + (c == y ? target.peak(y) : T(0));
        to.put((o * p.classes + c) * p.inner + i, value);
      }
    }
}

}  // namespace

// Stores a number in a tensor of any dtype.
static void put_number(const View& to, double value) { scatter(to.data, 0, to.dtype, &value, DType::Float64, 1); }

void pointwise_loss(PointwiseLoss loss, View z, View x, View y, double parameter) {
  with_loss(loss, [&]<class Loss>() {
    const typename Value<Loss>::Params params{parameter};
    zip_floating<Value<Loss>>(z, x, y, &params);
  });
}
void pointwise_loss_sum(PointwiseLoss loss, View z, View x, View y, double parameter, double scale) {
  const double total = with_loss(loss, [&]<class Loss>() {
    return with_floating_compute_type(x.dtype, [&]<class T>() { return sum_of<Loss, T>(x, y, T(parameter)); });
  });
  put_number(z, total * scale);
}
void pointwise_loss_backward(PointwiseLoss loss, View dx, View dz, View x, View y, double parameter, double scale) {
  with_loss(loss, [&]<class Loss>() {
    const typename Slope<Loss>::Params params{parameter, scale};
    zip3_floating<Slope<Loss>>(dx, dz, x, y, &params);
  });
}
void cross_entropy(View loss, View log_sum, View total, View x, double scale, const CrossEntropy& problem) {
  const double sum =
      with_floating_compute_type(x.dtype, [&]<class T>() { return forward<T>(loss, log_sum, x, problem); });
  if (total.data) put_number(total, sum * scale);
}
int64_t count_classes(const int64_t* y, int64_t n, int64_t classes, int64_t ignored) {
  int64_t counted = 0;
  for (int64_t i = 0; i < n; ++i) {
    if (y[i] == ignored) continue;
    if (y[i] < 0 || y[i] >= classes) return -1 - i;
    ++counted;
  }
  return counted;
}
void cross_entropy_backward(View dx, View dz, View x, View log_sum, double scale, const CrossEntropy& problem) {
  with_floating_compute_type(x.dtype, [&]<class T>() { backward<T>(dx, dz, x, log_sum, scale, problem); });
}
void cross_entropy_target(View t, const CrossEntropy& problem) {
  with_floating_compute_type(t.dtype, [&]<class T>() { distribution<T>(t, problem); });
}
GENESIS_KERNEL(pointwise_loss)
GENESIS_KERNEL(pointwise_loss_sum)
GENESIS_KERNEL(pointwise_loss_backward)
GENESIS_KERNEL(cross_entropy)
GENESIS_KERNEL(count_classes)
GENESIS_KERNEL(cross_entropy_backward)
GENESIS_KERNEL(cross_entropy_target)

}  // namespace genesis::kernels::GENESIS_ISA
