#include "tools/calibration_page.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <numeric>

#include "calibrator/host/accuracy/layer_sensitivity.h"
#include "calibrator/host/system/real_text.h"
#include "calibrator/host/system/wording.h"
#include "intaglio/describe.h"
#include "tools/html_text.h"
#include "tools/layer_comparison.h"
#include "tools/model_contents.h"
#include "tools/remedy.h"
#include "tools/text.h"

namespace intaglio::tools {
namespace {

// One column on a phone, no wider than is good to read elsewhere, dark where the reader's system is.
constexpr const char* kCalibrationPageStyle = R"css(
:root{color-scheme:light dark;--paper:#fff;--ink:#1c2126;--faint:#5d6873;--line:#dde2e7;--soft:#f3f5f7;
--good:#1a7f4b;--fair:#9a6700;--poor:#b42318;--bar:#4b6b8a;--range:#cfe3f5}
@media(prefers-color-scheme:dark){:root{--paper:#14181c;--ink:#e6e9ec;--faint:#9aa5b0;--line:#2d353d;--soft:#1d2329;
--good:#4cc38a;--fair:#e0ac3f;--poor:#f0776c;--bar:#8fb4d8;--range:#24405a}}
*{box-sizing:border-box}
body{margin:0;background:var(--paper);color:var(--ink);font:16px/1.5 system-ui,sans-serif}
main{max-width:62rem;margin:0 auto;padding:1rem}
h1{font-size:1.2rem;margin:.5rem 0 1rem;overflow-wrap:anywhere}
h2{font-size:1.15rem;margin:2rem 0 .25rem}
h3{font-size:1rem;margin:0 0 .25rem;overflow-wrap:anywhere}
p{margin:.25rem 0 .5rem}
small{display:inline-block}
small,.note,footer,figcaption{color:var(--faint);font-size:.85rem;font-weight:400}
.verdict{border:1px solid var(--line);border-left:.4rem solid var(--faint);border-radius:.4rem;padding:.75rem 1rem;margin-top:1.25rem}
.verdict .word{font-size:1.6rem;font-weight:700;margin:0}
.good{border-left-color:var(--good)}.good .word{color:var(--good)}
.fair{border-left-color:var(--fair)}.fair .word{color:var(--fair)}
.poor{border-left-color:var(--poor)}.poor .word{color:var(--poor)}
.warnings ul{border:1px solid var(--line);border-left:.4rem solid var(--fair);border-radius:.4rem;
padding:.5rem 1rem .5rem 1.8rem}
.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(8.5rem,1fr));gap:.75rem;margin-top:.75rem}
.tiles b{display:block;font-size:1.15rem}.tiles span{color:var(--faint);font-size:.85rem;line-height:1.3;display:block}
article{border:1px solid var(--line);border-radius:.4rem;padding:.75rem 1rem;margin:.75rem 0}
pre{background:var(--soft);border-radius:.3rem;padding:.6rem;margin:.5rem 0 0;font-size:.8rem;overflow-x:auto}
figure{margin:.5rem 0}
figcaption{display:flex;justify-content:space-between;gap:.5rem;flex-wrap:wrap}
.histogram{display:block;width:100%;height:4.5rem;background:var(--soft)}
.histogram .range{fill:var(--range)}.histogram .bars{fill:var(--bar)}
.histogram .edge{stroke:var(--good);stroke-width:2;fill:none;vector-effect:non-scaling-stroke}
.depth{display:block;width:100%;height:auto;min-height:9rem}
.depth text{fill:var(--faint);font-size:11px}.depth .grid{stroke:var(--line)}
.depth .line{stroke:var(--bar);stroke-width:2;fill:none}
.depth .all{fill:var(--bar)}.depth .alone{fill:var(--paper);stroke:var(--good);stroke-width:1.5}
ul{margin:.25rem 0;padding-left:1.2rem;overflow-wrap:anywhere}
.node{color:var(--faint);font-weight:400}
code{background:var(--soft);border-radius:.2rem;padding:0 .2rem;white-space:nowrap}code.long{white-space:normal}
.wide{overflow-x:auto;border:1px solid var(--line);border-radius:.4rem}
table{border-collapse:separate;border-spacing:0;width:100%;font-size:.85rem}
th,td{text-align:left;padding:.35rem .6rem;border-bottom:1px solid var(--line);white-space:nowrap}
tr:last-child>*{border-bottom:0}
tr:first-child th{color:var(--faint);font-weight:600;background:var(--soft)}
tr th:first-child{position:sticky;left:0;background:var(--paper);min-width:10rem;max-width:45vw;white-space:normal;
overflow-wrap:anywhere;font-weight:600}
tr:first-child th:first-child{background:var(--soft)}
.number{text-align:right;font-variant-numeric:tabular-nums}
td.kept{color:var(--good)}td.undone{color:var(--faint)}
summary{cursor:pointer;padding:.4rem 0}
.grid{display:grid;grid-template-columns:repeat(auto-fill,minmax(17rem,1fr));gap:1rem}
.grid>div{min-width:0}
@media(max-width:34rem){th,td{padding:.35rem}tr th:first-child{min-width:7rem;max-width:38vw}}
@media print{:root{--paper:#fff;--ink:#000;--faint:#444;--line:#bbb;--soft:#f3f5f7;--bar:#355;--range:#dde}
main{max-width:none;padding:0}pre{white-space:pre-wrap;overflow-wrap:anywhere}.wide{overflow:visible;border:0}tr th:first-child{position:static}details{display:none}
table{font-size:.7rem}th,td{padding:.15rem .3rem}thead{display:table-header-group}tr,article,figure{break-inside:avoid}}
footer{border-top:1px solid var(--line);margin-top:2rem;padding-top:.75rem;overflow-wrap:anywhere}
)css";

std::string sentence(std::string text) {
  if (text.empty()) return text;
  text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
  return html_text(text) + ".";
}

std::string trial_text(const RemedyTrial& trial, double seconds, bool has_command) {
  const auto times = [](double now, double before) { return tag("b", decimal(now / before, 2) + " times"); };
  std::string text = has_command ? "Calibrate as below"
                                 : "Calibrate " + tag("code", html_text(option_text(trial.changes)), "long");
  if (trial.layers > 0)
    text += ", which keeps " + std::to_string(trial.layers) + (trial.layers == 1 ? " layer" : " layers") +
            " in FP32: " + decimal(100 * trial.share, 0) + " % of the error comes from there";
  text += ". On samples that were held out this gains " + tag("b", "+" + decimal(trial.gain(), 1) + " dB") +
          " at the output, for " + times(trial.ms, trial.int8_ms) +
          " the time of a run on this machine and " +
          times(static_cast<double>(trial.bytes), static_cast<double>(trial.bytes_before)) +
          " the bytes. FP32 takes " + decimal(trial.fp32_ms / trial.int8_ms, 2) + " times the time";
  if (trial.ms > trial.fp32_ms) text += ": this is slower than FP32";
  return text + ". To calibrate it again takes about " + decimal(seconds, 1) + " s.";
}

// A section of the page: one thing to do next, with its gain and its cost.
std::string next_step_html(const CalibrationPage& page) {
  std::string text, command;
  if (page.figures.verdict.grade == Grade::kGood) {
    text = "Judge it on labelled pictures (" +
           tag("code", wording_here() == Wording::kPython ? "intaglio.evaluate" : "intaglio eval") +
           "), and deploy it.";
  } else {
    const auto& trial = page.figures.trial;
    command = page.figures.command;
    text = trial && trial->helps ? trial_text(*trial, page.figures.calibrating_seconds, !command.empty())
                                 : sentence(page.figures.verdict.remedy);
  }
  return tag("section", tag("h2", "What to do") + tag("p", text) +
                            (command.empty() ? "" : tag("pre", html_text(command)))) +
         "\n";
}

// The beginning of each page, and of no other one.
constexpr char kCalibrationPageStart[] =
    "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">"
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
    "'unsafe-inline'\"><title>Calibration of ";

constexpr size_t kBars = 96, kWorst = 5;
constexpr double kFew = 1e-3;  // of the values: what a range may leave out without being called wide

// A name cut in its middle where it is long; the whole of it where the reader points.
std::string name_of(const std::string& name) {
  return "<span title=\"" + html_text(name) + "\">" + html_text(shortened(safe(name))) + "</span>";
}

std::string megabytes(size_t bytes) { return decimal(static_cast<double>(bytes) * 1e-6, 2) + " MB"; }

std::string db(double value) { return html_text(decimal(value, 1)) + (std::isfinite(value) ? " dB" : ""); }

std::string significant(double value) { return general_text(value, 4); }

// The ratio of a recovery's record in decibels of signal over noise.
std::string db_of_ratio(double noise_over_signal) { return db(sqnr_db(1.0, noise_over_signal)); }

class Page {
 public:
  explicit Page(const CalibrationPage& page) : page_(page), numbers_(page.fp32.model()) {
    for (int32_t n = 0; n < page.int8.node_count(); ++n) all_macs_ += macs_of(page.int8, page.int8.node(n));
    for (size_t i = 0; i < page.layers.size; ++i) layers_.push_back(facts_of(page.layers[i]));
  }

  std::string make() const {
    const std::string name = html_text(page_.fp32.path());
    std::string html = kCalibrationPageStart + name + "</title>";
    html += tag("style", kCalibrationPageStyle) + "</head><body><main>\n";
    html += tag("h1", name);
    html += verdict() + warnings() + next_step_html(page_) + inputs() + depth() + worst() + recoveries() +
            layer_table() + histograms() + footer();
    return html + "</main></body></html>\n";
  }

 private:
  struct Layer {
    LayerFacts facts;
    NodeInfo node;
    TensorStatistics seen;
    double lo = 0, hi = 0;  // the chosen range
    int64_t macs = 0;
  };

  Layer facts_of(const LayerReport& report) const {
    Layer layer;
    layer.node = page_.int8.node(report.node);
    layer.facts.report = &report;
    layer.facts.output = page_.int8.tensor(report.tensor);
    layer.facts.values = layer.facts.output.shape.elements() * static_cast<int64_t>(page_.figures.images);
    layer.macs = macs_of(page_.int8, layer.node);
    layer.facts.has_weights = layer.macs > 0;
    const Quantization& q = layer.facts.output.quantization;
    layer.facts.is_int8 = layer.facts.output.dtype == DType::kS8 && q.scales.size == 1;
    layer.facts.reads_int8 = page_.int8.tensor(layer.node.inputs[0]).dtype == DType::kS8;
    if (layer.facts.is_int8) {
      layer.lo = static_cast<double>(q.scales[0]) * (-128 - q.zero_point);
      layer.hi = static_cast<double>(q.scales[0]) * (127 - q.zero_point);
    }
    for (int32_t t = 0; t < page_.fp32.model().tensor_count(); ++t)
      if (std::string(page_.fp32.model().tensor(t).name) == layer.facts.output.name)
        layer.seen = page_.calibrator.statistics(t);
    if (layer.facts.is_int8) layer.facts.used_codes = used_codes(layer);
    return layer;
  }

  static double count(const TensorStatistics& seen, size_t bin) {
    const double odd = seen.counts[1].empty() ? 0.0 : static_cast<double>(seen.counts[1][bin]);
    return static_cast<double>(seen.counts[0][bin]) + odd;
  }

  // Codes of the narrowest run of bins that leaves out no more than a few values at either end.
  static double used_codes(const Layer& layer) {
    const TensorStatistics& seen = layer.seen;
    double all = 0;
    for (size_t i = 0; i < seen.counts[0].size; ++i) all += count(seen, i);
    if (!(all > 0)) return 256;
    size_t first = 0, last = seen.counts[0].size;
    for (double out = count(seen, first); out <= kFew / 2 * all && first < last; out += count(seen, first))
      ++first;
    for (double out = count(seen, last - 1); out <= kFew / 2 * all && last > first + 1;
         out += count(seen, last - 1))
      --last;
    const double from = std::max(seen.start + seen.width * static_cast<double>(first), layer.lo);
    const double to = std::min(seen.start + seen.width * static_cast<double>(last), layer.hi);
    return std::max(0.0, to - from) / (layer.hi - layer.lo) * 256;
  }

  // "12: conv_3", by the number that options take.
  std::string numbered(const Layer& layer) const {
    const std::string number = numbers_.text(layer.facts.output.name);
    return (number.empty() ? "" : tag("span", number + ": ", "node")) +
           name_of(numbers_.name(layer.facts.output.name));
  }

  // ---- sections

  std::string inputs() const {
    const Model& model = page_.fp32.model();
    std::string lines;
    for (size_t i = 0; i < model.inputs().size; ++i)
      lines += tag("li", html_text(input_text(model, static_cast<int32_t>(i))));
    return tag("section",
               tag("h2", "What goes in") +
                   tag("p",
                       "The preprocessing that the model file holds. If the network was trained with another "
                       "one, nothing below says anything: import it again with " +
                           tag("code", option_word("pixels")) + ".",
                       "note") +
                   tag("ul", lines)) +
           "\n";
  }

  std::string warnings() const {
    if (page_.warnings.empty()) return "";
    std::string lines;
    for (const std::string& warning : page_.warnings) lines += tag("li", html_text(warning));
    return "<section class=\"warnings\">" + tag("h2", "Warnings") + tag("ul", lines) + "</section>\n";
  }

  std::string verdict() const {
    const CalibrationFigures& figures = page_.figures;
    const Verdict& verdict = figures.verdict;
    std::string tiles;
    const auto tile = [&](const std::string& value, const std::string& what) {
      tiles += tag("div", tag("b", value) + tag("span", what));
    };
    const auto share = [](double value) { return html_text(decimal(100 * value, 1)) + " %"; };
    const bool judged = figures.judged > 0;
    tile(db(figures.held_out.sqnr), judged
                                        ? "output SQNR, to be expected of other samples"
                                        : "output SQNR without corrections: too few samples to hold any out");
    if (figures.low_sqnr) tile(db(*figures.low_sqnr), "and more in nine of ten sets of 16 other samples");
    if (figures.held_out.worst)
      tile(db(figures.held_out.worst->sqnr),
           "the worst part of the outputs: " + html_text(safe(figures.held_out.worst->name)));
    if (figures.held_out.agreement)
      tile(share(*figures.held_out.agreement), "same class as FP32, on samples held out");
    if (const auto& boxes = figures.held_out.detections; boxes && boxes->pictures > 0)
      tile(html_text(decimal(boxes->counts.f1(), 3)),
           "F1 of its boxes against those of FP32, on samples held out");
    for (const OutputError& error : figures.held_out.errors)
      tile(html_text(significant(error.mean)),
           "mean error of " + name_of(error.name) + ", " + html_text(significant(error.largest)) +
               " at most, in values from " + html_text(significant(error.low)) + " to " +
               html_text(significant(error.high)));
    tile(db(figures.calibrating.sqnr), "on the calibration samples");
    if (figures.calibrating.agreement)
      tile(share(*figures.calibrating.agreement), "same class, on the calibration samples");
    tile(std::to_string(page_.calibrator.report().samples), "samples");
    tile(megabytes(page_.calibrator.report().bytes.size),
         "from " + megabytes(page_.fp32.file_bytes()) + " in FP32");
    tile(decimal(figures.seconds, 1) + " s",
         page_.figures.trial ? "to calibrate, and to try a remedy" : "to calibrate");
    std::string word = verdict.grade == Grade::kNone ? "no verdict" : grade_name(verdict.grade);
    word[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(word[0])));
    std::string text = tag("p", word, "word") + tag("p", html_text(verdict.text));
    const char* const css = verdict.grade == Grade::kNone ? "fair" : grade_name(verdict.grade);
    return "<section class=\"verdict " + std::string(css) + "\">" + text + tag("div", tiles, "tiles") +
           "</section>\n";
  }

  std::string depth() const {
    std::vector<ChartPoint> points;
    for (const Layer& layer : layers_)
      points.push_back(
          {html_text(numbers_.text(layer.facts.output.name) + " " + numbers_.name(layer.facts.output.name)),
           sqnr_db(*layer.facts.report), sqnr_alone_db(*layer.facts.report)});
    const std::string svg = depth_chart_svg(points);
    if (svg.empty()) return "";
    return tag("section",
               tag("h2", "SQNR over depth") +
                   tag("p",
                       "In dB; larger is better. The line: with all layers before it. Hollow points: the layer alone, "
                       "given exact inputs. Where the line falls, the error is made; on the calibration samples.",
                       "note") +
                   tag("figure", svg)) +
           "\n";
  }

  std::vector<size_t> by_own_error() const {
    std::vector<size_t> order(layers_.size());
    std::iota(order.begin(), order.end(), size_t{0});
    const auto own = [&](size_t i) {
      const double value = sqnr_alone_db(*layers_[i].facts.report);
      return std::isnan(value) ? INFINITY : value;
    };
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return own(a) < own(b); });
    return order;
  }

