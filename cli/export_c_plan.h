// The two ways in which an exported model starts: as a file that is checked on the device, or as a session
// that was planned here.
#pragma once

#include "cli/export_c_files.h"

namespace intaglio::cli {

// Into the header: what names the model beside its bytes.
std::string checked_declarations(const ExportedModel& exported);
std::string planned_declarations(const ExportedModel& exported);

// The beginning of the source: its includes, <prefix>_start(), and check(), which the self-test calls.
std::string checked_program(const ExportedModel& exported);
std::string planned_program(const ExportedModel& exported);

}  // namespace intaglio::cli
