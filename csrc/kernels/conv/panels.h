// Correlations with many rows: the right-hand side of a matrix product, gathered a few panels at a time.
//
// A panel holds a few vectors of consecutive outputs, without the gaps of the grid, for a range of k. Gathering it
// costs a load and a store, while the product needs a multiply-add for each row. In return, the register tiles read
// contiguous, aligned memory. Outputs are numbered across the images of a block, so that small images fill vectors too.
#pragma once

#include "kernels/conv/layout.h"

namespace genesis::kernels::GENESIS_ISA {
namespace {

constexpr int kPanelVectors = std::min(kVectorBytes == 64 ? 3 : 2, kMaxVectors);

template <class T>
const Scratch<T> gathered_panels;  // followed by the outputs of panels that span several images

// A range of panels over several images, starting at flat output `begin`.
template <class T>
struct Run {
  static constexpr int64_t width = kPanelVectors * kLanes<T>;
  int64_t outputs, begin, end, count;
  // For all panels: where to read, and where in the gathered memory to write.
  struct Move {
    int64_t from, to;
  };
  std::vector<Move> whole;   // full vectors
  std::vector<Spot> broken;  // vectors with skipped lanes; first: where to write
  std::vector<T*> c;         // of row 0 of each panel
  std::vector<int64_t> c_row;

  // `steps`: the maximum number of steps of k, which determines the distance of panels.
  void set(const Layout<T>& layout, int64_t first, int64_t last, int64_t total, int64_t steps, int64_t image_step) {
    outputs = layout.outputs(), begin = first * width, end = std::min(total, last * width), count = last - first;
    whole.clear(), broken.clear();
    for (int64_t at = begin; at < end;) {
      const int64_t image = at / outputs, o = at % outputs, panel = (at - begin) / width;
      const int64_t stop = std::min({outputs, o + end - at, o + begin + (panel + 1) * width - at});
      const int64_t to = panel * steps * width + (at - begin) % width;
      cover(layout.planes, layout.axes[1].out, layout.axes[2].out, layout.readable, o, stop, [&](Spot spot) {
        spot.at += image * image_step;
        spot.first += to;
        if (spot.count == kLanes<T>) whole.push_back({spot.at, spot.first});
        else broken.push_back(spot);
      });
      at += stop - o;
    }
  }
  int64_t columns(int64_t panel) const { return std::min(width, end - begin - panel * width); }
  bool spilled(int64_t panel) const {
    const int64_t at = begin + panel * width;
    return at / outputs != (at + columns(panel) - 1) / outputs;
  }
  // Prefetches the data of the next channel, which is one plane ahead: the hardware prefetcher does not follow that
  // jump.
  void gather(const T* source, const int64_t* offsets, int64_t k, int64_t plane, T* dst) const {
    for (int64_t p = 0; p < k; ++p, dst += width) {
      const T* row = source + offsets[p];
      for (const Move& move : whole) {
        store(dst + move.to, load(row + move.from));
        __builtin_prefetch(row + plane + move.from);
      }
      for (const Spot& spot : broken) {
        put<T>(dst + spot.first, load(row + spot.at), spot);
        __builtin_prefetch(row + plane + spot.at);
      }
    }
  }
};

// The product of packed weights and gathered panels, for `groups` groups of some images. Tasks are runs of panels of a
// group; with few outputs, the rows are divided among the threads too.
template <class T>
struct PanelProduct {
  const Correlation<T>& x;
  const Layout<T>& layout;
  const T* weights;
  int64_t height, group, groups, images;  // height: rows of a tile; group: the first
  const T* source;
  int64_t image_step;
  T* out;
  int64_t out_step, out_plane;

  static constexpr int64_t width = Run<T>::width;
  const int64_t outputs = layout.outputs(), total = images * outputs, panels = ceil_div(total, width);
  const int64_t biased = x.bias ? 1 : 0, k = layout.taps * x.channels + biased;
  const int64_t steps = layout.depth * layout.taps + biased, row_tiles = ceil_div(x.rows, height);
  int64_t most = 1, runs = 1, parts = 1;  // panels of a run; runs of a group; parts of the rows