  std::string worst() const {
    std::string cards;
    const std::vector<size_t> order = by_own_error();
    // The least exact one always; others as far as something can be said of them.
    for (size_t i = 0, shown = 0; i < order.size() && shown < kWorst; ++i) {
      const LayerAdvice advice = advise(layers_[order[i]].facts);
      if (i > 0 && advice.sound) continue;
      cards += card(layers_[order[i]], advice);
      ++shown;
    }
    if (cards.empty()) return "";
    return tag("section",
               tag("h2", "Worst layers") +
                   tag("p",
                       "Those that lose most by themselves, given exact inputs; on the calibration samples.",
                       "note") +
                   cards) +
           "\n";
  }

  std::string card(const Layer& layer, const LayerAdvice& advice) const {
    std::string html = tag("h3", numbered(layer) + " " + tag("small", html_text(op_name(layer.node.op))));
    html += tag("p", "alone " + tag("b", db(sqnr_alone_db(*layer.facts.report))) + ", with all before it " +
                         tag("b", db(sqnr_db(*layer.facts.report))) + ", clipped " +
                         tag("b", clipped(layer) + " %"));
    html += picture(layer) + tag("p", html_text(advice.reason));
    return tag("article", html);
  }

  static std::string clipped(const Layer& layer) { return decimal(100 * layer.facts.report->clipped, 2); }

