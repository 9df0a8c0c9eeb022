// The C interface's packed weights, statistics and model store, against the C++ one.
#include <doctest/doctest.h>

#include "calibrator/bake/pack_model.h"
#include "calibrator/host/stream_plan.h"
#include "intaglio/c_api.h"
#include "intaglio/calibrator.h"
#include "intaglio/last_layer.h"
#include "intaglio/model_store.h"
#include "tests/support/small_models.h"

namespace intaglio::test::c_api_tools_test {
namespace {

// An int8 model with packs for `isa`.
AlignedBytes packed_model(IsaMask isa) {
  ModelBuilder b;
  const int32_t in = b.tensor("in", DType::kS8, {1, 32}, 0.5f, 1),
                out = b.tensor("out", DType::kS8, {1, 24}, 9.0f);
  const int32_t w = b.constant<int8_t>("w", DType::kS8, {24, 32}, Random(3).codes(24 * 32), {0.01f});
  b.node(Op::kFullyConnected, {in, w}, {out});
  b.input(in);
  b.output(out);
  const AlignedBytes plain = b.finish();
  HostArena memory;
  const auto packed = pack_model(*Model::open(plain.view()), all_ops(), isa, memory.arena());
  REQUIRE(static_cast<bool>(packed));
  return AlignedBytes(*packed);
}

struct FakeFlash {
  alignas(64) uint8_t slots[2][4096];
  bool broken = false;

