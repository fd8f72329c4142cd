#include "plan/recorder.h"

#include <pthread.h>

#include <algorithm>
#include <cstring>

#include "core/parallel.h"

namespace genesis::plan {

const void* Constants::keep(const void* data, int64_t bytes) {
  auto& piece = pieces_.emplace_back(static_cast<size_t>(bytes + 7) / 8 + 1);
  if (bytes > 0) std::memcpy(piece.data(), data, static_cast<size_t>(bytes));
  return piece.data();
}

Place Recording::find(const void* p) const {
  const char* at = static_cast<const char*>(p);
  auto it = live.upper_bound(at);
  if (it == live.begin()) return {};
  --it;
  const int64_t offset = at - it->first;
  if (offset >= std::max<int64_t>(1, blocks[it->second].bytes)) return {};
  return {it->second, offset};
}

namespace {

// Whether an address is on the stack of this thread, where Python numbers are stored while a kernel reads them.
bool on_stack(const void* p) {
  thread_local char* low = nullptr;
  thread_local size_t size = 0;
  if (!low) {
#ifdef __APPLE__
    size = pthread_get_stacksize_np(pthread_self());
    low = static_cast<char*>(pthread_get_stackaddr_np(pthread_self())) - size;  // the address is that of the upper end
#else
    pthread_attr_t attributes;
    void* base;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0) return false;
    pthread_attr_getstack(&attributes, &base, &size);
    pthread_attr_destroy(&attributes);
    low = static_cast<char*>(base);
#endif
  }
  return static_cast<const char*>(p) >= low && static_cast<const char*>(p) < low + size;
}

class Recorder final : public capture::Observer {
 public:
  std::unique_ptr<Recording> recording = std::make_unique<Recording>();
  Call* open = nullptr;
  int loops = 0;  // of the open call
  bool paused = false;
  Generator before_pause{0};

  Recorder() {
    recording->seed = default_generator().seed;
    recording->counter = default_generator().offset;
  }

  void allocated(Storage& s) override {
    if (paused) return;
    add(s, s.data, static_cast<int64_t>(s.nbytes), false);
  }
  void freed(Storage& s) override {
    auto& live = recording->live;
    for (auto it = live.lower_bound(s.data); it != live.end() && it->first <= s.data + s.nbytes;) {
      Block& block = recording->blocks[it->second];
      if (block.storage != &s) {
        ++it;
        continue;
      }
      block.storage = nullptr;
      it = live.erase(it);
    }
  }
  void interrupt(const char* reason) override {
    if (paused || !recording->broken.empty()) return;
    recording->broken = reason;
    if (on_interrupt) on_interrupt(reason);
  }
  uint32_t add(const Storage& s, const char* data, int64_t bytes, bool external) {
    const auto number = static_cast<uint32_t>(recording->blocks.size());
    recording->live[data] = number;
    recording->blocks.push_back({bytes, external, &s});
    return number;
  }
  Place find(const void* p) const { return recording->find(p); }
  // Copies the shape and strides of a view, and the value of a number, into the recording.
  View kept(View v) {
    const size_t bytes = static_cast<size_t>(v.ndim) * sizeof(int64_t);
    v.shape = static_cast<const int64_t*>(recording->constants.keep(v.shape, static_cast<int64_t>(bytes)));
    v.strides = static_cast<const int64_t*>(recording->constants.keep(v.strides, static_cast<int64_t>(bytes)));
    return v;
  }
};

thread_local constinit Recorder* recorder = nullptr;  // the capture of this thread

class Arguments final : public capture::Arguments {
 public:
  Arguments(unsigned writes, char* pack) : capture::Arguments(writes), pack_(pack) {}
  void draw(uint64_t& seed, uint64_t& counter) override {
    const Generator& generator = default_generator();
    const uint64_t begin = recorder->recording->counter;
    if (seed != generator.seed || seed != recorder->recording->seed || counter < begin || counter >= generator.offset)
      return recorder->interrupt("random numbers are drawn from a generator of their own");
    counter -= begin;
    recorder->open->draws.push_back(at(&seed));
    recorder->open->draws.push_back(at(&counter));
  }

