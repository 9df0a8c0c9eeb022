#include "c_api/c_handles.h"
#include "intaglio/last_layer.h"

using namespace intaglio;

static_assert(ITG_LEARN_MEANS == static_cast<int>(LearnMethod::kMeans) &&
              ITG_LEARN_RIDGE == static_cast<int>(LearnMethod::kRidge));

itg_error itg_find_features(const itg_model* model, itg_features* features) {
  const Result<Features> found = find_features(model_in(model));
  give(features, {0, found->node, found->tensor, found->count, found->scale});
  return to_c(found.error());
}

itg_error itg_last_layer_open(itg_last_layer* layer, itg_bytes patch, const itg_model* model) {
  const Result<LastLayer> opened = LastLayer::open(intaglio::from_c(patch), model_in(model));
  put_object(layer, *opened);
  return to_c(opened.error());
}
int32_t itg_last_layer_classes(const itg_last_layer* layer) { return object_in<LastLayer>(layer).classes(); }
float itg_last_layer_score(const itg_last_layer* layer, const int8_t* features, int32_t of_class) {
  return object_in<LastLayer>(layer).score(features, of_class);
}
int32_t itg_last_layer_classify(const itg_last_layer* layer, const int8_t* features) {
  return object_in<LastLayer>(layer).classify(features);
}

itg_error itg_learner_measure(const itg_model* model, int32_t classes, int32_t examples, size_t* memory_bytes,
                              size_t* patch_bytes) {
  const Result<LearnNeeds> needs = LastLayerLearner::measure(model_in(model), classes, examples);
  *memory_bytes = needs->memory_bytes;
  *patch_bytes = needs->patch_bytes;
  return to_c(needs.error());
}
itg_error itg_learner_create(itg_learner* learner, const itg_model* model, int32_t classes, int32_t examples,
                             itg_span memory) {
  const Result<LastLayerLearner> made =
      LastLayerLearner::create(model_in(model), classes, examples, intaglio::from_c(memory));
  put_object(learner, *made);
  return to_c(made.error());
}
itg_error itg_learner_add(itg_learner* learner, const int8_t* features, int32_t of_class) {
  return to_c(object_in<LastLayerLearner>(learner).add(features, of_class));
}
itg_error itg_learner_finish(itg_learner* learner, itg_span patch, const itg_last_layer* in_use,
                             itg_learn_report* report) {
  const LastLayer* const before = in_use == nullptr ? nullptr : &object_in<LastLayer>(in_use);
  const Result<LearnReport> learnt =
      object_in<LastLayerLearner>(learner).finish(intaglio::from_c(patch), before);
  give(report, {0, static_cast<int32_t>(learnt->method), learnt->kept, learnt->held_out, learnt->right,
                learnt->right_before});
  return to_c(learnt.error());
}
