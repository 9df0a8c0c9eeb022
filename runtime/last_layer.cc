#include "intaglio/last_layer.h"

#include <cstring>

#include "runtime/crc32.h"

namespace intaglio {
namespace {

constexpr uint32_t kMagic = 0x4c475449;  // "ITGL"
constexpr uint16_t kHeldOut = 0x8000;    // of a label
constexpr int32_t kMaxClasses = 1024, kMaxExamples = 4096, kMaxFeatures = 65536;

// Before a scale and a bias for each class, and the weights of each. Little-endian.
struct Header {
  uint32_t magic, crc32;  // of all behind it
  uint32_t model_crc32;   // of the model's file
  int32_t features, classes;
};
struct Line {
  float scale, bias;
};

size_t patch_bytes(int32_t classes, int32_t features) {
  return sizeof(Header) + static_cast<size_t>(classes) * (sizeof(Line) + static_cast<size_t>(features));
}
uint32_t sum_of(const uint8_t* patch, size_t size) {
  constexpr size_t kFirst = offsetof(Header, model_crc32);
  return crc32(0, patch + kFirst, size - kFirst);
}
uint32_t sum_of(const Model& model) { return crc32(0, model.bytes().data, model.bytes().size); }

int32_t triangle(int32_t rows) { return rows * (rows + 1) / 2; }

// Out of line: an error made in place is a third of its caller.
[[gnu::noinline]] Error fault(Status status, int64_t value = 0, int64_t limit = 0) {
  return {status, -1, -1, value, limit};
}

// Both kinds of memory, and the features; the first error.
Error measure_all(const Model& model, int32_t classes, int32_t examples, LearnNeeds& needs,
                  Features& features) {
  const Result<Features> found = find_features(model);
  if (!found) return found.error();
  features = *found;
  if (classes < 2 || classes > kMaxClasses) return fault(Status::kTooManyItems, classes, kMaxClasses);
  if (examples < 2 || examples > kMaxExamples) return fault(Status::kTooManyItems, examples, kMaxExamples);
  const int32_t lesser = examples < features.count ? examples : features.count;
  const auto count = static_cast<size_t>(features.count), room = static_cast<size_t>(examples);
  needs.memory_bytes = sizeof(double) * (static_cast<size_t>(triangle(lesser)) + room + count) +
                       sizeof(int32_t) * count + (2 * sizeof(uint16_t) + count) * room;
  needs.patch_bytes = patch_bytes(classes, features.count);
  return kNoError;
}

}  // namespace

Result<Features> find_features(const Model& model) {
  for (int32_t n = model.node_count() - 1; n >= 0; --n) {
    const NodeInfo node = model.node(n);
    if (node.op > Op::kFullyConnected) continue;  // these have the least numbers
    const int32_t tensor = node.inputs[0];
    const TensorInfo info = model.tensor(tensor);
    const int64_t count = info.shape.elements();
    if (info.dtype != DType::kS8 || count != info.shape.back(0) || count > kMaxFeatures ||
        info.quantization.scales.empty())
      break;
    return Features{n, tensor, static_cast<int32_t>(count), info.quantization.scales[0]};
  }
  return fault(Status::kNoFeatures);
}

Result<LastLayer> LastLayer::open(Span<const uint8_t> patch, const Model& model) {
  const Result<Features> features = find_features(model);
  if (!features) return features.error();
  Header header;
  if (patch.size >= sizeof header) {
    memcpy(&header, patch.data, sizeof header);
    if (header.magic == kMagic && header.features == features->count &&
        static_cast<uint32_t>(header.classes - 2) <= kMaxClasses - 2 &&
        patch.size == patch_bytes(header.classes, header.features) &&
        header.crc32 == sum_of(patch.data, patch.size) && header.model_crc32 == sum_of(model))
      return LastLayer(patch.data, header.classes, header.features);
  }
  return fault(Status::kOtherLayer);
}

float LastLayer::score(const int8_t* features, int32_t of_class) const {
  Line line;
  const uint8_t* const lines = patch_ + sizeof(Header);
  memcpy(&line, lines + static_cast<size_t>(of_class) * sizeof line, sizeof line);
  const auto* const weights = reinterpret_cast<const int8_t*>(lines) +
                              static_cast<size_t>(classes_) * sizeof line +
                              static_cast<size_t>(of_class) * static_cast<size_t>(count_);
  int32_t sum = 0;
  for (int32_t t = 0; t < count_; ++t) sum += weights[t] * features[t];
  return line.scale * static_cast<float>(sum) + line.bias;
}

int32_t LastLayer::classify(const int8_t* features) const {
  int32_t best = 0;
  for (int32_t c = 1; c < classes_; ++c)
    if (score(features, c) > score(features, best)) best = c;
  return best;
}

Result<LearnNeeds> LastLayerLearner::measure(const Model& model, int32_t classes, int32_t examples) {
  Result<LearnNeeds> needs = LearnNeeds();
  Features features;
  ITG_TRY(measure_all(model, classes, examples, *needs, features));
  return needs;
}

Result<LastLayerLearner> LastLayerLearner::create(const Model& model, int32_t classes, int32_t examples,
                                                  Span<uint8_t> memory) {
  Result<LastLayerLearner> result = LastLayerLearner();
  LastLayerLearner& made = *result;
  LearnNeeds needs;
  ITG_TRY(measure_all(model, classes, examples, needs, made.features_));
  if (memory.size < needs.memory_bytes)
    return fault(Status::kOutOfMemory, static_cast<int64_t>(memory.size),
                 static_cast<int64_t>(needs.memory_bytes));
  made.model_crc_ = sum_of(model);
  made.classes_ = classes;
  made.room_ = examples;
  const int32_t count = made.features_.count;
  made.system_ = reinterpret_cast<double*>(memory.data);
  made.targets_ = made.system_ + triangle(examples < count ? examples : count);
  made.weights_ = made.targets_ + examples;
  made.sums_ = reinterpret_cast<int32_t*>(made.weights_ + count);
  made.labels_ = reinterpret_cast<uint16_t*>(made.sums_ + count);
  made.rows_ = made.labels_ + examples;
  made.examples_ = reinterpret_cast<int8_t*>(made.rows_ + examples);
  return result;
}

Error LastLayerLearner::add(const int8_t* features, int32_t of_class) {
  if (static_cast<uint32_t>(of_class) >= static_cast<uint32_t>(classes_))
    return fault(Status::kBadLabel, of_class, classes_);
  if (count_ == room_) return fault(Status::kTooManyItems, count_ + 1, room_);
  int32_t before = 0;
  for (int32_t i = 0; i < count_; ++i) before += (labels_[i] & ~kHeldOut) == of_class ? 1 : 0;
  labels_[count_] = static_cast<uint16_t>(of_class | (before % 3 == 2 ? kHeldOut : 0));
  memcpy(examples_ + static_cast<size_t>(count_++) * static_cast<size_t>(features_.count), features,
         static_cast<size_t>(features_.count));
  return kNoError;
}

int32_t LastLayerLearner::right_of(const LastLayer& layer) const {
  int32_t right = 0;
  for (int32_t i = 0; i < count_; ++i) {
    const int8_t* const x = examples_ + static_cast<size_t>(i) * static_cast<size_t>(features_.count);
    if (labels_[i] >= kHeldOut && layer.classify(x) == labels_[i] - kHeldOut) ++right;
  }
  return right;
}

// The rows to learn from: all examples, or those that are not held out. Their sums.
void LastLayerLearner::take_rows(bool all) {
  const int32_t count = features_.count;
  row_count_ = 0;
  memset(sums_, 0, static_cast<size_t>(count) * sizeof *sums_);
  for (int32_t i = 0; i < count_; ++i) {
    if (!all && labels_[i] >= kHeldOut) continue;
    rows_[row_count_++] = static_cast<uint16_t>(i);
    const int8_t* const x = examples_ + static_cast<size_t>(i) * static_cast<size_t>(count);
    for (int32_t t = 0; t < count; ++t) sums_[t] += x[t];
  }
}

[[gnu::noinline]] bool LastLayerLearner::is_of(int32_t row, int32_t of_class) const {
  return (labels_[rows_[row]] & ~kHeldOut) == of_class;
}

// n times what a feature is above its mean, of n rows.
[[gnu::noinline]] int32_t LastLayerLearner::centered(int32_t row, int32_t t) const {
  const size_t at = rows_[row] * static_cast<size_t>(features_.count) + static_cast<size_t>(t);
  return row_count_ * examples_[at] - sums_[t];
}

// The triangle becomes L and D: L D L' = products of rows, or of features, and a ridge of 1 in squares of reals.
void LastLayerLearner::factor() {
  const bool dual = is_dual();
  const int32_t size = dual ? row_count_ : features_.count, inner = dual ? features_.count : row_count_;
  const double squared = static_cast<double>(row_count_ * row_count_);
  const auto scale = static_cast<double>(features_.scale);
  const double ridge = 1.0 / (scale * scale);
  double* row = system_;
  for (int32_t r = 0; r < size; row += ++r) {
    const double* other = system_;
    for (int32_t q = 0; q <= r; other += ++q) {
      int64_t sum = 0;
      for (int32_t i = 0; i < inner; ++i)
        sum +=
            static_cast<int64_t>(centered(dual ? r : i, dual ? i : r)) * centered(dual ? q : i, dual ? i : q);
      double value = static_cast<double>(sum) / squared;
      for (int32_t k = 0; k < q; ++k) {
        double factor = row[k];  // L D of this row, L of the others
        if (q == r) row[k] = factor / system_[triangle(k + 1) - 1];
        value -= factor * (q == r ? row : other)[k];
      }
      if (q == r) {
        value += ridge;
        if (value < ridge) value = ridge;
      }
      row[q] = value;
    }
  }
}

void LastLayerLearner::substitute(double* values) const {
  const int32_t size = is_dual() ? row_count_ : features_.count;
  for (int32_t r = 0; r < size; ++r)
    for (int32_t k = 0; k < r; ++k) values[r] -= system_[triangle(r) + k] * values[k];
  for (int32_t r = size - 1; r >= 0; --r) {
    values[r] /= system_[triangle(r + 1) - 1];
    for (int32_t k = r + 1; k < size; ++k) values[r] -= system_[triangle(k) + r] * values[k];
  }
}

void LastLayerLearner::learn(LearnMethod method, bool all, uint8_t* patch) {
  take_rows(all);
  const bool ridge = method == LearnMethod::kRidge;
  if (ridge) factor();
  const int32_t n = row_count_, count = features_.count;
  uint8_t* line_at = patch + sizeof(Header);
  auto* codes = reinterpret_cast<int8_t*>(line_at) + static_cast<size_t>(classes_) * sizeof(Line);
  for (int32_t c = 0; c < classes_; ++c) {
    int32_t members = 0;
    for (int32_t r = 0; r < n; ++r) members += is_of(r, c) ? 1 : 0;
    for (int32_t r = 0; r < n; ++r) targets_[r] = is_of(r, c) ? 1 : ridge ? -1 : 0;
    if (ridge && is_dual()) substitute(targets_);
    const double divisor = ridge ? n : n * members;
    for (int32_t t = 0; t < count; ++t) {
      double sum = 0;
      for (int32_t r = 0; r < n; ++r) sum += targets_[r] * centered(r, t);
      weights_[t] = sum / divisor;
    }
    if (ridge && !is_dual()) substitute(weights_);
    double bias = ridge ? 2 * members - n : 0;
    float largest = 1e-30f;
    for (int32_t t = 0; t < count; ++t) {
      const double w = weights_[t];
      bias -= w * (ridge ? sums_[t] : sums_[t] + w * n / 2);
      const auto rounded = static_cast<float>(w), size = rounded < 0 ? -rounded : rounded;
      if (size > largest) largest = size;
    }
    const float step = largest / 127;
    for (int32_t t = 0; t < count; ++t) {
      const float code = static_cast<float>(weights_[t]) / step + 128.5f;  // above 0: at most 127.01 away
      *codes++ = static_cast<int8_t>(static_cast<int32_t>(code) - 128);
    }
    const Line line = {step, static_cast<float>(bias / n)};
    memcpy(line_at, &line, sizeof line);
    line_at += sizeof line;
  }
}

Result<LearnReport> LastLayerLearner::finish(Span<uint8_t> patch, const LastLayer* in_use) {
  const size_t needed = patch_bytes(classes_, features_.count);
  if (patch.size < needed)
    return fault(Status::kOutOfMemory, static_cast<int64_t>(patch.size), static_cast<int64_t>(needed));
  take_rows(true);
  for (int32_t c = 0; c < classes_; ++c) {
    int32_t row = 0;
    while (row < row_count_ && !is_of(row, c)) ++row;
    if (row == row_count_) return fault(Status::kNoExamples, c);
  }
  LearnReport report;
  report.held_out = row_count_;
  take_rows(false);
  report.held_out -= row_count_;
  if (report.held_out > 0) {
    const LastLayer layer(patch.data, classes_, features_.count);
    learn(LearnMethod::kMeans, false, patch.data);
    const int32_t by_means = right_of(layer);
    learn(LearnMethod::kRidge, false, patch.data);
    report.right = right_of(layer);
    // Few examples judge: what they say by chance is no reason to leave regression.
    const int32_t more = by_means - report.right;
    if (more > 0 && more * more > report.held_out) {
      report.method = LearnMethod::kMeans;
      report.right = by_means;
    }
    if (in_use != nullptr) report.right_before = right_of(*in_use);
  }
  memset(patch.data, 0, needed);
  report.kept = report.right >= report.right_before;
  if (!report.kept) return report;
  learn(report.method, true, patch.data);
  Header header = {kMagic, 0, model_crc_, features_.count, classes_};
  memcpy(patch.data, &header, sizeof header);
  header.crc32 = sum_of(patch.data, needed);
  memcpy(patch.data, &header, sizeof header);
  return report;
}

}  // namespace intaglio