  std::string recoveries() const {
    const Span<const RecoveryRecord> records = page_.calibrator.report().recoveries;
    std::string rows;
    bool in_blocks = false;
    for (const RecoverySummary& summary : summarize(records, page_.figures.method)) {
      rows += tag("tr", tag("td", html_text(summary.title)) +
                            tag("td", summary.tried ? db_of_ratio(summary.before) : "-", "number") +
                            tag("td", summary.tried ? db_of_ratio(summary.after) : "-", "number") +
                            tag("td", html_text(summary.outcome), summary.kept > 0 ? "kept" : "undone"));
      in_blocks = in_blocks || summary.in_blocks;
    }
    if (rows.empty()) rows = tag("tr", "<td colspan=\"4\">none was asked for</td>");
    std::string html = tag("h2", "Recoveries") +
                       tag("p", "What was done against the loss, judged by running the int8 model.", "note") +
                       table(
                           "<th>recovery</th><th class=\"number\">before</th><th class=\"number\">after</th>"
                           "<th>outcome</th>",
                           rows);
    if (in_blocks) html += tag("details", tag("summary", "Block by block") + attempts(records));
    return tag("section", html) + "\n";
  }

  // The name of a block: that of the node's first output.
  std::string block_end(int32_t node) const {
    return name_of(numbers_.name(page_.int8.tensor(page_.int8.node(node).outputs[0]).name));
  }

