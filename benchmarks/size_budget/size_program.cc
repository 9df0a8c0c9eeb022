// A program of the usual kind, for its size alone: it runs networks like MobileNet, ResNet and SqueezeNet,
// with every kernel of this build, and links nothing that it does not use.
#include "intaglio/session.h"
#include "runtime/op.h"

namespace intaglio {

extern const OpDef kConv2dS8, kDepthwiseConv2dS8, kFullyConnectedS8, kAddS8, kMaxPool2dS8, kAvgPool2dS8,
    kMeanS8, kConcatS8, kPadS8, kLookupS8, kReshapeS8, kSoftmaxS8;

namespace {

const OpDef* const kOps[] = {&kConv2dS8,    &kDepthwiseConv2dS8, &kFullyConnectedS8, &kAddS8,
                             &kMaxPool2dS8, &kAvgPool2dS8,       &kMeanS8,           &kConcatS8,
                             &kPadS8,       &kLookupS8,          &kReshapeS8,        &kSoftmaxS8};
alignas(kMemoryAlignment) uint8_t memory[1 << 20];

}  // namespace

int run(const uint8_t* file, size_t size) {
  const Result<Model> model = Model::open({file, size});
  if (!model) return 1;
  const Result<SessionNeeds> needs = Session::measure(*model, kOps);
  if (!needs || needs->total() > sizeof memory) return 2;
  Result<Session> session = Session::create(*model, kOps, Session::split(memory, *needs));
  if (!session) return 3;
  session->run();
  return session->output().as<int8_t>()[0];
}

}  // namespace intaglio

int main() {
  alignas(16) static const uint8_t no_model[16] = {};
  return intaglio::run(no_model, sizeof no_model);
}
