#include "core/parallel.h"
#include "kernels/sort/keys.h"
#include "kernels/sort/sort.h"
#include "kernels/work.h"

namespace genesis::kernels::GENESIS_ISA {

namespace {

// The first k, in any order, of n elements, the first of which is at `place`. Elements are examined in blocks: once k
// have been found, few blocks contain one that precedes the last of them.
template <class T>
class Best {
 public:
  using K = Packing<T>;
  using P = typename K::P;
  using U = typename K::U;

  Best(int64_t k, U flip) : k_(k), flip_(flip) { found_.reserve(static_cast<size_t>(4 * k + 32)); }

  void clear() {
    found_.clear();
    full_ = false;
  }
  void scan(const T* x, int64_t place, int64_t n) {
    if (k_ <= 32 && n >= 256) guess<64>(x, n);
    else if (k_ <= 256 && n >= 8192) guess<512>(x, n);
    constexpr int64_t kWide = 64, kNarrow = 16;
    int64_t i = 0;
    while (i < n) {
      if (full_ && n - i >= kWide && !any_before<kWide>(x + i)) {
        i += kWide;
        continue;
      }
      for (const int64_t end = std::min(n, i + kWide); i < end;) {
        if (full_ && n - i >= kNarrow && !any_before<kNarrow>(x + i)) {
          i += kNarrow;
          continue;
        }
        for (const int64_t stop = std::min(n, i + kNarrow); i < stop; ++i) {
          const P p = K::pack(x[i], place + i, flip_);
          if (full_ && K::key(p) >= limit_) continue;  // an equal element further back comes later
          found_.push_back(p);
          if (found_.size() == found_.capacity()) shrink();
        }
      }
    }
  }
  std::vector<P>& take() {
    shrink();
    return found_;
  }

 private:
  // Takes the first of each of N parts of x. At least k elements precede or equal the k-th of those, so it bounds the
  // first k.
  template <int64_t N>
  void guess(const T* x, int64_t n) {
    U first[N];
    std::fill_n(first, N, static_cast<U>(~U(0)));
    for (int64_t i = 0; i + N <= n; i += N)
      for (int64_t j = 0; j < N; ++j)
        first[j] = std::min(first[j], static_cast<U>(Coding<T>::encode(x[i + j]) ^ flip_));
    std::nth_element(first, first + (k_ - 1), first + N);
    limit_ = static_cast<U>(first[k_ - 1] + 1);
    full_ = limit_ != 0;
  }
  template <int64_t N>
  bool any_before(const T* x) const {
    U any = 0;
    for (int64_t i = 0; i < N; ++i)
      any = static_cast<U>(any | static_cast<U>(static_cast<U>(Coding<T>::encode(x[i]) ^ flip_) < limit_));
    return any != 0;
  }
  void shrink() {
    if (static_cast<int64_t>(found_.size()) <= k_) return;
    nth_element_in_steps(found_.begin(), found_.begin() + (k_ - 1), found_.end());
    limit_ = K::key(found_[static_cast<size_t>(k_ - 1)]);
    found_.resize(static_cast<size_t>(k_));
    full_ = true;
  }

  int64_t k_;
  U flip_, limit_ = 0;
  bool full_ = false;
  std::vector<P> found_;
};

template <class T>
void top_rows(T* values, int64_t* indices, const T* x, int64_t rows, int64_t n, int64_t k, bool descending) {
  using P = typename Packing<T>::P;
  const auto flip = static_cast<typename Coding<T>::U>(descending ? ~typename Coding<T>::U(0) : 0);
  const auto write = [&](int64_t r, const P* sorted) {
    const Sink<T> to{values + r * k, indices + r * k, x + r * n, flip};
    for (int64_t i = 0; i < k; ++i) to.put(i, sorted[i]);
    to.restore_zeros(k);
  };
  // selecting them takes longer than sorting everything
  if (n < kLongRow && (n <= 64 || (k <= 32 ? 8 : 16) * k >= n)) {
    parallel_for(rows, std::max<int64_t>(1, 8192 / n), [&](int64_t begin, int64_t end) {
      std::vector<P> all(static_cast<size_t>(n)), room(all);
      for (int64_t r = begin; r < end; ++r) {
        for (int64_t i = 0; i < n; ++i) all[static_cast<size_t>(i)] = Packing<T>::pack(x[r * n + i], i, flip);
        write(r, sort_packed(all.data(), room.data(), n, Packing<T>::kShift, Packing<T>::kBits));
      }
    });
    return;
  }
  // The selected elements are in no order, not even equal ones: only merging sorts those.
  const auto finish = [&](int64_t r, std::vector<P>& best, std::vector<P>& room) {
    room.resize(best.size());
    write(r, merge_sort(best.data(), room.data(), static_cast<int64_t>(best.size())));
  };
  const int64_t piece = std::max<int64_t>(kLongRow, 16 * k);
  if (n <= piece) {
    parallel_for(rows, std::max<int64_t>(1, 16384 / n), [&](int64_t begin, int64_t end) {
      Best<T> best(k, flip);
      std::vector<P> room;
      for (int64_t r = begin; r < end; ++r) {
        best.clear();
        best.scan(x + r * n, 0, n);
        finish(r, best.take(), room);
      }
    });
    return;
  }
  const int64_t pieces = ceil_div(n, piece);
  std::vector<std::vector<P>> found(static_cast<size_t>(pieces));
  for (int64_t r = 0; r < rows; ++r) {
    parallel_for(pieces, 1, [&](int64_t begin, int64_t end) {
      for (int64_t c = begin; c < end; ++c) {
        Best<T> best(k, flip);
        best.scan(x + r * n + c * piece, c * piece, std::min(piece, n - c * piece));
        found[static_cast<size_t>(c)] = std::move(best.take());
      }
    });
    for (size_t c = 1; c < found.size(); ++c) found[0].insert(found[0].end(), found[c].begin(), found[c].end());
    std::vector<P> room;
    finish(r, found[0], room);
  }
}

}  // namespace

void top(void* values, int64_t* indices, const void* x, DType dtype, int64_t rows, int64_t n, int64_t k,
         bool descending) {
  with_elements(dtype, [&]<class T>(T*) {
    top_rows(static_cast<T*>(values), indices, static_cast<const T*>(x), rows, n, k, descending);
  });
}
GENESIS_KERNEL(top)

}  // namespace genesis::kernels::GENESIS_ISA