  std::string attempts(Span<const RecoveryRecord> records) const {
    std::string rows;
    for (const RecoveryRecord& record : records) {
      if (record.first_node < 0) continue;
      rows += tag("tr", tag("td", html_text(recovery_title(record.recovery))) +
                            tag("td", block_end(record.first_node) + " to " + block_end(record.last_node)) +
                            tag("td", db_of_ratio(record.before), "number") +
                            tag("td", db_of_ratio(record.after), "number") +
                            tag("td", verdict_text(record.verdict),
                                record.verdict == RecoveryVerdict::kKept ? "kept" : "undone"));
    }
    return table(
        "<th>recovery</th><th>block</th><th class=\"number\">before</th><th class=\"number\">after</th>"
        "<th>outcome</th>",
        rows);
  }

  static std::string table(const char* titles, const std::string& rows) {
    return tag("div", tag("table", tag("tr", titles) + rows), "wide");
  }

  std::string layer_table() const {
    std::string rows;
    for (const Layer& layer : layers_) {
      const LayerReport& report = *layer.facts.report;
      const Quantization& q = layer.facts.output.quantization;
      const bool int8 = layer.facts.is_int8;
      std::string row = tag("th", numbered(layer) + " " + tag("small", html_text(op_name(layer.node.op))));
      for (const std::string& cell :
           {html_text(decimal(sqnr_db(report), 1)), html_text(decimal(sqnr_alone_db(report), 1)),
            clipped(layer),
            int8 ? significant(layer.lo) + " &hellip; " + significant(layer.hi) : std::string("FP32"),
            int8 ? significant(static_cast<double>(q.scales[0])) : "",
            int8 ? std::to_string(q.zero_point) : "", html_text(decimal(cosine(report), 5)),
            layer.macs == 0
                ? ""
                : decimal(100 * static_cast<double>(layer.macs) / static_cast<double>(all_macs_), 1)})
        row += tag("td", cell, "number");
      rows += tag("tr", row) + "\n";
    }
    return tag("section",
               tag("h2", "All layers") +
                   table("<th>layer</th><th class=\"number\">SQNR</th><th class=\"number\">alone</th>"
                         "<th class=\"number\">clipped %</th><th class=\"number\">range</th>"
                         "<th class=\"number\">scale</th><th class=\"number\">zero point</th>"
                         "<th class=\"number\">cosine</th><th class=\"number\">work %</th>",
                         rows)) +
           "\n";
  }

