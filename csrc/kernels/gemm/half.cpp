// Products of half-precision matrices. Operands are widened to float32 during packing; results are rounded once, after
// the last step of k.
//
// The tiles accumulate in a block of float32 that stays in the cache. Both operands are always packed, because packing
// widens them: B once for all rows of C, A once for each span of columns.
#include "kernels/gemm/rows.h"

namespace genesis::kernels::GENESIS_ISA {
namespace {

constexpr int64_t kHalfRows = 96;   // rows of C in a block
constexpr int64_t kHalfPanels = 8;  // minimum number of panels of B in a span, if B is packed over all of k

const Scratch<float> block_sums;

// C = sums + beta * D, rounded. The sums of x have rows of `pitch` elements and are overwritten.
template <class S>
void round_block(Problem<float, S> x, float* sums, int64_t pitch) {
  if (x.c_col == 1 && (x.beta == 0 || x.d.col_stride == 1)) {
    for (int64_t i = 0; i < x.m; ++i, sums += pitch) {
      const S* d = x.d.data + i * x.d.row_stride;
      if (x.beta != 0)
        for (int64_t j = 0; j < x.n; ++j) sums[j] += x.beta * genesis::to_float(d[j]);
      narrow(sums, x.c + i * x.c_row, x.n);
    }
    return;
  }
  x.alpha = 1;
  for (int64_t j = 0; j < x.n; ++j)
    for (int64_t i = 0; i < x.m; ++i) finish(x, i, j, sums + i * pitch + j, 1);
}

// Computes all columns of x, which form one span, on this thread.
template <class S>
void tiled_span(const Problem<float, S>& x, int64_t vectors, int64_t depth, int64_t block_rows, bool once) {
  const Panels<float> panels(x.n, std::min(vectors, ceil_div(x.n, kLanes<float>)));
  const int64_t height = kMaxRows[panels.width / kLanes<float> - 1], pitch = panels.count * panels.width;
  const int64_t rows_packed = ceil_div(std::min(x.m, block_rows), height) * height;
  float* const a_packed = packed_a<float>.get(rows_packed * depth);
  float* const b_packed = packed_b<float>.get(pitch * (once ? depth : x.k));
  float* const sums = block_sums.get(std::min(x.m, block_rows) * pitch);
  Pace pace(kPaceWork);
  for (int64_t i = 0; i < x.m; i += block_rows) {
    const int64_t rows = std::min(block_rows, x.m - i);
    for (int64_t p = 0; p < x.k; p += depth) {
      const int64_t d = std::min(depth, x.k - p);
      float* const b = once ? b_packed : b_packed + p * pitch;
      if (i == 0) pack_panels(x.b, panels, p, d, 0, panels.count, b);
      pack_as(x.a.data + i * x.a.row_stride + p * x.a.col_stride, x.a.row_stride, x.a.col_stride, rows, d, a_packed,
              height);
      multiply(Left<float>{a_packed, d, 1, height, height, true}, Right<float>{b, 0, d, 0, true}, panels, 0,
               panels.count, rows, d, Target<float>{x.alpha, p == 0 ? 0.0f : 1.0f, {sums, pitch, 1}, sums, pitch, 1});
      pace.spend(rows * d * x.n);
    }
    Problem<float, S> block = x;
    block.m = rows, block.c += i * x.c_row, block.d.data += i * x.d.row_stride;
    round_block(block, sums, pitch);
  }
}

template <class S>
void tiled(const Problem<float, S>& x) {
  constexpr int64_t lanes = kLanes<float>, size = sizeof(float);
  const int64_t vectors = std::min<int64_t>(kPackedVectors, ceil_div(x.n, lanes)), width = vectors * lanes;
  const int64_t height = kMaxRows[vectors - 1], block_rows = ceil_div(kHalfRows, height) * height;
  const int64_t depth = ceil_div(x.k, ceil_div(x.k, kDepth));
  const bool once = x.m <= block_rows;  // B is not reused: pack one block of k at a time
  const int64_t span = once ? kBlockBytes / (depth * width * size) : kPackedBytes / (x.k * width * size);
  const int64_t step = std::max(span, once ? 1 : kHalfPanels) * width, parts = ceil_div(x.n, step);
  for (int64_t part = 0; part < parts; ++part)
    tiled_span(x.part({0, 1, x.m, 1}, {part, parts, x.n, width}), vectors, depth, block_rows, once);
}

template <class S>
void half_gemm(const Problem<float, S>& problem) {
  Problem<float, S> x = problem;
  if (gemm_by_rows(x)) return;
  // Vectors run along the longer side, unless that side wastes more lanes.
  auto waste = [](int64_t n) { return static_cast<double>(ceil_div(n, kLanes<float>) * kLanes<float>) / n; };
  const bool transposes = x.n < 2 * kLanes<float> && x.m > x.n && waste(x.m) < waste(x.n);
  cut_for_threads(transposes ? x.transposed() : x, true, true, tiled<S>);
}

}  // namespace

void hgemm_batched(DType dtype, int64_t batch, int64_t m, int64_t n, int64_t k, float alpha, GemmMatrix<uint16_t> a,
                   int64_t a_batch_stride, GemmMatrix<uint16_t> b, int64_t b_batch_stride, float beta, uint16_t* c,
                   int64_t c_row_stride, int64_t c_col_stride, int64_t c_batch_stride) {
  auto run = [&]<class S>(S) {
    auto matrix = [](GemmMatrix<uint16_t> x) {
      return GemmMatrix<S>{reinterpret_cast<const S*>(x.data), x.row_stride, x.col_stride};
    };
    const Problem<float, S> x{
        m, n, k, alpha, beta, matrix(a), matrix(b), reinterpret_cast<S*>(c), c_row_stride, c_col_stride};
    gemm_batched(batch, x, a_batch_stride, b_batch_stride, c_batch_stride, half_gemm<S>);
  };
  dtype == DType::Float16 ? run(Half{}) : run(BFloat16{});
}

GENESIS_KERNEL(hgemm_batched)

}  // namespace genesis::kernels::GENESIS_ISA
