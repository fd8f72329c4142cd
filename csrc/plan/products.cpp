// Rewrites the matrix products of a plan without changing their results bitwise.
//
// 1. Products of several matrices, adjacent in memory, by the same matrix become one product. Example: the inputs of a
//    recurrent network times its weights.
// 2. A transposed right operand that several products share is copied once, in row-major order.
// 3. A product whose only use is an addition is accumulated into the sum. Example: the gradients of weights that are
//    used several times.
#include <algorithm>
#include <cstring>
#include <map>
#include <tuple>

#include "kernels/elementwise/arithmetic.h"
#include "kernels/elementwise/convert.h"
#include "kernels/gemm/order.h"
#include "plan/plan.h"

namespace genesis::plan {

namespace {

using kernels::GemmMatrix;

// maximum size of the results of merged products, which are live at the same time
constexpr int64_t kMergedBytes = 1 << 20;
constexpr size_t kShared = 3;     // minimum number of products for which an operand is copied
constexpr int64_t kFewRows = 96;  // and their maximum number of rows: larger products pack operands anyway

bool is(const Call& call, const auto& kernel) { return call.fn == reinterpret_cast<void (*)()>(kernel.fn); }

// The arguments of a call of sgemm or dgemm, in its pack.
template <class T>
struct Product {
  int64_t &m, &n, &k;
  T& alpha;
  GemmMatrix<T>&a, &b;
  T& beta;
  GemmMatrix<T>& d;
  T*& c;
  int64_t &c_row, &c_col;

