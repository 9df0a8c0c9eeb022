// An int8 network on a board without an operating system: the model is a constant array, all memory is one
// static block of the size that the build machine measured. Ends with 0 where every score is the build
// machine's.
#include "firmware_model.h"  // written by firmware_make_model
#include "intaglio/session.h"

extern "C" void board_print(const char* text);

// The operators that this model needs: nothing of the others is linked.
namespace intaglio {
extern const OpDef kConv2dS8, kDepthwiseConv2dS8, kFullyConnectedS8;
}

namespace {

const intaglio::OpDef* const kOps[] = {&intaglio::kConv2dS8, &intaglio::kDepthwiseConv2dS8,
                                       &intaglio::kFullyConnectedS8};

alignas(intaglio::kMemoryAlignment) uint8_t memory[kMemoryBytes];

int fail(const char* what) {
  board_print("FAILED: ");
  board_print(what);
  board_print("\n");
  return 1;
}

}  // namespace

extern "C" int main() {
  using namespace intaglio;
  const Result<Model> model = Model::open({kModel, sizeof kModel});
  if (!model) return fail("the model is refused");
  const OpList ops = kOps;
  const Result<SessionNeeds> needs = Session::measure(*model, ops);
  if (!needs) return fail("the session is refused");
  if (needs->total() != kMemoryBytes)
    return fail("this board needs other memory than the build machine measured");
  Result<Session> session = Session::create(*model, ops, Session::split({memory, sizeof memory}, *needs));
  if (!session) return fail("no session");
  const Span<int8_t> input = session->input().as<int8_t>();
  for (size_t i = 0; i < input.size; ++i) input[i] = kInput[i];
  session->run();
  const Span<int8_t> scores = session->output().as<int8_t>();
  for (size_t i = 0; i < scores.size; ++i)
    if (scores[i] != kExpected[i]) return fail("a score differs from the build machine's");
  board_print("intaglio: every score is the build machine's\n");
  return 0;
}
