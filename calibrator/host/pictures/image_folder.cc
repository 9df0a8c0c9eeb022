#include "calibrator/host/pictures/image_folder.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <functional>
#include <map>
#include <numeric>

#include "calibrator/host/system/text_lines.h"
#include "intaglio/describe.h"

namespace intaglio {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMaxPictureFileBytes = uint64_t{256} << 20;
constexpr uint64_t kMaxListBytes = uint64_t{64} << 20;
constexpr uint64_t kMaxSamples = 10'000'000;
constexpr size_t kNamesInNote = 5;

std::string extension_of(const fs::path& path) {
  std::string extension = path.extension().string();
  for (char& c : extension) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return extension;
}

bool is_picture_name(const fs::path& path) {
  const std::vector<std::string>& endings = picture_endings();
  return std::find(endings.begin(), endings.end(), extension_of(path)) != endings.end();
}

std::string counted(size_t n, const char* one, const char* many) {
  return std::to_string(n) + " " + (n == 1 ? one : many);
}

std::string text_of(const Error& error) {
  char text[256];
  describe(error, nullptr, text, sizeof text);
  return text;
}

std::vector<int64_t> dims_of(const Shape& shape) { return {shape.dims, shape.dims + shape.rank}; }

// A sample of shape (49, 10, 1) fits an input (1, 49, 10, 1): dimensions of 1 hold nothing.
std::vector<int64_t> without_ones(std::vector<int64_t> shape) {
  shape.erase(std::remove(shape.begin(), shape.end(), 1), shape.end());
  return shape;
}

int64_t product(const std::vector<int64_t>& shape) {  // of shapes whose sizes have been checked
  return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
}

// clamp(rne(x / scale)) + zero point, NaN gives the zero point: the Quantize operator's arithmetic.
int8_t quantize(float x, float scale, int32_t zero_point) {
  const float v = x / scale;
  if (std::isnan(v)) return static_cast<int8_t>(zero_point);
  const auto low = static_cast<float>(-128 - zero_point), high = static_cast<float>(127 - zero_point);
  return static_cast<int8_t>(static_cast<int32_t>(std::nearbyint(std::min(std::max(v, low), high))) +
                             zero_point);
}

bool has_one_scale(const TensorInfo& input) { return input.quantization.scales.size == 1; }

constexpr const char* kTurnChannels = "; channels come last here: save x.transpose(0, 2, 3, 1)";

Failure no_scale(const TensorInfo& input) {
  return {"the model's input " + std::string(input.name) + " is int8 but has no scale"};
}

}  // namespace

const std::vector<std::string>& picture_endings() {
  static const std::vector<std::string> endings{".png", ".jpg", ".jpeg", ".bmp", ".webp"};
  return endings;
}

Outcome<Done> fill_with_values(Span<const float> values, const TensorView& input) {
  if (input.info.dtype == DType::kF32) {
    std::memcpy(input.data, values.data, values.size * sizeof(float));
    return Done{};
  }
  if (!has_one_scale(input.info)) return no_scale(input.info);
  const Quantization& by = input.info.quantization;
  const Span<int8_t> codes = input.as<int8_t>();
  for (size_t k = 0; k < codes.size; ++k) codes[k] = quantize(values[k], by.scales[0], by.zero_point);
  return Done{};
}

namespace {

// Fills the first place of a batch with write(place, scratch), which takes the scratch memory that `needed` measures for the place, and
// repeats it in the others.
template <typename Measure, typename Write>
Outcome<Done> fill_places(const TensorView& input, Measure&& measure, Write&& write) {
  TensorView first = input;
  const size_t batch = static_cast<size_t>(std::max(input.info.shape[0], 1)),
               place = input.info.bytes() / batch;
  std::vector<int32_t> dims(input.info.shape.dims, input.info.shape.dims + input.info.shape.rank);
  dims[0] = 1;
  first.info.shape.dims = dims.data();
  const Result<size_t> scratch_bytes = measure(first.info);
  if (!scratch_bytes) return Failure{text_of(scratch_bytes.error())};
  std::vector<uint8_t> scratch(*scratch_bytes);
  const Error error = write(first, Span<uint8_t>{scratch.data(), scratch.size()});
  if (!error.ok()) return Failure{text_of(error)};
  auto* const data = static_cast<uint8_t*>(input.data);
  for (size_t k = 1; k < batch; ++k) std::memcpy(data + k * place, data, place);
  return Done{};
}

}  // namespace

