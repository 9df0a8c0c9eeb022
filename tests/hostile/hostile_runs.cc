// Fuzzers' targets run without a fuzzer, so that they run on any machine: as many inputs as are asked for, made by chance
// from seeds, the same ones each time.
//
//   hostile_runs TARGET RUNS [SEED]
#include "tests/hostile/hostile_runs.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>

#include "tests/support/random.h"

using intaglio::test::Random;

// Each target's own LLVMFuzzerTestOneInput and hostile_seeds, by the names that CMakeLists.txt gives them.
#define ITG_TARGET(name, seeds, mutator)                     \
  extern "C" int fuzz_##name(const uint8_t*, size_t);        \
  namespace intaglio::test {                                 \
  std::vector<std::vector<uint8_t>> hostile_seeds_##seeds(); \
  }
#include <hostile_targets.inc>
#undef ITG_TARGET
#define ITG_MUTATOR(name) \
  extern "C" size_t mutate_##name(uint8_t* data, size_t size, size_t max_size, unsigned int seed);
ITG_MUTATOR(import_onnx_fields)
ITG_MUTATOR(import_tflite_fields)
ITG_MUTATOR(import_openvino_fields)

namespace {

// A target's own LLVMFuzzerCustomMutator, which changes a file by its fields: what it makes is a file that can be read.
using Mutator = size_t (*)(uint8_t* data, size_t size, size_t max_size, unsigned int seed);

struct Target {
  const char* name;
  int (*run)(const uint8_t* data, size_t size);
  std::vector<std::vector<uint8_t>> (*seeds)();
  Mutator mutate;  // none: bytes are changed
};

constexpr Target kTargets[] = {
#define ITG_TARGET(name, seeds, mutator) {#name, fuzz_##name, intaglio::test::hostile_seeds_##seeds, mutator},
#include <hostile_targets.inc>
#undef ITG_TARGET
};

constexpr size_t kMostBytes = 1 << 16;

void change(std::vector<uint8_t>& bytes, Random& random, const std::vector<std::vector<uint8_t>>& seeds) {
  const auto place = [&](size_t past) { return random.bits() % (bytes.size() + past); };
  const auto offset = [&](size_t at) { return bytes.begin() + static_cast<ptrdiff_t>(at); };
  if (bytes.empty()) bytes.push_back(0);
  switch (random.between(0, 8)) {
    case 0:
      bytes[place(0)] ^= static_cast<uint8_t>(1 << random.between(0, 7));
      break;
    case 1:
      bytes[place(0)] = static_cast<uint8_t>(random.bits());
      break;
    case 2: {  // a number of 16 or 32 bits
      static constexpr uint32_t kNumbers[] = {0,      1,      0xffffffff, 0x7fffffff, 0x80000000, 0xfffffff0,
                                              0x8000, 0xffff, 0x100,      16,         0x40000000, 0x10000};
      const uint32_t number = kNumbers[random.between(0, 11)];
      const size_t at = place(0) & ~size_t{3};
      memcpy(bytes.data() + at, &number, std::min<size_t>(random.one_in(2) ? 4 : 2, bytes.size() - at));
      break;
    }
    case 3:
      bytes.resize(place(1));
      break;
    case 4: {
      const size_t at = place(0), count = random.bits() % std::min<size_t>(bytes.size() - at + 1, 64);
      bytes.erase(offset(at), offset(at + count));
      break;
    }
    case 5: {
      const size_t from = place(0), count = random.bits() % std::min<size_t>(bytes.size() - from + 1, 64);
      const std::vector<uint8_t> part(offset(from), offset(from + count));
      bytes.insert(offset(place(1)), part.begin(), part.end());
      break;
    }
    case 6: {
      std::vector<uint8_t> part(static_cast<size_t>(random.between(1, 16)));
      for (uint8_t& b : part) b = static_cast<uint8_t>(random.bits());
      bytes.insert(offset(place(1)), part.begin(), part.end());
      break;
    }
    case 7: {  // the end of another one
      const auto& other = seeds[random.bits() % seeds.size()];
      if (other.empty()) break;
      const size_t from = random.bits() % other.size();
      bytes.resize(std::min(place(1), from));
      bytes.insert(bytes.end(), other.begin() + static_cast<ptrdiff_t>(from), other.end());
      break;
    }
    default: {
      const size_t at = place(0), from = place(0);
      const size_t count = random.bits() % std::min<size_t>(bytes.size() - std::max(at, from) + 1, 32);
      memmove(bytes.data() + at, bytes.data() + from, count);
    }
  }
  if (bytes.size() > kMostBytes) bytes.resize(kMostBytes);
}

}  // namespace

int main(int argc, char** argv) {
  const auto* const target =
      argc < 3 ? std::end(kTargets)
               : std::find_if(std::begin(kTargets), std::end(kTargets),
                              [&](const Target& t) { return !std::strcmp(t.name, argv[1]); });
  if (target == std::end(kTargets) || std::atoi(argv[2]) < 1) {
    std::fprintf(stderr, "usage: %s TARGET RUNS [SEED]\ntargets:", argv[0]);
    for (const Target& known : kTargets) std::fprintf(stderr, " %s", known.name);
    return std::fprintf(stderr, "\n"), 2;
  }
  const int runs = std::atoi(argv[2]);
  Random random(argc > 3 ? static_cast<uint32_t>(std::atoi(argv[3])) : 1);
  std::vector<std::vector<uint8_t>> seeds = target->seeds();
  if (seeds.empty()) {  // the target takes any bytes
    seeds.resize(16);
    for (auto& seed : seeds) {
      seed.resize(static_cast<size_t>(random.between(1, 256)));
      for (uint8_t& b : seed) b = static_cast<uint8_t>(random.bits());
    }
  }
  for (const auto& seed : seeds) target->run(seed.data(), seed.size());
  std::vector<std::vector<uint8_t>> pool = seeds;
  for (int run = 0; run < runs; ++run) {
    // Half of the inputs are changes of changes, so that they wander, a few steps from where they came.
    auto& from = pool[random.bits() % pool.size()];
    std::vector<uint8_t> bytes = random.one_in(2) ? seeds[random.bits() % seeds.size()] : from;
    for (int32_t changes = random.one_in(2) ? 1 : random.between(2, 5); changes > 0; --changes) {
      if (target->mutate == nullptr) {
        change(bytes, random, seeds);
        continue;
      }
      const size_t size = bytes.size();
      bytes.resize(std::max(size, kMostBytes));
      bytes.resize(target->mutate(bytes.data(), size, bytes.size(), random.bits()));
    }
    // An allocation of its own size: a sanitizer sees a step past its end.
    const std::vector<uint8_t> exact(bytes.begin(), bytes.end());
    target->run(exact.data(), exact.size());
    if (random.one_in(4)) from = seeds[random.bits() % seeds.size()];
    if (random.one_in(4) && !bytes.empty()) from = std::move(bytes);
  }
  std::printf("%d runs\n", runs);
  return 0;
}
