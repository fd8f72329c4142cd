#include "core/thread_block.h"

#include <cstddef>
#include <new>
#include <vector>

namespace genesis {

namespace {

void release(ThreadBlock& block) {
  ::operator delete(block.data, std::align_val_t{64});
  block = {};
}

struct Entry {
  const void* key;
  ThreadBlock block;
};
struct Entries {
  std::vector<Entry> list;  // a thread has about a dozen, so a search is short
  ~Entries() {
    for (Entry& e : list) release(e.block);
  }
};
thread_local Entries entries;

}  // namespace

void ThreadBlock::reserve(int64_t bytes) {
  if (bytes <= size) return;
  release(*this);
  data = static_cast<char*>(::operator new(static_cast<std::size_t>(bytes), std::align_val_t{64}));
  size = bytes;
}

ThreadBlock& thread_block(const void* key) {
  for (Entry& e : entries.list)
    if (e.key == key) return e.block;
  return entries.list.emplace_back(Entry{key, {}}).block;
}

}  // namespace genesis