  // ---- pictures

  std::string picture(const Layer& layer) const {
    const TensorStatistics& seen = layer.seen;
    if (seen.counts[0].empty() || !layer.facts.is_int8) return "";
    HistogramPicture picture;
    picture.low = layer.lo;
    picture.high = layer.hi;
    const double least = std::min(static_cast<double>(seen.min), layer.lo),
                 most = std::max(static_cast<double>(seen.max), layer.hi);
    picture.first = least;
    picture.last = most;
    picture.bars.assign(kBars, 0);
    const double part = (picture.last - picture.first) / kBars;
    if (!(part > 0)) return "";
    for (size_t bin = 0; bin < seen.counts[0].size; ++bin) {
      const double middle = seen.start + seen.width * (static_cast<double>(bin) + 0.5);
      const double bar = std::floor((middle - picture.first) / part);
      picture.bars[static_cast<size_t>(std::clamp(bar, 0.0, double{kBars} - 1))] += count(seen, bin);
    }
    const std::string svg = histogram_svg(picture);
    if (svg.empty()) return "";
    const auto end = [](double value) { return tag("span", significant(value)); };
    return tag("figure", svg + tag("figcaption", end(least) +
                                                     tag("span", "chosen " + significant(layer.lo) +
                                                                     " &hellip; " + significant(layer.hi)) +
                                                     end(most)));
  }

