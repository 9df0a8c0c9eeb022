// Plain NCHW operators in double, to compare imported models with.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

namespace intaglio::test {

struct Nchw {
  int n = 1, c = 1, h = 1, w = 1;
  std::vector<double> v;

  Nchw() = default;
  Nchw(int batch, int channels, int height, int width)
      : n(batch),
        c(channels),
        h(height),
        w(width),
        v(static_cast<size_t>(batch * channels * height * width)) {}
  size_t at(int b, int k, int y, int x) const { return static_cast<size_t>(((b * c + k) * h + y) * w + x); }
  double& operator()(int b, int k, int y, int x) { return v[at(b, k, y, x)]; }
  double operator()(int b, int k, int y, int x) const { return v[at(b, k, y, x)]; }

  std::vector<float> floats() const { return {v.begin(), v.end()}; }
  std::vector<float> nhwc() const {
    std::vector<float> out;
    for (int b = 0; b < n; ++b)
      for (int y = 0; y < h; ++y)
        for (int x = 0; x < w; ++x)
          for (int k = 0; k < c; ++k) out.push_back(static_cast<float>((*this)(b, k, y, x)));
    return out;
  }
};

struct Pads {
  int top = 0, left = 0, bottom = 0, right = 0;
};

// weights [oc, c / groups, kh, kw]
inline Nchw conv(const Nchw& x, const Nchw& w, const std::vector<double>& bias, int stride, int dilation,
                 Pads pads, int groups) {
  const int oh = (x.h + pads.top + pads.bottom - (w.h - 1) * dilation - 1) / stride + 1;
  const int ow = (x.w + pads.left + pads.right - (w.w - 1) * dilation - 1) / stride + 1;
  Nchw out(x.n, w.n, oh, ow);
  const int group_outputs = w.n / groups;
  for (int b = 0; b < x.n; ++b)
    for (int o = 0; o < w.n; ++o)
      for (int y = 0; y < oh; ++y)
        for (int z = 0; z < ow; ++z) {
          double sum = bias.empty() ? 0 : bias[static_cast<size_t>(o)];
          for (int k = 0; k < w.c; ++k)
            for (int i = 0; i < w.h; ++i)
              for (int j = 0; j < w.w; ++j) {
                const int iy = y * stride - pads.top + i * dilation,
                          ix = z * stride - pads.left + j * dilation;
                if (iy < 0 || iy >= x.h || ix < 0 || ix >= x.w) continue;
                sum += x(b, o / group_outputs * w.c + k, iy, ix) * w(o, k, i, j);
              }
          out(b, o, y, z) = sum;
        }
  return out;
}

inline Nchw pool(const Nchw& x, int kernel, int stride, Pads pads, bool average, bool include_pad) {
  const int oh = (x.h + pads.top + pads.bottom - kernel) / stride + 1;
  const int ow = (x.w + pads.left + pads.right - kernel) / stride + 1;
  Nchw out(x.n, x.c, oh, ow);
  for (int b = 0; b < x.n; ++b)
    for (int k = 0; k < x.c; ++k)
      for (int y = 0; y < oh; ++y)
        for (int z = 0; z < ow; ++z) {
          double sum = 0, most = -INFINITY;
          int taps = 0;
          for (int i = 0; i < kernel; ++i)
            for (int j = 0; j < kernel; ++j) {
              const int iy = y * stride - pads.top + i, ix = z * stride - pads.left + j;
              if (iy < 0 || iy >= x.h || ix < 0 || ix >= x.w) continue;
              ++taps;
              sum += x(b, k, iy, ix);
              most = std::max(most, x(b, k, iy, ix));
            }
          out(b, k, y, z) = average ? sum / (include_pad ? kernel * kernel : taps) : most;
        }
  return out;
}

inline void clamp(Nchw& x, double low, double high) {
  for (double& v : x.v) v = std::min(std::max(v, low), high);
}

}  // namespace intaglio::test
