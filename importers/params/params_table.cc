#include "importers/params/params_table.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <map>

#include "calibrator/host/system/files.h"
#include "calibrator/host/system/real_text.h"
#include "runtime/quantization_range.h"

namespace intaglio {
namespace {

constexpr uint64_t kMaxParamsBytes = uint64_t{64} << 20;

using Read = Outcome<ParamsTable> (*)(const std::string& path, std::string_view text);
using Write = Outcome<std::string> (*)(const ParamsTable& table);

Outcome<ParamsTable> read_model(const std::string& path, std::string_view bytes) {
  const auto model = Model::open({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()});
  if (!model) return Failure{path + ": is no model file that can be read; 'intaglio verify' says why"};
  return params_of_model(*model, path);
}

template <bool kIsUint8>
Outcome<ParamsTable> read_tengine_of(const std::string& path, std::string_view text) {
  return read_tengine(path, text, kIsUint8);
}
template <bool kIsUint8>
Outcome<std::string> write_tengine_of(const ParamsTable& table) {
  return write_tengine(table, kIsUint8);
}

// By ParamsFormat.
struct Format {
  const char* name;
  std::array<const char*, 2> ends;  // of files' names
  Read read;
  Write write;
  bool has_wide = false;  // codes of 16 bits
};
constexpr Format kFormats[kParamsFormatCount] = {
    {"tengine", {".scale"}, read_tengine_of<false>, write_tengine_of<false>},
    {"tengine-uint8", {}, read_tengine_of<true>, write_tengine_of<true>},
    {"ncnn", {".table"}, read_ncnn, write_ncnn},
    {"amct", {".record", ".txt"}, read_amct, write_amct},
    {"ppq", {".json"}, read_ppq, write_ppq, true},
    {"aimet", {".encodings"}, read_aimet, write_aimet, true},
    {"model", {".itg"}, read_model, nullptr},
};
const Format& form_of(ParamsFormat format) { return kFormats[static_cast<size_t>(format)]; }

}  // namespace

const char* params_format_name(ParamsFormat format) { return form_of(format).name; }

std::optional<ParamsFormat> params_format_of(const std::string& path) {
  for (int32_t i = 0; i < kParamsFormatCount; ++i)
    for (const char* const end : kFormats[i].ends)
      if (end != nullptr && path.size() >= std::strlen(end) &&
          path.compare(path.size() - std::strlen(end), std::string::npos, end) == 0)
        return static_cast<ParamsFormat>(i);
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
  return form_of(format).read(path, text);
}

Outcome<std::string> write_params(const ParamsTable& table, ParamsFormat format) {
  const Format& form = form_of(format);
  if (form.write == nullptr) return Failure{"a model is no format to write parameters in; take another"};
  for (const ParamsEntry& entry : table.entries)
    if (entry.is_wide() && !form.has_wide)
      return Failure{entry.name + " has codes of 16 bits, which the format " + form.name +
                     " does not hold; take ppq or aimet"};
  return form.write(table);
}

}  // namespace intaglio
