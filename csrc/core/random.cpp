// The parts of random.h that have state.
#include "core/random.h"

#include <random>

namespace genesis {

uint64_t random_seed() {
  std::random_device device;
  const uint64_t high = device();
  return high << 32 | device();
}

Generator& default_generator() {
  static Generator generator{random_seed()};
  return generator;
}

}  // namespace genesis
