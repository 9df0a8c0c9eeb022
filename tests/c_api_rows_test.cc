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
}

}  // namespace intaglio::test::c_api_rows_test
