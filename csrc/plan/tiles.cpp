#include "plan/tiles.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/parallel.h"
#include "kernels/elementwise/chain.h"
#include "kernels/elementwise/convert.h"
#include "kernels/reduce/reduce.h"

namespace genesis::plan {

bool meet(const PointwiseLoop& loop, std::vector<Meeting>& meetings, int64_t& total) {
  const View& out = loop.operands[0].view;
  std::vector<int> order;
  for (int d = 0; d < out.ndim; ++d)
    if (out.shape[d] != 1) order.push_back(d);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return out.strides[a] > out.strides[b]; });
  total = 1;
  for (size_t i = order.size(); i-- > 0;) {
    if (out.strides[order[i]] != total) return false;
    total *= out.shape[order[i]];
  }
  if (total == 0) return false;
  for (const LoopOperand& o : loop.operands)
    if (itemsize(o.view.dtype) > kMaxItem || itemsize(o.compute) > kMaxItem) return false;
  meetings.assign(loop.operands.size(), {});
  for (size_t k = 0; k < loop.operands.size(); ++k) {
    const View& v = loop.operands[k].view;
    Meeting& m = meetings[k];
    const int lead = out.ndim - v.ndim;
    bool direct = true, single = true;
    int64_t step = 1;
    for (size_t i = order.size(); i-- > 0;) {
      const int d = order[i];
      const int64_t stride = d < lead || v.shape[d - lead] == 1 ? 0 : v.strides[d - lead];
      direct &= stride == step;
      single &= stride == 0;
      step *= out.shape[d];
      m.shape.push_back(out.shape[d]);
      m.strides.push_back(stride * itemsize(v.dtype));
    }
    // A single element that has a block is accessed directly, so that it can be passed on through a slot.
    const bool constant = loop.operands[k].place.block == kNoBlock;
    m.kind = direct && !constant ? Meeting::Direct : single && k > 0 ? Meeting::Single : Meeting::Strided;
    if (k == 0 && m.kind != Meeting::Direct) return false;
    std::reverse(m.shape.begin(), m.shape.end());
    std::reverse(m.strides.begin(), m.strides.end());
    // Merge contiguous dimensions.
    size_t kept = 0;
    for (size_t i = 1; i < m.shape.size(); ++i) {
      if (m.strides[kept] == m.strides[i] * m.shape[i]) {
        m.shape[kept] *= m.shape[i];
        m.strides[kept] = m.strides[i];
      } else {
        ++kept;
        m.shape[kept] = m.shape[i];
        m.strides[kept] = m.strides[i];
      }
    }
    if (!m.shape.empty()) {
      m.shape.resize(kept + 1);
      m.strides.resize(kept + 1);
    }
  }
  return true;
}

