// Foreign model files to graphs: TFLite, ONNX and OpenVINO's IR, float and int8.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "calibrator/bake/graph.h"
#include "calibrator/host/system/files.h"
#include "calibrator/host/system/host_arena.h"
#include "calibrator/host/system/outcome.h"
#include "importers/draft/read_options.h"

namespace intaglio {

// Image preprocessing as the user states it: real = (pixel - mean[c]) * norm[c], pixels 0 to 255. One value
// stands for every channel; none for 0 and 1. Either a recipe by its name, or numbers; with neither, what the
// file says, or the codes of a quantized input, with another color order or another way of resizing.
//
//   name       mean                          norm                                        order
//   0..255     0                             1                                           rgb
//   0..1       0                             1 / 255                                     rgb
//   -1..1      127.5                         1 / 127.5                                   rgb
//   imagenet   255 * (0.485, 0.456, 0.406)   1 / (255 * (0.229, 0.224, 0.225))           rgb
//   caffe      103.939, 116.779, 123.68      1                                           bgr
//
// The last two are numbers of colours: in another order they follow their colour.
struct ImagePreprocessing {
  std::string pixels;  // one of pixel_recipes(); empty: by mean and norm
  std::vector<float> mean, norm;
  std::optional<ColorOrder> color;  // by default gray for one channel, RGB otherwise
  ResizeMode resize = ResizeMode::kStretch;
  uint8_t border = kUsualBorder;  // of a letterbox
  std::string input;              // by default the first input that can take a picture

  bool has_values() const { return !pixels.empty() || !mean.empty() || !norm.empty(); }
};
std::vector<std::string> pixel_recipes();
std::string pixel_choices();  // "0..255|0..1|..."

// A step of the import, in which nodes are rewritten.
struct ImportPass {
  std::string name, sentence;
};
// In their order. The first, "read", changes nothing: it is the network as the file has it.
std::vector<ImportPass> import_passes();

struct ImportOptions : ReadOptions {
  std::vector<InputConstant> constants;  // of an ONNX network; these are no inputs of the model
  std::optional<ImagePreprocessing> image;
  // What the numbers of the outputs are, to be stored: one kind for all of them, or one for each; empty: not told.
  std::vector<AnswerKind> answers;
  bool keep_dead = false;  // keeps channels of a quantized network that hold one code whatever the inputs are
  bool focus = false;      // the network begins behind YOLOv5's focus: the model takes the picture before it
  // The axis of time of the first input, in the network's own layout: the model takes one row of it a run, and keeps
  // what convolutions look back on as states.
  std::optional<int32_t> stream;
  // The network as text after this pass, each time that it changed something and the first time in any case;
  // empty: never. Passes run in rounds, until none changes anything.
  std::string dump_after;
  std::function<void(const std::string& text)> dump;
};

struct ImportReport {
  std::vector<std::string> notes;  // what the user should know; each one sentence
  ImportCost cost;                 // of the limits
};

struct ImportedModel {
  Graph graph;  // in the caller's arena; ready for plan_memory() and write_model()
  ImportReport report;
};

bool is_tflite_file(Span<const uint8_t> bytes);
bool is_openvino_file(
    Span<const uint8_t> bytes);  // its weights are in a file of their own: ReadOptions::weights

// The format is found from the content. `path` is used in messages alone. A failure's message lists
// everything that stands in the way, one line a problem.
Outcome<ImportedModel> import_model(Span<const uint8_t> bytes, const std::string& path,
                                    const ImportOptions& options, HostArena& memory);

// How many files have ended with an exception that neither an importer nor an exporter foresees: a fault of ours, whatever the
// message says. Of this process, for tests and fuzzers.
int64_t unforeseen_exceptions();
void note_unforeseen();  // by what catches one

// A network of another format on disk, with what its format keeps in files beside it.

class NetworkFile {
 public:
  // The .bin beside an OpenVINO IR is read as well.
  static Outcome<NetworkFile> open(const std::string& path);
  // From bytes in memory; messages call them `name`. `weights`: of an OpenVINO IR.
  static Outcome<NetworkFile> of_bytes(const std::string& name, FileBytes bytes,
                                       std::optional<FileBytes> weights);

  // `options` need not say where external data and weights are: they are looked for beside the file.
  Outcome<ImportedModel> import(ImportOptions options, HostArena& memory) const;

  const std::string& path() const { return path_; }
  Span<const uint8_t> bytes() const { return bytes_.span(); }
  // The folder that the file is in; "." where its path names none.
  std::string folder() const;

 private:
  std::string path_;
  FileBytes bytes_, weights_;
};

}  // namespace intaglio