  void run() {
    const int64_t panel_bytes = std::max<int64_t>(1, steps) * width * int64_t{sizeof(T)};
    most =
        std::clamp<int64_t>(std::min(layout.run_bytes / panel_bytes, ceil_div(panels, get_num_threads())), 1, panels);
    runs = ceil_div(panels, most);
    const int64_t work = most * width * std::max<int64_t>(k, 16) * x.rows;
    most = ceil_div(panels, runs);
    if (const int64_t wanted = 4 * get_num_threads();
        get_num_threads() > 1 && groups * runs < wanted && !in_parallel_region())
      parts = std::clamp<int64_t>(std::min(wanted / (groups * runs), work / kTaskWork), 1,
                                  std::max<int64_t>(1, row_tiles / 4));
    parallel_for(groups * runs * parts, std::max<int64_t>(1, kTaskWork / std::max<int64_t>(1, work / parts)),
                 [&](int64_t begin, int64_t end) {
                   Run<T> panel_run;
                   for (int64_t i = begin; i < end; ++i) task(i, panel_run);
                 });
  }

 private:
  void task(int64_t i, Run<T>& run) const {
    const int64_t part = i % parts, g = i / parts / runs, first = i / parts % runs * most;
    if (first >= panels) return;
    run.set(layout, first, std::min(panels, first + most), total, steps, image_step);
    const int64_t tile_begin = part * row_tiles / parts, tile_end = (part + 1) * row_tiles / parts;
    T* const y = out + g * x.rows * out_plane;
    int64_t spilled = 0;
    for (int64_t j = 0; j < run.count; ++j) spilled += run.spilled(j);
    T* const gathered = gathered_panels<T>.get(most * width * steps + spilled * x.rows * width);
    find_targets(run, y, gathered + most * width * steps);
    for (int64_t c = 0; c == 0 || c < x.channels; c += layout.depth) {
      const int64_t now = gather(run, g, c, gathered);
      for (int64_t tile = tile_begin; tile < tile_end; ++tile) multiply(run, g, tile, c, now, gathered);
    }
    store_spilled(run, y, tile_begin * height, std::min(x.rows, tile_end * height));
  }
  // Where the tiles write: to y, or to `spill` for panels that span several images.
  void find_targets(Run<T>& run, T* y, T* spill) const {
    run.c.clear(), run.c_row.clear();
    for (int64_t j = 0; j < run.count; ++j) {
      const int64_t at = run.begin + j * width;
      run.c.push_back(run.spilled(j) ? std::exchange(spill, spill + x.rows * width)
                                     : y + at / outputs * out_step + at % outputs);
      run.c_row.push_back(run.spilled(j) ? width : out_plane);
    }
  }
  // Gathers the panels for the channels from c on, and ones for the bias after the last. Returns the steps of k.
  int64_t gather(const Run<T>& run, int64_t g, int64_t c, T* gathered) const {
    const int64_t now = std::min(layout.depth, x.channels - c) * layout.taps, plane = layout.planes.plane();
    run.gather(source + (g * x.channels + c) * plane, layout.offsets.data(), now, plane, gathered);
    if (!biased || c + layout.depth < x.channels) return now;
    for (int64_t j = 0; j < run.count; ++j) std::fill_n(gathered + (j * steps + now) * width, width, T(1));
    return now + 1;
  }
  // Multiplies the rows of a tile by all panels of a run.
  void multiply(const Run<T>& run, int64_t g, int64_t tile, int64_t c, int64_t now, const T* gathered) const {
    constexpr int64_t lanes = kLanes<T>;
    const int64_t row = tile * height, rows = std::min(height, x.rows - row);
    const T* a = weights + (((group + g) * row_tiles + tile) * k + c * layout.taps) * height;
    for (int64_t j = 0; j < run.count; ++j) {
      const int64_t columns = run.columns(j), vectors = ceil_div(columns, lanes),
                    last = columns - (vectors - 1) * lanes;
      const Tile<T> t{.k = now,
                      .a = a,
                      .a_row = 1,
                      .a_k = height,
                      .b = gathered + j * steps * width,
                      .b_k = width,
                      .c = run.c[j] + row * run.c_row[j],
                      .c_row = run.c_row[j],
                      .alpha = T(1),
                      .beta = T(c > 0 ? 1 : 0),
                      .last = last};
      find_tile<T, Order::column_major>(rows, vectors, last < lanes)(t);
    }
  }
  // Copies rows [begin, end) of panels that span several images to y.
  void store_spilled(const Run<T>& run, T* y, int64_t begin, int64_t end) const {
    for (int64_t j = 0; j < run.count; ++j) {
      if (!run.spilled(j)) continue;
      const int64_t from = run.begin + j * width, to = from + run.columns(j);
      for (int64_t row = begin; row < end; ++row)
        for (int64_t at = from; at < to;) {
          const int64_t n = std::min(to - at, outputs - at % outputs);
          copy_run(y + at / outputs * out_step + row * out_plane + at % outputs, run.c[j] + row * width + at - from, n);
          at += n;
        }
    }
  }
};

}  // namespace
}  // namespace genesis::kernels::GENESIS_ISA