  FakeFlash() { memset(slots, 0xff, sizeof slots); }
  itg_flash device() {
    itg_flash flash{};
    flash.struct_size = sizeof flash;
    for (size_t i = 0; i < 2; ++i) flash.slots[i] = slots[i];
    flash.slot_bytes = sizeof slots[0];
    flash.program_bytes = 4;
    flash.context = this;
    flash.erase = [](void* context, int32_t slot) {
      memset(static_cast<FakeFlash*>(context)->slots[slot], 0xff, 4096);
      return true;
    };
    flash.program = [](void* context, int32_t slot, size_t offset, const uint8_t* bytes, size_t size) {
      auto& self = *static_cast<FakeFlash*>(context);
      if (!self.broken) memcpy(self.slots[slot] + offset, bytes, size);
      return !self.broken;
    };
    return flash;
  }
};

}  // namespace

TEST_CASE("the model of a step, and the nodes that keep its state in FP32") {
  ModelBuilder b;
  const auto real = [&](const char* name) { return b.tensor(name, DType::kF32, {1, 4}); };
  const int32_t x = real("x"), sum = real("sum"), next = real("next"), y = real("y");
  b.input(x);
  b.output(y);
  b.node(Op::kAdd, {x, sum}, {next});
  b.node(Op::kTanh, {next}, {y});
  b.graph().states.push(b.arena(), {sum, next, {}});
  const AlignedBytes file = b.finish();
  itg_model whole, step;
  REQUIRE(itg_model_open(&whole, file.view().data, file.size(), nullptr).status == 0);
  AlignedBytes memory(itg_step_model_bytes(&whole));
  itg_bytes made;
  REQUIRE(itg_make_step_model(&whole, {memory.data(), memory.size()}, &made).status == 0);
  REQUIRE(itg_model_open(&step, made.data, made.size, nullptr).status == 0);
  CHECK(itg_model_input_count(&step) == 2);
  CHECK(itg_make_step_model(&whole, {memory.data(), 64}, &made).status == ITG_kOutOfMemory);
  int32_t nodes[2];
  REQUIRE(itg_find_state_nodes(&whole, nodes) == 1);
  CHECK(nodes[0] == 0);
  itg_calibrator_options options;
  itg_calibrator_options_init(&options, sizeof options);
  CHECK(options.states_of == nullptr);
  itg_calibrator_needs needs;
  needs.struct_size = sizeof needs;
  CHECK(itg_calibrator_measure(&whole, &options, &needs).status == ITG_kStateNotCalibrated);
  options.states_of = &whole;
  CHECK(itg_calibrator_measure(&step, &options, &needs).status == 0);
}

TEST_CASE("packs and what a session makes of them") {
  for (const IsaMask isa : {isa::kAvx2, isa::kNeon}) {
    const AlignedBytes file = packed_model(isa);
    const Model expected = *Model::open(file.view());
    itg_model model;
    REQUIRE(itg_model_open(&model, file.view().data, file.size(), nullptr).status == ITG_kOk);
    itg_pack pack{};
    pack.struct_size = sizeof pack;
    itg_model_pack(&model, 0, &pack);
    CHECK(std::string(pack.kernel) == expected.pack(0).kernel);
    CHECK(pack.layout == kPackLayout);
    CHECK(pack.data.data == expected.pack(0).data.data);
    CHECK(pack.data.size == expected.pack(0).data.size);
    CHECK(pack.data.size > 0);

    itg_session_options options;
    itg_session_options_init(&options, sizeof options);
    for (const IsaMask target : {isa, isa::kScalar}) {
      options.isa = target;
      SessionOptions same;
      same.isa = target;
      itg_session_needs needs;
      needs.struct_size = sizeof needs;
      REQUIRE(itg_session_measure(&model, itg_all_ops(), &options, false, &needs).status == ITG_kOk);
      const SessionNeeds found = *Session::measure(expected, all_ops(), same, false);
      CHECK(needs.packed_bytes == found.packed_bytes);
      CHECK(needs.in_place_bytes == found.in_place_bytes);
      CHECK(needs.in_place_bytes == (target == isa ? pack.data.size : 0));
    }
  }
}

TEST_CASE("statistics of a tensor") {
  const AlignedBytes file = small_cnn();
  const Model model = *Model::open(file.view());
  AlignedBytes memory(Calibrator::measure(model)->total()), again(memory.size());
  Calibrator calibrator = *Calibrator::create(model, memory.span());
  itg_model opened;
  REQUIRE(itg_model_open(&opened, file.view().data, file.size(), nullptr).status == ITG_kOk);
  itg_calibrator in_c;
  REQUIRE(itg_calibrator_create(&in_c, &opened, {again.data(), again.size()}, nullptr).status == ITG_kOk);
  for (const auto& sample : small_cnn_samples(3)) {
    const Span<const uint8_t> input = {reinterpret_cast<const uint8_t*>(sample.data()), sample.size() * 4};
    const itg_bytes bytes = {input.data, input.size};
    REQUIRE(calibrator.add({&input, 1}).ok());
    REQUIRE(itg_calibrator_add(&in_c, &bytes, 1).status == ITG_kOk);
  }
  CHECK(calibrator.statistics(0).counts[0].empty());  // not yet
  const ModelSink sink = {[](void*, Span<const uint8_t>) { return true; }, nullptr};
  const itg_model_sink c_sink = {sizeof c_sink, [](void*, const uint8_t*, size_t) { return true; }, nullptr};
  REQUIRE(calibrator.finish(sink).ok());
  REQUIRE(itg_calibrator_finish(&in_c, &c_sink, nullptr).status == ITG_kOk);
  CHECK(calibrator.statistics(model.tensor_count()).counts[0].empty());
  int32_t seen = 0;
  for (int32_t t = 0; t < model.tensor_count(); ++t) {
    if (model.tensor(t).is_constant()) continue;
    const TensorStatistics expected = calibrator.statistics(t);
    itg_tensor_statistics found{};
    found.struct_size = sizeof found;
    itg_calibrator_statistics(&in_c, t, &found);
    CHECK(found.min == expected.min);
    CHECK(found.max == expected.max);
    CHECK(found.start == expected.start);
    CHECK(found.width == expected.width);
    REQUIRE(found.bins == expected.counts[0].size);
    for (size_t half = 0; half < 2; ++half)
      for (size_t i = 0; i < found.bins; ++i) CHECK(found.counts[half][i] == expected.counts[half][i]);
    seen += found.bins > 0 ? 1 : 0;
  }
  CHECK(seen > 0);
}

TEST_CASE("a model store") {
  FakeFlash memory;
  const itg_flash flash = memory.device();
  CHECK(itg_stored_model(&flash).size == 0);
  const AlignedBytes first = packed_model(isa::kScalar), second = packed_model(isa::kAvx2);
  REQUIRE(second.size() != first.size());
  for (const AlignedBytes* const model : {&first, &second, &first}) {
    CHECK(itg_store_model(&flash, {model->view().data, model->size()}));
    const itg_bytes stored = itg_stored_model(&flash);
    REQUIRE(stored.size == model->size());
    CHECK(memcmp(stored.data, model->view().data, stored.size) == 0);
    itg_model opened;
    CHECK(itg_model_open(&opened, stored.data, stored.size, nullptr).status == ITG_kOk);
  }
  memory.broken = true;
  CHECK(!itg_store_model(&flash, {second.view().data, second.size()}));
  CHECK(itg_stored_model(&flash).size == first.size());
  CHECK(!itg_store_model(&flash, {second.view().data, 4096 - ITG_MODEL_STORE_OVERHEAD + 1}));
}

TEST_CASE("a model store of signed models, and a ceiling of memory") {
  FakeFlash memory;
  itg_flash flash = memory.device();
  flash.verify = [](void*, const uint8_t* bytes, size_t size) {
    return bytes[size - 1] == 5 ? size - 1 : size_t{0};
  };
  AlignedBytes file(packed_model(isa::kScalar).size() + 1);
  const auto sign = [&file](uint32_t ceiling) {
    HostArena arena;
    const AlignedBytes plain = packed_model(isa::kScalar);
    const auto bytes = with_ceiling(*Model::open(plain.view()), ceiling, arena.arena());
    REQUIRE(static_cast<bool>(bytes));
    file = AlignedBytes(bytes->size + 1);
    memcpy(file.data(), bytes->data, bytes->size);
    file.data()[bytes->size] = 5;
    return itg_bytes{file.data(), file.size()};
  };
  const itg_op_list ops = itg_all_ops();
  itg_bytes given = sign(1);
  itg_model model;
  REQUIRE(itg_model_open(&model, given.data, given.size - 1, nullptr).status == ITG_kOk);
  CHECK(itg_model_memory_ceiling(&model) == 1);
  itg_session_needs needs{};
  needs.struct_size = sizeof needs;
  CHECK(itg_session_measure(&model, ops, nullptr, true, &needs).status == ITG_kAboveCeiling);
  REQUIRE(itg_session_measure_anywhere(&model, ops, nullptr, true, &needs).status == ITG_kOk);
  const auto need = static_cast<uint32_t>(needs.total_bytes);
  const itg_error above = itg_update_model(&flash, given, ops, nullptr);
  CHECK(above.status == ITG_kAboveCeiling);
  CHECK(above.value == need);
  CHECK(above.limit == 1);
  given = sign(need);
  CHECK(itg_update_model(&flash, given, ops, nullptr).status == ITG_kOk);
  CHECK(itg_stored_model(&flash).size == given.size - 1);
  CHECK(itg_update_model(&flash, sign(0), ops, nullptr).status == ITG_kCeilingRaised);
  given = sign(need);
  ++file.data()[file.size() - 1];
  CHECK(itg_update_model(&flash, given, ops, nullptr).status == ITG_kNotVerified);
  CHECK(!itg_store_model(&flash, given));
  // A program whose header has no such field is not asked.
  flash.struct_size = offsetof(itg_flash, verify);
  CHECK(itg_store_model(&flash, given));
  CHECK(itg_stored_model(&flash).size == given.size);
}

TEST_CASE("a device's options in C are those of C++") {
  itg_calibrator_options options;
  itg_calibrator_options_init_device(&options, sizeof options);
  CHECK(options.one_pass);
  CHECK(options.recover == CalibratorOptions::device().recover);
  CHECK(options.weight_bits == 8);
  itg_calibrator_options_init(&options, sizeof options);
  CHECK(!options.one_pass);
  CHECK(options.recover == ITG_RECOVER_DEFAULT);
}

TEST_CASE("a last layer learnt in C is that of C++") {
  const AlignedBytes file = packed_model(isa::kScalar);
  itg_model model;
  REQUIRE(itg_model_open(&model, file.view().data, file.size(), nullptr).status == ITG_kOk);
  itg_features features{};
  features.struct_size = sizeof features;
  REQUIRE(itg_find_features(&model, &features).status == ITG_kOk);
  REQUIRE(features.count == 32);
  CHECK(features.node == 0);
  CHECK(features.scale == 0.5f);
  size_t memory_bytes = 0, patch_bytes = 0;
  CHECK(itg_learner_measure(&model, 1, 9, &memory_bytes, &patch_bytes).status == ITG_kTooManyItems);
  REQUIRE(itg_learner_measure(&model, 3, 9, &memory_bytes, &patch_bytes).status == ITG_kOk);
  AlignedBytes memory(memory_bytes), patch(patch_bytes), other_memory(memory_bytes), expected(patch_bytes);
  itg_learner learner;
  CHECK(itg_learner_create(&learner, &model, 3, 9, {memory.data(), memory_bytes - 1}).status ==
        ITG_kOutOfMemory);
  REQUIRE(itg_learner_create(&learner, &model, 3, 9, {memory.data(), memory_bytes}).status == ITG_kOk);
  LastLayerLearner in_cpp = *LastLayerLearner::create(*Model::open(file.view()), 3, 9, other_memory.span());
  std::vector<std::vector<int8_t>> examples;
  for (int32_t i = 0; i < 9; ++i) {
    examples.push_back(Random(static_cast<uint32_t>(i % 3 + 1)).codes(32));
    examples.back()[static_cast<size_t>(i)] = 100;
    CHECK(itg_learner_add(&learner, examples.back().data(), i % 3).status == ITG_kOk);
    REQUIRE(in_cpp.add(examples.back().data(), i % 3).ok());
  }
  CHECK(itg_learner_add(&learner, examples[0].data(), 3).status == ITG_kBadLabel);
  itg_learn_report report{};
  report.struct_size = sizeof report;
  REQUIRE(itg_learner_finish(&learner, {patch.data(), patch_bytes}, nullptr, &report).status == ITG_kOk);
  REQUIRE(static_cast<bool>(in_cpp.finish(expected.span())));
  CHECK(memcmp(patch.data(), expected.data(), patch_bytes) == 0);
  CHECK(report.kept);
  CHECK(report.method == ITG_LEARN_RIDGE);
  CHECK(report.held_out == 3);
  CHECK(report.right == 3);
  CHECK(report.right_before == -1);
  itg_last_layer layer;
  REQUIRE(itg_last_layer_open(&layer, {patch.data(), patch_bytes}, &model).status == ITG_kOk);
  CHECK(itg_last_layer_classes(&layer) == 3);
  for (int32_t i = 0; i < 9; ++i) {
    const int8_t* const x = examples[static_cast<size_t>(i)].data();
    CHECK(itg_last_layer_classify(&layer, x) == i % 3);
    CHECK(itg_last_layer_score(&layer, x, i % 3) > itg_last_layer_score(&layer, x, (i + 1) % 3));
  }
  REQUIRE(itg_learner_finish(&learner, {patch.data(), patch_bytes}, &layer, &report).status == ITG_kOk);
  CHECK(report.right_before == 3);
  CHECK(itg_last_layer_open(&layer, {patch.data(), patch_bytes - 1}, &model).status == ITG_kOtherLayer);
}

#ifdef ITG_HAVE_OPENMP
TEST_CASE("OpenMP in C: the same bytes, with regions and without") {
  const AlignedBytes file = small_cnn();
  const std::vector<float> sample = small_cnn_samples(1)[0];
  RunningModel running(AlignedBytes(file.view()), all_ops());
  const std::vector<float> expected = running.run<float>(sample);
  itg_model model;
  REQUIRE(itg_model_open(&model, file.view().data, file.size(), nullptr).status == ITG_kOk);
  for (const size_t known : {sizeof(itg_executor), offsetof(itg_executor, region)}) {
    itg_executor executor{};
    executor.struct_size = known;
    itg_openmp_executor(&executor, 3);
    CHECK(executor.width == 3);
    CHECK((executor.region != nullptr) == (known == sizeof executor));
    itg_session_options options;
    itg_session_options_init(&options, sizeof options);
    options.executor = &executor;
    itg_session_needs needs;
    needs.struct_size = sizeof needs;
    REQUIRE(itg_session_measure(&model, itg_all_ops(), &options, true, &needs).status == ITG_kOk);
    AlignedBytes block(needs.total_bytes);
    const itg_session_memory memory = itg_session_split({block.data(), block.size()}, &needs);
    itg_session session;
    REQUIRE(itg_session_create(&session, &model, itg_all_ops(), &memory, &options).status == ITG_kOk);
    for (int run = 0; run < 3; ++run) {
      memcpy(itg_session_input_data(&session, 0), sample.data(), sample.size() * sizeof(float));
      itg_session_run(&session);
      CHECK(memcmp(itg_session_output_data(&session, 0), expected.data(), expected.size() * sizeof(float)) ==
            0);
    }
  }
}
#endif

}  // namespace intaglio::test::c_api_tools_test