Outcome<Done> fill_with_picture(Span<const uint8_t> pixels, const PictureInfo& info, const ImageInput& recipe,
                                const TensorView& input) {
  const size_t row_bytes = static_cast<size_t>(info.width) * static_cast<size_t>(pixel_bytes(info.order));
  return fill_places(
      input, [&](const TensorInfo& place) { return ImageWriter::measure(recipe, place, info); },
      [&](const TensorView& place, Span<uint8_t> scratch) {
        return write_image(recipe, place, info, pixels, row_bytes, scratch);
      });
}

size_t RawFrames::bytes() const {
  const auto height = static_cast<size_t>(info.height);
  const size_t rows = frame_chroma_row_bytes(info) > 0 ? height + (height + 1) / 2 : height;
  return row_bytes == 0 ? frame_bytes(info) : rows * row_bytes;
}

Outcome<std::vector<size_t>> smallest_digests(size_t count, size_t limit,
                                              const std::function<Outcome<Digest>(size_t)>& digest) {
  std::vector<std::pair<Digest, size_t>> order;
  for (size_t i = 0; i < count; ++i) {
    auto found = digest(i);
    if (!found) return found.failure();
    order.emplace_back(*found, i);
  }
  std::sort(order.begin(), order.end());
  order.resize(std::min(count, limit));
  std::vector<size_t> places;
  places.reserve(order.size());
  for (const auto& entry : order) places.push_back(entry.second);
  std::sort(places.begin(), places.end());
  return places;
}

Outcome<ImageFolder> ImageFolder::open(const SamplePlace& place, const SampleOptions& options) {
  ImageFolder folder;
  const std::string& path = folder.path_ = place.name;
  folder.decode_limits_ = options.decode;
  folder.files_ = place.files;
  folder.held_ = place.held;
  folder.frames_ = options.frames;
  const bool is_path = !place.held && place.files.empty();
  std::error_code error;
  folder.is_folder_ = is_path && fs::is_directory(path, error);
  folder.is_array_ =
      place.held || (is_path && !folder.is_folder_ && !options.frames && extension_of(path) == ".npy");
  if (folder.is_folder_) {
    if (auto step = folder.list_folder(); !step) return step.failure();
  } else if (folder.is_array_) {
    if (auto step = place.held ? folder.list_held() : folder.list_array(); !step) return step.failure();
  } else if (!is_path) {
    for (const std::string& file : place.files)
      folder.samples_.push_back({fs::path(file).filename().string(), folder.samples_.size()});
  } else {
    if (auto size = file_size(path); !size) return size.failure();
    if (extension_of(path) == ".npz")
      return Failure{path + ": an .npz file holds several arrays; write one as .npy, with numpy.save"};
    folder.files_ = {path};
    folder.samples_.push_back({fs::path(path).filename().string(), 0});
  }
  if (options.frames)
    if (auto step = folder.list_frames(); !step) return step.failure();
  if (!options.only.empty()) {
    if (auto step = folder.take_only(options.only); !step) return step.failure();
  }
  if (options.limit < 0)
    return Failure{"a limit of " + std::to_string(options.limit) + " samples is not possible"};
  if (options.limit > 0 && static_cast<uint64_t>(options.limit) < folder.count()) {
    const auto places = smallest_digests(folder.count(), static_cast<size_t>(options.limit),
                                         [&folder](size_t i) { return folder.digest(i); });
    if (!places) return places.failure();
    folder.keep(*places);
  }
  return folder;
}

// Lists the entries of a folder. `within`: "" or a folder's name with a slash.
Outcome<Done> ImageFolder::list_entries(const std::string& within, Listed& listed) {
  std::error_code error;
  fs::directory_iterator entries(fs::path(path_) / within, error);
  for (; !error && entries != fs::directory_iterator(); entries.increment(error)) {
    const std::string name = within + entries->path().filename().string();
    std::error_code type_error;
    if (entries->is_directory(type_error)) {
      if (name[within.size()] != '.')
        listed.folders.push_back(name);  // a program's own, as .ipynb_checkpoints
    } else if (frames_ ? name[within.size()] != '.' : is_picture_name(entries->path())) {
      samples_.push_back({name, 0});
    } else {
      listed.others.push_back(name);
    }
  }
  if (error) return Failure{(fs::path(path_) / within).string() + ": cannot be listed: " + error.message()};
  return Done{};
}

