#include "tools/class_scores.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "calibrator/host/system/files.h"
#include "calibrator/host/system/text_lines.h"
#include "calibrator/host/system/wording.h"
#include "importers/import.h"
#include "importers/tflite/tflite_reader.h"

namespace intaglio::tools {

int32_t equal_places(const Model& model, const Samples& samples) {
  std::vector<bool> pictures;
  for (size_t i = 0; i < model.inputs().size; ++i) pictures.push_back(samples.holds_pictures(i));
  return equal_places(model, pictures);
}

int32_t equal_places(const Model& model, const std::vector<bool>& holds_pictures) {
  const int32_t batch = picture_batch(model);
  return batch > 1 && holds_pictures[static_cast<size_t>(model.image(0).input)] ? batch : 1;
}

namespace {

bool has_one_class(const Model& model, const Samples& samples) {
  return equal_places(model, samples) == picture_batch(model);
}

}  // namespace

bool gives_classes(const Model& model, const Samples& samples) {
  return class_output(model).has_value() && has_one_class(model, samples);
}

bool may_give_classes(const Model& model, const Samples& samples) {
  return possible_class_output(model).has_value() && has_one_class(model, samples);
}

Failure no_classes(const LoadedModel& file, const Samples& samples, const std::string& remedy) {
  const Model& model = file.model();
  if (possible_class_output(model) && !has_one_class(model, samples)) {
    const std::string batch = std::to_string(picture_batch(model));
    return {file.path() + ": takes a batch of " + batch + ", so each sample of the array is " + batch +
            " pictures with a class each; import the network with " + option_word("batch", "1") +
            ", or give pictures"};
  }
  const Answer answer = model.outputs().size == 1 ? answer_of(model, 0) : Answer();
  const std::string reason = answer.kind == AnswerKind::kUnknown || answer.kind == AnswerKind::kClasses
                                 ? ""
                                 : " (" + std::string(answer_name(answer.kind)) + ": " + answer.reason + ")";
  return {file.path() + ": its output holds no scores of classes" + reason + remedy};
}

std::vector<float> class_scores(const Session& session, const ClassOutput& of) {
  std::vector<float> scores = real_values(session.output(static_cast<int32_t>(of.output)));
  scores.resize(static_cast<size_t>(of.row));
  // One number for two classes: a probability has a rest, and another number is above or below zero.
  if (of.row == 1) scores = {of.is_probability ? 1 - scores[0] : 0, scores[0]};
  return scores;
}

bool are_probabilities(const std::vector<float>& scores) {
  const double sum = std::accumulate(scores.begin(), scores.end(), 0.0);
  return std::abs(sum - 1) < 0.01 &&
         std::all_of(scores.begin(), scores.end(), [](float x) { return x >= 0; });
}

std::optional<int32_t> chosen_class(const Session& session, const ClassOutput& of) {
  if (!of.is_index) return best_class(class_scores(session, of));
  return session.output(static_cast<int32_t>(of.output)).as<int32_t>()[0];
}

std::vector<float> real_values(const TensorView& view) {
  const auto count = static_cast<size_t>(view.info.shape.elements());
  std::vector<float> values(count);
  const bool scaled = !view.info.quantization.scales.empty();
  const float scale = scaled ? view.info.quantization.scales[0] : 1.0f;
  const int32_t zero_point = scaled ? view.info.quantization.zero_point : 0;
  for (size_t i = 0; i < count; ++i) {
    switch (view.info.dtype) {
      case DType::kF32:
        values[i] = view.as<float>()[i];
        break;
      case DType::kS8:
        values[i] = scale * static_cast<float>(view.as<int8_t>()[i] - zero_point);
        break;
      case DType::kU8:
        values[i] = scale * static_cast<float>(view.as<uint8_t>()[i] - zero_point);
        break;
      case DType::kS16:
        values[i] = scale * static_cast<float>(view.as<int16_t>()[i] - zero_point);
        break;
      case DType::kS32:
        values[i] = scale * static_cast<float>(view.as<int32_t>()[i]);
        break;
      default:
        break;
    }
  }
  return values;
}

std::optional<int32_t> best_class(const std::vector<float>& scores) {
  size_t best = 0;
  for (size_t i = 0; i < scores.size(); ++i) {
    if (std::isnan(scores[i])) return std::nullopt;
    if (scores[i] > scores[best]) best = i;
  }
  return static_cast<int32_t>(best);
}

int32_t rank_of(const std::vector<float>& scores, int32_t wanted) {
  const auto index = static_cast<size_t>(wanted);
  int32_t before = 0;
  for (size_t i = 0; i < scores.size(); ++i) {
    if (scores[i] > scores[index] || (scores[i] == scores[index] && i < index)) ++before;
  }
  return before;
}

std::vector<int32_t> best_classes(const std::vector<float>& scores, size_t count) {
  std::vector<int32_t> order(scores.size());
  std::iota(order.begin(), order.end(), 0);
  count = std::min(count, order.size());
  // Scores that are no numbers come last.
  const auto value = [&](int32_t i) {
    const float score = scores[static_cast<size_t>(i)];
    return std::isnan(score) ? -INFINITY : score;
  };
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count), order.end(),
                    [&](int32_t a, int32_t b) { return value(a) != value(b) ? value(a) > value(b) : a < b; });
  order.resize(count);
  return order;
}

