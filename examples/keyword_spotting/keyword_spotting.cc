// Sound to words: a WAV file, log-mel features, and a network on each window of them.
//
//   keyword_spotting NET.itg SOUND.wav [NAMES.txt]         the class of each window of the sound
//   keyword_spotting --features OUT.npy SOUND.wav ...      features of whole windows, to calibrate and to evaluate with
//
// The model takes [1, frames, coefficients] or [1, frames, coefficients, 1]. A sound is 16 bits, one channel, 16 kHz.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "calibrator/host/system/npy.h"
#include "examples/example_session.h"
#include "examples/keyword_spotting/log_mel.h"

using namespace intaglio;
using example::LogMel, example::MelOptions;

namespace {

constexpr int32_t kFrames = 49, kHop = 25;  // of a window of a second; from one window to the next

uint32_t little_endian(Span<const uint8_t> bytes, size_t at, size_t count) {
  uint32_t value = 0;
  for (size_t i = count; i-- > 0;) value = value << 8 | bytes[at + i];
  return value;
}

// Samples in [-1, 1) of a RIFF file of the kind WAVE with PCM.
std::vector<float> read_wav(const std::string& path, int32_t sample_rate) {
  example::Memory file = example::read_file(path);
  const Span<const uint8_t> bytes = file.span();
  if (bytes.size < 12 || std::memcmp(bytes.data, "RIFF", 4) != 0 ||
      std::memcmp(bytes.data + 8, "WAVE", 4) != 0)
    example::fail(path + ": is no WAV file");
  bool is_known = false;
  for (size_t at = 12; at + 8 <= bytes.size;) {
    const size_t size = little_endian(bytes, at + 4, 4), start = at + 8;
    if (size > bytes.size - start) example::fail(path + ": is cut off");
    if (std::memcmp(bytes.data + at, "fmt ", 4) == 0 && size >= 16) {
      is_known = little_endian(bytes, start, 2) == 1 && little_endian(bytes, start + 2, 2) == 1 &&
                 little_endian(bytes, start + 4, 4) == static_cast<uint32_t>(sample_rate) &&
                 little_endian(bytes, start + 14, 2) == 16;
    }
    if (std::memcmp(bytes.data + at, "data", 4) == 0) {
      if (!is_known)
        example::fail(path + ": is not PCM with 16 bits, one channel and " + std::to_string(sample_rate) +
                      " Hz; 'sox IN.wav -b 16 -c 1 -r " + std::to_string(sample_rate) +
                      " OUT.wav' makes it so");
      std::vector<float> samples;
      for (size_t i = 0; i + 2 <= size; i += 2)
        samples.push_back(static_cast<float>(static_cast<int16_t>(little_endian(bytes, start + i, 2))) /
                          32768.0f);
      return samples;
    }
    at = start + size + size % 2;
  }
  example::fail(path + ": holds no samples");
}

std::vector<float> features_of(const std::string& path, LogMel& mel) {
  std::vector<float> samples = read_wav(path, MelOptions().sample_rate);
  // A word that is shorter than a window is followed by silence.
  const auto least = static_cast<size_t>(MelOptions().window + (kFrames - 1) * MelOptions().stride);
  samples.resize(std::max(samples.size(), least));
  std::vector<float> features(static_cast<size_t>(mel.frames(samples.size())) *
                              static_cast<size_t>(mel.width()));
  for (int32_t t = 0; t < mel.frames(samples.size()); ++t)
    mel.frame(samples.data(), t, &features[static_cast<size_t>(t) * static_cast<size_t>(mel.width())]);
  return features;
}

// The first element of each whole window.
std::vector<size_t> windows_of(const std::vector<float>& features, const LogMel& mel) {
  const auto width = static_cast<size_t>(mel.width());
  std::vector<size_t> starts;
  for (size_t at = 0; at + kFrames * width <= features.size(); at += kHop * width) starts.push_back(at);
  return starts;
}

void write_features(const std::string& output, Span<char* const> sounds) {
  // A shell's *.wav with the output forgotten: the first recording would be replaced.
  if (output.size() < 5 || output.substr(output.size() - 4) != ".npy")
    example::fail(output + ": features are written as an .npy array; give OUT.npy before the recordings");
  LogMel mel{MelOptions()};
  std::vector<float> all;
  int64_t count = 0;
  for (const char* const sound : sounds) {
    const std::vector<float> features = features_of(sound, mel);
    for (const size_t at : windows_of(features, mel)) {
      const auto first = features.begin() + static_cast<ptrdiff_t>(at);
      all.insert(all.end(), first, first + ptrdiff_t{kFrames} * mel.width());
      ++count;
    }
  }
  const auto written = write_npy(output, NpyType::kF32, {count, kFrames, mel.width(), 1},
                                 {reinterpret_cast<const uint8_t*>(all.data()), all.size() * sizeof(float)});
  if (!written) example::fail(written.message());
  std::printf("%s: %lld windows\n", output.c_str(), static_cast<long long>(count));
}

// Into an FP32 input as they are, into an int8 one as codes, by the rule of the operator Quantize.
void fill(const TensorView& input, const float* features) {
  const auto count = static_cast<size_t>(input.info.shape.elements());
  if (input.info.dtype == DType::kF32) {
    std::memcpy(input.data, features, count * sizeof(float));
    return;
  }
  const Quantization& q = input.info.quantization;
  const auto zero = static_cast<float>(q.zero_point);
  for (size_t i = 0; i < count; ++i) {
    const float steps = std::clamp(features[i] / q.scales[0], -128.0f - zero, 127.0f - zero);
    input.as<int8_t>()[i] = static_cast<int8_t>(std::lrint(steps) + q.zero_point);
  }
}

void spot(const char* model, const char* sound, const char* names_path) {
  example::FileSession net(model);
  LogMel mel{MelOptions()};
  const TensorInfo input = net.model().tensor(net.model().inputs()[0]);
  const int64_t wanted = int64_t{kFrames} * mel.width();
  const bool codes = input.dtype == DType::kS8 && input.quantization.scales.size == 1;
  if (input.dtype != DType::kF32 && !codes)
    example::fail(std::string(model) + ": its input is neither FP32 nor int8 with one scale");
  if (input.shape.elements() != wanted)
    example::fail(std::string(model) + ": takes " + std::to_string(input.shape.elements()) +
                  " values, the features have " + std::to_string(wanted));
  std::vector<std::string> names;
  if (names_path != nullptr) {
    std::ifstream file(names_path);
    for (std::string line; std::getline(file, line);) names.push_back(line);
    if (names.empty()) example::fail(std::string(names_path) + ": holds no names");
  }
  const std::vector<float> features = features_of(sound, mel);
  for (const size_t at : windows_of(features, mel)) {
    fill(net->input(), features.data() + at);
    net->run();
    const size_t best = net.best_class();
    const size_t samples = at / static_cast<size_t>(mel.width()) * static_cast<size_t>(MelOptions().stride);
    const double seconds = static_cast<double>(samples) / MelOptions().sample_rate;
    std::printf("%.2f s: %s\n", seconds,
                best < names.size() ? names[best].c_str() : ("class " + std::to_string(best)).c_str());
  }
}

}  // namespace

int main(int argc, char** argv) {
  const bool features = argc > 1 && std::string(argv[1]) == "--features";
  if (features && argc >= 4)
    write_features(argv[2], {argv + 3, static_cast<size_t>(argc - 3)});
  else if (!features && (argc == 3 || argc == 4))
    spot(argv[1], argv[2], argc == 4 ? argv[3] : nullptr);
  else
    example::fail("give NET.itg SOUND.wav [NAMES.txt], or --features OUT.npy SOUND.wav ...");
}