Outcome<Done> ImageFolder::list_folder() {
  Listed listed;
  if (auto step = list_entries("", listed); !step) return step.failure();
  const bool enters = samples_.empty();
  Listed inner;
  for (size_t i = 0; enters && i < listed.folders.size(); ++i)
    if (auto step = list_entries(listed.folders[i] + "/", inner); !step) return step.failure();
  listed.others.insert(listed.others.end(), inner.others.begin(), inner.others.end());
  if (enters) listed.folders = std::move(inner.folders);
  if (samples_.empty() && frames_) return Failure{path_ + ": holds no files of frames"};
  if (samples_.empty())
    return Failure{
        path_ +
        ": holds no pictures (names ending in png, jpg, jpeg, bmp or webp), and no folders of pictures"};
  std::vector<std::string>& others = listed.others;
  const size_t folders = listed.folders.size();
  std::sort(samples_.begin(), samples_.end(),
            [](const Sample& a, const Sample& b) { return a.name < b.name; });
  if (!others.empty()) {
    std::sort(others.begin(), others.end());
    std::string note = path_ + ": " + counted(others.size(), "file is no picture", "files are no pictures") +
                       " and left out: ";
    for (size_t i = 0; i < others.size() && i < kNamesInNote; ++i) note += (i == 0 ? "" : ", ") + others[i];
    if (others.size() > kNamesInNote) note += ", ...";
    notes_.push_back(note);
  }
  if (folders > 0) {
    notes_.push_back(path_ + ": " + counted(folders, "folder in it is", "folders in it are") +
                     " not entered");
  }
  return Done{};
}

// Each frame becomes a sample, in the order of the files.
Outcome<Done> ImageFolder::list_frames() {
  if (is_array_) return Failure{path_ + ": is an array, and files of frames are asked for"};
  const uint64_t bytes = frames_->bytes();
  std::vector<Sample> frames;
  std::vector<std::string> files;
  for (size_t i = 0; i < samples_.size(); ++i) {
    const std::string file = where(i);
    const auto size = file_size(file);
    if (!size) return size.failure();
    if (*size == 0 || *size % bytes != 0)
      return Failure{file + ": has " + std::to_string(*size) + " bytes, and a frame of " +
                     std::to_string(frames_->info.width) + " x " + std::to_string(frames_->info.height) +
                     " has " + std::to_string(bytes) + ": a file holds whole frames"};
    const uint64_t count = *size / bytes;
    if (count > kMaxSamples - frames.size())
      return Failure{path_ + ": has more than " + std::to_string(kMaxSamples) + " samples"};
    for (uint64_t k = 0; k < count; ++k)
      frames.push_back({samples_[i].name + (count == 1 ? "" : ":" + std::to_string(k)), files.size(), k});
    files.push_back(file);
  }
  files_ = std::move(files);
  samples_ = std::move(frames);
  is_folder_ = false;
  return Done{};
}

Outcome<Done> ImageFolder::list_array() {
  auto header = read_npy_header(path_);
  if (!header) return header.failure();
  array_ = std::move(*header);
  if (array_.shape.empty() || array_.data_bytes == 0) {
    return Failure{path_ + ": its shape " + shape_text(array_.shape) + " holds no samples"};
  }
  if (auto step = check_array(); !step) return step;
  const auto count = static_cast<uint64_t>(array_.shape[0]);
  sample_bytes_ = array_.data_bytes / count;
  for (uint64_t i = 0; i < count; ++i) samples_.push_back({std::to_string(i), i});
  return Done{};
}

// The shape of the array is that of a sample; pictures may have several.
Outcome<Done> ImageFolder::list_held() {
  array_.type = held_->type;
  for (const HeldSamples::Sample& sample : held_->samples) {
    array_.shape = {static_cast<int64_t>(held_->samples.size())};
    array_.shape.insert(array_.shape.end(), sample.shape.begin(), sample.shape.end());
    if (auto step = check_array(); !step) return step;
    if (!holds_pictures() && sample.shape != held_->samples[0].shape)
      return Failure{path_ + ": its samples have the shapes " + shape_text(held_->samples[0].shape) +
                     " and " + shape_text(sample.shape) + "; give one shape"};
    samples_.push_back({std::to_string(samples_.size()), samples_.size()});
  }
  if (samples_.empty()) return Failure{path_ + ": holds no samples"};
  return Done{};
}