namespace {

// How many classes a model has whose output may hold scores.
size_t classes_of(const Model& model) { return static_cast<size_t>(possible_class_output(model)->classes()); }

}  // namespace

Outcome<ClassNames> ClassNames::read(const std::string& path, const Model& model) {
  const auto file = read_file(path, kMaxModelBytes);
  return file ? of_file(path, file->span(), model) : file.failure();
}

Outcome<ClassNames> ClassNames::read(const std::string& path) {
  const auto file = read_file(path, kMaxModelBytes);
  return file ? of_file(path, file->span(), 0) : file.failure();
}

Outcome<ClassNames> ClassNames::of_file(const std::string& path, Span<const uint8_t> text,
                                        const Model& model) {
  if (!possible_class_output(model))
    return Failure{path + ": the model's output holds no scores of classes; leave " + option_word("names") +
                   " out"};
  return of_file(path, text, classes_of(model));
}

Outcome<ClassNames> ClassNames::of_file(const std::string& path, Span<const uint8_t> text, size_t classes) {
  constexpr uint64_t kMostBytes = uint64_t{64} << 20;
  if (is_tflite_file(text)) {
    const auto labels = importers::tflite_labels(text);
    if (!labels) return Failure{path + ": " + labels.message()};
    if (!*labels)
      return Failure{path + ": its metadata names no label file; give a text file, a name a line"};
    text = **labels;
  } else if (text.size > kMostBytes) {
    return Failure{path + ": is no list of names: it has " + std::to_string(text.size) + " bytes"};
  }
  ClassNames names;
  for (const TextLine& line : lines_of(text)) {
    if (line.number != names.names_.size() + 1)
      return Failure{path + " line " + std::to_string(names.names_.size() + 1) +
                     ": is empty; each class needs a name"};
    names.names_.push_back(line.text);
  }
  if (names.names_.empty()) return Failure{path + ": holds no names"};
  if (classes != 0 && names.names_.size() != classes)
    return Failure{path + ": holds " + std::to_string(names.names_.size()) + " names, the model has " +
                   std::to_string(classes) + " classes"};
  return names;
}

Outcome<Labels> read_labels(const LabelChoice& choice, const Model& model, const Work& work) {
  ClassNames known;
  if (!choice.names.empty()) {
    auto read = ClassNames::read(choice.names, model);
    if (!read) return read.failure();
    known = std::move(*read);
  }
  auto labels = Labels::read(choice.path, known.all(), classes_of(model));
  if (labels && !labels->note().empty()) work.note(labels->note());
  return labels;
}

Outcome<std::vector<int32_t>> right_classes(const LabelChoice& choice, const std::vector<std::string>& names,
                                            const Model& model, const SampleChoice& samples, Work& work) {
  const auto count = static_cast<int32_t>(classes_of(model));
  if (choice.path.empty()) {
    if (choice.classes.size() != names.size())
      return Failure{option_word("labels") + ": has " + std::to_string(choice.classes.size()) +
                     " class numbers for " + std::to_string(names.size()) + " samples; give each sample one"};
    for (size_t i = 0; i < names.size(); ++i)
      if (choice.classes[i] < 0 || choice.classes[i] >= count)
        return Failure{option_word("labels") + ": class " + std::to_string(choice.classes[i]) +
                       " of sample " + names[i] + " is not in 0 to " + std::to_string(count - 1)};
    return choice.classes;
  }
  const auto labels = read_labels(choice, model, work);
  if (!labels) return labels.failure();
  std::vector<int32_t> classes;
  for (const std::string& name : names) {
    const auto label = labels->of(name);
    if (!label) return label.failure();
    classes.push_back(*label);
  }
  if (labels->in_order() > names.size() && samples.only.empty() && samples.limit == 0)
    work.warn(option_word("labels") + " has " + std::to_string(labels->in_order()) +
              " lines, and there are " + std::to_string(names.size()) +
              " to judge: the first lines are taken. Are they of these samples?");
  return classes;
}

std::string ClassNames::of(int32_t label) const {
  return names_.empty() ? "class " + std::to_string(label) : names_[static_cast<size_t>(label)];
}

}  // namespace intaglio::tools