namespace {

// This file is compiled without wide vectors, which copies have nevertheless.
template <class T>
void fill(T* out, T value, int64_t n) {
  constexpr int64_t kPiece = 16 / sizeof(T), kFew = 8 * kPiece;
  T piece[kPiece];
  for (T& x : piece) x = value;
  const int64_t few = std::min(n, kFew);
  int64_t done = 0;
  for (; done + kPiece <= few; done += kPiece) std::memcpy(out + done, piece, sizeof piece);
  for (; done < few; ++done) out[done] = value;
  for (; done < n; done *= 2) std::memcpy(out + done, out, static_cast<size_t>(std::min(done, n - done)) * sizeof(T));
}

template <class T>
void move_inner(char* const* data, unsigned scalars, int64_t n, const void*) {
  if (scalars & 2) fill(reinterpret_cast<T*>(data[0]), *reinterpret_cast<const T*>(data[1]), n);
  else if (data[0] != data[1]) std::memcpy(data[0], data[1], static_cast<size_t>(n) * sizeof(T));
}

template <class T>
void collect(char* to, const char* from, int64_t stride, int64_t n) {
  T* out = reinterpret_cast<T*>(to);
  if (stride == 0) fill(out, *reinterpret_cast<const T*>(from), n);
  else if (stride == sizeof(T) && n >= 16) std::memcpy(out, from, static_cast<size_t>(n) * sizeof(T));
  else
    for (int64_t i = 0; i < n; ++i) out[i] = *reinterpret_cast<const T*>(from + i * stride);
}

// Complete rows of a few elements each.
template <class T>
void collect_rows(char* to, const char* from, int64_t rows, int64_t columns, int64_t row_stride, int64_t stride) {
  T* out = reinterpret_cast<T*>(to);
  if (columns == 3 && stride == sizeof(T)) {  // for example points in space
    for (int64_t r = 0; r < rows; ++r, out += 3, from += row_stride) {
      const T* x = reinterpret_cast<const T*>(from);
      out[0] = x[0], out[1] = x[1], out[2] = x[2];
    }
    return;
  }
  for (int64_t r = 0; r < rows; ++r, from += row_stride)
    for (int64_t c = 0; c < columns; ++c) *out++ = *reinterpret_cast<const T*>(from + c * stride);
}

// Copies elements at .. at + n of a strided operand to contiguous memory.
template <class T>
void fetch(const Load& load, const char* base, int64_t at, int64_t n, char* to) {
  const int last = static_cast<int>(load.shape.size()) - 1;
  const int64_t *shape = load.shape.data(), *strides = load.strides.data();
  int64_t index[kMaxDims];
  for (int d = last; d >= 0; --d) {
    index[d] = at % shape[d];
    at /= shape[d];
    base += index[d] * strides[d];
  }
  const int64_t columns = shape[last], stride = strides[last];
  // Advances by `by` along dimension d, and carries into the outer dimensions.
  const auto advance = [&](int d, int64_t by) {
    index[d] += by;
    base += by * strides[d];
    for (; d > 0 && index[d] == shape[d]; --d) {
      base += strides[d - 1] - shape[d] * strides[d];
      index[d] = 0;
      ++index[d - 1];
    }
  };
  while (n > 0) {
    int64_t count;
    if (last > 0 && index[last] == 0 && columns <= 32 && n >= columns) {
      const int64_t rows = std::min(shape[last - 1] - index[last - 1], n / columns);
      collect_rows<T>(to, base, rows, columns, strides[last - 1], stride);
      count = rows * columns;
      advance(last - 1, rows);
    } else {
      count = std::min(columns - index[last], n);
      collect<T>(to, base, stride, count);
      advance(last, count);
    }
    to += count * static_cast<int64_t>(sizeof(T));
    n -= count;
  }
}
void fetch(const Load& load, const char* base, int64_t at, int64_t n, char* to) {
  switch (itemsize(load.dtype)) {
    case 1: return fetch<uint8_t>(load, base, at, n, to);
    case 2: return fetch<uint16_t>(load, base, at, n, to);
    case 4: return fetch<uint32_t>(load, base, at, n, to);
    default: return fetch<uint64_t>(load, base, at, n, to);
  }
}

struct Buffer {
  char* data = nullptr;
  size_t size = 0;
  ~Buffer() { std::free(data); }
  char* get(size_t bytes) {
    if (bytes > size) {
      std::free(data);
      bytes = (bytes + 63) / 64 * 64;  // some systems refuse other sizes
      data = static_cast<char*>(std::aligned_alloc(64, bytes));
      size = data ? bytes : 0;
      if (!data) throw std::bad_alloc();
    }
    return data;
  }
};

// Whether an operand has one element per row.
bool is_of_rows(const Instruction& i, const TileOperand& o) { return i.rows || (i.reduce && &o == i.operands.data()); }

// The addresses of the operands of a group for one chunk, for all instructions consecutively.
struct Pointers {
  struct Moving {
    size_t index;
    int64_t bytes;  // stride from tile to tile
  };
  struct Ahead {
    const char* at;        // in the next tile
    int64_t bytes, share;  // of a tile, and per instruction
    bool written;
  };
  std::vector<char*> at, row;
  std::vector<int64_t> steps;
  std::vector<Moving> moving;
  std::vector<Ahead> ahead;

