#include "importers/onnx/onnx_op.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <set>

#include "calibrator/host/system/half.h"
#include "importers/onnx/onnx_operators.h"

namespace intaglio::importers {

namespace {

using onnx_file::TensorProto;

// Its dimensions, with the number of elements checked against overflow and the limit of a tensor.
Shape dims_of(const TensorProto& tensor) {
  constexpr int kMaxStoredRank = 32;
  if (tensor.dims.count() > kMaxStoredRank)
    fail("it has ", tensor.dims.count(), " dimensions; at most ", kMaxStoredRank, " are supported");
  Shape shape;
  int64_t count = 1;  // without dimensions of 0, which other shapes may lack
  for (const int64_t dim : tensor.dims) {
    if (dim < 0 || dim > kMaxTensorBytes || (dim > 0 && count > kMaxTensorBytes / 4 / dim))
      fail("dimension ", dim, " is not allowed: a tensor holds at most ", kMaxTensorBytes, " bytes");
    count *= std::max<int64_t>(dim, 1);
    shape.push_back(static_cast<int32_t>(dim));
  }
  return shape;
}

void check_stored(const TensorProto& tensor) {
  if (tensor.data_location == TensorProto::EXTERNAL || tensor.external_data.count() > 0)
    fail(
        "its data stands in another file (external data), which is looked for beside a network that is given by "
        "its path; give the path, or save the model as one file");
  if (tensor.segment.has()) fail("segmented tensors are not supported");
}

// From raw bytes or from the typed field, whichever the file uses; either must hold exactly what dims say.
template <typename T, typename Field>
std::vector<T> stored_values(const TensorProto& tensor, const Field& field, uint64_t count) {
  std::vector<T> values;
  if (tensor.raw_data.has()) {
    if (tensor.raw_data.size() != count * sizeof(T))
      fail("it holds ", tensor.raw_data.size(), " bytes, its dimensions need ", count * sizeof(T));
    values.resize(static_cast<size_t>(count));
    if (count > 0) std::memcpy(values.data(), tensor.raw_data.data(), tensor.raw_data.size());
    return values;
  }
  if (static_cast<uint64_t>(field.size()) != count)
    fail("it holds ", field.size(), " values, its dimensions need ", count);
  for (const auto value : field) values.push_back(static_cast<T>(value));
  return values;
}

struct SmallReal {
  int64_t type;  // newer than the definition that this is compiled with
  SmallFloat form;
};
constexpr SmallReal kSmallReals[] = {{17, SmallFloat::kE4M3}, {18, SmallFloat::kE4M3Fnuz},
                                     {19, SmallFloat::kE5M2}, {20, SmallFloat::kE5M2Fnuz},
                                     {23, SmallFloat::kE2M1}, {24, SmallFloat::kE8M0}};

const SmallReal* find_small_real(int64_t type) {
  for (const SmallReal& small : kSmallReals)
    if (small.type == type) return &small;
  return nullptr;
}

std::vector<int64_t> codes_of_4_bits(const TensorProto& tensor, uint64_t count, bool is_signed) {
  const auto bytes = stored_values<uint8_t>(tensor, tensor.int32_data, (count + 1) / 2);
  std::vector<int64_t> codes;
  for (size_t i = 0; i < count; ++i) {
    const int64_t code = code_of_4_bits(bytes[i / 2], i);
    codes.push_back(is_signed && code > 7 ? code - 16 : code);
  }
  return codes;
}

}  // namespace

std::vector<uint8_t> packed_codes_of_4_bits(const std::vector<int64_t>& codes) {
  std::vector<uint8_t> bytes((codes.size() + 1) / 2, 0);
  for (size_t i = 0; i < codes.size(); ++i)
    bytes[i / 2] = static_cast<uint8_t>(bytes[i / 2] | (codes[i] & 15) << (i % 2 == 0 ? 0 : 4));
  return bytes;
}

std::string onnx_type_name(int64_t type) {
  const char* const names[] = {"undefined",      "float",    "uint8",        "int8",           "uint16",
                               "int16",          "int32",    "int64",        "string",         "bool",
                               "float16",        "double",   "uint32",       "uint64",         "complex64",
                               "complex128",     "bfloat16", "float8e4m3fn", "float8e4m3fnuz", "float8e5m2",
                               "float8e5m2fnuz", "uint4",    "int4",         "float4e2m1",     "float8e8m0",
                               "uint2",          "int2"};
  return type >= 0 && static_cast<size_t>(type) < std::size(names) ? names[type] : text("type ", type);
}

bool is_onnx_real(int64_t type) {
  return type == TensorProto::FLOAT || type == TensorProto::DOUBLE || type == TensorProto::FLOAT16 ||
         type == TensorProto::BFLOAT16;
}

bool is_onnx_small_real(int64_t type) { return find_small_real(type) != nullptr; }

bool is_onnx_code(int64_t type) {
  return type == TensorProto::UINT8 || type == TensorProto::INT8 || type == TensorProto::UINT16 ||
         type == TensorProto::INT16 || type == kOnnxUint4 || type == kOnnxInt4;
}

Shape stored_onnx_shape(const TensorProto& tensor) {
  check_stored(tensor);
  return dims_of(tensor);
}

OnnxConstant<float> stored_onnx_floats(const TensorProto& tensor, const Shape& shape, uint64_t count) {
  OnnxConstant<float> constant{shape, {}};
  switch (tensor.data_type) {
    case TensorProto::FLOAT:
      constant.values = stored_values<float>(tensor, tensor.float_data, count);
      break;
    case TensorProto::DOUBLE:
      for (const double v : stored_values<double>(tensor, tensor.double_data, count))
        constant.values.push_back(static_cast<float>(v));
      break;
    case TensorProto::FLOAT16:
      for (const uint16_t v : stored_values<uint16_t>(tensor, tensor.int32_data, count))
        constant.values.push_back(real_of_half(v));
      break;
    case TensorProto::BFLOAT16:
      for (const uint16_t v : stored_values<uint16_t>(tensor, tensor.int32_data, count))
        constant.values.push_back(real_of_bfloat(v));
      break;
    default: {
      const SmallReal* const small = find_small_real(tensor.data_type);
      if (small == nullptr) fail("it holds ", onnx_type_name(tensor.data_type), "; float is expected");
      const auto add = [&](const auto& codes) {
        for (const auto code : codes)
          constant.values.push_back(real_of_small_float(static_cast<int32_t>(code), small->form));
      };
      if (small->form == SmallFloat::kE2M1)
        add(codes_of_4_bits(tensor, count, false));
      else
        add(stored_values<uint8_t>(tensor, tensor.int32_data, count));
    }
  }
  return constant;
}

OnnxConstant<int64_t> stored_onnx_integers(const TensorProto& tensor, const Shape& shape, uint64_t count) {
  OnnxConstant<int64_t> constant{shape, {}};
  const auto widened = [&](const auto& values) {
    constant.values.assign(values.begin(), values.end());
    return constant;
  };
  switch (tensor.data_type) {
    case kOnnxUint4:
    case kOnnxInt4:
      return widened(codes_of_4_bits(tensor, count, tensor.data_type == kOnnxInt4));
    case TensorProto::INT64:
      return {shape, stored_values<int64_t>(tensor, tensor.int64_data, count)};
    case TensorProto::INT32:
      return widened(stored_values<int32_t>(tensor, tensor.int32_data, count));
    case TensorProto::INT8:
      return widened(stored_values<int8_t>(tensor, tensor.int32_data, count));
    case TensorProto::BOOL:
    case TensorProto::UINT8:
      return widened(stored_values<uint8_t>(tensor, tensor.int32_data, count));
    case TensorProto::INT16:
      return widened(stored_values<int16_t>(tensor, tensor.int32_data, count));
    case TensorProto::UINT16:
      return widened(stored_values<uint16_t>(tensor, tensor.int32_data, count));
    case TensorProto::UINT32:
      return widened(stored_values<uint32_t>(tensor, tensor.uint64_data, count));
    default:
      fail("it holds ", onnx_type_name(tensor.data_type), "; int64 is expected");
  }
}

// Weights that an ONNX file keeps in files beside itself. Its paths are not trusted: a name leads to a plain
// file within the model's own folder, by way of no link that leaves it, or nothing is read.

namespace {

namespace fs = std::filesystem;
using onnx_file::TensorProto;

uint64_t number_of(const std::string& text, const char* what) {
  uint64_t value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || stop != text.data() + text.size())
    fail("the ", what, " of its external data is ", quoted(text), ", which is not a number");
  return value;
}

struct Place {
  std::string location;
  uint64_t offset = 0, length = 0;
  bool has_length = false;
};

Place read_place(const TensorProto& tensor) {
  Place place;
  for (const auto& entry : tensor.external_data) {
    if (entry.key == "location") place.location = entry.value;
    if (entry.key == "offset") place.offset = number_of(entry.value, "offset");
    if (entry.key == "length") place.length = number_of(entry.value, "length");
    place.has_length |= entry.key == "length";
  }
  return place;
}

// The file that a location names, all links followed.
fs::path resolve(const ExternalData& from, const std::string& location) {
  const fs::path path = location;
  const auto outside = [&](const char* why) {
    fail("its external data is in the file ", quoted(location), ", ", why,
         ": only files within the model's folder are read");
  };
  if (location.empty() || location.find('\0') != std::string::npos) outside("which is not a file name");
  if (path.is_absolute() || location[0] == '\\') outside("an absolute path");
  for (const fs::path& part : path)
    if (part == "..") outside("which leads out of a folder");
  // A file that nobody looked into should not choose among all that lies somewhere below.
  if (!from.below && path.lexically_normal().has_parent_path())
    fail("its external data is in the file ", quoted(location),
         ", in a folder of its own; read it with --external-data, or put it beside the network");
  std::error_code error;
  const fs::path root = fs::canonical(from.folder, error);
  if (error) fail("the model's folder ", quoted(from.folder), " cannot be opened: ", error.message());
  fs::path file = fs::canonical(root / path, error);
  if (error)
    fail("its external data ", quoted(location), " cannot be opened: ", error.message(),
         "; it belongs beside the network's file, as the exporter wrote it");
  const fs::path within = file.lexically_relative(root);
  if (within.empty() || *within.begin() == ".." || within.is_absolute())
    outside("a link that leads out of the model's folder");
  if (!fs::is_regular_file(file, error)) outside("which is not a regular file");
  return file;
}

class Loader {
 public:
  Loader(const ExternalData& from, ImportBudget& budget) : from_(from), budget_(budget) {}