Outcome<Done> ImageFolder::check_array() const {
  const size_t rank = array_.shape.size();
  const int64_t channels = rank == 4 ? array_.shape[3] : 1;
  if (array_.type == NpyType::kU8 &&
      ((rank != 3 && rank != 4) || (channels != 1 && channels != 3 && channels != 4))) {
    const bool is_turned =
        rank == 4 && (array_.shape[1] == 1 || array_.shape[1] == 3 || array_.shape[1] == 4);
    return Failure{path_ +
                   ": uint8 arrays hold pictures, (N, height, width) or (N, height, width, 1, 3 or 4); "
                   "this one is " +
                   shape_text(array_.shape) + (is_turned ? kTurnChannels : "")};
  }
  if (static_cast<uint64_t>(array_.shape[0]) > kMaxSamples)
    return Failure{path_ + ": has more than " + std::to_string(kMaxSamples) + " samples"};
  return Done{};
}

Outcome<Done> ImageFolder::take_only(const std::string& list) {
  auto lines = read_lines(list, kMaxListBytes);
  if (!lines) return lines.failure();
  std::map<std::string, size_t> places;
  for (size_t i = 0; i < samples_.size(); ++i) places[samples_[i].name] = i;
  std::vector<bool> taken(samples_.size());
  for (const TextLine& line : *lines) {
    const auto found = places.find(line.text);
    if (found == places.end()) {
      return Failure{line_name(list, line) + ": " + path_ + " has no sample " + line.text};
    }
    if (taken[found->second]) return Failure{line_name(list, line) + ": " + line.text + " is listed twice"};
    taken[found->second] = true;
  }
  std::vector<size_t> kept;
  for (size_t i = 0; i < taken.size(); ++i)
    if (taken[i]) kept.push_back(i);
  if (kept.empty()) return Failure{list + ": lists no samples"};
  keep(kept);
  return Done{};
}

void ImageFolder::keep(const std::vector<size_t>& places) {
  std::vector<Sample> kept;
  kept.reserve(places.size());
  for (const size_t i : places) kept.push_back(std::move(samples_[i]));
  samples_ = std::move(kept);
}

std::string ImageFolder::where(size_t i) const {
  if (is_array_) return path_ + ", sample " + samples_[i].name;
  return is_folder_ ? (fs::path(path_) / samples_[i].name).string() : files_[samples_[i].index];
}

std::vector<int64_t> ImageFolder::shape_of(size_t i) const {
  if (held_) return held_->samples[samples_[i].index].shape;
  return {array_.shape.begin() + 1, array_.shape.end()};
}

Outcome<FileBytes> ImageFolder::content(size_t i) const {
  if (held_) {
    FileBytes bytes(static_cast<size_t>(product(shape_of(i))) * element_bytes(array_.type));
    std::memcpy(bytes.data(), held_->samples[samples_[i].index].data, bytes.size());
    return bytes;
  }
  if (frames_)
    return read_file_part(files_[samples_[i].index], samples_[i].frame * frames_->bytes(), frames_->bytes());
  if (!is_array_) return read_file(where(i), kMaxPictureFileBytes);
  return read_file_part(path_, array_.data_offset + samples_[i].index * sample_bytes_,
                        static_cast<size_t>(sample_bytes_));
}

Outcome<Digest> ImageFolder::digest(size_t i) const {
  auto bytes = content(i);
  if (!bytes) return bytes.failure();
  Sha256 hash;
  hash.update(bytes->data(), bytes->size());
  return hash.finish();
}