  void set(const Group& group, char* const* bases, char* slots, char* singles, int64_t begin) {
    at.clear();
    moving.clear();
    for (const Instruction& i : group.code)
      for (const TileOperand& o : i.operands) {
        if (i.whole >= 0 && &o == i.operands.data()) {
          at.push_back(bases[o.base]);
        } else if (o.kind == TileOperand::Slot || o.in_slot) {
          at.push_back(slots + o.slot * group.slot_bytes);
        } else if (o.kind == TileOperand::Direct || o.each_row) {
          const int64_t item = itemsize(o.dtype), row = o.each_row || is_of_rows(i, o) ? group.row : 1;
          moving.push_back({at.size(), group.tile / row * item});
          at.push_back(bases[o.base] + begin / row * item);
        } else if (o.dtype == o.compute) {
          at.push_back(bases[o.base]);
        } else {
          kernels::gather(singles, o.compute, bases[o.base], 0, o.dtype, 1);
          at.push_back(singles);
          singles += kMaxItem;
        }
      }
  }
  // Prefetches operands that are not in the cache one tile ahead, a part of them with each instruction: the hardware
  // prefetcher does not follow them across tiles.
  void look_ahead(const Group& group, char* const* bases, int64_t begin) {
    constexpr int64_t kLine = 64;
    ahead.clear();
    if (!group.far) return;
    const auto instructions = static_cast<int64_t>(group.code.size());
    for (const Stream& s : group.streams) {
      const int64_t bytes = group.tile * itemsize(s.dtype);
      const int64_t share = (bytes / kLine + instructions - 1) / instructions * kLine;
      ahead.push_back({bases[s.base] + (begin + group.tile) * itemsize(s.dtype), bytes, share, s.written});
    }
  }
  void fetch_ahead(int64_t instruction) const {
    for (const Ahead& a : ahead) {
      const char* p = a.at + instruction * a.share;
      const char* const end = a.at + std::min(a.bytes, (instruction + 1) * a.share);
      if (a.written)
        for (; p < end; p += 64) __builtin_prefetch(p, 1);
      else
        for (; p < end; p += 64) __builtin_prefetch(p, 0);
    }
  }
  void next_tile() {
    for (const Moving& m : moving) at[m.index] += m.bytes;
    for (Ahead& a : ahead) a.at += a.bytes;
  }
};

// Runs an instruction whose operands are converted, through buffers of kMaxItem bytes per element.
void run_converted(const Instruction& i, char* const* at, char* buffers, int64_t bytes, int64_t n) {
  char* data[kernels::kMaxOperands];
  for (size_t k = 0; k < i.operands.size(); ++k) {
    const TileOperand& o = i.operands[k];
    data[k] = at[k];
    if (o.kind == TileOperand::Single || o.dtype == o.compute) continue;
    data[k] = buffers + static_cast<int64_t>(k) * bytes;
    if (k > 0) kernels::gather(data[k], o.compute, at[k], itemsize(o.dtype), o.dtype, n);
  }
  i.inner(data, i.singles, n, i.params);
  const TileOperand& out = i.operands[0];
  if (out.dtype != out.compute) kernels::scatter(at[0], itemsize(out.dtype), out.dtype, data[0], out.compute, n);
}

void run_instruction(const Instruction& i, char* const* at, char* buffers, int64_t converted, int64_t n) {
  if (!i.chain.empty()) kernels::run_chain.fn(i.chain.data(), at, static_cast<int>(i.chain.size()), n, i.type);
  else if (i.converts) run_converted(i, at, buffers, converted, n);
  else i.inner(at, i.singles, n, i.params);
}

// `at` and `steps` are scratch.
void run_by_row(const Instruction& i, char* const* from, char* buffers, int64_t converted, int64_t rows, int64_t row,
                std::vector<char*>& at, std::vector<int64_t>& steps) {
  const size_t n = i.operands.size();
  at.assign(from, from + n);
  steps.resize(n);
  for (size_t k = 0; k < n; ++k) {
    const TileOperand& o = i.operands[k];
    steps[k] = itemsize(o.dtype) * (o.each_row ? 1 : o.kind == TileOperand::Single ? 0 : row);
  }
  char** const p = at.data();
  const int64_t* const step = steps.data();
  const auto each = [&](auto run) {
    for (int64_t r = 0; r < rows; ++r) {
      run();
      for (size_t k = 0; k < n; ++k) p[k] += step[k];
    }
  };
  if (i.chain.empty() && !i.converts) each([&] { i.inner(p, i.singles, row, i.params); });
  else each([&] { run_instruction(i, p, buffers, converted, row); });
}

// Reduces rows to one element each.
void run_reduction(const Instruction& i, char* const* at, int64_t rows, int64_t row) {
  const int64_t shape[] = {rows, row}, strides[] = {row, 1}, kept[] = {rows, 1}, step[] = {1, 1};
  const View y{at[0], i.operands[0].dtype, 2, kept, step}, x{at[1], i.operands[1].dtype, 2, shape, strides};
  if (i.params) {
    double divisor;
    std::memcpy(&divisor, i.params, sizeof divisor);
    reinterpret_cast<void (*)(View, View, double)>(i.reduce)(y, x, divisor);
  } else {
    reinterpret_cast<void (*)(View, View)>(i.reduce)(y, x);
  }
}

// Repeats the element of each row along the row.
template <class T>
void spread(char* to, const char* from, int64_t rows, int64_t row) {
  for (int64_t r = 0; r < rows; ++r) fill(reinterpret_cast<T*>(to) + r * row, reinterpret_cast<const T*>(from)[r], row);
}
void bring(const Load& load, const Group& group, char* const* bases, char* slots, int64_t at, int64_t n) {
  char* const to = slots + load.slot * group.slot_bytes;
  if (load.from < 0) {
    if (load.rows) at /= group.row, n /= group.row;
    return fetch(load, bases[load.base], at, n, to);
  }
  const char* const from = slots + load.from * group.slot_bytes;
  const int64_t rows = n / group.row;
  switch (itemsize(load.dtype)) {
    case 1: return spread<uint8_t>(to, from, rows, group.row);
    case 2: return spread<uint16_t>(to, from, rows, group.row);
    case 4: return spread<uint32_t>(to, from, rows, group.row);
    default: return spread<uint64_t>(to, from, rows, group.row);
  }
}

// `sums`: of all elements, to be added to.
void run_chunk(const Group& group, char* const* bases, int64_t begin, int64_t end, double* sums = nullptr) {
  static thread_local Buffer buffer;
  static thread_local Pointers pointers;
  // Slots, then buffers for conversions of operands, then converted single values.
  const int64_t converted = group.tile * kMaxItem;
  int64_t singles = 0;
  for (const Instruction& i : group.code) singles += static_cast<int64_t>(i.operands.size()) * kMaxItem;
  char* const slots = buffer.get(static_cast<size_t>(
      (group.slots * group.slot_bytes + kernels::kMaxOperands * converted + singles + 63) / 64 * 64));
  char* const buffers = slots + group.slots * group.slot_bytes;
  pointers.set(group, bases, slots, buffers + kernels::kMaxOperands * converted, begin);
  pointers.look_ahead(group, bases, begin);
  for (int64_t at = begin; at < end; at += group.tile, pointers.next_tile()) {
    const int64_t n = std::min(group.tile, end - at);
    char* const* data = pointers.at.data();
    for (const int step : group.order) {
      if (step < 0) {
        const Load& load = group.loads[static_cast<size_t>(-1 - step)];
        bring(load, group, bases, slots, at, n);
        continue;
      }
      const Instruction& i = group.code[static_cast<size_t>(step)];
      if (!pointers.ahead.empty()) pointers.fetch_ahead(step);
      if (i.whole >= 0) sums[i.whole] += kernels::sum_block.fn(data[1], i.operands[1].dtype, n);
      else if (i.reduce) run_reduction(i, data, n / group.row, group.row);
      else if (i.by_row)
        run_by_row(i, data, buffers, converted, n / group.row, group.row, pointers.row, pointers.steps);
      else run_instruction(i, data, buffers, converted, i.rows ? n / group.row : n);
      data += i.operands.size();
    }
  }
}

}  // namespace

