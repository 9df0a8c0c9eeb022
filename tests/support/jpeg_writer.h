// JPEG files with any coefficients, in any scans: each coefficient's code has a length that does not depend on it.
#pragma once

#include <array>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include <random>
#include "tests/support/picture_files.h"

namespace intaglio::test {

class JpegWriter {
 public:
  struct Sampling {
    int h, v;
  };

  // Coefficients at random, most of them zero.
  JpegWriter(int width, int height, std::vector<Sampling> sampling, bool progressive, uint32_t seed = 1)
      : width_(width), height_(height), sampling_(std::move(sampling)), progressive_(progressive) {
    std::mt19937 random(seed);
    for (const Sampling& s : sampling_) {
      h_max_ = std::max(h_max_, s.h);
      v_max_ = std::max(v_max_, s.v);
    }
    for (const Sampling& s : sampling_) {
      std::vector<Block> blocks(static_cast<size_t>(units_w() * s.h * units_h() * s.v));
      for (Block& block : blocks) {
        block[0] = static_cast<int>(random() % 400) - 200;
        for (int i = static_cast<int>(random() % 6); i > 0; --i) {
          block[1 + random() % 63] = static_cast<int>(random() % 41) - 20;
        }
      }
      blocks_.push_back(blocks);
    }
  }

  std::vector<uint8_t> file{0xff, 0xd8};
  int restart_interval = 0;

  void segment(uint8_t marker, const std::vector<uint8_t>& data) {
    file.insert(file.end(), {0xff, marker});
    put_number(file, static_cast<uint32_t>(data.size() + 2), 2, true);
    file.insert(file.end(), data.begin(), data.end());
  }
  void quantization(uint8_t value = 2) {
    std::vector<uint8_t> table(65, value);
    table[0] = 0;
    segment(0xdb, table);
  }
  void frame() {
    std::vector<uint8_t> data{8};
    put_number(data, static_cast<uint32_t>(height_), 2, true);
    put_number(data, static_cast<uint32_t>(width_), 2, true);
    data.push_back(static_cast<uint8_t>(sampling_.size()));
    uint8_t id = 1;
    for (const Sampling& s : sampling_) {
      data.insert(data.end(), {id++, static_cast<uint8_t>(s.h << 4 | s.v), 0});
    }
    segment(progressive_ ? 0xc2 : 0xc0, data);
  }
  void huffman_tables() {
    std::vector<uint8_t> dc(17, 0), ac(17, 0);
    dc[4] = 12;
    for (uint8_t size = 0; size < 12; ++size) dc.push_back(size);
    ac[0] = 0x10;
    ac[8] = 16 * 11;
    for (int run = 0; run < 16; ++run) {
      for (int size = 0; size < 11; ++size) ac.push_back(static_cast<uint8_t>(run << 4 | size));
    }
    segment(0xc4, dc);
    segment(0xc4, ac);
  }
  // The segments before the first scan.
  void start() {
    quantization();
    frame();
    huffman_tables();
    if (restart_interval > 0) {
      segment(0xdd, {static_cast<uint8_t>(restart_interval >> 8), static_cast<uint8_t>(restart_interval)});
    }
  }
  // Coefficients `first` to `last` of these components; `before` 0 begins them, else one bit more comes.
  void scan(const std::vector<size_t>& components, int first = 0, int last = 63, int before = 0,
            int low = 0) {
    std::vector<uint8_t> header{static_cast<uint8_t>(components.size())};
    for (const size_t c : components) header.insert(header.end(), {static_cast<uint8_t>(c + 1), 0});
    header.insert(header.end(), {static_cast<uint8_t>(first), static_cast<uint8_t>(last),
                                 static_cast<uint8_t>(before << 4 | low)});
    segment(0xda, header);
    first_ = first, last_ = last, before_ = before, low_ = low;
    mean_.assign(sampling_.size(), 0);
    const bool alone = components.size() == 1;
    const Sampling own = sampling_[components[0]];
    const int w = alone ? up(up(width_ * own.h, h_max_), 8) : units_w();
    const int h = alone ? up(up(height_ * own.v, v_max_), 8) : units_h();
    for (int unit = 0; unit < w * h; ++unit) {
      if (restart_interval > 0 && unit > 0 && unit % restart_interval == 0) {
        end_run();
        align();
        file.insert(file.end(), {0xff, static_cast<uint8_t>(0xd0 + (unit / restart_interval - 1) % 8)});
        mean_.assign(sampling_.size(), 0);
      }
      const int x = unit % w, y = unit / w;
      if (alone) {
        block(components[0], x, y);
        continue;
      }
      for (const size_t c : components) {
        for (int i = 0; i < sampling_[c].h * sampling_[c].v; ++i) {
          block(c, x * sampling_[c].h + i % sampling_[c].h, y * sampling_[c].v + i / sampling_[c].h);
        }
      }
    }
    end_run();
    align();
  }
  std::vector<size_t> all() const {
    std::vector<size_t> components;
    for (size_t c = 0; c < sampling_.size(); ++c) components.push_back(c);
    return components;
  }
  // Every scan: one, one a component, or means, bits and bands in turn.
  void scans(bool interleaved) {
    if (!progressive_ && interleaved) return scan(all());
    if (!progressive_) {
      for (const size_t c : all()) scan({c});
      return;
    }
    if (interleaved) {
      scan(all(), 0, 0, 0, 1);
    } else {
      for (const size_t c : all()) scan({c}, 0, 0, 0, 1);
    }
    for (const size_t c : all()) {
      scan({c}, 1, 5, 0, 2);
      scan({c}, 6, 63, 0, 1);
      scan({c}, 1, 5, 2, 1);
    }
    scan({0}, 0, 0, 1, 0);
    for (const size_t c : all()) {
      if (c > 0) scan({c}, 0, 0, 1, 0);
      scan({c}, 1, 5, 1, 0);
      scan({c}, 6, 63, 1, 0);
    }
  }
  void end() { file.insert(file.end(), {0xff, 0xd9}); }