Outcome<Done> ImageFolder::load(size_t i, const TensorView& input, const ImageInput* recipe) const {
  if (!holds_pictures()) return load_array(i, input);
  if (recipe == nullptr)
    return Failure{path_ + ": holds pictures, and the model does not say how they become its input " +
                   input.info.name};

  auto bytes = content(i);
  if (!bytes) return bytes.failure();
  if (frames_) {
    Frame frame;
    frame.info = frames_->info;
    frame.pixels = bytes->span();
    frame.row_bytes = frames_->row_bytes;
    const auto filled = fill_places(
        input, [&](const TensorInfo& place) { return FrameWriter::measure(*recipe, place, frame.info); },
        [&](const TensorView& place, Span<uint8_t> scratch) {
          return write_frame(*recipe, place, frame, scratch);
        });
    return filled ? filled : Failure{where(i) + ": " + filled.message()};
  }
  PictureInfo info;
  Span<const uint8_t> pixels = bytes->span();
  Outcome<Picture> decoded = Picture{};
  if (is_array_) {
    const std::vector<int64_t> shape = shape_of(i);
    const int64_t height = shape[0], width = shape[1];
    if (height > kMaxPictureSide || width > kMaxPictureSide) {
      return Failure{where(i) + ": has a side of more than " + std::to_string(kMaxPictureSide) + " pixels"};
    }
    const int64_t channels = shape.size() == 3 ? shape[2] : 1;
    info = {static_cast<int32_t>(width), static_cast<int32_t>(height),
            channels == 1   ? PixelOrder::kGray
            : channels == 3 ? PixelOrder::kRgb
                            : PixelOrder::kRgba};
  } else {
    decoded = decode_picture(pixels, decode_limits_);
    if (!decoded) return Failure{where(i) + ": " + decoded.message()};
    info = decoded->info();
    pixels = {decoded->pixels.data(), decoded->pixels.size()};
  }

  if (auto step = fill_with_picture(pixels, info, *recipe, input); !step)
    return Failure{where(i) + ": " + step.message()};
  return Done{};
}

Outcome<Done> ImageFolder::load_array(size_t i, const TensorView& input) const {
  const std::vector<int64_t> sample = shape_of(i);
  const std::vector<int64_t> wanted = dims_of(input.info.shape);
  // A model that takes one flat row takes a feature map's elements in their order.
  const bool flat = without_ones(wanted).size() == 1 && product(sample) == product(wanted);
  if (!flat && without_ones(sample) != without_ones(wanted)) {
    std::vector<int64_t> turned = without_ones(sample);  // channels come first in other frameworks' arrays
    if (turned.size() == 3) std::rotate(turned.begin(), turned.begin() + 1, turned.end());
    const bool is_turned = turned.size() == 3 && turned == without_ones(wanted);
    const bool is_one = without_ones(array_.shape) == without_ones(wanted);
    return Failure{path_ + ": its array of " + shape_text(array_.shape) + " holds samples of " +
                   shape_text(sample) + ", the model's input " + input.info.name + " takes " +
                   shape_text(wanted) +
                   (is_turned ? kTurnChannels
                    : is_one  ? "; the first dimension counts samples: save x[None]"
                              : "; the first dimension counts samples")};
  }
  const DType to = input.info.dtype;
  const bool are_codes = array_.type == NpyType::kS8 && to != DType::kS32;
  if ((to != DType::kS8 && to != DType::kF32 && to != DType::kS32) || (are_codes && to == DType::kF32)) {
    return Failure{path_ + ": holds " + npy_type_name(array_.type) + ", the model's input " +
                   input.info.name + " takes " + dtype_name(to) +
                   (are_codes ? "; int8 arrays are codes: give the values as float32" : "")};
  }
  auto bytes = content(i);
  if (!bytes) return bytes.failure();
  const auto named = [&](const Outcome<Done>& step) {
    return step ? Outcome<Done>(Done{})
                : Failure{where(i) + ", for the model's input " + input.info.name + ": " + step.message()};
  };
  if (to == DType::kS32) return named(npy_integers(array_.type, bytes->span(), input.as<int32_t>()));
  if (to == DType::kF32) return named(npy_values(array_.type, bytes->span(), input.as<float>()));
  if (are_codes) {
    std::memcpy(input.data, bytes->data(), bytes->size());
    return Done{};
  }
  std::vector<float> values(input.as<int8_t>().size);
  if (auto step = named(npy_values(array_.type, bytes->span(), {values.data(), values.size()})); !step)
    return step;
  return fill_with_values({values.data(), values.size()}, input);
}

}  // namespace intaglio
