// Pictures by rows, in C: layer by layer and by a plan that feeds them.
#include <doctest/doctest.h>

#include <cstring>

#include "calibrator/host/stream_plan.h"
#include "intaglio/c_api.h"
#include "tests/support/calibrate.h"
#include "tests/support/small_models.h"

namespace intaglio::test::c_api_rows_test {
namespace {

using Bytes = std::vector<uint8_t>;

struct RowSession {
  itg_model model;
  itg_session session;
  AlignedBytes memory;

  RowSession(Span<const uint8_t> file, bool streams) {
    REQUIRE(itg_model_open(&model, file.data, file.size, nullptr).status == ITG_kOk);
    if (streams) REQUIRE(itg_stream_rows(&model, &model).status == ITG_kOk);
    itg_session_needs needs;
    needs.struct_size = sizeof needs;
    REQUIRE(itg_session_measure(&model, itg_all_ops(), nullptr, true, &needs).status == ITG_kOk);
    memory = AlignedBytes(needs.total_bytes);
    const itg_session_memory parts = itg_session_split({memory.data(), memory.size()}, &needs);
    REQUIRE(itg_session_create(&session, &model, itg_all_ops(), &parts, nullptr).status == ITG_kOk);
  }
  Bytes output() const {
    itg_tensor tensor;
    tensor.struct_size = sizeof tensor;
    itg_session_output(&session, 0, &tensor);
    const auto* const bytes = static_cast<const uint8_t*>(tensor.data);
    return {bytes, bytes + tensor.bytes};
  }
};

}  // namespace

TEST_CASE("rows give what the whole picture gives, and rows behind the last one are ignored") {
  const AlignedBytes fp32 = small_cnn();
  const Bytes int8 = calibrate(*Model::open(fp32.view()), small_cnn_samples(2), {});
  const AlignedBytes file(Span<const uint8_t>(int8.data(), int8.size()));
  HostArena arena;
  const auto fed_file = stream_model(*Model::open(file.view()), all_ops(), {{}, true}, arena.arena());
  REQUIRE(fed_file.error().ok());
  RowSession whole(file.view(), false), fed(*fed_file, true);
  itg_tensor input;
  input.struct_size = sizeof input;
  itg_session_input(&whole.session, 0, &input);
  itg_picture picture{};
  picture.struct_size = sizeof picture;
  picture.height = input.dims[1];
  picture.width = input.dims[2];
  picture.order = ITG_PIXELS_RGB;
  const auto row_bytes = static_cast<size_t>(input.dims[2] * input.dims[3]);
  Bytes pixels(static_cast<size_t>(input.dims[1]) * row_bytes);
  for (size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<uint8_t>(i * 53);
  REQUIRE(itg_write_image(&whole.session, 0, &picture, pixels.data(), pixels.size(), row_bytes, {}).status ==
          ITG_kOk);
  itg_session_run(&whole.session);
  const Bytes expected = whole.output();
  CHECK(itg_session_input_data(&fed.session, 0) == nullptr);
  for (RowSession* const by_rows : {&whole, &fed}) {
    itg_session* const session = &by_rows->session;
    CHECK(!itg_session_feed_rows(session, pixels.data() + row_bytes, 1));
    itg_session_begin_picture(session);
    CHECK(!itg_session_feed_rows(session, pixels.data(), 2));
    CHECK(itg_session_feed_rows(session, pixels.data() + 2 * row_bytes, 1000));
    CHECK(itg_session_feed_rows(session, nullptr, 1));
    CHECK(by_rows->output() == expected);
  }
  // The same pixels as a camera's frame, with blue first and a gap behind each row.
  Bytes bgra;
  for (size_t i = 0; i < pixels.size(); i += 3) {
    bgra.insert(bgra.end(), {pixels[i + 2], pixels[i + 1], pixels[i], 9});
    if ((i + 3) % row_bytes == 0) bgra.insert(bgra.end(), 5, 0xEE);
  }
  itg_frame frame{};
  frame.struct_size = sizeof frame;
  frame.width = picture.width;
  frame.height = picture.height;
  frame.order = ITG_PIXELS_BGRA;
  frame.pixels = bgra.data();
  frame.pixels_bytes = bgra.size();
  frame.row_bytes = static_cast<size_t>(frame.width) * 4 + 5;
  size_t scratch_bytes = 0;
  REQUIRE(itg_frame_measure(&whole.model, 0, &frame, &scratch_bytes).status == ITG_kOk);
  Bytes scratch(scratch_bytes);
  for (RowSession* const by_rows : {&whole, &fed}) {
    itg_session_feed_rows(&by_rows->session, pixels.data(), 1);  // of a picture that was given up
    CHECK(itg_feed_frame(&by_rows->session, &frame, {scratch.data(), scratch.size()}).status == ITG_kOk);
    CHECK(by_rows->output() == expected);
  }
  // And to the calibrator, as the input that they become.
  const Model fp32_model = *Model::open(fp32.view());
  AlignedBytes memory(Calibrator::measure(fp32_model)->total());
  std::vector<Bytes> states;
  for (const bool frames : {true, false}) {
    itg_model model;
    itg_calibrator calibrator;
    REQUIRE(itg_model_open(&model, fp32.view().data, fp32.view().size, nullptr).status == ITG_kOk);
    REQUIRE(itg_calibrator_create(&calibrator, &model, {memory.data(), memory.size()}, nullptr).status ==
            ITG_kOk);
    if (frames) {
      REQUIRE(itg_calibrator_add_frame(&calibrator, &frame, {scratch.data(), scratch.size()}).status ==
              ITG_kOk);
    } else {
      std::vector<float> values(pixels.size());
      const TensorView view{fp32_model.tensor(fp32_model.inputs()[0]), values.data()};
      REQUIRE(write_image(fp32_model.image(0), view, {picture.width, picture.height, PixelOrder::kRgb},
                          {pixels.data(), pixels.size()}, row_bytes, {})
                  .ok());
      const itg_bytes bytes = {reinterpret_cast<const uint8_t*>(values.data()),
                               values.size() * sizeof(float)};
      REQUIRE(itg_calibrator_add(&calibrator, &bytes, 1).status == ITG_kOk);
    }
    states.emplace_back(itg_calibrator_state_bytes(&calibrator));
    REQUIRE(itg_calibrator_save(&calibrator, {states.back().data(), states.back().size()}).status == ITG_kOk);
  }
  CHECK(states[0] == states[1]);
}

TEST_CASE("activations in two memories give what one memory gives, and one byte less is refused") {
  const AlignedBytes fp32 = small_cnn();
  const Bytes int8 = calibrate(*Model::open(fp32.view()), small_cnn_samples(2), {});
  const AlignedBytes file(Span<const uint8_t>(int8.data(), int8.size()));
  HostArena arena;
  const auto planned =
      stream_model(*Model::open(file.view()), all_ops(), {uint64_t{1} << 20, false, 256}, arena.arena());
  REQUIRE(planned.error().ok());
  RowSession one(*planned, false);
  const size_t fast_bytes = itg_model_fast_bytes(&one.model);
  REQUIRE(fast_bytes > 0);
  itg_session_needs needs;
  needs.struct_size = sizeof needs;
  REQUIRE(itg_two_memories_measure(&one.model, itg_all_ops(), nullptr, true, &needs).status == ITG_kOk);
  // In one block: a sanitizer's heap may lay two of them 4 GB apart.
  const size_t total = (needs.total_bytes + 63) / 64 * 64;
  AlignedBytes memory(total + fast_bytes);
  uint8_t* const fast = memory.data() + total;
  const itg_session_memory parts = itg_session_split({memory.data(), total}, &needs);
  itg_session two;
  CHECK(itg_two_memories_create(&two, &one.model, itg_all_ops(), &parts, {fast, fast_bytes - 1}, nullptr)
            .status == ITG_kActivationsTooSmall);
  REQUIRE(
      itg_two_memories_create(&two, &one.model, itg_all_ops(), &parts, {fast, fast_bytes}, nullptr).status ==
      ITG_kOk);
  for (itg_session* const session : {&one.session, &two}) {
    itg_tensor input;
    input.struct_size = sizeof input;
    itg_session_input(session, 0, &input);
    auto* const codes = static_cast<uint8_t*>(input.data);
    for (size_t i = 0; i < input.bytes; ++i) codes[i] = static_cast<uint8_t>(i * 53);
    itg_session_run(session);
  }
  itg_tensor output;
  output.struct_size = sizeof output;
  itg_session_output(&two, 0, &output);
  CHECK(memcmp(output.data, one.output().data(), output.bytes) == 0);
}

}  // namespace intaglio::test::c_api_rows_test