  void load(onnx_file::GraphProto& graph) {
    for (TensorProto& tensor : graph.initializer) load(tensor);
    for (auto& node : graph.node) load(node);
  }
  // The constants of a node, and of the graphs that it runs.
  void load(onnx_file::NodeProto& node) {
    for (auto& attribute : node.attribute) {
      if (attribute.t.has()) load(attribute.t.make());
      if (attribute.g.has()) load(attribute.g.make());
    }
  }

 private:
  void load(TensorProto& tensor) {
    if (tensor.data_location != TensorProto::EXTERNAL) return;
    try {
      read(tensor);
    } catch (const ImportError& error) {
      fail("constant ", importers::quoted(tensor.name), ": ", error.what());
    }
  }

  void read(TensorProto& tensor) {
    const Place place = read_place(tensor);
    const fs::path path = resolve(from_, place.location);
    std::error_code error;
    const uint64_t size = fs::file_size(path, error);
    if (error) fail("its external data ", quoted(place.location), " cannot be opened: ", error.message());
    if (place.offset > size || place.length > size - place.offset)
      fail("its external data begins at byte ", place.offset, " and has ", place.length,
           " bytes, but the file ", quoted(place.location), " has ", size, " bytes");
    const uint64_t length = place.has_length ? place.length : size - place.offset;
    if (files_.insert(path.string()).second) budget_.add_file(size);
    budget_.spend_memory(length, "its external data");
    std::string bytes(static_cast<size_t>(length), '\0');
    // No stream: beside one in the same program, fuzzers cannot run under the memory sanitizer.
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), std::fclose);
    const auto offset = static_cast<off_t>(place.offset);  // of 32 bits on some machines
    if (!file || static_cast<uint64_t>(offset) != place.offset || fseeko(file.get(), offset, SEEK_SET) != 0 ||
        std::fread(bytes.data(), 1, bytes.size(), file.get()) != bytes.size())
      fail("its external data ", quoted(place.location), " cannot be read");
    tensor.raw_data.set(std::move(bytes));
    tensor.external_data.clear();
    tensor.data_location = TensorProto::DEFAULT;
  }

  const ExternalData& from_;
  ImportBudget& budget_;
  std::set<std::string> files_;  // that were read
};

}  // namespace

void load_external_data(onnx_file::ModelProto& model, const ExternalData& place, ImportBudget& budget) {
  Loader loader(place, budget);
  loader.load(model.graph.make());
  for (auto& function : model.functions)
    for (auto& node : function.node) loader.load(node);
}

}  // namespace intaglio::importers
