#include "importers/params/params_table.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <map>

#include "calibrator/host/system/files.h"
#include "calibrator/host/system/real_text.h"
#include "runtime/quantization_range.h"

namespace intaglio {
namespace {

constexpr uint64_t kMaxParamsBytes = uint64_t{64} << 20;
constexpr const char* kNames[kParamsFormatCount] = {"tengine", "tengine-uint8", "ncnn", "amct",
                                                    "ppq",     "aimet",         "model"};
struct Suffix {
  const char* end;
  ParamsFormat format;
};
constexpr Suffix kSuffixes[] = {{".scale", ParamsFormat::kTengine}, {".table", ParamsFormat::kNcnn},
                                {".record", ParamsFormat::kAmct},   {".txt", ParamsFormat::kAmct},
                                {".json", ParamsFormat::kPpq},      {".encodings", ParamsFormat::kAimet},
                                {".itg", ParamsFormat::kModel}};

}  // namespace

const char* params_format_name(ParamsFormat format) { return kNames[static_cast<size_t>(format)]; }

std::optional<ParamsFormat> params_format_of(const std::string& path) {
  for (const Suffix& suffix : kSuffixes) {
    const std::string_view end = suffix.end;
    if (path.size() >= end.size() && std::string_view(path).substr(path.size() - end.size()) == end)
      return suffix.format;
  }
  return std::nullopt;
}

const ParamsEntry* ParamsTable::find(ParamsOf of, const std::string& name, const std::string& reader) const {
  for (; indexed_ < entries.size(); ++indexed_) {
    const ParamsEntry& entry = entries[indexed_];
    places_.emplace(
        std::tuple(entry.of, entry.name, entry.of == ParamsOf::kReader ? entry.node : std::string()),
        indexed_);
  }
  const auto place = places_.find({of, name, reader});
  return place == places_.end() ? nullptr : &entries[place->second];
}

void ParamsTable::remove(const std::string& tensor) {
  const auto is_about = [&](const ParamsEntry& entry) {
    return entry.name == tensor || entry.follows == tensor;
  };
  entries.erase(std::remove_if(entries.begin(), entries.end(), is_about), entries.end());
  places_.clear();
  indexed_ = 0;
}

int32_t ParamsEntry::bits() const {
  int32_t bits = 2;
  while (int32_t{1} << bits < hi - lo + 1) ++bits;
  return bits;
}

Outcome<float> checked_scale(double scale, const std::string& what) {
  const auto rounded = static_cast<float>(scale);
  if (is_scale(rounded)) return rounded;
  return Failure{what + " has the scale " + general_text(scale, 9) +
                 ", and scales are 2^-40 to 2^40; correct the file, or leave the line out"};
}

std::optional<double> number_of(std::string_view text) {
  const std::optional<double> value = read_real(text);
  return value && std::isfinite(*value) ? value : std::nullopt;
}

Outcome<Done> add_entry(ParamsTable& table, ParamsEntry entry, const std::string& path) {
  const ParamsEntry* const before = table.find_same(entry);
  if (before != nullptr)
    return Failure{path + " " + entry.place + ": " + entry.name + " stands there already" +
                   (before->place.empty() ? "" : ", at " + before->place) + "; delete one of them"};
  table.entries.push_back(std::move(entry));
  return Done{};
}

Outcome<ParamsTable> read_params(const std::string& path, ParamsFormat format) {
  const auto file = read_file(path, kMaxParamsBytes);
  if (!file) return file.failure();
  const std::string_view text(reinterpret_cast<const char*>(file->data()), file->size());
  switch (format) {
    case ParamsFormat::kTengine:
    case ParamsFormat::kTengineUint8:
      return read_tengine(path, text, format == ParamsFormat::kTengineUint8);
    case ParamsFormat::kNcnn:
      return read_ncnn(path, text);
    case ParamsFormat::kAmct:
      return read_amct(path, text);
    case ParamsFormat::kPpq:
      return read_ppq(path, text);
    case ParamsFormat::kAimet:
      return read_aimet(path, text);
    case ParamsFormat::kModel:
      break;
  }
  const auto model = Model::open(file->span());
  if (!model) return Failure{path + ": is no model file that can be read; 'intaglio verify' says why"};
  return params_of_model(*model, path);
}

Outcome<std::string> write_params(const ParamsTable& table, ParamsFormat format) {
  if (format != ParamsFormat::kPpq && format != ParamsFormat::kAimet)
    for (const ParamsEntry& entry : table.entries)
      if (entry.is_wide())
        return Failure{entry.name + " has codes of 16 bits, which the format " + params_format_name(format) +
                       " does not hold; take ppq or aimet"};
  switch (format) {
    case ParamsFormat::kTengine:
    case ParamsFormat::kTengineUint8:
      return write_tengine(table, format == ParamsFormat::kTengineUint8);
    case ParamsFormat::kNcnn:
      return write_ncnn(table);
    case ParamsFormat::kAmct:
      return write_amct(table);
    case ParamsFormat::kPpq:
      return write_ppq(table);
    case ParamsFormat::kAimet:
      return write_aimet(table);
    case ParamsFormat::kModel:
      break;
  }
  return Failure{"a model is no format to write parameters in; take another"};
}

}  // namespace intaglio
