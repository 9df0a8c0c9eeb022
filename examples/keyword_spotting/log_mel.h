// Log-mel features and cepstral coefficients of sound, with every sum in one written order: the same bits on every machine
// that computes IEEE doubles without contraction, whatever its math library.
//
//   frame t: samples [t * stride, t * stride + window), times Hann's window; |FFT|; triangles on the mel scale; log(x + 1e-6)
//
// As TensorFlow computes them (tf.signal.stft, linear_to_mel_weight_matrix, mfccs_from_log_mel_spectrograms), to within
// rounding: networks trained on its features take these.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace example {

struct MelOptions {
  int32_t sample_rate = 16000;  // Hz
  int32_t window = 480;         // samples of a frame
  int32_t stride = 320;         // samples from one frame to the next
  int32_t fft = 512;            // a power of two, at least `window`
  int32_t bands = 40;           // triangles
  double lowest = 20.0;         // Hz, the first triangle's start
  double highest = 4000.0;      // Hz, the last one's end
  int32_t coefficients = 10;    // cepstral, of the bands' logarithms; 0: the logarithms themselves
};

class LogMel {
 public:
  explicit LogMel(const MelOptions& options);

  // Frames that so many samples hold whole.
  int32_t frames(size_t samples) const;
  int32_t width() const { return options_.coefficients > 0 ? options_.coefficients : options_.bands; }
  // Features of frame `t` of samples in [-1, 1), to out[0] to out[width() - 1].
  void frame(const float* samples, int32_t t, float* out);

 private:
  void transform();  // of real_ and imaginary_

  MelOptions options_;
  std::vector<double> window_, cosines_, sines_;  // of one frame; of the FFT's circle
  std::vector<double> weights_;                   // [fft / 2 + 1, bands]
  std::vector<double> cepstrum_;                  // [coefficients, bands]
  std::vector<double> real_, imaginary_, logs_;
};

}  // namespace example
