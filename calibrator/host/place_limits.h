// What one of several places can do to the sums of all: nothing that it says goes farther than what the others say.
//
// Each number x of a place (a mean over its samples, a largest value, a share of values) is taken as it is while it is no farther out
// than the farthest number of the other places, and `share` more. What is farther is drawn in to there. So a place that lies has the weight
// of the most extreme one of the others, wherever that is; two that lie alike shield each other. Nothing depends on the order of the places.
//
//   the least and the largest value     x <= (1 + share) m            m: the others' largest
//   values past each bin, of all        S(x) <= (1 + share) m(x)      so that values move towards zero, and none is lost
//   means, logarithms of peaks          l - share (m - l) <= x <= m + share (m - l)      l: the others' least
//   distinct values of an input         those of a place alone with others than pixels, more than 256, or values out of reach count nothing
//
// A histogram that has changed has the power of one sample (PowerLevels). Whose values of any tensor reach kNotBelieved times as far as all
// others' is believed nothing: its samples count as many of the others'.
#pragma once

#include <limits>
#include <vector>

#include "calibrator/state/calibration_state.h"

namespace intaglio {

// The farthest number that places have said, and that of all but one.
class Farthest {
 public:
  void add(double x) {
    if (x > first_) {
      second_ = first_;
      first_ = x;
    } else if (x > second_) {
      second_ = x;
    }
  }
  // Without the place that has said x.
  double of_others(double x) const { return x < first_ ? first_ : second_; }
  // Drawn in by this factor, of numbers that are not below 0.
  double limited(double x, double factor) const {
    const double most = factor * of_others(x);
    return x < most || most < 0.0 ? x : most;
  }

 private:
  static constexpr double kNone = -std::numeric_limits<double>::infinity();
  double first_ = kNone, second_ = kNone;
};

// Numbers of either sign: the farthest to both sides.
class Between {
 public:
  void add(double least, double largest) {
    low_.add(-least);
    high_.add(largest);
  }
  // Whether others have said anything.
  bool is_known(double least, double largest) const {
    return low_.of_others(-least) > -std::numeric_limits<double>::infinity() &&
           high_.of_others(largest) > -std::numeric_limits<double>::infinity();
  }
  // x of a place that has said from `least` to `largest`; others have, too.
  double limited(double x, double least, double largest, double share) const;

 private:
  Farthest low_, high_;
};

// Times as far as all others.
inline constexpr double kNotBelieved = 4.0;

// Three places and more. Each is given three times, always all of them in one order: to see_ends(), to see(), to limit().
class PlaceLimits {
 public:
  // `share` in [0, 1]; states have these lists.
  PlaceLimits(double share, const CalibrationState& like);

  void see_ends(const CalibrationState& place);
  // Then: what is added up begins with this, bins as wide as all places need. It has seen nothing.
  void begin(CalibrationState& sum);
  void see(size_t i, const CalibrationState& place);
  // Draws in what is too far. Returns the largest share of its values of one tensor that were moved.
  double limit(size_t i, CalibrationState& place) const;

 private:
  struct Ends {
    double below, above;
  };
  struct Bins {  // of all places, counted from zero
    int32_t exponent = 0, first = 0, end = 0;
  };
  struct Tensor {
    std::vector<Ends> places;  // how far the values of each reach
    Farthest below, above;     // of those that are believed
    Farthest probe_below, probe_above;
    Between peaks[2], squares[2];  // means of logarithms, by sign
    std::vector<Farthest> tails;   // of each bin, from zero outwards: the share of values there and past it
    Bins bins;
  };
  struct Input {
    Farthest off_grid, count, below, above;
  };
  struct Tails;

  static Ends ends_of(const TensorObserver& o);
  static std::vector<double> tail_shares(const TensorObserver& o, const Bins& bins);
  double limit_tails(TensorObserver& place, const Tensor& all, bool is_changed) const;
  static void see(const TensorObserver& place, Tensor& all);
  double limit(TensorObserver& place, const Tensor& all) const;
  void forget(CalibrationState& place) const;
  void limit(InputValues& place, const Input& all) const;

  struct Mean {
    Between places;
    int64_t sum = 0;  // of those that are believed
  };

  double share_;
  std::vector<Tensor> tensors_;
  std::vector<Mean> means_;
  uint32_t samples_ = 0;
  std::vector<bool> believed_;
  std::vector<Input> inputs_;
};

}  // namespace intaglio