std::unique_ptr<PointwiseLoop> loop_of_copy(const Call& call, Recording&) {
  if (std::strcmp(call.name, "copy") != 0 || call.references.empty()) return nullptr;
  const auto* views = reinterpret_cast<const View*>(call.pack.data());  // Pack<View, View>
  auto loop = std::make_unique<PointwiseLoop>();
  const DType dtype = views[0].dtype;
  switch (itemsize(dtype)) {
    case 1: loop->inner = move_inner<uint8_t>; break;
    case 2: loop->inner = move_inner<uint16_t>; break;
    case 4: loop->inner = move_inner<uint32_t>; break;
    case 8: loop->inner = move_inner<uint64_t>; break;
    default: return nullptr;
  }
  loop->params = nullptr;
  loop->grain = kernels::kLightGrain;
  for (int k = 0; k < 2; ++k) {
    LoopOperand o{views[k], {}, dtype};
    for (const Reference& r : call.references)
      if (r.at == static_cast<uint32_t>(k * static_cast<int>(sizeof(View)))) o.place = r.place;
    if (o.place.block == kNoBlock && (k == 0 || o.view.ndim != 0 || !o.view.data)) return nullptr;
    loop->operands.push_back(o);
  }
  return loop;
}

std::unique_ptr<PointwiseLoop> loop_of_reduction(const Call& call) {
  // Longer rows are more than one block of the kernel.
  constexpr int64_t kShortest = 8, kLongest = 4096;
  const auto is = [&](const auto& kernel) { return call.fn == reinterpret_cast<void (*)()>(kernel.fn); };
  const bool sums = is(kernels::sum);
  if (!sums && !is(kernels::amax) && !is(kernels::amin) && !is(kernels::prod)) return nullptr;
  const auto* views = reinterpret_cast<const View*>(call.pack.data());  // Pack<View, View, ...>
  const View &y = views[0], &x = views[1];
  if (call.checked || y.dtype != x.dtype || (x.dtype != DType::Float32 && x.dtype != DType::Float64)) return nullptr;
  int64_t length = 1, rows = 1, y_stride = 1, x_stride = 1;
  for (int d = x.ndim - 1; d >= 0; --d) {
    if (x.shape[d] == 1) continue;
    if (x.strides[d] != x_stride) return nullptr;
    x_stride *= x.shape[d];
    if (y.shape[d] == 1) {
      if (rows > 1) return nullptr;
      length *= x.shape[d];
    } else {
      if (y.strides[d] != y_stride) return nullptr;
      y_stride *= y.shape[d];
      rows *= x.shape[d];
    }
  }
  const bool whole = rows == 1 && sums && length > 1;
  if (!whole && (length < kShortest || length > kLongest || rows < 2)) return nullptr;
  auto loop = std::make_unique<PointwiseLoop>();
  loop->whole = whole;
  loop->inner = nullptr;
  loop->params = sums ? call.pack.data() + 2 * sizeof(View) : nullptr;
  loop->grain = kernels::kLightGrain;
  loop->length = length;
  for (uint32_t k = 0; k < 2; ++k) {
    LoopOperand o{views[k], {}, x.dtype};
    for (const Reference& r : call.references)
      if (r.at == k * sizeof(View)) o.place = r.place;
    if (o.place.block == kNoBlock) return nullptr;
    loop->operands.push_back(o);
  }
  return loop;
}