 private:
  using Block = std::array<int, 64>;

  static int up(int a, int b) { return (a + b - 1) / b; }
  int units_w() const { return up(width_, 8 * h_max_); }
  int units_h() const { return up(height_, 8 * v_max_); }

  void bits(uint32_t value, int count) {
    for (int i = count; i-- > 0;) {
      byte_ = static_cast<uint8_t>(byte_ << 1 | (value >> i & 1));
      if (++filled_ < 8) continue;
      file.push_back(byte_);
      if (byte_ == 0xff) file.push_back(0);
      filled_ = 0;
    }
  }
  void align() {
    while (filled_ > 0) bits(1, 1);
  }
  static int size_of(int value) {
    int size = 0;
    while (std::abs(value) >> size > 0) ++size;
    return size;
  }
  void symbol(int run, int size) { bits(static_cast<uint32_t>(run * 11 + size), 8); }
  void value_bits(int value, int size) {
    bits(static_cast<uint32_t>(value < 0 ? value + (1 << size) - 1 : value), size);
  }
  static int lowered(int value, int low) { return value < 0 ? -(-value >> low) : value >> low; }

  // Blocks without values until here, and the bits of the values that they had before.
  void end_run() {
    if (run_ > 0) {
      const int exponent = size_of(run_) - 1;
      symbol(exponent, 0);
      bits(static_cast<uint32_t>(run_ - (1 << exponent)), exponent);
      run_ = 0;
    }
    for (const bool bit : corrections_) bits(bit ? 1 : 0, 1);
    corrections_.clear();
  }

  void block(size_t c, int x, int y) {
    const int w = units_w() * sampling_[c].h;
    const Block& block = blocks_[c][static_cast<size_t>(y * w + x)];
    if (first_ == 0 && before_ > 0) return bits(static_cast<uint32_t>(block[0] >> low_ & 1), 1);
    if (first_ == 0) {
      const int value = block[0] >> low_, size = size_of(value - mean_[c]);
      bits(static_cast<uint32_t>(size), 4);
      value_bits(value - mean_[c], size);
      mean_[c] = value;
      if (progressive_) return;
    }
    if (before_ > 0) return refine(block);
    int zeros = 0;
    for (int k = std::max(first_, 1); k <= last_; ++k) {
      const int value = lowered(block[static_cast<size_t>(k)], low_);
      if (value == 0) {
        ++zeros;
        continue;
      }
      end_run();
      for (; zeros > 15; zeros -= 16) symbol(15, 0);
      symbol(zeros, size_of(value));
      value_bits(value, size_of(value));
      zeros = 0;
    }
    if (zeros > 0) ++run_;
    if (!progressive_) end_run();
  }

  void refine(const Block& block) {
    int last_new = 0, zeros = 0;
    for (int k = first_; k <= last_; ++k) {
      if (std::abs(block[static_cast<size_t>(k)]) >> low_ == 1) last_new = k;
    }
    std::vector<bool> corrections;
    const auto put_corrections = [&] {
      for (const bool bit : corrections) bits(bit ? 1 : 0, 1);
      corrections.clear();
    };
    for (int k = first_; k <= last_; ++k) {
      const int value = block[static_cast<size_t>(k)], size = std::abs(value) >> low_;
      if (size == 0) {
        ++zeros;
        continue;
      }
      for (; zeros > 15 && k <= last_new; zeros -= 16) {
        end_run();
        symbol(15, 0);
        put_corrections();
      }
      if (size > 1) {
        corrections.push_back((size & 1) != 0);
        continue;
      }
      end_run();
      symbol(zeros, 1);
      bits(value > 0 ? 1 : 0, 1);
      put_corrections();
      zeros = 0;
    }
    if (zeros == 0 && corrections.empty()) return;
    ++run_;
    corrections_.insert(corrections_.end(), corrections.begin(), corrections.end());
  }

  int width_, height_;
  std::vector<Sampling> sampling_;
  bool progressive_;
  int h_max_ = 1, v_max_ = 1;
  std::vector<std::vector<Block>> blocks_;  // of each component, in zigzag order
  std::vector<int> mean_;
  int first_ = 0, last_ = 63, before_ = 0, low_ = 0;
  int run_ = 0;
  std::vector<bool> corrections_;
  uint8_t byte_ = 0;
  int filled_ = 0;
};

// A whole file.
inline std::vector<uint8_t> jpeg_of(int width, int height, std::vector<JpegWriter::Sampling> sampling,
                                    bool progressive, bool interleaved = true, int restart_interval = 0) {
  JpegWriter writer(width, height, std::move(sampling), progressive);
  writer.restart_interval = restart_interval;
  writer.start();
  writer.scans(interleaved);
  writer.end();
  return writer.file;
}

}  // namespace intaglio::test