 private:
  uint32_t at(const void* field) const { return static_cast<uint32_t>(static_cast<const char*>(field) - pack_); }
  void view(View& x, bool written) override {
    x = recorder->kept(x);
    if (!x.data) return;
    if (x.numel() == 0) {
      x.data = nullptr;
      return;
    }
    const Place place = recorder->find(x.data);
    if (place.block == kNoBlock && !written && x.ndim == 0 && on_stack(x.data)) {
      x.data = const_cast<void*>(recorder->recording->constants.keep(x.data, itemsize(x.dtype)));
      return;
    }
    refer(at(&x.data), place, written);
  }
  void pointer(void* x, bool written) override {
    const void* p;
    std::memcpy(&p, x, sizeof(p));
    if (p) refer(at(x), recorder->find(p), written);
  }
  void refer(uint32_t at, Place place, bool written) {
    if (place.block == kNoBlock)
      return recorder->interrupt(written ? "a kernel writes to memory of no known tensor"
                                         : "a kernel reads memory of no known tensor");
    recorder->open->references.push_back({at, place, written});
  }
  void unknown() override { recorder->interrupt("a kernel has arguments that a plan cannot keep"); }
  const void* constant(const void* data, int64_t bytes) override {
    return recorder->recording->constants.keep(data, bytes);
  }
  char* pack_;
};

void note_loop(std::initializer_list<kernels::Operand> operands, kernels::Inner inner, kernels::Params params,
               int64_t grain) {
  Call& call = *recorder->open;
  ++recorder->loops;
  call.loop.reset();
  // In a parallel region the GIL may be released, so blocks cannot be looked up, and the loop is only a part of the
  // call.
  if (recorder->loops > 1 || params.size < 0 || call.checked || in_parallel_region()) return;
  auto loop = std::make_unique<PointwiseLoop>();
  loop->inner = inner;
  loop->params = params.data ? recorder->recording->constants.keep(params.data, params.size) : nullptr;
  loop->grain = grain;
  for (const kernels::Operand& operand : operands) {
    LoopOperand o{recorder->kept(operand.view), recorder->find(operand.view.data), operand.compute};
    if (o.place.block == kNoBlock) {
      if (loop->operands.empty() || o.view.ndim != 0 || !on_stack(o.view.data)) return;
      o.view.data = const_cast<void*>(recorder->recording->constants.keep(o.view.data, itemsize(o.view.dtype)));
    }
    loop->operands.push_back(o);
  }
  // The call is equivalent to this loop if the loop uses all memory that the call uses and writes what the call writes.
  for (const Reference& r : call.references) {
    bool found = false;
    for (size_t k = 0; k < loop->operands.size(); ++k) {
      const Place& p = loop->operands[k].place;
      found |= p.block == r.place.block && p.offset == r.place.offset && (k == 0) == r.written;
    }
    if (!found) return;
  }
  call.loop = std::move(loop);
}

}  // namespace

void begin() {
  recorder = new Recorder;
  capture::observer = capture::any_observer = recorder;
}
uint32_t add_external(const Storage* storage, const char* data, int64_t bytes) {
  Recording& r = *recorder->recording;
  if (const auto it = r.live.find(data); it != r.live.end() && r.blocks[it->second].bytes == bytes) return it->second;
  const auto after = r.live.lower_bound(data);
  if (after != r.live.end() && after->first < data + bytes) return kNoBlock;
  if (r.find(data).block != kNoBlock) return kNoBlock;
  return recorder->add(*storage, data, bytes, true);
}
std::unique_ptr<Recording> finish() {
  capture::observer = capture::any_observer = nullptr;
  kernels::note = nullptr;
  std::unique_ptr<Recording> recording = std::move(recorder->recording);
  if (default_generator().seed != recording->seed) {
    if (recording->broken.empty()) recording->broken = "the generator is seeded";
  } else {
    recording->draws = default_generator().offset - recording->counter;
  }
  delete recorder;
  recorder = nullptr;
  return recording;
}
const Recording* current() { return recorder ? recorder->recording.get() : nullptr; }
void mark_host(int number) {
  Call& call = recorder->recording->calls.emplace_back();
  call.name = "host";
  call.host = number;
}
void pause(bool on) {
  const Generator& generator = default_generator();
  recorder->paused = on;
  if (on) recorder->before_pause = {generator.seed, generator.offset};
  else if (recorder->before_pause.seed != generator.seed || recorder->before_pause.offset != generator.offset)
    recorder->interrupt("an optimizer draws random numbers");
}

}  // namespace genesis::plan

namespace genesis::capture {

using plan::recorder;

static CallInfo pending;  // of the open call

void* begin(const CallInfo& info) {
  if (recorder->paused) return nullptr;
  plan::Call& call = recorder->recording->calls.emplace_back();
  call.name = info.name;
  call.fn = info.fn;
  call.thunk = info.thunk;
  call.pack.resize(static_cast<size_t>(info.bytes));
  recorder->open = &call;
  recorder->loops = 0;
  pending = info;
  return call.pack.data();
}
void ready() {
  plan::Call& call = *recorder->open;
  plan::Arguments arguments(pending.writes, call.pack.data());
  pending.visit(call.pack.data(), arguments);
  observer = nullptr;
  kernels::note = plan::note_loop;
}
void end(bool returns, bool whole, int64_t value) {
  kernels::note = nullptr;
  observer = recorder;
  plan::Call& call = *recorder->open;
  if (returns && !whole) recorder->interrupt("a kernel returns a number");
  call.checked = returns;
  call.value = value;
  if (returns) call.loop.reset();
}
void failed() noexcept {
  kernels::note = nullptr;
  observer = recorder;
  recorder->interrupt("a kernel raises an error");
}

}  // namespace genesis::capture
