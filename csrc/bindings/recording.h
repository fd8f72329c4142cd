// The data of the profiler: an event for each operation, backward node, pass, region and module that ran.
//
// Storing an event must be cheap compared with the operation: events are in chunks that are never moved, shapes in one
// growing array, names are pointers. They are converted to Python objects only at the end.
#pragma once

#include <chrono>
#include <memory>
#include <span>
#include <unordered_set>
#include <vector>

#include "autograd/node.h"
#include "bindings/object.h"

namespace genesis::py {

struct Event {
  enum Kind : uint8_t { kForward, kBackward, kPass, kRegion, kModule };
  const char* name;           // owned by the program or by the recording
  int64_t start, end;         // in ns; 0 while it runs
  int64_t memory, allocated;  // bytes that it allocated and did not free; total in use at its end
  uint64_t first, last;       // the nodes it recorded, by sequence number; for a backward node, its own
  size_t inputs, outputs;     // position of the shapes, or 0
  PyObject* scope;            // the path of the enclosing module, owned, or null
  PyCodeObject* code;         // the line of Python that ran it, owned, or null
  int line;
  uint32_t thread;
  Kind kind;
  bool dropped;  // turned out not to be an operation on tensors
};

class Recording {
 public:
  Recording(bool shapes, bool stack);
  ~Recording();
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

  // Begins an event; returns its number for close().
  size_t open(Event::Kind kind, const char* name, PyObject* scope);
  void close(size_t number);
  Event& event(size_t number) { return chunks_[number / kChunk][number % kChunk]; }

  // Shapes of the tensors among some Python objects, and of gradients.
  size_t shapes(std::span<PyObject* const> objects);
  size_t shapes(const Grads& grads);
  bool with_shapes() const { return with_shapes_; }
  bool with_stack() const { return with_stack_; }
  const char* keep(std::string name) { return names_.insert(std::move(name)).first->c_str(); }

  Object list();  // tuples, in the order of their start
  const uint64_t id;

 private:
  static constexpr size_t kChunk = 4096;
  void add_shape(const Tensor& t);
  Object shapes_at(size_t where) const;

  bool with_shapes_, with_stack_;
  size_t size_ = 0;
  std::vector<std::unique_ptr<Event[]>> chunks_;
  std::vector<int64_t> shapes_;  // number of tensors; for each: dtype, number of dimensions, sizes
  std::unordered_set<std::string> names_;
};

inline int64_t now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace genesis::py