bool is_spread(const Meeting& m, int64_t total, int64_t row, DType dtype) {
  return m.kind == Meeting::Strided && m.shape.size() == 2 && m.shape[0] * row == total && m.shape[1] == row &&
         m.strides[0] == itemsize(dtype) && m.strides[1] == 0;
}

void set_tile(Group& group) {
  // The size that stays in L1, or in L2 if several rows are reduced by one call.
  const int64_t cached = group.row > 0 ? 64 << 10 : 20 << 10, most = group.row > 0 ? 1 << 16 : 2048;
  constexpr int64_t kFar = 2 << 20;  // size of operands that do not stay in L2
  int64_t item = 1;
  std::vector<char> seen(group.bases.size(), 0);
  for (const Instruction& i : group.code)
    for (size_t k = 0; k < i.operands.size(); ++k) {
      const TileOperand& o = i.operands[k];
      item = std::max({item, itemsize(o.dtype), itemsize(o.compute)});
      if (o.kind != TileOperand::Direct || is_of_rows(i, o) || (i.whole >= 0 && k == 0)) continue;
      const bool written = i.chain.empty() ? k == 0 : i.chain[k] == kernels::chain::Store;
      if (!std::exchange(seen[o.base], 1)) group.streams.push_back({o.base, o.dtype, written});
    }
  const auto streams = static_cast<int64_t>(group.streams.size());
  group.far = group.total * item * streams >= kFar;
  group.tile =
      std::clamp<int64_t>(cached / (item * std::max<int64_t>(1, group.slots + streams)) / 128 * 128, 256, most);
  if (group.row > 0) group.tile = std::max<int64_t>(1, group.tile / group.row) * group.row;
  if (group.wholes > 0) group.tile = kernels::kSumBlock;
  group.slot_bytes = group.tile * item + 64;  // different offsets within pages
}

