// Small models for tests, made in a few lines and run in a line.
#pragma once

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "calibrator/bake/model_writer.h"
#include "calibrator/host/system/host_arena.h"
#include "intaglio/session.h"
#include "tests/support/exact.h"

namespace intaglio::test {

// Bytes at a multiple of kMemoryAlignment, in an allocation of exactly their size: a sanitizer sees any step
// past their end.
class AlignedBytes {
 public:
  AlignedBytes() = default;
  explicit AlignedBytes(size_t size);
  explicit AlignedBytes(Span<const uint8_t> source);

  uint8_t* data() { return bytes_.get(); }
  size_t size() const { return size_; }
  Span<uint8_t> span() { return {bytes_.get(), size_}; }
  Span<const uint8_t> view() const { return {bytes_.get(), size_}; }

 private:
  struct Free {
    void operator()(uint8_t* bytes) const;
  };
  std::unique_ptr<uint8_t, Free> bytes_;
  size_t size_ = 0;
};

class ModelBuilder {
 public:
  // An activation. A scale of 0: not quantized.
  int32_t tensor(const std::string& name, DType dtype, const std::vector<int32_t>& dims, float scale = 0.0f,
                 int32_t zero_point = 0);
  template <typename T>
  int32_t constant(const std::string& name, DType dtype, const std::vector<int32_t>& dims,
                   const std::vector<T>& values, const std::vector<float>& scales = {}, int32_t axis = -1) {
    return constant_bytes(name, dtype, dims,
                          {reinterpret_cast<const uint8_t*>(values.data()), values.size() * sizeof(T)},
                          scales, axis);
  }
  GraphNode& node(Op op, const std::vector<int32_t>& inputs, const std::vector<int32_t>& outputs);
  void input(int32_t tensor) { graph_.inputs.push(memory_.arena(), tensor); }
  void output(int32_t tensor) { graph_.outputs.push(memory_.arena(), tensor); }
  // For options that point somewhere: axes and the like.
  Span<const int32_t> keep(const std::vector<int32_t>& values) {
    return memory_.arena().copy(Span<const int32_t>(values.data(), values.size()));
  }

  Graph& graph() { return graph_; }
  Arena& arena() { return memory_.arena(); }
  // The finished file; fails the test where it cannot be written.
  AlignedBytes finish(OpList ops = all_ops());

 private:
  int32_t constant_bytes(const std::string& name, DType dtype, const std::vector<int32_t>& dims,
                         Span<const uint8_t> bytes, const std::vector<float>& scales, int32_t axis);
  void set_scales(int32_t tensor, const std::vector<float>& scales, int32_t zero_point, int32_t axis);

  HostArena memory_;
  Graph graph_;
};

// A session's scratch beside a page that stops the program when it is touched, after it and, every other time, before it: what
// a kernel needs is known beforehand, and this shows one that takes more, on any machine.
class GuardedScratch {
 public:
  void allocate(size_t bytes) {
    bytes_ = std::make_unique<Exact<uint8_t>>((bytes + kMemoryAlignment - 1) / kMemoryAlignment *
                                              kMemoryAlignment);
  }
  Span<uint8_t> span() { return {bytes_->data(), bytes_->size()}; }

 private:
  std::unique_ptr<Exact<uint8_t>> bytes_;
};

// An opened model with a session and its memory, each span in an allocation of its own exact size. by_rows: by its streamed
// plan, if it has one.
class RunningModel {
 public:
  explicit RunningModel(AlignedBytes bytes, OpList ops = all_ops(), const SessionOptions& options = {},
                        bool by_rows = false);

  const Error& error() const { return error_; }
  Model& model() { return model_; }
  Session& session() { return session_; }

  template <typename T>
  void set_input(const std::vector<T>& values, int32_t i = 0) {
    memcpy(session_.input(i).data, values.data(), values.size() * sizeof(T));
  }
  template <typename T>
  std::vector<T> output(int32_t i = 0) {
    const Span<T> values = session_.output(i).as<T>();
    return {values.begin(), values.end()};
  }
  // Sets input 0, runs, gives output 0.
  template <typename Out, typename In>
  std::vector<Out> run(const std::vector<In>& values) {
    set_input(values);
    session_.run();
    return output<Out>();
  }

 private:
  AlignedBytes bytes_, persistent_, activations_;
  GuardedScratch scratch_;
  Model model_;
  Session session_;
  Error error_;
};

// The status of opening `bytes` and creating a session with `ops`.
Status status_of(AlignedBytes bytes, OpList ops = all_ops());

std::string text_of(const Error& error, const Model* model = nullptr);

}  // namespace intaglio::test
