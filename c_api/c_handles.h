// How the C interface's structs and handles stand to the C++ objects behind them.
#pragma once

#include <cstring>
#include <new>
#include <type_traits>

#include "intaglio/c_api.h"
#include "intaglio/frame.h"
#include "intaglio/session.h"

namespace intaglio {

// A handle's bytes hold one C++ object, which needs no destruction.
template <typename Object, typename Handle>
Object& object_in(Handle* handle) {
  static_assert(sizeof(Object) <= sizeof handle->opaque && alignof(Object) <= alignof(Handle));
  static_assert(std::is_trivially_destructible_v<Object>);
  return *std::launder(reinterpret_cast<Object*>(handle->opaque));
}
template <typename Object, typename Handle>
const Object& object_in(const Handle* handle) {
  return object_in<Object>(const_cast<Handle*>(handle));
}
template <typename Object, typename Handle>
void put_object(Handle* handle, const Object& object) {
  memset(handle, 0, sizeof *handle);
  new (handle->opaque) Object(object);
}

inline const Model& model_in(const itg_model* handle) { return object_in<Model>(handle); }

// A session and what its callbacks need to speak C: the program's own observer.
struct CSession {
  Session session;
  const itg_observer* observer = nullptr;
};
inline const Session& session_in(const itg_session* handle) { return object_in<CSession>(handle).session; }

// Fills a caller's struct, whose struct_size says what its header knows; what this library does not know is
// zero.
template <typename Struct>
void give(Struct* to, Struct value) {
  const size_t size = to->struct_size;
  value.struct_size = size;
  memcpy(to, &value, size < sizeof value ? size : sizeof value);
  if (size > sizeof value)
    memset(reinterpret_cast<unsigned char*>(to) + sizeof value, 0, size - sizeof value);
}
// A caller's options, with the defaults where there are none or where its header is older.
template <typename Struct>
Struct take(const Struct* options, void (*init)(Struct*, size_t)) {
  Struct all;
  init(&all, sizeof all);
  if (options != nullptr)
    memcpy(&all, options, options->struct_size < sizeof all ? options->struct_size : sizeof all);
  return all;
}

// Whether the header of a caller who gave `from` has the field.
template <typename Struct, typename Field>
bool knows(const Struct* from, Field Struct::*field) {
  const auto end = reinterpret_cast<uintptr_t>(&(from->*field)) + sizeof(Field);
  return from->struct_size >= end - reinterpret_cast<uintptr_t>(from);
}

inline itg_error to_c(const Error& error) {
  return {static_cast<int32_t>(error.status), error.node, error.tensor, 0, error.value, error.limit};
}
inline itg_bytes to_c(Span<const uint8_t> bytes) { return {bytes.data, bytes.size}; }

itg_tensor to_c(const TensorInfo& info, void* data);

inline Span<uint8_t> from_c(itg_span span) { return {span.data, span.size}; }
inline Span<const uint8_t> from_c(itg_bytes bytes) { return {bytes.data, bytes.size}; }
inline OpList from_c(itg_op_list list) {
  return {reinterpret_cast<const OpDef* const*>(list.ops), list.count};
}
Frame from_c(const itg_frame& frame);
// Without the observer.
SessionOptions from_c(const itg_session_options& options);
// Calls through the program's own struct, which outlives it; NULL: serial.
Executor from_c(const itg_executor* executor);

}  // namespace intaglio