namespace {

// Sums of all elements, cut and added up as the kernel does.
void run_with_sums(const Group& group, char* const* bases) {
  const kernels::SumCut cut(group.total);
  const auto wholes = static_cast<size_t>(group.wholes);
  std::vector<double> sums(static_cast<size_t>(cut.chunks) * wholes, 0.0);
  parallel_for(cut.chunks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t c = begin; c < end; ++c)
      run_chunk(group, bases, c * cut.chunk, std::min(group.total, (c + 1) * cut.chunk),
                sums.data() + static_cast<size_t>(c) * wholes);
  });
  for (const Instruction& i : group.code) {
    if (i.whole < 0) continue;
    double total = sums[static_cast<size_t>(i.whole)], divisor;
    for (size_t c = 1; c < static_cast<size_t>(cut.chunks); ++c)
      total += sums[c * wholes + static_cast<size_t>(i.whole)];
    std::memcpy(&divisor, i.params, sizeof divisor);
    if (divisor != 1) total /= divisor;
    char* const to = bases[i.operands[0].base];
    if (i.operands[0].dtype == DType::Float32) *reinterpret_cast<float*>(to) = static_cast<float>(total);
    else *reinterpret_cast<double*>(to) = total;
  }
}

}  // namespace

void run_group(const Group& group, char* const* bases) {
  if (group.wholes > 0) return run_with_sums(group, bases);
  const int64_t unit = std::max<int64_t>(1, group.row), grain = std::max<int64_t>(1, group.grain / unit);
  parallel_for(group.total / unit, grain,
               [&](int64_t begin, int64_t end) { run_chunk(group, bases, begin * unit, end * unit); });
}

}  // namespace genesis::plan
