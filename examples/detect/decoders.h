// From the outputs of a detector to boxes. Each decoder is the arithmetic of the network's own publication; the names are
// those that `detect` takes.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

// One output of a network as real values, rows first.
struct Output {
  std::string name;
  std::vector<int32_t> shape;
  std::vector<float> values;
};

// In pixels of the network's input: left, top, right, bottom.
struct Box {
  float x0 = 0, y0 = 0, x1 = 0, y1 = 0;
  float score = 0;
  int32_t label = 0;  // the class, from 0
};

struct Network {
  int32_t width = 0, height = 0;  // of the input, in pixels
  std::vector<Output> outputs;
};

// Boxes with a score of at least `least`. Outputs of another form are refused: std::runtime_error says which form the decoder
// takes.
struct Decoder {
  const char* name;
  const char* networks;  // for the help text
  std::function<std::vector<Box>(const Network& network, float least)> decode;
};
const std::vector<Decoder>& decoders();

// Intersection over union, 0 to 1.
float overlap(const Box& a, const Box& b);

// Non-maximum suppression: of boxes of one class that overlap by more than `most`, the one with the highest score stays. The
// best comes first; of equal scores the earlier one.
std::vector<Box> suppress(std::vector<Box> boxes, float most);
