// FlatBuffers' builder without the heap. Its headers name operator new and delete in code that never runs
// where an allocator is given, but a firmware's linker wants them all the same. What stands here takes the
// place of flatbuffers/allocator.h and default_allocator.h, and of std::set within FlatBuffers' namespace
// (the pool of shared strings, which nothing of ours makes). Include it instead of schema/model_generated.h,
// ahead of it. The namespace is one of its own: a program may hold the usual builder beside this one.
#pragma once

#if defined(FLATBUFFERS_ALLOCATOR_H_) || defined(FLATBUFFERS_DEFAULT_ALLOCATOR_H_)
#error "heapless_flatbuffers.h comes before any other header of FlatBuffers"
#endif
#define FLATBUFFERS_ALLOCATOR_H_
#define FLATBUFFERS_DEFAULT_ALLOCATOR_H_

#define FLATBUFFERS_MAX_ALIGNMENT 64  // packed weights start at a multiple of it

#undef flatbuffers
#define flatbuffers itg_heapless_flatbuffers
#include <flatbuffers/base.h>

#include <cstring>
#include <set>

namespace flatbuffers {

// One piece of memory, taken before the builder starts and large enough never to grow.
class Allocator {
 public:
  explicit Allocator(uint8_t* place) : place_(place) {}
  uint8_t* allocate(size_t) { return place_; }
  static void operator delete(void*) {}

 private:
  uint8_t* place_;
};

inline uint8_t* Allocate(Allocator* allocator, size_t size) { return allocator->allocate(size); }
inline void Deallocate(Allocator*, uint8_t*, size_t) {}
// The piece is large enough: the builder does not get here.
inline uint8_t* ReallocateDownward(Allocator*, uint8_t* old, size_t, size_t, size_t, size_t) { return old; }

namespace std {
using namespace ::std;

template <typename T, typename Less>
class set {
 public:
  explicit set(Less) {}
  T* find(const T&) { return nullptr; }
  T* end() { return nullptr; }
  void insert(const T&) {}
  void clear() {}
  static void* operator new(size_t) noexcept { return nullptr; }
  static void operator delete(void*) {}
};
}  // namespace std

}  // namespace flatbuffers

#include "schema/model_generated.h"
