// Samples for calibrating and evaluating: a folder of pictures, one picture, an .npy array whose first dimension counts
// samples, pictures by their paths, or arrays in memory.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "calibrator/host/pictures/image_decode.h"
#include "calibrator/host/system/npy.h"
#include "calibrator/observe/digest.h"
#include "intaglio/frame.h"
#include "intaglio/image_input.h"
#include "intaglio/tensor.h"

namespace intaglio {

// Frames of a camera, as they lie in files one behind the other.
struct RawFrames {
  FrameInfo info;
  size_t row_bytes = 0;  // from row to row, of both planes; 0: rows without gaps

  size_t bytes() const;
};

struct SampleOptions {
  std::string only;   // a text file with the names to take, one a line; empty: all
  int64_t limit = 0;  // takes the samples with the smallest digests; 0: all
  DecodeLimits decode;
  std::optional<RawFrames> frames;  // files hold these, whatever their names end with
};

// How the names of files end that are pictures, in lower case.
const std::vector<std::string>& picture_endings();

// Samples in the caller's memory, which outlives what reads them: plain numbers in C order.
struct HeldSamples {
  struct Sample {
    const uint8_t* data = nullptr;
    std::vector<int64_t> shape;  // pictures may have several
  };
  NpyType type = NpyType::kF32;
  std::vector<Sample> samples;
};

// Where samples are.
struct SamplePlace {
  std::string name;                // a path; of `files` and `held` what messages call them
  std::vector<std::string> files;  // pictures, in this order
  std::optional<HeldSamples> held;
};

// A folder's files with such an ending are samples, in the order of their names. A folder without such files is
// one of classes: the files of its folders are samples, named "cat/1.png". Folders within those are not entered. Of an
// array, uint8 [N, h, w] or [N, h, w, 1|3|4] holds pictures (gray, RGB, RGBA); int8 holds an int8 input's codes; other
// types hold the values of an input. With SampleOptions::frames each file holds one raw frame or more, "a.raw:2" is its third one. Holds
// names alone: a sample is read when it is asked for.
class ImageFolder {
 public:
  static Outcome<ImageFolder> open(const std::string& path, const SampleOptions& options = {}) {
    return open(SamplePlace{path, {}, {}}, options);
  }
  static Outcome<ImageFolder> open(const SamplePlace& place, const SampleOptions& options = {});

  size_t count() const { return samples_.size(); }
  // A file's name within the folder or in the list, or a decimal index into the array.
  const std::string& name(size_t i) const { return samples_[i].name; }
  // Notes for the user, e.g. which files of the folder are no samples.
  const std::vector<std::string>& notes() const { return notes_; }

  const std::string& path() const { return path_; }
  bool is_array() const { return is_array_; }
  // Not input tensors.
  bool holds_pictures() const { return !is_array_ || array_.type == NpyType::kU8; }
  // Numbers in the input's own unit, neither pictures nor codes.
  bool holds_values() const { return !holds_pictures() && array_.type != NpyType::kS8; }

  // Leaves all others out. Ascending.
  void keep(const std::vector<size_t>& places);

  // SHA-256 of the sample's content: the file's bytes, or the sample's bytes in the array.
  Outcome<Digest> digest(size_t i) const;

  // Fills a model's input. Pictures go through `recipe`, and are refused where the model has none (null); of a batch each
  // place gets the picture. Values are quantized by an int8 input's scale.
  Outcome<Done> load(size_t i, const TensorView& input, const ImageInput* recipe) const;

 private:
  struct Sample {
    std::string name;
    uint64_t index = 0;  // into the array, or into files_
    uint64_t frame = 0;  // within the file
  };

  struct Listed {
    std::vector<std::string> folders, others;
  };
  Outcome<Done> list_entries(const std::string& within, Listed& listed);
  Outcome<Done> list_folder();
  Outcome<Done> list_array();
  Outcome<Done> list_held();
  Outcome<Done> check_array() const;
  Outcome<Done> list_frames();
  Outcome<Done> take_only(const std::string& list);
  std::string where(size_t i) const;
  std::vector<int64_t> shape_of(size_t i) const;  // of a sample of the array
  Outcome<FileBytes> content(size_t i) const;
  Outcome<Picture> picture(size_t i) const;
  Outcome<Done> load_array(size_t i, const TensorView& input) const;

  std::string path_;
  DecodeLimits decode_limits_;
  bool is_folder_ = false;
  bool is_array_ = false;
  NpyHeader array_;
  uint64_t sample_bytes_ = 0;  // of the array
  std::vector<std::string> files_;
  std::optional<HeldSamples> held_;
  std::optional<RawFrames> frames_;
  std::vector<Sample> samples_;
  std::vector<std::string> notes_;
};

// A model's input from its real values, in its order: an int8 one takes them by its scale. As many as it has elements.
Outcome<Done> fill_with_values(Span<const float> values, const TensorView& input);
// The same from one picture, by the recipe: every place of a batch holds it. `pixels` has no gaps between rows.
Outcome<Done> fill_with_picture(Span<const uint8_t> pixels, const PictureInfo& info, const ImageInput& recipe,
                                const TensorView& input);

// The places of the `limit` smallest digests, ascending; of equal ones the first. All where there are fewer.
Outcome<std::vector<size_t>> smallest_digests(size_t count, size_t limit,
                                              const std::function<Outcome<Digest>(size_t)>& digest);

}  // namespace intaglio