  std::string histograms() const {
    std::string figures;
    for (const Layer& layer : layers_) {
      const std::string svg = picture(layer);
      if (!svg.empty()) figures += tag("div", tag("h3", numbered(layer)) + svg);
    }
    if (figures.empty()) return "";
    return tag("section",
               tag("h2", "Values seen") +
                   tag("p",
                       "How often each value was seen (logarithmic). The shaded part is the chosen range: what "
                       "lies outside is cut off.",
                       "note") +
                   tag("details", tag("summary", "Show all layers") + tag("div", figures, "grid"))) +
           "\n";
  }

  std::string footer() const {
    return tag(
        "footer",
        tag("p",
            "SQNR: signal over quantization error, in decibels; 20 dB is an error of a tenth, and larger "
            "is better. <b>Alone</b>: the layer's own error, given exact inputs. <b>Work</b>: share of "
            "the multiplications. The output is taken before a final softmax.") +
            tag("p", "File " + html_text(page_.output) + ", SHA-256 " + html_text(page_.figures.sha256) +
                         ", calibrated by intaglio " + html_text(page_.int8.calibration().library_version) +
                         ": " + html_text(page_.int8.calibration().method) + ", " +
                         html_text(page_.int8.calibration().options) + "."));
  }

  const CalibrationPage& page_;
  NodeNumbers numbers_;
  std::vector<Layer> layers_;
  int64_t all_macs_ = 0;
};

}  // namespace

std::string calibration_page(const CalibrationPage& page) { return Page(page).make(); }

Outcome<Done> check_page_output(const std::string& output, const std::string& input,
                                const std::string& option) {
  if (auto step = check_output_path(output, input, option); !step) return step;
  return check_replaceable(output, 0, kCalibrationPageStart, "report");
}

}  // namespace intaglio::tools
