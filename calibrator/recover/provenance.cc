#include "calibrator/recover/provenance.h"

#include "intaglio/version.h"

namespace intaglio {
namespace {

constexpr const char* kMethodNames[] = {
#define ITG_RANGE_METHOD(id, c_name, name, ...) name,
#include "calibrator/ranges/range_methods.inc"
#undef ITG_RANGE_METHOD
};

}  // namespace

Provenance::Provenance(const RecoveryContext& context) {
  if (context.options.provenance != nullptr) {
    info_ = *context.options.provenance;
    return;
  }
  describe_options(context);
  text_[length_] = '\0';
  info_.library_version = ITG_VERSION;
  info_.method = kMethodNames[static_cast<size_t>(context.method)];
  info_.options = text_;
  info_.samples = context.seen.sample_count;
  info_.samples_digest = {context.seen.samples.bytes, sizeof context.seen.samples.bytes};
}

void Provenance::add(const char* words) {
  while (*words != '\0' && length_ + 1 < sizeof text_) text_[length_++] = *words++;
}

void Provenance::describe_options(const RecoveryContext& context) {
  const CalibratorOptions& options = context.options;
  add(options.symmetric ? "symmetric" : "asymmetric");
  if (options.power_of_two) add(", powers of two");
  if (options.compat != Compat::kNone) add(options.compat == Compat::kPpq ? ", as PPQ" : ", as Tengine");
  const char digits[] = {static_cast<char>('0' + options.weight_bits / 10),
                         static_cast<char>('0' + options.weight_bits % 10), '\0'};
  add(", ");
  add(options.weight_bits < 10 ? digits + 1 : digits);
  add("-bit weights");
  if (options.safe_pairs) add(" in safe pairs");
  if (!options.slots.empty() || !options.ranges.empty()) add(", slots with settings of their own");
  if (!options.known.empty()) add(", known parameters");
  bool recovers = false;
  for (const RecoveryRule& rule : recovery_rules()) {
    if ((options.recover & rule.bit) == 0) continue;
    add(", ");
    add(rule.title);
    recovers = true;
  }
  if (!recovers) add(", no recovery");
  if (context.channels_scaled) {
    add(", ");
    add(kChannelsScaled);
  }
  if (context.channels_shifted) {
    add(", ");
    add(kChannelsShifted);
  }
  if (!options.float_nodes.empty()) add(", some nodes in float");
}

}  // namespace intaglio