  static Product of(Call& call) {
    using Arguments = capture::Pack<int64_t, int64_t, int64_t, T, GemmMatrix<T>, GemmMatrix<T>, T, GemmMatrix<T>, T*,
                                    int64_t, int64_t>;
    return reinterpret_cast<Arguments*>(call.pack.data())->apply([](auto&... x) { return Product{x...}; });
  }
  // Whether it writes all of C, contiguous and row-major, and reads only A and B.
  bool is_plain() const { return alpha == T(1) && beta == T(0) && c_row == n && c_col == 1 && m > 0 && n > 0 && k > 0; }
  bool in_tiles(int64_t rows, const GemmMatrix<T>& right) const {
    if constexpr (std::is_same_v<T, float>) return kernels::sgemm_in_tiles.fn(rows, n, k, a, right);
    else return kernels::dgemm_in_tiles.fn(rows, n, k, a, right);
  }
};

Reference* at(Call& call, const void* field) {
  const auto offset = static_cast<uint32_t>(static_cast<const char*>(field) - call.pack.data());
  for (Reference& r : call.references)
    if (r.at == offset) return &r;
  return nullptr;
}

// The live calls that use each block, in order.
using Uses = std::vector<std::vector<std::pair<uint32_t, bool>>>;
Uses uses_of(const Recording& recording, const std::vector<char>& live) {
  Uses uses(recording.blocks.size());
  for (uint32_t i = 0; i < recording.calls.size(); ++i)
    if (live[i])
      for (const Reference& r : recording.calls[i].references) uses[r.place.block].emplace_back(i, r.written);
  return uses;
}
// Whether a block is not written from call `first` to call `last`.
bool stays(const Uses& uses, uint32_t block, uint32_t first, uint32_t last) {
  return std::none_of(uses[block].begin(), uses[block].end(),
                      [&](const auto& use) { return use.second && use.first >= first && use.first <= last; });
}

// Redirects references to blocks that have become parts of block `to`, at the given offsets.
void relocate(std::vector<Call>& calls, const std::map<uint32_t, int64_t>& offsets, uint32_t to) {
  const auto move = [&](Place& place) {
    if (const auto it = offsets.find(place.block); it != offsets.end()) place = {to, place.offset + it->second};
  };
  for (Call& call : calls) {
    for (Reference& r : call.references) move(r.place);
    if (call.loop)
      for (LoopOperand& o : call.loop->operands) move(o.place);
  }
}

// Whether an operand of an addition is dense and row-major, with n elements.
template <class T>
bool is_dense(const LoopOperand& o, int64_t n) {
  constexpr DType dtype = std::is_same_v<T, float> ? DType::Float32 : DType::Float64;
  if (o.view.dtype != dtype || o.compute != dtype || o.place.block == kNoBlock || o.view.numel() != n) return false;
  int64_t expected = 1;
  for (int i = o.view.ndim - 1; i >= 0; --i) {
    if (o.view.shape[i] != 1 && o.view.strides[i] != expected) return false;
    expected *= o.view.shape[i];
  }
  return true;
}

}  // namespace

// For each call, the number of its section: host actions and the second part start new sections, and calls do not move
// between sections.
std::vector<uint32_t> Plan::stretches() const {
  std::vector<uint32_t> stretch(recording->calls.size());
  uint32_t number = 0;
  for (size_t i = 0; i < stretch.size(); ++i) {
    if (recording->calls[i].host >= 0 || i == options_.second_part) ++number;
    stretch[i] = number;
  }
  return stretch;
}

template <class T>
void Plan::merge_products(const auto& kernel) {
  std::vector<Call>& calls = recording->calls;
  const Uses uses = uses_of(*recording, live_);
  const std::vector<uint32_t> stretch = stretches();
  using Key = std::tuple<uint32_t, int64_t, uint32_t, int64_t, int64_t, int64_t, int64_t, int64_t, uint32_t>;
  std::map<Key, std::vector<std::pair<int64_t, uint32_t>>> alike;  // keyed by the location of A
  for (uint32_t i = 0; i < calls.size(); ++i) {
    if (!live_[i] || !is(calls[i], kernel)) continue;
    const auto x = Product<T>::of(calls[i]);
    if (!x.is_plain()) continue;
    const Place a = at(calls[i], &x.a.data)->place, b = at(calls[i], &x.b.data)->place;
    const Place c = at(calls[i], &x.c)->place;
    const Block& result = recording->blocks[c.block];
    const bool fresh = !result.external && !output_[c.block] && c.offset == 0 && uses[c.block].front().first == i &&
                       result.bytes == x.m * x.n * int64_t{sizeof(T)};
    if (fresh && x.a.col_stride == 1)
      alike[{b.block, b.offset, a.block, x.m, x.n, x.k, x.b.row_stride, x.b.col_stride, stretch[i]}].emplace_back(
          a.offset, i);
  }
  for (auto& [key, list] : alike) {
    std::sort(list.begin(), list.end());
    for (size_t begin = 0, end; begin < list.size(); begin = end) {
      const auto x = Product<T>::of(calls[list[begin].second]);
      const int64_t bytes = x.m * x.n * int64_t{sizeof(T)}, step = x.m * x.a.row_stride * int64_t{sizeof(T)};
      uint32_t first = list[begin].second, last = first;
      for (end = begin + 1; end < list.size() && list[end].first == list[end - 1].first + step; ++end) {
        if (Product<T>::of(calls[list[end].second]).a.row_stride != x.a.row_stride) break;
        if (static_cast<int64_t>(end - begin + 1) * bytes > kMergedBytes) break;
        first = std::min(first, list[end].second), last = std::max(last, list[end].second);
      }
      const auto count = static_cast<int64_t>(end - begin);
      if (count < 2 || !x.in_tiles(x.m, x.b) || !x.in_tiles(count * x.m, x.b) ||
          !stays(uses, std::get<0>(key), first, last) || !stays(uses, std::get<2>(key), first, last))
        continue;
      const uint32_t all = add_block({count * bytes, false, nullptr});
      std::map<uint32_t, int64_t> moved;  // results, and their offsets in the merged block
      for (size_t i = begin; i < end; ++i) {
        Call& call = calls[list[i].second];
        moved[at(call, &Product<T>::of(call).c)->place.block] = static_cast<int64_t>(i - begin) * bytes;
        live_[list[i].second] = list[i].second == first;
      }
      // The first call remains and computes all products, starting at the matrix with the lowest address.
      Call& whole = calls[first];
      const auto y = Product<T>::of(whole);
      // Not the offset in `list`: A may be a result that has moved since.
      Call& lowest = calls[list[begin].second];
      at(whole, &y.a.data)->place = at(lowest, &Product<T>::of(lowest).a.data)->place;
      at(whole, &y.c)->place = {all, 0};
      y.m *= count;
      relocate(calls, moved, all);
      joined += static_cast<size_t>(count - 1);
    }
  }
}

template <class T>
void Plan::copy_shared_operands(const auto& kernel) {
  std::vector<Call>& calls = recording->calls;
  const Uses uses = uses_of(*recording, live_);
  const std::vector<uint32_t> stretch = stretches();
  using Key = std::tuple<uint32_t, int64_t, int64_t, int64_t, int64_t, uint32_t>;
  std::map<Key, std::vector<uint32_t>> alike;
  for (uint32_t i = 0; i < calls.size(); ++i) {
    if (!live_[i] || !is(calls[i], kernel)) continue;
    const auto x = Product<T>::of(calls[i]);
    if (x.m == 0 || x.n < 2 || x.k < 2 || x.m > kFewRows || x.b.row_stride != 1 || x.b.col_stride < x.k) continue;
    if (!x.in_tiles(x.m, x.b) || !x.in_tiles(x.m, {x.b.data, x.n, 1})) continue;
    const Place b = at(calls[i], &x.b.data)->place;
    alike[{b.block, b.offset, x.n, x.k, x.b.col_stride, stretch[i]}].push_back(i);
  }
  std::vector<std::pair<uint32_t, Call>> copies;  // the copies, and the calls before which they are inserted
  for (const auto& [key, list] : alike) {
    const auto [block, offset, n, k, stride, part] = key;
    if (list.size() < kShared || !stays(uses, block, list.front(), list.back())) continue;
    const uint32_t copied = add_block({n * k * int64_t{sizeof(T)}, false, nullptr});
    const int64_t shape[] = {k, n}, to[] = {n, 1}, from[] = {1, stride};
    const auto keep = [&](const int64_t (&x)[2]) {
      return static_cast<const int64_t*>(recording->constants.keep(x, sizeof x));
    };
    constexpr DType dtype = std::is_same_v<T, float> ? DType::Float32 : DType::Float64;
    Call copy;
    copy.name = "copy";
    copy.fn = reinterpret_cast<void (*)()>(kernels::copy.fn);
    using Arguments = capture::Pack<View, View>;
    copy.thunk = [](void (*fn)(), void* pack) -> int64_t {
      static_cast<Arguments*>(pack)->apply(reinterpret_cast<void (*)(View, View)>(fn));
      return 0;
    };
    Arguments views{View{nullptr, dtype, 2, keep(shape), keep(to)},
                    {View{nullptr, dtype, 2, keep(shape), keep(from)}, {}}};
    copy.pack.resize(sizeof views);
    std::memcpy(copy.pack.data(), &views, sizeof views);
    const auto field = [&](const View& v) {
      return static_cast<uint32_t>(reinterpret_cast<const char*>(&v.data) - reinterpret_cast<const char*>(&views));
    };
    copy.references = {{field(views.head), {copied, 0}, true}, {field(views.tail.head), {block, offset}, false}};
    copies.emplace_back(list.front(), std::move(copy));
    for (const uint32_t i : list) {
      const auto x = Product<T>::of(calls[i]);
      at(calls[i], &x.b.data)->place = {copied, 0};
      x.b.row_stride = n, x.b.col_stride = 1;
    }
  }
  std::sort(copies.begin(), copies.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  for (auto& [before, copy] : copies) {  // from the last to the first
    if (options_.second_part != UINT32_MAX && before < options_.second_part) ++options_.second_part;
    calls.insert(calls.begin() + before, std::move(copy));
    live_.insert(live_.begin() + before, 1);
  }
}

template <class T>
void Plan::add_in_products(const auto& kernel) {
  std::vector<Call>& calls = recording->calls;
  const Uses uses = uses_of(*recording, live_);
  const std::vector<uint32_t> stretch = stretches();
  for (uint32_t j = 0; j < calls.size(); ++j) {
    Call& add = calls[j];
    if (!live_[j] || !is(add, kernels::add) || !add.loop || add.loop->operands.size() != 3) continue;
    const auto& operands = add.loop->operands;
    const int64_t n = operands[0].view.numel();
    if (!std::all_of(operands.begin(), operands.end(), [&](const LoopOperand& o) { return is_dense<T>(o, n); }))
      continue;
    // The product that is computed last: the other one may be the addend.
    uint32_t product = UINT32_MAX;
    size_t which = 0;
    for (size_t k = 1; k <= 2; ++k) {
      const uint32_t block = operands[k].place.block;
      const auto& list = uses[block];
      if (recording->blocks[block].external || output_[block] || operands[k].place.offset != 0 || list.size() != 2 ||
          list[1].first != j || list[1].second)
        continue;
      const uint32_t i = list[0].first;
      if (!live_[i] || !is(calls[i], kernel) || stretch[i] != stretch[j]) continue;
      const auto x = Product<T>::of(calls[i]);
      if (!x.is_plain() || x.k > kernels::kOneSum || x.m * x.n != n) continue;
      const Place a = at(calls[i], &x.a.data)->place, b = at(calls[i], &x.b.data)->place;
      const uint32_t out = operands[0].place.block;
      if (out == a.block || out == b.block || !stays(uses, a.block, i, j) || !stays(uses, b.block, i, j)) continue;
      if (product == UINT32_MAX || i > product) product = i, which = k;
    }
    if (product == UINT32_MAX) continue;
    const Place out = operands[0].place, other = operands[3 - which].place;
    if (out.block == other.block && out.offset != other.offset) continue;
    Call call = std::move(calls[product]);
    calls[product] = Call();
    calls[product].name = call.name;
    live_[product] = 0;
    const auto x = Product<T>::of(call);
    x.beta = 1;
    at(call, &x.c)->place = out;
    if (out.block != other.block) {
      x.d = {x.c, x.n, 1};
      call.references.push_back(
          {static_cast<uint32_t>(reinterpret_cast<char*>(&x.d.data) - call.pack.data()), other, false});
    }
    calls[j] = std::move(call);
    ++joined;
  }
}

void Plan::rewrite_products() {
  merge_products<float>(kernels::sgemm);
  merge_products<double>(kernels::dgemm);
  copy_shared_operands<float>(kernels::sgemm);
  copy_shared_operands<double>(kernels::dgemm);
  add_in_products<float>(kernels::sgemm);
  add_in_products<double>(kernels::dgemm);
}

}  // namespace genesis::plan
