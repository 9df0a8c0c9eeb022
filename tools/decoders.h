// From the outputs of a detector to boxes. Each decoder is the arithmetic of the network's own publication. Plain C++ without
// other parts, to be copied into a program of your own.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace intaglio::tools {

// One output of a run as real values, rows first.
struct OutputValues {
  std::string name;
  std::vector<int32_t> shape;
  std::vector<float> values;
};

// What one run gave.
struct DetectorRun {
  int32_t width = 0, height = 0;  // of the input, in pixels
  std::vector<OutputValues> outputs;
  int32_t classes = 0;  // what is known of the network; 0: all columns behind a box are classes
};

// In pixels: left, top, right, bottom.
struct Box {
  float x0 = 0, y0 = 0, x1 = 0, y1 = 0;
  float score = 0;
  int32_t label = 0;  // the class, from 0
};

struct FoundBoxes {
  std::vector<Box> boxes;  // in pixels of the input
  int32_t classes = 0;     // how many the network has; 0: its outputs do not say
};

struct Decoder {
  const char* name;
  const char* networks;  // for the help text
  const char* form;      // of the outputs that it takes
  // Boxes with a score of at least `least`. False: the outputs have another form.
  bool (*read)(const DetectorRun& run, float least, FoundBoxes& found);
  // Whether the outputs have the form and numbers of such a network. Stricter than read(): nobody has named the decoder.
  bool (*fits)(const DetectorRun& run);
};
const std::vector<Decoder>& decoders();
// nullptr: there is none.
const Decoder* find_decoder(const std::string& name);
// "ultraface, retinaface, ..."
std::string decoder_names();
// Those that fit a run. One: it is recognized.
std::vector<const Decoder*> fitting_decoders(const DetectorRun& run);

inline constexpr float kLeastScore = 0.25f, kMostOverlap = 0.45f;

// Read, and non-maximum suppression: the best box comes first. Refuses outputs of another form, and scores above 1:
// std::runtime_error says what the decoder takes.
FoundBoxes decode(const Decoder& decoder, const DetectorRun& run, float least = kLeastScore,
                  float most_overlap = kMostOverlap);

// Intersection over union, 0 to 1.
float overlap(const Box& a, const Box& b);

// Non-maximum suppression: of boxes of one class that overlap by more than `most`, the one with the highest score stays. The
// best comes first; of equal scores the earlier one.
std::vector<Box> suppress(std::vector<Box> boxes, float most);

}  // namespace intaglio::tools
